"""The derivatives of a loss against finite differences."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import padded, powers
from separatrix.charts.drawing.theme import OTHERS, TRAINING, VALIDATION, WRONG, finish
from separatrix.explain import GradientCheck
from separatrix.explain.gradient_check import Entry
from separatrix.explain.text_tables import wrapped

_WIDTH, _HEIGHT = 300, 270
_LINE = 96
_KINDS = {
    "gradient": (TRAINING, "circle"),
    "second derivative": (VALIDATION, "square"),
    "wrong": (WRONG, "cross"),
}


def gradient_check(found: GradientCheck) -> Any:
    """Draw the derivatives of a loss by both ways: equal on the diagonal, and how far apart.

    `found` is of `explain.check_gradient`. On the right, the derivatives are in the order of what
    finite differences can tell, the grey line: a difference above it is a mistake, drawn as a
    cross; differences of 0 are at the bottom. The worst has a ring and a name.

    >>> from separatrix import charts, explain
    >>> charts.gradient_check(explain.check_gradient("logistic")).to_dict()["description"][:63]
    "Loss 'logistic' with 2 classes: all 80 derivatives agree. Worst"
    """
    order = sorted(found.entries, key=lambda entry: entry.allowed)
    floor = _floor(order)
    rows = [
        {
            "what": entry.what,
            "kind": entry.what if entry.agrees else "wrong",
            "row": entry.row + 1,
            "output": entry.output + 1,
            "analytic": entry.analytic,
            "numeric": entry.numeric,
            "place": place,
            "difference": max(_finite(entry.difference), floor),
            "allowed": max(_finite(entry.allowed), floor),
            "worst": entry is found.worst,
        }
        for place, entry in enumerate(order, 1)
    ]
    worst = f"Worst: {found.worst}."
    chart = alt.hconcat(_diagonal(rows), _differences(rows, found), spacing=34)
    lines = [*wrapped(found.verdict, _LINE), *wrapped(worst, _LINE)]
    title = f"The derivatives of '{found.loss}' against finite differences"
    return finish(chart, title, lines, f"{found.verdict} {worst}")


def _floor(entries: list[Entry]) -> float:
    """Where differences of 0 are drawn, on an axis that has none."""
    seen = [value for each in entries for value in (each.difference, each.allowed)]
    positive = [value for value in seen if value > 0.0 and math.isfinite(value)]
    return 10.0 ** (math.floor(math.log10(min(positive, default=1e-12))) - 0.5)


def _finite(value: float) -> float:
    """What is not a number, or is infinite, as far above everything."""
    return value if math.isfinite(value) else 1e3


def _looks(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Colours and shapes of the kinds that there are."""
    present = {row["kind"] for row in rows}
    looks = {name: look for name, look in _KINDS.items() if name in present}
    hues, shapes = zip(*looks.values())
    hue = alt.Color("kind:N").title(None).legend(orient="bottom", symbolOpacity=1)
    shape = alt.Shape("kind:N").title(None).legend(orient="bottom")
    return {
        "color": hue.scale(domain=list(looks), range=list(hues)),
        "shape": shape.scale(domain=list(looks), range=list(shapes)),
    }


def _points(rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """A dot for every derivative, and a ring around the worst."""
    base = alt.Chart(data(rows)).encode(x=x, y=y)
    tips = ["what:N", "row:Q", "output:Q", "analytic:Q", "numeric:Q", "difference:Q", "allowed:Q"]
    return [
        base.mark_point(filled=True, size=30, opacity=0.75).encode(tooltip=tips, **_looks(rows)),
        base.transform_filter(alt.datum.worst).mark_point(
            size=150, strokeWidth=2, style="ink", opacity=1, filled=False
        ),
    ]


def _diagonal(rows: list[dict[str, Any]]) -> Any:
    values = [row[name] for row in rows for name in ("analytic", "numeric")]
    span = list(padded(np.array([value for value in values if math.isfinite(value)] or [0.0])))
    x = alt.X("numeric:Q").title("by finite differences").axis(tickCount=5, format=".6~g")
    y = alt.Y("analytic:Q").title("by the loss").axis(tickCount=5, format=".6~g")
    x = x.scale(domain=span, nice=False, zero=False)
    y = y.scale(domain=span, nice=False, zero=False)
    equal = alt.Chart(data([{"numeric": end, "analytic": end} for end in span]))
    line = equal.mark_line(color=OTHERS, strokeWidth=1.4).encode(x=x, y=y)
    return alt.layer(line, *_points(rows, x, y)).properties(
        width=_HEIGHT,
        height=_HEIGHT,
        title=alt.TitleParams("Equal on the diagonal", fontSize=12, offset=6),
    )


def _differences(rows: list[dict[str, Any]], found: GradientCheck) -> Any:
    """The differences and what is allowed, and the name of the worst beside it."""
    values = [row[name] for row in rows for name in ("difference", "allowed")]
    span = (min(values) / 2.0, max(values) * 4.0)
    x = alt.X("place:Q").title("derivatives, in the order of what is allowed")
    x = x.scale(domain=[0, len(rows) + 1], nice=False).axis(grid=False, tickCount=4, format=",d")
    y = alt.Y("difference:Q").title("difference").scale(type="log", domain=list(span), nice=False)
    ticks = powers(*span)
    y = y.axis(format=".0e", values=ticks[:: math.ceil(len(ticks) / 7)])
    allowed = alt.Chart(data([{"place": r["place"], "difference": r["allowed"]} for r in rows]))
    name = [
        {
            "place": row["place"],
            "difference": row["difference"],
            "text": f"output {row['output']} of row {row['row']}: {short(found.worst.difference)}",
        }
        for row in rows
        if row["worst"]
    ]
    left = name[0]["place"] < 0.6 * len(rows) if name else True
    label = alt.Chart(data(name)).mark_text(
        align="left" if left else "right", dx=10 if left else -10, dy=-8, style="ink"
    )
    title = "Above the line more than rounding" if found.wrong else "Below the line rounding only"
    return alt.layer(
        allowed.mark_line(color=OTHERS, strokeWidth=1.4, interpolate="step").encode(x=x, y=y),
        *_points(rows, x, y),
        label.encode(x=x, y=y, text="text:N"),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(title, fontSize=12, offset=6),
    )
