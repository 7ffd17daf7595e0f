"""Choose an origin for the features, to preserve digits of features far from zero.

A feature far from zero, such as a time in seconds since 1970, is almost a multiple of the bias: the
differences between rows are tiny compared with what they share. After subtracting one of its values
the feature is as well conditioned as any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.matrix import Array, Matrix

ROWS = 64  # rows from which the spread of a feature is estimated
FAR = 10.0  # distance from zero, in spreads, from which a feature is recentred


def origin_of(parts: Sequence[Matrix]) -> Array:
    """Return the origin (d,) of the rows of all parts together, in float64.

    It is 0 except for features that are ten times farther from zero than they spread. A feature of
    a sparse matrix keeps its 0 unless every row has an entry, because missing entries cannot be
    moved. Every origin gives correct results, so a few of the rows are enough to choose one.

    >>> origin_of([Matrix(np.array([[1.0, 1e9], [2.0, 1e9 + 2.0]]))])
    array([0.e+00, 1.e+09])
    """
    return middle_of([bounds_of(X) for X in parts if X.shape[0]], parts[0].shape[1])


def middle_of(bounds: Sequence[tuple[Array, Array]], n_features: int) -> Array:
    """Return the origin (d,) from the bounds of the features in every part."""
    if not bounds:
        return np.zeros(n_features)
    low = np.minimum.reduce([low for low, _ in bounds])  # NaN in one part is NaN in all
    high = np.maximum.reduce([high for _, high in bounds])
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + 0.5 * (high - low)
        return np.where(np.abs(middle) > FAR * (high - low), middle, 0.0)


def bounds_of(X: Matrix) -> tuple[Array, Array]:
    """Return the smallest and largest value of every feature in some rows; NaN if missing."""
    low, high = np.full((2, X.shape[1]), np.nan)
    full = np.flatnonzero(X.full_columns())
    if not len(full):
        return low, high
    rows = _rows(X)
    if not X.is_sparse:
        values = X.X[rows].astype(np.float64)
    elif X.X.format == "csr":
        values = X.X[rows][:, full].toarray()
    else:
        values = X.X.data[X.X.indptr[full] + rows[:, None]]
    low[full], high[full] = values.min(axis=0), values.max(axis=0)
    return low, high


def _rows(X: Matrix) -> Array:
    n = X.shape[0]
    return np.linspace(0, n - 1, min(n, ROWS)).astype(np.int64)
