"""The report of a study: a self-contained HTML file with verdict, table and curves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from separatrix import charts
from separatrix.charts.drawing.html_page import content_policy
from separatrix.files import replace_file
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.study.results.table_formats import cells, to_csv
from separatrix.text import counted, describe_configuration

_MOST_ROWS = 1000  # of the table; the CSV file has all of them
_MOST_SEEN = 50  # configurations whose observations are shown
_MARKS = {"best": "●", "same": "○", "diverged": "×"}
_MEANINGS = {
    "best": "best",
    "same": "not significantly different from the best",
    "diverged": "diverged",
    "waiting": "not finished",
}


@dataclass(frozen=True)
class Figure:
    """A chart in both themes, with its caption."""

    drawn: dict[str, str]  # SVG by theme, "light" and "dark"
    caption: str


def write_report(facts: StudyFacts, path: str | os.PathLike[str]) -> Path:
    """Write the report of a study to a file atomically; create its folder if it is missing.

    >>> import tempfile
    >>> from separatrix import GradientDescentClassifier, Study
    >>> study = Study("rates", GradientDescentClassifier(epochs=5), {"learning_rate": [0.1, 1.0]})
    >>> place = Path(tempfile.mkdtemp()) / "reports" / "rates.html"
    >>> write_report(study.run("wine").facts(), place).name
    'rates.html'
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"The folder {str(path.parent)!r} for the report could not be created: "
            f"{error.strerror}. Name another file."
        ) from error
    replace_file(path, report_page(facts).encode("utf-8", "replace"))
    return path


def report_page(facts: StudyFacts) -> str:
    """Return the report of a study as HTML that loads nothing."""
    rows = _best_first(facts.rows)
    validated = "validation" in facts.data.rows
    shown = [_line(facts, row, validated) for row in rows[:_MOST_ROWS]]
    seen = [
        (describe_configuration(row.parameters) or "the only configuration", row.observations)
        for row in rows[:_MOST_SEEN]
        if row.observations
    ]
    return _template().render(
        facts=facts,
        style=_near("style.css"),
        script=_near("report.js"),
        policy=content_policy(_near("report.js")),
        day=_day(facts.created),
        runs=counted(len(facts.rows) * len(facts.seeds), "run"),
        took=f"{facts.seconds:.1f} s",
        names=[name.replace("_", " ") for name in facts.varied],
        validated=validated,
        rows=shown,
        legend=_legend({row["kind"] for row in shown}, len(rows)),
        csv=to_csv(facts),
        figures=_figures(facts),
        seen=seen,
        data=facts.data.in_words(),
        versions=", ".join(f"{name} {version}" for name, version in facts.versions.items()),
    )


def _figures(facts: StudyFacts) -> list[Figure]:
    """Return the charts for which the study has data."""
    if not facts.histories:
        return []
    wanted: list[Callable[[], Any]] = [
        lambda: charts.curves(facts, "loss", log_y=True),
        lambda: charts.curves(facts, "accuracy"),
    ]
    if {"learning_rate", "momentum"} <= set(facts.varied):
        wanted.append(lambda: charts.rates(facts))
    return [_figure(draw(), k) for k, draw in enumerate(wanted)]


def _figure(chart: Any, number: int) -> Figure:
    drawn = {
        theme: _with_own_names(charts.to_svg(chart, theme=theme), f"{theme}{number}")
        for theme in ("light", "dark")
    }
    return Figure(drawn, chart.description)


def _with_own_names(svg: str, prefix: str) -> str:
    """Return a picture with ids that are unique on the page.

    The converter counts ids across pictures, so its ids would differ from report to report.
    """
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg))
    own = {name: f"{prefix}-{k}" for k, name in enumerate(names)}
    return re.sub(r'(\bid="|url\(#|href="#)([^")]+)', lambda m: m[1] + own.get(m[2], m[2]), svg)


def _line(facts: StudyFacts, row: Row, validated: bool) -> dict[str, Any]:
    kind = "diverged" if row.diverged else row.mark if row.state == "done" else "waiting"
    *found, converged, end = cells(facts, row)
    if not validated:
        found = found[: len(facts.varied) + 2]
    return {
        "kind": kind,
        "mark": _MARKS.get(kind, ""),
        "meaning": _MEANINGS.get(kind, ""),
        "cells": [*found, converged],
        "end": end,
    }


def _best_first(rows: Sequence[Row]) -> list[Row]:
    """Sort the best row first, then rows not significantly different, then the rest."""
    order = {"best": 0, "same": 1}
    return sorted(rows, key=lambda row: order.get(row.mark, 2))


def _legend(kinds: set[str], rows: int) -> str:
    marks = ", ".join(f"{_MARKS[kind]} {_MEANINGS[kind]}" for kind in _MARKS if kind in kinds)
    parts = [f"{marks}."] if marks else []
    if rows > _MOST_ROWS:
        parts.append(f"The table shows the first {_MOST_ROWS:,} of {rows:,} configurations.")
    return " ".join([*parts, "All numbers:"])


def _day(created: str) -> str:
    when = datetime.fromisoformat(created)
    return f"{when.day} {when:%b %Y}"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_near("report.html"))


def _near(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
