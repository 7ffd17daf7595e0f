"""Means, standard deviations, squares and bounds of the columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix.matrix.array_types import Array
from separatrix.matrix.matrix import Matrix, kernel_origin
from separatrix.matrix.model_axis import sum_samples
from separatrix.matrix.pieces import entry_pieces, line_pieces, row_pieces
from separatrix.matrix.storage import compressed_arrays

SPREAD_OF_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # relative to a column's mean
SMALL = 2.0**-600  # a power of two; the largest numbers can be squared after scaling by it
DIGITS_LEFT = 1e-6  # ratio of variance to mean square that leaves the variance ten digits
SAMPLED_ENTRIES = 1 << 17  # entries of a dense X from which the sum of squares is estimated
SAMPLED_ROWS = 256  # rows that are enough to compare the features of X


def column_moments(X: Matrix, s: Array | None = None) -> tuple[Array, Array]:
    """Return the weighted mean and standard deviation of every column, in float64.

    Deviations from a value of the column are summed, not squares. This keeps the digits of columns
    far from zero, and the standard deviation of a constant column is exactly 0.
    """
    n, _ = X.shape
    weights = np.ones(n) if s is None else np.asarray(s, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"X has {n} rows: s must be of shape ({n},). Got {weights.shape} instead.")
    total = weights.sum() or 1.0
    mean, spread = _moments(X, weights, total)
    large = np.flatnonzero(~np.isfinite(spread))
    if len(large):  # their squares overflow: compute in other units
        scaled = Matrix(X.X[:, large] * SMALL)
        mean[large], spread[large] = (a / SMALL for a in _moments(scaled, weights, total))
    return mean, np.where(spread > SPREAD_OF_ROUNDING * np.abs(mean), spread, 0.0)


def moments_of_models(X: Matrix, s: Array) -> tuple[Array, Array]:
    """Return mean and deviation (d, B) of every column for each column of weights s (n, B)."""
    total = sum_samples(s)
    total = np.where(total > 0.0, total, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.transpose_times(s[:, :, None])[:, :, 0] / total
        variance = weighted_squares(X, s) / total - mean**2
        spread = np.sqrt(np.maximum(variance, 0.0))
        # Far from zero the difference of squares has no digits left: sum deviations instead.
        lost = ~(variance > DIGITS_LEFT * mean**2) & (mean != 0.0)
    for k in np.flatnonzero(lost.any(axis=0)):
        columns = np.flatnonzero(lost[:, k])
        mean[columns, k], spread[columns, k] = column_moments(Matrix(X.X[:, columns]), s[:, k])
    return mean, spread


@np.errstate(over="ignore", invalid="ignore")  # the caller recomputes what is not finite
def _moments(X: Matrix, weights: Array, total: float) -> tuple[Array, Array]:
    sums = _sparse_moments if X.is_sparse else _dense_moments
    mean, variance = sums(X.X, weights, total)
    return mean, np.sqrt(variance)


def _dense_moments(X: Array, weights: Array, total: float) -> tuple[Array, Array]:
    d = X.shape[1]
    first = np.flatnonzero(weights)[:1]
    centre = X[first[0]].astype(np.float64) if len(first) else np.zeros(d)
    shift, variance = np.zeros(d), np.zeros(d)
    for piece in row_pieces(X):
        shift += weights[piece] @ (X[piece] - centre) / total
    for piece in row_pieces(X):
        variance += weights[piece] @ np.square(X[piece] - centre - shift) / total
    return centre + shift, variance


def _sparse_moments(X: Any, weights: Array, total: float) -> tuple[Array, Array]:
    """Return the moments from the stored entries; all other entries are zeros of known weight."""
    d = X.shape[1]
    centre, counts, present, shift, variance = np.zeros((5, d))
    for _, column, value in entry_pieces(X, weights):
        centre[column] = value
        counts += np.bincount(column, minlength=d)
    # A column with all entries is centred at one of its values, any other column at zero.
    full = counts == np.count_nonzero(weights)
    centre[~full] = 0.0
    # Sums continue from piece to piece in the order of rows, so CSR and CSC give the same bits.
    for s, column, value in entry_pieces(X, weights):
        np.add.at(shift, column, s * (value - centre[column]) / total)
        np.add.at(present, column, s / total)
    mean = centre + shift
    for s, column, value in entry_pieces(X, weights):
        np.add.at(variance, column, s * np.square(value - mean[column]) / total)
    zeros = np.where(full, 0.0, np.maximum(1.0 - present, 0.0))
    return mean, variance + zeros * np.square(mean)


def weighted_squares(X: Matrix, s: Array, origin: Array | None = None) -> Array:
    """Return sum_i s_i x_ij^2 of every column j, (d, 1) for s (n,) or (d, B) for s (n, B).

    With an origin (d,), it is subtracted from x_i, as in `Matrix.gram`.
    """
    weights, origin = s.reshape(X.shape[0], -1), kernel_origin(origin)
    total = np.zeros((X.shape[1], weights.shape[1]))
    if X.is_sparse:
        weights = np.require(weights, np.float64, ["C", "A"])[:, :, None]
        form = X.as_products_read_it()
        for lines in line_pieces(form.indptr):
            part = _squared(form, lines, origin)
            if form.format == "csc":
                _core.transpose_times(part, weights, total[lines, :, None])
            else:
                _core.transpose_times(part, weights[lines], total[:, :, None])
        return total
    for piece in row_pieces(X.X):
        rows = X.X[piece] if origin is None else X.X[piece] - origin
        squared = np.square(rows, dtype=np.float64).T
        for k, column in enumerate(weights.T):  # one by one: the bits of a product depend on k
            total[:, k] += squared @ np.ascontiguousarray(column[piece])
    return total


def _squared(X: Any, lines: slice, origin: Array | None) -> _core.Matrix:
    """Return the squares of some rows of a CSR, or columns of a CSC, less an origin."""
    (start, index, value), by_feature = compressed_arrays(X), X.format == "csc"
    start = start[lines.start : lines.stop + 1]
    entries = slice(start[0], start[-1])
    index, value = index[entries], value[entries]
    if origin is not None:
        shift = np.repeat(origin[lines], np.diff(start)) if by_feature else origin[index]
        value = value - shift
    (n, d), count = X.shape, len(start) - 1
    native = _core.Matrix.sparse(*((n, count) if by_feature else (count, d)))
    squares = np.square(value, dtype=np.float64)
    native.set(by_feature, start - start[0], index, squares, X.has_sorted_indices)
    return native


def squared_norm(X: Matrix, factors: Array | None = None) -> float:
    """Return the sum of the squares of all entries, each divided by its column's factor if given.

    For a large dense X it is estimated from some of the rows.
    """
    if factors is not None:
        columns = X.once("column_squares", lambda: _estimated_squares(X))
        return float((columns / np.square(factors)).sum())
    return float(X.once("squared_norm", lambda: _squared_norm(X)))


def _squared_norm(X: Matrix) -> float:
    if not X.is_sparse:
        return float(_estimated_squares(X).sum())
    return float(np.einsum("i,i", X.X.data, X.X.data, dtype=np.float64))


def _estimated_squares(X: Matrix) -> Array:
    """Return the sums of squares (d,) of the columns, estimated from some rows if X is dense."""
    if X.is_sparse:
        return weighted_squares(X, np.ones(X.shape[0]))[:, 0]
    some = X.X[:: max(X.X.size // SAMPLED_ENTRIES, 1)]
    total = np.einsum("ij,ij->j", some, some, dtype=np.float64)
    return np.asarray(total * len(X.X) / max(len(some), 1))


def squares_of_sample(X: Matrix) -> Any:
    """Return the squares of the entries of some hundred rows: an array, or CSR if sparse."""

    def find() -> Any:
        some = X.rows()[:: max(X.shape[0] // SAMPLED_ROWS, 1)].astype(np.float64)
        return sp.csr_array(some.power(2)) if X.is_sparse else np.square(some)

    return X.once("squares_of_sample", find)


def bounds_by_group(X: Matrix, groups: Array, n_groups: int) -> tuple[Array, Array]:
    """Return the smallest and largest value of every feature in each group of rows, (groups, d).

    >>> bounds_by_group(Matrix(np.array([[1.0], [3.0], [2.0]])), np.array([0, 1, 0]), 2)[1].ravel()
    array([2., 3.])
    """
    d = X.shape[1]
    low, high = np.full((n_groups, d), np.inf), np.full((n_groups, d), -np.inf)
    if not X.is_sparse:
        for piece in row_pieces(X.X):
            for k in np.unique(groups[piece]):
                rows = X.X[piece][groups[piece] == k]
                low[k] = np.minimum(low[k], rows.min(axis=0))
                high[k] = np.maximum(high[k], rows.max(axis=0))
        return low, high
    counts = np.zeros((n_groups, d))
    for group, column, value in entry_pieces(X.X, groups + 1.0):  # 0 would leave rows out
        at = (group.astype(np.int64) - 1) * d + column
        np.minimum.at(low.ravel(), at, value)
        np.maximum.at(high.ravel(), at, value)
        np.add.at(counts.ravel(), at, 1.0)
    zeros = counts < np.bincount(groups, minlength=n_groups)[:, None]
    np.minimum(low, 0.0, out=low, where=zeros)
    np.maximum(high, 0.0, out=high, where=zeros)
    return low, high
