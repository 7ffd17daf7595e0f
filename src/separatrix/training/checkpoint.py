"""Where a run stands, and the same as plain arrays from which it goes on bit for bit.

The arrays hold numbers and text only: `np.savez` writes them and `np.load(..., allow_pickle=False)`
reads them, so that a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.packing import TREE, from_arrays, to_arrays
from separatrix.packing.schemas import COUNT, FLOAT, TEXT, array, list_of, optional, record
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver
from separatrix.training.schemas import CERTIFICATE, MODEL, STATE
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.gap_schedule import GapRecord

SHOWN = 60  # characters of a setting that is quoted in an error


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
    running : numbers of the models still trained; `state` and `running_models` are of these
    finished : the models read off so far
    history : (fields, B, epochs)
    start_value : (B,) the objective before the first epoch
    offset : epochs of an earlier run, which count for schedules only
    seconds : since training began
    """

    running: Array
    state: State
    running_models: RunningModels
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


def pack_snapshot(at: Snapshot) -> dict[str, Array]:
    """The snapshot as arrays of its own; what a pass over the data finds again is left out."""
    return to_arrays(_SNAPSHOT.pack(at))


def if_readable(arrays: dict[str, Array] | None) -> dict[str, Array] | None:
    """The arrays, or None if an earlier version wrote them: a run that begins anew ends the same.

    Up to version 0.1.0, a checkpoint was a set of arrays without a text for all else.
    """
    return arrays if arrays is not None and TREE in arrays else None


def unpack_snapshot(arrays: Mapping[str, Array], objective: Objective) -> Snapshot:
    """The snapshot that was packed, evaluated again by the objective of all models."""
    try:
        at: Snapshot = _SNAPSHOT.unpack(from_arrays(arrays), "run")
    except ValueError as error:
        raise ValueError(
            f"The checkpoint is damaged, or of another version: {error} Begin anew without resume."
        ) from None
    if len(at.running):
        at.state = _evaluated(at.state, objective.select(at.running))
    for each in at.finished:
        if each.state is not None:
            each.state = _evaluated(each.state, objective.select(np.array([each.model])))
    return at


def _evaluated(state: State, objective: Objective) -> State:
    return replace(state, found=objective.evaluate(state.model))


def _is_of_one_batch(at: Snapshot) -> bool:
    """Whether the parts are of as many models, and the numbers of models are some of the batch."""
    W, B, n = at.state.model.W, len(at.running), len(at.start_value)
    remembered = [
        part.W if isinstance(part, Model) else part for part in vars(at.running_models).values()
    ]
    return (
        W.shape[1] == B
        and all(a.shape in ((B,), W.shape) for a in remembered)
        and at.history.shape[1] == n
        and all(0 <= number < n for number in (*at.running, *(f.model for f in at.finished)))
        and all(f.weights.W.shape == (W.shape[0], 1, W.shape[2]) for f in at.finished)
    )


def _make_snapshot(watch: RunningModels, **others: Any) -> Snapshot:
    return Snapshot(running_models=watch, **others)


def _parts_of_snapshot(at: Snapshot) -> dict[str, Any]:
    return {**vars(at), "watch": at.running_models}  # by the name it has in files


_SNAPSHOT = record(
    _make_snapshot,
    {
        "running": array("i", 1),
        "state": STATE,
        "watch": record(
            RunningModels,
            {
                f.name: MODEL if f.type == "Model" else array("bif", 1)
                for f in fields(RunningModels)
            },
        ),
        "finished": list_of(
            record(
                FinishedModel,
                {
                    **dict.fromkeys(("model", "reading", "epochs", "kept_epoch"), COUNT),
                    "weights": MODEL,
                    "reason": TEXT,
                    "state": optional(STATE),
                    "certificate": optional(CERTIFICATE),
                    "bound": FLOAT,
                },
            )
        ),
        "history": array("f", 3),
        "start_value": array("f", 1),
        "offset": COUNT,
        "seconds": FLOAT,
    },
    _parts_of_snapshot,
).such_that(_is_of_one_batch, "have parts of one batch of models")
