"""The report of a study: a self-contained HTML file with verdict, table and charts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from separatrix.files import replace_file
from separatrix.study.results.facts import StudyFacts
from separatrix.web.page import make_page
from separatrix.web.study_page import study_page


def write_report(facts: StudyFacts, path: str | os.PathLike[str]) -> Path:
    """Write the report of a study to a file atomically; create its folder if it is missing.

    >>> import tempfile
    >>> from separatrix import GradientDescentClassifier, Study
    >>> study = Study("rates", GradientDescentClassifier(epochs=5), {"learning_rate": [0.1, 1.0]})
    >>> place = Path(tempfile.mkdtemp()) / "reports" / "rates.html"
    >>> write_report(study.run("wine").facts(), place).name
    'rates.html'
    """
    return _write(Path(path), report_page(facts))


def write_data(path: Path, title: str, data: dict[str, Any], entry: str) -> Path:
    """Write the dictionary of a page to a file atomically; create its folder if it is missing.

    `entry` is the module that draws it, and `data["verdict"]` is shown if scripts are switched off.
    """
    summary = [sentence["text"] for sentence in data["verdict"]]
    return _write(path, make_page(title, data, entry, summary))


def _write(path: Path, page: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"The folder {str(path.parent)!r} for the report could not be created: "
            f"{error.strerror}. Name another file."
        ) from error
    replace_file(path, page.encode("utf-8", "replace"))
    return path


def report_page(facts: StudyFacts) -> str:
    """Return the report of a study as HTML that loads nothing."""
    data: dict[str, Any] = {**study_page(facts)}
    return make_page(f"{facts.name} · Separatrix", data, "study_page", facts.verdict.sentences)
