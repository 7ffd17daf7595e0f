"""Rows with labels and weights, in blocks, and sums over the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data import block_sums
from separatrix.data.block import Block
from separatrix.data.block_source import BlocksInMemory, BlockSource
from separatrix.data.cutting import cut
from separatrix.data.row_statistics import RowStatistics
from separatrix.matrix import Array, pick_models

# Only ratios of weights matter; beyond 2^+-64 they are rescaled so that no sum overflows.
LARGEST_EXPONENT = 64


class Dataset(RowStatistics):
    """The rows that all models are trained on.

    Everything a solver needs from the data is computed by a function of a block: `sum_over_blocks`
    adds the arrays that it returns, `map_blocks` returns them one by one, and `fold_over_blocks`
    goes from block to block. So the same solvers run on one block in memory and on many elsewhere.

    `blocks` are blocks in memory or a `BlockSource`. `classes` are the labels that the class
    numbers stand for. Only ratios of weights matter: if the largest weight of a model is above 2^64
    or below 2^-64, its weights are scaled by a power of 2, which `given_weight` reverses.

    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> data.n_samples, data.n_features, data.total_weight()
    (2, 1, array([2.]))
    """

    def __init__(self, blocks: Sequence[Block] | BlockSource, classes: Array) -> None:
        self.source = BlocksInMemory(blocks) if isinstance(blocks, Sequence) else blocks
        self.classes = np.asarray(classes)
        self._require_known_labels()
        self._shift = self._rescale_weights()
        self._origin = None
        self._known = {}
        self._forget_weights()

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        s: Any = None,
        *,
        weight_column: Any = None,
        classes: Any = None,
        rows_per_block: int | None = None,
    ) -> Dataset:
        """Make a data set in memory; the classes are 0, 1, ... unless given.

        It has one block, or blocks of at most `rows_per_block` rows.
        """
        block = Block.of(X, y, s, weight_column)
        names = np.arange(block.y.max(initial=0) + 1) if classes is None else classes
        return cls(cut(block, rows_per_block), names)

    def select(self, models: Array) -> Dataset:
        """Return the data as some of the models (numbers or a mask) see it."""
        facts = self.facts
        if not facts.own:
            return self
        if not self.in_one_block and facts.own_weights is not None:
            self.total_weight()  # of all models, in one pass
        part = copy(self)
        labels = None if facts.own_labels is None else len(np.arange(facts.own_labels)[models])
        columns = None if facts.weight_columns is None else facts.weight_columns[:, models]
        part.source = self.source.transform(
            block_sums.select_models,
            models,
            facts=replace(facts, own_labels=labels, weight_columns=columns),
        )
        if labels is not None:
            part._class_weights, part._by_column = {}, {}
        if self._total is not None and len(self._total) > 1:
            part._total = self._total[models]
        if self._vary is not None and len(self._vary) > 1:
            part._vary = self._vary[models]
        if self._class_shares is not None and len(self._class_shares[1]) > 1:
            sums, weights = self._class_shares
            part._class_shares = pick_models(sums, models), weights[models]
        if self._moments is not None and self._moments[0].shape[1] > 1:
            mean, deviation = self._moments
            part._moments = mean[:, models], deviation[:, models]
        part._shift = self._shift if self._shift.ndim == 0 else self._shift[models]
        return part

    def with_weights(
        self, s: Array | Sequence[Array] | None, weight_column: Array | None = None
    ) -> Dataset:
        """Return the same rows with other weights: (n,), (n, G), or such an array for each block.

        `weight_column` (B,) gives the column of each model; by default each model has its own.
        """
        facts, column = self.facts, weight_column
        each: Sequence[Array | None]
        if s is None:
            each = [None] * len(facts.lengths)
        elif isinstance(s, np.ndarray):
            each = np.split(s, np.cumsum(facts.lengths)[:-1])
        else:
            each = s
        first = each[0]
        width = 1 if first is None or first.ndim == 1 else first.shape[1]
        if width == 1:
            column = None
        columns = np.arange(width) if column is None else np.asarray(column)
        part = self._other_rows()
        part._known = self._known
        part.source = self.source.transform(
            block_sums.attach_weights,
            column,
            each=each,
            facts=replace(
                facts,
                is_weighted=s is not None,
                weight_columns=None if width == 1 else columns.astype(np.int32)[None],
            ),
        )
        part._shift = part._rescale_weights()
        return part

    def without_constants(self) -> Dataset:
        """Return the data with 0 in columns that have the same value in all rows.

        An unpenalised bias can replace them. Far from zero, they would drown gradients in rounding.
        """
        values = self.constant_columns()
        constant = np.isfinite(values) & (values != 0.0)
        if not constant.any():
            return self
        part = copy(self)  # which keeps the sums of the weights
        part._origin = part._class_shares = part._moments = None
        part._known, part._by_column = {}, {}
        part.source = self.source.transform(block_sums.drop_columns, constant, facts=self.facts)
        return part

    def with_column(self, value: float) -> Dataset:
        """Return the data with one more feature, which has the same value in every row."""
        facts = self.facts
        part = self._other_rows()
        part._origin = None
        part.source = self.source.transform(
            block_sums.add_column,
            value,
            facts=replace(
                facts,
                n_features=facts.n_features + 1,
                n_entries=facts.n_entries + facts.n_samples,
            ),
        )
        return part

    def with_classes(self, present: Sequence[int]) -> Dataset:
        """Return the data with some of the classes only; the others must have no weight."""
        numbers = np.zeros(len(self.classes), np.int32)
        numbers[list(present)] = np.arange(len(present))
        return self.renumbered(numbers, self.classes[list(present)])

    def renumbered(self, numbers: Array, classes: Array) -> Dataset:
        """Return the data with other classes; class c becomes the class numbers[c]."""
        part = self._other_rows()
        part.source = self.source.transform(
            block_sums.renumber_classes,
            np.asarray(numbers, np.int32),
            facts=replace(self.facts, label_range=(0, len(classes) - 1)),
        )
        part.classes = np.asarray(classes)
        return part

    def every(self, step: int) -> Dataset:
        """Return every step-th row of each block, with its weights."""
        self.origin()  # so that the part keeps it
        facts = self.facts
        part = self._other_rows()
        part.source = self.source.transform(
            block_sums.every_row,
            step,
            facts=replace(
                facts,
                lengths=tuple(-(-length // step) for length in facts.lengths),
                n_entries=facts.n_entries // step,
            ),
        )
        return part

    def _other_rows(self) -> Dataset:
        """Return a copy without cached facts about the rows, for other rows."""
        part = copy(self)
        part._known = {}
        part._forget_weights()
        return part

    def _rescale_weights(self) -> Array:
        """Scale the weights by a power of 2 if their sums could overflow.

        Return its exponent: () if all models have the same weights, else (B,).
        """
        if not self.facts.is_weighted:
            return np.zeros((), int)
        largest = np.zeros(())
        for most in self.map_blocks(block_sums.largest_weights):
            largest = np.maximum(largest, most)
        exponent = np.frexp(largest)[1]
        shift = np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT) - exponent
        if shift.any():
            columns = np.arange(len(shift), dtype=np.int32)[None] if shift.ndim else None
            self.source = self.source.transform(
                block_sums.shift_weights, shift, facts=replace(self.facts, weight_columns=columns)
            )
        return shift

    def _require_known_labels(self) -> None:
        low, high = self.facts.label_range
        n_classes = len(self.classes)
        if low >= 0 and high < max(n_classes, 1):
            return
        wrong = low if low < 0 else high
        found = self.map_blocks(block_sums.row_of_label, wrong)
        block = next(k for k, row in enumerate(found) if row is not None)
        row = sum(self.facts.lengths[:block]) + found[block]
        raise ValueError(
            f"y must hold numbers of the {n_classes} classes, 0 to {n_classes - 1}. "
            f"Row {row} has {wrong}. Name every class in 'classes', or leave the row out."
        )
