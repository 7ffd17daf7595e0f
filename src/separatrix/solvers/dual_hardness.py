"""Estimate how hard a problem is for dual ascent, which is fast if rows hardly interact.

The measure is C times the squared norm of a typical row (the median), so that a few outlier rows
do not affect it. Features that dominate all rows, such as the length of a text beside its words,
are left out, because the solver treats them separately.
"""

from __future__ import annotations

import numpy as np

import separatrix._core as _core
from separatrix.data import Dataset
from separatrix.losses import Loss
from separatrix.matrix import Array, Matrix, squares_of_sample

DUAL_IS_EASY = 25.0  # limit of C * curvature * |x|^2 per output up to which dual steps pay
HINGE_IS_EASY, HINGE_IS_HOPELESS = 100.0, 1e4  # limits for a hinge


def hardness(loss: Loss, n_outputs: int, l2: float, data: Dataset, square: float) -> float:
    """Return C L |x/f|^2 with C = 1 / (l2 n): how much the duals of the rows interact."""
    curvature = loss.curvature_of(n_outputs) or 1.0
    return curvature * square / (l2 * data.n_samples)


def mean_square(data: Dataset, factors: Array | None) -> float:
    """Return the mean of |x/f|^2 over the rows x, with the penalty factors f."""
    return data.sum_of_squares(factors) / data.n_samples


def typical_square(data: Dataset, factors: Array | None = None) -> float:
    """Return |x/f|^2 of a typical row, without the features that dominate the rows.

    >>> words, lengths = np.eye(6), np.arange(1.0, 7.0)[:, None]
    >>> rows = np.hstack([words, 1000.0 * lengths])
    >>> rows[0] *= 1e6
    >>> typical_square(Dataset.of(rows, [0, 1, 0, 1, 0, 1]))
    1.0
    """
    rests, _ = _weak_features(data.only_block().X, factors)
    return float(np.median(rests))


def rows_are_nearly_orthogonal(data: Dataset, factors: Array | None = None) -> bool:
    """Return whether rows have so little in common that their duals hardly interact.

    No feature dominates them, and there are at most as many rows as effective features,
    d = 1 / sum_j share_j^2, where share_j is the fraction of the squares of all rows in feature j.

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 100)), np.arange(50) % 2
    >>> rows_are_nearly_orthogonal(Dataset.of(X, y))
    True
    >>> rows_are_nearly_orthogonal(Dataset.of(X * 10.0 ** np.arange(100), y))
    False
    """
    _, shares = _weak_features(data.only_block().X, factors)
    return bool((shares > 0.0).all() and data.n_samples * np.square(shares).sum() <= 1.0)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _weak_features(X: Matrix, factors: Array | None) -> tuple[Array, Array]:
    """Return the squares of some rows without dominating features, and the shares of features (d,).

    The share of a dominating feature is 0.

    A feature dominates if it has a large share of the squares of the rows that contain it; see
    cpp/dual/strong_features.hpp, which the dual solver uses too.
    """
    squares, d = squares_of_sample(X), X.shape[1]
    steps = np.ones(d) if factors is None else 1.0 / np.square(factors)
    strong = np.zeros(d, bool)
    few = _core.strong_features(
        Matrix(squares).by_sample(), np.ascontiguousarray(steps, np.float64), strong
    )
    weak = ~strong
    rests = squares @ (steps * weak)
    inverse = np.where(rests > 0.0, 1.0 / rests, 0.0)
    shares = weak * (squares.T @ inverse) * steps
    if not few:
        weak[:] = True
    return np.asarray(squares @ (steps * weak)), np.where(weak, shares / len(rests), 0.0)
