"""One model to train."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.solver_state import State
from separatrix.solvers import Gradient, Solver
from separatrix.training.stopping.stopping_rules import Stop

# The types of weights for each precision of a device; with "tf32" only products are rougher.
OF_PRECISION = {"tf32": np.float32, "float32": np.float32, "float64": np.float64}


@dataclass(frozen=True)
class Task:
    """One model to train: loss, penalty, solver, stopping rules and start.

    `solver` and `stop` are for a single model. `why` is a sentence on how the solver was chosen,
    and `fallback` names the solver that takes over if it stalls. `factors` (d,) and `bias_factor`
    belong to the penalty. `start` is None for zero weights; `state` continues from an earlier run
    instead. `device` is a device of PyTorch, or None. Weights have the type of X, or that of
    `precision`, or float64 if `precise`: the solver needs it for a small duality gap. If it
    `rounds`, the weights found are rounded to the type of X and certified again.
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
    rounds: bool = False
    start: Model | None = None
    state: State | None = None
    why: str = ""
    fallback: str | None = None
    device: str | None = None
    precision: str | None = None

    @property
    def ignores_constants(self) -> bool:
        """Whether constant columns get no weight, because an unpenalised bias can replace them.

        Gradient descent keeps all columns, so that it follows its formulas exactly.
        """
        return self.precise and self.bias and self.bias_factor == 0.0

    @property
    def weight_type(self) -> np.dtype[Any] | None:
        """The type of the weights; None for that of X."""
        if self.precise:
            return np.dtype(np.float64)
        return None if self.precision is None else np.dtype(OF_PRECISION[self.precision])

    def state_kind(self) -> Hashable:
        """Return what must be the same in a later run that continues from the state of this one."""
        rule = None
        if isinstance(self.solver, Gradient):
            averaged = (self.solver.average_from >= 0).any()
            rule = f"{self.solver.rule}, averaged" if averaged else self.solver.rule
        return self.solver.name, rule, self.n_outputs
