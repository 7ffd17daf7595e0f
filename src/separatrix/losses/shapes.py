"""Operations on arrays of labels and scores that all losses share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

import separatrix._core as _core
from separatrix.matrix import Array, working_type

Formula = TypeVar("Formula", bound=Callable[..., Any])


def quiet(formula: Formula) -> Formula:
    """Let a formula overflow and underflow in numpy without a warning.

    Scores of +-1e300 do so on the way to correct limits. Other namespaces give no warnings.
    """

    @wraps(formula)
    def run(*arrays: Any, xp: ModuleType = np) -> Any:
        if xp is not np:
            return formula(*arrays, xp=xp)
        with np.errstate(all="ignore"):
            return formula(*arrays, xp=xp)

    return run  # type: ignore[return-value]


def count_outputs(name: str, outputs: str, n_classes: int) -> int:
    if n_classes < 2:
        raise ValueError(
            f"Loss '{name}' needs at least two classes. Got {n_classes}. "
            "Add samples of another class."
        )
    if outputs == "one" and n_classes > 2:
        raise ValueError(
            f"Loss '{name}' needs two classes. Got {n_classes}. Use 'softmax' or multiclass='ovr'."
        )
    if outputs == "all but the first":
        return n_classes - 1
    return 1 if outputs != "all" and n_classes == 2 else n_classes


def true_class(y: Array, Z: Array, xp: ModuleType = np) -> Array:
    """Mark the true class: booleans (n, 1 or B, C)."""
    labels = y[:, None, None] if y.ndim == 1 else y[:, :, None]
    return labels == xp.arange(Z.shape[2], device=Z.device)


def targets(y: Array, Z: Array, xp: ModuleType = np) -> Array:
    """Return ty in {-1, +1} for one output, or one-hot vectors for several, in the type of Z."""
    if Z.shape[2] == 1:
        labels = y[:, None, None] if y.ndim == 1 else y[:, :, None]
        return xp.where(labels == 1, xp.ones_like(Z[:1]), -1.0)
    return xp.where(true_class(y, Z, xp), xp.ones_like(Z[:1]), 0.0)


def at_true(Z: Array, own: Array, xp: ModuleType = np) -> Array:
    """Return the entry (n, B, 1) of Z at the true class."""
    return xp.where(own, Z, 0.0).sum(axis=2, keepdims=True)


def prepend(first: Array, Z: Array, xp: ModuleType = np) -> Array:
    return xp.concatenate([first, Z], axis=2)


def fill_true_class(flows: Array, own: Array, xp: ModuleType = np) -> Array:
    """Set the true class to minus the sum of the others, which keeps the digits of small sums."""
    wrong = xp.where(own, 0.0, flows)
    return xp.where(own, -wrong.sum(axis=2, keepdims=True), wrong)


def best_class(Z: Array) -> Array:
    """Return class numbers (n, B): 1 if z > 0 for one output, else the first maximum."""
    return (Z[:, :, 0] > 0) * 1 if Z.shape[2] == 1 else Z.argmax(axis=2)


def predict_class(Z: Array, xp: ModuleType = np) -> Array:
    """Return `best_class`, in numpy as int32."""
    return best_class(Z).astype(np.int32) if xp is np else best_class(Z)


def class_probabilities(Z: Array, lifted: bool) -> Array:
    """Return softmax(Z) (n, B, C) for scores (n, B, K).

    If `lifted`, there is one class more than scores: the first, whose score is 0.
    """
    Z = np.ascontiguousarray(Z, working_type(Z.dtype))
    n, B, K = Z.shape
    P = np.empty((n, B, K + lifted), Z.dtype)
    _core.probabilities(lifted, Z, P)
    return P


def softmax(Z: Array, xp: ModuleType = np) -> tuple[Array, Array]:
    """Return softmax(Z) and the sum of exp(z_j - max z) over all j but the first maximum.

    log1p of that sum keeps the digits of a loss far below 1; log of 1 + sum would lose them.
    """
    top = xp.arange(Z.shape[2], device=Z.device) == Z.argmax(axis=2)[:, :, None]
    E = xp.exp(Z - xp.amax(Z, axis=2)[:, :, None])
    rest = xp.where(top, 0.0, E).sum(axis=2)
    return xp.where(top, 1.0, E) / (1.0 + rest[:, :, None]), rest
