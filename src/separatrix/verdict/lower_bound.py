"""Lower bounds on the objective from one evaluation, without another pass over the data.

The gradients U_i of the loss at the scores z_i are duals whose conjugate is known:

    conjugate(U_i) = <U_i, z_i> - loss(z_i),    so that    D(U) = loss - <W, G> - <b, g> - g*(G)

The loss, G = X^T (s o U) / S and g = sum_i s_i U_i / S are part of the evaluation. An unpenalised
bias requires g = 0. Near the optimum g is small, and mixing in a small fraction e of duals U0 that
depend only on the class of a row makes it zero. Conjugates are convex, so with V0 the sum over
classes c of X_c^T s_c / S U0_c,

    D >= (1 - e) (loss - <W, G> - <b, g>) - e conjugate(U0) - g*((1 - e) G + e V0)

Mixing lowers the bound by about e, which is proportional to g and not to its square. To prove a
tolerance with this bound, a model must be slightly closer to the optimum than the tolerance
requires. Far from the optimum, `certificate` gives better bounds.
"""

from __future__ import annotations

import numpy as np

import separatrix._core as _core
from separatrix.losses import OneVsRest
from separatrix.losses.differences import ClassDifferences
from separatrix.matrix import Array, sum_samples
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective

ROOM = 0.5  # fraction of their domain that the flows of U0 may use
ROUNDING = 256.0 * np.finfo(np.float64).eps  # error of a sum, relative to its terms


def lower_bounds(objective: Objective, model: Model, found: Evaluation) -> Array:
    """Return a lower bound (B,) on the objective of every model; -inf if there is none.

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> data = Dataset.of(np.eye(2), [0, 1])
    >>> objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    >>> model = Model(np.array([[[-0.2]], [[0.2]]]), np.zeros((1, 1)))
    >>> found = objective.evaluate(model)
    >>> (found.value - lower_bounds(objective, model, found)).round(4)
    array([0.0006])
    """
    B, penalty = model.n_models, objective.penalty
    l1, l2 = objective.strengths(B)
    none = np.full(B, -np.inf)
    if not objective.loss.convex or model.W.dtype != np.float64:
        return none
    curvature = objective.bias_curvature(B)
    g = found.gb - curvature[:, None] * model.b if curvature.any() else found.gb
    G, dual = found.GW, found.loss - model.dot(Model(found.GW, g))
    if objective.bias and not curvature.all():
        mixed = _balance(objective, model, g)
        if mixed is None:
            return none
        share, cost, V = mixed
        share = np.where(curvature == 0.0, share, 0.0)
        kept = 1.0 - share
        dual = kept * dual - share * cost
        G = kept[:, None] * G + share[:, None] * V
    shrink = penalty.dual_scale(G)
    if (shrink < 1.0).any():
        dual = shrink * dual - (1.0 - shrink) * _cost_of_zero(objective, model)
        G, g = G * shrink[:, None], g * shrink[:, None]
    dual = dual - penalty.conjugate(G) - penalty.bias_conjugate(g)
    dual -= ROUNDING * (found.loss + _sizes(objective, model))
    return np.where(np.isfinite(dual) & ((l1 > 0.0) | (l2 > 0.0)), dual, -np.inf)


def _sizes(objective: Objective, model: Model) -> Array:
    """Bound the terms of the scores (B,): large terms that cancel leave rounding errors."""
    largest = objective.data.largest_values()
    parts = sum_samples(largest[:, None, None] * np.abs(model.W))
    return np.asarray((parts + np.abs(model.b)).sum(axis=1))


def _cost_of_zero(objective: Objective, model: Model) -> Array:
    """Return sum_i s_i conjugate(0) / S of each model (B,)."""
    B, K = model.b.shape
    _, shares = objective.data.class_shares()
    classes = np.arange(shares.shape[1])
    cost = objective.loss.conjugate(classes, np.zeros((len(classes), 1, K)))[:, 0]
    return np.broadcast_to((shares * cost).sum(axis=1), (B,))


def _balance(objective: Objective, model: Model, g: Array) -> tuple[Array, Array, Array] | None:
    """Return the fraction (B,) of U0 that balances the duals, its conjugate (B,), and V0."""
    loss, (B, K) = objective.loss, g.shape
    apart = isinstance(loss, OneVsRest)
    if not isinstance(loss.base if isinstance(loss, OneVsRest) else loss, ClassDifferences):
        return None  # the duals of other losses are not flows between classes
    means, shares = objective.data.class_shares()  # (d, 1 or B, C), (1 or B, C)
    C = shares.shape[1]
    if K not in ((C,) if apart else (C, C - 1)):
        return None
    e, U, V = np.empty(B), np.empty((C, B, K)), np.empty((len(means), B, K))
    _core.class_duals(apart, ROOM, shares, means, np.ascontiguousarray(g), e, U, V)
    with np.errstate(invalid="ignore"):
        each = loss.conjugate(np.arange(C), U)  # (C, B)
        cost = (shares * each.T).sum(axis=1)
    return e, cost, V
