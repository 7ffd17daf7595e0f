"""A loss and its curvature along a line in weight space."""

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
    """Draw losses and their second derivatives along a line, with negative curvature shaded.

    `found` are results of `explain.curvature_along`, which are drawn side by side. The curvatures
    share one scale.

    >>> from separatrix import charts, explain
    >>> losses = ("sigmoid_mse", "logistic")
    >>> found = [explain.curvature_along(each, [[1.0]], [0], [0.0], [1.0]) for each in losses]
    >>> charts.curvature(*found).to_dict()["title"]["text"]
    'Loss and curvature along a line in weight space'
    """
    if not found:
        raise ValueError("There is nothing to draw. Give results of explain.curvature_along.")
    shared = padded(np.concatenate([each.curvatures for each in found]))
    columns = [_column(each, shared, first=k == 0) for k, each in enumerate(found)]
    chart = alt.hconcat(*columns, spacing=24)
    bent = any(each.negative for each in found)
    subtitle = ["The weights are start + t × direction."]
    subtitle += ["Shaded: the curvature is negative, so the loss is not convex."] if bent else []
    description = " ".join(each.verdict for each in found)
    title = "Loss and curvature along a line in weight space"
    return finish(chart, title, [" ".join(subtitle)] if len(found) > 1 else subtitle, description)


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
        title_x = "position t on the line" if last else None
        axis = alt.Axis(title=title_x, labels=last, grid=False, tickCount=5)
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
        # Only the curvature needs the line at 0, where its sign changes.
        kept = drawn if last else [drawn[0], drawn[2]]
        panel = alt.layer(*kept).properties(width=_WIDTH, height=_LOW if last else _HEIGHT)
        parts.append(panel if last else panel.properties(title=_title(found)))
    return alt.vconcat(*parts, spacing=8)


def _title(found: CurvatureAlong) -> Any:
    lowest = min(found.curvatures)
    told = f"lowest curvature {short(lowest)}" if found.negative else "convex"
    return alt.TitleParams(f"{found.loss}: {told}", fontSize=12, offset=6)
