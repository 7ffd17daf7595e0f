"""The derivatives of a loss compared with finite differences."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.positions import padded, powers
from separatrix.charts.drawing.theme import OTHERS, TRAINING, VALIDATION, WRONG, finish
from separatrix.explain import GradientCheck
from separatrix.explain.gradient_check import Entry

_WIDTH, _HEIGHT = 300, 270
_KINDS = {
    "gradient": (TRAINING, "circle"),
    "second derivative": (VALIDATION, "square"),
    "wrong": (WRONG, "cross"),
}


def gradient_check(found: GradientCheck) -> Any:
    """Draw the derivatives of a loss and their differences from finite differences.

    `found` is a result of `explain.check_gradient`. On the left, equal values lie on the diagonal.
    On the right, the derivatives are sorted by the tolerance of the finite differences, which is
    the grey line. A difference above the line is an error and is drawn as a cross. Differences of 0
    are drawn at the bottom. The largest difference has a ring and a label.

    >>> from separatrix import charts, explain
    >>> found = explain.check_gradient("logistic")
    >>> charts.gradient_check(found).to_dict()["title"]["text"]
    "Derivatives of the 'logistic' loss compared with finite differences"
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
    worst = f"Largest difference: {found.worst}."
    chart = alt.hconcat(_diagonal(rows), _differences(rows, found), spacing=34)
    title = f"Derivatives of the '{found.loss}' loss compared with finite differences"
    return finish(chart, title, [found.verdict, worst], f"{found.verdict} {worst}")


def _floor(entries: list[Entry]) -> float:
    """Return the height at which differences of 0 are drawn on the logarithmic axis."""
    seen = [value for each in entries for value in (each.difference, each.allowed)]
    positive = [value for value in seen if value > 0.0 and math.isfinite(value)]
    return 10.0 ** (math.floor(math.log10(min(positive, default=1e-12))) - 0.5)


def _finite(value: float) -> float:
    """Replace NaN and infinity by a value above all others."""
    return value if math.isfinite(value) else 1e3


def _looks(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the colours and shapes of the kinds that occur."""
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
    """Draw a dot for every derivative, and a ring around the largest difference."""
    base = alt.Chart(data(rows)).encode(x=x, y=y)
    tips = [
        alt.Tooltip("what:N", title="derivative"),
        "row:Q",
        "output:Q",
        alt.Tooltip("analytic:Q", title="loss"),
        alt.Tooltip("numeric:Q", title="finite difference"),
        "difference:Q",
        alt.Tooltip("allowed:Q", title="tolerance"),
    ]
    return [
        base.mark_point(filled=True, size=30, opacity=0.75).encode(tooltip=tips, **_looks(rows)),
        base.transform_filter(alt.datum.worst).mark_point(
            size=150, strokeWidth=2, style="ink", opacity=1, filled=False
        ),
    ]


def _diagonal(rows: list[dict[str, Any]]) -> Any:
    values = [row[name] for row in rows for name in ("analytic", "numeric")]
    span = list(padded(np.array([value for value in values if math.isfinite(value)] or [0.0])))
    x = alt.X("numeric:Q").title("finite difference").axis(tickCount=5, format=".6~g")
    y = alt.Y("analytic:Q").title("derivative returned by the loss")
    y = y.axis(tickCount=5, format=".6~g")
    x = x.scale(domain=span, nice=False, zero=False)
    y = y.scale(domain=span, nice=False, zero=False)
    equal = alt.Chart(data([{"numeric": end, "analytic": end} for end in span]))
    line = equal.mark_line(color=OTHERS, strokeWidth=1.4).encode(x=x, y=y)
    return alt.layer(line, *_points(rows, x, y)).properties(
        width=_HEIGHT,
        height=_HEIGHT,
        title=alt.TitleParams("Equal values lie on the diagonal", fontSize=12, offset=6),
    )


def _differences(rows: list[dict[str, Any]], found: GradientCheck) -> Any:
    """Draw the differences and the tolerance, with a label at the largest difference."""
    values = [row[name] for row in rows for name in ("difference", "allowed")]
    span = (min(values) / 2.0, max(values) * 4.0)
    x = alt.X("place:Q").title("derivatives, sorted by tolerance")
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
    label = alt.Chart(data(name)).encode(x=x, y=y, text="text:N")
    sides: dict[str, Any] = {"align": "left" if left else "right", "dx": 10 if left else -10}
    title = "Above the grey line: errors" if found.wrong else "Below the grey line: rounding only"
    return alt.layer(
        allowed.mark_line(color=OTHERS, strokeWidth=1.4, interpolate="step").encode(x=x, y=y),
        *_points(rows, x, y),
        *haloed(label, style="ink", dy=-10, **sides),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(title, fontSize=12, offset=6),
    )
