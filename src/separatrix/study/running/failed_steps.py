"""Repeat the first epochs of a run that failed, and follow its steps until it leaves the valley."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.pictures import FailedSteps
from separatrix.training import History, Interrupted, Progress, train
from separatrix.training.batching import batch_penalty, batch_start

POINTS = 8  # steps that are shown
SAMPLES = 41  # positions on the line
RISEN = 2.0  # multiple of the start that counts as far above it
NEAR, MORE = 20.0, 4  # up to this multiple of the start, so many more steps are shown
CLEAR = 0.05  # a relative rise from one epoch to the next that can be seen in a picture
LEAST_EPOCHS, SHARE = 12, 0.02  # the epochs repeated, at most this share of those trained


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
    trained = sum(
        max(planned.tasks[t].stop.epochs[0][0] for t in same) for same in _models(planned)
    )
    if last is None or last > max(LEAST_EPOCHS, SHARE * trained):
        return None
    path = [start, *_repeat(planned, run, last)]
    if len(path) <= last:
        return None
    shown = path[max(last - POINTS, 0) :]
    epochs = np.arange(last + 1)[-len(shown) :]
    values = np.append(first, history["objective"])[epochs]
    return _on_a_line(objective, shown, epochs, values, planned, run)


def _last_epoch(objective: Array) -> int | None:
    """Return an epoch just after the objective rises far above the start, or else clearly."""
    far = np.flatnonzero(~(objective <= RISEN * objective[0]))
    clear = np.flatnonzero(objective[1:] > (1.0 + CLEAR) * np.abs(objective[:-1])) + 1
    found = far if len(far) else clear
    if not len(found):
        return None
    later = int(found[0])  # a few more steps show how the run goes on, while they stay near
    while later < min(found[0] + MORE, len(objective) - 1):
        if not objective[later + 1] <= NEAR * objective[0]:
            break
        later += 1
    return later


def _repeat(planned: StudyTasks, run: int, epochs: int) -> list[Model]:
    path: list[Model] = []

    def keep(progress: Progress) -> None:
        path.append(progress.weights())
        if len(path) >= epochs:
            raise Interrupted

    train([planned.tasks[run]], planned.data.select(np.array([run])), on_progress=keep)
    return path


def _on_a_line(
    objective: Objective,
    path: list[Model],
    epochs: Array,
    values: Array,
    planned: StudyTasks,
    run: int,
) -> FailedSteps | None:
    """Project the weights on the line through the last two of them, with its lowest point at 0."""
    before, after = path[-2].astype(np.float64), path[-1].astype(np.float64)
    step = after.plus(before, -1.0)
    length = float(np.sqrt(step.dot(step)[0]))
    if not (np.isfinite(length) and length > 0.0):
        return None
    along = step.times(np.array([1.0 / length]))
    positions = np.array(
        [float(model.astype(np.float64).plus(before, -1.0).dot(along)[0]) for model in path]
    )
    low, high = positions.min(), positions.max()
    line = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), SAMPLES)
    B = len(line)
    many = Model(np.repeat(before.W, B, axis=1), np.repeat(before.b, B, axis=0)).plus(
        Model(np.repeat(along.W, B, axis=1), np.repeat(along.b, B, axis=0)), line
    )
    found = _values_of_many(objective, many)
    task = planned.tasks[run]
    pace = task.solver.step_size(0, 1)
    configuration, seed = planned.plan.runs[run]
    several = getattr(task.solver, "batch_size", None) is not None
    finite = np.isfinite(found).all() and np.isfinite(values).all()
    if not finite:
        return None
    return FailedSteps(
        number=configuration,
        seed=seed,
        unit="epoch" if several else "step",
        rate=None if pace is None else float(pace.rate),
        stable_times=None if pace is None else float(pace.stable_times),
        epochs=epochs.astype(np.int32),
        positions=positions,
        objectives=values,
        line=line,
        line_objectives=found,
    )


@np.errstate(over="ignore", invalid="ignore")
def _values_of_many(objective: Objective, many: Model) -> Array:
    """Return the objective of many models with the same data and penalty."""
    return objective.select(np.zeros(many.n_models, int)).value(many)


def _models(planned: StudyTasks) -> Iterable[list[int]]:
    return (same for models in planned.sharing for same in models)


def _rate(planned: StudyTasks, run: int) -> float:
    pace = planned.tasks[run].solver.step_size(0, 1)
    return float("inf") if pace is None else float(pace.rate)
