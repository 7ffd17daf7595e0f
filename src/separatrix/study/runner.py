"""Making the runs of a study, batch by batch, so that nothing is lost whenever it ends.

A batch that is done is stored as a whole; of the batch that is being trained, a checkpoint is
stored about every second, and never so often that it costs more than a tenth of the time. Which
moment that is changes no bit of what is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from separatrix.matrix import Array
from separatrix.study.grid import Configuration, values_of
from separatrix.study.logs.log import Logs
from separatrix.study.measuring import measure
from separatrix.study.plan import Plan, Work
from separatrix.study.store.database import Store
from separatrix.study.store.writer import Writer
from separatrix.training import Interrupted, Progress, train
from separatrix.training.callbacks import Told, epochs_of
from separatrix.training.checkpoint import if_readable

EVERY = 1.0  # seconds between checkpoints
SHARE = 0.1  # of the time, that checkpoints may take
WATCH = 0.1  # seconds between two looks of those who watch


@dataclass(frozen=True)
class Standing:
    """Where a study stands, for those who watch it.

    Attributes
    ----------
    share : of the work that is done, 0 to 1
    runs, running, done, diverged : how many there are, are being trained, are over, have diverged;
        the last are those that ended so, in earlier sessions too
    best : what varies of the best configuration so far, its validation accuracy and loss (training,
        if there are no validation rows); None before there is one
    seconds : since this session began
    """

    share: float
    runs: int
    running: int
    done: int
    diverged: int
    best: tuple[Configuration, float, float] | None
    seconds: float


OnStanding = Callable[[Standing], None]


class _End(Exception):  # noqa: N818 (nothing is wrong)
    """A callback wants the study to end: its runs are not done, unlike those of a fit."""

    def __init__(self, by: Interrupted) -> None:
        super().__init__()
        self.by = by


def make_runs(
    plan: Plan,
    work: Work,
    writer: Writer,
    logs: Logs,
    on_standing: OnStanding | None = None,
    every: float = EVERY,
) -> None:
    """Make all runs of a study that its store lacks."""
    session = _Session(plan, work, writer, logs, on_standing, every)
    try:
        for batch, runs in stored_batches(writer.store, writer.study, plan).items():
            session.train(batch, runs)
    except _End as end:
        raise end.by from None
    writer.finish()


def stored_batches(store: Store, study: int, plan: Plan) -> dict[int, list[int]]:
    """The batches that are not done, with the numbers of their runs."""
    numbers = {run: k for k, run in enumerate(plan.runs())}
    rows = store.rows(
        "SELECT configuration, seed, batch FROM runs WHERE study = ? AND found IS NULL "
        "ORDER BY batch, configuration, seed",
        (study,),
    )
    batches: dict[int, list[int]] = {}
    for row in rows:
        batches.setdefault(row["batch"], []).append(numbers[row["configuration"], row["seed"]])
    return {batch: sorted(runs) for batch, runs in batches.items()}


def _stored_divergences(store: Store, study: int, plan: Plan) -> Array:
    """Which of all runs are stored as diverged."""
    numbers = {run: k for k, run in enumerate(plan.runs())}
    out = np.zeros(len(numbers), bool)
    for row in store.rows(
        "SELECT id, configuration, seed, found FROM runs WHERE study = ? AND found IS NOT NULL",
        (study,),
    ):
        found = store.values(row["found"], f"run {row['id']}")
        out[numbers[row["configuration"], row["seed"]]] = found["stop_reason"] == "diverged"
    return out


@dataclass(eq=False)
class _Session:
    plan: Plan
    work: Work
    writer: Writer
    logs: Logs
    on_standing: OnStanding | None
    every: float
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.counted = self.began  # up to when the time is in the store
        self.next_checkpoint = self.began + self.every
        lengths = [task.stop.epochs[0][0] for task in self.work.tasks]
        self.lengths = np.array(lengths, float)
        self.told = [
            Told(configuration, seed, self.plan.chosen[configuration], length)
            for (configuration, seed), length in zip(self.plan.runs(), lengths)
        ]
        batches = stored_batches(self.writer.store, self.writer.study, self.plan)
        waiting = [run for runs in batches.values() for run in runs]
        self.over = np.ones(len(lengths), bool)
        self.over[waiting] = False
        self.diverged = _stored_divergences(self.writer.store, self.writer.study, self.plan)
        self.next_watch = 0.0
        self.best: tuple[Configuration, float, float] | None = None
        values = values_of(self.plan.chosen)
        # Runs that differ in their epochs alone are one until they end.
        self.varied = [name for name in values if len(values[name]) > 1 and name != "epochs"]

    def train(self, batch: int, runs: list[int]) -> None:
        """Train one batch, from its checkpoint if there is one, and store what it finds."""
        work, chosen = self.work, np.array(runs)
        told = [self.told[run] for run in runs]

        def on_record(progress: Progress) -> None:
            try:
                if self.logs:
                    self.logs.tell(epochs_of(progress, told))
                self._watch(progress, runs)
            except BaseException as error:  # who watches wants it to end: nothing shall be lost
                self._checkpoint(batch, progress)
                if isinstance(error, Interrupted):  # by which a fit alone would keep its model
                    raise _End(error) from None
                raise
            if time.perf_counter() >= self.next_checkpoint:
                self._checkpoint(batch, progress)

        results = train(
            [work.tasks[run] for run in runs],
            work.data.select(chosen),
            work.validation,
            on_record=on_record,
            resume=if_readable(self.writer.last_checkpoint(batch)),
        )
        found = measure(self.plan, work, runs, results)
        self.logs.flush()
        self.writer.finish_batch(batch, found, self._time_spent())
        self.over[chosen] = True
        self.diverged[chosen] = [result.stop_reason == "diverged" for result in results]
        self._tell(runs, np.zeros(len(self.over), bool), 0)  # some ended since the last look

    def _checkpoint(self, batch: int, progress: Progress) -> None:
        began = time.perf_counter()
        self.logs.flush()
        self.writer.checkpoint(batch, progress.epoch, progress.checkpoint(), self._time_spent())
        ended = time.perf_counter()
        self.next_checkpoint = ended + max(self.every, (ended - began) / SHARE)

    def _time_spent(self) -> float:
        """The seconds since this was last asked."""
        now = time.perf_counter()
        spent, self.counted = now - self.counted, now
        return spent

    def _watch(self, progress: Progress, runs: list[int]) -> None:
        """Tell who watches, a few times a second."""
        if self.on_standing is None or time.perf_counter() < self.next_watch:
            return
        self.next_watch = time.perf_counter() + WATCH
        self._follow_best(progress, runs)
        going = np.zeros(len(self.over), bool)
        ended = progress.ended()
        for model, same in enumerate(progress.members):
            for run in (runs[t] for t in same):
                reason = ended.get((model, int(self.lengths[run])))
                going[run] = reason is None
                self.diverged[run] = reason == "diverged"
        self._tell(runs, going, progress.epoch)

    def _tell(self, runs: list[int], going: Array, epoch: int) -> None:
        """Tell who watches where the runs of a batch stand: which are going, at which epoch."""
        if self.on_standing is None:
            return
        begun = self.over.copy()
        begun[runs] = True
        made = np.where(going, epoch, self.lengths)
        self.on_standing(
            Standing(
                share=float(made[begun].sum() / self.lengths.sum()),
                runs=len(self.over),
                running=int(going.sum()),
                done=int((begun & ~going).sum()),
                diverged=int(self.diverged.sum()),
                best=self.best,
                seconds=time.perf_counter() - self.began,
            )
        )

    def _follow_best(self, progress: Progress, runs: list[int]) -> None:
        records = progress.records
        by_validation = self.work.validation is not None
        accuracy = records["val_accuracy" if by_validation else "train_accuracy"]
        loss = records["val_loss" if by_validation else "train_loss"]
        known = np.flatnonzero(np.isfinite(loss) & np.isfinite(accuracy))
        if not len(known):
            return
        k = known[np.lexsort((loss[known], -accuracy[known]))[0]]
        merit = float(accuracy[k]), -float(loss[k])
        if self.best is None or merit > (self.best[1], -self.best[2]):
            member = runs[progress.members[progress.running[k]][0]]
            chosen = self.plan.chosen[self.plan.runs()[member][0]]
            shown = {name: chosen[name] for name in self.varied if name in chosen}
            self.best = shown, float(accuracy[k]), float(loss[k])
