"""Check the losses, numbers and class numbers that a user passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.losses import LOSSES, Loss, make_loss
from separatrix.matrix import Array
from separatrix.text import quoted

_METHODS = ("n_outputs", "value", "gradient")


def loss_of(loss: str | Loss) -> Loss:
    """Return the loss with a given name; return a `Loss` object unchanged."""
    if isinstance(loss, str):
        return make_loss(loss)
    lacking = [name for name in _METHODS if not callable(getattr(loss, name, None))]
    if lacking or isinstance(loss, type):
        what = f"which has no method {lacking[0]}()" if lacking else "which is a class: call it"
        raise TypeError(
            f"The loss must be one of {', '.join(LOSSES)}, or an object with the methods of "
            f"separatrix.Loss. Got {quoted(loss)}, {what}."
        )
    return loss


def numbers_of(name: str, values: Any) -> Array:
    """Return values as an array of floats. A ValueError names the argument if they are not numbers.

    >>> numbers_of("X", [1, 0.5])
    array([1. , 0.5])
    """
    if sp.issparse(values):
        raise ValueError(f"{name} must be dense. Got a sparse matrix: convert it with toarray().")
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be numbers, with rows of equal length. Got {quoted(values)} instead."
        ) from None


def require_class_numbers(y: Array, n_classes: int) -> None:
    """Raise a ValueError unless y (n,) contains class numbers from 0 to n_classes - 1."""
    numeric = y.dtype.kind in "biuf"
    if not numeric or not len(y) or (y != np.rint(y)).any() or y.min() < 0 or y.max() >= n_classes:
        raise ValueError(
            f"y must be class numbers 0 to {n_classes - 1}. Got {quoted(y.tolist()[:9])} instead."
        )
