"""A heatmap of a study over two parameters, with the limit of the stable learning rates."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short, significant
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.positions import share
from separatrix.charts.drawing.theme import CHOSEN, WRONG, finish
from separatrix.study.results.facts import MEASURES, Row, StudyFacts
from separatrix.text import counted, percent, value_words

_LINES = "momentum"  # default parameter of the vertical axis
_TEXT = 16  # largest number of columns with values printed in the cells


def rates(
    facts: StudyFacts,
    measure: str = "",
    *,
    x: str = "learning_rate",
    y: str = _LINES,
) -> Any:
    """Draw a heatmap of a measure after the last epoch over learning rate and momentum.

    Parameters
    ----------
    facts : the facts of a study
    measure : "train_loss", "train_accuracy", "val_loss" or "val_accuracy"; "" means the validation
        loss, or the training loss if there are no validation rows
    x, y : the parameters of the axes. The heatmap has one line if `y` does not vary

    A cell shows the best value of its configurations, and is red if all of them diverged. The
    dashed line marks the largest learning rate that is stable at all weights, 2/L, where L bounds
    the curvature of the objective. A cross marks a cell of which some diverged, and a green frame
    the cell of the best configuration.

    >>> from separatrix import GradientDescentClassifier, Study, charts
    >>> study = Study("map", GradientDescentClassifier(), {"learning_rate": [0.1, 0.01, 0.001]})
    >>> chart = charts.rates(study.run("iris").facts())
    >>> chart.to_dict()["description"][:59]
    'Validation loss over 3 values of learning rate. Lowest: 0.2'
    """
    _require(facts, measure, x, y)
    done = [row for row in facts.rows if row.state == "done" and x in row.parameters]
    measure = measure or ("val_loss" if done[0].last.get("val_loss") is not None else "train_loss")
    grid = _Grid(measure, x, y, _values(done, x), _values(done, y))
    if all(row.last.get(measure) is None for row in done):
        raise ValueError(
            f"The study {facts.name!r} did not measure {measure}. Choose another measure."
        )
    cells = _cells(grid, done)
    stable = _stable_rates(grid, done) if x == "learning_rate" else {}
    limit = _limit(grid, stable)
    chart = alt.layer(*_map(grid, cells), *limit, *_numbers(grid, cells)).properties(
        width=max(56 * min(len(grid.columns), 14), 240), height=34 * min(len(grid.lines) + 1, 12)
    )
    shown = measure.replace("val_", "validation ").replace("train_", "training ").capitalize()
    names = [name.replace("_", " ") for name in (x, y) if name in facts.varied]
    title = f"{shown} by {' and '.join(names)}"
    return finish(
        chart, title, _subtitle(facts, grid, cells, stable), _description(grid, cells, shown)
    )


@dataclass(frozen=True)
class _Grid:
    """The measure, and the values of x (columns) and y (lines)."""

    measure: str
    x: str
    y: str
    columns: list[Any]
    lines: list[Any]

    @property
    def high_is_good(self) -> bool:
        return self.measure.endswith("accuracy")

    @property
    def written(self) -> bool:
        """Whether there is room for numbers in the cells."""
        return len(self.columns) <= _TEXT

    # The axes are numbered, not named, because the limit lies between two columns.
    def across(self, field: str) -> Any:
        """Return the axis of the columns."""
        return _axis(alt.X(field), self.columns, self.x)

    def up(self, field: str) -> Any:
        """Return the axis of the lines, which is hidden if there is no such parameter."""
        axis = _axis(alt.Y(field), self.lines, self.y)
        return axis.axis(None) if self.lines == [None] else axis

    def scale(self, values: Sequence[float]) -> tuple[tuple[float, float], bool]:
        """Return the range of the colours, and whether it is logarithmic.

        The range spans the quantiles from 5 % to 95 %. Otherwise a single extreme value, such as a
        loss of 1e-16, would leave almost the same colour for all others.
        """
        if not values:
            return (0.0, 1.0), False
        low, high = np.quantile(values, [0.05, 0.95]).tolist()
        return (low, high if high > low else low + 1.0), bool(low > 0.0 and high / low > 20.0)


def _cells(grid: _Grid, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a cell with the best value for every pair of parameter values that occurs."""
    sign = -1.0 if grid.high_is_good else 1.0
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        place = grid.columns.index(row.parameters[grid.x])
        groups.setdefault((place, grid.lines.index(row.parameters.get(grid.y))), []).append(row)
    out = []
    for (column, line), same in groups.items():
        found = [row.last.get(grid.measure) for row in same if not row.diverged]
        values = [float(value) for value in found if value is not None and math.isfinite(value)]
        value = min(values, key=lambda v: sign * v) if values else None
        out.append(
            {
                "column": column,
                "line": line,
                "x": value_words(grid.x, grid.columns[column]),
                "y": value_words(grid.y, grid.lines[line]),
                "value": value,
                "text": "diverged" if value is None else _shown(value, grid.measure),
                "best": any(row.mark == "best" for row in same),
                "own": next(
                    (row.last.get(grid.measure) for row in same if row.mark == "best"), None
                ),
                "partly": value is not None and any(row.diverged for row in same),
                "configurations": len(same),
            }
        )
    return out


def _map(grid: _Grid, cells: Sequence[dict[str, Any]]) -> list[Any]:
    span, log = grid.scale([cell["value"] for cell in cells if cell["value"] is not None])
    scheme = alt.SchemeParams("blues", extent=[0, 1] if grid.high_is_good else [1, 0])
    scale = alt.Scale(
        type="log" if log else "linear", domain=list(span), scheme=scheme, clamp=True, nice=False
    )
    form = ".0%" if grid.high_is_good else ".3~g"
    legend = alt.Legend(title=None, format=form, gradientLength=120, tickCount=4)
    place = (
        alt.Chart(data(cells))
        .transform_calculate(
            left="datum.column - 0.5",
            right="datum.column + 0.5",
            low="datum.line - 0.5",
            high="datum.line + 0.5",
        )
        .encode(
            x=grid.across("left:Q"),
            x2="right:Q",
            y=grid.up("low:Q"),
            y2="high:Q",
            tooltip=[
                alt.Tooltip("x:N", title=grid.x.replace("_", " ")),
                alt.Tooltip("y:N", title=grid.y.replace("_", " ")),
                alt.Tooltip("text:N", title=grid.measure.replace("_", " ")),
                alt.Tooltip("configurations:Q"),
            ],
        )
    )
    hue = alt.Color("value:Q").scale(scale).legend(None if grid.written else legend)
    return [
        place.transform_filter("isValid(datum.value)").mark_rect().encode(color=hue),
        place.transform_filter("!isValid(datum.value)").mark_rect(color=WRONG, opacity=0.25),
        place.transform_filter(alt.datum.best).mark_rect(
            fill=None, stroke=CHOSEN, strokeWidth=3, cornerRadius=2
        ),
    ]


def _numbers(grid: _Grid, cells: Sequence[dict[str, Any]]) -> list[Any]:
    """Print the values in the cells if there is room for them."""
    if not grid.written:
        return []
    span, log = grid.scale([cell["value"] for cell in cells if cell["value"] is not None])
    rows = []
    for cell in cells:
        kind = "diverged"
        if cell["value"] is not None:
            place = share(max(cell["value"], span[0]), span, log)
            # White on dark cells, black on light cells, in both themes.
            kind = "white" if (place > 0.5) == grid.high_is_good else "black"
        rows.append({**cell, "kind": kind})
    base = alt.Chart(data(rows)).encode(
        x=grid.across("column:Q"), y=grid.up("line:Q"), text="text:N"
    )
    shades = {"white": "#ffffff", "black": "#1c2430", "diverged": WRONG}
    numbers = [
        base.transform_filter(alt.datum.kind == kind).mark_text(
            color=shade, fontSize=11, fontWeight="bold" if kind == "diverged" else "normal"
        )
        for kind, shade in shades.items()
    ]
    crosses = base.transform_filter(alt.datum.partly).encode(text=alt.value("×"))
    return [
        *numbers,
        *haloed(crosses, color=WRONG, fontSize=14, fontWeight="bold", dx=21, dy=-12),
    ]


def _axis(channel: Any, values: list[Any], name: str) -> Any:
    rounded = [float(f"{v:.3g}") if isinstance(v, float) else v for v in values]
    labels = [value_words(name, value) for value in rounded]
    axis = alt.Axis(
        values=list(range(len(values))),
        labelExpr=f"{json.dumps(labels)}[datum.value]",
        grid=False,
        ticks=False,
        domain=False,
        labelAngle=0,
        labelSeparation=8,
    )
    span = [-0.5, len(values) - 0.5]
    title = name.replace("_", " ")
    return channel.title(title).scale(domain=span, nice=False, zero=False).axis(axis)


def _stable_rates(grid: _Grid, rows: Sequence[Row]) -> dict[int, set[float]]:
    """Return the largest stable learning rates of the configurations of every line."""
    out = {}
    for line, value in enumerate(grid.lines):
        same = [row for row in rows if row.parameters.get(grid.y) == value]
        known = {row.safe_rate for row in same if row.safe_rate is not None}
        if known:
            out[line] = known
    return out


def _limit(grid: _Grid, stable: Mapping[int, set[float]]) -> list[Any]:
    """Draw the largest stable learning rate of every line as a staircase."""
    points: list[dict[str, Any]] = []
    for line, known in stable.items():
        # On the border to the right of the last stable column, where it hides no value.
        place = sum(rate <= min(known) for rate in grid.columns) - 0.5
        for height in (line - 0.5, line + 0.5):
            corner = {"at": place, "height": height, "rate": min(known), "corner": len(points)}
            points.append(corner)
    if not points:
        return []
    base = alt.Chart(data(points)).encode(
        x=grid.across("at:Q"),
        y=grid.up("height:Q"),
        order="corner:Q",
        tooltip=[alt.Tooltip("rate:Q", title="largest stable learning rate", format=".3g")],
    )
    words = alt.Chart(data([{"at": points[-1]["at"], "text": "stable up to here"}]))
    return [
        base.mark_line(strokeWidth=5, style="paper"),
        base.mark_line(strokeWidth=2, strokeDash=[5, 3], style="ink"),
        words.mark_text(dy=-5, baseline="bottom", clip=False).encode(
            x=grid.across("at:Q"), y=alt.value(0), text="text:N"
        ),
    ]


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    found = {row.parameters.get(name) for row in rows}
    if all(_number(value) for value in found):
        return sorted(found)
    return sorted(found, key=str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: float, measure: str) -> str:
    return percent(value) if measure.endswith("accuracy") else significant(value)


def _subtitle(
    facts: StudyFacts,
    grid: _Grid,
    cells: Sequence[dict[str, Any]],
    stable: Mapping[int, set[float]],
) -> list[str]:
    out = []
    others = " and ".join(
        name.replace("_", " ") for name in facts.varied if name not in (grid.x, grid.y)
    )
    if others:
        out.append(f"Cells: best over all values of {others}.")
    best = next((cell for cell in cells if cell["best"]), None)
    if best is not None:
        # The verdict can choose another configuration than the one with the lowest value.
        own = best["own"]
        differs = own is not None and own != best["value"]
        words = f", which itself has {_shown(own, grid.measure)}" if differs else ""
        out = [" ".join([*out, f"Green frame: best configuration{words}."])]
    if any(cell["partly"] for cell in cells) and grid.written:
        out.append("×: some configurations of the cell diverged.")
    if stable:
        lowest = [min(known) for known in stable.values()]
        low, high = min(lowest), max(lowest)
        words = short(low) if high < 1.001 * low else f"{short(low)} to {short(high)}"
        if others and any(max(known) > 1.001 * min(known) for known in stable.values()):
            words += f", the lowest over {others}"
        out.append(f"Dashed line: largest learning rate that is stable at all weights ({words}).")
    return out


def _description(grid: _Grid, cells: Sequence[dict[str, Any]], shown: str) -> str:
    x, y = (name.replace("_", " ") for name in (grid.x, grid.y))
    over = f"{counted(len(grid.columns), 'value')} of {x}"
    if len(grid.lines) > 1:
        over += f" and {len(grid.lines)} of {y}"
    words = f"{shown} over {over}."
    good = [cell for cell in cells if cell["value"] is not None]
    if good:
        sign, word = (-1, "Highest") if grid.high_is_good else (1, "Lowest")
        best = min(good, key=lambda cell: sign * cell["value"])
        place = f"{x} {best['x']}" + (f", {y} {best['y']}" if len(grid.lines) > 1 else "")
        words += f" {word}: {best['text']} at {place}."
    wrong = len(cells) - len(good)
    return words + (f" {counted(wrong, 'cell')} diverged." if wrong else "")


def _require(facts: StudyFacts, measure: str, x: str, y: str) -> None:
    if measure and measure not in MEASURES:
        known = ", ".join(repr(name) for name in MEASURES)
        raise ValueError(f"The 'measure' parameter must be one of {known}. Got {measure!r}.")
    if not any(row.state == "done" for row in facts.rows):
        raise ValueError(f"No configuration of the study {facts.name!r} has finished yet.")
    if x not in facts.varied:
        varied = ", ".join(facts.varied) or "nothing"
        raise ValueError(
            f"The study {facts.name!r} does not vary {x}: it varies {varied}. Choose the "
            "parameters of the axes with x and y."
        )
    lines = [*facts.grid, *facts.parameters, _LINES]
    if y not in lines:
        allowed = ", ".join(dict.fromkeys(repr(name) for name in lines if name != x))
        raise ValueError(
            f"The 'y' parameter must be a parameter of the study {facts.name!r}: one of {allowed}. "
            f"Got y={y!r} instead."
        )
