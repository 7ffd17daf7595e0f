"""An interior-point method for hinge losses, for many models together.

Every term t = m + z_j - z_y of a hinge has a flow a > 0 and is u > 0 below a bound x > 0. The rest
r = 1 - a (or 1 minus all flows of a row, if the loss counts only its worst term) limits the bound:

    a u = mu,    r x = mu,    u = x - t,    l2 f^2 W = -sum_i s_i/S x_i U_i,    sum_i s_i U_i = 0

where U are the duals of the flows. Newton's method on these equations, with mu decreasing to 0,
converges to the optimum. An iteration costs one Hessian, as for a smooth loss. The number of
iterations depends little on the scales of the features and on C. The duals give the duality gap.

See S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 1992.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.hessian import gram_of, write_hessian
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.hinge_terms import Terms, is_hinge
from separatrix.solvers.newton import solve_factored
from separatrix.solvers.optimiser import Optimiser
from separatrix.solvers.protocol import NO_L1, ROWS_IN_MEMORY, SOME_L2, Need

HINGE = Need("the hinge or the Crammer-Singer loss", lambda loss, l1, l2, one_block: is_hinge(loss))
STEP_REDUCTION = 0.1  # fraction of the distance to the optimum that one step leaves
MAX_ITERATIONS = 8  # in one step
BOUNDARY_FRACTION = 0.995  # fraction of the distance to the nearest bound
SMALLEST_STEP = 1e-6  # step lengths below this are rounding
ROUNDING = 1e-13  # distance to the optimum, relative to the objective, below which is rounding


# The most weights for which computing Hessians pays: if the dual problem is hard, and if dual
# ascent makes almost no progress.
LARGEST_HESSIAN, VERY_LARGE_HESSIAN = 2000, 6000


@dataclass(frozen=True)
class Interior(Optimiser):
    """The `interior` solver: a step iterates until the distance to the optimum is a tenth."""

    name = "interior"
    needs = (HINGE, NO_L1, SOME_L2, ROWS_IN_MEMORY)
    done_reason = "no further descent"  # within rounding
    descends = False

    def start(self, objective: Objective, model: Model) -> State:
        """Return the first state; its memory has flows (B, K, n), rests and bounds of the terms."""
        B, K = model.b.shape
        model = _centred(objective, model.astype(np.float64))
        terms = Terms.of(objective, B, K)
        there = terms.share > 0.0
        flows = np.where(there, 1.0 / (1.0 + terms.sum_bounds(there)), 0.0)
        t = np.where(there, objective.loss.margin + terms.along(model), 0.0)
        highest = t.max(axis=1, keepdims=True) if terms.together else t
        bounds = np.maximum(highest, 0.0) + max(objective.loss.margin, 1.0)
        return State(
            model,
            (),
            objective.evaluate(model),
            np.zeros(B, bool),
            duals=(terms.duals(flows),),
            memory={"flows": flows, "rests": 1.0 - terms.sum_bounds(flows), "bounds": bounds},
        )

    def step(self, objective: Objective, state: State) -> State:
        """Iterate until every model is ten times closer to its optimum."""
        model, done = state.model.copy(), state.done.copy()
        memory = {name: a.copy() for name, a in state.memory.items()}
        running = np.arange(len(done))
        point = _Point(objective, model, **memory)
        goal = STEP_REDUCTION * point.distance()
        for _ in range(MAX_ITERATIONS):
            length = point.advance()
            model.put(running, point.model)
            for name, a in point.memory().items():
                memory[name][running] = a
            distance = point.distance()
            done[running] = (length < SMALLEST_STEP) | (
                distance <= ROUNDING * state.found.value[running]
            )
            on = np.flatnonzero((distance > goal) & ~done[running])
            if not len(on):
                break
            if len(on) < len(running):
                running, goal = running[on], goal[on]
                point = point.select(on)
        return replace(
            state,
            model=model,
            found=objective.evaluate(model),
            done=done,
            duals=(Terms.of(objective, *model.b.shape).duals(memory["flows"]),),
            memory=memory,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def shared_key(self) -> Hashable:
        return self.name


@dataclass(frozen=True)
class _Direction:
    """The change of weights, terms, flows a, distances u, bounds x and rests r."""

    model: Model
    t: Array
    a: Array
    u: Array
    x: Array
    r: Array


class _Point:
    """Weights, flows a and bounds x of some models, and what follows from them."""

    def __init__(
        self, objective: Objective, model: Model, flows: Array, rests: Array, bounds: Array
    ) -> None:
        self.objective, self.model = objective, model
        self.terms = terms = Terms.of(objective, *model.b.shape)
        self.there = terms.share > 0.0
        self.bound = terms.sum_bounds(self.there) > 0.0
        self._put(flows, rests, bounds, objective.loss.margin + terms.along(model))

    def select(self, models: Array) -> _Point:
        """Return the point of some of the models without computing sums again."""
        objective, model = self.objective.select(models), self.model.select(models)
        part = copy(self)
        part.objective, part.model = objective, model
        part.terms = replace(
            self.terms,
            objective=objective,
            share=self.terms.share[models],
            own=self.terms.own[models],
        )
        part.there, part.bound = self.there[models], self.bound[models]
        part._put(*(a[models] for a in (self.a, self.r, self.x, self.t)))
        return part

    def memory(self) -> dict[str, Array]:
        return {"flows": self.a, "rests": self.r, "bounds": self.x}

    def _put(self, a: Array, r: Array, x: Array, t: Array) -> None:
        self.a, self.r, self.x, self.t = a, r, x, t
        self.u = np.where(self.there, x - t, 1.0)

    def distance(self) -> Array:
        """Return the sum of a u and r x (B,), an estimate of the duality gap."""
        return self.terms.weigh(self.a * self.u, self.r * self.x)

    @np.errstate(all="ignore")
    def advance(self) -> Array:
        """Make one iteration and return the length of its step, at most 1 (B,)."""
        a, u, r, x = self.a, self.u, self.r, self.x
        d, d0 = np.where(self.there, a / u, 0.0), np.where(self.bound, r / x, 1.0)
        whole = self.terms.sum_bounds(d) + d0
        factor = self._factor(d, whole)
        gains = (d, d0, whole)
        probe = self._direction(factor, gains, 0.0, 0.0, 0.0)
        far = np.minimum(1.0, self._room(probe))[:, None, None]
        left = self.terms.weigh(
            (a + far * probe.a) * (u + far * probe.u), (r + far * probe.r) * (x + far * probe.x)
        )
        distance = self.distance()
        mean = distance / self.terms.weigh(np.ones_like(a), np.ones_like(r))
        aim = ((left / distance) ** 3 * mean)[:, None, None]
        ahead = self._direction(factor, gains, aim, probe.a * probe.u, probe.r * probe.x)
        length = np.minimum(1.0, BOUNDARY_FRACTION * self._room(ahead))
        far = length[:, None, None]
        moved = [
            old + far * change
            for old, change in ((a, ahead.a), (r, ahead.r), (x, ahead.x), (self.t, ahead.t))
        ]
        # At the very end rounding may spoil H or put a term above its bound. Such models stay
        # where they are.
        fine = np.isfinite(ahead.model.dot(ahead.model)) & (u > 0.0).all(axis=(1, 2))
        fine &= np.all([np.isfinite(new).all(axis=(1, 2)) for new in moved], axis=0)
        kept = fine[:, None, None]
        here, self.model = self.model, self.model.plus(ahead.model, length)
        self.model.put(~fine, here.select(~fine))
        self._put(*(np.where(kept, new, old) for new, old in zip(moved, (a, r, x, self.t))))
        return np.where(fine, length, 0.0)

    def _factor(self, d: Array, whole: Array) -> Array:
        objective, (B, K) = self.objective, self.model.b.shape
        H = write_hessian(
            objective.data,
            objective.penalty,
            objective.bias_curvature(B) if objective.bias else None,
            objective.recentring(B),
            self.model.W.shape,
            K if self.terms.apart else 1,
            lambda some, origin: gram_of(
                objective.data.only_block(), self._some(some).second(d[some], whole[some]), origin
            ),
        )
        _core.cholesky_factor(H.reshape(-1, *H.shape[2:]))
        return H

    def _some(self, models: Array) -> Terms:
        terms = self.terms
        return replace(terms, share=terms.share[models], own=terms.own[models])

    def _direction(
        self,
        factor: Array,
        gains: tuple[Array, Array, Array],
        aim: Array | float,
        of_terms: Array | float,
        of_bounds: Array | float,
    ) -> _Direction:
        """Return Newton's direction for a u = aim - of_terms, r x = aim - of_bounds."""
        terms, (d, d0, whole) = self.terms, gains
        q = (aim - of_terms) / np.where(self.there, self.a, 1.0) - self.u
        q0 = np.where(self.bound, (aim - of_bounds) / self.r - self.x, 0.0)
        x = (terms.sum_bounds(d * q) + d0 * q0) / whole
        a = d * (q - x)
        recentring = self.objective.recentring(self.model.n_models)
        gradient = recentring.apply_to_gradient(self._gradient(self.a + a))
        ahead = solve_factored(factor, gradient).times(np.full(gradient.n_models, -1.0))
        model = recentring.undo(ahead)
        t = terms.along(model)
        lift = terms.sum_bounds(d * t) / whole
        x, a = x + lift, a + d * (t - lift)
        return _Direction(model, t, a, np.where(self.there, x - t, 0.0), x, -terms.sum_bounds(a))

    def _gradient(self, flows: Array) -> Model:
        """Return the residual of the equation that ties the weights to the flows."""
        pull, objective, model = self.terms.pull(flows), self.objective, self.model
        of_bias = objective.bias_curvature(model.n_models)[:, None] * model.b
        W = pull.W + objective.penalty.gradient(model.W)
        return Model(W, (pull.b + of_bias) * objective.bias)

    def _room(self, ahead: _Direction) -> Array:
        """Return the step length (B,) at which the first positive number of a model becomes 0."""
        room = np.full(self.model.n_models, np.inf)
        for there, value, change in (
            (self.there, self.a, ahead.a),
            (self.there, self.u, ahead.u),
            (self.bound, self.r, ahead.r),
            (self.bound, self.x, ahead.x),
        ):
            falls = there & (change < 0.0)
            ends = np.divide(value, -change, out=np.full(value.shape, np.inf), where=falls)
            room = np.minimum(room, ends.min(axis=(1, 2)))
        return room


def _centred(objective: Objective, model: Model) -> Model:
    """Remove the common shift of all outputs, which does not change the loss."""
    if objective.loss.coupling(model.n_outputs) != "differences":
        return model
    b = model.b - model.b.mean(axis=1, keepdims=True) * objective.bias
    return Model(model.W - model.W.mean(axis=2, keepdims=True), b)
