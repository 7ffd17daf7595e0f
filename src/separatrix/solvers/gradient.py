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
    lazy_adam  as adam, but only for the features that are not zero in all rows of the batch

The rate of epoch e = 1, 2, ... is rate (constant), rate exp(-decay (e - 1)) (exponential) or
rate / (1 + decay (e - 1)) (inverse). It depends on the epoch only, not on the number of epochs.
Step t = 1, 2, ... of the run has this rate divided by (shift + t)^power.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.device import DeviceObjective, DeviceRule
from separatrix.device.rules import require_device_rule
from separatrix.errors import ParameterError
from separatrix.loss_sums import loss_and_gradient
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver, epoch_order
from separatrix.verdict.trace import StepSize, stable_multiple

RULES = {"plain": 0, "momentum": 1, "nesterov": 2, "adam": 3, "lazy_adam": 4}
ADAM_RULES = ("adam", "lazy_adam")
SCHEDULES = ("constant", "exponential", "inverse")
EPSILON = 1e-8
PLATEAU_DIVISOR = 5.0  # as in scikit-learn's schedule "adaptive"
LEAST_RATE = 1e-6
# Parameters of each model that can be left out, and the values that switch them off.
OFF = {"shift": 0.0, "power": 0.0, "average_from": -1, "plateau_epochs": -1, "plateau_tol": 0.0}
PER_MODEL = ("learning_rate", "momentum", "decay", *OFF)

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
    betas : b1 and b2 of adam and lazy_adam
    seed : random seed for the order of the rows in mini-batches; None keeps the order of the rows
    shift, power : (B,), the change of the rate from step to step
    average_from : (B,), the first step whose weights are averaged; the averages are the weights
        that are recorded and returned. -1 averages no step.
    plateau_epochs, plateau_tol : (B,), a plateau is reached after this number of epochs in a row
        whose progress is not below the lowest one by `plateau_tol`; -1 looks for none
    descends : False if the objective may rise by any amount, as with the large first rates of a
        schedule for single rows
    bias_rate : the rate of the biases, as a multiple of the rate of the weights
    divides : whether a model at a plateau continues with a fifth of its rate, down to 1e-6. If
        not, it stops.
    """

    learning_rate: Array
    momentum: Array
    decay: Array
    rule: str = "momentum"
    batch_size: int | None = None
    schedule: str = "constant"
    betas: tuple[float, float] = (0.9, 0.999)
    seed: int | None = 0
    shift: Array = field(default_factory=lambda: np.array([]))
    power: Array = field(default_factory=lambda: np.array([]))
    average_from: Array = field(default_factory=lambda: np.array([], int))
    plateau_epochs: Array = field(default_factory=lambda: np.array([], int))
    plateau_tol: Array = field(default_factory=lambda: np.array([]))
    divides: bool = False
    descends: bool = True
    bias_rate: float = 1.0

    name = "gradient"
    needs = ()
    done_reason = "no improvement"

    def __post_init__(self) -> None:
        for name, off in OFF.items():
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.full(len(self.learning_rate), off))

    def rate(self, epoch: int) -> Array:
        """Return the learning rate of each model in the given epoch; the first epoch is 1."""
        if self.schedule == "exponential":
            return self.learning_rate * np.exp(-self.decay * (epoch - 1))
        if self.schedule == "inverse":
            return self.learning_rate / (1.0 + self.decay * (epoch - 1))
        return self.learning_rate

    def start(self, objective: Objective, model: Model) -> State:
        for name in PER_MODEL:
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
        if isinstance(objective, DeviceObjective):
            require_device_rule(self.rule, self._averages())
        kept = {"momentum": 1, "adam": 2, "lazy_adam": 2}.get(self.rule, 0)
        slots = tuple(_zeros_like(model) for _ in range(kept))
        if self.rule == "nesterov":
            slots = (_scaled_copy(objective, model),)
        if self._averages():
            slots = (*slots, model.copy())  # the weights that the steps change
        model, *rest = (objective.place(each) for each in (model.copy(), *slots))
        memory = {}
        if self.divides or (self.plateau_epochs >= 0).any():
            memory = {
                "lowest": np.full(model.n_models, np.inf),
                "waited": np.zeros(model.n_models, int),
                "divisor": np.ones(model.n_models),
            }
        found = objective.evaluate(model)
        return State(model, tuple(rest), found, np.zeros(model.n_models, bool), memory=memory)

    def step(self, objective: Objective, state: State) -> State:
        """Take the steps of one epoch in place, then evaluate the models."""
        n, averages = objective.data.n_samples, self._averages()
        batch = n if self.batch_size is None else min(self.batch_size, n)
        settings = self._settings(objective, state, batch)
        steps, losses = state.steps, state.found.loss
        if isinstance(objective, DeviceObjective):
            steps = self._step_on_device(objective, state, settings)
        elif batch == n and (not averages or not objective.data.in_one_block):
            found = objective.evaluate(state.slots[-1]) if averages else state.found
            rules = self._rules(state.model, state.slots, settings)
            rules.step(found.GW, found.gb, steps + 1, self._moving(objective))
            steps += 1
        else:
            sums = np.zeros(len(settings.scale)) if state.memory else None
            model, slots, steps, sums = objective.data.fold_over_blocks(
                descend, (state.model, state.slots, steps, sums), self, settings
            )
            state = replace(state, model=model, slots=slots)
            losses = losses if sums is None else settings.scale * sums
        found = objective.evaluate(state.model)
        progress = losses + 0.5 * (state.found.penalty + found.penalty)
        state = replace(state, found=found, epoch=state.epoch + 1, steps=steps)
        return self._note_plateau(state, progress) if state.memory else state

    def place(self, objective: Objective, model: Model) -> Model:
        return objective.place(model)

    def select(self, models: Array) -> Self:
        return self._with_parameters(lambda name: getattr(self, name)[models])

    def shared_key(self) -> Hashable:
        return (
            self.name,
            self.rule,
            self.batch_size,
            self.schedule,
            self.betas,
            None if self.batch_size is None else (self.seed,),
            self._averages(),
            self.divides,
            self.descends,
            self.bias_rate,
        )

    def own_key(self) -> Hashable:
        return tuple(number for name in PER_MODEL for number in getattr(self, name).tolist())

    def join(self, solvers: Sequence[Self]) -> Self:
        return self._with_parameters(
            lambda name: np.concatenate([getattr(solver, name) for solver in solvers])
        )

    def step_size(self, model: int, epoch: int) -> StepSize | None:
        """Return the rate and its stable multiple of 1 / curvature.

        None for adam and lazy_adam, for averaged weights, and if the rate changes from step to
        step or at a plateau.
        """
        changes = self.power[model] != 0.0 or self.divides
        if self.rule in ADAM_RULES or changes or self._averages():
            return None
        mu = 0.0 if self.rule == "plain" else float(self.momentum[model])
        rate, first = float(self.rate(epoch)[model]), float(self.rate(1)[model])
        return StepSize(rate, mu, *stable_multiple(self.rule, mu), self.batch_size, rate == first)

    def _with_parameters(self, value: Callable[[str], Array]) -> Self:
        parameters: dict[str, Any] = {name: value(name) for name in PER_MODEL}
        return replace(self, **parameters)

    def _averages(self) -> bool:
        return bool((self.average_from >= 0).any())

    def _note_plateau(self, state: State, progress: Array) -> State:
        """Count the epochs without a lower progress; at a plateau, lower the rate or stop.

        The progress (B,) is the mean loss of the rows, each before its step, plus the mean of the
        penalties before and after the epoch.
        """
        memory = state.memory
        better = progress <= memory["lowest"] - self.plateau_tol
        waited = np.where(better, 0, memory["waited"] + 1)
        reached = (self.plateau_epochs >= 0) & (waited >= self.plateau_epochs)
        lower = self.lower_rates(state, reached)
        memory = {
            "lowest": np.fmin(memory["lowest"], progress),
            "waited": np.where(lower, 0, waited),
            "divisor": memory["divisor"],
        }
        return replace(state, memory=memory, done=reached & ~lower)

    def lower_rates(self, state: State, waited: Array) -> Array:
        if not self.divides:
            return super().lower_rates(state, waited)
        divisor = state.memory["divisor"]
        lower = waited & (self.rate(state.epoch) / divisor > LEAST_RATE)
        divisor[lower] *= PLATEAU_DIVISOR
        return lower

    def _settings(self, objective: Objective, state: State, batch: int) -> Settings:
        B, epoch = state.model.n_models, state.epoch + 1
        l1, l2 = objective.strengths(B)
        on_device = isinstance(objective, DeviceObjective)
        return Settings(
            loss=objective.loss,
            bias=objective.bias,
            l1=l1,
            l2=l2,
            factors=None if on_device else objective.factors(state.model),
            scale=objective.scale(B),
            rate=np.ascontiguousarray(self.rate(epoch) / state.memory.get("divisor", 1.0)),
            epoch=epoch,
            batch=batch,
            n_samples=objective.data.n_samples,
        )

    def _step_on_device(self, objective: DeviceObjective, state: State, at: Settings) -> int:
        """Take the steps of one epoch on a device; return the number of steps so far."""
        rule = DeviceRule(self, objective, state.model, state.slots, at.rate)
        steps = state.steps
        if at.batch == at.n_samples:
            rule.step(state.found.GW, state.found.gb, steps + 1)
            return steps + 1
        for number, block in enumerate(objective.rows.blocks(objective.data)):
            n = len(block.y)
            order = (
                np.arange(n) if self.seed is None else epoch_order(self.seed, at.epoch, number, n)
            )
            for first in range(0, n, at.batch):
                rows = order[first : first + at.batch]
                steps += 1
                rule.step_on_rows(block, rows, at.scale * (at.n_samples / len(rows)), steps)
        return steps

    def _rules(self, model: Model, slots: tuple[Model, ...], at: Settings) -> _Rules:
        mean = None
        if self._averages():
            model, slots, mean = slots[-1], slots[:-1], model
        first, second = (*slots, None, None)[:2]
        kind = _core.GradientRuleF32 if model.W.dtype == np.float32 else _core.GradientRuleF64
        return kind(
            RULES[self.rule],
            model.W,
            model.b,
            None if first is None else first.W,
            None if first is None else first.b,
            None if second is None else second.W,
            None if second is None else second.b,
            at.rate,
            self.momentum,
            at.l1,
            at.l2,
            at.factors,
            *self.betas,
            EPSILON,
            at.bias,
            self.shift,
            self.power,
            None if mean is None else mean.W,
            None if mean is None else mean.b,
            self.average_from,
            self.bias_rate,
        )

    def _moving(self, objective: Objective) -> Array | None:
        """Return which features a step on all rows moves (d,); None means all."""
        return objective.data.occurring_features() if self.rule == "lazy_adam" else None


@dataclass(frozen=True, eq=False)
class Settings:
    """What the steps of an epoch depend on beside the solver.

    Attributes
    ----------
    loss, bias : the loss, and whether the bias is trained
    l1, l2, scale, rate : (B,), the penalty, 1 / S and the learning rate of each model
    factors : the factors of the penalty, for the kernels
    epoch, batch, n_samples : the epoch from 1, the rows of a batch, and the rows of all blocks
    """

    loss: Loss
    bias: bool
    l1: Array
    l2: Array
    factors: Array | None
    scale: Array
    rate: Array
    epoch: int
    batch: int
    n_samples: int


def descend(
    block: Block,
    number: int,
    state: tuple[Model, tuple[Model, ...], int, Array | None],
    solver: Gradient,
    at: Settings,
) -> tuple[Model, tuple[Model, ...], int, Array | None]:
    """Take one step for every batch of a block; a gradient of m rows counts n / m times.

    The state holds the models, their slots, the number of steps and, if they are asked for, the
    sums (B,) of the losses of the rows before their steps. No batch has rows of two blocks.
    """
    model, slots, steps, losses = state
    n = len(block.y)
    if not n:
        return state
    order = np.arange(n)
    if solver.seed is not None and at.batch < at.n_samples:
        order = epoch_order(solver.seed, at.epoch, number, n)
    rules = solver._rules(model, slots, at)
    scale = at.scale * (at.n_samples / n)
    if at.loss.compiled:
        steps = rules.epoch(
            block.X.by_sample(),
            block.y,
            block.s,
            scale,
            at.loss.native_code,
            at.loss.margin,
            order,
            at.batch,
            steps,
            block.weight_column,
            losses,
        )
        return model, slots, steps, losses
    moving = slots[-1] if solver._averages() else model
    for first in range(0, n, at.batch):
        rows = order[first : first + at.batch]
        part = block.take(rows)
        sums, _, GW, gb = loss_and_gradient(part, at.loss, moving, scale * n / len(rows))
        if losses is not None:
            losses += sums
        gb = gb.astype(model.b.dtype, copy=False) * model.b.dtype.type(at.bias)
        steps += 1
        rules.step(GW, gb, steps, part.X.occurring() if solver.rule == "lazy_adam" else None)
    return model, slots, steps, losses


def _zeros_like(model: Model) -> Model:
    return Model(np.zeros_like(model.W), np.zeros_like(model.b))


def _scaled_copy(objective: Objective, model: Model) -> Model:
    """Copy the start into the scaled variables f W, in which the rules work."""
    f = objective.factors(model)
    if f is None:
        return model.copy()
    f = f[:, None, None] if f.ndim == 1 else f.reshape(model.W.shape)
    return Model(model.W * f, model.b.copy())
