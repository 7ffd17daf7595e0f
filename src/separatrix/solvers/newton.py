"""Newton's method, with one pass per iteration for many models.

With g the gradient of the loss and the l2 terms, and H its derivative,

    H p = -g,    w = w + t p,    t as in lbfgs

with recentred features. If H has few unknowns, it is computed and factored. A factor is used for
several steps, corrected by the last changes as in lbfgs, as long as the gradient shrinks quickly;
then it is computed again. If H has many unknowns, p is found by conjugate gradients, as accurately
as the step requires.

With many rows, models that start from zero are first trained on a subsample of the rows.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.matrix import Array, squared_norm
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.penalty import ElasticNet
from separatrix.solver_state import State
from separatrix.solvers.lbfgs_memory import curvature_pairs, direction, forget, remember
from separatrix.solvers.line_search import (
    ensure_descent,
    gradient_at,
    has_improved,
    remove_common_shift,
    search_line,
)
from separatrix.solvers.newton_cg import solve_by_conjugate_gradients
from separatrix.solvers.optimiser import Optimiser
from separatrix.solvers.protocol import CONVEX, NO_L1, SMOOTH

# A factor is kept if the gradient, in its metric, shrinks to this fraction. One that costs few
# multiply-adds, less than the rest of a step, is recomputed sooner.
CONTRACTION, CONTRACTION_OF_FEW, FEW = 0.3, 0.03, 2e6
TINY_HESSIAN = 200  # weights up to which a Hessian costs almost nothing, even with few rows
FALLBACK_HESSIAN = 1000  # most weights of an explicit Hessian after another solver has stalled
NO_FACTOR = -1.0
CHANGES = 5  # number of changes remembered since the factor was computed

# The subsample at the start: the largest spacing of its rows, the fewest rows per unknown and in
# all, and the number of steps on it.
SPARSEST, ROWS_EACH, LEAST_ROWS, FIRST_STEPS = 8, 32, 8192, 4


@dataclass(frozen=True)
class Newton(Optimiser):
    """The `newton` solver.

    Parameters
    ----------
    order : largest number of unknowns of a Hessian that is computed explicitly; larger ones use
        conjugate gradients. Outputs of a loss that is a sum over them count separately.

    See J. Nocedal and S. Wright, Numerical Optimization, 2006, chapters 3 and 7.
    """

    order: int = 600

    name = "newton"
    needs = (SMOOTH, CONVEX, NO_L1)
    done_reason = "no further descent"  # within rounding
    descends = True

    @classmethod
    def for_fallback(cls) -> Newton:
        """Return a solver for larger Hessians: conjugate gradients can be slow after a stall."""
        return cls(order=FALLBACK_HESSIAN)

    def start(self, objective: Objective, model: Model) -> State:
        """Return the first state; its memory has each model's factor and last decrement with it.

        The weights are float64 for every type of X, because the solver converges to many digits.
        """
        model = model.astype(np.float64)
        cold = self._models_at_zero(objective, model)
        # Models that start on the subsample need no gradient here.
        found = objective.evaluate(model, gradient=len(cold) < model.n_models)
        if len(cold):
            found.gradient_norm[cold] = np.nan
        return self._state(objective, model, found)

    def _state(self, objective: Objective, model: Model, found: Evaluation) -> State:
        (d, B, K), m = model.W.shape, _order(objective, model)
        memory = {"norm": np.full(B, np.nan)}
        if m <= self.order:
            memory = {
                "cholesky": np.zeros((B, (d + 1) * K // m, m, m)),
                "decrement": np.full(B, NO_FACTOR),
            }
        return State(model, (), found, np.zeros(B, bool), memory=memory)

    def step(self, objective: Objective, state: State) -> State:
        """Make one iteration: a direction and a step for every model."""
        if state.steps == 0:
            state = self._start_on_subsample(objective, state)
        return self._iterate(objective, state, _contraction(objective, state.model))

    def _iterate(self, objective: Objective, state: State, contraction: float) -> State:
        recentring = objective.recentring(state.model.n_models)
        gradient = recentring.apply_to_gradient(gradient_at(objective, state.model, state.found))
        if "cholesky" in state.memory:
            ahead, state, fresh = _by_factors(objective, state, gradient, contraction)
        else:
            ahead, memory = solve_by_conjugate_gradients(objective, state, gradient)
            state, fresh = replace(state, memory=memory), np.ones(len(state.done), bool)
        remove_common_shift(objective, state.model, ahead)
        slope = ensure_descent(gradient, ahead, gradient)
        way, alone = recentring.undo(ahead), state.model.n_models == 1
        model, found, t = search_line(objective, state.model, state.found, way, slope, scores=alone)
        after = recentring.apply_to_gradient(gradient_at(objective, model, found))
        better = has_improved(state.found, found, gradient, after)
        if "cholesky" in state.memory:
            change, turn = ahead.times(t), after.plus(gradient, -1.0)
            # A step that was shortened or did not improve the model shows that the factor is old.
            decrement = np.where((t < 1.0) | ~better, NO_FACTOR, state.memory["decrement"])
            state = replace(
                state,
                slots=remember(state.slots, change, turn, CHANGES),
                memory=state.memory | {"decrement": decrement},
            )
        return replace(
            state,
            model=model,
            found=found,
            done=~better & fresh,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def _start_on_subsample(self, objective: Objective, state: State) -> State:
        """Train models at zero on a subsample first, and keep the result if its objective is lower.

        The curvature found on the subsample is used for the first steps on all rows.
        """
        cold = self._models_at_zero(objective, state.model)
        if not len(cold):
            return state
        some = objective.select(cold).every(_subsample_step(objective, state.model))
        rough = Objective(some.data, some.loss, _subsample_penalty(some), bias=some.bias)
        zeros = state.model.select(cold)
        part = self._state(rough, zeros, rough.evaluate(zeros))
        for _ in range(FIRST_STEPS):
            part = self._iterate(rough, part, CONTRACTION)
        model, memory = state.model.copy(), state.memory
        model.put(cold, part.model)
        found = objective.evaluate(model, scores=model.n_models == 1)
        memory["cholesky"][cold], memory["decrement"][cold] = part.memory["cholesky"], np.inf
        slots = tuple(_fill_zeros(model, cold, slot) for slot in part.slots)
        worse = ~(found.value < state.found.value)
        if worse.any():
            before = state.model.select(worse)
            model.put(worse, before)
            found = found.put(worse, objective.select(worse).evaluate(before))
            memory["decrement"][worse] = NO_FACTOR
        return replace(state, model=model, found=found, slots=slots, memory=memory)

    def _models_at_zero(self, objective: Objective, model: Model) -> Array:
        """Return the numbers of the models at zero for which a start on a subsample pays."""
        n = objective.data.n_samples
        written = _order(objective, model) <= self.order
        if not written or not objective.data.in_one_block:
            return np.empty(0, int)
        if _subsample_step(objective, model) < 2 or n < LEAST_ROWS:
            return np.empty(0, int)
        return np.flatnonzero(~model.W.any(axis=(0, 2)))

    def shared_key(self) -> Hashable:
        return (self.name, self.order)


def _order(objective: Objective, model: Model) -> int:
    """Return the number of unknowns of each block of a model's Hessian."""
    d, _, K = model.W.shape
    return (d + 1) * (1 if objective.loss.coupling(K) == "none" else K)


def _contraction(objective: Objective, model: Model) -> float:
    """Return the fraction to which a step must shrink the gradient for its factor to be kept."""
    data, m = objective.data, _order(objective, model)
    alike = m // (data.n_features + 1)  # outputs in one block
    entries = data.facts.n_entries / max(data.n_samples, 1)
    pairs = data.n_samples * (entries + 1) ** 2 * alike * (alike + 1) / 4
    blocks = model.n_outputs // alike
    return CONTRACTION_OF_FEW if blocks * (pairs + m**3 / 6) < FEW else CONTRACTION


def _subsample_step(objective: Objective, model: Model) -> int:
    """Return the spacing of the rows in the subsample."""
    unknowns = model.W[:, 0].size + model.n_outputs
    return min(SPARSEST, objective.data.n_samples // (ROWS_EACH * unknowns))


def _fill_zeros(model: Model, some: Array, theirs: Model) -> Model:
    """Return a model with the weights of some models, and zeros for the others."""
    out = Model(np.zeros_like(model.W), np.zeros_like(model.b))
    out.put(some, theirs)
    return out


def _subsample_penalty(objective: Objective) -> ElasticNet:
    """Return the penalty for the subsample: on every weight at least as strong as one more row.

    Otherwise a few rows can make the weight of a rare feature very large.
    """
    data, penalty = objective.data, objective.penalty
    f = np.ones(1) if penalty.factors is None else penalty.factors
    own = np.sqrt(penalty.l2) * f.reshape(len(f), -1)
    least = np.sqrt(_spreads(data) / data.n_samples)[:, None]
    return ElasticNet(0.0, 1.0, np.maximum(own, least), np.sqrt(penalty.bias_curvature))


def _spreads(data: Dataset) -> Array:
    """Return the mean square (d,) of each feature about its mean (of a sparse X, about zero).

    1 for a feature that is constant or whose square overflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        (total,) = data.sum_over_blocks(_spread)
    return np.where((total > 0.0) & np.isfinite(total), total / data.n_samples, 1.0)


def _spread(block: Block) -> tuple[Array]:
    X = block.X
    if X.is_sparse:
        return (len(block.y) * np.full(X.shape[1], squared_norm(X) / max(X.n_entries, 1)),)
    return (len(block.y) * X.X.var(axis=0, dtype=np.float64),)


def _by_factors(
    objective: Objective, state: State, gradient: Model, contraction: float
) -> tuple[Model, State, Array]:
    """Return directions, the state after them, and which models have a new factor."""
    factor, last = state.memory["cholesky"], state.memory["decrement"]
    ahead = direction(gradient, curvature_pairs(state.slots), lambda q: solve_factored(factor, q))
    decrement = -gradient.dot(ahead)
    stale = ~(decrement <= contraction**2 * last)
    slots = state.slots
    if stale.any():
        some = np.flatnonzero(stale)
        every = len(some) == len(factor)
        model = state.model if every else state.model.select(some)
        part = objective if every else objective.select(some)
        scores = state.found.scores if every else None
        H = part.hessian_operator(model, part.recentring(len(some)), scores).matrix()
        _core.cholesky_factor(H.reshape(-1, *H.shape[2:]))
        theirs = gradient if every else gradient.select(some)
        fresh = solve_factored(H, theirs).times(np.full(len(some), -1.0))
        if every:
            ahead, decrement, factor, slots = fresh, -theirs.dot(fresh), H, ()
        else:
            ahead.put(some, fresh)
            decrement[some] = -theirs.dot(fresh)
            factor[some] = H
            slots = forget(slots, stale)
    memory = {"cholesky": factor, "decrement": decrement}
    return ahead, replace(state, slots=slots, memory=memory), stale


def solve_factored(factor: Array, g: Model) -> Model:
    """Return H^-1 g of each model from the factors (B, blocks, m, m) of H."""
    W = np.concatenate([g.W, g.b[None]])
    x = np.ascontiguousarray(W.transpose(1, 2, 0))  # (B, K, d + 1), the order of H
    m = factor.shape[2]
    _core.cholesky_solve(factor.reshape(-1, m, m), x.reshape(-1, m))
    W = x.transpose(2, 0, 1)
    return Model(np.ascontiguousarray(W[:-1]), np.ascontiguousarray(W[-1]))
