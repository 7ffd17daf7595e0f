"""Logistic regression with a penalty chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from separatrix.estimators.logistic import LogisticRegression
from separatrix.losses import LOSSES, Loss
from separatrix.model_selection.penalty_cv import PenaltyCV


class LogisticRegressionCV(PenaltyCV):
    """Logistic regression whose penalty is chosen by cross-validation.

    All values of C and l1_ratio on all folds are models over the same rows, trained together; then
    the best is fitted on all rows.

    Parameters
    ----------
    Cs : values of C to try, or how many from 1e-4 to 1e4
    l1_ratios : values of l1_ratio to try
    cv : the folds: None for 5, a whole number, a splitter or an iterable of pairs of row numbers
    scoring : None for accuracy, the name of a scorer or a callable
    refit : True to fit the best penalty on all rows; False for the mean of the weights that score
        best on each fold
    multiclass, solver, tol, max_iter, fit_intercept, class_weight, random_state : as in
        LogisticRegression; "balanced" is balanced for every fold by its own training rows
    n_jobs : accepted for scikit-learn's sake, without effect: a batch uses the threads of
        `set_threads`

    Attributes
    ----------
    C_, l1_ratio_ : the best, floats
    Cs_, l1_ratios_ : what was tried
    scores_ : (folds, l1_ratios, Cs)
    coefs_paths_ : the weights of every model, (folds, l1_ratios, Cs, outputs, features), the bias
        being one more feature at the end
    n_iter_ : the iterations of every model, (folds, l1_ratios, Cs)
    n_batches_, n_passes_ : the batches trained and the passes over X, as in GridSearchCV
    coef_, intercept_, classes_, certificate_, diagnoses_, ... : as in LogisticRegression, of the
        fit on all rows

    The attributes have the form that scikit-learn's class gives them with
    use_legacy_attributes=False.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1, 10], cv=3).fit(X, y)
    >>> model.C_, model.scores_.mean(axis=0).round(3)
    (1.0, array([[0.873, 0.947, 0.973, 0.973]]))
    """

    _classifier_class = LogisticRegression

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        multiclass: str = "auto",
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
        self.multiclass = multiclass
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _likely_loss(self) -> Loss | None:
        return LOSSES["logistic"]
