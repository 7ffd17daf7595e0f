"""Train the runs of a study batch by batch, so that nothing is lost if it is interrupted.

A finished batch is stored as a whole. During training, a checkpoint is stored about every second,
or less often if checkpoints would take more than a tenth of the time. The times of the checkpoints
do not change the results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from separatrix.matrix import Array
from separatrix.study.logs.log import Logs
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.run_records import record_runs
from separatrix.study.running.progress import OnStudyProgress, ProgressTracker
from separatrix.study.running.study_pictures import make_pictures
from separatrix.study.running.weight_frames import FrameRecorder
from separatrix.study.store.live_runs import LIVE
from separatrix.study.store.writer import StudyWriter
from separatrix.training import Interrupted, Progress, train
from separatrix.training.checkpoint import if_readable
from separatrix.training.recording.callbacks import RunLabel, epochs_of

CHECKPOINT_INTERVAL = 1.0  # seconds between checkpoints
CHECKPOINT_SHARE = 0.1  # largest fraction of the time for checkpoints


def train_runs(
    planned: StudyTasks,
    writer: StudyWriter,
    logs: Logs,
    on_progress: OnStudyProgress | None = None,
    every: float = CHECKPOINT_INTERVAL,
) -> None:
    """Train all runs of a study that are not stored yet, and store the results."""
    number: dict[tuple[int, int], int] = {run: k for k, run in enumerate(planned.plan.runs)}
    batches = {
        batch: sorted(number[run] for run in runs)
        for batch, runs in writer.pending_batches().items()
    }
    tracker = ProgressTracker(
        planned,
        [run for runs in batches.values() for run in runs],
        [number[run] for run, why in writer.failed_runs().items() if why == "diverged"],
        on_progress,
    )
    session = _Session(planned, writer, logs, tracker, every)
    try:
        for batch, runs in batches.items():
            session.train_batch(batch, runs)
    except _StudyInterrupted as interrupted:
        raise interrupted.by from None
    writer.finish(make_pictures(planned, writer), session.time_spent())


class _StudyInterrupted(Exception):  # noqa: N818 (not an error)
    """A callback stopped the study. Unlike in a fit, its runs are not finished."""

    def __init__(self, by: Interrupted) -> None:
        super().__init__()
        self.by = by


@dataclass(eq=False)
class _Session:
    """One call of `Study.run`: trains and stores batches, and measures the time."""

    planned: StudyTasks
    writer: StudyWriter
    logs: Logs
    tracker: ProgressTracker
    every: float

    def __post_init__(self) -> None:
        self.stored_until = time.perf_counter()  # the store includes the time up to here
        self.next_checkpoint = self.stored_until + self.every

    def train_batch(self, batch: int, runs: list[int]) -> None:
        """Train one batch, from its checkpoint if there is one, and store the results."""
        planned, frames = self.planned, FrameRecorder(self.planned, runs)
        labels = [self._label(run) for run in runs]

        def after_epoch(progress: Progress) -> None:
            try:
                frames.after_epoch(progress)
                if self.logs:
                    self.logs.tell(epochs_of(progress, labels))
                self.tracker.after_epoch(progress, runs)
            except BaseException as error:  # save the progress before the study stops
                self._checkpoint(batch, runs, progress, frames)
                if isinstance(error, Interrupted):  # `train` would treat it as the end of a fit
                    raise _StudyInterrupted(error) from None
                raise
            if time.perf_counter() >= self.next_checkpoint:
                self._checkpoint(batch, runs, progress, frames)

        checkpoint = if_readable(self.writer.last_checkpoint(batch))
        frames.restore(checkpoint)
        results = train(
            [planned.tasks[run] for run in runs],
            planned.data.select(np.array(runs)),
            planned.validation,
            on_progress=after_epoch,
            resume=checkpoint,
        )
        records = record_runs(planned, runs, results, frames.found())
        self.logs.flush()
        self.writer.finish_batch(batch, records, self.time_spent())
        self.tracker.after_batch(runs, [result.stop_reason == "diverged" for result in results])

    def _label(self, run: int) -> RunLabel:
        plan, (configuration, seed) = self.planned.plan, self.planned.plan.runs[run]
        epochs = self.planned.tasks[run].stop.epochs[0][0]
        return RunLabel(configuration, seed, plan.configurations[configuration], epochs)

    def _checkpoint(
        self, batch: int, runs: list[int], progress: Progress, frames: FrameRecorder
    ) -> None:
        began = time.perf_counter()
        self.logs.flush()
        arrays = progress.checkpoint() | frames.to_arrays() | {LIVE: self._models(runs, progress)}
        self.writer.checkpoint(batch, progress.epoch, arrays, self.time_spent())
        ended = time.perf_counter()
        self.next_checkpoint = ended + max(self.every, (ended - began) / CHECKPOINT_SHARE)

    def _models(self, runs: list[int], progress: Progress) -> Array:
        """Return configuration, seed, model and number of epochs of every run in training."""
        plan, tasks = self.planned.plan, self.planned.tasks
        return np.array(
            [
                (*plan.runs[runs[member]], model, tasks[runs[member]].stop.epochs[0][0])
                for model, members in enumerate(progress.members)
                for member in members
            ],
            np.int64,
        ).reshape(-1, 4)

    def time_spent(self) -> float:
        """Return the seconds since the last call."""
        now = time.perf_counter()
        spent, self.stored_until = now - self.stored_until, now
        return spent
