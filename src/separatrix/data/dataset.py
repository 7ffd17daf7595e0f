"""Rows with labels and weights, in blocks, and sums over the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Array, Matrix, sum_samples


@dataclass(frozen=True)
class Block:
    """Some rows of X (n, d), their class numbers y and their weights s, both (n,) or (n, B)."""

    X: Matrix
    y: Array
    s: Array | None = None

    @classmethod
    def of(cls, X: Any, y: Any, s: Any = None) -> Block:
        """Make a block of arrays: y to int32, s to float64."""
        return cls(
            X if isinstance(X, Matrix) else Matrix(X),
            np.ascontiguousarray(y, np.int32),
            None if s is None else np.ascontiguousarray(s, np.float64),
        )

    @property
    def weights(self) -> Array:
        """s, with ones where none were given."""
        return np.ones(len(self.y)) if self.s is None else self.s

    def select(self, models: Array) -> Block:
        """The labels and weights of some models only; X is shared."""

        def pick(a: Array | None) -> Array | None:
            return a if a is None or a.ndim == 1 else np.ascontiguousarray(a[:, models])

        y = pick(self.y)
        assert y is not None
        return Block(self.X, y, pick(self.s))


class Dataset:
    """The rows all models are trained on.

    What a solver needs of the data is a sum over its rows; `sum_over_blocks` is the one way to get
    it, so that the same solvers run on one block in memory or on many elsewhere.

    `classes` are the labels that the class numbers stand for.

    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> data.n_samples, data.n_features, data.total_weight(1)
    (2, 1, array([2.]))
    """

    def __init__(self, blocks: Sequence[Block], classes: Array) -> None:
        self._blocks = list(blocks)
        self.classes = classes
        self.n_samples = sum(block.X.shape[0] for block in self._blocks)
        self.n_features = self._blocks[0].X.shape[1]
        self.dtype = self._blocks[0].X.dtype

    @classmethod
    def of(cls, X: Any, y: Any, s: Any = None, *, classes: Any = None) -> Dataset:
        """A data set of one block, in memory; the classes are 0, 1, ... unless named."""
        block = Block.of(X, y, s)
        names = np.arange(block.y.max(initial=0) + 1) if classes is None else classes
        return cls([block], np.asarray(names))

    def blocks(self) -> Iterator[Block]:
        """The blocks, in their order."""
        return iter(self._blocks)

    def sum_over_blocks(self, f: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Sum what f returns of every block, array by array, in the order of the blocks."""
        total: tuple[Array, ...] | None = None
        for block in self.blocks():
            part = f(block)
            total = part if total is None else tuple(a + b for a, b in zip(total, part))
        assert total is not None
        return total

    def total_weight(self, n_models: int) -> Array:
        """S, the sum of the weights of each model (B,)."""

        def weigh(block: Block) -> tuple[Array]:
            return (np.broadcast_to(sum_samples(block.weights), (n_models,)),)

        return np.array(self.sum_over_blocks(weigh)[0], np.float64)

    def select(self, models: Array) -> Dataset:
        """The data as some of the models see it."""
        return Dataset([block.select(models) for block in self._blocks], self.classes)
