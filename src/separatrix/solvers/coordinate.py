"""Proximal Newton steps by coordinate descent, for L1, elastic net, L2 and no penalty.

At a point w with gradient g of the loss and Hessian H, the way p to the minimum of

    g.p + p.H p / 2 + l1 |f (w + p)|_1 + l2/2 |f (w + p)|^2

is found by steps of one coordinate after the other, over the weights that are not 0 and those whose
slope exceeds l1 f; then w = w + t p, with t = 1 or shorter, until P falls enough. Every model of a
batch has its own quadratic, solved on one thread; the passes over X are shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import separatrix._core as _core
from separatrix.arrays import Array
from separatrix.data import Block
from separatrix.losses import OneVsRest
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.solvers.protocol import State

ARMIJO = 1e-4
TRIES = 40
ROUNDING = 1e-13
ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Coordinate:
    """The `coordinate` solver.

    Parameters
    ----------
    explicit : up to how many coordinates of one quadratic, (d + 1) K where the outputs are coupled
        and d + 1 otherwise, the Hessian is made; above, it is applied by the columns of X

    See J. Lee, Y. Sun and M. Saunders, Proximal Newton-type methods for minimizing composite
    functions, SIAM J. Optim. 2014, algorithm 1.
    """

    explicit: int = 500

    name = "coordinate"
    needs: frozenset[str] = frozenset({"smooth", "convex", "compiled"})
    done_reason = "no further descent"  # to the precision of the numbers
    descends = True

    def start(self, objective: Objective, model: Model) -> State:
        """Nothing is remembered from step to step."""
        _only_block(objective)
        return State(model, (), objective.evaluate(model), np.zeros(model.n_models, bool))

    def step(self, objective: Objective, state: State) -> State:
        """One quadratic for every model, and a step towards its minimum."""
        direction, fall = self._direction(objective, state)
        model, found, moved = _search(objective, state, direction, fall)
        return replace(
            state,
            model=model,
            found=found,
            done=~moved,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def _direction(self, objective: Objective, state: State) -> tuple[Model, Array]:
        """The way to the minimum of each quadratic, and how much P falls along it at first."""
        B, K = state.model.b.shape
        block = _only_block(objective)
        d = block.X.shape[1]
        apart = isinstance(objective.loss, OneVsRest)
        explicit = (d + 1) * (1 if apart else K) <= self.explicit
        direction = Model.zeros(d, B, K)
        fall = np.zeros(B)
        pairs = K if apart else K * (K + 1) // 2
        size = max(block.X.shape[0] * (pairs if explicit else K), (d + 1) ** 2 * pairs * explicit)
        at_once = max(ENTRIES_AT_ONCE // size, 2)
        for first in range(0, B, at_once):
            some = np.arange(first, min(first + at_once, B))
            part, fall[some] = _solve(objective.select(some), state.select(some), explicit)
            direction.put(some, part)
        return direction.astype(state.model.W.dtype), fall

    def select(self, models: Array) -> Coordinate:
        return self

    def shared_key(self) -> Hashable:
        return (self.name, self.explicit)

    def own_key(self) -> Hashable:
        return None

    def join(self, solvers: Sequence[Coordinate]) -> Coordinate:
        return self

    def pace(self, model: int, epoch: int) -> None:
        """There is no rate to be too large."""


def _only_block(objective: Objective) -> Block:
    blocks = list(objective.data.blocks())
    if len(blocks) != 1:
        raise ValueError(
            "Solver 'coordinate' needs all rows in one block, since it reads X by columns. "
            f"Got {len(blocks)} blocks. Use lbfgs or gradient, or put the rows together."
        )
    return blocks[0]


def _solve(objective: Objective, state: State, explicit: bool) -> tuple[Model, Array]:
    """Minimise the quadratics of some models."""
    model, found = state.model.astype(np.float64), state.found
    block, loss = _only_block(objective), objective.loss
    B, K = model.b.shape
    U = objective.loss_gradient(block, model)
    labels = block.y, block.s, objective.scale(B), loss.kernel
    H = block.X.gram(_core.curvature(*labels, U)) if explicit else None
    l1, l2 = objective.strengths(B)
    way, fall = Model.zeros(*model.W.shape), np.zeros((B, K))
    _core.coordinate_step(
        block.X.by_sample() if explicit else block.X.by_both(),
        *labels,
        U,
        H,
        model.W,
        model.b,
        found.GW.astype(np.float64),
        found.gb.astype(np.float64),
        found.value,
        l1,
        l2,
        np.zeros(B),
        objective.factors(model),
        objective.bias,
        way.W,
        way.b,
        fall,
    )
    return way, fall.sum(axis=1)


def _search(
    objective: Objective, state: State, direction: Model, slope: Array
) -> tuple[Model, Evaluation, Array]:
    """Shorten each model's step until the objective falls enough; say which models moved."""
    value, norm = state.found.value, state.found.gradient_norm
    t = np.ones(len(value))
    model = state.model.plus(direction)
    found = objective.evaluate(model)
    moved = _enough(found, value, norm, t * slope)
    for _ in range(TRIES):
        again = np.flatnonzero(~moved & (slope < 0.0))
        if not len(again):
            break
        high = np.where(np.isfinite(found.value[again]), found.value[again], np.inf)
        fall = t[again] * slope[again]
        best = -0.5 * fall / (high - value[again] - fall) * t[again]
        t[again] = np.clip(best, 0.1 * t[again], 0.5 * t[again])
        part = state.model.select(again).plus(direction.select(again), t[again])
        seen = objective.select(again).evaluate(part)
        model.put(again, part)
        found = found.put(again, seen)
        moved[again] = _enough(seen, value[again], norm[again], t[again] * slope[again])
    still = np.flatnonzero(~moved)
    if len(still):
        model.put(still, state.model.select(still))
        found = found.put(still, state.found.select(still))
    return model, found, moved


def _enough(found: Evaluation, value: Array, norm: Array, fall: Array) -> Array:
    falls = found.value <= value + ARMIJO * fall
    level = found.value <= value + ROUNDING * np.abs(value)
    return np.asarray((falls & (fall < 0.0)) | (level & (found.gradient_norm < norm)))
