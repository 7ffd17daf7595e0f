"""The attributes of LogisticRegressionCV in the shapes of scikit-learn up to version 1.7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.losses import OneVsRest
from separatrix.matrix import Array

if TYPE_CHECKING:
    from separatrix.model_selection.logistic_cv import LogisticRegressionCV


def set_legacy_attributes(model: LogisticRegressionCV) -> None:
    """Convert the fitted attributes.

    `scores_` and `coefs_paths_` become dictionaries with one array per class, or for the second of
    two classes. Their axes are folds, Cs and, if `l1_ratios` is given, l1_ratios. `C_` and
    `l1_ratio_` get one entry per class.
    """
    with_ratios = model.l1_ratios is not None and not isinstance(model.l1_ratios, str)
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    scores = _legacy_axes(model.scores_, with_ratios)
    paths: list[Any] = [
        _legacy_axes(model.coefs_paths_[:, :, :, k], with_ratios)
        for k in range(model.coefs_paths_.shape[3])
    ]
    rows = min(len(classes), len(paths))  # a reference class has no weights
    fits = len(classes) if isinstance(model._loss, OneVsRest) else 1
    model.__dict__.update(
        scores_=dict.fromkeys(classes.tolist(), scores),
        coefs_paths_=dict(zip(classes[-rows:].tolist(), paths[-rows:])),
        n_iter_=np.repeat(_legacy_axes(model.n_iter_, with_ratios)[None], fits, axis=0),
        C_=np.full(len(classes), model.C_),
        l1_ratio_=np.full(len(classes), model.l1_ratio_),
    )


def with_present_attributes(model: LogisticRegressionCV) -> dict[str, Any]:
    """Return all attributes, where those in the old shapes are converted back."""
    found = dict(vars(model))
    if not isinstance(found.get("scores_"), dict):
        return found
    (scores, *_), paths = found["scores_"].values(), found["coefs_paths_"].values()
    with_ratios = scores.ndim == 3
    return found | {
        "scores_": _present_axes(scores, with_ratios),
        "coefs_paths_": np.stack([_present_axes(path, with_ratios) for path in paths], axis=3),
        "n_iter_": _present_axes(found["n_iter_"][0], with_ratios),
        "C_": float(found["C_"][0]),
        "l1_ratio_": float(found["l1_ratio_"][0]),
    }


def _legacy_axes(values: Array, with_ratios: bool) -> Array:
    """Return an array with the axes (folds, l1_ratios, Cs, ...) in scikit-learn's old order."""
    swapped = np.swapaxes(values, 1, 2)
    return swapped if with_ratios else swapped[:, :, 0]


def _present_axes(values: Array, with_ratios: bool) -> Array:
    """Return the array that `_legacy_axes` was given."""
    return np.swapaxes(values if with_ratios else values[:, :, None], 1, 2)
