"""The progress bar of fits, which follows their duality gaps, and the handling of Ctrl-C."""

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from separatrix.cli.output import Output


class FitProgress:
    """A callback that shows the progress of fits and stops them after Ctrl-C.

    After the first Ctrl-C, the current iteration is completed and the models are kept. A second one
    stops immediately, and so does one before the end of the first iteration.
    """

    def __init__(self, output: Output, what: str, tol: float, count: int, things: str) -> None:
        self.line = _ProgressBar(output, what, tol, count, things)
        self.begun = self.asked = False

    def __call__(self, progress: Any) -> None:
        from separatrix.training import Interrupted

        self.begun = True
        self.line.show(progress)
        if self.asked:
            raise Interrupted

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a Ctrl-C."""
        if self.asked or not self.begun:
            raise KeyboardInterrupt
        self.asked = True
        tell_ending(self.line.bar, "iteration")


def tell_ending(bar: Any, what: str) -> None:
    """Show on the progress bar, if there is one, that training stops after this iteration.

    This function does not draw, since the signal may have arrived while the bar was being drawn.
    """
    for task in [] if bar is None else bar.tasks:
        task.description = f"stopping after this {what}; Ctrl-C again: now"


@contextmanager
def show_fit_progress(
    output: Output, what: str, tol: float, count: int = 1, things: str = "models"
) -> Iterator[FitProgress]:
    """Show the progress of `count` fits; `asked` is true afterwards if Ctrl-C was pressed."""
    progress = FitProgress(output, what, tol, count, things)
    before = signal.signal(signal.SIGINT, progress.ask)
    try:
        with progress.line:
            yield progress
    finally:
        signal.signal(signal.SIGINT, before)


class ProofProgress:
    """A callback of a certified search, which shows the share of the interval that is proven."""

    def __init__(self, output: Output) -> None:
        self.asked = False
        self.bar: Any = None
        if output.is_live:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = TextColumn("Proving"), BarColumn(20), TextColumn("{task.description}")
            self.bar = Progress(*columns, TimeElapsedColumn(), console=output.err, transient=True)
            self.task = self.bar.add_task("the first fits", total=1.0)

    def __call__(self, progress: Any) -> None:
        from separatrix.training import Interrupted

        if self.bar is not None:
            share = f"{100.0 * progress.proven:.3g} % of the interval is proven"
            where = f"{share}, {progress.n_points} values of C"
            self.bar.update(self.task, completed=progress.proven, description=where)
        if self.asked:
            raise Interrupted

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a Ctrl-C: the first one waits for the end of the batch, the second does not."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        tell_ending(self.bar, "batch")


@contextmanager
def show_proof_progress(output: Output) -> Iterator[ProofProgress]:
    """Show the progress of a certified search."""
    progress = ProofProgress(output)
    before = signal.signal(signal.SIGINT, progress.ask)
    try:
        if progress.bar is not None:
            progress.bar.start()
        yield progress
    finally:
        if progress.bar is not None:
            progress.bar.stop()
        signal.signal(signal.SIGINT, before)


class _ProgressBar:
    """The progress bar, which is drawn only in a terminal."""

    def __init__(self, output: Output, what: str, tol: float, count: int, things: str) -> None:
        self.things = things
        self.ways = [_ModelProgress(tol) for _ in range(count)]
        self.batch: Any = None
        self.bar: Any = None
        if output.is_live:
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                TextColumn(what),
                BarColumn(20),
                TextColumn("{task.description}", markup=False),
            )
            times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("left")
            self.bar = Progress(*columns, *times, console=output.err, transient=True)
            self.task = self.bar.add_task("" if count == 1 else self._counted(), total=count)

    def __enter__(self) -> None:
        if self.bar is not None:
            self.bar.start()

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, progress: Any) -> None:
        if self.bar is None:
            return
        if self.batch is not None and self.batch != progress.members:
            self._end(self.batch, ())  # a new batch: all fits of the last one are done
        self.batch = progress.members
        self._end(progress.members, progress.running.tolist())
        for place, gap in zip(progress.running.tolist(), progress.gap.tolist()):
            for number in progress.members[place]:
                self.ways[number].go(gap, progress.epoch / progress.epochs)
        where = self._counted() if len(self.ways) > 1 else self._iteration(progress)
        done = sum(way.share for way in self.ways)
        self.bar.update(self.task, completed=done, description=where)

    def _end(self, members: Any, running: Any) -> None:
        for place, numbers in enumerate(members):
            for number in numbers if place not in running else ():
                self.ways[number].share = 1.0

    def _counted(self) -> str:
        return f"{sum(way.share == 1.0 for way in self.ways)} of {len(self.ways)} {self.things}"

    def _iteration(self, progress: Any) -> str:
        where, gap = f"iteration {progress.epoch:,}", self.ways[0].gap
        if not math.isnan(gap):
            return f"{where}, gap {gap:.1e}"
        return f"{where}, accuracy {progress.records['train_accuracy'][0]:.1%}"


class _ModelProgress:
    """The progress of one fit, from its first gap to the tolerance on a logarithmic scale."""

    def __init__(self, tol: float) -> None:
        self.tol, self.first, self.gap, self.share = tol, math.nan, math.nan, 0.0

    def go(self, gap: float, epochs: float) -> None:
        """Update with a gap (NaN if none was computed) and the fraction of the allowed epochs."""
        self.gap = _least(self.gap, gap)
        if math.isnan(self.gap):
            self.share = epochs
            return
        self.first = self.gap if math.isnan(self.first) else self.first
        way = math.log(max(self.first, self.tol * 10) / self.tol)
        left = math.log(max(self.gap, self.tol) / self.tol)
        self.share = min(max(1.0 - left / way, 0.0), 1.0)


def _least(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)
