"""A linear support vector machine whose penalty is chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from separatrix.estimators.svc import LinearSVC
from separatrix.losses import LOSSES, Loss
from separatrix.model_selection.penalty_cv import PenaltyCV


class LinearSVCCV(PenaltyCV):
    """Linear support vector machine whose penalty is chosen by cross-validation.

    Parameters
    ----------
    Cs, l1_ratios, cv, scoring, refit, n_jobs
        See LogisticRegressionCV.
    loss, multiclass, intercept_scaling, solver, tol, max_iter, fit_intercept
        See LinearSVC.
    class_weight, random_state
        See LinearSVC. `class_weight="balanced"` is computed from the training rows of each fold.

    Attributes
    ----------
    C_, l1_ratio_, scores_, coef_, certificate_, ...
        See LogisticRegressionCV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVCCV(Cs=[0.01, 0.1, 1, 10], cv=3).fit(X, y)
    >>> model.C_, model.scores_.mean(axis=0).round(3)
    (10.0, array([[0.86 , 0.927, 0.953, 0.96 ]]))
    """

    _classifier_class = LinearSVC

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        loss: str = "squared_hinge",
        multiclass: str = "ovr",
        intercept_scaling: float | None = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.loss = loss
        self.multiclass = multiclass
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _likely_loss(self) -> Loss | None:
        return LOSSES["hinge"]
