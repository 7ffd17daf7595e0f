"""The steps of a gradient rule for all models of a batch on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.data import Block
from separatrix.device.formulas import RuleParameters, take_step
from separatrix.device.objective import DeviceObjective
from separatrix.device.torch_device import Tensor
from separatrix.device.weights import DeviceModel
from separatrix.matrix import Array
from separatrix.model import Model


class DeviceRule:
    """The rule of one epoch; a step changes the model and its slots in place.

    The recurrences are those of `solvers/gradient.py`, in the scaled variables f W. `rate`,
    `momentum`, `shift` and `power` (B,) are those of `Gradient`.
    """

    def __init__(
        self,
        rule: str,
        objective: DeviceObjective,
        model: Model,
        slots: Sequence[Model],
        rate: Array,
        momentum: Array,
        *,
        betas: tuple[float, float],
        epsilon: float,
        shift: Array,
        power: Array,
    ) -> None:
        assert isinstance(model, DeviceModel)
        self.rule, self.objective, self.model, self.slots = rule, objective, model, slots
        self.betas, self.epsilon = betas, epsilon
        self.rate, self.shift, self.power = rate, shift, power
        self._rate, self._momentum = self._each(rate), self._each(momentum)
        self._l1, self._l2 = (self._each(a) for a in objective.strengths(len(rate)))
        self._nothing = self._each(np.zeros(len(rate)))
        self._factors = objective.factor_tensor(model)

    def step_on_rows(self, block: Block, rows: Array, scale: Array, count: int) -> None:
        """Take a step with the gradient of some rows of a block, times a scale (B,)."""
        self.step(*self.objective.gradient_of_rows(block, rows, self.model, scale), count)

    def step(self, GW: Tensor, gb: Tensor, count: int, moving: Array | None = None) -> None:
        """Take step number `count`, from 1, with the gradient of the loss; all features move."""
        if self.power.any():
            self._rate = self._each(self.rate / (self.shift + count) ** self.power)
        corrections = 1.0 / (1.0 - np.array(self.betas) ** count)
        own = (self.betas, self._each(corrections)[:, 0], self.epsilon)
        weights = RuleParameters(self.rule, self._rate, self._momentum, self._l1, self._l2, *own)
        self._move("W", GW, self._factors, weights)
        if self.objective.bias:
            # The gradient of the bias contains the penalty on it.
            bias = weights._replace(l1=self._nothing, l2=self._nothing)
            self._move("b", gb, 1.0, bias)

    def _move(self, part: str, G: Tensor, f: Any, parameters: RuleParameters) -> None:
        device = self.objective.device
        tensors = [getattr(model, part) for model in (self.model, *self.slots)]
        moved = device.run(
            take_step,
            device.torch,
            parameters,
            tensors[0],
            tensors[1:],
            G,
            f,
            size=tensors[0].numel(),
        )
        for tensor, new in zip(tensors, moved):
            tensor.copy_(new)

    def _each(self, a: Array) -> Tensor:
        """Return one number per model (B, 1), in the type of the weights."""
        return self.objective.device.tensor(a, self.model.dtype)[:, None]
