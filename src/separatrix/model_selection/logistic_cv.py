"""Logistic regression whose penalty is chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

from separatrix.estimators.logistic import LogisticRegression
from separatrix.losses import LOSSES, Loss
from separatrix.model_selection.legacy_attributes import set_legacy_attributes
from separatrix.model_selection.penalty_cv import PenaltyCV


class LogisticRegressionCV(PenaltyCV):
    """Logistic regression whose penalty is chosen by cross-validation.

    The models for all combinations of C and l1_ratio and for all folds are trained together. Then
    the best combination is fitted to all rows.

    Parameters
    ----------
    Cs : int or list of floats, default=10
        Values of C to try, or their number. A number means values from 1e-4 to 1e4, evenly spaced
        on a logarithmic scale.
    l1_ratios : list of floats, default=None
        Values of l1_ratio to try. None means 0.
    cv : int, splitter or iterable, default=None
        Number of stratified folds, a splitter of scikit-learn, or pairs of arrays with the row
        numbers for training and testing. None means 5 folds.
    scoring : str or callable, default=None
        Scorer of scikit-learn. None means accuracy.
    refit : bool, default=True
        If True, fit the best combination to all rows. If False, average the weights of the models
        that score best on each fold.
    multiclass, solver, tol, max_iter, fit_intercept, class_weight, random_state
        See LogisticRegression. `class_weight="balanced"` is computed from the training rows of
        each fold.
    n_jobs : int, default=None
        Ignored; accepted for compatibility with scikit-learn. A batch uses the threads of
        `set_threads`.
    penalty, dual, intercept_scaling, multi_class, verbose
        Parameters of scikit-learn. See LogisticRegression.
    use_legacy_attributes : bool, default=False
        Whether the attributes have the shapes of scikit-learn up to version 1.7: `scores_` and
        `coefs_paths_` are dictionaries by class, and `C_` and `l1_ratio_` are arrays.

    Attributes
    ----------
    C_, l1_ratio_ : float
        Best values.
    Cs_, l1_ratios_ : ndarray
        Values that were tried.
    scores_ : ndarray of shape (folds, l1_ratios, Cs)
        Score of every model on the test rows of its fold.
    coefs_paths_ : ndarray of shape (folds, l1_ratios, Cs, K, d + 1)
        Weights of every model, with the bias as the last column. Without a bias, the last
        dimension is d.
    n_iter_ : ndarray of shape (folds, l1_ratios, Cs)
        Number of iterations of every model.
    n_batches_, n_passes_
        Numbers of batches trained and of passes over X. See GridSearchCV.
    coef_, intercept_, classes_, certificate_, diagnoses_, ...
        See LogisticRegression. With refit=True, they describe the fit on all rows.

    Notes
    -----
    The attributes have the same shapes as in scikit-learn with use_legacy_attributes=False.

    Examples
    --------
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
        l1_ratios: Any = None,
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
        penalty: str = "auto",
        dual: bool = False,
        intercept_scaling: float = 1.0,
        multi_class: str | None = None,
        verbose: int = 0,
        use_legacy_attributes: bool | str = False,
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
        self.penalty = penalty
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.verbose = verbose
        self.use_legacy_attributes = use_legacy_attributes

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Train all penalties on all folds, and the best one on all rows. See PenaltyCV.fit."""
        super().fit(X, y, sample_weight, **params)
        if self.use_legacy_attributes:  # True or scikit-learn's "warn"
            set_legacy_attributes(self)
        return self

    def _likely_loss(self) -> Loss | None:
        return LOSSES["logistic"]
