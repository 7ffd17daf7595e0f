"""Where a run stands, and the same as plain arrays from which it goes on bit for bit.

The arrays hold numbers and short words only: `np.savez` writes them and
`np.load(..., allow_pickle=False)` reads them, so that a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from separatrix.arrays import Array
from separatrix.model import Model
from separatrix.objective import Evaluation
from separatrix.solvers.protocol import State


@dataclass
class Watch:
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
    start_norm: Array  # norm of the gradient before the first epoch
    certify_at: Array  # and that at which the gap is looked at next

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> Watch:
        """Make one of a mapping from the names above; others are ignored."""
        return cls(**{f.name: parts[f.name] for f in fields(cls)})

    def select(self, models: Array) -> Watch:
        """What is remembered of some of the models (numbers)."""
        return self.of(
            {
                name: part.select(models) if isinstance(part, Model) else part[models]
                for name, part in vars(self).items()
            }
        )


@dataclass
class Finished:
    """A model read off: its weights, why, when, and which epoch they are of."""

    model: int
    reading: int
    weights: Model
    reason: str
    epochs: int
    kept_epoch: int
    state: State | None = field(repr=False)


@dataclass
class Standing:
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
    watch: Watch
    finished: list[Finished]
    history: Array
    start_value: Array
    offset: int
    seconds: float


def pack(at: Standing) -> dict[str, Array]:
    """The standing as arrays of its own; what a pass over the data finds again is left out."""
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
    }
    models = {"model": at.state.model}
    models |= {f"slot{k}": slot for k, slot in enumerate(at.state.slots)}
    models |= {f"weights{k}": f.weights for k, f in enumerate(at.finished)}
    for name, part in vars(at.watch).items():
        if isinstance(part, Model):
            models[name] = part
        else:
            arrays[name] = part.copy()
    for name, model in models.items():
        arrays |= {f"{name}.W": model.W.copy(), f"{name}.b": model.b.copy()}
    return arrays


def unpack(arrays: Mapping[str, Array], evaluate: Callable[[Model], Evaluation]) -> Standing:
    """The standing that `pack` was given; `evaluate` looks again at the running models."""
    epoch, steps, offset = (int(n) for n in arrays["counters"])
    model = _model(arrays, "model")
    slots = sum(name.startswith("slot") and name.endswith(".W") for name in arrays)
    finished = [
        Finished(
            model=int(number),
            reading=int(reading),
            weights=_model(arrays, f"weights{k}"),
            reason=str(arrays["reasons"][k]),
            epochs=int(epochs),
            kept_epoch=int(kept),
            state=None,
        )
        for k, (number, reading, epochs, kept) in enumerate(arrays["finished"])
    ]
    watch = {
        f.name: _model(arrays, f.name) if f.type == "Model" else np.array(arrays[f.name])
        for f in fields(Watch)
    }
    return Standing(
        running=np.array(arrays["running"]),
        state=State(
            model,
            tuple(_model(arrays, f"slot{k}") for k in range(slots)),
            evaluate(model) if model.n_models else _nothing_found(model),
            np.array(arrays["done"]),
            epoch,
            steps,
        ),
        watch=Watch.of(watch),
        finished=finished,
        history=np.array(arrays["history"]),
        start_value=np.array(arrays["start_value"]),
        offset=offset,
        seconds=float(arrays["seconds"]),
    )


def _model(arrays: Mapping[str, Array], name: str) -> Model:
    return Model(np.array(arrays[f"{name}.W"]), np.array(arrays[f"{name}.b"]))


def _nothing_found(model: Model) -> Evaluation:
    """The evaluation of no models at all: those of the checkpoint were all finished."""
    none = np.zeros(0)
    return Evaluation(none, none, none, none, model.W, model.b)
