"""Labels on top of lines and shading, and the legend of a shading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from separatrix.charts.drawing.chart_data import data
from separatrix.charts.drawing.theme import OTHERS


def haloed(base: Any, *, style: str | None = None, **look: Any) -> list[Any]:
    """Return the layers of text with a halo in the colour of the background.

    `base` is a chart with the encodings of the text, and `look` has the properties of its mark.
    """
    own = [] if style is None else [style]
    return [base.mark_text(style=[*own, "halo"], **look), base.mark_text(style=own, **look)]


def shade_key(title: str, names: Sequence[str], depths: Sequence[float]) -> Any:
    """Return a layer that draws nothing but a legend: grey squares with these opacities."""
    key = alt.Legend(
        title=title,
        titleOrient="left",
        orient="bottom",
        symbolType="square",
        symbolSize=220,
    )
    depth = alt.Opacity("shade:N").sort(list(names)).legend(key)
    depth = depth.scale(domain=list(names), range=list(depths))
    squares = alt.Chart(data([{"shade": name} for name in names]))
    return squares.mark_square(size=0, color=OTHERS).encode(opacity=depth)
