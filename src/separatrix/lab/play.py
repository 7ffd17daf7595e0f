"""Training for the playground: many models on the same points, epoch by epoch.

The page plays the epochs that it holds and asks for more. Epochs are numbered from 0, the weights
before the first step. An epoch is one row of numbers, which the page gets as float32. For
every model it has the weights (d, K) feature by feature, the biases (K), and the numbers in
MEASURES.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import ParameterError
from separatrix.lab.settings import MOST_EPOCHS, PlaySettings
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solver_state import State
from separatrix.solvers import Solver
from separatrix.training.batching import batch_penalty, batch_start, share_passes
from separatrix.training.task import Task
from separatrix.verdict.certificate import Certificate, certify
from separatrix.verdict.diagnose import diagnose
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.smoothness import smoothness
from separatrix.verdict.trace import DIVERGED_EPOCHS, DIVERGED_TIMES, Trace

MEASURES = (
    "objective",
    "train_loss",
    "train_accuracy",
    "val_loss",
    "val_accuracy",
    "gradient_norm",
)
MOST_BYTES = 64_000_000  # of the epochs kept for one play
LARGEST = float(np.finfo(np.float32).max)  # that the page can hold


@dataclass
class _Batch:
    """Models that share a pass, and their current state."""

    members: list[int]
    tasks: list[Task]
    solver: Solver
    objective: Objective
    validation: Objective | None
    start: Model
    state: State


@dataclass(frozen=True)
class _Run:
    """A model's measures, its last epoch that counts, and the epoch of its last sane weights."""

    measures: dict[str, Array]
    last: int
    kept: int
    diverged: bool


class Judgement(NamedTuple):
    """What is known about a model at an epoch.

    `safe_rate` is the learning rate up to which it is certain to be stable, if that is known.
    """

    certificate: Certificate
    diagnoses: list[Diagnosis]
    safe_rate: float | None


@dataclass(frozen=True)
class Place:
    """Where a model's numbers are in an epoch's row."""

    batch: int
    column: int
    offset: int
    outputs: int


class Play:
    """Models in training, with all their epochs so far.

    >>> from separatrix.lab.settings import read_settings
    >>> settings = read_settings({"models": [{}, {"learning_rate": 1.0}]}, lambda key: None)
    >>> play = Play(settings)
    >>> play.epochs(0, 11).shape
    (11, 18)
    """

    def __init__(self, settings: PlaySettings) -> None:
        self.settings = settings
        points = settings.points
        self.features = settings.features.of(points.X)
        classes = np.array(points.classes)
        train = points.train
        self.data = Dataset.of(
            np.ascontiguousarray(self.features[train]), points.y[train], classes=classes
        )
        held_out = None
        if not train.all():
            held_out = Dataset.of(
                np.ascontiguousarray(self.features[~train]), points.y[~train], classes=classes
            )
        tasks = [model._make_task(self.data) for model in settings.models]
        self.batches = [
            _start_batch(tasks, [own for same in runs for own in same], self.data, held_out)
            for runs in share_passes(tasks, own_rows=True)
        ]
        self.places = self._find_places(len(tasks))
        self._rows: list[Array] = [self._row()]

    @property
    def width(self) -> int:
        """The number of numbers of an epoch."""
        last = self.places[-1]
        return last.offset + (self.data.n_features + 1) * last.outputs + len(MEASURES)

    def epochs(self, first: int, count: int) -> Array:
        """Return the epochs from `first` on as an array (count, width); trains as far as needed."""
        most = min(MOST_EPOCHS, MOST_BYTES // (8 * self.width))
        if not 0 <= first <= most:
            raise ParameterError(
                f"'from' must be from 0 to {most}, the last epoch of this play. Got {first} "
                "instead. Use fewer models or features for more epochs.",
                parameter="from",
            )
        last = min(first + count, most + 1)
        with np.errstate(all="ignore"):  # models may diverge
            while len(self._rows) < last:
                for batch in self.batches:
                    batch.state = batch.solver.step(batch.objective, batch.state)
                self._rows.append(self._row())
        return np.stack(self._rows[first:last])

    def measures(self, model: int, last: int) -> dict[str, Array]:
        """Return the measures of a model, from epoch 0 to `last`."""
        place = self.places[model]
        at = place.offset + (self.data.n_features + 1) * place.outputs
        table = self.epochs(0, last + 1)[:, at : at + len(MEASURES)]
        return dict(zip(MEASURES, table.T))

    def weights(self, model: int, epoch: int) -> Model:
        """Return the weights of a model after an epoch."""
        place, d = self.places[model], self.data.n_features
        row = self.epochs(epoch, 1)[0]
        W = row[place.offset : place.offset + d * place.outputs]
        b = row[place.offset + d * place.outputs :][: place.outputs]
        return Model(W.reshape(d, 1, place.outputs).copy(), b[None].copy())

    def objective(self, model: int) -> Objective:
        place = self.places[model]
        return self.batches[place.batch].objective.select(np.array([place.column]))

    def judge(self, epoch: int) -> list[Judgement]:
        """Return a judgement of every model, as if training had ended here.

        A diverged model is judged where it diverged. Its certificate is that of its last weights
        with a reasonable objective.
        """
        out: dict[int, Judgement] = {}
        for batch in self.batches:
            descends, held_out = batch.solver.descends, batch.validation
            runs = [self._run(member, epoch, descends) for member in batch.members]
            models = [self.weights(member, run.kept) for member, run in zip(batch.members, runs)]
            certificates = certify(batch.objective, Model.stack(models))
            traces = [
                Trace(
                    history={name: a[1 : run.last + 1] for name, a in run.measures.items()},
                    start=float(run.measures["objective"][0]),
                    stop_reason="diverged" if run.diverged else "epochs",
                    step_size=batch.solver.step_size(column, max(run.last, 1)),
                    certificate=certificate,
                    descends=descends,
                    kept_epoch=run.kept,
                    val_rows=math.inf if held_out is None else held_out.data.n_samples,
                )
                for column, (run, certificate) in enumerate(zip(runs, certificates))
            ]
            found = diagnose(
                batch.objective,
                models,
                traces,
                start=batch.start.select,
                features=self.settings.features.names,
            )
            rates = _safe_rates(batch, Model.stack(models), traces)
            out |= dict(zip(batch.members, map(Judgement, certificates, found, rates)))
        return [out[m] for m in range(len(self.places))]

    def _run(self, member: int, epoch: int, descends: bool) -> _Run:
        measures = self.measures(member, epoch)
        objective = measures["objective"]
        since = diverged_at(objective, descends)
        if since is None:
            return _Run(measures, epoch, epoch, False)
        return _Run(measures, since, int(np.flatnonzero(_is_sane(objective, descends))[-1]), True)

    def _find_places(self, count: int) -> list[Place]:
        at = {
            member: (b, column)
            for b, batch in enumerate(self.batches)
            for column, member in enumerate(batch.members)
        }
        places, offset = [], 0
        for model in range(count):
            b, column = at[model]
            outputs = self.batches[b].state.model.n_outputs
            places.append(Place(b, column, offset, outputs))
            offset += (self.data.n_features + 1) * outputs + len(MEASURES)
        return places

    def _row(self) -> Array:
        """Return the present weights and measures of all models in one row."""
        measured = [_measure(batch) for batch in self.batches]
        row = np.empty(self.width)
        for place in self.places:
            model = self.batches[place.batch].state.model
            parts = (
                model.W[:, place.column].ravel(),
                model.b[place.column],
                [values[place.column] for values in measured[place.batch]],
            )
            numbers = np.concatenate(parts)
            row[place.offset : place.offset + len(numbers)] = numbers
        row[np.abs(row) > LARGEST] = np.inf  # as on the page
        return row


def _start_batch(
    tasks: list[Task], members: list[int], data: Dataset, held_out: Dataset | None
) -> _Batch:
    own = [tasks[m] for m in members]
    loss, bias = own[0].loss, own[0].bias
    objective = Objective(data, loss, batch_penalty(own), bias=bias)
    validation = None
    if held_out is not None:
        validation = Objective(held_out, loss, ElasticNet(0.0, 0.0), bias=bias)
    start = batch_start(own, objective)
    solver = own[0].solver.join([task.solver for task in own])
    state = solver.start(objective, start)
    return _Batch(members, own, solver, objective, validation, start, state)


def _safe_rates(batch: _Batch, model: Model, traces: list[Trace]) -> list[float | None]:
    """Return the rates that are certain to be stable; with mini-batches there are none."""
    L = smoothness(batch.objective, model)
    return [
        None
        if L is None or trace.step_size is None or trace.is_noisy() or not L[k] > 0.0
        else float(trace.step_size.safe_rate(L[k]))
        for k, trace in enumerate(traces)
    ]


def _measure(batch: _Batch) -> tuple[Any, ...]:
    """Return the MEASURES of a batch, (B,) each."""
    found, model = batch.state.found, batch.state.model
    val_loss = val_accuracy = np.full(model.n_models, np.nan)
    if batch.validation is not None:
        val_loss, val_accuracy = batch.validation.loss_and_accuracy(model)
    return (found.value, found.loss, found.accuracy, val_loss, val_accuracy, found.gradient_norm)


def diverged_at(objective: Array, descends: bool = True) -> int | None:
    """Return the epoch at which a model counts as diverged, by the rule of the training loop.

    The objective of a solver that does not descend, such as mini-batches, may rise by any amount.

    >>> diverged_at(np.array([1.0, 0.5, np.inf])), diverged_at(np.array([1.0, 0.5]))
    (2, None)
    """
    run = 0
    for epoch, (sane, value) in enumerate(zip(_is_sane(objective, descends), objective)):
        run = 0 if sane else run + 1
        if run >= DIVERGED_EPOCHS or not np.isfinite(value):
            return epoch
    return None


def _is_sane(objective: Array, descends: bool) -> Array:
    """Return which epochs have a finite objective that is not far above the first positive one."""
    with np.errstate(invalid="ignore"):
        positive = objective[objective > 0.0]
        limit = DIVERGED_TIMES * positive[0] if descends and len(positive) else np.inf
        return np.asarray(np.isfinite(objective) & (objective <= limit))
