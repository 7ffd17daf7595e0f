"""Rows with labels and weights, in blocks, and sums over the blocks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.block import Block
from separatrix.data.origin import origin_of
from separatrix.matrix import (
    Array,
    models_first,
    moments_of_models,
    per_model,
    pick_models,
    sum_samples,
)

# Only ratios of weights matter; beyond 2^+-64 they are rescaled so that no sum overflows.
LARGEST_EXPONENT = 64


class Dataset:
    """The rows that all models are trained on.

    Everything a solver needs from the data is a sum over its rows. `sum_over_blocks` is the only
    way to compute one, so the same solvers run on one block in memory and on many elsewhere.

    `classes` are the labels that the class numbers stand for. Only ratios of weights matter: if
    the largest weight of a model is above 2^64 or below 2^-64, its weights are scaled by a power of
    2, which `given_weight` reverses.

    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> data.n_samples, data.n_features, data.total_weight()
    (2, 1, array([2.]))
    """

    def __init__(self, blocks: Sequence[Block], classes: Array) -> None:
        _require_same_features(blocks)
        self.classes = np.asarray(classes)
        self.highest_label = max(_highest_label(block, len(self.classes)) for block in blocks)
        self._blocks, self._shift = _within_range(blocks)
        self.n_samples = sum(block.X.shape[0] for block in self._blocks)
        self.n_features = self._blocks[0].X.shape[1]
        self.dtype = self._blocks[0].X.dtype
        self._total: Array | None = None
        # By the number of the weight column: models that share a column share these.
        self._class_weights: dict[Hashable, tuple[Array, Array]] = {}
        self._class_shares: tuple[Array, Array] | None = None
        self._moments: tuple[Array, Array] | None = None
        self._origin: Array | None = None

    @classmethod
    def of(
        cls, X: Any, y: Any, s: Any = None, *, weight_column: Any = None, classes: Any = None
    ) -> Dataset:
        """Make a data set of one block in memory; the classes are 0, 1, ... unless given."""
        block = Block.of(X, y, s, weight_column)
        names = np.arange(block.y.max(initial=0) + 1) if classes is None else classes
        return cls([block], names)

    def blocks(self) -> Iterator[Block]:
        """Iterate over the blocks in their order."""
        return iter(self._blocks)

    def sum_over_blocks(self, f: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Sum the arrays that f returns for every block, in the order of the blocks."""
        total: tuple[Array, ...] | None = None
        for block in self.blocks():
            part = f(block)
            total = part if total is None else tuple(a + b for a, b in zip(total, part))
        assert total is not None
        return total

    def transpose_times(self, duals: Sequence[Array], factors: Array) -> Array:
        """Return X^T (s o U) times a factor (B,) per model: (d, B, K) from U of every block.

        >>> data = Dataset.of([[1.0], [2.0]], [0, 1], [1.0, 3.0])
        >>> data.transpose_times([np.ones((2, 1, 1))], np.array([0.5])).item()
        3.5
        """
        each = iter(duals)

        def product(block: Block) -> tuple[Array]:
            return (block.X.transpose_times(block.weigh(next(each), factors)),)

        return self.sum_over_blocks(product)[0]

    def weighted_sums(self, duals: Sequence[Array]) -> Array:
        """Return sum_i s_i U_i of each model (B, K), from U (n, B, K) of every block."""
        each = iter(duals)

        return self.sum_over_blocks(lambda block: (block.weighted_sum(next(each)),))[0]

    def total_weight(self) -> Array:
        """Return S, the sum of the weights: (B,), or (1,) if all models have the same weights."""

        def weigh(block: Block) -> tuple[Array]:
            if block.s is None:
                return (np.array([float(len(block.y))]),)
            s, place = block.different_weights()
            return (sum_samples(s)[place],)

        if self._total is None:
            (self._total,) = self.sum_over_blocks(weigh)
        return self._total

    def given_weight(self) -> Array:
        """Return S of the weights as they were given."""
        return np.ldexp(self.total_weight(), -self._shift)

    def class_weight(self) -> Array:
        """Return the total weight of every class, (C,), for data with the weights of one model."""
        return self._weight_and_count()[0]

    def class_counts(self) -> Array:
        """Return the number of rows with weight in every class, (C,), for data of one model."""
        return self._weight_and_count()[1]

    def _weight_and_count(self) -> tuple[Array, Array]:
        def weigh(block: Block) -> tuple[Array, Array]:
            C, y = len(self.classes), block.y.reshape(len(block.y))
            if block.s is None:
                count = np.bincount(y, minlength=C)
                return count, count
            s = block.weights.reshape(len(y))
            return np.bincount(y, s, minlength=C), np.bincount(y[s > 0.0], minlength=C)

        key = tuple(
            None if block.weight_column is None else int(block.weight_column[0])
            for block in self._blocks
        )
        if key not in self._class_weights:
            weight, count = self.sum_over_blocks(weigh)
            self._class_weights[key] = weight, count
        return self._class_weights[key]

    def first_alike(self, n_models: int) -> Array:
        """Return, for each of B models (B,), the first one with the same rows and weights."""
        own = [block.own() for block in self.blocks()]
        if any("labels" in names for names in own):
            return np.arange(n_models)
        if not any(own):
            return np.zeros(n_models, int)
        keys = [block.different_weights()[1] for block in self.blocks() if block.own()]
        _, first, place = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        return first[place.reshape(-1)]

    def class_shares(self) -> tuple[Array, Array]:
        """Return the sums of s x / S (d, 1 or B, C) and s / S (1 or B, C) over every class.

        One for all models if they have the same rows. They are computed once, by a pass over X.
        """
        if self._class_shares is None:
            sums, weights = self.sum_over_blocks(self._sum_classes)
            total = weights.sum(axis=1, keepdims=True)
            total = np.where(total > 0.0, total, 1.0)
            shares = np.ascontiguousarray(weights / total)
            self._class_shares = np.ascontiguousarray(sums / total), shares
        return self._class_shares

    def moments(self) -> tuple[Array, Array]:
        """Return mean and deviation (d, 1 or B) of the features over the rows of every model.

        One for all models if they have the same rows. They are computed once.
        """
        if self._moments is None:
            parts = [_moments_of(block) for block in self.blocks()]
            total = np.sum([weight for weight, _, _ in parts], axis=0)
            total = np.where(total > 0.0, total, 1.0)
            mean = np.sum([weight * m for weight, m, _ in parts], axis=0) / total
            square = np.sum([w * (d**2 + (m - mean) ** 2) for w, m, d in parts], axis=0) / total
            self._moments = mean, np.sqrt(square)
        return self._moments

    def origin(self) -> Array:
        """Return the origin (d,) of the features: 0 except for features far from zero.

        It does not depend on the weights. It is computed once, and parts of the data keep it.
        """
        if self._origin is None:
            self._origin = origin_of([block.X for block in self.blocks()])
        return self._origin

    def _sum_classes(self, block: Block) -> tuple[Array, Array]:
        s, place = block.different_weights()
        if block.y.ndim == 2:
            s, place = np.broadcast_to(s[:, place], block.y.shape), np.arange(block.y.shape[1])
        each = np.empty((*s.shape, len(self.classes)))
        for c in range(len(self.classes)):
            np.multiply(s, per_model(block.y) == c, out=each[:, :, c])
        return block.X.transpose_times(each)[:, place], sum_samples(each)[place]

    def select(self, models: Array) -> Dataset:
        """Return the data as some of the models see it."""
        if not any(block.own() for block in self._blocks):
            return self
        part = copy(self)
        part._blocks = [block.select(models) for block in self._blocks]
        if any("labels" in block.own() for block in self._blocks):
            part._class_weights = {}
        if self._total is not None and len(self._total) > 1:
            part._total = self._total[models]
        if self._class_shares is not None and len(self._class_shares[1]) > 1:
            sums, weights = self._class_shares
            part._class_shares = pick_models(sums, models), weights[models]
        if self._moments is not None and self._moments[0].shape[1] > 1:
            mean, deviation = self._moments
            part._moments = mean[:, models], deviation[:, models]
        part._shift = self._shift if self._shift.ndim == 0 else self._shift[models]
        return part

    def constants(self) -> Array:
        """Return the values (d,) of columns that are constant in all rows with weight, else NaN.
        For data of one model.
        """
        each = []
        for block in self._blocks:
            rows = np.flatnonzero(per_model(block.weights)[:, 0] > 0.0)
            if len(rows):
                each.append(block.X.constants_in(rows))
        same = np.logical_and.reduce([values == each[0] for values in each])
        return np.where(same, each[0], np.nan)

    def without_constants(self) -> Dataset:
        """Return the data with 0 in columns that have the same value in all rows.

        An unpenalised bias can replace them. Far from zero, they would drown gradients in rounding.
        """
        each = [block.X.constants() for block in self._blocks]
        constant = np.logical_and.reduce([values == each[0] for values in each])
        constant &= each[0] != 0.0
        if not constant.any():
            return self
        part = self._other_rows()
        part._origin = None
        part._blocks = [
            Block(block.X.without(constant), block.y, block.s, block.weight_column)
            for block in self._blocks
        ]
        return part

    def with_column(self, value: float) -> Dataset:
        """Return the data with one more feature, which has the same value in every row."""
        part = self._other_rows()
        part._origin = None
        part._blocks = [replace(block, X=block.X.with_column(value)) for block in self._blocks]
        part.n_features = self.n_features + 1
        return part

    def with_classes(self, present: Sequence[int]) -> Dataset:
        """Return the data with some of the classes only; the others must have no weight."""
        part = self._other_rows()
        numbers = np.zeros(len(self.classes), np.int32)
        numbers[list(present)] = np.arange(len(present))
        part._blocks = [replace(block, y=numbers[block.y]) for block in self._blocks]
        part.classes, part.highest_label = self.classes[list(present)], len(present) - 1
        return part

    def every(self, step: int) -> Dataset:
        """Return every step-th row of each block, with its weights."""
        self.origin()  # so that the part keeps it
        part = self._other_rows()
        part._blocks = [block.every(step) for block in self._blocks]
        part.n_samples = sum(block.X.shape[0] for block in part._blocks)
        return part

    def take(self, block: Block, rows: Array) -> Dataset:
        """Return the data set of some rows of one block, in their order, with their weights."""
        part = self._other_rows()
        s = None if block.s is None else block.s[rows]
        part._blocks = [Block(block.X.take(rows), block.y[rows], s, block.weight_column)]
        part.n_samples = len(rows)
        return part

    def _other_rows(self) -> Dataset:
        """Return a copy without cached facts about the rows, for other rows."""
        part = copy(self)
        part._total = part._class_shares = part._moments = None
        part._class_weights = {}
        return part


def _moments_of(block: Block) -> tuple[Array, Array, Array]:
    """Return the weight (B,) of the rows, and mean and deviation (d, B) of the features."""
    s, place = block.different_weights()
    mean, deviation = moments_of_models(block.X, np.ascontiguousarray(s))
    return sum_samples(s)[place], mean[:, place], deviation[:, place]


def _require_same_features(blocks: Sequence[Block]) -> None:
    found = sorted({block.X.shape[1] for block in blocks})
    if len(found) != 1:
        got = f"blocks of {' and '.join(map(str, found))} columns" if found else "no blocks"
        raise ValueError(
            f"A data set needs blocks of rows with the same features. Got {got} instead."
        )


def _highest_label(block: Block, n_classes: int) -> int:
    """Return the highest class number in a block, and check that it is one of the classes."""
    low, high = (int(f(initial=0)) for f in (block.y.min, block.y.max))
    if low < 0 or high >= max(n_classes, 1):
        wrong = low if low < 0 else high
        row = int(np.argwhere(block.y == wrong)[0][0])
        raise ValueError(
            f"y must hold numbers of the {n_classes} classes, 0 to {n_classes - 1}. "
            f"Row {row} has {wrong}. Name every class in 'classes', or leave the row out."
        )
    return high


def _within_range(blocks: Sequence[Block]) -> tuple[list[Block], Array]:
    """Return the blocks, with weights scaled by a power of 2 if their sums could overflow.

    Also return its exponent: () if all models have the same weights, else (B,).
    """
    if all(block.s is None for block in blocks):
        return list(blocks), np.zeros((), int)
    largest = np.zeros(())
    for block in blocks:
        most = np.ones(()) if block.s is None else models_first(block.s).max(axis=-1, initial=0.0)
        largest = np.maximum(
            largest, most if block.weight_column is None else most[block.weight_column]
        )
    exponent = np.frexp(largest)[1]
    shift = np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT) - exponent
    if not shift.any():
        return list(blocks), shift

    def shifted(block: Block) -> Block:
        s = per_model(block.weights) if shift.ndim else block.weights
        return replace(block, s=np.ldexp(s, shift), weight_column=None)

    return [shifted(block) for block in blocks], shift
