"""The state of a run as plain arrays, from which training continues bit for bit.

The arrays hold only numbers and text: `np.savez` writes them and `np.load(...,
allow_pickle=False)` reads them, so a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

SHOWN = 60  # longest setting, in characters, that an error quotes


@dataclass
class RunningModels(GapRecord):
    """The training loop's memory of the running models; each array has one entry per model."""

    first: Array  # first positive objective, the reference for divergence
    above: Array  # number of epochs in a row with the objective far above it
    sane: Model  # last weights whose objective was not far above it
    sane_epoch: Array
    best: Model  # weights with the best validation measurement
    best_epoch: Array
    best_score: Array
    waited: Array  # measurements since the best one, or rises in a row
    last_score: Array

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> RunningModels:
        """Make one from a mapping of the names above; other entries are ignored."""
        return cls(**{f.name: parts[f.name] for f in fields(cls)})

    def moved(self, move: Callable[..., Model]) -> RunningModels:
        """Return the memory with other copies of its models, on the host or on a device."""
        return replace(self, sane=move(self.sane), best=move(self.best))

    def select(self, models: Array) -> RunningModels:
        """Return the memory of some of the models (numbers)."""
        return self.of(
            {
                name: part.select(models) if isinstance(part, Model) else part[models]
                for name, part in vars(self).items()
            }
        )


@dataclass
class FinishedModel:
    """A model read off: its weights, the stop reason, the number of epochs, and the epoch kept."""

    model: int
    reading: int
    weights: Model
    reason: str
    epochs: int
    kept_epoch: int
    state: State | None = field(repr=False)
    certificate: Certificate | None = None  # if the weights already have one
    bound: float = -np.inf  # best lower bound on the objective


@dataclass
class Snapshot:
    """Everything that changes during a run.

    Attributes
    ----------
    running : numbers of the models still in training, which `state` and `running_models` describe
    finished : the models read off so far
    history : (fields, B, epochs)
    start_value : (B,) the objective before the first epoch
    offset : epochs of an earlier run, which only learning-rate schedules count
    seconds : time since training began
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
    """Return the settings that identify a run, without reading its data: names and values as text.

    The number of epochs is not among them, so a run can be resumed with more epochs.
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
    """Raise if a checkpoint has the fingerprint of another run, naming the difference."""
    if "fingerprint" not in arrays:
        raise ValueError(
            "The arrays to resume from are not a checkpoint: they have no fingerprint. "
            "Pass what progress.checkpoint() returned."
        )
    there, now = ({str(k): str(v) for k, v in a["fingerprint"]} for a in (arrays, here))
    for name in now:
        theirs, ours = there.get(name, "none"), now[name]
        if theirs != ours:
            short = len(theirs + ours) <= SHOWN
            quoted = f" (checkpoint: {theirs}, this run: {ours})" if short else ""
            raise ValueError(
                f"The checkpoint belongs to another run: {name} differs{quoted}. Resume with the "
                "solver, objective and start of that run, or start again without resume."
            )


def pack_snapshot(at: Snapshot) -> dict[str, Array]:
    """Return the snapshot as new arrays, without what a pass over the data can restore."""
    return to_arrays(_SNAPSHOT.pack(at))


def if_readable(arrays: dict[str, Array] | None) -> dict[str, Array] | None:
    """Return the arrays, or None if an earlier version wrote them; the run then starts again.

    A run that starts again ends the same. Up to version 0.1.0, a checkpoint had no packed text.
    """
    return arrays if arrays is not None and TREE in arrays else None


def unpack_snapshot(arrays: Mapping[str, Array], objective: Objective) -> Snapshot:
    """Return the packed snapshot, evaluated again with the objective of all models."""
    try:
        at: Snapshot = _SNAPSHOT.unpack(from_arrays(arrays), "run")
    except ValueError as error:
        raise ValueError(
            f"The checkpoint is damaged or of another version: {error} Start again without resume."
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
    """Return whether all parts are for the same number of models, with numbers of the batch."""
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
    return {**vars(at), "watch": at.running_models}  # the name used in files


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
).such_that(_is_of_one_batch, "have parts for one batch of models")
