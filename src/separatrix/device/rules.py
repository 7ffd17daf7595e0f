"""The steps of a gradient rule for all models of a batch on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from separatrix.data import Block
from separatrix.device.formulas import DEVICE_RULES, Part, RuleParameters, take_step
from separatrix.device.objective import DeviceObjective
from separatrix.device.torch_device import Tensor
from separatrix.device.weights import DeviceModel
from separatrix.errors import ParameterError
from separatrix.matrix import Array
from separatrix.model import Model

EPSILON = 1e-8


class Recurrence(Protocol):
    """The settings of `Gradient` that its steps need."""

    @property
    def rule(self) -> str: ...
    @property
    def momentum(self) -> Array: ...
    @property
    def betas(self) -> tuple[float, float]: ...
    @property
    def shift(self) -> Array: ...
    @property
    def power(self) -> Array: ...


class DeviceRule:
    """The rule of one epoch; a step changes the model and its slots in place.

    The recurrences are those of `solvers/gradient.py`, in the scaled variables f W, with rates (B,)
    for the epoch.
    """

    def __init__(
        self,
        solver: Recurrence,
        objective: DeviceObjective,
        model: Model,
        slots: Sequence[Model],
        rate: Array,
    ) -> None:
        assert isinstance(model, DeviceModel)
        self.solver, self.objective, self.model, self.slots = solver, objective, model, slots
        self.rate = rate
        self._momentum = objective.small("momentum", solver.momentum, model.dtype)[:, None]
        l1, l2 = objective.strengths(len(rate))
        self._l1 = objective.small("l1", l1, model.dtype)[:, None]
        self._l2 = objective.small("l2", l2, model.dtype)[:, None]
        self._rate = objective.small("rate", rate, model.dtype)[:, None]

    def step_on_rows(self, block: Block, rows: Array, scale: Array, count: int) -> None:
        """Take a step with the gradient of some rows of a block, times a scale (B,)."""
        self.step(*self.objective.gradient_of_rows(block, rows, self.model, scale), count)

    def step(self, GW: Tensor, gb: Tensor, count: int) -> None:
        """Take step number `count`, from 1, with the gradient of the loss; all features move."""
        solver, small, dtype = self.solver, self.objective.small, self.model.dtype
        if solver.power.any():
            rate = self.rate / (solver.shift + count) ** solver.power
            self._rate = small("rate", rate, dtype)[:, None]
        corrections = 1.0 / (1.0 - np.array(solver.betas) ** count)
        weights = RuleParameters(
            solver.rule,
            self._rate,
            self._momentum,
            self._l1,
            self._l2,
            solver.betas,
            small("corrections", corrections, dtype) if solver.rule == "adam" else self._rate,
            EPSILON,
        )
        bias = self._part("b", gb) if self.objective.bias else None
        moved = self.objective.run(
            take_step,
            self.objective.pass_size(self.model),
            weights,
            self._part("W", GW),
            bias,
            self.objective.factor_tensor(self.model),
        )
        for name, new in zip("Wb", moved):
            for model, tensor in zip((self.model, *self.slots), new):
                getattr(model, name).copy_(tensor)

    def _part(self, name: str, gradient: Tensor) -> Part:
        slots = tuple(getattr(slot, name) for slot in self.slots)
        return Part(getattr(self.model, name), slots, gradient)


def require_device_rule(rule: str, averages: bool) -> None:
    """Raise unless the steps of `Gradient` can run on a device."""
    if rule not in DEVICE_RULES or averages:
        given = "averaged weights" if averages else f"rule='{rule}'"
        raise ParameterError(
            f"A device trains with the rules {', '.join(DEVICE_RULES)}, without averages. Got "
            f"{given}. Choose one of these rules, or omit device.",
            parameter="rule",
        )
