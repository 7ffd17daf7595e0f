"""Labels on top of lines and shading, short names, and the legend of a shading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from separatrix.charts.drawing.chart_data import data
from separatrix.charts.drawing.theme import OTHERS

LONGEST = 28  # characters of a name beside a line or an axis


def haloed(base: Any, *, style: str | None = None, **look: Any) -> list[Any]:
    """Return the layers of text with a halo in the colour of the background.

    `base` is a chart with the encodings of the text, and `look` has the properties of its mark.
    """
    own = [] if style is None else [style]
    return [base.mark_text(style=[*own, "halo"], **look), base.mark_text(style=own, **look)]


def shortened(name: str, size: int = LONGEST) -> str:
    """Cut the middle of a long name, whose beginning and end tell it from others.

    >>> shortened("mean_of_all_measurements_per_day_2024", 20)
    'mean_of_all…day_2024'
    """
    if len(name) <= size:
        return name
    end = (size - 1) * 2 // 5 + 1
    return f"{name[: size - 1 - end]}…{name[-end:]}"


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
