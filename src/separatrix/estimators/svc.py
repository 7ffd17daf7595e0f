"""Linear support vector machines."""

from __future__ import annotations

from typing import Any

from separatrix.estimators.certified import CertifiedClassifier
from separatrix.estimators.checks import require_choice
from separatrix.losses import LOSSES, Loss, OneVsRest

FORMS = ("ovr", "weston_watkins", "crammer_singer")


class LinearSVC(CertifiedClassifier):
    """A linear support vector machine, brought to an optimum that is proven.

    Minimises sum_i s_i loss_i / S + l1 |W|_1 + l2/2 |W|^2 with l1 and l2 as in LogisticRegression.

    Parameters
    ----------
    C, l1_ratio, solver, tol, max_iter, fit_intercept, class_weight, warm_start, random_state : as
        in LogisticRegression
    loss : "squared_hinge" or "hinge"
    multiclass : "ovr" (one against the rest), "weston_watkins" (the sum over all wrong classes) or
        "crammer_singer" (the worst wrong class; loss="hinge")

    Attributes
    ----------
    The same as of LogisticRegression.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> model.stop_reason_, model.certificate_.relative_gap <= 1e-4
    ('tol', True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        multiclass: str = "ovr",
        l1_ratio: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.multiclass = multiclass
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("loss", self.loss, ("squared_hinge", "hinge"))
        require_choice("multiclass", self.multiclass, FORMS)
        if self.multiclass == "crammer_singer" and self.loss != "hinge":
            raise ValueError(
                "multiclass='crammer_singer' is a form of the hinge. Got "
                f"loss={self.loss!r}. Set loss='hinge', or multiclass='weston_watkins' or 'ovr'."
            )

    def _likely_loss(self) -> Loss | None:
        return LOSSES["hinge"]

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        crammer_singer = self.multiclass == "crammer_singer"
        loss = LOSSES["crammer_singer" if crammer_singer else self.loss]
        if self.multiclass == "ovr" and n_classes > 2:
            return OneVsRest(loss), n_classes
        return loss, loss.n_outputs(n_classes)
