"""The covariance of maximum likelihood estimates, and checks that it is valid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from separatrix.inference.fitted_objective import FittedObjective
from separatrix.losses import OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.recentring import Recentring
from separatrix.text import listed

INSTEAD = "use method='bootstrap'"
MOST_COEFFICIENTS = 10_000  # a matrix of 0.8 GB
SINGULAR = 1e-11  # eigenvalues below this fraction of the largest are zero up to rounding
INVOLVED = 1e-3  # entries above this fraction of the largest mark the linearly dependent columns
OFF_OPTIMUM = 0.01  # largest distance of an estimate from the optimum, in standard errors


def covariance(fit: FittedObjective, names: Sequence[str]) -> Array:
    """Return the inverse (K p, K p) of the information matrix S H.

    H is the Hessian of the mean loss and S the total weight. Raises a ValueError if this is not a
    valid covariance of the estimates.
    """
    _require_likelihood(fit)
    # A feature far from zero is almost a multiple of the intercept, which makes H ill-conditioned.
    # Subtracting the origin and scaling the diagonal to 1 prevents this.
    recentring = fit.objective.recentring(1)
    H = _hessian(fit, recentring)
    size = np.sqrt(np.diag(H))
    _require_information(size, fit, recentring, names)
    values, vectors = np.linalg.eigh(H / np.outer(size, size))
    vectors = vectors / size[:, None]
    _require_full_rank(values, vectors[:, 0], size, fit, recentring, names)
    V = (vectors / values) @ vectors.T / fit.s.sum()
    _require_optimum(fit, V, recentring)
    back = _from_origin(fit, recentring)
    return back @ V @ back.T


def _hessian(fit: FittedObjective, recentring: Recentring) -> Array:
    """Return the Hessian (K p, K p) of the mean loss, output by output, bias first."""
    d, _, K = fit.model.W.shape
    H = block_diag(*fit.objective.hessian_operator(fit.model, recentring).matrix()[0])
    H = np.tril(H) + np.tril(H, -1).T
    order = np.r_[d, :d] if fit.task.bias else np.arange(d)
    kept = (np.arange(K)[:, None] * (d + 1) + order).ravel()
    return H[np.ix_(kept, kept)]


def _require_likelihood(fit: FittedObjective) -> None:
    """Raise unless the fit maximises the likelihood of independent rows."""
    task, estimator = fit.task, fit.estimator
    base = task.loss.base if isinstance(task.loss, OneVsRest) else task.loss
    if base.name == "softmax":
        raise ValueError(
            "Wald intervals need unique coefficients, but softmax with one output per class does "
            "not change if all outputs shift by the same amount. Fit with "
            f"multiclass='reference', or {INSTEAD}."
        )
    if base.name not in ("logistic", "softmax_reference"):
        raise ValueError(
            f"Wald intervals need a likelihood, and loss '{base.name}' does not define one. Use "
            f"LogisticRegression(C=np.inf), or {INSTEAD}."
        )
    if task.l1 > 0.0 or task.l2 > 0.0:
        raise ValueError(
            "Wald intervals need C=np.inf: a penalty shrinks the coefficients towards 0, so the "
            f"intervals would miss the true coefficients. Got C={float(estimator.C):g}. Fit with "
            f"C=np.inf, or {INSTEAD}."
        )
    if estimator.class_weight is not None:
        raise ValueError(
            "Wald intervals need class_weight=None: class weights change the likelihood. Got "
            f"{estimator.class_weight!r}. Fit without class weights, or {INSTEAD}."
        )
    wrong = np.flatnonzero(fit.s != np.rint(fit.s))
    if len(wrong):
        raise ValueError(
            "Wald intervals treat sample_weight as counts of equal rows, which must be whole "
            f"numbers. Row {wrong[0]} has {fit.s[wrong[0]]:g}. Use whole numbers, or "
            f"{INSTEAD}, which draws rows with their weights."
        )
    endless = next((each for each in estimator.diagnoses_ if each.kind == "separable"), None)
    if endless is not None:
        raise ValueError(
            f"Wald intervals need a finite optimum. {endless.message} Remove the features that "
            f"separate the rows, or add a penalty (a finite C) and {INSTEAD}."
        )
    size = fit.coefficients(fit.model).size
    if size > MOST_COEFFICIENTS:
        raise ValueError(
            f"Wald intervals are limited to {MOST_COEFFICIENTS} coefficients, because they need a "
            f"matrix of {size} x {size} entries. Use fewer features, or {INSTEAD}."
        )


def _from_origin(fit: FittedObjective, recentring: Recentring) -> Array:
    """Return the matrix (K p, K p) that maps coefficients of X - origin to coefficients of X.

    The weights stay the same; the intercept decreases by origin times weights.
    """
    d, _, K = fit.model.W.shape
    one = np.eye(d + fit.task.bias)
    if recentring.has_effect:
        one[0, 1:] = -recentring.origin
    return np.kron(np.eye(K), one)


def _require_information(
    size: Array, fit: FittedObjective, recentring: Recentring, names: Sequence[str]
) -> None:
    empty = np.flatnonzero(size == 0.0).tolist()
    if not empty:
        return
    at = empty[0] % len(names)
    if (
        recentring.has_effect and recentring.origin[at - 1] != 0.0
    ):  # the feature is 0 only after subtracting the origin, so it is constant
        raise _dependent([names[0], names[at]])
    raise ValueError(
        f"Feature '{names[at]}' is 0 in every row with a positive weight, so its coefficient "
        "cannot be estimated. Remove the feature."
    )


def _require_full_rank(
    values: Array,
    null: Array,
    size: Array,
    fit: FittedObjective,
    recentring: Recentring,
    names: Sequence[str],
) -> None:
    if values[0] > SINGULAR * values[-1]:
        return
    # Large entries of the null vector mark the columns that depend on each other. The intercept
    # counts only if it exceeds the rounding error of the terms it is computed from.
    shape = (-1, len(names))
    seen = np.abs(null * size).reshape(shape).max(axis=0)
    if recentring.has_effect:
        back = _from_origin(fit, recentring)
        terms = (np.abs(back) @ np.abs(null)).reshape(shape)[:, 0]
        moved = np.abs(back @ null).reshape(shape)[:, 0]
        seen[0] = seen.max() * (moved / np.where(terms > 0.0, terms, 1.0)).max()
    raise _dependent([names[j] for j in np.flatnonzero(seen > INVOLVED * seen.max()).tolist()])


def _dependent(involved: list[str]) -> ValueError:
    return ValueError(
        "Wald intervals need linearly independent features, but these are linearly dependent: "
        f"{listed(involved, 8)}. Remove one of them, or add a penalty (a finite C) and "
        f"{INSTEAD}."
    )


def _require_optimum(fit: FittedObjective, V: Array, recentring: Recentring) -> None:
    """Raise if a Newton step moves a coefficient by more than a fraction of its standard error."""
    found = fit.objective.evaluate(fit.model)
    gradient = recentring.apply_to_gradient(Model(found.GW, found.gb))
    g = fit.coefficients(gradient).ravel()
    off = float(np.max(np.abs(V @ (fit.s.sum() * g)) / np.sqrt(np.diag(V))))
    if off > OFF_OPTIMUM:
        raise ValueError(
            f"Wald intervals need the optimum, but a coefficient is still {off:.2g} standard "
            f"errors away from it. Fit with a smaller tol (it was {float(fit.estimator.tol):g}) "
            "and a sufficient max_iter."
        )
