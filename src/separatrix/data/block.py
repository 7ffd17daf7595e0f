"""Some rows of X with their labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix._core as _core
from separatrix.matrix import Array, Matrix, per_model, pick_models

LAST_CLASS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Block:
    """Some rows of X (n, d) with their class numbers y and weights s, both (n,) or (n, B).

    If models share weights, as the models of one fold do, s (n, G) holds each column once and
    `weight_column` (B,) gives the column of each model.

    `Block.of` converts any arrays and checks every number. The constructor takes y (int32), s
    (float64) and `weight_column` (int32) as they are and checks only their shapes.
    """

    X: Matrix
    y: Array
    s: Array | None = None
    weight_column: Array | None = None

    def __post_init__(self) -> None:
        n = self.X.shape[0]
        for name, a, kind in (("y", self.y, np.int32), ("s", self.s, np.float64)):
            if a is None:
                continue
            if a.ndim not in (1, 2) or len(a) != n:
                raise ValueError(
                    f"X has {n} rows: {name} must be of shape ({n},), or ({n}, B) with a column "
                    f"for each model. Got {a.shape} instead."
                )
            if a.dtype != kind or not a.flags.c_contiguous:
                raise ValueError(
                    f"{name} must be {np.dtype(kind)} in C order. Got {a.dtype} instead. "
                    "Use Block.of, which converts it."
                )
        if self.weight_column is not None:
            columns = self.s.shape[1] if self.s is not None and self.s.ndim == 2 else 0
            if self.weight_column.dtype != np.int32 or not _within(self.weight_column, columns):
                raise ValueError(
                    f"'weight_column' must hold one number (int32) of the {columns} columns of s "
                    f"for each model. Got {self.weight_column} instead."
                )

    @classmethod
    def of(cls, X: Any, y: Any, s: Any = None, weight_column: Any = None) -> Block:
        """Make a block from arrays: y becomes int32, s float64, a single column (n,)."""
        weights = None if s is None else _one_or_many(_weights(s))
        if weights is None or weights.ndim == 1:
            weight_column = None
        return cls(
            X if isinstance(X, Matrix) else Matrix(X),
            _one_or_many(_class_numbers(y)),
            weights,
            None if weight_column is None else np.asarray(weight_column, np.int32),
        )

    @property
    def weights(self) -> Array:
        """The weights (n,), or (n, B) for each model; ones if none were given."""
        if self.s is None:
            return np.ones(len(self.y))
        return self.s if self.weight_column is None else pick_models(self.s, self.weight_column)

    def weigh(self, U: Array, factors: Array) -> Array:
        """Return s o U times a factor (B,) for each model; 0 in rows without weight."""
        U = self.as_duals(U)
        out = np.empty_like(U)
        _core.multiply_weights(
            U, self.s, np.ascontiguousarray(factors, np.float64), out, self.weight_column
        )
        return out

    def weighted_sum(self, U: Array, sizes: bool = False) -> Array:
        """Return sum_i s_i U_i (B, K), or of |U| with `sizes`, over the rows that have weight.

        >>> Block.of([[1.0], [2.0]], [0, 1], [1.0, 3.0]).weighted_sum(np.ones((2, 1, 1)))
        array([[4.]])
        """
        U = self.as_duals(U)
        out = np.empty(U.shape[1:])
        _core.weighted_sums(U, self.s, sizes, out, self.weight_column)
        return out

    def transpose_times(self, U: Array, factors: Array) -> Array:
        """Return X^T (s o U) times a factor (B,) per model, (d, B, K).

        >>> block = Block.of([[1.0], [2.0]], [0, 1], [1.0, 3.0])
        >>> block.transpose_times(np.ones((2, 1, 1)), np.array([0.5])).item()
        3.5
        """
        return self.X.transpose_times(self.weigh(U, factors))

    def as_duals(self, U: Array) -> Array:
        """Convert U (n, B, K) for the kernels, which check nothing."""
        U = np.ascontiguousarray(U, np.float64)
        given = self.own().get("weights")
        if U.ndim != 3 or len(U) != len(self.y) or given not in (None, U.shape[1]):
            shape = f"({len(self.y)}, {given or 'B'}, K)"
            raise ValueError(
                f"The data has {len(self.y)} rows: U must be of shape {shape}. "
                f"Got {U.shape} instead."
            )
        return U

    def own(self) -> dict[str, int]:
        """Return what differs between models, "labels" or "weights", and for how many models."""
        found = {"labels": self.y.shape[1]} if self.y.ndim == 2 else {}
        if self.s is not None and self.s.ndim == 2:
            found["weights"] = (
                self.s.shape[1] if self.weight_column is None else len(self.weight_column)
            )
        return found

    def different_weights(self) -> tuple[Array, Array]:
        """Return the different columns of weights (n, G) and the column of each model (B,).

        One column and one number if all models have the same weights.
        """
        if self.weight_column is None:
            s = per_model(self.weights)
            return s, np.arange(s.shape[1])
        assert self.s is not None
        used, place = np.unique(self.weight_column, return_inverse=True)
        return self.s if len(used) == self.s.shape[1] else pick_models(self.s, used), place

    def select(self, models: Array) -> Block:
        """Return the block of some models, which shares X and the weights.

        `Dataset` relies on this: it caches what it knows about a column of weights by its number.
        """
        y, column = self.y, self.weight_column
        if y.ndim == 2:
            y = pick_models(y, models)
        if "weights" in self.own():
            assert self.s is not None
            if column is None:
                column = np.arange(self.s.shape[1], dtype=np.int32)
            column = column[models]
        return Block(self.X, y, self.s, column)

    def take(self, rows: Array | slice) -> Block:
        """Return some rows, in their order, with their weights."""
        s = None if self.s is None else np.ascontiguousarray(self.s[rows])
        return Block(self.X.take(rows), np.ascontiguousarray(self.y[rows]), s, self.weight_column)

    def every(self, step: int) -> Block:
        """Return every step-th row."""
        s = None if self.s is None else np.ascontiguousarray(self.s[::step])
        return Block(
            self.X.every(step), np.ascontiguousarray(self.y[::step]), s, self.weight_column
        )


def _within(numbers: Array, count: int) -> bool:
    return bool(((numbers >= 0) & (numbers < count)).all())


def _one_or_many(a: Array) -> Array:
    """Convert (n, 1), which stands for every model, to (n,); leave all else unchanged."""
    return np.ascontiguousarray(a[:, 0]) if a.ndim == 2 and a.shape[1] == 1 else a


def _class_numbers(y: Any) -> Array:
    given = np.asarray(y)
    advice = "Number the classes first, for example with np.unique(y, return_inverse=True)."
    if given.dtype.kind not in "biuf":
        raise ValueError(f"y must hold class numbers 0, 1, .... Got type {given.dtype}. {advice}")
    good = (given >= 0) & (given <= LAST_CLASS)
    if given.dtype.kind == "f":
        good &= given == np.rint(given)
    _require("y must hold whole class numbers >= 0", given, good, advice)
    return np.ascontiguousarray(given, np.int32)


def _weights(s: Any) -> Array:
    given = np.asarray(s)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"s must hold numbers. Got type {given.dtype} instead.")
    good = (given >= 0) & np.isfinite(given)
    _require("s must be finite and >= 0", given, good, "Leave a row out with a weight of 0.")
    return np.ascontiguousarray(given, np.float64)


def _require(rule: str, given: Array, good: Array, advice: str) -> None:
    if not good.all():
        at = np.argwhere(~good)[0]
        raise ValueError(f"{rule}. Row {at[0]} has {given[tuple(at)]:g}. {advice}")
