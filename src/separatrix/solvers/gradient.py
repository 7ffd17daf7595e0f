"""Gradient descent on all rows, on mini-batches or on single rows, for many models together.

With g the gradient of the loss and the l2 term, and prox the soft threshold at rate * l1:

    plain      w = prox(w - rate g)
    momentum   u = prox(w + mu v - rate g),  v = u - w,  w = u
               (without l1 this is           v = mu v - rate g,  w = w + v)
    nesterov   u = prox(w - rate g),  w = u + mu (u - v),  v = u
               (w is the look-ahead point, at which the gradient is computed)
    adam       m = b1 m + (1 - b1) g,  s = b2 s + (1 - b2) g^2,
               D = rate / (sqrt(s / (1 - b2^t)) + 1e-8)
               w = prox(w - D m / (1 - b1^t)), with threshold D * l1

The rate of epoch e = 1, 2, ... is rate (constant), rate exp(-decay (e - 1)) (exponential) or
rate / (1 + decay (e - 1)) (inverse). It depends on the epoch only, not on the number of epochs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.errors import ParameterError
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver, epoch_order
from separatrix.verdict.trace import StepSize

RULES = {"plain": 0, "momentum": 1, "nesterov": 2, "adam": 3}
SCHEDULES = ("constant", "exponential", "inverse")
EPSILON = 1e-8

_Rules: TypeAlias = _core.GradientRuleF32 | _core.GradientRuleF64


@dataclass(frozen=True)
class Gradient(Solver):
    """The `gradient` solver.

    Parameters
    ----------
    learning_rate, momentum, decay : (B,), one per model
    rule : a key of RULES
    batch_size : rows per step; None for all rows
    schedule : a key of SCHEDULES
    betas : b1 and b2 of adam
    seed : random seed for the order of the rows in mini-batches
    """

    learning_rate: Array
    momentum: Array
    decay: Array
    rule: str = "momentum"
    batch_size: int | None = None
    schedule: str = "constant"
    betas: tuple[float, float] = (0.9, 0.999)
    seed: int = 0

    name = "gradient"
    needs = ()
    done_reason = "never"
    descends = True

    def rate(self, epoch: int) -> Array:
        """Return the learning rate of each model in the given epoch; the first epoch is 1."""
        if self.schedule == "exponential":
            return self.learning_rate * np.exp(-self.decay * (epoch - 1))
        if self.schedule == "inverse":
            return self.learning_rate / (1.0 + self.decay * (epoch - 1))
        return self.learning_rate

    def start(self, objective: Objective, model: Model) -> State:
        for name in ("learning_rate", "momentum", "decay"):
            shape = np.shape(getattr(self, name))
            if shape != (model.n_models,):
                raise ParameterError(
                    f"The '{name}' of Gradient must have one entry for each of the "
                    f"{model.n_models} models. Got shape {shape} instead.",
                    parameter=name,
                )
        if self.batch_size is not None and objective.bias_curvature(model.n_models).any():
            raise ParameterError(
                "Mini-batches cannot be used with a penalised bias. Got "
                f"batch_size={self.batch_size} with a bias_factor > 0. Use all rows "
                "(batch_size=None) or another solver, or set bias_factor to 0.",
                parameter="batch_size",
            )
        model = model.copy()
        slots: tuple[Model, ...] = ()
        if self.rule == "nesterov":
            slots = (_scaled_copy(objective, model),)
        elif self.rule == "momentum":
            slots = (_zeros_like(model),)
        elif self.rule == "adam":
            slots = (_zeros_like(model), _zeros_like(model))
        return State(model, slots, objective.evaluate(model), np.zeros(model.n_models, bool))

    def step(self, objective: Objective, state: State) -> State:
        """Take the steps of one epoch in place, then evaluate the models."""
        rules = self._rules(objective, state)
        n = objective.data.n_samples
        if self.batch_size is None or self.batch_size >= n:
            rules.step(state.found.GW, state.found.gb, state.steps + 1)
            steps = state.steps + 1
        else:
            steps = state.steps
            for number, block in enumerate(objective.data.blocks()):
                order = epoch_order(self.seed, state.epoch + 1, number, block.X.shape[0])
                steps = self._mini_batches(objective, state.model, block, order, rules, steps)
        return replace(
            state,
            found=objective.evaluate(state.model),
            epoch=state.epoch + 1,
            steps=steps,
        )

    def select(self, models: Array) -> Self:
        return replace(
            self,
            learning_rate=self.learning_rate[models],
            momentum=self.momentum[models],
            decay=self.decay[models],
        )

    def shared_key(self) -> Hashable:
        seed = None if self.batch_size is None else self.seed
        return (self.name, self.rule, self.batch_size, self.schedule, self.betas, seed)

    def own_key(self) -> Hashable:
        return (*self.learning_rate, *self.momentum, *self.decay)

    def join(self, solvers: Sequence[Self]) -> Self:
        return replace(
            self,
            learning_rate=np.concatenate([solver.learning_rate for solver in solvers]),
            momentum=np.concatenate([solver.momentum for solver in solvers]),
            decay=np.concatenate([solver.decay for solver in solvers]),
        )

    def step_size(self, model: int, epoch: int) -> StepSize | None:
        """Return the rate and its stable multiple of 1 / curvature; None for adam."""
        if self.rule == "adam":
            return None
        mu = 0.0 if self.rule == "plain" else float(self.momentum[model])
        times, formula = {
            "plain": (2.0, "2"),
            "momentum": (2.0 * (1.0 + mu), "2 (1 + momentum)"),
            "nesterov": (
                2.0 * (1.0 + mu) / (1.0 + 2.0 * mu),
                "2 (1 + momentum) / (1 + 2 momentum)",
            ),
        }[self.rule if mu > 0.0 else "plain"]
        return StepSize(float(self.rate(epoch)[model]), mu, times, formula, self.batch_size)

    def _rules(self, objective: Objective, state: State) -> _Rules:
        model = state.model
        first, second = (*state.slots, None, None)[:2]
        l1, l2 = objective.strengths(model.n_models)
        kind = _core.GradientRuleF32 if model.W.dtype == np.float32 else _core.GradientRuleF64
        return kind(
            RULES[self.rule],
            model.W,
            model.b,
            None if first is None else first.W,
            None if first is None else first.b,
            None if second is None else second.W,
            None if second is None else second.b,
            np.ascontiguousarray(self.rate(state.epoch + 1)),
            self.momentum,
            l1,
            l2,
            objective.factors(model),
            *self.betas,
            EPSILON,
            objective.bias,
        )

    def _mini_batches(
        self,
        objective: Objective,
        model: Model,
        block: Block,
        order: Array,
        rules: _Rules,
        steps: int,
    ) -> int:
        """Take one step for every batch of a block; a gradient of m rows counts n / m times."""
        assert self.batch_size is not None
        share = objective.data.n_samples / len(order)
        scale = objective.scale(model.n_models) * share
        loss = objective.loss
        if loss.compiled:
            return rules.epoch(
                block.X.by_sample(),
                block.y,
                block.s,
                scale,
                loss.native_code,
                loss.margin,
                order,
                self.batch_size,
                steps,
                block.weight_column,
            )
        for first in range(0, len(order), self.batch_size):
            rows = order[first : first + self.batch_size]
            part = Objective(
                objective.data.take(block, rows),
                loss,
                objective.penalty,
                bias=objective.bias,
                scale=scale * len(order) / len(rows),
            )
            found = part.evaluate(model)
            steps += 1
            rules.step(found.GW, found.gb, steps)
        return steps


def _zeros_like(model: Model) -> Model:
    return Model(np.zeros_like(model.W), np.zeros_like(model.b))


def _scaled_copy(objective: Objective, model: Model) -> Model:
    """Copy the start into the scaled variables f W, in which the rules work."""
    f = objective.factors(model)
    if f is None:
        return model.copy()
    f = f[:, None, None] if f.ndim == 1 else f.reshape(model.W.shape)
    return Model(model.W * f, model.b.copy())
