"""Where the blocks of a data set are, and how functions are applied to them.

A block function is a function of a module, `f(block, *small)`. It returns a tuple of arrays or
another small value, and no array with one number per row. Its arguments beside the block are small
and can be pickled, so that it can run in another process. Each function below is one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from separatrix.data.block import Block
from separatrix.matrix import Array

FAN_IN = 8  # results of blocks that are added at a time


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What is known about the blocks of a data set without reading them.

    Attributes
    ----------
    lengths : the number of rows of each block
    n_features, n_entries : the number of features, and of stored entries in all blocks
    dtype : the type of X, float32 or float64
    label_range : the lowest and the highest class number
    is_weighted : whether some rows were given weights
    own_labels : the number of models if each has its own labels, else None
    weight_columns : (m, B), the numbers of the columns of weights of each model, in m blocks or
        once for all blocks; None if all models have the same weights
    """

    lengths: tuple[int, ...]
    n_features: int
    n_entries: int
    dtype: np.dtype[Any]
    label_range: tuple[int, int]
    is_weighted: bool = False
    own_labels: int | None = None
    weight_columns: Array | None = None

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return sum(self.lengths)

    @property
    def own_weights(self) -> int | None:
        """The number of models if they have their own weights, else None."""
        return None if self.weight_columns is None else int(self.weight_columns.shape[1])

    @property
    def own(self) -> dict[str, int]:
        """What differs between models, "labels" or "weights", and for how many models."""
        found = {"labels": self.own_labels, "weights": self.own_weights}
        return {name: count for name, count in found.items() if count is not None}


class BlockSource(Protocol):
    """The blocks of a data set, in memory or elsewhere, and passes over them."""

    @property
    def facts(self) -> BlockFacts: ...

    def map(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        """Return f(block, *small) of every block, in the order of the blocks."""
        ...

    def sum(self, f: Callable[..., tuple[Array, ...]], *small: Any) -> tuple[Array, ...]:
        """Return the sums of the arrays that f(block, *small) returns.

        The order of the additions is that of `sum_in_order`, whenever the results arrive.
        """
        ...

    def fold(self, f: Callable[..., Any], state: Any, *small: Any) -> Any:
        """Return the state after state = f(block, number, state, *small) for block after block."""
        ...

    def transform(
        self,
        f: Callable[..., Block],
        *small: Any,
        facts: BlockFacts,
        each: Sequence[Any] | None = None,
    ) -> BlockSource:
        """Return a source of the blocks f(block, *small), which have the given facts.

        With `each`, block i is f(block, each[i], *small). A source may apply f whenever it reads a
        block, so f must be cheap beside a pass.
        """
        ...

    def only_block(self) -> Block | None:
        """Return the block if it is the only one and in memory, else None."""
        ...


class BlocksInMemory:
    """A source of blocks in memory.

    >>> source = BlocksInMemory([Block.of([[1.0]], [0]), Block.of([[2.0], [3.0]], [1, 0])])
    >>> source.facts.lengths, source.map(lambda block: block.X.X.sum().item())
    ((1, 2), [1.0, 5.0])
    """

    def __init__(self, blocks: Sequence[Block], facts: BlockFacts | None = None) -> None:
        self._blocks = list(blocks)
        self.facts = facts_of(self._blocks) if facts is None else facts

    def map(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        return [f(block, *small) for block in self._blocks]

    def sum(self, f: Callable[..., tuple[Array, ...]], *small: Any) -> tuple[Array, ...]:
        return sum_in_order(f(block, *small) for block in self._blocks)

    def fold(self, f: Callable[..., Any], state: Any, *small: Any) -> Any:
        for number, block in enumerate(self._blocks):
            state = f(block, number, state, *small)
        return state

    def transform(
        self,
        f: Callable[..., Block],
        *small: Any,
        facts: BlockFacts,
        each: Sequence[Any] | None = None,
    ) -> BlocksInMemory:
        if each is None:
            return BlocksInMemory([f(block, *small) for block in self._blocks], facts)
        made = [f(block, each[number], *small) for number, block in enumerate(self._blocks)]
        return BlocksInMemory(made, facts)

    def only_block(self) -> Block | None:
        return self._blocks[0] if len(self._blocks) == 1 else None


def add_in_order(parts: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays, one after the other."""
    return reduce(_add, parts)


def _add(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(a + b for a, b in zip(first, second))


def sum_in_order(parts: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays in a tree: `FAN_IN` neighbours at a time, then their sums, and so on.

    The tree depends on the number of parts alone. It can be computed wherever the parts are, with
    the same bits. At most one sum of every level is in memory.

    >>> sum_in_order([(np.ones(2),), (np.arange(2.0),)])
    (array([1., 2.]),)
    """
    levels: list[list[Any]] = []  # of every level, how many parts were added, and their sum
    for part in parts:
        for level in levels:
            level[:] = level[0] + 1, _add(level[1], part) if level[0] else part
            if level[0] < FAN_IN:
                break
            part, level[:] = level[1], (0, None)
        else:
            levels.append([1, part])
    sums = [total for _, total in levels if total is not None]
    return reduce(lambda below, total: _add(total, below), sums)


def facts_of(blocks: Sequence[Block]) -> BlockFacts:
    """Find the facts of blocks in memory, and check that the blocks belong together."""
    widths = sorted({block.X.shape[1] for block in blocks})
    if len(widths) != 1:
        got = f"blocks of {' and '.join(map(str, widths))} columns" if widths else "no blocks"
        raise ValueError(
            f"A data set needs blocks of rows with the same features. Got {got} instead."
        )
    own = {name: _one_count(name, blocks) for name in ("labels", "weights")}
    columns = [_column_numbers(block) for block in blocks if "weights" in block.own()]
    return BlockFacts(
        lengths=tuple(len(block.y) for block in blocks),
        n_features=widths[0],
        n_entries=sum(block.X.n_entries for block in blocks),
        dtype=blocks[0].X.dtype,
        label_range=(
            min(int(block.y.min(initial=0)) for block in blocks),
            max(int(block.y.max(initial=0)) for block in blocks),
        ),
        is_weighted=any(block.s is not None for block in blocks),
        own_labels=own["labels"],
        weight_columns=_once_if_equal(columns) if columns else None,
    )


def _one_count(name: str, blocks: Sequence[Block]) -> int | None:
    """Return for how many models labels or weights differ, which must be the same everywhere."""
    counts = sorted({block.own()[name] for block in blocks if name in block.own()})
    if len(counts) > 1:
        raise ValueError(
            f"The {name} of all blocks must belong to the same models. Got {name} of "
            f"{' and '.join(map(str, counts))} models."
        )
    return counts[0] if counts else None


def _once_if_equal(columns: Sequence[Array]) -> Array:
    same = all(np.array_equal(column, columns[0]) for column in columns)
    return np.stack(columns[:1] if same else columns)


def _column_numbers(block: Block) -> Array:
    if block.weight_column is not None:
        return block.weight_column
    assert block.s is not None
    return np.arange(block.s.shape[1], dtype=np.int32)
