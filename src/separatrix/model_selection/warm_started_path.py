"""Training along a path of penalties with warm starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.training import Result, train
from separatrix.training.recording.callbacks import OnProgress, renumbered
from separatrix.training.task import Task

STEPS = (8, 4, 2)  # distance of the points that are already trained, in each round
HALF = np.array([0.5])


def train_warm_started(
    tasks: Sequence[Task],
    paths: Sequence[Sequence[int]],
    data: Dataset,
    on_progress: OnProgress | None = None,
) -> list[Result]:
    """Train all tasks along their paths, in rounds.

    A path holds the numbers of tasks that differ only in the strength of the penalty, from strong
    to weak. Every task is on one path. The points of all paths in a round are one batch. In the
    first round, tasks start from their own start. Later, they start from the mean of the
    neighbours on the path that are already trained. With L1 this saves most of the work, because
    the start already has about the right weights at 0.
    """
    found: list[dict[int, Result]] = [{} for _ in paths]  # by position on the path
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
    """Return every eighth point, then the points halfway between, and so on.

    >>> [list(points) for points in _rounds(10)]
    [[0, 8], [4], [2, 6], [1, 3, 5, 7, 9]]
    """
    halves = [(step // 2, step) for step in STEPS]
    return [range(k, n_points, step) for k, step in [(0, STEPS[0]), *halves] if k < n_points]


def _halfway(found: Mapping[int, Result], at: int) -> Model | None:
    """Return the mean of the neighbours with stronger and weaker penalty.

    At the end of the path, this is the stronger neighbour. In the first round, it is None.
    """
    if not found:
        return None
    stronger = found[max(other for other in found if other < at)].model
    weaker = [other for other in found if other > at]
    return stronger.plus(found[min(weaker)].model).times(HALF) if weaker else stronger
