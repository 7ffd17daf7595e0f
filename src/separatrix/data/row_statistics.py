"""Passes over the blocks of a data set, and statistics of its rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from separatrix.data import block_sums
from separatrix.data.block import Block
from separatrix.data.block_source import BlockFacts, BlockSource, sum_in_order
from separatrix.data.origin import middle_of
from separatrix.matrix import Array


class RowStatistics:
    """What can be computed from the blocks of a source: once, by a pass each."""

    source: BlockSource
    classes: Array
    _shift: Array  # the exponent of the power of 2 by which the weights were scaled
    _origin: Array | None
    _known: dict[Hashable, Any]  # statistics of X alone
    _total: Array | None
    _vary: Array | None
    # By the numbers of the weight columns: models that share columns share these.
    _class_weights: dict[Hashable, tuple[Array, Array]]
    _by_column: dict[Hashable, dict[Hashable, list[Any]]]
    _class_shares: tuple[Array, Array] | None
    _moments: tuple[Array, Array] | None

    def sum_over_blocks(
        self, f: Callable[..., tuple[Array, ...]], *small: Any
    ) -> tuple[Array, ...]:
        """Sum the arrays that f(block, *small) returns, in the order of the blocks.

        `f` is a function of a module, and `small` are arrays without an axis of rows or plain
        objects that can be pickled.
        """
        return self.source.sum(f, *small)

    def map_blocks(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        """Return f(block, *small) of every block, in their order; `f` as in `sum_over_blocks`."""
        return self.source.map(f, *small)

    def fold_over_blocks(self, f: Callable[..., Any], state: Any, *small: Any) -> Any:
        """Return the state after state = f(block, number, state, *small) for block after block.

        `f` may change the state in place, but must return it.
        """
        return self.source.fold(f, state, *small)

    @property
    def facts(self) -> BlockFacts:
        """What is known without a pass."""
        return self.source.facts

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.facts.n_samples

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.facts.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of X, float32 or float64."""
        return self.facts.dtype

    @property
    def highest_label(self) -> int:
        """The highest class number."""
        return self.facts.label_range[1]

    @property
    def in_one_block(self) -> bool:
        """Whether all rows are in one block in memory."""
        return self.source.only_block() is not None

    def only_block(self, needed_by: str = "This computation") -> Block:
        """Return the block that holds all rows in memory, or raise and say who needs it."""
        block = self.source.only_block()
        if block is None:
            lengths = self.facts.lengths
            raise ValueError(
                f"{needed_by} needs all rows in one block in memory. The data has "
                f"{len(lengths):,} blocks of up to {max(lengths):,} rows. Use all data in one "
                "block, or what works block by block: the solvers newton, lbfgs and gradient."
            )
        return block

    def total_weight(self) -> Array:
        """Return S, the sum of the weights: (B,), or (1,) if all models have the same weights."""
        if self._total is None:
            (self._total,) = self.sum_over_blocks(block_sums.total_weight)
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
        key = self._columns_of_model()
        if key not in self._class_weights:
            found = self._of_columns(block_sums.weight_and_count, len(self.classes))
            for each, parts in found.items():
                weight, count = sum_in_order(parts)
                self._class_weights[each] = weight, count
        return self._class_weights[key]

    def of_model(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        """Return f(block, *small) of every block, for data of one model.

        Models that share the rows and their weights share the result. On several blocks, one pass
        computes it for all columns of weights.
        """
        known, key = self._by_column.setdefault((f, small), {}), self._columns_of_model()
        if key not in known:
            known.update(self._of_columns(f, *small))
        return known[key]

    def _columns_of_model(self) -> Hashable:
        columns = self.facts.weight_columns
        return None if columns is None else tuple(columns[:, 0].tolist())

    def _of_columns(self, f: Callable[..., Any], *small: Any) -> dict[Hashable, list[Any]]:
        columns = self.facts.weight_columns
        alone = columns is None or len(columns) > 1 or self.facts.own_labels is not None
        if alone or self.in_one_block:
            return {self._columns_of_model(): self.map_blocks(f, *small)}
        found = self.map_blocks(block_sums.of_each_column, f, *small)
        return {(g,): [part[g] for part in found] for g in range(len(found[0]))}

    def weights_vary(self) -> Array:
        """Return whether the rows of each model have different weights, (B,) or (1,)."""
        if self._vary is None:
            if not self.facts.is_weighted:
                return np.zeros(1, bool)
            parts = self.map_blocks(block_sums.weight_extremes)
            least = np.min(np.broadcast_arrays(*[low for low, _ in parts]), axis=0)
            most = np.max(np.broadcast_arrays(*[high for _, high in parts]), axis=0)
            self._vary = least < most
        return self._vary

    def first_alike(self, n_models: int) -> Array:
        """Return, for each of B models (B,), the first one with the same rows and weights."""
        if self.facts.own_labels is not None:
            return np.arange(n_models)
        columns = self.facts.weight_columns
        if columns is None:
            return np.zeros(n_models, int)
        _, first, place = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        return first[place.reshape(-1)]

    def class_shares(self) -> tuple[Array, Array]:
        """Return the sums of s x / S (d, 1 or B, C) and s / S (1 or B, C) over every class.

        One for all models if they have the same rows. They are computed once, by a pass over X.
        """
        if self._class_shares is None:
            sums, weights = self.sum_over_blocks(block_sums.class_sums, len(self.classes))
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
            self._moments = block_sums.pool_moments(self.map_blocks(block_sums.moments_of_block))
        return self._moments

    def origin(self) -> Array:
        """Return the origin (d,) of the features: 0 except for features far from zero.

        It does not depend on the weights. It is computed once, and parts of the data keep it.
        """
        if self._origin is None:
            found = self.map_blocks(block_sums.feature_bounds)
            bounds = [each for each in found if each is not None]
            self._origin = middle_of(bounds, self.n_features)
        return self._origin

    def largest_values(self) -> Array:
        """Return the largest |x| of every feature (d,), or a bound on it."""
        return self._once(
            "largest", lambda: _joined(self.map_blocks(block_sums.largest_values), np.max)
        )

    def occurring_features(self) -> Array:
        """Return which features (d,) are not zero in some row."""
        return self._once(
            "occurring", lambda: np.any(self.map_blocks(block_sums.occurring_features), axis=0)
        )

    def constant_columns(self) -> Array:
        """Return the values (d,) of columns with the same value in all rows, NaN for the others."""
        return self._once("constants", lambda: _in_all(self.map_blocks(block_sums.constants)))

    def constants(self) -> Array:
        """Return the values (d,) of columns that are constant in all rows with weight, else NaN.

        For data of one model.
        """
        found = self.of_model(block_sums.weighted_constants)
        return _in_all([values for values in found if values is not None])

    def sum_of_squares(self, factors: Array | None = None) -> float:
        """Return the sum of the squares of all entries, each divided by its column's factor."""
        key = "squares", None if factors is None else factors.tobytes()
        return float(
            self._once(key, lambda: sum(self.map_blocks(block_sums.sum_of_squares, factors)))
        )

    def labels(self) -> Array:
        """Return the class numbers of all rows, (n,) or (n, B)."""
        return np.concatenate(self.map_blocks(block_sums.labels))

    def weights(self) -> Array:
        """Return the weights of all rows, (n,) or (n, B); ones if none were given."""
        return np.concatenate(self.map_blocks(block_sums.weights))

    def _once(self, name: Hashable, find: Callable[[], Any]) -> Any:
        if name not in self._known:
            self._known[name] = find()
        return self._known[name]

    def _forget_weights(self) -> None:
        self._total = self._vary = self._class_shares = self._moments = None
        self._class_weights, self._by_column = {}, {}


def _joined(parts: Sequence[Array], join: Callable[..., Array]) -> Array:
    return parts[0] if len(parts) == 1 else join(parts, axis=0)


def _in_all(parts: Sequence[Array]) -> Array:
    """Return the values (d,) that are the same in all parts, NaN for the others."""
    same = np.logical_and.reduce([values == parts[0] for values in parts])
    return np.where(same, parts[0], np.nan)
