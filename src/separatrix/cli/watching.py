"""The live line of a fit: a bar that fills as the gap falls. Ctrl-C ends the fit and keeps it."""

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from separatrix.cli.screen import Screen


class Watch:
    """A callback for `fit_many` that shows where a fit stands, and ends it after Ctrl-C.

    The first Ctrl-C lets the iteration end and keeps the model; the second does not wait.
    """

    def __init__(self, screen: Screen, what: str, tol: float) -> None:
        self.line = _Line(screen, what, tol)
        self.asked = False

    def __call__(self, progress: Any) -> None:
        from separatrix.solvers import Interrupted

        self.line.show(progress)
        if self.asked:
            raise Interrupted

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Take a Ctrl-C."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def watching(screen: Screen, what: str, tol: float) -> Iterator[Watch]:
    """Watch a fit; afterwards `asked` says whether it was to end."""
    watch = Watch(screen, what, tol)
    before = signal.signal(signal.SIGINT, watch.ask)
    try:
        with watch.line:
            yield watch
    finally:
        signal.signal(signal.SIGINT, before)


class _Line:
    """The bar, drawn only where a person watches."""

    def __init__(self, screen: Screen, what: str, tol: float) -> None:
        self.tol, self.first, self.best = tol, math.nan, math.nan
        self.bar: Any = None
        if screen.live:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = TextColumn(what), BarColumn(24), TextColumn("{task.description}")
            self.bar = Progress(*columns, TimeElapsedColumn(), console=screen.err, transient=True)
            self.task = self.bar.add_task("", total=1.0)

    def __enter__(self) -> None:
        if self.bar is not None:
            self.bar.start()

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, progress: Any) -> None:
        if self.bar is None:
            return
        self.best = _least(self.best, float(progress.gap[0]))
        done, where = progress.epoch / progress.epochs, f"iteration {progress.epoch:,}"
        if not math.isnan(self.best):
            self.first = self.best if math.isnan(self.first) else self.first
            done, where = self._share(), f"{where}, gap {self.best:.1e}"
        elif math.isnan(progress.gap[0]):
            where = f"{where}, {progress.records['train_accuracy'][0]:.1%} right"
        self.bar.update(self.task, completed=done, description=where)

    def _share(self) -> float:
        """How much of the way from the first gap to the last is done, in powers of ten."""
        way = math.log(max(self.first, self.tol * 10) / self.tol)
        return min(max(1.0 - math.log(max(self.best, self.tol) / self.tol) / way, 0.0), 1.0)


def _least(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)
