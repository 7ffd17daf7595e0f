"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._sklearn_compat import CallbackSupportMixin
from separatrix.estimators.checks.validation import require_choice, require_number
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.scikit_learn_parameters import (
    LIBLINEAR,
    own_multiclass,
    split_positional,
)
from separatrix.losses import LOSSES, Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.training import Result

FORMS = ("auto", "softmax", "reference", "ovr")


class LogisticRegression(CallbackSupportMixin, OptimumClassifier):
    """Logistic regression that proves how close it is to the optimum.

    Minimises

        sum_i s_i loss_i / S + l1 |W|_1 + l2/2 |W|^2

    with l1 = l1_ratio / (C S) and l2 = (1 - l1_ratio) / (C S), where s_i is `sample_weight` times
    `class_weight` and S is the sum of all s_i. This is scikit-learn's objective divided by C S.

    Parameters
    ----------
    penalty : {"auto", "l1", "l2", "elasticnet"} or None, default="auto"
        "auto" uses `C` and `l1_ratio`. scikit-learn's names override them: "l1" is `l1_ratio=1`,
        "l2" is `l1_ratio=0`, and None is `C=np.inf`. A positional number is `C`.
    C : float, default=1.0
        Inverse of the penalty strength, > 0. Smaller values penalise more; `np.inf` means no
        penalty.
    l1_ratio : float, default=0.0
        Share of L1 in the penalty: 0 is L2, 1 is L1, values in between are the elastic net. None
        is 0.
    multiclass : {"auto", "softmax", "reference", "ovr"}, default="auto"
        "auto" is logistic loss for two classes and softmax for more. "softmax" has one output per
        class, even for two classes. "reference" is softmax with the score of the first class
        fixed at 0. "ovr" is one-vs-rest.
    solver : {"auto", "coordinate", "dual", "interior", "lbfgs", "newton"}, default="auto"
        Solver. "auto" chooses one, and `solver_reason_` gives the reason. scikit-learn's names
        "newton-cg", "newton-cholesky", "sag" and "saga" are the same as "auto". "liblinear" is too,
        but the bias is penalised, and several classes are fitted one against the rest.
    tol : float, "predictions" or {"predictions": band}, default=1e-4
        Stop as soon as the relative duality gap is at most `tol`. Without a penalty there is no
        gap: stop as soon as the gradient norm is at most `tol` times its value at zero weights.
        "predictions" stops as soon as all predictions for `X_val` are certainly those of the
        optimum, and {"predictions": 0.01} excepts rows whose two highest probabilities are
        certainly within 0.01 of their mean. It is a guarantee, and seldom faster than 1e-6.
    max_iter : int, default=1000
        Maximum number of iterations. A fit that needs more gives a `ConvergenceWarning`. 0 returns
        weights of 0.
    fit_intercept : bool, default=True
        Whether to fit a bias. It is not penalised, except with solver="liblinear".
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label. "balanced" makes them inversely proportional to the
        sums of the sample weights of the classes.
    warm_start : bool, default=False
        Whether the next fit starts from the weights of the previous one.
    random_state : int, RandomState or None, default=None
        Random seed for solvers that visit the rows in random order. None means 0, so that fits
        are repeatable.
    device : str, default=None
        Device of PyTorch on which to train, such as "cuda"; None is the processor, without PyTorch.
        A device trains with the solver "lbfgs".
    intercept_scaling : float, default=1.0
        Value of the constant feature whose weight is the bias if solver="liblinear".
    certified : bool, default=False
        Whether the fit stores a region that contains the optimum, for `certify`. It takes up to
        five more passes over X.
    multi_class : str, default=None
        scikit-learn's name of `multiclass`; "multinomial" is "softmax".
    dual, verbose, n_jobs
        Parameters of scikit-learn without a meaning here.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        Weights, float64. K is the number of outputs: 1 for two classes (2 with "softmax"), C for
        C classes (C - 1 with "reference").
    intercept_ : ndarray of shape (K,)
        Biases.
    classes_ : ndarray of shape (C,)
        Class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has column names.
    n_iter_ : ndarray of shape (1,)
        Number of iterations. With one-vs-rest, there is an equal entry for each of C > 2 classes.
    certificate_ : Certificate
        Objective, lower bound and duality gap, which bounds the distance to the optimum.
    solver_, solver_reason_ : str
        Name of the solver, and why it was chosen.
    stop_reason_ : str
        Reason why the fit stopped: "tol" if it converged, "max_iter" if it ran out of iterations.
    history_ : History
        One array per measure, with one value per iteration.
    diagnoses_ : list of Diagnosis
        Problems of the fit, each with its cause and a remedy.
    separating_direction_ : tuple (coef, intercept) or None
        Direction along which the loss keeps falling, if there is no penalty and the classes are
        separable.
    coef_radius_, intercept_radius_ : ndarray of shape (K, d) and (K,)
        With `certified`, the largest distance of each weight and bias from the exact optimum.
    threshold_ : float
        Decision value above which `predict` returns the second of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(C=10.0, tol=1e-6).fit(X, y)
    >>> model.stop_reason_, model.certificate_.relative_gap <= 1e-6
    ('tol', True)
    """

    def __init__(
        self,
        penalty: Any = "auto",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        multiclass: str = "auto",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: str | None = None,
        dual: bool = False,
        intercept_scaling: float = 1.0,
        multi_class: str | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        certified: bool = False,
    ) -> None:
        penalty, C = split_positional(penalty, C)
        self.C = C
        self.l1_ratio = l1_ratio
        self.multiclass = multiclass
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.penalty = penalty
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.certified = certified

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("multiclass", self._multiclass(), FORMS)
        require_number("intercept_scaling", self.intercept_scaling, open_low=True)

    def _multiclass(self) -> str:
        form = own_multiclass(self.multiclass, self.multi_class, "auto")
        return "ovr" if form == "auto" and self.solver == LIBLINEAR else form

    def _bias_factor(self) -> float:
        penalised = self.solver == LIBLINEAR and self.fit_intercept
        return 1.0 / self.intercept_scaling if penalised else 0.0

    def _likely_loss(self) -> Loss | None:
        return LOSSES["logistic"]

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        form = self._multiclass()
        if form == "ovr" and n_classes > 2:
            return OneVsRest(LOSSES["logistic"]), n_classes
        binary = form in ("auto", "ovr") and n_classes == 2
        names = {"reference": "softmax_reference"}
        loss = LOSSES["logistic" if binary else names.get(form, "softmax")]
        return loss, loss.n_outputs(n_classes)

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        super()._set_fitted(result, loss, classes)
        self._set_iterations(self.n_iter_)

    def _set_iterations(self, count: int) -> None:
        """Set `n_iter_` to an array with one entry for every fit that scikit-learn makes."""
        fits = len(self.classes_) if isinstance(self._loss, OneVsRest) else 1
        self.n_iter_ = np.full(fits, count, np.int32)
