"""The type of arrays, and the number types in which kernels compute."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def working_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which X of `dtype` is computed with: float32 stays, all else is float64."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def as_floats(a: Any) -> Array:
    """An array the kernels compute with: float32 stays, all else becomes float64; in C order."""
    a = np.asarray(a)
    return np.require(a, working_type(a.dtype), ["C", "A"])
