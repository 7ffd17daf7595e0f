"""Where a batch of models stands while it is trained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from separatrix.matrix import Array, pick_models
from separatrix.model import Model
from separatrix.objective import Evaluation


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
