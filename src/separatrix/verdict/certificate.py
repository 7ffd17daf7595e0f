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

from separatrix.device import DeviceObjective
from separatrix.device.duals import DeviceDuals
from separatrix.loss_sums import loss_gradient, sum_of_class_values
from separatrix.matrix import Array, pick_models, sum_samples
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.verdict.dual_sums import (
    DualSource,
    costs_of_block,
    pull_and_costs_of_block,
    pull_of_block,
    shrunk,
    solve_balance,
    usable_duals,
)

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
    duals : U (n, B, K) of the only block of the data, inside the domain of the conjugate; by
        default the gradient of the loss
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
    if objective.loss.convex:
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
    """Return the larger of D(U) and D(0) for each model (B,); parameters as in `certify`.

    On several blocks this takes two passes: one for the balance of the duals, one for all sums.
    With l1 only, the duals may have to shrink, which takes a third.
    """
    objective.require(model)
    loss, B = objective.loss, model.n_models
    free = objective.bias & (objective.bias_curvature(B) == 0.0)
    scale = objective.scale(B)
    # At U = 0 the conjugate depends on the class only.
    classes = np.arange(objective.data.highest_label + 1)
    of_class = loss.conjugate(classes, np.zeros((len(classes), 1, model.n_outputs)))[:, 0]
    if isinstance(objective, DeviceObjective):
        shrink, pull, found = _sums_on_device(objective, model, free, of_class)
    else:
        wanted = of_class, not free.all()
        shrink, pull, found = _sums_over_blocks(objective, model, duals, pull, wanted)
    cost, cost_of_zero = found[0] * scale, found[1] * scale
    sizes, total = (a * scale[:, None] for a in found[2:])
    dual = -cost - pull
    if not free.all():  # a fixed or penalised bias needs no balanced duals, but adds a term
        fixed = (model.b * total).sum(axis=1) * shrink
        penalised = -objective.penalty.bias_conjugate(total)
        dual += np.where(free, 0.0, penalised if objective.bias else fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        # The margin can also cancel: a hinge that is tiny beside it has lost its digits.
        parts = sizes * (objective.recentring(model.n_models).sizes(model) + objective.loss.margin)
        dual -= ROUNDING * (np.abs(cost) + pull + parts.sum(axis=1))
    return np.maximum(np.nan_to_num(dual, nan=-np.inf), -cost_of_zero)


def _sums_over_blocks(
    objective: Objective,
    model: Model,
    duals: Sequence[Array] | None,
    pull: Array | None,
    wanted: tuple[Array, bool],
) -> tuple[Array, Array, list[Array]]:
    """Return the factor by which the duals shrink, the pull, and the sums of `costs_of_block`."""
    data, scale, found = objective.data, objective.scale(model.n_models), None
    source, shrink = duals_of(objective, model, duals, pull is None), np.ones(model.n_models)
    if pull is None:
        if source.known is not None:
            (V,) = data.sum_over_blocks(pull_of_block, source, scale)
        else:
            V, *found = data.sum_over_blocks(pull_and_costs_of_block, source, scale, *wanted)
        shrink = objective.penalty.dual_scale(V)
        pull = objective.penalty.conjugate(shrunk(V, shrink))
    if found is None or (shrink < 1.0).any():
        found = list(data.sum_over_blocks(costs_of_block, source, shrink, *wanted))
    return shrink, pull, found


def _sums_on_device(
    objective: DeviceObjective, model: Model, free: Array, of_class: Array
) -> tuple[Array, Array, list[Array]]:
    """Return the same, with the gradient of the loss as duals, from passes on a device."""
    duals = DeviceDuals(objective, model, free)
    found = duals.sums()
    V = found.V * objective.scale(model.n_models)[:, None]
    shrink = objective.penalty.dual_scale(V)
    if (shrink < 1.0).any():
        found = found._replace(cost=duals.sums(shrink).cost)
    (of_zero,) = objective.data.sum_over_blocks(sum_of_class_values, of_class)
    sums = [found.cost, np.broadcast_to(of_zero, model.n_models), found.sizes, found.sums]
    return shrink, objective.penalty.conjugate(shrunk(V, shrink)), sums


def duals_of(
    objective: Objective,
    model: Model,
    duals: Sequence[Array] | None = None,
    balance: bool = True,
) -> DualSource:
    """Return the duals: of the only block if it is in memory, otherwise how they are computed."""
    loss, data = objective.loss, objective.data
    if not data.in_one_block and duals is None:
        return DualSource(loss, model, balance=solve_balance(objective, model))
    block = data.only_block("A certificate of given duals")
    (U,) = [loss_gradient(block, loss, model)] if duals is None else duals
    return DualSource(loss, model, balanced(objective, usable_duals(U, block)) if balance else U)


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
    """Split the models into groups whose duals take about ten megabytes.

    On several blocks and on a device, where duals are not kept, all models share the passes.
    """
    if isinstance(objective, DeviceObjective) or not objective.data.in_one_block:
        return [models] if len(models) else []
    size = max(1, ENTRIES_AT_ONCE // (objective.data.n_samples * model.n_outputs))
    return [models[start : start + size] for start in range(0, len(models), size)]


def balanced(objective: Objective, U: Array) -> Array:
    """Balance the duals (n, B, K) of models with an unpenalised bias, for rows in one block."""
    free = objective.bias & (objective.bias_curvature(U.shape[1]) == 0.0)
    if not free.any():
        return U
    block = objective.data.only_block("Balancing given duals")
    even = objective.loss.balance(block.y, U, block.weights)
    return even if free.all() else np.where(free[:, None], even, U)


def _certificate(primal: float, dual: float, norm: float) -> Certificate:
    if not math.isfinite(dual) or not math.isfinite(primal):
        return Certificate("gradient_norm", primal, None, None, None, norm)
    gap = abs(primal - dual)
    if dual > primal:  # due to rounding, whose error may be as large in the other direction
        dual = primal - gap
    relative = gap / primal if primal > 0.0 else 0.0
    return Certificate("duality_gap", primal, dual, gap, relative, norm)
