"""The attributes of LogisticRegressionCV in the shapes of scikit-learn up to version 1.7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.losses import OneVsRest
from separatrix.matrix import Array

if TYPE_CHECKING:
    from separatrix.model_selection.logistic_cv import LogisticRegressionCV


def set_legacy_attributes(model: LogisticRegressionCV, with_ratios: bool) -> None:
    """Convert the fitted attributes.

    `scores_` and `coefs_paths_` become dictionaries with one array per class, or for the second of
    two classes. Their axes are folds, Cs and, `with_ratios`, l1_ratios. `C_` and `l1_ratio_` get
    one entry per class.
    """
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    scores = _legacy_axes(model.scores_, with_ratios)
    paths: list[Any] = [
        _legacy_axes(model.coefs_paths_[:, :, :, k], with_ratios)
        for k in range(model.coefs_paths_.shape[3])
    ]
    fits = len(classes) if isinstance(model._loss, OneVsRest) else 1
    model.__dict__.update(
        scores_=dict.fromkeys(classes.tolist(), scores),
        coefs_paths_=dict(zip(classes.tolist(), paths)),
        n_iter_=np.repeat(_legacy_axes(model.n_iter_, with_ratios)[None], fits, axis=0),
        C_=np.full(len(classes), model.C_),
        l1_ratio_=np.full(len(classes), model.l1_ratio_),
    )


def _legacy_axes(values: Array, with_ratios: bool) -> Array:
    """Return an array with the axes (folds, l1_ratios, Cs, ...) in scikit-learn's old order."""
    swapped = np.swapaxes(values, 1, 2)
    return swapped if with_ratios else swapped[:, :, 0]
