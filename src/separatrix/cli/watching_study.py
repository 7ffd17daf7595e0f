"""The live line of a study: how much is done, the best so far, what diverged, the time left."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from separatrix.cli.screen import Screen


class Watch:
    """A callback for `Study.run` that shows where it stands, and ends it after Ctrl-C."""

    def __init__(self, screen: Screen) -> None:
        self.asked = False
        self.bar: Any = None
        if screen.live:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = BarColumn(16), TextColumn("{task.description}"), TimeRemainingColumn()
            self.bar = Progress(*columns, console=screen.err, transient=True)
            self.task = self.bar.add_task("", total=1.0)

    def __call__(self, standing: Any) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=standing.share, description=line(standing))
        if self.asked:
            raise KeyboardInterrupt

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Take a Ctrl-C: the first waits for the epoch to end, the second does not."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def watching_study(screen: Screen) -> Iterator[Watch]:
    """Watch a study."""
    watch = Watch(screen)
    before = signal.signal(signal.SIGINT, watch.ask)
    try:
        if watch.bar is not None:
            watch.bar.start()
        yield watch
    finally:
        if watch.bar is not None:
            watch.bar.stop()
        signal.signal(signal.SIGINT, before)


def line(standing: Any) -> str:
    """Where a study stands, in a few words."""
    parts = [f"{standing.done} of {standing.runs} runs"]
    if standing.best is not None:
        parts.append(f"best {100 * standing.best[1]:.1f} %")
    if standing.diverged:
        parts.append(f"{standing.diverged / standing.runs:.0%} diverged")
    return ", ".join(parts)
