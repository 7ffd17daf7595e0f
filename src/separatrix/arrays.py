"""X as the native kernels read it, and the threads they run on.

    Matrix(X).scores(W, b)            Z (n, B, K) = X W + b
    Matrix(X).transpose_times(U)      G (d, B, K) = X^T U

X may be dense, of any real type and order, or sparse. Neither is copied: an integer matrix is
converted a few rows at a time inside the kernels, and a sparse one gets one copy in the other
orientation when a product with X^T over all rows first asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import separatrix._core as _core

Array: TypeAlias = NDArray[Any]

_READABLE = tuple(np.dtype(kind) for kind in "bBhHiIlLqQfd?")
_ENTRIES_AT_ONCE = 1 << 17


class Matrix:
    """A data matrix X (n, d), read-only, ready for products with many columns.

    >>> import numpy as np
    >>> X = Matrix(np.array([[1, 2], [3, 4]]))
    >>> X.scores(np.ones((2, 1, 1)), np.zeros((1, 1))).ravel()
    array([3., 7.])
    """

    def __init__(self, X: Any) -> None:
        self.is_sparse = sp.issparse(X)
        if self.is_sparse:
            self.X = _canonical(X)
            self._native = _core.Matrix.sparse(*self.X.shape)
            self._add(self.X)
        else:
            X = np.asarray(X)
            self.X = X if X.dtype in _READABLE else X.astype(working_type(X.dtype))
            self._native = _core.Matrix.dense(self.X)
        self.shape: tuple[int, int] = self.X.shape
        self.dtype = working_type(self.X.dtype)

    def by_sample(self) -> _core.Matrix:
        """The native matrix, able to be multiplied by W."""
        if self.is_sparse and not self._native.has_samples:
            self._add(self.X.tocsr())
        return self._native

    def by_both(self) -> _core.Matrix:
        """The native matrix, able to be multiplied by W and, transposed, by U."""
        if self.is_sparse and not self._native.has_features:
            self._add(self.X.tocsc())
        return self.by_sample()

    def scores(self, W: Array, b: Array) -> Array:
        """Return X W + b, (n, B, K), in the type of W."""
        Z = np.empty((self.shape[0], *b.shape), W.dtype)
        flat = np.ascontiguousarray(W).reshape(self.shape[1], b.size)
        _core.scores(self.by_sample(), flat, b.astype(W.dtype, copy=False).reshape(-1), Z)
        return Z

    def transpose_times(self, U: Array) -> Array:
        """Return X^T U, (d, B, K), in the type of U (n, B, K)."""
        G = np.zeros((self.shape[1], *U.shape[1:]), U.dtype)
        if G.size:
            _core.transpose_times(self.by_both(), np.ascontiguousarray(U), G)
        return G

    def moments(self, s: Array | None = None) -> tuple[Array, Array]:
        """Return the weighted mean and standard deviation of every column, in float64."""
        n, d = self.shape
        weights = np.ones(n) if s is None else np.asarray(s, np.float64)
        total = weights.sum() or 1.0
        if self.is_sparse:
            mean = np.asarray(self.X.T @ weights, np.float64) / total
            squares = self.squares(weights)[:, 0] / total
            return mean, np.sqrt(np.maximum(squares - mean**2, 0.0))
        mean, spread = np.zeros(d), np.zeros(d)
        for piece in _pieces(self.X):
            mean += weights[piece] @ self.X[piece].astype(np.float64) / total
        for piece in _pieces(self.X):
            spread += weights[piece] @ np.square(self.X[piece] - mean) / total
        return mean, np.sqrt(spread)

    def squares(self, s: Array) -> Array:
        """Return sum_i s_i x_ij^2 of every column j, (d, 1) for s (n,) or (d, B) for s (n, B)."""
        weights = s.reshape(self.shape[0], -1)
        if self.is_sparse:
            X = self.X
            data = np.square(X.data, dtype=np.float64)
            squared = type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
            columns = [squared.T @ column for column in weights.T]
            return np.stack(columns, axis=1)
        total = np.zeros((self.shape[1], weights.shape[1]))
        for piece in _pieces(self.X):
            squared = np.square(self.X[piece], dtype=np.float64).T
            for k, column in enumerate(weights.T):  # one by one: a product's bits depend on k
                total[:, k] += squared @ np.ascontiguousarray(column[piece])
        return total

    def _add(self, X: Any) -> None:
        wide = np.int64 if np.int64 in (X.indptr.dtype, X.indices.dtype) else np.int32
        self._native.set(
            X.format == "csc",
            X.indptr.astype(wide, copy=False),
            X.indices.astype(wide, copy=False),
            X.data,
        )


def working_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which X of `dtype` is computed with: float32 stays, all else is float64."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def sum_samples(a: Array) -> Array:
    """Sum (n, B) or (n, B, K) over the samples in float64.

    Each column is summed in the same order, whatever models stand beside it.
    """
    return np.ascontiguousarray(np.moveaxis(a, 0, -1)).sum(axis=-1, dtype=np.float64)


def first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry of X that is NaN or infinite, if there is one."""
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data)) if X.dtype.kind == "f" else np.empty(0, int)
        if not len(bad):
            return None
        entries = X.tocoo()
        worst = np.flatnonzero(~np.isfinite(entries.data))
        order = np.lexsort((entries.col[worst], entries.row[worst]))
        at = worst[order[0]]
        return int(entries.row[at]), int(entries.col[at]), float(entries.data[at])
    X = np.asarray(X)
    if X.dtype.kind != "f":
        return None
    X = X[:, None] if X.ndim == 1 else X
    for piece in _pieces(X):
        good = np.isfinite(X[piece])
        if not good.all():
            i, j = np.argwhere(~good)[0]
            row = piece.start + int(i)
            return row, int(j), float(X[row, j])
    return None


def set_threads(threads: int | None = None) -> None:
    """Set how many threads the kernels may use; by default one per available core.

    Results do not depend on it. The variable SEPARATRIX_THREADS sets it at import.
    """
    if threads is None:
        threads = _available_cores()
    if threads < 1:
        raise ValueError(f"The number of threads must be >= 1. Got {threads} instead.")
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


def _canonical(X: Any) -> Any:
    """CSR or CSC with sorted, unique indices and float values; the user's own where it is so."""
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(working_type(X.dtype))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _pieces(X: Array) -> Iterator[slice]:
    """The rows of X, as many at a time as temporary copies may hold."""
    rows = max(_ENTRIES_AT_ONCE // max(X.shape[1], 1), 1)
    return (slice(start, start + rows) for start in range(0, len(X), rows))


set_threads(_threads_from_environment())
