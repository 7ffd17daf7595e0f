"""The covariance of maximum likelihood estimates, and when there is none."""

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
SINGULAR = 1e-11  # share of the largest eigenvalue, the diagonal being 1, that is rounding
INVOLVED = 1e-3  # share of the largest entry by which a column counts as part of a dependence
OFF_OPTIMUM = 0.01  # standard errors that an estimate may be away from the optimum


def covariance(fit: FittedObjective, names: Sequence[str]) -> Array:
    """The inverse of the information S H, (K p, K p), H being the Hessian of the mean loss.

    Raises where it is not the covariance of the estimates, saying why and what to do.
    """
    _require_likelihood(fit)
    # A feature far from zero is all but a multiple of the intercept. Seen from its origin it is
    # not, and each coefficient in units of its own size is as well determined as the data allow.
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
    """The Hessian (K p, K p) of the mean loss, output after output, each with its bias first."""
    d, _, K = fit.model.W.shape
    H = block_diag(*fit.objective.hessian_operator(fit.model, recentring).matrix()[0])
    H = np.tril(H) + np.tril(H, -1).T
    order = np.r_[d, :d] if fit.task.bias else np.arange(d)
    kept = (np.arange(K)[:, None] * (d + 1) + order).ravel()
    return H[np.ix_(kept, kept)]


def _require_likelihood(fit: FittedObjective) -> None:
    """Raise unless the fit is the maximum of the likelihood of independent rows."""
    task, estimator = fit.task, fit.estimator
    base = task.loss.base if isinstance(task.loss, OneVsRest) else task.loss
    if base.name == "softmax":
        raise ValueError(
            "Wald intervals need coefficients that the likelihood determines: softmax with an "
            "output for every class does not change when all outputs shift together. Fit with "
            f"multiclass='reference', or {INSTEAD}."
        )
    if base.name not in ("logistic", "softmax_reference"):
        raise ValueError(
            f"Wald intervals need a likelihood, and loss '{base.name}' is none. Use "
            f"LogisticRegression(C=np.inf), or {INSTEAD}."
        )
    if task.l1 > 0.0 or task.l2 > 0.0:
        raise ValueError(
            "Wald intervals need C=np.inf: a penalty draws the coefficients towards 0, and "
            "estimate +- standard errors would miss the true ones. Got "
            f"C={float(estimator.C):g}. Fit with C=np.inf, or {INSTEAD}."
        )
    if estimator.class_weight is not None:
        raise ValueError(
            "Wald intervals need class_weight=None: weights of classes change the likelihood. Got "
            f"{estimator.class_weight!r}. Fit without, or {INSTEAD}."
        )
    wrong = np.flatnonzero(fit.s != np.rint(fit.s))
    if len(wrong):
        raise ValueError(
            "Wald intervals take sample_weight as counts of equal rows, since they shrink with the "
            f"number of rows. Row {wrong[0]} has {fit.s[wrong[0]]:g}. Give whole numbers, or "
            f"{INSTEAD}, which draws each row with its weight."
        )
    endless = next((each for each in estimator.diagnoses_ if each.kind == "separable"), None)
    if endless is not None:
        raise ValueError(
            f"Wald intervals need a finite optimum, and there is none. {endless.message} Leave out "
            f"what tells these rows apart, or add a penalty (a finite C) and {INSTEAD}."
        )
    size = fit.coefficients(fit.model).size
    if size > MOST_COEFFICIENTS:
        raise ValueError(
            f"Wald intervals need a matrix of {size} x {size} entries, and {MOST_COEFFICIENTS} "
            f"coefficients are the most. Take fewer features, or {INSTEAD}."
        )


def _from_origin(fit: FittedObjective, recentring: Recentring) -> Array:
    """The matrix (K p, K p) that turns coefficients seen from the origin into those of X.

    The intercept at zero is that at the origin o, less o times the weights.
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
    ):  # 0 only as seen from there: a constant
        raise _dependent([names[0], names[at]])
    raise ValueError(
        f"Feature '{names[at]}' is 0 in every row that counts: the data say nothing of its "
        "coefficient. Leave it out."
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
    # The entries of the null vector, output by output, say which columns depend on each other. An
    # intercept that is the rounding of the terms it is made of has no part in it.
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
        "Wald intervals need features of full rank, and these are linearly dependent: "
        f"{listed(involved, 8)}. Leave one of them out, or add a penalty (a finite C) and "
        f"{INSTEAD}."
    )


def _require_optimum(fit: FittedObjective, V: Array, recentring: Recentring) -> None:
    """Raise if a Newton step would move some coefficient by more than it is uncertain by."""
    found = fit.objective.evaluate(fit.model)
    gradient = recentring.apply_to_gradient(Model(found.GW, found.gb))
    g = fit.coefficients(gradient).ravel()
    off = float(np.max(np.abs(V @ (fit.s.sum() * g)) / np.sqrt(np.diag(V))))
    if off > OFF_OPTIMUM:
        raise ValueError(
            f"Wald intervals need the optimum, and a coefficient is still {off:.2g} standard "
            f"errors away from it. Fit with a smaller tol (it was {float(fit.estimator.tol):g}) "
            "and enough max_iter."
        )
