"""Rows of X seen from an origin: products with x - o and the lengths |x - o|.

The bias of a recentred model is b + o.w (`recentring`). Rows of a dense X are copied in pieces and
recentred, which keeps the digits of features far from zero. A sparse X stays as it is, and the
products are corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.matrix import Array, Matrix, per_model
from separatrix.verdict.regions.rounding import SMALLEST, UNIT, rounding_of

ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class RowLengths:
    """Upper bounds on the lengths of rows, in the variables that the penalty scales.

    Attributes
    ----------
    centred : |(x - o) / f| (n, F), for F columns of factors f
    given : |x / f| + |o / f| (n, F), which rounding errors are proportional to; the same as
        `centred` where x - o was formed before the products
    """

    centred: Array
    given: Array


@dataclass(frozen=True)
class CentredRows:
    """Some rows of X, from which `offset` (d,) is still to be subtracted; 0 for a dense X."""

    lines: slice
    X: Matrix
    offset: Array

    def scores(self, W: Array) -> Array:
        """Return (X - o) W, (n, B, K)."""
        return self.X.scores(W, -np.asarray((self.offset[:, None, None] * W).sum(axis=0)))

    def transpose_times(self, U: Array) -> Array:
        """Return (X - o)^T U, (d, B, K)."""
        product = self.X.transpose_times(U)
        if self.offset.any():
            product = product - self.offset[:, None, None] * U.sum(axis=0)
        return product

    def lengths(self, factors: Array | None) -> RowLengths:
        """Return bounds on the lengths of the rows for the factors (d, F), or (n, 1) for None."""
        d = self.X.shape[1]
        with np.errstate(over="ignore", under="ignore"):
            scale = np.ones((d, 1)) if factors is None else 1.0 / np.square(factors)
            squares = Matrix(self._squared()).scores(scale[:, :, None], np.zeros((len(scale.T), 1)))
            given = squares[:, :, 0]
            off = (np.square(self.offset)[:, None] * scale).sum(axis=0)
            centred = given
            if self.offset.any():
                mixed = self.X.scores(
                    (self.offset[:, None] * scale)[:, :, None], np.zeros_like(off[:, None])
                )
                centred = given - 2.0 * mixed[:, :, 0] + off
            # 2 |x o| <= x^2 + o^2
            error = 2.0 * rounding_of(d) * (given + off) + d * SMALLEST
            grow = 1.0 + 8.0 * UNIT
            return RowLengths(
                np.sqrt(np.maximum(centred, 0.0) + error) * grow,
                (np.sqrt(given + error) + np.sqrt(off + error)) * grow,
            )

    def _squared(self) -> Any:
        if not self.X.is_sparse:
            return np.square(self.X.X, dtype=np.float64)
        X = self.X.X
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)


def centred_rows(X: Matrix, origin: Array) -> Iterator[CentredRows]:
    """Yield the rows of X in pieces, recentred by the origin (d,)."""
    n, d = X.shape
    if X.is_sparse or not origin.any():
        yield CentredRows(slice(0, n), X, origin)
        return
    step = max(1, ENTRIES_AT_ONCE // max(d, 1))
    for start in range(0, n, step):
        lines = slice(start, min(start + step, n))
        part = X.X[lines].astype(np.float64) - origin
        yield CentredRows(lines, Matrix(part), np.zeros(d))


def row_lengths(X: Matrix, origin: Array, factors: Array | None) -> RowLengths:
    """Return the bounds on the lengths of all rows of X; factors are (d, F) or None.

    >>> found = row_lengths(Matrix(np.array([[3.0, 4.0], [1.0, 1.0]])), np.ones(2), None)
    >>> found.centred.ravel().round(3)
    array([3.606, 0.   ])
    """
    parts = [rows.lengths(factors) for rows in centred_rows(X, origin)]
    return RowLengths(
        np.concatenate([part.centred for part in parts]),
        np.concatenate([part.given for part in parts]),
    )


@dataclass(frozen=True)
class TrainingRows:
    """What is needed of all training rows beside X.

    Attributes
    ----------
    y : class numbers (n,) or (n, B)
    s : weights (n, 1 or B)
    lengths : bounds on the lengths of the rows
    """

    y: Array
    s: Array
    lengths: RowLengths


def training_rows(data: Dataset, origin: Array, factors: Array | None) -> TrainingRows:
    """Return labels, weights and lengths of all rows, by a pass over X; factors are (d, F)."""
    y, s, centred, given = (
        np.concatenate(parts) for parts in zip(*data.map_blocks(_rows_of_block, origin, factors))
    )
    return TrainingRows(y, s, RowLengths(centred, given))


def training_scores(data: Dataset, origin: Array, W: Array) -> Array:
    """Return (X - o) W, (n, B, K), of all rows."""
    return np.concatenate(data.map_blocks(_scores_of_block, origin, W))


def scores_of(X: Matrix, origin: Array, W: Array) -> Array:
    """Return (X - o) W, (n, B, K)."""
    return np.concatenate([rows.scores(W) for rows in centred_rows(X, origin)])


def _rows_of_block(block: Block, origin: Array, factors: Array | None) -> tuple[Array, ...]:
    lengths = row_lengths(block.X, origin, factors)
    return block.y, per_model(block.weights), lengths.centred, lengths.given


def _scores_of_block(block: Block, origin: Array, W: Array) -> Array:
    return scores_of(block.X, origin, W)
