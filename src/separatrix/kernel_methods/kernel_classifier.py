"""Kernel classifiers with any loss: linear models on a factor of the kernel matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.checks.validation import require_choice, require_count, require_number
from separatrix.estimators.gradient import choose_loss
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.kernel_methods.kernel import KERNELS, Kernel
from separatrix.kernel_methods.low_rank import LowRankFactor
from separatrix.losses import LOSSES, Loss
from separatrix.matrix import Array

KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "rank", "rank_tol")


class KernelClassifier(OptimumClassifier):
    """A kernel classifier with any loss, trained to a proven optimum.

    Minimises sum_i s_i loss_i / S + l2/2 |W|^2 with l2 = 1 / (C S) for the scores
    z_i = L_i W + b, where L (n, r) is a factor of the kernel matrix, K ~ L L^T. With the hinge loss
    and an unlimited rank, the model is scikit-learn's SVC.

    `factor_` measures the approximation. The certificate is exact for the problem with L L^T in
    place of K. Its objective is also an upper bound on the optimum of the problem with K. Its lower
    bound does not hold for K.

    Parameters
    ----------
    loss : a name in `LOSSES`, "auto" (logistic for two classes, softmax for more), or a Loss
    kernel : "rbf", "poly", "linear", or a function of two rows that returns a number
    gamma : parameter of "rbf" and "poly". None means 1 / number of features. Standardise features
        of different scales first
    degree, coef0 : parameters of "poly"
    C : inverse strength of the penalty
    rank : largest number of columns of L, the pivots. None means the number of rows. L takes
        8 n rank bytes
    rank_tol : fraction of the trace of K that may be left out. The factorisation stops early when
        it is reached
    multiclass : "auto" (the multiclass form of the loss if it has one) or "ovr" (one-vs-rest)
    solver, tol, max_iter, fit_intercept, class_weight, random_state, certified : as in
        LogisticRegression

    Attributes
    ----------
    factor_ : the factor of the kernel matrix: kernel, pivots, and how much of K is left out
    coef_ : weights of the columns of L
    intercept_, classes_, certificate_, history_, diagnoses_, ... : as in LogisticRegression

    In `GridSearchCV` and `fit_many`, models with the same kernel and rank share one factor of all
    rows and are trained as one batch.

    >>> from sklearn.datasets import make_circles
    >>> from separatrix import KernelClassifier
    >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
    >>> model = KernelClassifier("logistic", gamma=1.0).fit(X, y)
    >>> model.score(X, y), model.certificate_.relative_gap <= 1e-4
    (0.995, True)
    >>> print(model.factor_)
    kernel='rbf', gamma=1: rank 47 of 200 rows, residual 8.6e-07 of the trace of K (at most ...
    """

    # An L1 penalty would depend on the pivots, and a warm start would need the same factor.
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
        certified: bool = False,
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
        self.certified = certified

    def objective(self) -> str:
        """Return the formula that was minimised, and the factor that replaces the features."""
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
        """Raise unless the kernel is a function, or a named kernel with allowed parameters."""
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
