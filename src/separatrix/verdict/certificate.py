"""Prove how far from the optimum a model can be.

For duals U with sum_i s_i U_i = 0 (which an unpenalised bias requires),

    D(U) = - sum_i s_i conjugate(U_i) / S - g*(X^T (s o U) / S)

is a lower bound on the objective P of every model. So the objective can fall by at most P - D, the
duality gap. A penalised bias puts no condition on U, but the conjugate of its penalty is subtracted
too. By default U is the gradient of the loss at the scores, balanced. Some solvers have better
duals. The arithmetic is float64, whatever the type of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.device import DeviceObjective
from separatrix.device.duals import DeviceDuals
from separatrix.matrix import Array, per_model, pick_models, sum_samples
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective

ENTRIES_AT_ONCE = 1 << 20
# Bound on the rounding error of a dual value, relative to its terms and to the mean |U| times the
# parts of the scores that cancel (these are large for features far from zero).
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
NEXT_TO_NOTHING = 1e-20  # below this value of a squared hinge, its rounding error matters
SMALL_GAP = 1e-3  # relative duality gap up to which a model counts as certified


@dataclass(frozen=True)
class Certificate:
    """The objective of a fitted model, a lower bound on it, and the duality gap.

    Attributes
    ----------
    kind : "duality_gap", or "gradient_norm" if there is no useful lower bound (no penalty, or a
        loss that is not convex); dual, gap and relative_gap are None then.
    primal : the objective of the model
    dual : a proven lower bound on the objective of every model
    gap, relative_gap : the duality gap primal - dual, and the gap divided by primal
    gradient_norm : norm of the smallest subgradient at the model
    """

    kind: str
    primal: float
    dual: float | None
    gap: float | None
    relative_gap: float | None
    gradient_norm: float

    @property
    def certified(self) -> bool:
        """Whether the relative duality gap is at most 1e-3."""
        return self.relative_gap is not None and self.relative_gap <= SMALL_GAP

    def raised_to(self, bound: float) -> Certificate:
        """Return this certificate with another lower bound, if that bound is higher."""
        dual = -math.inf if self.dual is None else self.dual
        return self if bound <= dual else _certificate(self.primal, bound, self.gradient_norm)

    def of_objective(self, primal: float) -> Certificate:
        """Return the certificate of a model with another objective and the same lower bound."""
        dual = -math.inf if self.dual is None else self.dual
        return _certificate(primal, dual, self.gradient_norm)

    def __str__(self) -> str:
        if self.kind == "gradient_norm":
            return (
                f"objective {self.primal:.6g}, gradient norm {self.gradient_norm:.2e} "
                "(no duality gap: it needs a convex loss and a penalty)"
            )
        return (
            f"objective {self.primal:.6g}, duality gap {self.gap:.2e} "
            f"(relative {self.relative_gap:.2e}){'' if self.certified else ', not certified'}"
        )


def certify(
    objective: Objective,
    model: Model,
    duals: Sequence[Array] | None = None,
    found: Evaluation | None = None,
    pull: Array | None = None,
) -> list[Certificate]:
    """Compute the certificate of every model of a batch.

    Parameters
    ----------
    objective, model : the objective, and B models
    duals : U (n, B, K) of each block of the data, inside the domain of the conjugate; by default
        the gradient of the loss
    found : the evaluation of the models, if it is known
    pull : g*(X^T (s o U) / S) (B,), if it is known. If it is given, the duals must be balanced

    >>> import numpy as np
    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> data = Dataset.of(np.eye(2), [0, 1])
    >>> objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    >>> w = np.array([[[-0.2]], [[0.2]]])
    >>> certify(objective, Model(w, np.zeros((1, 1))))[0].gap < 0.01
    True
    """
    if found is None or model.W.dtype != np.float64:
        model = model.astype(np.float64)
        found = objective.evaluate(model)
    l1, l2 = objective.strengths(model.n_models)
    bounded = (l1 > 0.0) | (l2 > 0.0)
    dual = np.full(model.n_models, -np.inf)
    if objective.loss.convex and isinstance(objective, DeviceObjective) and bounded.any():
        # All models share the passes.
        dual = np.where(bounded, dual_values_on_device(objective, model), dual)
    elif objective.loss.convex:
        for some in _batches(objective, model, np.flatnonzero(bounded)):
            if len(some) == model.n_models:
                dual = dual_values(objective, model, duals, pull)
                continue
            theirs = None if duals is None else [pick_models(U, some) for U in duals]
            cost = None if pull is None else pull[some]
            dual[some] = dual_values(objective.select(some), model.select(some), theirs, cost)
    lost = _lost_beside_margins(objective, model, found)
    return certificates_of(replace(found, loss=found.loss + lost), dual)


def certificates_of(found: Evaluation, dual: Array) -> list[Certificate]:
    """Make the certificates of evaluated models from lower bounds (B,)."""
    each = zip(found.value, dual, found.gradient_norm)
    return [_certificate(*(float(a) for a in numbers)) for numbers in each]


def dual_values(
    objective: Objective,
    model: Model,
    duals: Sequence[Array] | None = None,
    pull: Array | None = None,
) -> Array:
    """Return the larger of D(U) and D(0) for each model (B,); parameters as in `certify`."""
    blocks = list(objective.data.blocks())
    if duals is None:
        duals = [objective.loss_gradient(block, model) for block in blocks]
    scale = objective.scale(model.n_models)
    U, shrink = list(duals), np.ones(model.n_models)
    if pull is None:
        U = balanced(objective, [_usable(u, block) for block, u in zip(blocks, duals)])
        V = objective.data.transpose_times(U, scale)
        shrink = objective.penalty.dual_scale(V)
        pull = objective.penalty.conjugate(_shrunk(V, shrink))
    cost, sizes = np.zeros(model.n_models), np.zeros(model.b.shape)
    for block, u in zip(blocks, U):
        sizes += block.weighted_sum(u, sizes=True) * scale[:, None]
        each = objective.loss.conjugate(block.y, _shrunk(u, shrink))
        cost += block.weighted_sum(each[:, :, None])[:, 0] * scale
    sums = objective.data.weighted_sums(U) * scale[:, None]
    return _bound(objective, model, cost, pull, sizes, sums, shrink)


def _bound(
    objective: Objective,
    model: Model,
    cost: Array,
    pull: Array,
    sizes: Array,
    sums: Array,
    shrink: Array,
) -> Array:
    """Return the larger of D(U) and D(0) (B,) from the sums over the rows.

    They are the conjugates (B,), |U| and U (B, K), the latter before it was shrunk.
    """
    free = objective.bias & (objective.bias_curvature(model.n_models) == 0.0)
    # At U = 0 the conjugate depends on the class only.
    classes = np.arange(objective.data.highest_label + 1)
    of_class = objective.loss.conjugate(classes, np.zeros((len(classes), 1, model.n_outputs)))[:, 0]
    cost_of_zero = np.zeros(model.n_models)
    if of_class.any():
        for block in objective.data.blocks():
            each = sum_samples(per_model(block.weights) * per_model(of_class[block.y]))
            cost_of_zero += each * objective.scale(model.n_models)
    dual = -cost - pull
    if not free.all():  # a fixed or penalised bias needs no balanced duals, but adds a term
        fixed = (model.b * sums).sum(axis=1) * shrink
        penalised = -objective.penalty.bias_conjugate(sums)
        dual += np.where(free, 0.0, penalised if objective.bias else fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        # The margin can also cancel: a hinge that is tiny beside it has lost its digits.
        parts = sizes * (objective.recentring(model.n_models).sizes(model) + objective.loss.margin)
        dual -= ROUNDING * (np.abs(cost) + pull + parts.sum(axis=1))
    return np.maximum(np.nan_to_num(dual, nan=-np.inf), -cost_of_zero)


def dual_values_on_device(objective: DeviceObjective, model: Model) -> Array:
    """Return the larger of D(U) and D(0) (B,), with the gradient of the loss as U."""
    free = objective.bias & (objective.bias_curvature(model.n_models) == 0.0)
    scale, duals = objective.scale(model.n_models), DeviceDuals(objective, model, free)
    found = duals.sums()
    V = found.V * scale[:, None]
    shrink = objective.penalty.dual_scale(V)
    if (shrink < 1.0).any():
        found = found._replace(cost=duals.sums(shrink).cost)
    pull = objective.penalty.conjugate(_shrunk(V, shrink))
    sizes, sums = (a * scale[:, None] for a in (found.sizes, found.sums))
    return _bound(objective, model, found.cost * scale, pull, sizes, sums, shrink)


def _lost_beside_margins(objective: Objective, model: Model, found: Evaluation) -> Array | float:
    """Bound how much rounding may have taken from tiny squared hinges (B,).

    Rounding changes a score, and so its distance to the margin, by up to e. So the true mean square
    of these distances can be as large as (sqrt(P) + e)^2, with P the computed one.
    """
    loss, value = objective.loss, found.value
    if not (loss.smooth and loss.margin > 0.0 and (value < NEXT_TO_NOTHING).any()):
        return 0.0
    mean, deviation = objective.data.moments()
    size = (np.abs(mean) + deviation)[:, :, None]
    parts = loss.margin + np.abs(model.b) + sum_samples(size * np.abs(model.W))
    off = ROUNDING * np.sqrt(np.square(parts).sum(axis=1))
    lost = np.square(np.sqrt(np.maximum(value, 0.0)) + off) - value
    return np.where(value < NEXT_TO_NOTHING, lost, 0.0)


def _batches(objective: Objective, model: Model, models: Array) -> list[Array]:
    """Split the models into groups whose duals take about ten megabytes."""
    size = max(1, ENTRIES_AT_ONCE // (objective.data.n_samples * model.n_outputs))
    return [models[start : start + size] for start in range(0, len(models), size)]


def balanced(objective: Objective, U: Sequence[Array]) -> list[Array]:
    """Balance the duals of models with an unpenalised bias over all rows of all blocks."""
    blocks, B = list(objective.data.blocks()), U[0].shape[1]
    free = objective.bias & (objective.bias_curvature(B) == 0.0)
    if not free.any():
        return list(U)

    def wide(a: Array) -> Array:
        return np.broadcast_to(per_model(a), (len(a), B))

    if len(blocks) == 1:
        even = [objective.loss.balance(blocks[0].y, U[0], blocks[0].weights)]
    else:
        y = np.concatenate([wide(block.y) for block in blocks])
        s = np.concatenate([wide(block.weights) for block in blocks])
        together = objective.loss.balance(y, np.concatenate(U), s)
        even = np.split(together, np.cumsum([len(u) for u in U])[:-1])
    return even if free.all() else [np.where(free[:, None], e, u) for e, u in zip(even, U)]


def _certificate(primal: float, dual: float, norm: float) -> Certificate:
    if not math.isfinite(dual) or not math.isfinite(primal):
        return Certificate("gradient_norm", primal, None, None, None, norm)
    gap = abs(primal - dual)
    if dual > primal:  # due to rounding, whose error may be as large in the other direction
        dual = primal - gap
    relative = gap / primal if primal > 0.0 else 0.0
    return Certificate("duality_gap", primal, dual, gap, relative, norm)


def _shrunk(U: Array, shrink: Array) -> Array:
    return U if (shrink == 1.0).all() else U * shrink[:, None]


def _usable(U: Array, block: Block) -> Array:
    """Return the duals in float64; 0, always allowed, where weights are 0 or scores overflowed."""
    U = block.as_duals(U)
    if _core.are_valid_duals(U, block.s, block.weight_column):
        return U
    s = per_model(block.weights)
    return np.where(np.isfinite(U).all(axis=2, keepdims=True) & (s[:, :, None] > 0.0), U, 0.0)
