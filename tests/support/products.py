"""Both products with X against numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.matrix import (
    Matrix,
)
from support.layouts import (
    dense_of,
)


def assert_products(X: Any, B: int = 3, K: int = 2, dtype: type = np.float64) -> None:
    """Both products equal numpy's, in the type of the other factor."""
    wide, matrix = dense_of(X), Matrix(X)
    n, d = wide.shape
    rng = np.random.default_rng(1)
    W, b = rng.standard_normal((d, B, K)).astype(dtype), rng.standard_normal((B, K)).astype(dtype)
    U = rng.standard_normal((n, B, K)).astype(dtype)
    Z, G = matrix.scores(W, b), matrix.transpose_times(U)
    assert Z.dtype == G.dtype == dtype
    assert Z.shape == (n, B, K)
    assert G.shape == (d, B, K)
    eps = 8 * np.finfo(dtype).eps
    size = np.tensordot(abs(wide), abs(W.astype(np.float64)), 1) + abs(b)
    error = np.abs(Z - (np.tensordot(wide, W.astype(np.float64), 1) + b))
    assert (error <= eps * np.sqrt(d + 1) * size).all()
    size = np.tensordot(abs(wide).T, abs(U.astype(np.float64)), 1)
    error = np.abs(G - np.tensordot(wide.T, U.astype(np.float64), 1))
    assert (error <= eps * np.sqrt(n) * size).all()
