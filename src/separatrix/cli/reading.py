"""Reading of a source: a name, a path, or standard input; with a progress bar for downloads."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from separatrix.cli.output import Output

STANDARD_INPUT = "-"
_NAME = "standard input"
_spooled: list[Path] = []  # folders with the content of standard input


def read_source(output: Output, source: str, **options: Any) -> Any:
    """Load a source; download the files of a registered data set first if they are missing."""
    from separatrix.readers import load

    return _read(output, source, lambda path: load(path, **options))


def read_for_model(output: Output, bundle: Any, source: str, **options: Any) -> Any:
    """Load new rows in the same way as the training rows of a model."""
    from separatrix.workflow.model_inputs import load_for_model

    return _read(output, source, lambda path: load_for_model(bundle, path, **options))


def _read(output: Output, source: str, load: Callable[[str], Any]) -> Any:
    fetch_named(output, source)
    with output.spinner(f"Reading {_NAME if source == STANDARD_INPUT else source}"):
        return load(spool() if source == STANDARD_INPUT else source)


def spool() -> str:
    """Copy standard input to a temporary file, and return its path.

    A file can be read several times: to detect its format, and then to read its rows.
    """
    folder = Path(tempfile.mkdtemp(prefix="separatrix-"))
    _spooled.append(folder)
    path = folder / _NAME
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if not path.stat().st_size:
        raise ValueError("Standard input is empty.")
    return str(path)


def remove_spooled() -> None:
    """Delete the copies of standard input."""
    while _spooled:
        shutil.rmtree(_spooled.pop(), ignore_errors=True)


def without_spooled_paths(text: str) -> str:
    """Write "standard input" instead of the path of its copy."""
    for folder in _spooled:
        text = text.replace(str(folder / _NAME), _NAME)
    return text


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
