"""X as the native kernels read it, and the threads they run on.

    Matrix(X).scores(W, b)            Z (n, B, K) = X W + b
    Matrix(X).transpose_times(U)      G (d, B, K) = X^T U
    Matrix(X).gram(h)                 H (P, d + 1, d + 1) = [X, 1]^T diag(h_p) [X, 1]

X may be dense, of any real type and order, or sparse. Read where they lie are dense float32,
float64, integers and booleans, converted a few rows at a time inside the kernels, and CSR and CSC
of floats. Everything else is copied once: float16, foreign byte orders and unaligned arrays, other
sparse formats, sparse integers (their values, in float32 where that is exact), repeated entries and
unsorted columns of CSC. Rows of CSR may lie unsorted: scores are summed in the order in which the
entries lie. A sparse X gets one working copy beside: in the other orientation, once products would
have paid for it, or the one that a solver makes, or sorted for Gram matrices.
"""

from __future__ import annotations

import math
import numbers
import os
import weakref
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import separatrix._core as _core
from separatrix.errors import ParameterError

Array: TypeAlias = NDArray[Any]

_READABLE = tuple(np.dtype(kind) for kind in "bBhHiIlLqQfd?")
_SPREAD_OF_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of a column's mean
_SMALL = 2.0**-600  # a power of two, by which the largest numbers can be squared
_DIGITS_LEFT = 1e-6  # share of the variance in the mean square that leaves it ten digits
_ENTRIES_AT_ONCE = 1 << 17
_COPY_PAYS = 8  # products; a copy takes as long as some of them
_SAMPLE = 256  # rows that are enough to see how the features of X differ
_EXACT = 2**24  # whole numbers up to here are float32
_NEAR_SUMS = 1 << 12  # that the nearest cache holds: they are added to in any order as fast


MOST_THREADS = 1024


class Matrix:
    """A data matrix X (n, d), read-only, ready for products with many columns.

    >>> import numpy as np
    >>> X = Matrix(np.array([[1, 2], [3, 4]]))
    >>> X.scores(np.ones((2, 1, 1)), np.zeros((1, 1))).ravel()
    array([3., 7.])
    """

    def __init__(self, X: Any) -> None:
        self.is_sparse = sp.issparse(X)
        X = X if self.is_sparse else np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biufO":
            raise ValueError(
                "X must be a matrix of real numbers, of shape (n, d). "
                f"Got an array of shape {X.shape} and type {X.dtype} instead."
            )
        self.dtype = working_type(X.dtype)
        # The forms of a sparse X, and the native matrix of them: one pair, which other threads may
        # be reading while it is replaced.
        self._held: tuple[dict[str, Any], _core.Matrix]
        if self.is_sparse:
            self.X = _canonical(X)
            self._held = _native({self.X.format: self.X})
        else:
            self.X = _readable(X)
            self._held = {}, _core.Matrix.dense(self.X)
        self.shape: tuple[int, int] = self.X.shape
        self._products = 0  # that a second form would have made faster, so far
        self._lent: weakref.ref[object] | None = None
        self._sorted: Matrix | None = None
        self._thinned: tuple[int, Matrix] | None = None
        self._square: float | None = None
        self._largest: Array | None = None
        self._full: Array | None = None
        self._column_squares: Array | None = None
        self._sample: Any = None
        self._constants: Array | None = None
        self._emptied: tuple[Array, Matrix] | None = None

    @property
    def n_entries(self) -> int:
        """How many numbers are stored: those of a sparse X, all of a dense one."""
        return int(self.X.nnz if self.is_sparse else self.X.size)

    def every(self, step: int) -> Matrix:
        """Every step-th row, from the first on; kept for the next time it is asked for."""
        if self._thinned is None or self._thinned[0] != step:
            self._thinned = step, self.take(slice(None, None, step))
        return self._thinned[1]

    def take(self, rows: Array | slice) -> Matrix:
        """Some rows, in their order."""
        forms, _ = self._held
        part = Matrix(forms.get("csr", self.X)[rows])
        part.dtype = self.dtype
        return part

    def by_sample(self) -> _core.Matrix:
        """The native matrix with the entries of a sparse X by samples."""
        return self._with("csr")

    def by_both(self) -> _core.Matrix:
        """The same, with the entries of a sparse X by features as well."""
        return self._with("csr", "csc")

    def in_order(self) -> _core.Matrix:
        """The matrix by samples, each row sorted: in a copy of a sparse X where that is not so."""
        native = self.by_sample()
        if native.ordered:
            return native
        if self._sorted is None:
            self._sorted = Matrix(_in_order(self.X))
        return self._sorted.by_sample()

    @property
    def native(self) -> _core.Matrix:
        """The native matrix as it is, a sparse X in the forms that there are."""
        return self._held[1]

    def for_scores(self, columns: int) -> _core.Matrix:
        """The native matrix for one more product with so many columns W.

        A sparse X gives the same bits by samples and by features, but scores are slower by
        features: the copy by samples is made once it would have paid.
        """
        forms, native = self._held
        if not self.is_sparse or "csr" in forms:
            return native
        self._products += columns
        return self.by_both() if self._copy_pays() else native

    def for_transpose(self, columns: int) -> _core.Matrix:
        """The native matrix for one more product of X^T with so many columns, and with W.

        A sparse X gives the same bits with or without its entries by features, but products with
        X^T that have many sums are slower without: the second copy is made once it would have paid.
        Few features are always read by samples.
        """
        many = self.shape[1] > _core.few_features
        forms, _ = self._held
        if not self.is_sparse or (many and "csc" in forms):
            return self.for_scores(columns)
        self._products += many and self.shape[1] * columns > _NEAR_SUMS
        return self.by_both() if self._copy_pays() else self.by_sample()

    def lend(self, copy: object) -> None:
        """Make no copy in another form for products as long as this working copy of X is there."""
        self._lent = weakref.ref(copy)

    def _copy_pays(self) -> bool:
        """Whether a copy in another form would have paid, and there is no copy of X yet."""
        lent = self._lent is not None and self._lent() is not None
        return self._products > _COPY_PAYS and not lent and self._sorted is None

    def _with(self, *wanted: str) -> _core.Matrix:
        """The native matrix with the entries of a sparse X in these forms beside those it has."""
        forms, native = self._held
        missing = [form for form in wanted if self.is_sparse and form not in forms]
        if missing:
            forms, native = _native({**forms, **{form: self.X.asformat(form) for form in missing}})
            self._held = forms, native
        return native

    def scores(self, W: Array, b: Array) -> Array:
        """Return X W + b, (n, B, K), in the type of W (d, B, K)."""
        W = _as_floats(W)
        b = np.ascontiguousarray(b, W.dtype)
        n, d = self.shape
        if W.ndim != 3 or W.shape[0] != d or b.shape != W.shape[1:]:
            raise ValueError(
                f"X has {d} columns: W must be of shape ({d}, B, K) and b of shape (B, K). "
                f"Got {W.shape} and {b.shape} instead."
            )
        Z = np.empty((n, *b.shape), W.dtype)
        if Z.size:
            _core.scores(self.for_scores(b.size), W.reshape(d, b.size), b.reshape(-1), Z)
        return Z

    def transpose_times(self, U: Array) -> Array:
        """Return X^T U, (d, B, K), in the type of U (n, B, K)."""
        U = _as_floats(U)
        n, d = self.shape
        if U.ndim != 3 or U.shape[0] != n:
            raise ValueError(
                f"X has {n} rows: U must be of shape ({n}, B, K). Got {U.shape} instead."
            )
        G = zeros((d, *U.shape[1:]), U.dtype)
        if G.size:
            _core.transpose_times(self.for_transpose(U.shape[1] * U.shape[2]), U, G)
        return G

    def gram(self, h: Array, origin: Array | None = None) -> Array:
        """Return H (P, d + 1, d + 1), sum_i h_ip [x_i; 1] [x_i; 1]^T for each column p of h (n, P).

        Whole and symmetric, in float64, the constant 1 last: H[p, :d, d] is X^T h_p and H[p, d, d]
        the sum of h_p. The columns share the passes over X. With an origin (d,), x_i is taken from
        there; it must be 0 for features that a sparse X does not have in every row.

        >>> Matrix(np.array([[1.0, 2.0]])).gram(np.array([[0.5]]))[0]
        array([[0.5, 1. , 0.5],
               [1. , 2. , 1. ],
               [0.5, 1. , 0.5]])
        """
        h = np.require(h, np.float64, ["C", "A"])
        n, d = self.shape
        if h.ndim != 2 or len(h) != n:
            raise ValueError(f"X has {n} rows: h must be of shape ({n}, P). Got {h.shape} instead.")
        H = np.empty((h.shape[1], d + 1, d + 1))
        _core.gram(self.in_order(), h, _origin_of(origin), H)
        return H

    def full_columns(self) -> Array:
        """Which columns (d,) have an entry in every row: all of a dense X."""
        if self._full is None:
            n, d = self.shape
            if not self.is_sparse:
                self._full = np.ones(d, bool)
            elif self.X.format == "csc":
                self._full = np.diff(self.X.indptr) == n
            else:
                # Mostly a few rows tell that there is none.
                full = np.ones(d, bool)
                for rows in (min(n, 16), min(n, 1024), n):
                    if full.any():
                        index = self.X.indices[: self.X.indptr[rows]]
                        full = np.bincount(index, minlength=d) == rows
                self._full = full
        return self._full

    def largest(self) -> Array:
        """The largest |x| of every column (d,), or of all columns that are not full."""
        if self._largest is None:
            if not self.is_sparse:
                high, low = (f(axis=0, initial=0) for f in (self.X.max, self.X.min))
                self._largest = np.maximum(high.astype(np.float64), -low.astype(np.float64))
            else:
                full, data = self.full_columns(), _arrays_of(self.X)[2]
                most = 1.0 if self.native.ones else _core.largest(data)
                self._largest = np.full(self.shape[1], most)
                if full.any():
                    each = np.zeros(self.shape[1])
                    for _, column, value in self._entries(np.ones(self.shape[0])):
                        np.maximum.at(each, column, np.abs(value))
                    self._largest = np.where(full, each, each[~full].max(initial=0.0))
        return self._largest

    def constants(self) -> Array:
        """The values (d,) of columns that have the same one in every row; NaN for the others.

        >>> Matrix(np.array([[7.0, 1.0], [7.0, 2.0]])).constants()
        array([ 7., nan])
        """
        if self._constants is None:
            self._constants = self.constants_in(np.arange(self.shape[0]))
        return self._constants

    def constants_in(self, rows: Array) -> Array:
        """The same in some rows (numbers); of a sparse X, for columns that every row has."""
        values = np.full(self.shape[1], np.nan)
        columns = np.flatnonzero(self.full_columns())
        if not len(rows) or not len(columns):
            return values
        X = self.X.tocsr() if self.is_sparse else self.X
        row = X[rows[:1]].toarray()[0] if self.is_sparse else X[rows[0]]
        # Mostly a few rows tell that there is none.
        for some in (rows[:16], rows[16:1024], rows[1024:]):
            if not len(columns):
                return values
            part = X[some][:, columns]
            part = part.toarray() if self.is_sparse else part
            columns = columns[(part == row[columns]).all(axis=0)]
        values[columns] = row[columns]
        return values

    def without(self, columns: Array) -> Matrix:
        """The same with 0 in some columns (a mask), in a copy that is kept for the next time."""
        if self._emptied is not None and np.array_equal(self._emptied[0], columns):
            return self._emptied[1]
        X = self.X.copy()
        if self.is_sparse:
            lines = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
            X.data[columns[X.indices if X.format == "csr" else lines]] = 0
        else:
            X[:, columns] = 0
        part = Matrix(X)
        part.dtype = self.dtype
        self._emptied = columns, part
        return part

    def moments(self, s: Array | None = None) -> tuple[Array, Array]:
        """Return the weighted mean and standard deviation of every column, in float64.

        Deviations are summed, not squares, and from a value of the column itself: digits survive
        however far the column lies from zero, and a constant column has deviation 0, exactly.
        """
        n, _ = self.shape
        weights = np.ones(n) if s is None else np.asarray(s, np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"X has {n} rows: s must be of shape ({n},). Got {weights.shape} instead."
            )
        total = weights.sum() or 1.0
        mean, spread = self._moments(weights, total)
        large = np.flatnonzero(~np.isfinite(spread))
        if len(large):  # squares beyond the largest number: the same in other units
            scaled = Matrix(self.X[:, large] * _SMALL)
            mean[large], spread[large] = (a / _SMALL for a in scaled._moments(weights, total))
        return mean, np.where(spread > _SPREAD_OF_ROUNDING * np.abs(mean), spread, 0.0)

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is looked at again
    def _moments(self, weights: Array, total: float) -> tuple[Array, Array]:
        sums = self._sparse_moments if self.is_sparse else self._dense_moments
        mean, variance = sums(weights, total)
        return mean, np.sqrt(variance)

    def moments_of_models(self, s: Array) -> tuple[Array, Array]:
        """Return mean and deviation (d, B) of every column for each column of weights s (n, B)."""
        total = sum_samples(s)
        total = np.where(total > 0.0, total, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.transpose_times(s[:, :, None])[:, :, 0] / total
            variance = self.squares(s) / total - mean**2
            spread = np.sqrt(np.maximum(variance, 0.0))
            # Far from zero the difference of squares has lost its digits: sum deviations instead.
            lost = ~(variance > _DIGITS_LEFT * mean**2) & (mean != 0.0)
        for k in np.flatnonzero(lost.any(axis=0)):
            columns = np.flatnonzero(lost[:, k])
            mean[columns, k], spread[columns, k] = Matrix(self.X[:, columns]).moments(s[:, k])
        return mean, spread

    def sum_of_squares(self, factors: Array | None = None) -> float:
        """The sum of the squares of all entries, each divided by its column's factor if given.

        Of a large dense X it is found by a sample of its rows.
        """
        if factors is not None:
            if self._column_squares is None:
                self._column_squares = self._squares_of_some()
            return float((self._column_squares / np.square(factors)).sum())
        if self._square is None:
            data = self.X.data if self.is_sparse else None
            total = (
                self._squares_of_some().sum()
                if data is None
                else np.einsum("i,i", data, data, dtype=np.float64)
            )
            self._square = float(total)
        return self._square

    def _squares_of_some(self) -> Array:
        """The sums of squares (d,) of the columns, estimated from some rows if X is dense."""
        if self.is_sparse:
            return self.squares(np.ones(self.shape[0]))[:, 0]
        some = self.X[:: max(self.X.size // _ENTRIES_AT_ONCE, 1)]
        total = np.einsum("ij,ij->j", some, some, dtype=np.float64)
        return total * len(self.X) / max(len(some), 1)

    def squares_of_sample(self) -> Any:
        """The squares of the entries of some hundred rows: an array, or CSR if sparse."""
        if self._sample is None:
            forms, _ = self._held
            step = max(self.shape[0] // _SAMPLE, 1)
            some = forms.get("csr", self.X)[::step].astype(np.float64)
            self._sample = sp.csr_array(some.power(2)) if self.is_sparse else np.square(some)
        return self._sample

    def _dense_moments(self, weights: Array, total: float) -> tuple[Array, Array]:
        X, d = self.X, self.shape[1]
        first = np.flatnonzero(weights)[:1]
        centre = X[first[0]].astype(np.float64) if len(first) else np.zeros(d)
        shift, variance = np.zeros(d), np.zeros(d)
        for piece in _pieces(X):
            shift += weights[piece] @ (X[piece] - centre) / total
        for piece in _pieces(X):
            variance += weights[piece] @ np.square(X[piece] - centre - shift) / total
        return centre + shift, variance

    def _sparse_moments(self, weights: Array, total: float) -> tuple[Array, Array]:
        """The same over the entries that are there; the others are zeros of known weight."""
        d = self.shape[1]
        centre, counts, present, shift, variance = np.zeros((5, d))
        for _, column, value in self._entries(weights):
            centre[column] = value
            counts += np.bincount(column, minlength=d)
        # A column that lacks no row is centred at one of its values, all others at their zeros.
        full = counts == np.count_nonzero(weights)
        centre[~full] = 0.0
        # The sums run on from piece to piece, by rows: from CSR and CSC they have the same bits.
        for s, column, value in self._entries(weights):
            np.add.at(shift, column, s * (value - centre[column]) / total)
            np.add.at(present, column, s / total)
        mean = centre + shift
        for s, column, value in self._entries(weights):
            np.add.at(variance, column, s * np.square(value - mean[column]) / total)
        zeros = np.where(full, 0.0, np.maximum(1.0 - present, 0.0))
        return mean, variance + zeros * np.square(mean)

    def _entries(self, weights: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Weight, column and value of the entries of a sparse X in rows that have weight."""
        X = self.X
        for first in range(0, X.nnz, _ENTRIES_AT_ONCE):
            piece = slice(first, min(first + _ENTRIES_AT_ONCE, X.nnz))
            index = X.indices[piece]
            low = np.searchsorted(X.indptr, piece.start, side="right") - 1
            high = np.searchsorted(X.indptr, piece.stop)
            ends = np.clip(X.indptr[low : high + 1], piece.start, piece.stop)
            line = np.repeat(np.arange(low, high), np.diff(ends))
            row, column = (line, index) if X.format == "csr" else (index, line)
            s = weights[row]
            kept = s != 0.0
            yield s[kept], column[kept], X.data[piece][kept].astype(np.float64)

    def bounds(self, groups: Array, n_groups: int) -> tuple[Array, Array]:
        """The least and the largest value of every feature in each group of rows, (groups, d).

        >>> Matrix(np.array([[1.0], [3.0], [2.0]])).bounds(np.array([0, 1, 0]), 2)[1].ravel()
        array([2., 3.])
        """
        d = self.shape[1]
        low, high = np.full((n_groups, d), np.inf), np.full((n_groups, d), -np.inf)
        if not self.is_sparse:
            for piece in _pieces(self.X):
                for k in np.unique(groups[piece]):
                    rows = self.X[piece][groups[piece] == k]
                    low[k] = np.minimum(low[k], rows.min(axis=0))
                    high[k] = np.maximum(high[k], rows.max(axis=0))
            return low, high
        counts = np.zeros((n_groups, d))
        for group, column, value in self._entries(groups + 1.0):  # 0 would leave rows out
            at = (group.astype(np.int64) - 1) * d + column
            np.minimum.at(low.ravel(), at, value)
            np.maximum.at(high.ravel(), at, value)
            np.add.at(counts.ravel(), at, 1.0)
        zeros = counts < np.bincount(groups, minlength=n_groups)[:, None]
        np.minimum(low, 0.0, out=low, where=zeros)
        np.maximum(high, 0.0, out=high, where=zeros)
        return low, high

    def squares(self, s: Array, origin: Array | None = None) -> Array:
        """Return sum_i s_i x_ij^2 of every column j, (d, 1) for s (n,) or (d, B) for s (n, B).

        With an origin (d,), x_i is taken from there, as in `gram`.
        """
        weights, origin = s.reshape(self.shape[0], -1), _origin_of(origin)
        total = np.zeros((self.shape[1], weights.shape[1]))
        if self.is_sparse:
            weights = np.require(weights, np.float64, ["C", "A"])[:, :, None]
            X = self._as_products_read_it()
            for lines in _lines(X.indptr):
                part = _squared(X, lines, origin)
                if X.format == "csc":
                    _core.transpose_times(part, weights, total[lines, :, None])
                else:
                    _core.transpose_times(part, weights[lines], total[:, :, None])
            return total
        for piece in _pieces(self.X):
            rows = self.X[piece] if origin is None else self.X[piece] - origin
            squared = np.square(rows, dtype=np.float64).T
            for k, column in enumerate(weights.T):  # one by one: a product's bits depend on k
                total[:, k] += squared @ np.ascontiguousarray(column[piece])
        return total

    def _as_products_read_it(self) -> Any:
        """A sparse X in the form that products with X^T are made from."""
        if self.shape[1] > _core.few_features:
            return self.X
        self.by_sample()
        forms, _ = self._held
        return forms["csr"]


def _origin_of(origin: Array | None) -> Array | None:
    """An origin as the kernels take it: None where it is zero."""
    if origin is None or not origin.any():
        return None
    return np.require(origin, np.float64, ["C", "A"])


def _squared(X: Any, lines: slice, origin: Array | None) -> _core.Matrix:
    """The squares of some rows of a CSR, or columns of a CSC, seen from an origin."""
    (start, index, value), by_feature = _arrays_of(X), X.format == "csc"
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


def _native(forms: dict[str, Any]) -> tuple[dict[str, Any], _core.Matrix]:
    """Sparse matrices that are the same X, by samples or by features, as one native matrix."""
    native = _core.Matrix.sparse(*next(iter(forms.values())).shape)
    for X in forms.values():
        native.set(X.format == "csc", *_arrays_of(X), X.has_sorted_indices)
    return forms, native


def _arrays_of(X: Any) -> tuple[Array, Array, Array]:
    """Where the rows of a compressed matrix start, its indices and values, as kernels read them."""
    wide = np.int64 if np.int64 in (X.indptr.dtype, X.indices.dtype) else np.int32
    # The kernels know no strides of these.
    start, index = (np.require(a, wide, ["C", "A"]) for a in (X.indptr, X.indices))
    return start, index, np.require(X.data, None, ["C", "A"])


def working_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which X of `dtype` is computed with: float32 stays, all else is float64."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def sum_samples(a: Array) -> Array:
    """Sum (n, B) or (n, B, K) over the samples in float64.

    Each column is summed in the same order, whatever models stand beside it.
    """
    a = _as_floats(a)
    out = np.empty(a.shape[1:])
    _core.sum_rows(a.reshape(len(a), -1) if a.size else np.empty((0, out.size)), out.reshape(-1))
    return out


def sum_of_squares(V: Array) -> Array:
    """The squares of V (d, B, K) summed for each model (B,), whatever models stand beside it.

    >>> sum_of_squares(np.array([[[3.0], [1.0]], [[4.0], [1.0]]]))
    array([25.,  2.])
    """
    V, out = np.ascontiguousarray(V), np.empty(V.shape[1])
    nothing = np.zeros(V.shape[1:], V.dtype)
    _core.dots(V, nothing, V, nothing, out)
    return out


def per_model(a: Array) -> Array:
    """View (n,) as (n, 1), which broadcasts over the models; leave (n, B)."""
    a = np.asarray(a)
    return a[:, None] if a.ndim == 1 else a


def pick_models(a: Array, models: Array) -> Array:
    """The columns (n, models, ...) of some models (numbers or a mask), in C order.

    >>> pick_models(np.array([[1, 2, 3]]), np.array([True, False, True]))
    array([[1, 3]])
    """
    return a.take(np.flatnonzero(models) if models.dtype == bool else models, axis=1)


def zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of float32 or float64 zeros that kernels will add to in any order.

    Its memory is touched in order and on all threads, which takes less time than as they come by.
    """
    out = np.empty(shape, dtype)
    _core.clear(out)
    return out


def by_model(a: Array) -> Array:
    """The columns of a (n, B), each in one piece (B, n), or a (n,) itself.

    Along them numpy finds extremes several times as fast.
    """
    return np.ascontiguousarray(a.T)


def silence(Z: Array, s: Array) -> Array:
    """Z (n, B, K), but 0 in rows without weight: they leave no trace, though Z may be infinite."""
    return Z if s.all() else np.where(s[:, :, None] > 0.0, Z, Z.dtype.type(0))


def first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry of X that is NaN or infinite, if there is one."""
    if sp.issparse(X):
        if _all_finite(X.data):
            return None
        entries = _canonical(X).tocoo()
        worst = np.flatnonzero(~np.isfinite(entries.data))
        if not len(worst):
            return None
        order = np.lexsort((entries.col[worst], entries.row[worst]))
        at = worst[order[0]]
        return int(entries.row[at]), int(entries.col[at]), float(entries.data[at])
    X = np.asarray(X)
    if _all_finite(X):
        return None
    X = X[:, None] if X.ndim == 1 else X
    for piece in _pieces(X):
        good = np.isfinite(X[piece])
        if not good.all():
            i, j = np.argwhere(~good)[0]
            row = piece.start + int(i)
            return row, int(j), float(X[row, j])
    return None


def _all_finite(a: Array) -> bool:
    """Whether all numbers are known to be finite: those of an array that lies in one piece."""
    if a.dtype.kind != "f":
        return True
    in_one = a.flags.c_contiguous or a.flags.f_contiguous
    if a.dtype not in (np.float32, np.float64) or not (in_one and a.flags.aligned):
        return False
    return math.isfinite(_core.largest(a.ravel(order="K")))


def set_threads(threads: int | None = None) -> None:
    """Set how many threads the kernels may use; by default one per available core.

    Results do not depend on it. The variable SEPARATRIX_THREADS sets it at import.
    """
    if threads is None:
        threads = _available_cores()
    whole = isinstance(threads, numbers.Integral) and not isinstance(threads, bool)
    if not whole or threads < 1:
        raise ParameterError(
            f"The number of threads must be a whole number >= 1. Got {threads!r} instead."
        )
    if threads > MOST_THREADS:
        raise ParameterError(f"At most {MOST_THREADS} threads are allowed. Got {threads} instead.")
    _core.set_threads(int(threads))


def get_threads() -> int:
    """How many threads the kernels may use."""
    return _core.threads()


def rows_read() -> tuple[int, int]:
    """How many rows the products with X and with X^T have read since the start of the process."""
    return _core.rows_read()


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads_from_environment() -> int | None:
    text = os.environ.get("SEPARATRIX_THREADS", "")
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(
            f"The variable SEPARATRIX_THREADS must be a whole number >= 1. Got {text!r} instead."
        )
    return int(text)


def _as_floats(a: Any) -> Array:
    """An array the kernels compute with: float32 stays, all else becomes float64; in C order."""
    a = np.asarray(a)
    return np.require(a, working_type(a.dtype), ["C", "A"])


def _readable(X: Array) -> Array:
    """X where it lies, if the kernels can read it there; otherwise a copy."""
    if X.dtype not in _READABLE:
        return X.astype(working_type(X.dtype))
    whole_strides = all(stride % X.itemsize == 0 for stride in X.strides)
    return X if X.flags.aligned and whole_strides else X.copy()


def _canonical(X: Any) -> Any:
    """CSR or CSC with unique indices and float values; the user's arrays where it is so.

    The columns of CSC are sorted; rows of CSR may lie unsorted, and `has_sorted_indices` says so.
    """
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    try:
        for name in ("indices", "indptr"):
            if (kind := getattr(X, name).dtype).kind != "i":
                raise ValueError(f"{name} must be integers with a sign, and are of type {kind}")
        # A matrix of its own over the same arrays: what X remembers of its order may be outdated.
        view = type(X)((_values_of(X.data), X.indices, X.indptr), shape=X.shape, copy=False)
        view.indices, view.indptr = X.indices[: len(view.data)], X.indptr
        start, index, _ = _arrays_of(view)
        rows = _core.look_over(start, index, view.shape[view.format == "csr"])
        if rows == _core.Rows.faulty:
            view.check_format(full_check=True)  # which says what is wrong
            raise ValueError("some of its indices are not those of an entry")
    except ValueError as error:
        raise ValueError(
            f"X is not a valid {X.format.upper()} matrix of shape {X.shape}: {error}. "
            "Make it anew from rows, columns and values, for example with scipy.sparse.coo_array."
        ) from error
    unsorted = rows == _core.Rows.unordered
    if rows == _core.Rows.repeated:  # the sums of whole numbers may need more digits than they do
        view.data = view.data.astype(working_type(X.dtype), copy=False)
    if rows == _core.Rows.repeated or (unsorted and view.format == "csc"):
        return _in_order(view)
    view.has_sorted_indices = view.has_canonical_format = not unsorted
    return view


def _values_of(data: Array) -> Array:
    """The values of a sparse X as the kernels read them; whole numbers in float32 if it has them.

    >>> _values_of(np.array([3, -2**24])).dtype, _values_of(np.array([2**24 + 1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    if data.dtype in (np.float32, np.float64):
        return data
    whole = data.dtype.kind in "biu"
    exact = whole and (not data.size or max(int(data.max()), -int(data.min())) <= _EXACT)
    return data.astype(np.float32 if exact else working_type(data.dtype))


def _in_order(X: Any) -> Any:
    """A copy of a compressed matrix with the indices of each row sorted, equal ones added up."""
    given = _arrays_of(X)
    start, index, value = (np.empty_like(a) for a in given)
    columns = X.shape[X.format == "csr"]
    count = _core.put_in_order(*given, columns, start, index, value)
    out = type(X)((value[:count], index[:count], start), shape=X.shape, copy=False)
    out.has_canonical_format = True
    return out


def _lines(start: Array) -> Iterator[slice]:
    """The rows of a compressed matrix, as many at a time as temporary copies may hold."""
    first, n = 0, len(start) - 1
    while first < n:
        last = int(np.searchsorted(start, start[first] + _ENTRIES_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        yield slice(first, last)
        first = last


def _pieces(X: Array) -> Iterator[slice]:
    """The rows of X, as many at a time as temporary copies may hold."""
    rows = max(_ENTRIES_AT_ONCE // max(X.shape[1], 1), 1)
    return (slice(start, start + rows) for start in range(0, len(X), rows))


set_threads(_threads_from_environment())
