"""What the loop asks of a solver."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from separatrix.arrays import Array, pick_models
from separatrix.diagnose import Pace
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective


@dataclass
class State:
    """Where a batch of models stands: arrays, nothing else.

    Attributes
    ----------
    model : the weights after `epoch` epochs
    slots : what the solver remembers of each weight (a velocity, say), shaped like the model
    found : loss, accuracy and gradient at the weights
    done : (B,) whether the solver itself has reached its end, for a reason of its own
    duals : U (n, B, K) of every block of the data, of a solver that has dual variables: they prove
        how far the weights are from the optimum
    memory : what the solver remembers of each model in other shapes; the model's axis comes first
    pull : g*(X^T (s o U) / S) (B,), where the last step has found it, of duals that are balanced
    """

    model: Model
    slots: tuple[Model, ...]
    found: Evaluation
    done: Array
    epoch: int = 0
    steps: int = 0
    duals: tuple[Array, ...] = ()
    memory: dict[str, Array] = field(default_factory=dict)
    pull: Array | None = None

    def select(self, models: Array) -> State:
        """The state of some of the models."""
        return replace(
            self,
            model=self.model.select(models),
            slots=tuple(slot.select(models) for slot in self.slots),
            found=self.found.select(models),
            done=self.done[models],
            duals=tuple(pick_models(U, models) for U in self.duals),
            memory={name: a[models] for name, a in self.memory.items()},
            pull=None if self.pull is None else self.pull[models],
        )


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
    def pace(self, model: int, epoch: int) -> Pace | None: ...
    def shared_key(self) -> Hashable: ...
    def own_key(self) -> Hashable: ...
    def join(self, solvers: Sequence[Self]) -> Self: ...


def epoch_order(seed: int, epoch: int, block: int, n_samples: int) -> Array:
    """The order of the rows of a block in an epoch: the same for every model of a batch.

    >>> epoch_order(0, 1, 0, 4).tolist() == epoch_order(0, 1, 0, 4).tolist()
    True
    """
    return np.random.default_rng((seed, epoch, block)).permutation(n_samples)
