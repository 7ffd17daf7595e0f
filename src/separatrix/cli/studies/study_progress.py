"""The progress line of a study: runs done, diverged runs, best configuration, time left."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from separatrix.cli.output import Output
from separatrix.cli.progress import tell_ending


class StudyProgressLine:
    """A callback for `Study.run` that shows its progress and stops it after Ctrl-C."""

    def __init__(self, output: Output) -> None:
        self.asked = False
        self.bar: Any = None
        if output.is_live:
            from separatrix.study.running.progress_bar import TerminalBar

            self.bar = TerminalBar(output.err)

    def __call__(self, progress: Any) -> None:
        if self.bar is not None:
            self.bar.show(progress)
        if self.asked:
            raise KeyboardInterrupt

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a Ctrl-C: the first one waits for the end of the epoch, the second does not."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        tell_ending(None if self.bar is None else self.bar.bar, "epoch")


@contextmanager
def show_study_progress(output: Output) -> Iterator[StudyProgressLine]:
    """Show the progress of a study."""
    progress = StudyProgressLine(output)
    before = signal.signal(signal.SIGINT, progress.ask)
    try:
        yield progress
    finally:
        if progress.bar is not None:
            progress.bar.end(False)
        signal.signal(signal.SIGINT, before)
