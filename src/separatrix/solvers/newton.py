"""Newton's method, for many models in one pass an iteration.

With g the gradient of the loss and the l2 terms, and H its derivative,

    H p = -g,    w = w + t p,    t as for lbfgs

with recentred features. Where H has few unknowns it is written out and factored.
The factor serves for several steps, with what they say about the curvature put right as in lbfgs,
for as long as the gradient shrinks well; then the model gets a new one. Where H has many unknowns,
p is found by conjugate gradients, as exactly as the step is worth.

Models that start from zero, on many rows, first learn from a part of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.data import Dataset
from separatrix.matrix import Array, Matrix, squared_norm
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

# Of the gradient, in the factor's metric: with less gain the factor is too old. One that takes few
# multiply-adds, less than what else is done in a step, is made anew sooner.
CONTRACTION, CONTRACTION_OF_FEW, FEW = 0.3, 0.03, 2e6
TINY_HESSIAN = 200  # weights up to which a Hessian costs next to nothing, however few the rows
FALLBACK_HESSIAN = 1000  # the most weights of a Hessian that is written out after a stall
NO_FACTOR = -1.0
CHANGES = 5  # remembered since the factor was made

# A start on a part of the rows: every how many at most, how many for each unknown at least, and
# after how many steps it is as good as it can be.
SPARSEST, ROWS_EACH, LEAST_ROWS, FIRST_STEPS = 8, 32, 8192, 4


@dataclass(frozen=True)
class Newton(Optimiser):
    """The `newton` solver.

    Parameters
    ----------
    order : the most unknowns of a Hessian that is written out; those with more go by conjugate
        gradients. The outputs of losses that are sums over them count apart.

    See J. Nocedal and S. Wright, Numerical Optimization, 2006, chapters 3 and 7.
    """

    order: int = 600

    name = "newton"
    needs = (SMOOTH, CONVEX, NO_L1)
    done_reason = "no further descent"  # to the precision of the numbers
    descends = True

    @classmethod
    def for_fallback(cls) -> Newton:
        """Larger Hessians than usual: conjugate gradients can be slow where others have stalled."""
        return cls(order=FALLBACK_HESSIAN)

    def start(self, objective: Objective, model: Model) -> State:
        """The memory of each model: its factor, and the decrement of the last step with it.

        Whatever the type of X, the weights are float64: near the optimum it is their digits that
        count.
        """
        model = model.astype(np.float64)
        cold = self._models_at_zero(objective, model)
        # Models moved by the subsample start need no gradient here.
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
        """One iteration: a direction and a step for every model."""
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
            # A step that had to be shortened, or led nowhere, speaks against the factor.
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
        """Models that stand at zero go to where a part of the rows would have them, if it is lower.

        What the part has taught them of the curvature serves for the first steps on all rows.
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
        """The numbers of the models at zero weights, where a start on a subsample pays."""
        n = objective.data.n_samples
        written = _order(objective, model) <= self.order
        if not written or _subsample_step(objective, model) < 2 or n < LEAST_ROWS:
            return np.empty(0, int)
        return np.flatnonzero(~model.W.any(axis=(0, 2)))

    def shared_key(self) -> Hashable:
        return (self.name, self.order)


def _order(objective: Objective, model: Model) -> int:
    """How many unknowns each block of a model's Hessian has."""
    d, _, K = model.W.shape
    return (d + 1) * (1 if objective.loss.coupling(K) == "none" else K)


def _contraction(objective: Objective, model: Model) -> float:
    """What a step must make of the gradient for its factor to be kept."""
    data, m = objective.data, _order(objective, model)
    alike = m // (data.n_features + 1)  # outputs in one block
    entries = sum(block.X.n_entries for block in data.blocks()) / max(data.n_samples, 1)
    pairs = data.n_samples * (entries + 1) ** 2 * alike * (alike + 1) / 4
    blocks = model.n_outputs // alike
    return CONTRACTION_OF_FEW if blocks * (pairs + m**3 / 6) < FEW else CONTRACTION


def _subsample_step(objective: Objective, model: Model) -> int:
    """Every how many rows the subsample of the start takes one."""
    unknowns = model.W[:, 0].size + model.n_outputs
    return min(SPARSEST, objective.data.n_samples // (ROWS_EACH * unknowns))


def _fill_zeros(model: Model, some: Array, theirs: Model) -> Model:
    """What some of the models hold, with zeros for the others."""
    out = Model(np.zeros_like(model.W), np.zeros_like(model.b))
    out.put(some, theirs)
    return out


def _subsample_penalty(objective: Objective) -> ElasticNet:
    """A penalty on every weight that is at least as strong as one more row.

    A few rows can drive the weight of a rare feature very far.
    """
    data, penalty = objective.data, objective.penalty
    f = np.ones(1) if penalty.factors is None else penalty.factors
    own = np.sqrt(penalty.l2) * f.reshape(len(f), -1)
    least = np.sqrt(_spreads(data) / data.n_samples)[:, None]
    return ElasticNet(0.0, 1.0, np.maximum(own, least), np.sqrt(penalty.bias_curvature))


def _spreads(data: Dataset) -> Array:
    """The mean square (d,) of each feature about its mean; if sparse, of all entries about zero.

    1 for a feature that does not vary, or beyond what numbers can hold.
    """

    def spread(X: Matrix) -> Array:
        if X.is_sparse:
            return np.full(X.shape[1], squared_norm(X) / max(X.n_entries, 1))
        return X.X.var(axis=0, dtype=np.float64)

    with np.errstate(over="ignore", invalid="ignore"):
        (total,) = data.sum_over_blocks(lambda block: (len(block.y) * spread(block.X),))
    return np.where((total > 0.0) & np.isfinite(total), total / data.n_samples, 1.0)


def _by_factors(
    objective: Objective, state: State, gradient: Model, contraction: float
) -> tuple[Model, State, Array]:
    """Directions, the state after them, and which models have a factor of this very point."""
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
        scores = state.found.scores if every else ()
        H = part.hessian_operator(model, part.recentring(len(some)), scores).matrix()
        _core.cholesky_factor(H.reshape(-1, *H.shape[2:]))
        fresh = solve_factored(H, gradient.select(some)).times(np.full(len(some), -1.0))
        ahead.put(some, fresh)
        decrement[some] = -gradient.select(some).dot(fresh)
        if every:
            factor, slots = H, ()
        else:
            factor[some] = H
            slots = forget(slots, stale)
    memory = {"cholesky": factor, "decrement": decrement}
    return ahead, replace(state, slots=slots, memory=memory), stale


def solve_factored(factor: Array, g: Model) -> Model:
    """H^-1 g of each model, by the factors (B, blocks, m, m) of H."""
    W = np.concatenate([g.W, g.b[None]])
    x = np.ascontiguousarray(W.transpose(1, 2, 0))  # (B, K, d + 1), the order of H
    m = factor.shape[2]
    _core.cholesky_solve(factor.reshape(-1, m, m), x.reshape(-1, m))
    W = x.transpose(2, 0, 1)
    return Model(np.ascontiguousarray(W[:-1]), np.ascontiguousarray(W[-1]))
