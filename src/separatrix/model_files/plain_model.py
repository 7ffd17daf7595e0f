"""The parameters of a fitted model in the form that other libraries use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.losses import Loss, OneVsRest
from separatrix.losses.modified_huber import ModifiedHuber
from separatrix.matrix import Array


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The parameters of a fitted model in the form that other libraries use.

    The scores are X coef.T + intercept, one output for two classes, else one per class. `link`
    converts scores to probabilities: "sigmoid", "softmax", "each" (a sigmoid of every score,
    divided by their sum), "clip" (the score, limited to -1 and 1 and scaled to 0 and 1), "each
    clip" or "" for none. With two classes, the second is predicted if the score is
    above `threshold`, and with `ties` also if it is equal to it.
    """

    classes: Array
    coef: Array
    intercept: Array
    link: str
    threshold: float
    ties: bool

    @classmethod
    def of(cls, model: Any) -> PlainModel:
        if not isinstance(model, LinearClassifier):
            raise TypeError(
                "Only classifiers of this library can be exported. Got "
                f"{type(model).__name__} instead. From a Bundle, export its estimator."
            )
        check_is_fitted(model)
        classes = model.classes_
        coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        coef, intercept = (np.asarray(part, np.float64) for part in (coef, model.intercept_))
        two, link = len(classes) == 2, _link(model._loss)
        if len(intercept) == len(classes) - 1 and not two:  # the first class's score is 0
            coef = np.concatenate([np.zeros_like(coef[:1]), coef])
            intercept = np.concatenate([[0.0], intercept])
        if two and len(intercept) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        if two and link in ("softmax", "each"):
            link = "sigmoid"
        threshold = float(model.threshold_) if isinstance(model, OptimumClassifier) else 0.0
        at_zero = int(model._loss.predict(np.zeros((1, 1, 1)))[0, 0]) if two else 0
        ties = at_zero == 1 and not isinstance(model, OptimumClassifier)
        return cls(classes, coef, intercept, link, threshold, ties)


def _link(loss: Loss) -> str:
    if isinstance(loss, OneVsRest):
        return {"softmax": "each", "clip": "each clip", "": ""}[_link(loss.base)]
    if isinstance(loss, ModifiedHuber):
        return "clip"
    if loss.probabilities(np.zeros((1, 1, 1))) is None:
        return ""
    return "softmax"
