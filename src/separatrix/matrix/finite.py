"""Find the first entry of X that is NaN or infinite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix.matrix.array_types import Array
from separatrix.matrix.pieces import row_pieces
from separatrix.matrix.storage import canonical


def first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Return row, column and value of the first entry of X that is NaN or infinite, or None."""
    if sp.issparse(X):
        if _all_finite(X.data):
            return None
        entries = canonical(X).tocoo()
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
    for piece in row_pieces(X):
        good = np.isfinite(X[piece])
        if not good.all():
            i, j = np.argwhere(~good)[0]
            row = piece.start + int(i)
            return row, int(j), float(X[row, j])
    return None


def _all_finite(a: Array) -> bool:
    """Return whether all numbers are known to be finite; only contiguous arrays are checked."""
    if a.dtype.kind != "f":
        return True
    in_one = a.flags.c_contiguous or a.flags.f_contiguous
    if a.dtype not in (np.float32, np.float64) or not (in_one and a.flags.aligned):
        return False
    return math.isfinite(_core.max_abs(a.ravel(order="K")))
