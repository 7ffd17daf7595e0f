"""A loss and its curvature along a line in the space of the weights."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import padded
from separatrix.charts.drawing.theme import TRAINING, WRONG, finish
from separatrix.explain import CurvatureAlong

_WIDTH, _HEIGHT, _LOW = 280, 190, 130


def curvature(*found: CurvatureAlong) -> Any:
    """Draw losses and their second derivatives along a line; where these are below 0 is shaded.

    `found` are results of `explain.curvature_along`, side by side; their curvatures have
    one scale.

    >>> from separatrix import charts, explain
    >>> losses = ("sigmoid_mse", "logistic")
    >>> found = [explain.curvature_along(each, [[1.0]], [0], [0.0], [1.0]) for each in losses]
    >>> charts.curvature(*found).to_dict()["description"]
    "Loss 'sigmoid_mse' is not convex: its curvature is below 0 for t from 0.69315 to 8. Loss \
'logistic' is convex along this line: its curvature is never below 0."
    """
    if not found:
        raise ValueError("There is nothing to draw: give results of explain.curvature_along.")
    shared = padded(np.concatenate([each.curvatures for each in found]))
    columns = [_column(each, shared, first=k == 0) for k, each in enumerate(found)]
    chart = alt.hconcat(*columns, spacing=24)
    bent = any(each.negative for each in found)
    subtitle = ["Shaded: the curvature is below 0."] if bent else []
    description = " ".join(each.verdict for each in found)
    return finish(chart, "A loss and its curvature along a line of weights", subtitle, description)


def _column(found: CurvatureAlong, shared: tuple[float, float], *, first: bool) -> Any:
    ends = [found.positions[0], found.positions[-1]]
    x = alt.X("t:Q").scale(domain=ends, nice=False)
    rows = [
        {"loss": found.loss, "t": t, "value": value, "curvature": curved}
        for t, value, curved in zip(found.positions, found.values, found.curvatures)
    ]
    regions = alt.Chart(data([{"t": a, "end": b} for a, b in found.negative]))
    parts = []
    own = padded(np.array(found.values))
    for field, title, span in (("value", "loss", own), ("curvature", "curvature", shared)):
        last = field == "curvature"
        axis = alt.Axis(title="t" if last else None, labels=last, grid=False, tickCount=5)
        y = alt.Y(f"{field}:Q").scale(domain=list(span), nice=False, zero=False)
        y = y.title(title if first else None).axis(tickCount=5, format=".6~g")
        drawn = [
            regions.mark_rect(color=WRONG, opacity=0.16).encode(x=x.axis(axis), x2="end:Q"),
            alt.Chart(data([{"zero": 0.0}])).mark_rule(style="quiet").encode(y="zero:Q"),
            alt.Chart(data(rows))
            .mark_line(color=TRAINING, strokeWidth=2.2)
            .encode(
                x=x.axis(axis),
                y=y,
                tooltip=["loss:N", "t:Q", alt.Tooltip(f"{field}:Q", format=".4g")],
            ),
        ]
        # The line at 0 is where the sign of the curvature changes; of a loss it says nothing.
        kept = drawn if last else [drawn[0], drawn[2]]
        panel = alt.layer(*kept).properties(width=_WIDTH, height=_LOW if last else _HEIGHT)
        parts.append(panel if last else panel.properties(title=_title(found)))
    return alt.vconcat(*parts, spacing=8)


def _title(found: CurvatureAlong) -> Any:
    lowest = min(found.curvatures)
    told = f"lowest curvature {short(lowest)}" if found.negative else "convex"
    return alt.TitleParams(f"{found.loss}: {told}", fontSize=12, offset=6)
