"""Any loss on kernels: a linear model over a factor of the kernel matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.gradient import choose_loss
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.validation import require_choice, require_count, require_number
from separatrix.kernel_methods.kernel import KERNELS, Kernel
from separatrix.kernel_methods.low_rank import LowRankFactor
from separatrix.losses import LOSSES, Loss
from separatrix.matrix import Array

KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "rank", "rank_tol")


class KernelClassifier(OptimumClassifier):
    """A classifier with a curved boundary: any loss over a kernel, brought to a proven optimum.

    Minimises sum_i s_i loss_i / S + l2/2 |W|^2 with l2 = 1 / (C S) for scores z_i = L_i W + b, L
    being a factor (n, r) of the kernel matrix, K ~ L L^T. With the hinge and without a limit to
    the rank it is scikit-learn's SVC.

    `factor_` states what the factor leaves out. The certificate is of the problem with L L^T in the
    place of K, and exact for it. Its objective is also that of the found function in the problem
    with K, of whose optimum it is an upper bound; the lower bound does not hold for K.

    Parameters
    ----------
    loss : a name in `LOSSES`, "auto" (logistic for two classes, softmax for more), or a Loss
    kernel : "rbf", "poly", "linear", or a function of two rows that returns a number
    gamma : of "rbf" and "poly"; None for 1 over the number of features. Features of different
        scales should be standardised first
    degree, coef0 : of "poly"
    C : the smaller, the stronger the penalty
    rank : the most columns of L, that is, pivots; None for as many as there are rows. L takes
        8 n rank bytes
    rank_tol : the share of the trace of K that may be left out; fewer pivots are taken if they do
    multiclass : "auto", the loss's own form for many classes where it has one, or "ovr", one
        against the rest
    solver, tol, max_iter, fit_intercept, class_weight, random_state : as in LogisticRegression

    Attributes
    ----------
    factor_ : the kernel, the pivots and their rows, and the trace and the largest entry of the
        diagonal of K - L L^T
    coef_ : the weights of the columns of L
    intercept_, classes_, certificate_, history_, diagnoses_, ... : as of LogisticRegression

    In `GridSearchCV` and `fit_many`, models that differ neither in the kernel nor in the rank share
    one factor, that of all rows (whatever their weights), and are one batch.

    >>> from sklearn.datasets import make_circles
    >>> from separatrix import KernelClassifier
    >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
    >>> model = KernelClassifier("logistic", gamma=1.0).fit(X, y)
    >>> model.score(X, y), model.certificate_.relative_gap <= 1e-4
    (0.995, True)
    >>> print(model.factor_)
    kernel='rbf', gamma=1: rank 47 of 200 rows; 8.6e-07 of the trace of K is left out, at most ...
    """

    # An L1 penalty would depend on the pivots, and weights belong to their factor.
    l1_ratio = 0.0
    warm_start = False
    factor_: LowRankFactor
    _feature_attributes = (*OptimumClassifier._feature_attributes, "factor_")

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        C: float = 1.0,
        rank: int | None = 500,
        rank_tol: float = 1e-6,
        multiclass: str = "auto",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.rank = rank
        self.rank_tol = rank_tol
        self.multiclass = multiclass
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state

    def objective(self) -> str:
        """The exact formula that was minimised, and what stands for the features in it."""
        check_is_fitted(self)
        return f"{self._objective_words}, over a factor of {self.factor_}"

    def _likely_loss(self) -> Loss | None:
        return LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        return choose_loss(self.loss, None, self.multiclass, n_classes)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.loss, Loss) or isinstance(self.loss, type):
            require_choice("loss", self.loss, ["auto", *LOSSES])
        require_choice("multiclass", self.multiclass, ("auto", "ovr"))

    def _feature_map_key(self) -> Hashable:
        given = (getattr(self, name) for name in KERNEL_PARAMETERS)
        return tuple(value if callable(value) else repr(value) for value in given)

    def _fit_feature_map(self, X: Any) -> Array:
        self._check_kernel()
        gamma = None if self.gamma is None else float(self.gamma)
        kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
        self.factor_, L = LowRankFactor.of(kernel, X, self.rank, self.rank_tol)
        return L

    def _apply_feature_map(self, X: Any) -> Array:
        return self.factor_.features(X)

    def _check_kernel(self) -> None:
        """Raise unless the kernel is positive semidefinite by its parameters, or a function."""
        if not callable(self.kernel) and self.kernel not in KERNELS:
            raise ParameterError(
                f"The 'kernel' parameter must be one of {', '.join(map(repr, KERNELS))}, or a "
                f"function of two rows. Got {self.kernel!r} instead.",
                parameter="kernel",
            )
        require_number("gamma", self.gamma, open_low=True, optional=True)
        require_count("degree", self.degree)
        require_number("coef0", self.coef0)
        require_count("rank", self.rank, optional=True)
        require_number("rank_tol", self.rank_tol, high=1.0)
