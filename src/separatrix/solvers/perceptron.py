"""Rosenblatt's perceptron rule: one example at a time, with an update after every mistake."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.matrix import Array, Matrix
from separatrix.matrix.row_keys import row_keys, scramble
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.optimiser import UniformSolver
from separatrix.solvers.protocol import NO_L1, NO_L2, Need

PERCEPTRON_LOSS = Need(
    "the perceptron loss", lambda loss, l1, l2, one_block: loss.name == "perceptron"
)


@dataclass(frozen=True)
class PerceptronRule(UniformSolver):
    """The `perceptron` solver.

    A positive example with w.x + b < 0 is added to w; a negative one with w.x + b >= 0 is
    subtracted. With several classes the example is added to its class and subtracted from the one
    with the highest score. A model is done after an epoch without a mistake.

    The order of an epoch is random, but it depends on the contents of the rows and not on their
    positions in X, and equal rows are adjacent. So a weight of 2 is the same as repeating the row.
    Several blocks are shown one after the other.

    See F. Rosenblatt, The perceptron, Psychological Review 1958.
    """

    seed: int = 0
    _keys: dict[int, tuple[Matrix, Array]] = field(default_factory=dict, repr=False, compare=False)

    name = "perceptron"
    needs = (PERCEPTRON_LOSS, NO_L1, NO_L2)
    done_reason = "no mistakes"
    descends = False

    def start(self, objective: Objective, model: Model) -> State:
        found = objective.evaluate(model)
        return State(model.copy(), (), found, np.zeros(model.n_models, bool))

    def step(self, objective: Objective, state: State) -> State:
        """Show every example once to every model."""
        model, data = state.model, objective.data
        order = None
        if data.in_one_block:
            order = self.order(data.only_block(), state.epoch + 1)
        mistakes = np.zeros(model.n_models, np.int64)
        scale = objective.scale(model.n_models)
        model, mistakes = data.fold_over_blocks(
            show_rows, (model, mistakes), self.seed, state.epoch + 1, scale, objective.bias, order
        )
        return replace(
            state,
            model=model,
            found=objective.evaluate(model),
            done=mistakes == 0,
            epoch=state.epoch + 1,
            steps=state.steps + 1,
        )

    def order(self, block: Block, epoch: int) -> Array:
        """Return a random order of the rows, by a hash of their contents, the seed and the epoch.

        Rows with equal hashes are ordered by label. The hashes of X are kept.
        """
        X = block.X
        if id(X) not in self._keys:
            self._keys[id(X)] = (X, row_keys(X))
        return _order(block, self._keys[id(X)][1], self.seed, epoch)

    def shared_key(self) -> Hashable:
        return (self.name, self.seed)


def show_rows(
    block: Block,
    number: int,
    state: tuple[Model, Array],
    seed: int,
    epoch: int,
    scale: Array,
    bias: bool,
    order: Array | None,
) -> tuple[Model, Array]:
    """Show every row of a block once to every model; the state also counts the mistakes (B,)."""
    model, mistakes = state
    _core.perceptron_epoch(
        block.X.in_order(),
        block.y,
        block.s,
        scale,
        _order(block, row_keys(block.X), seed, epoch) if order is None else order,
        model.W,
        model.b,
        bias,
        mistakes,
        block.weight_column,
    )
    return model, mistakes


def _order(block: Block, keys: Array, seed: int, epoch: int) -> Array:
    salt = np.random.default_rng((seed, epoch)).integers(2**63, dtype=np.uint64)
    labels = block.y if block.y.ndim == 1 else block.y[:, 0]
    return np.lexsort((labels, scramble(keys ^ salt)))
