"""Where a run stands, and the same as plain arrays from which it goes on bit for bit.

The arrays hold numbers and short words only: `np.savez` writes them and
`np.load(..., allow_pickle=False)` reads them, so that a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.solvers.protocol import Solver
from separatrix.state import State
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.gap_schedule import GapRecord

SHOWN = 60  # characters of a setting that is quoted in a refusal


@dataclass
class RunningModels(GapRecord):
    """What is remembered of each running model; every array has one entry per model."""

    first: Array  # first positive objective: what divergence is measured against
    above: Array  # epochs running with the objective far above it
    sane: Model  # last weights that were not
    sane_epoch: Array
    best: Model  # weights at the best validation measurement
    best_epoch: Array
    best_score: Array
    waited: Array  # measurements since the best, or rises running
    last_score: Array

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> RunningModels:
        """Make one of a mapping from the names above; others are ignored."""
        return cls(**{f.name: parts[f.name] for f in fields(cls)})

    def select(self, models: Array) -> RunningModels:
        """What is remembered of some of the models (numbers)."""
        return self.of(
            {
                name: part.select(models) if isinstance(part, Model) else part[models]
                for name, part in vars(self).items()
            }
        )


@dataclass
class FinishedModel:
    """A model read off: its weights, why, when, and which epoch they are of."""

    model: int
    reading: int
    weights: Model
    reason: str
    epochs: int
    kept_epoch: int
    state: State | None = field(repr=False)
    certificate: Certificate | None = None  # if the weights have been certified already
    bound: float = -np.inf  # that the objective is proven to be above


@dataclass
class Snapshot:
    """All that changes while a run goes on.

    Attributes
    ----------
    running : numbers of the models still trained; `state` and `watch` are of these
    finished : the models read off so far
    history : (fields, B, epochs)
    start_value : (B,) the objective before the first epoch
    offset : epochs of an earlier run, which count for schedules only
    seconds : since training began
    """

    running: Array
    state: State
    watch: RunningModels
    finished: list[FinishedModel]
    history: Array
    start_value: Array
    offset: int
    seconds: float


def fingerprint(solver: Solver, objective: Objective, start: Model) -> dict[str, Array]:
    """What a run can be told by without reading its data: an array of names and values, as words.

    How long it goes on is no part of it: a run may be resumed with more epochs.
    """
    l1, l2 = objective.strengths(start.n_models)
    settings = {k: v for k, v in vars(solver).items() if not k.startswith("_")}
    facts = {
        "solver": solver.name,
        **{f"{solver.name}'s {name}": value for name, value in settings.items()},
        "loss": objective.loss.name,
        "margin": float(objective.loss.margin),
        "l1": l1,
        "l2": l2,
        "bias": objective.bias,
        "penalty on the bias": objective.bias_curvature(start.n_models),
        "number of rows": objective.data.n_samples,
        "number of features": objective.data.n_features,
        "number of models": start.n_models,
        "number of outputs": start.n_outputs,
        "type of numbers": start.W.dtype.name,
    }
    words = [(k, str(np.asarray(v).tolist())) for k, v in facts.items()]
    return {"fingerprint": np.array(words, "U")}


def refuse_foreign(arrays: Mapping[str, Array], here: Mapping[str, Array]) -> None:
    """Raise if a checkpoint's fingerprint is not that of this run, naming what differs."""
    if "fingerprint" not in arrays:
        raise ValueError(
            "The arrays to resume from are no checkpoint: they have no fingerprint. "
            "Give what progress.checkpoint() returned."
        )
    there, now = ({str(k): str(v) for k, v in a["fingerprint"]} for a in (arrays, here))
    for name in now:
        theirs, ours = there.get(name, "none"), now[name]
        if theirs != ours:
            quoted = f": {theirs} there, {ours} here" if len(theirs + ours) <= SHOWN else ""
            raise ValueError(
                f"The checkpoint is of another run, with another {name}{quoted}. Resume with the "
                "solver, objective and start it was taken with, or begin anew without resume."
            )


def pack(at: Snapshot) -> dict[str, Array]:
    """The snapshot as arrays of its own; what a pass over the data finds again is left out."""
    arrays = {
        "counters": np.array([at.state.epoch, at.state.steps, at.offset]),
        "seconds": np.array(at.seconds),
        "running": at.running.copy(),
        "history": at.history.copy(),
        "start_value": at.start_value.copy(),
        "done": at.state.done.copy(),
        "finished": np.array(
            [(f.model, f.reading, f.epochs, f.kept_epoch) for f in at.finished], int
        ).reshape(-1, 4),
        "reasons": np.array([f.reason for f in at.finished], "U32"),
        "bounds": np.array([f.bound for f in at.finished]),
        "certificates": np.array([_numbers(f.certificate) for f in at.finished]).reshape(-1, 5),
    }
    arrays |= {f"duals{k}": U.copy() for k, U in enumerate(at.state.duals)}
    arrays |= {f"memory.{name}": a.copy() for name, a in at.state.memory.items()}
    models = {"model": at.state.model}
    models |= {f"slot{k}": slot for k, slot in enumerate(at.state.slots)}
    for k, f in enumerate(at.finished):
        models[f"weights{k}"] = f.weights
        if f.state is not None:
            models[f"state{k}"] = f.state.model
            models |= {f"state{k}.slot{j}": slot for j, slot in enumerate(f.state.slots)}
            arrays[f"state{k}"] = np.array([f.state.epoch, f.state.steps, f.state.done[0]])
            arrays |= {f"state{k}.duals{j}": U.copy() for j, U in enumerate(f.state.duals)}
            arrays |= {f"state{k}.memory.{name}": a.copy() for name, a in f.state.memory.items()}
    for name, part in vars(at.watch).items():
        if isinstance(part, Model):
            models[name] = part
        else:
            arrays[name] = part.copy()
    for name, model in models.items():
        arrays |= {f"{name}.W": model.W.copy(), f"{name}.b": model.b.copy()}
    return arrays


def unpack(arrays: Mapping[str, Array], objective: Objective) -> Snapshot:
    """The snapshot that `pack` was given; the objective, of all models, looks at them again."""
    epoch, steps, offset = (int(n) for n in arrays["counters"])
    model, running = _model(arrays, "model"), np.array(arrays["running"])
    found = _nothing_found(model)
    if model.n_models:
        found = objective.select(running).evaluate(model)
    finished = [
        FinishedModel(
            model=int(number),
            reading=int(reading),
            weights=_model(arrays, f"weights{k}"),
            reason=str(arrays["reasons"][k]),
            epochs=int(epochs),
            kept_epoch=int(kept),
            state=_state(arrays, k, objective.select(np.array([number]))),
            certificate=_certificate(arrays["certificates"][k]),
            bound=float(arrays["bounds"][k]),
        )
        for k, (number, reading, epochs, kept) in enumerate(arrays["finished"])
    ]
    watch = {
        f.name: _model(arrays, f.name) if f.type == "Model" else np.array(arrays[f.name])
        for f in fields(RunningModels)
    }
    return Snapshot(
        running=running,
        state=State(
            model,
            _slots(arrays, "slot"),
            found,
            np.array(arrays["done"]),
            epoch,
            steps,
            _duals(arrays, "duals"),
            _memory(arrays, "memory."),
        ),
        watch=RunningModels.of(watch),
        finished=finished,
        history=np.array(arrays["history"]),
        start_value=np.array(arrays["start_value"]),
        offset=offset,
        seconds=float(arrays["seconds"]),
    )


def _model(arrays: Mapping[str, Array], name: str) -> Model:
    return Model(np.array(arrays[f"{name}.W"]), np.array(arrays[f"{name}.b"]))


def _slots(arrays: Mapping[str, Array], name: str) -> tuple[Model, ...]:
    count = sum(key.startswith(name) and key.endswith(".W") for key in arrays)
    return tuple(_model(arrays, f"{name}{k}") for k in range(count))


def _state(arrays: Mapping[str, Array], k: int, objective: Objective) -> State | None:
    """The state of the k-th model read off, where it was kept."""
    if f"state{k}" not in arrays:
        return None
    epoch, steps, done = (int(n) for n in arrays[f"state{k}"])
    model = _model(arrays, f"state{k}")
    return State(
        model,
        _slots(arrays, f"state{k}.slot"),
        objective.evaluate(model),
        np.array([done], bool),
        epoch,
        steps,
        _duals(arrays, f"state{k}.duals"),
        _memory(arrays, f"state{k}.memory."),
    )


def _duals(arrays: Mapping[str, Array], name: str) -> tuple[Array, ...]:
    count = sum(key.startswith(name) for key in arrays)
    return tuple(np.array(arrays[f"{name}{k}"]) for k in range(count))


def _memory(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {
        key.removeprefix(prefix): np.array(a) for key, a in arrays.items() if key.startswith(prefix)
    }


def _numbers(certificate: Certificate | None) -> list[float]:
    """A certificate as numbers, NaN for what it lacks; a primal of NaN stands for none at all."""
    c = certificate
    found = [None] * 5 if c is None else [c.primal, c.dual, c.gap, c.relative_gap, c.gradient_norm]
    return [np.nan if number is None else number for number in found]


def _certificate(numbers: Array) -> Certificate | None:
    primal, dual, gap, relative, norm = (float(number) for number in numbers)
    if np.isnan(primal):
        return None
    if np.isnan(dual):
        return Certificate("gradient_norm", primal, None, None, None, norm)
    return Certificate("duality_gap", primal, dual, gap, relative, norm)


def _nothing_found(model: Model) -> Evaluation:
    """The evaluation of no models at all: those of the checkpoint were all finished."""
    none = np.zeros(0)
    return Evaluation(none, none, none, none, model.W, model.b)
