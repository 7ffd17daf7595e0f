"""What a solver declares, and what the training loop needs from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.verdict.trace import StepSize


class Need(NamedTuple):
    """A requirement of a solver: its words in an error, and its test.

    The test gets the loss, l1, l2 and whether all rows are in one block in memory.
    """

    words: str
    is_met: Callable[[Loss, float, float, bool], bool]


SMOOTH = Need("a smooth loss", lambda loss, l1, l2, one_block: loss.smooth)
CONVEX = Need("a convex loss", lambda loss, l1, l2, one_block: loss.convex)
COMPILED = Need("a compiled loss, one of LOSSES", lambda loss, l1, l2, one_block: loss.compiled)
NO_L1 = Need("l1 = 0", lambda loss, l1, l2, one_block: l1 == 0.0)
NO_L2 = Need("l2 = 0", lambda loss, l1, l2, one_block: l2 == 0.0)
SOME_L2 = Need("l2 > 0", lambda loss, l1, l2, one_block: l2 > 0.0)
ROWS_IN_MEMORY = Need("all rows in one block in memory", lambda loss, l1, l2, one_block: one_block)


class Solver(ABC):
    """A way to improve all models of a batch, one epoch at a time.

    `needs` are its requirements on the loss, the penalty and the data, most important first.
    `done_reason` is the stop reason that the solver itself can give. `descends` says whether the
    objective should fall in every epoch, so that a rise is a symptom. Models whose solvers have
    equal `shared_key` can share a batch, whose solver `join` makes. If their `own_key` is equal
    too, the models take the same path. A step may change the model of its state in place, but never
    the model given to `start`: a solver that works in place copies it there.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    done_reason: ClassVar[str]
    descends: bool

    @abstractmethod
    def start(self, objective: Objective, model: Model) -> State:
        """Return the state before the first epoch."""

    @abstractmethod
    def step(self, objective: Objective, state: State) -> State:
        """Return the state after one more epoch of every model."""

    def place(self, objective: Objective, model: Model) -> Model:
        """Return a model of a state where the steps keep it: here on the host, on no device."""
        return model

    def lower_rates(self, state: State, waited: Array) -> Array:
        """Lower the rates of models that have waited (B,) in vain; return which continue so."""
        return np.zeros(len(waited), bool)

    @abstractmethod
    def shared_key(self) -> Hashable:
        """Return the settings that all models of a batch must share."""

    @abstractmethod
    def own_key(self) -> Hashable:
        """Return the settings that each model may have for itself."""

    @abstractmethod
    def join(self, solvers: Sequence[Self]) -> Self:
        """Return the solver of a batch, given the solvers of its models."""

    @abstractmethod
    def select(self, models: Array) -> Self:
        """Return the solver of some models of the batch (numbers)."""

    @abstractmethod
    def step_size(self, model: int, epoch: int) -> StepSize | None:
        """Return the step size of a model in an epoch, if there is one that can be too large."""


def epoch_order(seed: int, epoch: int, block: int, n_samples: int) -> Array:
    """Return the order of the rows of a block in an epoch: the same for every model of a batch.

    >>> epoch_order(0, 1, 0, 4).tolist() == epoch_order(0, 1, 0, 4).tolist()
    True
    """
    return np.random.default_rng((seed, epoch, block)).permutation(n_samples)
