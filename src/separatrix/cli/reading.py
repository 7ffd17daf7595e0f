"""Reading of a source, with a progress bar for downloads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from separatrix.cli.output import Output


def read_source(output: Output, source: str, **options: Any) -> Any:
    """Load a source; download the files of a registered data set first if they are missing."""
    from separatrix.readers import load

    fetch_named(output, source)
    with output.spinner(f"Reading {source}"):
        return load(source, **options)


def fetch_named(output: Output, source: str) -> list[Any]:
    """Return the files of a registered data set, downloaded if needed; [] for other sources."""
    from separatrix.readers import fetch, names

    if source not in names():
        return []
    with _bar(output) as progress:
        return list(fetch(source, progress))


@contextmanager
def _bar(output: Output) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a progress callback for downloads; the bar appears with the first bytes."""
    if not output.is_live:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.description}", markup=False)
    columns = name, BarColumn(), DownloadColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=output.err, transient=True)
    tasks: dict[str, Any] = {}

    def progress(file: str, done: int, total: int) -> None:
        if not tasks:
            bar.start()
        if file not in tasks:
            tasks[file] = bar.add_task(file)
        bar.update(tasks[file], completed=done, total=total or None)

    try:
        yield progress
    finally:
        bar.stop()
