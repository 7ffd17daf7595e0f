"""Operations on arrays of labels and scores that all losses share."""

from __future__ import annotations

import numpy as np

import separatrix._core as _core
from separatrix.matrix import Array, per_model, working_type

# Scores of +-1e300 overflow and underflow on the way to correct limits.
quiet = np.errstate(all="ignore")


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


def true_class(y: Array, Z: Array) -> Array:
    """Mark the true class: booleans (n, 1 or B, C)."""
    return per_model(y)[:, :, None] == np.arange(Z.shape[2])


def targets(y: Array, Z: Array) -> Array:
    """Return ty in {-1, +1} for one output, or one-hot vectors for several, in the type of Z."""
    if Z.shape[2] == 1:
        return (2 * per_model(y)[:, :, None] - 1).astype(Z.dtype)
    return true_class(y, Z).astype(Z.dtype)


def at_true(Z: Array, own: Array) -> Array:
    """Return the entry (n, B, 1) of Z at the true class."""
    return np.where(own, Z, 0).sum(axis=2, keepdims=True)


def prepend(first: Array, Z: Array) -> Array:
    return np.concatenate([first, Z], axis=2)


def fill_true_class(flows: Array, own: Array) -> Array:
    """Set the true class to minus the sum of the others, which keeps the digits of small sums."""
    wrong = np.where(own, 0, flows)
    return np.where(own, -wrong.sum(axis=2, keepdims=True), wrong)


def predict_class(Z: Array) -> Array:
    """Return class numbers (n, B): 1 if z > 0 for one output, else the first maximum."""
    labels = Z[:, :, 0] > 0 if Z.shape[2] == 1 else Z.argmax(axis=2)
    return labels.astype(np.int32)


def class_probabilities(Z: Array, lifted: bool) -> Array:
    """Return softmax(Z) (n, B, C) for scores (n, B, K).

    If `lifted`, there is one class more than scores: the first, whose score is 0.
    """
    Z = np.ascontiguousarray(Z, working_type(Z.dtype))
    n, B, K = Z.shape
    P = np.empty((n, B, K + lifted), Z.dtype)
    _core.probabilities(lifted, Z, P)
    return P


def softmax(Z: Array) -> tuple[Array, Array]:
    """Return softmax(Z) and the sum of exp(z_j - max z) over all j but the first maximum.

    log1p of that sum keeps the digits of a loss far below 1; log of 1 + sum would lose them.
    """
    top = Z.argmax(axis=2)[:, :, None]
    E = np.exp(Z - np.take_along_axis(Z, top, axis=2))
    np.put_along_axis(E, top, 0.0, axis=2)
    rest = E.sum(axis=2)
    np.put_along_axis(E, top, 1.0, axis=2)
    return E / (1.0 + rest[:, :, None]), rest
