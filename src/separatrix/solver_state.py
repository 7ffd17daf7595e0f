"""The state of a batch of models during training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from separatrix.matrix import Array, pick_models
from separatrix.model import Model
from separatrix.objective import Evaluation


@dataclass
class State:
    """The state of a batch of models: arrays, nothing else.

    Attributes
    ----------
    model : the weights after `epoch` epochs
    slots : the solver's memory for each weight (a velocity, for example), shaped like the model
    found : loss, accuracy and gradient at the weights
    done : (B,) whether the solver itself has finished, for its own reason
    duals : U (n, B, K) of every block of the data, for solvers with dual variables; they give a
        lower bound on the objective
    memory : the solver's memory for each model in other shapes, with the models as first axis
    pull : g*(X^T (s o U) / S) (B,), if the last step has computed it for balanced duals
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

    def moved(self, move: Callable[..., Model]) -> State:
        """Return the state with other copies of its models, on the host or on a device."""
        return replace(self, model=move(self.model), slots=tuple(map(move, self.slots)))

    def on_host(self) -> State:
        """Return the state as numpy arrays: a copy of models that are on a device."""
        return replace(self.moved(lambda model: model.on_host()), found=self.found.on_host())

    def select(self, models: Array) -> State:
        """Return the state of some of the models."""
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
