"""Operations on arrays with an axis of models, which treat every model alike."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix._core as _core
from separatrix.matrix.array_types import Array, as_floats


def per_model(a: Array) -> Array:
    """View (n,) as (n, 1), which broadcasts over the models; leave (n, B) unchanged."""
    a = np.asarray(a)
    return a[:, None] if a.ndim == 1 else a


def pick_models(a: Array, models: Array) -> Array:
    """Return the columns (n, models, ...) of some models (numbers or a mask), in C order.

    >>> pick_models(np.array([[1, 2, 3]]), np.array([True, False, True]))
    array([[1, 3]])
    """
    return a.take(np.flatnonzero(models) if models.dtype == bool else models, axis=1)


def models_first(a: Array) -> Array:
    """Return a (n, B) as (B, n) with contiguous rows, or a (n,) itself.

    numpy finds extremes along contiguous rows several times as fast.
    """
    return np.ascontiguousarray(a.T)


def zero_unweighted(Z: Array, s: Array) -> Array:
    """Return Z (n, B, K) with 0 in rows without weight, where Z may be infinite."""
    return Z if s.all() else np.where(s[:, :, None] > 0.0, Z, Z.dtype.type(0))


def sum_samples(a: Array) -> Array:
    """Sum (n, B) or (n, B, K) over the samples in float64.

    Each column is summed in the same order, so its sum does not depend on the other models.
    """
    a = as_floats(a)
    out = np.empty(a.shape[1:])
    _core.column_sums(a.reshape(len(a), -1) if a.size else np.empty((0, out.size)), out.reshape(-1))
    return out


def sum_squares(V: Array) -> Array:
    """Sum the squares of V (d, B, K) for each model (B,), independently of the other models.

    >>> sum_squares(np.array([[[3.0], [1.0]], [[4.0], [1.0]]]))
    array([25.,  2.])
    """
    V, out = np.ascontiguousarray(V), np.empty(V.shape[1])
    nothing = np.zeros(V.shape[1:], V.dtype)
    _core.inner_products(V, nothing, V, nothing, out)
    return out


def zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return zeros in float32 or float64 to which kernels add in any order.

    All threads touch the memory in order, which is faster than page faults in random order.
    """
    out = np.empty(shape, dtype)
    _core.fill_zeros(out)
    return out
