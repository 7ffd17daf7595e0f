"""The progress of a study, for progress bars and callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from separatrix.matrix import Array
from separatrix.study.planning.grid import Configuration
from separatrix.study.planning.tasks import StudyTasks
from separatrix.training import Progress

INTERVAL = 0.1  # seconds between two calls


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study.

    Attributes
    ----------
    share : the completed fraction of all epochs, from 0 to 1
    runs, running, done, diverged : the number of runs in total, in training, finished and diverged.
        `done` and `diverged` include earlier sessions
    best : the varied parameters of the best configuration so far, its validation accuracy and its
        validation loss (training accuracy and loss if there are no validation rows). None before
        the first result
    seconds : the time since this session started
    """

    share: float
    runs: int
    running: int
    done: int
    diverged: int
    best: tuple[Configuration, float, float] | None
    seconds: float


OnStudyProgress: TypeAlias = Callable[[StudyProgress], None]


class ProgressTracker:
    """Count the runs of a study, and call `on_progress` a few times a second."""

    def __init__(
        self,
        planned: StudyTasks,
        pending: Iterable[int],
        diverged: Sequence[int],
        on_progress: OnStudyProgress | None,
    ) -> None:
        self.planned, self.on_progress = planned, on_progress
        self.began, self.next_call = time.perf_counter(), 0.0
        self.lengths = np.array([task.stop.epochs[0][0] for task in planned.tasks], float)
        self.done = np.ones(len(self.lengths), bool)
        self.done[list(pending)] = False
        self.diverged = np.zeros(len(self.lengths), bool)
        self.diverged[list(diverged)] = True
        self.best: tuple[Configuration, float, float] | None = None
        # Runs that differ only in their epochs are the same until they end.
        values = planned.plan.values
        self.varied = [name for name in values if len(values[name]) > 1 and name != "epochs"]

    def after_epoch(self, progress: Progress, runs: Sequence[int]) -> None:
        """Report an epoch of a batch, unless the last call was less than INTERVAL ago."""
        if self.on_progress is None or time.perf_counter() < self.next_call:
            return
        self.next_call = time.perf_counter() + INTERVAL
        self._update_best(progress, runs)
        running = np.zeros(len(self.done), bool)
        ended = progress.ended()
        for model, members in enumerate(progress.members):
            for run in (runs[member] for member in members):
                reason = ended.get((model, int(self.lengths[run])))
                running[run] = reason is None
                self.diverged[run] = reason == "diverged"
        self._report(runs, running, progress.epoch)

    def after_batch(self, runs: Sequence[int], diverged: Sequence[bool]) -> None:
        """Report that all runs of a batch are finished."""
        self.done[runs] = True
        self.diverged[runs] = diverged
        self._report(runs, np.zeros(len(self.done), bool), 0)

    def _report(self, runs: Sequence[int], running: Array, epoch: int) -> None:
        if self.on_progress is None:
            return
        begun = self.done.copy()
        begun[runs] = True
        epochs = np.where(running, epoch, self.lengths)
        self.on_progress(
            StudyProgress(
                share=float(epochs[begun].sum() / self.lengths.sum()),
                runs=len(self.done),
                running=int(running.sum()),
                done=int((begun & ~running).sum()),
                diverged=int(self.diverged.sum()),
                best=self.best,
                seconds=time.perf_counter() - self.began,
            )
        )

    def _update_best(self, progress: Progress, runs: Sequence[int]) -> None:
        part = "train" if self.planned.validation is None else "val"
        accuracy, loss = progress.records[f"{part}_accuracy"], progress.records[f"{part}_loss"]
        known = np.flatnonzero(np.isfinite(loss) & np.isfinite(accuracy))
        if not len(known):
            return
        k = known[np.lexsort((loss[known], -accuracy[known]))[0]]
        merit = float(accuracy[k]), -float(loss[k])
        if self.best is None or merit > (self.best[1], -self.best[2]):
            run = runs[progress.members[progress.running[k]][0]]
            plan = self.planned.plan
            configuration = plan.configurations[plan.runs[run].configuration]
            shown = {name: configuration[name] for name in self.varied if name in configuration}
            self.best = shown, float(accuracy[k]), float(loss[k])
