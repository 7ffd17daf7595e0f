"""What a solver declares, and what the training loop asks of it."""

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
    """What a solver needs of a loss and of l1 and l2: in the words of a refusal, and as a test."""

    words: str
    is_met: Callable[[Loss, float, float], bool]


SMOOTH = Need("a smooth loss", lambda loss, l1, l2: loss.smooth)
CONVEX = Need("a convex loss", lambda loss, l1, l2: loss.convex)
COMPILED = Need("a compiled loss, one of LOSSES", lambda loss, l1, l2: loss.compiled)
NO_L1 = Need("l1 = 0", lambda loss, l1, l2: l1 == 0.0)
NO_L2 = Need("l2 = 0", lambda loss, l1, l2: l2 == 0.0)
SOME_L2 = Need("l2 > 0", lambda loss, l1, l2: l2 > 0.0)


class Solver(ABC):
    """A way to improve all models of a batch, one epoch at a time.

    `needs` says what it demands of loss and penalty, the first to be named first; `done_reason`
    names its own end; `descends` says whether it follows the objective down, so that a rise tells
    something. Models whose solvers have equal `shared_key` can be one batch, for the solver that
    `join` makes of them; models with equal `own_key` besides take the same path. A step may change
    the model of its state in place, but nobody may change the model that `start` was given: a
    solver whose steps work in place copies it there.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    done_reason: ClassVar[str]
    descends: ClassVar[bool]

    @abstractmethod
    def start(self, objective: Objective, model: Model) -> State:
        """The state before the first epoch."""

    @abstractmethod
    def step(self, objective: Objective, state: State) -> State:
        """The state after one more epoch of every model."""

    @abstractmethod
    def shared_key(self) -> Hashable:
        """What the models of a batch must have in common."""

    @abstractmethod
    def own_key(self) -> Hashable:
        """What a model may have for itself."""

    @abstractmethod
    def join(self, solvers: Sequence[Self]) -> Self:
        """The solver of a batch, from those of its models."""

    @abstractmethod
    def select(self, models: Array) -> Self:
        """The solver of some models of the batch (numbers)."""

    @abstractmethod
    def step_size(self, model: int, epoch: int) -> StepSize | None:
        """The step size of a model in an epoch, where there is one that can be too large."""


def epoch_order(seed: int, epoch: int, block: int, n_samples: int) -> Array:
    """The order of the rows of a block in an epoch: the same for every model of a batch.

    >>> epoch_order(0, 1, 0, 4).tolist() == epoch_order(0, 1, 0, 4).tolist()
    True
    """
    return np.random.default_rng((seed, epoch, block)).permutation(n_samples)
