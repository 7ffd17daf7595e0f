"""What the loop asks of a solver."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, Self

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.state import State
from separatrix.verdict.trace import StepSize


class Solver(Protocol):
    """A way to improve all models of a batch, one epoch at a time.

    `needs` says what it demands of loss, penalty and data; `done_reason` names its own end;
    `descends` says whether it follows the objective down, so that a rise tells something. Models
    whose solvers have equal `shared_key` can be one batch, for the solver that `join` makes of
    them; models with equal `own_key` besides take the same path. A step may change the model of its
    state in place, but nobody may change the model that `start` was given: a solver whose steps
    work in place copies it there.
    """

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> frozenset[str]: ...
    @property
    def done_reason(self) -> str: ...
    @property
    def descends(self) -> bool: ...

    def start(self, objective: Objective, model: Model) -> State: ...
    def step(self, objective: Objective, state: State) -> State: ...
    def select(self, models: Array) -> Solver: ...
    def step_size(self, model: int, epoch: int) -> StepSize | None: ...
    def shared_key(self) -> Hashable: ...
    def own_key(self) -> Hashable: ...
    def join(self, solvers: Sequence[Self]) -> Self: ...


def epoch_order(seed: int, epoch: int, block: int, n_samples: int) -> Array:
    """The order of the rows of a block in an epoch: the same for every model of a batch.

    >>> epoch_order(0, 1, 0, 4).tolist() == epoch_order(0, 1, 0, 4).tolist()
    True
    """
    return np.random.default_rng((seed, epoch, block)).permutation(n_samples)
