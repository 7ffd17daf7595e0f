"""X of every type, order and sparse format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
TYPES = ["float32", "float64", *INTEGERS]
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C order": lambda X: X,
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every third column": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "a slice of columns": lambda X: np.pad(X, ((2, 1), (3, 4)))[2:-1, 3:-4],
    "reversed rows": lambda X: X[::-1].copy()[::-1],
    "reversed columns": lambda X: X[:, ::-1].copy()[:, ::-1],
    "reversed both, Fortran": lambda X: np.asfortranarray(X[::-1, ::-1])[::-1, ::-1],
    "one row repeated": lambda X: np.broadcast_to(X[:1], X.shape),
}
SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    "CSR array": sp.csr_array,
    "CSC array": sp.csc_array,
    "CSR matrix": sp.csr_matrix,
    "CSC matrix": sp.csc_matrix,
    "COO array": sp.coo_array,
    "CSR array, wide": lambda X: widened(sp.csr_array(X)),
    "CSC matrix, wide": lambda X: widened(sp.csc_matrix(X)),
    "CSR, unsorted": lambda X: unsorted(sp.csr_array(X)),
    "CSC, unsorted": lambda X: unsorted(sp.csc_array(X)),
    "CSR, duplicates": lambda X: doubled(X, sp.csr_array),
    "CSC, duplicates": lambda X: doubled(X, sp.csc_array),
    "CSR, explicit zeros": lambda X: explicit_zeros(sp.csr_array(X)),
}


def widened(X: Any) -> Any:
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return X


def unsorted(X: Any) -> Any:
    for row in range(len(X.indptr) - 1):
        part = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = False
    return X


def doubled(X: np.ndarray, kind: Any) -> Any:
    """Store every entry as two halves at two positions."""
    whole = kind(X)
    start = 2 * whole.indptr
    entries = np.repeat(np.arange(len(start) - 1), np.diff(whole.indptr))
    order = np.argsort(np.concatenate([entries, entries]), kind="stable")
    return kind(
        (np.tile(whole.data / 2, 2)[order], np.tile(whole.indices, 2)[order], start), X.shape
    )


def explicit_zeros(X: Any) -> Any:
    X.data[::3] = 0
    return X


def values(n: int, d: int, dtype: str = "float64", density: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(n * 1000 + d)
    keep = rng.random((n, d)) < density
    if dtype.startswith("float"):
        return (rng.standard_normal((n, d)) * keep).astype(dtype)
    low = 0 if dtype[0] in "ub" else -100
    high = 2 if dtype == "bool" else 100
    return (rng.integers(low, high, (n, d)) * keep).astype(dtype)


def random_csr(
    n: int, d: int, density: float, rng: np.random.Generator, draw: Any = None
) -> sp.csr_array:
    """Random entries; the generator has no keyword because scipy renamed it in version 1.15."""
    return sp.csr_array(sp.random(n, d, density, "csr", None, rng, draw))


def dense_of(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.float64)
