"""The live line of a study: how much is done, the best so far, what diverged, the time left."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from separatrix.cli.output import Screen
from separatrix.cli.progress import tell_ending


class Watch:
    """A callback for `Study.run` that shows where it stands, and ends it after Ctrl-C."""

    def __init__(self, screen: Screen) -> None:
        self.asked = False
        self.bar: Any = None
        if screen.live:
            from separatrix.study.running.progress_bar import TerminalBar

            self.bar = TerminalBar(screen.err)

    def __call__(self, standing: Any) -> None:
        if self.bar is not None:
            self.bar.show(standing)
        if self.asked:
            raise KeyboardInterrupt

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Take a Ctrl-C: the first waits for the epoch to end, the second does not."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        tell_ending(None if self.bar is None else self.bar.bar, "epoch")


@contextmanager
def watching_study(screen: Screen) -> Iterator[Watch]:
    """Watch a study."""
    watch = Watch(screen)
    before = signal.signal(signal.SIGINT, watch.ask)
    try:
        yield watch
    finally:
        if watch.bar is not None:
            watch.bar.end(False)
        signal.signal(signal.SIGINT, before)
