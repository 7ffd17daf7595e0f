"""The line search: how far each model moves along its direction.

A step is shortened until the objective falls enough. The lowest point along a line is found from
the derivative

    phi'(t) = sum_i s_i <gradient of the loss at z_i + t v_i, v_i> / S + slope of the penalty

with z the scores of the model and v the scores of the direction. If all rows are in one block in
memory, these are computed once, and any number of values of t costs two passes over X. Otherwise
every value of t costs a pass. The lowest point is used if a full Newton step is
rejected, as often happens with squared hinges. It is much farther along the line than the first
shortened step that would be accepted.
"""

from __future__ import annotations

import numpy as np

from separatrix.data import Block
from separatrix.loss_sums import score_gradient
from separatrix.losses import Loss
from separatrix.matrix import Array, per_model, sum_samples, zero_unweighted
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective

ARMIJO = 1e-4
MAX_BACKTRACKS = 24
MAX_MINIMUM_STEPS = 30
SLOPE_REDUCTION = 0.1  # fraction of the first slope that may be left at the minimum
ROUNDING = 1e-13  # values with a smaller relative difference count as equal


def gradient_at(objective: Objective, model: Model, found: Evaluation) -> Model:
    """Return the gradient of the loss and the l2 terms from an evaluation of the model."""
    return Model(found.GW + objective.penalty.gradient(model.W), found.gb)


def ensure_descent(gradient: Model, direction: Model, upwards: Model) -> Array:
    """Replace directions that rounding has spoilt by -`upwards`, and return the slopes (B,).

    `upwards` must be an ascent direction: the gradient, or the gradient in a metric.
    """
    slope = gradient.dot(direction)
    spoilt = ~(slope < 0.0)
    if spoilt.any():
        down = upwards.times(np.full(len(slope), -1.0))
        direction.put(spoilt, down.select(spoilt))
        slope = gradient.dot(direction)
    return slope


def remove_common_shift(objective: Objective, model: Model, direction: Model) -> None:
    """Change directions so that they lead to outputs without a common shift (sum 0 over classes).

    The loss does not depend on the shift, and the penalty is lowest without it. Without a penalty,
    rounding errors would add up in the shift until they drown the digits of all scores.
    """
    if objective.loss.coupling(direction.n_outputs) != "differences":
        return
    l1, l2 = objective.strengths(direction.n_models)
    shift = direction.W.mean(axis=2, keepdims=True)
    shift += np.where((l2 > 0.0)[:, None], model.W.mean(axis=2, keepdims=True), 0.0)
    direction.W -= np.where((l1 == 0.0)[:, None], shift, 0.0)
    free = (objective.bias_curvature(direction.n_models) == 0.0)[:, None]
    direction.b -= np.where(free, direction.b.mean(axis=1, keepdims=True), 0.0)


def search_line(
    objective: Objective,
    model: Model,
    found: Evaluation,
    direction: Model,
    slope: Array,
    scores: bool = False,
) -> tuple[Model, Evaluation, Array]:
    """Move models along their directions; return them, their evaluations and the steps (B,).

    The first step tried is 1. If it is rejected, the minimum along the line follows, then shorter
    steps until P(w + t p) <= P(w) + 1e-4 t g.p, with the slope g.p < 0. With l1 > 0 the slope is
    g.p + l1 (|w + p|_1 - |w|_1), which bounds how fast P falls. Each model has its own step, and
    only models whose step was rejected are evaluated again. A model for which no step is accepted
    stays where it is, with a step of 0. `scores` asks for the scores of the models if all of them
    take the full step.
    """
    value = found.value
    t = np.ones(len(value))
    there = model.plus(direction)
    seen = objective.evaluate(there, scores=scores)
    moved = np.asarray(seen.value <= value + ARMIJO * slope)
    if moved.all():
        return there, seen, t
    level = value + _rounding(objective, model, value)
    moved |= _is_flat(objective, there, seen, direction, level, slope)
    for number in range(MAX_BACKTRACKS):
        if moved.all():
            break
        again = np.flatnonzero(~moved)
        ahead, some, start = direction.select(again), objective.select(again), model.select(again)
        if number == 0:
            t[again] = find_line_minimum(some, start, ahead, slope[again])
        else:
            t[again] = 0.25 * t[again]
        part = start.plus(ahead, t[again])
        looked = some.evaluate(part)
        there.put(again, part)
        seen = seen.put(again, looked)
        enough = looked.value <= value[again] + ARMIJO * t[again] * slope[again]
        moved[again] = enough | _is_flat(some, part, looked, ahead, level[again], slope[again])
    if not moved.all():
        still = np.flatnonzero(~moved)
        there.put(still, model.select(still))
        seen = seen.put(still, found.select(still))
    return there, seen, np.where(moved, t, 0.0)


def has_improved(old: Evaluation, found: Evaluation, before: Model, after: Model) -> Array:
    """Return which models (B,) have a lower objective or a smaller gradient than before.

    The others cannot be improved beyond rounding.
    """
    lower = np.asarray(found.value < old.value)
    return lower if lower.all() else lower | (after.dot(after) < before.dot(before))


def _is_flat(
    objective: Objective,
    model: Model,
    found: Evaluation,
    direction: Model,
    level: Array,
    slope: Array,
) -> Array:
    """Return which models (B,) are so close to a minimum that P is flat within rounding.

    There a good step may not lower the computed value. If the value is below `level`, the slope at
    the new point decides instead. See W. Hager and H. Zhang, A new conjugate gradient method, SIAM
    J. Optim. 2005, (4.1).
    """
    after = _slope(objective, model, found, direction)
    return np.asarray((found.value <= level) & (after <= (2.0 * ARMIJO - 1.0) * slope))


def _rounding(objective: Objective, model: Model, value: Array) -> Array:
    """Return the rounding error of the values (B,), which is larger for features far from zero."""
    parts = objective.recentring(model.n_models).sizes(model).sum(axis=1)
    return ROUNDING * np.abs(value) + np.finfo(np.float64).eps * parts


def _slope(objective: Objective, model: Model, found: Evaluation, direction: Model) -> Array:
    """Return the slope of P at a model along the direction in which it was moved."""
    slope = gradient_at(objective, model, found).dot(direction)
    return slope + objective.penalty.l1_slope(model.W, direction.W)


def find_line_minimum(objective: Objective, model: Model, direction: Model, slope: Array) -> Array:
    """Return roughly the t (B,) in (0, 1) at which the objective of each model is lowest.

    `slope` (B,) is the slope of the objective at t = 0, below 0. The zero of the slope is found by
    false position, modified to converge quickly from both sides (the Illinois algorithm).

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> objective = Objective(Dataset.of([[1.0], [-1.0]], [1, 0]), LOSSES["squared"],
    ...                       ElasticNet(0.0, 0.0), bias=False)
    >>> far = Model(np.array([[[4.0]]]), np.zeros((1, 1)))
    >>> find_line_minimum(objective, Model.zeros(1, 1, 1), far, np.array([-4.0]))
    array([0.25])
    """
    line = _Line(objective, model, direction)
    B = model.n_models
    low, high = np.zeros(B), np.ones(B)
    below, above = slope.copy(), line.slopes(high)
    t, last, flat = np.full(B, 0.5), np.zeros(B), np.zeros(B, bool)
    for _ in range(MAX_MINIMUM_STEPS):
        # False position if both slopes are finite with opposite signs, else a point near the start.
        known = np.isfinite(above) & (above > 0.0)
        guess = low + (high - low) * np.divide(
            -below, above - below, out=np.full(B, 0.5), where=known
        )
        # A model that has converged stays where it is, so it does not depend on the others.
        t = np.where(flat, t, np.where(known, guess, low + 0.1 * (high - low)))
        here = line.slopes(t)
        flat |= np.abs(here) <= SLOPE_REDUCTION * np.abs(slope)
        if flat.all():
            break
        rising = ~(here < 0.0)
        side = np.where(rising, 1.0, -1.0)
        again = side == last
        below = np.where(rising, np.where(again, 0.5 * below, below), here)
        above = np.where(rising, here, np.where(again, 0.5 * above, above))
        low, high = np.where(rising, low, t), np.where(rising, t, high)
        last = side
    return t


class _Line:
    """The objective of each model along its direction."""

    def __init__(self, objective: Objective, model: Model, direction: Model) -> None:
        self.objective, self.model, self.direction = objective, model, direction
        self.scores: tuple[Array, Array] | None = None
        if objective.data.in_one_block:
            X = objective.data.only_block().X
            self.scores = model.scores(X), direction.scores(X)

    def slopes(self, t: Array) -> Array:
        """Return the derivative of the objective (B,) at t (B,)."""
        objective, V = self.objective, self.direction
        there = self.model.plus(V, t)
        total = Model(objective.penalty.gradient(there.W), np.zeros_like(V.b)).dot(V)
        total += objective.penalty.l1_slope(there.W, V.W)
        total += objective.bias_curvature(len(t)) * (there.b * V.b).sum(axis=1)
        (slopes,) = objective.data.sum_over_blocks(
            _slopes, objective.loss, self.model, V, t, self.scores
        )
        return total + slopes * objective.scale(len(t))


def _slopes(
    block: Block,
    loss: Loss,
    model: Model,
    direction: Model,
    t: Array,
    scores: tuple[Array, Array] | None,
) -> tuple[Array]:
    """Return the weighted sum of the slopes of the losses at t; `scores` at 0 and of a step."""
    Z, along = scores or (model.scores(block.X), direction.scores(block.X))
    s = per_model(block.weights)
    U = np.multiply(along, t[:, None], out=np.empty_like(Z))
    U += Z
    U = score_gradient(block, loss, zero_unweighted(U, s))
    U *= along
    return (sum_samples(s * U.sum(axis=2)),)
