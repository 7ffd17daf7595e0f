"""Repeat the first epochs of a run that failed, and compute the objective along its steps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.pictures import FailedSteps
from separatrix.training import History, Interrupted, Progress, train
from separatrix.training.batching import batch_penalty, batch_start

STEPS = 4  # steps that are shown, the last ones
SHARES = 13  # points of a step at which the objective is computed, with its two ends
RISEN = 2.0  # multiple of the start that counts as far above it
NEAR, MORE = 200.0, 3  # up to this multiple of the start, so many more steps are shown
CLEAR = 0.05  # a relative rise from one epoch to the next that can be seen in a picture
SMALL = 1 << 20  # entries of X up to which the time for all this does not matter
SHARE, PICTURE = 0.03, 20  # beyond, the share of the epochs trained, and the cost of the picture


def choose_failure(planned: StudyTasks, reasons: Mapping[int, str]) -> int | None:
    """Return the run whose failure explains most: the mildest that diverged, else oscillated.

    `reasons` has "diverged", "oscillating" or "ended_higher" for the runs (positions in the plan)
    that failed. The mildest has the smallest learning rate, and steps that are easy to follow.
    """
    for reason in ("diverged", "oscillating", "ended_higher"):
        runs = [run for run, found in reasons.items() if found == reason]
        if runs:
            return min(runs, key=lambda run: (_rate(planned, run), run))
    return None


def follow_steps(planned: StudyTasks, run: int, history: History) -> FailedSteps | None:
    """Return the steps of a run up to the one that rises, or None if that would take too long."""
    task = planned.tasks[run]
    if task.solver.name != "gradient":
        return None
    data = planned.data.select(np.array([run]))
    objective = Objective(data, task.loss, batch_penalty([task]), bias=task.bias)
    start = batch_start([task], objective)
    first = float(objective.value(start)[0])
    last = _last_epoch(np.append(first, history["objective"]))
    if last is None or not (_is_small(planned) or last + PICTURE <= SHARE * _epochs(planned)):
        return None
    path = [start, *_repeat(planned, run, last)]
    if len(path) <= last:
        return None
    shown = path[max(last - STEPS, 0) :]
    epochs = np.arange(last + 1)[-len(shown) :]
    values = np.append(first, history["objective"])[epochs]
    lengths, between = _between(objective, shown)
    between[:, 0], between[:, -1] = values[:-1], values[1:]
    if not (np.isfinite(lengths).all() and np.isfinite(between).all()):
        return None
    pace = task.solver.step_size(0, 1)
    return FailedSteps(
        *planned.plan.runs[run],
        unit="step" if getattr(task.solver, "batch_size", None) is None else "epoch",
        rate=None if pace is None else float(pace.rate),
        stable_times=None if pace is None else float(pace.stable_times),
        epochs=epochs.astype(np.int32),
        lengths=lengths,
        objectives=between,
    )


def _last_epoch(objective: Array) -> int | None:
    """Return an epoch just after the objective rises far above the start, or else clearly."""
    far = np.flatnonzero(~(objective <= RISEN * objective[0]))
    clear = np.flatnonzero(objective[1:] > (1.0 + CLEAR) * np.abs(objective[:-1])) + 1
    found = far if len(far) else clear
    if not len(found):
        return None
    # A few more steps show how the run goes on, while they stay near. It ends at the highest.
    rise = int(found[0])
    later = objective[rise : rise + MORE + 1]
    far = np.flatnonzero(~(later <= NEAR * objective[0]))
    near = later[: max(int(far[0]), 1)] if len(far) else later
    return rise + (int(near.argmax()) if len(near) > 1 else 0)


def _repeat(planned: StudyTasks, run: int, epochs: int) -> list[Model]:
    path: list[Model] = []

    def keep(progress: Progress) -> None:
        path.append(progress.weights())
        if len(path) >= epochs:
            raise Interrupted

    train([planned.tasks[run]], planned.data.select(np.array([run])), on_progress=keep)
    return path


@np.errstate(over="ignore", invalid="ignore")
def _between(objective: Objective, path: list[Model]) -> tuple[Array, Array]:
    """Return the length of every step (k,), and the objective along it, (k, SHARES)."""
    points = [model.astype(np.float64) for model in path]
    moves = [after.plus(before, -1.0) for before, after in pairwise(points)]
    lengths = np.array([float(np.sqrt(move.dot(move)[0])) for move in moves])
    inside = np.linspace(0.0, 1.0, SHARES)[1:-1]
    many = Model.stack(
        [before.plus(move, float(s)) for before, move in zip(points, moves) for s in inside]
    )
    # All have the data and the penalty of the same run.
    found = objective.select(np.zeros(many.n_models, int)).value(many)
    values = np.empty((len(moves), SHARES))
    values[:, 1:-1] = found.reshape(len(moves), -1)
    return lengths, values


def _is_small(planned: StudyTasks) -> bool:
    return planned.data.facts.n_entries <= SMALL


def _epochs(planned: StudyTasks) -> int:
    """Return the number of epochs of all models."""
    models = (same for models in planned.sharing for same in models)
    return sum(max(planned.tasks[t].stop.epochs[0][0] for t in same) for same in models)


def _rate(planned: StudyTasks, run: int) -> float:
    pace = planned.tasks[run].solver.step_size(0, 1)
    return float("inf") if pace is None else float(pace.rate)
