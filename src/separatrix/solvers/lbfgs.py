"""Limited-memory quasi-Newton steps, for many models in one pass an iteration.

With g the gradient of the loss and the l2 term, and H an approximation to the inverse Hessian made
of the last `memory` changes s = w' - w, y = g' - g,

    p = -H g,    w = w + t p,    t = 1, 1/2 or less, ... until P(w + t p) <= P(w) + 1e-4 t g.p

H starts from the inverse of the diagonal of a bound on the Hessian, so that features on different
scales need no standardising. Each model has its own step t; only models whose step was refused are
looked at again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.arrays import Array
from separatrix.data import Block
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.solvers.protocol import State

ARMIJO = 1e-4
TRIES = 40
ROUNDING = 1e-13  # values closer than this cannot be told apart
CURVED = 1e-12  # below this cosine, s and y say nothing about the curvature


@dataclass(frozen=True)
class LBFGS:
    """The `lbfgs` solver.

    Parameters
    ----------
    memory : how many changes are remembered

    See J. Nocedal and S. Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5.
    """

    memory: int = 10

    name = "lbfgs"
    needs: frozenset[str] = frozenset({"smooth", "l1=0"})
    done_reason = "no further descent"  # to the precision of the numbers
    descends = True

    def start(self, objective: Objective, model: Model) -> State:
        """The first slot is the diagonal of the bound, then come s and y of every change."""
        return State(
            model,
            (_diagonal(objective, model),),
            objective.evaluate(model),
            np.zeros(model.n_models, bool),
        )

    def step(self, objective: Objective, state: State) -> State:
        """One iteration: a direction and a step for every model."""
        gradient = _gradient(objective, state.model, state.found)
        direction = _direction(gradient, state.slots)
        slope = gradient.dot(direction)
        # Where rounding or a bad memory has spoilt the direction, go straight down instead.
        spoilt = ~(slope < 0.0)
        if spoilt.any():
            down = _divide(gradient, state.slots[0]).times(np.full(len(slope), -1.0))
            direction.put(spoilt, down.select(spoilt))
            slope = gradient.dot(direction)
        model, found, moved = _search(objective, state, direction, slope)
        change = model.plus(state.model, -1.0)
        turn = _gradient(objective, model, found).plus(gradient, -1.0)
        slots = (*state.slots, *_curved(change, turn))
        if len(slots) > 1 + 2 * self.memory:
            slots = (slots[0], *slots[3:])
        return replace(
            state,
            model=model,
            slots=slots,
            found=found,
            done=~moved,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def select(self, models: Array) -> LBFGS:
        return self

    def shared_key(self) -> Hashable:
        return (self.name, self.memory)

    def own_key(self) -> Hashable:
        return None

    def join(self, solvers: Sequence[LBFGS]) -> LBFGS:
        return self

    def pace(self, model: int, epoch: int) -> None:
        """There is no rate to be too large."""


def _gradient(objective: Objective, model: Model, found: Evaluation) -> Model:
    return Model(found.GW + objective.penalty.gradient(model.W), found.gb)


def _diagonal(objective: Objective, model: Model) -> Model:
    """The diagonal of curvature * X^T diag(s) X / S + l2 f^2, and of the same for the bias."""
    curvature = objective.loss.curvature_of(model.n_outputs) or 1.0
    scale = objective.scale(model.n_models)

    def squares(block: Block) -> tuple[Array]:
        return (block.X.squares(block.weights),)

    (total,) = objective.data.sum_over_blocks(squares)
    W = curvature * np.broadcast_to(total * scale, model.W.shape[:2])[:, :, None]
    W = W + objective.penalty.gradient(np.ones(model.W.shape))
    W = np.where(W > 0.0, W, 1.0)  # an empty column has no gradient either
    b = np.full(model.b.shape, curvature) + objective.bias_curvature(model.n_models)[:, None]
    return Model(W, b)


def _divide(a: Model, by: Model) -> Model:
    return Model(a.W / by.W, a.b / by.b)


def _direction(gradient: Model, slots: tuple[Model, ...]) -> Model:
    """-H g by the two loops over the remembered changes; a change of zeros counts for nothing."""
    pairs = list(zip(slots[1::2], slots[2::2]))
    products = [s.dot(y) for s, y in pairs]
    inverse = [np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0) for p in products]
    q, taken = gradient, []
    for (s, y), rho in zip(reversed(pairs), reversed(inverse)):
        alpha = rho * s.dot(q)
        taken.append(alpha)
        q = q.plus(y, -alpha)
    q = _divide(q, slots[0]).times(_size(slots[0], pairs, products))
    for (s, y), rho, alpha in zip(pairs, inverse, reversed(taken)):
        q = q.plus(s, alpha - rho * y.dot(q))
    return q.times(np.full(gradient.n_models, -1.0))


def _size(diagonal: Model, pairs: list[tuple[Model, Model]], products: list[Array]) -> Array:
    """s.y / y.D^-1 y of the last change that counts: how far D overrates the curvature."""
    size = np.ones(diagonal.n_models)
    for (_, y), product in zip(pairs, products):
        weighed = y.dot(_divide(y, diagonal))
        known = (product > 0.0) & (weighed > 0.0)
        size = np.where(known, product / np.where(known, weighed, 1.0), size)
    return size


def _search(
    objective: Objective, state: State, direction: Model, slope: Array
) -> tuple[Model, Evaluation, Array]:
    """Shorten each model's step until the objective falls enough; say which models moved."""
    value = state.found.value
    t = np.ones(len(value))
    model = state.model.plus(direction)
    found = objective.evaluate(model)
    moved = _enough(objective, model, found, direction, value, t, slope)
    for _ in range(TRIES):
        if moved.all():
            break
        again = np.flatnonzero(~moved)
        high = np.where(np.isfinite(found.value[again]), found.value[again], np.inf)
        # The minimum of the parabola through the value, the slope and the refused value.
        fall = t[again] * slope[again]
        best = -0.5 * fall / (high - value[again] - fall) * t[again]
        t[again] = np.clip(best, 0.1 * t[again], 0.5 * t[again])
        part = state.model.select(again).plus(direction.select(again), t[again])
        part_objective = objective.select(again)
        seen = part_objective.evaluate(part)
        model.put(again, part)
        found = found.put(again, seen)
        moved[again] = _enough(
            part_objective,
            part,
            seen,
            direction.select(again),
            value[again],
            t[again],
            slope[again],
        )
    if not moved.all():
        still = np.flatnonzero(~moved)
        model.put(still, state.model.select(still))
        found = found.put(still, state.found.select(still))
    return model, found, moved


def _enough(
    objective: Objective,
    model: Model,
    found: Evaluation,
    direction: Model,
    value: Array,
    t: Array,
    slope: Array,
) -> Array:
    """Whether the objective fell enough (Armijo).

    Near the optimum the fall is lost in the rounding of the values; then the slope at the new point
    decides. See W. Hager and H. Zhang, A new conjugate gradient method, SIAM J. Optim. 2005, (4.1).
    """
    falls = found.value <= value + ARMIJO * t * slope
    level = found.value <= value + ROUNDING * np.abs(value)
    after = _gradient(objective, model, found).dot(direction)
    return np.asarray(falls | (level & (after <= (2.0 * ARMIJO - 1.0) * slope)))


def _curved(change: Model, turn: Model) -> tuple[Model, Model]:
    """s and y, both zero for models in which they do not show a positive curvature."""
    product = change.dot(turn)
    size = np.sqrt(change.dot(change) * turn.dot(turn))
    good = (product > CURVED * size).astype(np.float64)
    return change.times(good), turn.times(good)
