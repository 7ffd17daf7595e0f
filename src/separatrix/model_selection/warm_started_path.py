"""Models along a path of penalties, each started from those already trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.training import Result, train
from separatrix.training.callbacks import OnProgress, renumbered
from separatrix.training.task import Task

STEPS = (8, 4, 2)  # between the points that are already trained, round by round
HALF = np.array([0.5])


def train_warm_started(
    tasks: Sequence[Task],
    paths: Sequence[Sequence[int]],
    data: Dataset,
    on_progress: OnProgress | None = None,
) -> list[Result]:
    """Train all tasks, those of each path in rounds.

    A path is the numbers of tasks that differ in the strength of their penalty, from strong to
    weak; every task is on one path. The points of a round, of all paths, are one batch. Those of
    the first round start where their tasks say, those of a later one half-way between the
    neighbours on their path that are already trained. With L1 this saves most of the work: the
    start has about the right weights at 0.
    """
    found: list[dict[int, Result]] = [{} for _ in paths]  # by place on the path
    for points in _rounds(max(map(len, paths), default=0)):
        batch = [(p, at) for p, path in enumerate(paths) for at in points if at < len(path)]
        numbers = [paths[p][at] for p, at in batch]
        starts = [_halfway(found[p], at) or tasks[k].start for k, (p, at) in zip(numbers, batch)]
        some = [replace(tasks[k], start=start) for k, start in zip(numbers, starts)]
        callback = renumbered(on_progress, numbers)
        results = train(some, data.select(np.array(numbers)), on_progress=callback)
        for (p, at), result in zip(batch, results):
            found[p][at] = result
    by_task = {path[at]: result for path, own in zip(paths, found) for at, result in own.items()}
    return [by_task[number] for number in range(len(tasks))]


def _rounds(n_points: int) -> list[range]:
    """Every eighth point, then those between them, and so on until all are there.

    >>> [list(points) for points in _rounds(10)]
    [[0, 8], [4], [2, 6], [1, 3, 5, 7, 9]]
    """
    halves = [(step // 2, step) for step in STEPS]
    return [range(k, n_points, step) for k, step in [(0, STEPS[0]), *halves] if k < n_points]


def _halfway(found: Mapping[int, Result], at: int) -> Model | None:
    """The mean of the nearest stronger and weaker points; the stronger one at the end."""
    if not found:
        return None
    stronger = found[max(other for other in found if other < at)].model
    weaker = [other for other in found if other > at]
    return stronger.plus(found[min(weaker)].model).times(HALF) if weaker else stronger
