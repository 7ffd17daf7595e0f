"""The progress bar of a study, in a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import Any, Protocol

from separatrix.study.running.progress import OnStudyProgress, StudyProgress
from separatrix.text import counted, describe_configuration, percent, printable


class ProgressBar(Protocol):
    """The interface of a progress bar. `end` is called when the study stops for any reason."""

    def show(self, progress: StudyProgress) -> None: ...
    def end(self, done: bool) -> None: ...


class TerminalBar:
    """A line at the bottom of a terminal that disappears at the end."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        # The line is never wrapped: if it is too long, the best configuration is cut.
        where = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)
        )
        columns = BarColumn(12), TimeRemainingColumn(), TextColumn("left ·"), where
        console = Console(stderr=True) if console is None else console
        self.bar = Progress(*columns, console=console, transient=True, expand=True)
        self.task = self.bar.add_task("", total=1.0)
        self.bar.start()

    def show(self, progress: StudyProgress) -> None:
        """Update the line."""
        where = printable(describe_progress(progress))
        self.bar.update(self.task, completed=progress.share, description=where)

    def end(self, done: bool) -> None:
        """Remove the line."""
        self.bar.stop()


class NotebookBar:
    """A progress bar below a cell. It stays, and shows the number of runs at the end."""

    def __init__(self) -> None:
        self.ipython: Any = import_module("IPython.display")  # installed with every notebook
        self.handle = self.ipython.display(self.ipython.HTML(""), display_id=True)
        self.last: StudyProgress | None = None

    def show(self, progress: StudyProgress) -> None:
        """Update the bar."""
        self.last = progress
        self.handle.update(
            self.ipython.HTML(
                f'<progress value="{progress.share:.3f}"></progress> <span>'
                f"{escape(describe_progress(progress))}, "
                f"{progress.seconds:.0f} s</span>"
            )
        )

    def end(self, done: bool) -> None:
        """Fill the bar. The best configuration is removed: the verdict reports the final one."""
        if done and self.last is not None:
            self.show(replace(self.last, share=1.0, done=self.last.runs, running=0, best=None))


def describe_progress(progress: StudyProgress) -> str:
    """Describe the progress of a study in a few words.

    >>> best = {"learning_rate": 0.1, "l2": 0.0}, 0.96, 0.1
    >>> describe_progress(StudyProgress(0.5, 8, 4, 4, 2, best, 3.0))
    '4 of 8 runs, 25 % diverged, best 96.0 %: rate 0.1, l2 0'
    """
    parts = [f"{progress.done:,} of {counted(progress.runs, 'run')}"]
    if progress.diverged:
        parts.append(f"{percent(progress.diverged / progress.runs, 0)} diverged")
    if progress.best is not None:
        configuration, accuracy, _ = progress.best
        words = describe_configuration(configuration, short=True)
        parts.append(f"best {percent(accuracy)}{f': {words}' if words else ''}")
    return ", ".join(parts)


@contextmanager
def show_progress(
    shown: bool, on_progress: OnStudyProgress | None
) -> Iterator[OnStudyProgress | None]:
    """Yield a callback that updates a progress bar (if `shown`) and calls `on_progress`."""
    if not shown:
        yield on_progress
        return
    bar: ProgressBar = NotebookBar() if _in_notebook() else TerminalBar()

    def update(progress: StudyProgress) -> None:
        bar.show(progress)
        if on_progress is not None:
            on_progress(progress)

    done = False
    try:
        yield update
        done = True
    finally:
        bar.end(done)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
