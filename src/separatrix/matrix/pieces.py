"""Read X in pieces, so that temporary copies stay small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.matrix.array_types import Array

ENTRIES_AT_ONCE = 1 << 17


def row_pieces(X: Array) -> Iterator[slice]:
    """Yield slices of the rows of X, each small enough for a temporary copy."""
    rows = max(ENTRIES_AT_ONCE // max(X.shape[1], 1), 1)
    return (slice(start, start + rows) for start in range(0, len(X), rows))


def line_pieces(start: Array) -> Iterator[slice]:
    """Yield slices of the rows of a compressed matrix, each small enough for a temporary copy."""
    first, n = 0, len(start) - 1
    while first < n:
        last = int(np.searchsorted(start, start[first] + ENTRIES_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        yield slice(first, last)
        first = last


def entry_pieces(X: Any, weights: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield weight, column and value of the entries of a CSR or CSC in rows that have weight."""
    for first in range(0, X.nnz, ENTRIES_AT_ONCE):
        piece = slice(first, min(first + ENTRIES_AT_ONCE, X.nnz))
        index = X.indices[piece]
        low = np.searchsorted(X.indptr, piece.start, side="right") - 1
        high = np.searchsorted(X.indptr, piece.stop)
        ends = np.clip(X.indptr[low : high + 1], piece.start, piece.stop)
        line = np.repeat(np.arange(low, high), np.diff(ends))
        row, column = (line, index) if X.format == "csr" else (index, line)
        s = weights[row]
        kept = s != 0.0
        yield s[kept], column[kept], X.data[piece][kept].astype(np.float64)
