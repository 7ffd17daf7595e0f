"""One model to train."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.solver_state import State
from separatrix.solvers import Solver
from separatrix.training.stopping_rules import Stop


@dataclass(frozen=True)
class Task:
    """One model to train: what, how, when to stop and from where.

    `solver` and `stop` are those of a single model, `why` says in a sentence how the solver was
    chosen, `fallback` names the solver that takes over if it stalls; `factors` (d,) and
    `bias_factor` are those of the penalty; `start` is None for zero weights; `state` goes on from
    an earlier run instead. Weights are computed in the type of X, or, where `precise`, in float64
    whatever that is: a proof to many digits needs it, and would not be one of weights that are
    rounded afterwards.
    """

    loss: Loss
    n_outputs: int
    solver: Solver
    stop: Stop
    l1: float = 0.0
    l2: float = 0.0
    bias: bool = True
    factors: Array | None = None
    bias_factor: float = 0.0
    precise: bool = False
    start: Model | None = None
    state: State | None = None
    why: str = ""
    fallback: str | None = None

    @property
    def ignores_constants(self) -> bool:
        """Whether columns with one value get no weight: a free bias does at no cost what they can.

        Gradient descent is left as its texts describe it, on the columns that it is given.
        """
        return self.precise and self.bias and self.bias_factor == 0.0
