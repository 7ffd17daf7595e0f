"""The type of arrays, and the number types that kernels compute with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def working_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type used for computations with an X of type `dtype`: float32 or float64."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def as_floats(a: Any) -> Array:
    """Convert to a C-ordered array of the kernels' types: float32 stays, all else is float64."""
    a = np.asarray(a)
    kind = working_type(a.dtype)
    if a.dtype == kind and a.flags.c_contiguous and a.flags.aligned:
        return a  # np.require would return it too, but takes longer
    return np.require(a, kind, ["C", "A"])
