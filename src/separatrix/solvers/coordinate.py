"""Proximal Newton steps by coordinate descent, for L1, elastic net, L2 and no penalty.

Let g be the gradient of the loss and the l2 terms at w, and H its derivative. The direction p
minimises

    g.p + p.H p / 2 + l1 |f (w + p)|_1

by coordinate descent over the weights that are not 0 and those whose slope exceeds l1 f. If that
is slow, linear systems over the weights that are not 0 are solved instead. Then w = w + t p, with t
as in lbfgs. Every model of a batch has its own quadratic, solved on one thread; the passes over X
are shared. The features are recentred.

With several blocks of rows, H is always computed explicitly, by one pass per step.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.errors import ParameterError
from separatrix.loss_sums import loss_gradient
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.line_search import gradient_at, remove_common_shift, search_line
from separatrix.solvers.optimiser import Optimiser
from separatrix.solvers.protocol import COMPILED, CONVEX, SMOOTH

LARGEST_HESSIAN = 2000  # unknowns of an explicit Hessian if the rows are in several blocks
NUMBERS_AT_ONCE = 1 << 24  # of scores and Hessians in memory; models are solved in groups
# Smallest second derivative of a row: without it, a model far from the optimum would step to
# infinity. It is relative to an objective below 1, whose rows may all have tiny derivatives.
LEAST_CURVATURE = 1e-8


@dataclass(frozen=True)
class Coordinate(Optimiser):
    """The `coordinate` solver.

    Parameters
    ----------
    order : largest number of unknowns of a Hessian that is computed explicitly. It is applied by
        the columns of X if there are more unknowns, or fewer scores than unknowns. Outputs of a
        loss that is a sum over them count separately.

    See J. Lee, Y. Sun and M. Saunders, Proximal Newton-type methods for minimizing composite
    functions, SIAM J. Optim. 2014, algorithm 1.
    """

    order: int = 600

    name = "coordinate"
    needs = (SMOOTH, CONVEX, COMPILED)
    done_reason = "no further descent"  # within rounding
    descends = True

    def start(self, objective: Objective, model: Model) -> State:
        """Return the first state. The solver has no memory; the weights are float64."""
        model = model.astype(np.float64)
        self._require_small_hessian(objective, model)
        return State(model, (), objective.evaluate(model), np.zeros(model.n_models, bool))

    def step(self, objective: Objective, state: State) -> State:
        """Solve one quadratic for every model and step towards its minimum."""
        old = state.found
        direction, fall = self._direction(objective, state)
        remove_common_shift(objective, state.model, direction)
        model, found, t = search_line(objective, state.model, old, direction, fall)
        gained = (found.value < old.value) | (found.gradient_norm < old.gradient_norm)
        return replace(
            state,
            model=model,
            found=found,
            done=(t == 0.0) | ~gained,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def _direction(self, objective: Objective, state: State) -> tuple[Model, Array]:
        """Return the direction to each quadratic's minimum, and the fall of P along it (B,)."""
        d, B, K = state.model.W.shape
        n_blocks, order = _hessian_blocks(objective, state.model)
        # With fewer scores than unknowns the Hessian is singular, and its exact minimum is slow.
        scores = objective.data.n_samples * K // n_blocks
        written_out = order <= min(self.order, scores) or not objective.data.in_one_block
        size = n_blocks * order**2 if written_out else objective.data.n_samples * K
        group = max(1, NUMBERS_AT_ONCE // max(size, 1))
        if group >= B:
            return _solve(objective, state, written_out)
        direction, fall = Model.zeros(d, B, K), np.zeros(B)
        for first in range(0, B, group):
            some = np.arange(first, min(first + group, B))
            part, fall[some] = _solve(objective.select(some), state.select(some), written_out)
            direction.put(some, part)
        return direction, fall

    def _require_small_hessian(self, objective: Objective, model: Model) -> None:
        _, order = _hessian_blocks(objective, model)
        if objective.data.in_one_block or order <= max(self.order, LARGEST_HESSIAN):
            return
        lengths = objective.data.facts.lengths
        raise ParameterError(
            f"Solver 'coordinate' needs all rows in one block in memory for Hessians of more than "
            f"{LARGEST_HESSIAN:,} unknowns. The data has {len(lengths):,} blocks, and the Hessian "
            f"{order:,} unknowns. Use fewer features, no L1 penalty (then lbfgs and newton find "
            "the optimum), or the solver gradient.",
            parameter="solver",
        )

    def shared_key(self) -> Hashable:
        return (self.name, self.order)


def _hessian_blocks(objective: Objective, model: Model) -> tuple[int, int]:
    """Return the number of blocks of each model's Hessian, and the unknowns of each."""
    d, _, K = model.W.shape
    n_blocks = K if objective.loss.coupling(K) == "none" else 1
    return n_blocks, (d + 1) * K // n_blocks


def _solve(objective: Objective, state: State, written_out: bool) -> tuple[Model, Array]:
    """Minimise the quadratics of some models."""
    recentring = objective.recentring(state.model.n_models)
    model = recentring.apply(state.model)
    gradient = recentring.apply_to_gradient(gradient_at(objective, state.model, state.found))
    l1, l2 = objective.strengths(model.n_models)
    least = LEAST_CURVATURE * np.minimum(state.found.value, 1.0)
    way, fall = Model.zeros(*model.W.shape), np.zeros(model.b.shape)
    at = _core.CoordinateStep(
        model.W,
        model.b,
        gradient.W,
        gradient.b,
        state.found.value,
        l1,
        l2,
        objective.bias_curvature(model.n_models),
        objective.factors(model),
        objective.bias,
        way.W,
        way.b,
        fall,
    )
    if written_out:
        at.by_hessian(objective.hessian_operator(state.model, recentring).matrix(least))
    else:
        block, scale = objective.data.only_block(), objective.scale(model.n_models)
        if objective.loss.coupling(model.n_outputs) == "none":
            rows = objective.hessian_operator(state.model).of_rows(least)
        else:
            rows = loss_gradient(block, objective.loss, state.model)
        at.by_columns(
            block.X.by_both(),
            block.y,
            block.s,
            scale,
            objective.loss.native_code,
            rows,
            least,
            recentring.origin,
            block.weight_column,
        )
    return recentring.undo(way), fall.sum(axis=1)
