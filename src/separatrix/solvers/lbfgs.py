"""L-BFGS: limited-memory quasi-Newton steps, with one pass per iteration for many models.

Let g be the gradient of the loss and the l2 term, and H an approximation to the inverse Hessian
from the last `memory` changes s = w' - w, y = g' - g. Then

    p = -H g,    w = w + t p,    t = 1, 1/2 or less, ... until P(w + t p) <= P(w) + 1e-4 t g.p

H starts from the inverse of the diagonal of a bound on the Hessian, so features on different scales
need not be standardised. Features far from zero are recentred. Each model has its own step t, and
only models whose step was rejected are evaluated again.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from separatrix.data import Block
from separatrix.matrix import Array, weighted_squares
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.lbfgs_memory import CurvaturePairs, curvature_pairs, direction, remember
from separatrix.solvers.line_search import ensure_descent, gradient_at, has_improved, search_line
from separatrix.solvers.optimiser import Optimiser
from separatrix.solvers.protocol import NO_L1, SMOOTH


@dataclass(frozen=True)
class LBFGS(Optimiser):
    """The `lbfgs` solver.

    Parameters
    ----------
    memory : the number of changes that are remembered

    See J. Nocedal and S. Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5.
    """

    memory: int = 10

    name = "lbfgs"
    needs = (SMOOTH, NO_L1)
    done_reason = "no further descent"  # within rounding
    descends = True

    def start(self, objective: Objective, model: Model) -> State:
        """Return the first state: slot 0 is the diagonal of the bound; then s and y follow."""
        return State(
            model,
            (_diagonal(objective, model),),
            objective.evaluate(model),
            np.zeros(model.n_models, bool),
        )

    def step(self, objective: Objective, state: State) -> State:
        """Make one iteration: a direction and a step for every model."""
        diagonal, pairs = state.slots[0], curvature_pairs(state.slots[1:])
        recentring = objective.recentring(state.model.n_models)
        gradient = recentring.apply_to_gradient(gradient_at(objective, state.model, state.found))
        size = _size(diagonal, pairs)
        ahead = direction(gradient, pairs, lambda q: _divide(q, diagonal).times(size))
        slope = ensure_descent(gradient, ahead, _divide(gradient, diagonal))
        model, found, t = search_line(
            objective, state.model, state.found, recentring.undo(ahead), slope
        )
        after = recentring.apply_to_gradient(gradient_at(objective, model, found))
        change, turn = ahead.times(t.astype(ahead.W.dtype)), after.plus(gradient, -1.0)
        return replace(
            state,
            model=model,
            slots=(diagonal, *remember(state.slots[1:], change, turn, self.memory)),
            found=found,
            done=~has_improved(state.found, found, gradient, after),
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def shared_key(self) -> Hashable:
        return (self.name, self.memory)


def _diagonal(objective: Objective, model: Model) -> Model:
    """Return the diagonal of curvature * X^T diag(s) X / S + l2 f^2, likewise for the bias."""
    curvature = objective.loss.curvature_of(model.n_outputs) or 1.0
    scale = objective.scale(model.n_models)

    total = np.empty(model.W.shape[:2])
    for some, origin in objective.recentring(model.n_models).groups():
        (theirs,) = objective.data.select(some).sum_over_blocks(_squares, origin)
        total[:, some] = theirs * scale[some]
    W = curvature * total[:, :, None]
    W = W + objective.penalty.gradient(np.ones(model.W.shape))
    W = np.where(W > 0.0, W, 1.0)  # the gradient of an empty column is 0 anyway
    b = np.full(model.b.shape, curvature) + objective.bias_curvature(model.n_models)[:, None]
    return Model(W, b)


def _squares(block: Block, origin: Array) -> tuple[Array]:
    return (weighted_squares(block.X, block.weights, origin),)


def _divide(a: Model, by: Model) -> Model:
    return Model(a.W / by.W, a.b / by.b)


def _size(diagonal: Model, pairs: CurvaturePairs) -> Array:
    """Return s.y / y.D^-1 y of the last change: the factor by which D overestimates curvature."""
    size = np.ones(diagonal.n_models)
    for s, y in pairs:
        product, weighed = s.dot(y), y.dot(_divide(y, diagonal))
        known = (product > 0.0) & (weighed > 0.0)
        size = np.where(known, product / np.where(known, weighed, 1.0), size)
    return size
