"""A bar that fills while a study runs, in a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import Any, Protocol

from separatrix.study.runner import OnStanding, Standing
from separatrix.text import counted, percent, printable
from separatrix.text import in_words as configuration_in_words


class Bar(Protocol):
    """What shows where a study stands; `end` is called when it is over, however it ended."""

    def show(self, standing: Standing) -> None: ...
    def end(self, done: bool) -> None: ...


class TerminalBar:
    """A line at the bottom of a terminal, which is gone afterwards."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        # The line is never broken into two: the end of the best configuration gives way.
        where = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)
        )
        columns = BarColumn(12), TimeRemainingColumn(), TextColumn("left ·"), where
        console = Console(stderr=True) if console is None else console
        self.bar = Progress(*columns, console=console, transient=True, expand=True)
        self.task = self.bar.add_task("", total=1.0)
        self.bar.start()

    def show(self, standing: Standing) -> None:
        """Draw the line again."""
        where = printable(in_words(standing))
        self.bar.update(self.task, completed=standing.share, description=where)

    def end(self, done: bool) -> None:
        """Take the line away."""
        self.bar.stop()


class NotebookBar:
    """A bar below a cell, which stays and says how many runs were made."""

    def __init__(self) -> None:
        self.ipython: Any = import_module("IPython.display")  # it is there, with a notebook
        self.handle = self.ipython.display(self.ipython.HTML(""), display_id=True)
        self.last: Standing | None = None

    def show(self, standing: Standing) -> None:
        """Draw the bar again."""
        self.last = standing
        self.handle.update(
            self.ipython.HTML(
                f'<progress value="{standing.share:.3f}"></progress> <span>'
                f"{escape(in_words(standing))}, "
                f"{standing.seconds:.0f} s</span>"
            )
        )

    def end(self, done: bool) -> None:
        """Fill it; the best is left to the verdict, which has seen the last epochs too."""
        if done and self.last is not None:
            self.show(replace(self.last, share=1.0, done=self.last.runs, running=0, best=None))


def in_words(standing: Standing) -> str:
    """Where a study stands, in a few words.

    >>> in_words(Standing(0.5, 8, 4, 4, 2, ({"learning_rate": 0.1, "l2": 0.0}, 0.96, 0.1), 3.0))
    '4 of 8 runs, 25% diverged, best 96.0 %: rate 0.1, l2 0'
    """
    parts = [f"{standing.done:,} of {counted(standing.runs, 'run')}"]
    if standing.diverged:
        parts.append(f"{standing.diverged / standing.runs:.0%} diverged")
    if standing.best is not None:
        chosen, accuracy, _ = standing.best
        words = configuration_in_words(chosen, short=True)
        parts.append(f"best {percent(accuracy)}{f': {words}' if words else ''}")
    return ", ".join(parts)


@contextmanager
def showing(progress: bool, on_standing: OnStanding | None) -> Iterator[OnStanding | None]:
    """Show a bar, if one is wanted, besides calling another callback."""
    if not progress:
        yield on_standing
        return
    bar: Bar = NotebookBar() if _in_notebook() else TerminalBar()

    def both(standing: Standing) -> None:
        bar.show(standing)
        if on_standing is not None:
            on_standing(standing)

    done = False
    try:
        yield both
        done = True
    finally:
        bar.end(done)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
