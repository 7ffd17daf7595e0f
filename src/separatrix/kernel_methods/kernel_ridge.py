"""Kernel ridge regression with exact leave-one-out errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.errors import ParameterError
from separatrix.estimators.checks.training_data import as_weights
from separatrix.estimators.checks.validation import (
    as_list,
    as_numbers,
    has_length,
    require_choice,
    require_equal_lengths,
    require_finite,
    require_number,
    require_numbers,
)
from separatrix.estimators.linear_classifier import ACCEPTED
from separatrix.kernel_methods.kernel import Kernel
from separatrix.kernel_methods.ridge import solve_ridge, solve_ridge_path
from separatrix.matrix import Array


class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor f(x) = sum_i k(x, x_i) beta_i over its training rows x_i, without a bias.

    Subclasses compute the coefficients in `_solve`.
    """

    kernel: Any
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None
    dual_coef_: Array
    X_fit_: Any

    def _solve(self, K: Array, y: Array, s: Array) -> tuple[Array, Array]:
        """Return coefficients (n, T) and leave-one-out predictions (..., n, T) for y (n, T)."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to X (n, d) and y (n,) or (n, T).

        With kernel="precomputed", X is the kernel matrix (n, n).
        """
        self._check_kernel()
        require_equal_lengths(X, y)
        require_numbers("X", X)
        _require_finite_targets(y)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=ACCEPTED,
            dtype="numeric",
            ensure_all_finite=False,
            multi_output=True,
            y_numeric=True,
        )
        X = as_numbers(X)
        require_finite("X", X)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "With kernel='precomputed', X must be the kernel matrix of the training rows, "
                f"which is square. Got shape {X.shape} instead."
            )
        weights = as_weights(sample_weight, X, 1)
        s = np.ones(len(y)) if weights is None else weights
        K = self._kernel()(X)
        targets = y.astype(np.float64).reshape(len(y), -1)
        beta, left_out = self._solve(K, targets, s)
        self.dual_coef_ = np.ascontiguousarray(beta).reshape(y.shape)
        self.X_fit_ = X.copy()  # the caller may change X later
        self.loo_predictions_ = left_out.reshape(*left_out.shape[:-2], *y.shape)
        errors = np.average(np.square(targets - left_out), axis=-2, weights=s)
        self._take_errors(errors.mean(axis=-1))
        return self

    def _take_errors(self, errors: Any) -> None:
        """Store the mean squared leave-one-out errors."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Return f(x) for every row, (n,) or (n, T)."""
        check_is_fitted(self)
        require_numbers("X", X)
        X = validate_data(
            self, X, reset=False, accept_sparse=ACCEPTED, dtype="numeric", ensure_all_finite=False
        )
        X = as_numbers(X)
        require_finite("X", X)
        return self._kernel()(X, self.X_fit_) @ self.dual_coef_

    def _kernel(self) -> Kernel:
        params = tuple((self.kernel_params or {}).items())
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, params)

    def _check_kernel(self) -> None:
        if not callable(self.kernel):
            require_choice("kernel", self.kernel, [*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"])
        require_number("gamma", self.gamma, optional=True)
        require_number("degree", self.degree)
        require_number("coef0", self.coef0, low=-math.inf)
        if not isinstance(self.kernel_params, Mapping | None):
            raise ParameterError(
                "The 'kernel_params' parameter must be a dictionary of further arguments of the "
                f"kernel function, or None. Got {self.kernel_params!r} instead.",
                parameter="kernel_params",
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _require_finite_targets(y: Any) -> None:
    """Raise an error that names the row and column of a target that is NaN or infinite."""
    targets = np.asarray(y)
    if targets.dtype.kind == "f" and targets.ndim in (1, 2):
        require_finite("y", targets.reshape(len(targets), -1))


class KernelRidge(KernelRegressor):
    """Kernel ridge regression with the closed form beta = (K + alpha I)^-1 y.

    Minimises sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2, without a bias. The parameters are those of
    scikit-learn's KernelRidge. For a classifier with squared loss and a bias, use
    KernelClassifier(loss="squared").

    Parameters
    ----------
    alpha : strength of the penalty, one number or one per target
    kernel : a name of scikit-learn's `pairwise_kernels`, "precomputed" (X is the kernel matrix), or
        a function of two rows that returns a number
    gamma, degree, coef0 : parameters of the named kernels. gamma=None means 1 / number of features
    kernel_params : further arguments of a kernel function

    Attributes
    ----------
    dual_coef_ : beta, (n,) or (n, T)
    X_fit_ : the training rows
    loo_predictions_ : exact leave-one-out predictions, (n,) or (n, T). A row of weight s counts as
        s equal rows, one of which is left out
    loo_error_ : mean squared leave-one-out error, weighted by sample_weight

    >>> from separatrix import KernelRidge
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = KernelRidge(0.1, kernel="rbf", gamma=1.0).fit(X, [0.0, 1.0, 1.5, 1.0])
    >>> model.predict([[1.5]]).round(3), round(model.loo_error_, 3)
    (array([1.292]), 0.332)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _solve(self, K: Array, y: Array, s: Array) -> tuple[Array, Array]:
        alphas = self._alphas(y.shape[1])
        beta, left_out = np.empty_like(y), np.empty_like(y)
        for alpha in np.unique(alphas):
            own = alphas == alpha
            beta[:, own], left_out[:, own] = solve_ridge(K, y[:, own], s, float(alpha))
        return beta, left_out

    def _alphas(self, n_targets: int) -> Array:
        """Return the penalty of every target."""
        given = as_list("alpha", self.alpha) if has_length(self.alpha) else [self.alpha]
        for alpha in given:
            require_number("alpha", alpha)
        if len(given) not in (1, n_targets):
            raise ParameterError(
                "The 'alpha' parameter must be one number, or one for each of the "
                f"{n_targets} columns of y. Got {len(given)} numbers. To compare several "
                "penalties, use KernelRidgeCV.",
                parameter="alpha",
            )
        return np.broadcast_to(np.array(given, np.float64), (n_targets,))

    def _take_errors(self, errors: Any) -> None:
        self.loo_error_ = float(errors)


class KernelRidgeCV(KernelRegressor):
    """Kernel ridge regression that chooses its penalty by exact leave-one-out errors.

    One eigendecomposition of K gives the models and the leave-one-out predictions of all penalties.
    No model is fitted twice.

    Parameters
    ----------
    alphas : the penalties to compare
    kernel, gamma, degree, coef0, kernel_params : as in KernelRidge

    Attributes
    ----------
    alpha_ : penalty with the smallest error. If several penalties have it, the largest of them
    loo_errors_ : (alphas,), mean squared leave-one-out errors over rows (weighted by sample_weight)
        and targets
    loo_predictions_ : leave-one-out predictions, (alphas, n) or (alphas, n, T)
    dual_coef_, X_fit_ : as in KernelRidge, for `alpha_`

    >>> from separatrix import KernelRidgeCV
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = KernelRidgeCV([0.01, 0.1, 1.0], kernel="rbf", gamma=0.2)
    >>> model.fit(X, [0.0, 1.0, 1.5, 1.0]).alpha_, model.loo_errors_.round(3)
    (0.01, array([0.031, 0.107, 0.325]))
    """

    def __init__(
        self,
        alphas: Any = (0.01, 0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _solve(self, K: Array, y: Array, s: Array) -> tuple[Array, Array]:
        alphas = self._checked_alphas()
        betas, left_out = solve_ridge_path(K, y, s, alphas)
        errors = np.average(np.square(y - left_out), axis=1, weights=s).mean(axis=1)
        best = max(np.flatnonzero(errors == errors.min()), key=lambda k: alphas[k])
        self.alpha_ = float(alphas[best])
        return betas[best], left_out

    def _checked_alphas(self) -> Array:
        for alpha in as_list("alphas", self.alphas):
            require_number("alphas", alpha, open_low=True)
        return np.array(self.alphas, np.float64)

    def _take_errors(self, errors: Any) -> None:
        self.loo_errors_ = errors
