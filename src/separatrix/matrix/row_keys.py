"""Numbers that identify the rows of a matrix by their contents."""

from __future__ import annotations

import numpy as np

from separatrix.matrix.array_types import Array
from separatrix.matrix.matrix import Matrix

ENTRIES_AT_ONCE = 1 << 17


def row_keys(X: Matrix) -> Array:
    """Return a number (n,) for every row that depends on its contents only, dense or sparse.

    It is the sum, modulo 2^64, of hashes of the column and the float64 bits of all entries that are
    not 0. Rows are read in pieces, so no array of the size of X is made.
    """
    keys = np.zeros(X.shape[0], np.uint64)
    if X.is_sparse:
        A = X.X
        for first in range(0, A.nnz, ENTRIES_AT_ONCE):
            at = np.arange(first, min(first + ENTRIES_AT_ONCE, A.nnz))
            outer, inner = np.searchsorted(A.indptr, at, side="right") - 1, A.indices[at]
            rows, columns = (outer, inner) if A.format == "csr" else (inner, outer)
            np.add.at(keys, rows, _hash(A.data[at], _column_keys(columns)))
        return keys
    columns = _column_keys(np.arange(X.shape[1]))
    height = max(ENTRIES_AT_ONCE // max(X.shape[1], 1), 1)
    for first in range(0, X.shape[0], height):
        piece = slice(first, first + height)
        keys[piece] = _hash(X.X[piece], columns).sum(axis=1)
    return keys


def _hash(values: Array, columns: Array) -> Array:
    """Return a hash of each entry from its column's key and its bits; 0 for an entry of 0 or -0."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    return np.where(values == 0, np.uint64(0), scramble(bits ^ columns))


def _column_keys(columns: Array) -> Array:
    return scramble(columns.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def scramble(keys: Array) -> Array:
    """Scramble 64-bit numbers (Stafford's variant 13, as in splitmix64)."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return keys ^ (keys >> np.uint64(31))
