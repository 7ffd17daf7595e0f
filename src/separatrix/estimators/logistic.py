"""Logistic regression."""

from __future__ import annotations

from typing import Any

from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.validation import require_choice
from separatrix.losses import LOSSES, Loss, OneVsRest

FORMS = ("auto", "softmax", "reference", "ovr")


class LogisticRegression(OptimumClassifier):
    """Logistic regression, brought to an optimum that is proven.

    Minimises sum_i s_i loss_i / S + l1 |W|_1 + l2/2 |W|^2 with l1 = l1_ratio / (C S) and
    l2 = (1 - l1_ratio) / (C S), where S is the sum of the weights s_i = sample_weight *
    class_weight. This is scikit-learn's objective divided by C S.

    Parameters
    ----------
    C : inverse strength of the penalty, > 0; np.inf for none
    l1_ratio : the share of L1 in the penalty, 0 for L2, 1 for L1, between for elastic-net
    multiclass : "auto" (logistic for two classes, softmax for more), "softmax" (one output for
        every class, also of two), "reference" (the first class's score is 0) or "ovr" (one
        against the rest)
    solver : "auto", or a solver's name; `solver_reason_` says why one was chosen
    tol : stop when the relative duality gap is proven to be at most this (without a penalty, when
        the gradient's norm has fallen to this share of its start)
    max_iter : iterations at most; a fit that needs more warns
    fit_intercept : whether there is a bias; it is not penalised
    class_weight : None, "balanced" (inverse to the weight of the classes), or a dict from labels
        to weights
    warm_start : whether the next fit starts from the last one's weights
    random_state : seed of solvers that take rows in random order; None is 0, so that a fit can be
        repeated

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn; the weights are float64
    n_iter_ : the number of iterations (int)
    certificate_ : how far from the optimum the model can be
    solver_, solver_reason_ : the solver, and why it was chosen
    history_, diagnoses_, stop_reason_ : as in GradientDescentClassifier; "max_iter" is the end of
        a fit that ran out of iterations

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(C=10.0, tol=1e-6).fit(X, y)
    >>> model.stop_reason_, model.certificate_.relative_gap <= 1e-6
    ('tol', True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1_ratio: float = 0.0,
        multiclass: str = "auto",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("multiclass", self.multiclass, FORMS)

    def _likely_loss(self) -> Loss | None:
        return LOSSES["logistic"]

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        if self.multiclass == "ovr" and n_classes > 2:
            return OneVsRest(LOSSES["logistic"]), n_classes
        binary = self.multiclass in ("auto", "ovr") and n_classes == 2
        names = {"reference": "softmax_reference"}
        loss = LOSSES["logistic" if binary else names.get(self.multiclass, "softmax")]
        return loss, loss.n_outputs(n_classes)
