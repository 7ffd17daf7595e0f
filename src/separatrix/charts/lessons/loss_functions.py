"""The losses as functions of the margin."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import at_share, share, spread
from separatrix.charts.drawing.theme import CLASSES, DASHES, finish
from separatrix.losses import LOSSES, Loss
from separatrix.matrix import Array

_WIDTH, _HEIGHT = 440, 320
_LOW, _HIGH, _TOP = -2.5, 2.5, 6.5


def losses() -> Any:
    """Draw all losses for two classes by the margin, the score in favour of the true class.

    Losses that are equal for two classes share a line.

    >>> from separatrix import charts
    >>> charts.losses().to_dict()["description"][:58]
    'Losses by the margin, from -2.5 to 2.5. At margin 0: perce'
    """
    margins = np.linspace(_LOW, _HIGH, 201)
    lines: list[tuple[str, Array]] = []
    for name, loss in LOSSES.items():
        values = _values(loss, margins)
        same = next((k for k, (_, other) in enumerate(lines) if np.allclose(other, values)), None)
        if same is None:
            lines.append((name, values))
        else:
            lines[same] = (f"{lines[same][0]}, {name}", values)
    span = (0.0, _TOP)
    # The labels are at the left end, where the lines are farthest apart, and inside the chart.
    heights = [_HEIGHT * share(min(float(values[0]), _TOP), span, False) for _, values in lines]
    rows = [{"loss": name, "margin": margins, "value": values} for name, values in lines]
    labels = [
        {"loss": name, "value": at_share(place / _HEIGHT, span, False)}
        for (name, _), place in zip(lines, spread(heights, 14.0, _HEIGHT))
    ]
    names = [name for name, _ in lines]
    hue = alt.Color("loss:N").legend(None)
    hue = hue.scale(domain=names, range=list(CLASSES[: len(names)]))
    dash = alt.StrokeDash("loss:N").legend(None)
    dash = dash.scale(domain=names, range=[DASHES[k % len(DASHES)] for k in range(len(names))])
    x = alt.X("margin:Q").title("margin: the score in favour of the true class")
    x = x.scale(domain=[_LOW, _HIGH], nice=False)
    y = (
        alt.Y("value:Q")
        .title("loss")
        .scale(domain=[0, _TOP], nice=False)
        .axis(tickCount=6, orient="right")
    )
    mistakes = alt.Chart(
        data([{"margin": [_LOW, 0.0, 0.0, _HIGH], "value": [1.0, 1.0, 0.0, 0.0]}])
    ).transform_flatten(["margin", "value"])
    chart = alt.layer(
        mistakes.mark_line(style="quiet", strokeWidth=1.2, strokeDash=[1, 3]).encode(x=x, y=y),
        alt.Chart(data(rows))
        .transform_flatten(["margin", "value"])
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(x=x, y=y, color=hue, strokeDash=dash, tooltip=["loss:N", "margin:Q", "value:Q"]),
        alt.Chart(data(labels))
        .mark_text(align="right", dx=-6)
        .encode(x=alt.value(0), y=y, text="loss:N", color=hue),
    ).properties(width=_WIDTH, height=_HEIGHT)
    middle = {name: float(values[100]) for name, values in lines}
    listed = "; ".join(f"{name}: {short(value)}" for name, value in middle.items())
    description = f"Losses by the margin, from {_LOW:g} to {_HIGH:g}. At margin 0: {listed}."
    subtitle = ["Dotted line: zero-one loss. A negative margin is a wrong prediction."]
    return finish(chart, "Losses for two classes", subtitle, description)


def _values(loss: Loss, margins: Array) -> Array:
    """Return the loss of a row of the second class at margins (m,)."""
    Z = margins[:, None, None] * 1.0
    if loss.n_outputs(2) == 2:
        Z = np.concatenate([-0.5 * Z, 0.5 * Z], axis=2)
    return loss.value(np.ones(len(margins), np.int32), Z)[:, 0]
