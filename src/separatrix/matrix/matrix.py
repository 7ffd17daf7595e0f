"""Products with X and statistics of it, the same for every type and layout.

    Matrix(X).scores(W, b)            Z (n, B, K) = X W + b
    Matrix(X).transpose_times(U)      G (d, B, K) = X^T U
    Matrix(X).gram(h)                 H (P, d + 1, d + 1) = [X, 1]^T diag(h_p) [X, 1]

X may be dense, of any real type and order, or sparse; `storage` describes how it is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix.matrix.array_types import Array, as_floats
from separatrix.matrix.model_axis import zeros
from separatrix.matrix.pieces import entry_pieces
from separatrix.matrix.storage import StoredMatrix, compressed_arrays


class Matrix(StoredMatrix):
    """A data matrix X (n, d), read-only, for products with many columns.

    >>> import numpy as np
    >>> X = Matrix(np.array([[1, 2], [3, 4]]))
    >>> X.scores(np.ones((2, 1, 1)), np.zeros((1, 1))).ravel()
    array([3., 7.])
    """

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._facts: dict[str, Any] = {}
        self._thinned: tuple[int, Matrix] | None = None
        self._emptied: tuple[Array, Matrix] | None = None

    def once(self, name: str, find: Callable[[], Any]) -> Any:
        """Return a statistic of X, computed on the first request and cached."""
        if name not in self._facts:
            self._facts[name] = find()
        return self._facts[name]

    def every(self, step: int) -> Matrix:
        """Return every step-th row, starting with the first. The result is cached."""
        if self._thinned is None or self._thinned[0] != step:
            self._thinned = step, self.take(slice(None, None, step))
        return self._thinned[1]

    def take(self, rows: Array | slice) -> Matrix:
        """Return some rows, in their order."""
        part = Matrix(self.rows()[rows])
        part.dtype = self.dtype
        return part

    def without(self, columns: Array) -> Matrix:
        """Return a copy with 0 in the columns of a mask. The copy is cached."""
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

    def with_column(self, value: float) -> Matrix:
        """Return a copy with one more column, which has the same value in every row."""
        column = np.full((self.shape[0], 1), value, self.dtype)
        if not self.is_sparse:
            return Matrix(np.hstack([self.X, column]))
        return Matrix(sp.hstack([self.X, sp.csr_array(column)], format=self.X.format))

    def scores(self, W: Array, b: Array) -> Array:
        """Return X W + b, (n, B, K), in the type of W (d, B, K)."""
        W = as_floats(W)
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
        U = as_floats(U)
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

        H has both triangles, in float64, with the constant 1 last: H[p, :d, d] is X^T h_p and
        H[p, d, d] the sum of h_p. The columns share the passes over X. An origin (d,) is subtracted
        from x_i; it must be 0 for features that some rows of a sparse X lack.

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
        _core.gram(self.in_order(), h, kernel_origin(origin), H)
        return H

    def full_columns(self) -> Array:
        """Return which columns (d,) have an entry in every row; all columns of a dense X."""
        return np.asarray(self.once("full_columns", self._find_full_columns))

    def _find_full_columns(self) -> Array:
        n, d = self.shape
        full = np.ones(d, bool)
        if not self.is_sparse:
            return full
        if self.X.format == "csc":
            return np.asarray(np.diff(self.X.indptr) == n)
        # A few rows are usually enough to rule out all columns.
        for rows in (min(n, 16), min(n, 1024), n):
            if full.any():
                full = np.bincount(self.X.indices[: self.X.indptr[rows]], minlength=d) == rows
        return full

    def largest(self) -> Array:
        """Return the largest |x| of every column (d,), or of all columns that are not full."""
        return np.asarray(self.once("largest", self._find_largest))

    def _find_largest(self) -> Array:
        if not self.is_sparse:
            high, low = (f(axis=0, initial=0) for f in (self.X.max, self.X.min))
            return np.maximum(high.astype(np.float64), -low.astype(np.float64))
        full, data = self.full_columns(), compressed_arrays(self.X)[2]
        if not full.any():
            return np.full(self.shape[1], 1.0 if self.native.ones else _core.max_abs(data))
        each = np.zeros(self.shape[1])
        for _, column, value in entry_pieces(self.X, np.ones(self.shape[0])):
            np.maximum.at(each, column, np.abs(value))
        return np.where(full, each, each[~full].max(initial=0.0))

    def occurring(self) -> Array:
        """Return which columns (d,) are not zero in some row."""
        return np.asarray(self.once("occurring", self._find_occurring))

    def _find_occurring(self) -> Array:
        if not self.is_sparse:
            return np.asarray((self.X != 0).any(axis=0))
        entries, found = self.X.tocoo(), np.zeros(self.shape[1], bool)
        found[entries.col[entries.data != 0]] = True
        return found

    def constants(self) -> Array:
        """Return the values (d,) of columns that have one value in every row; NaN for the others.

        >>> Matrix(np.array([[7.0, 1.0], [7.0, 2.0]])).constants()
        array([ 7., nan])
        """
        rows = np.arange(self.shape[0])
        return np.asarray(self.once("constants", lambda: self.constants_in(rows)))

    def constants_in(self, rows: Array) -> Array:
        """Return the constants in some rows (numbers); if sparse, of columns with all entries."""
        values = np.full(self.shape[1], np.nan)
        columns = np.flatnonzero(self.full_columns())
        if not len(rows) or not len(columns):
            return values
        X = self.X.tocsr() if self.is_sparse else self.X
        row = X[rows[:1]].toarray()[0] if self.is_sparse else X[rows[0]]
        # A few rows are usually enough to rule out all columns.
        for some in (rows[:16], rows[16:1024], rows[1024:]):
            if not len(columns):
                return values
            part = X[some][:, columns]
            part = part.toarray() if self.is_sparse else part
            columns = columns[(part == row[columns]).all(axis=0)]
        values[columns] = row[columns]
        return values


def rows_read() -> tuple[int, int]:
    """Return how many rows products with X and X^T have read since the process started."""
    return _core.rows_read()


def kernel_origin(origin: Array | None) -> Array | None:
    """Return an origin for the kernels: None if it is zero."""
    if origin is None or not origin.any():
        return None
    return np.require(origin, np.float64, ["C", "A"])
