"""The width of a chart: measuring it, changing it, and wrapping the text above it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

_LETTER, _BOLD = 5.9, 8.0  # widths of a character of the subtitle and of the title, in pixels
_AXIS = 60  # pixels for the axis beside a panel
_GAP = 20  # pixels between two panels
_FEWEST = 44  # characters of a line above a very narrow chart
_DEFAULT = 300


def lines_above(chart: Any, sentences: Sequence[str]) -> list[str]:
    """Wrap sentences into lines that are not wider than the chart.

    >>> narrow = alt.Chart(alt.InlineData([])).mark_bar().properties(width=100)
    >>> lines_above(narrow, ["Blue bars favour the class, orange bars favour the other one."])
    ['Blue bars favour the class, orange bars', 'favour the other one.']
    """
    return [line for one in sentences for line in _lines(one, _letters(chart, _LETTER))]


def resized(chart: Any, width: int) -> Any:
    """Return a copy of a chart whose widest panel has this width, in pixels.

    The widths of the other panels change in proportion, and the text above is wrapped again.

    >>> chart = alt.Chart(alt.InlineData([])).mark_bar().properties(width=100)
    >>> resized(alt.hconcat(chart, chart.properties(width=50)), 300).hconcat[1].width
    150
    """
    out = chart.copy(deep=True)
    panels = [panel for panel in _panels(out) if isinstance(panel.width, int | float)]
    factor = width / max((panel.width for panel in panels), default=width)
    for panel in panels:
        panel.width = round(panel.width * factor)
    heading = out.title
    if isinstance(heading, alt.TitleParams):
        text = _lines(str(heading.text), _letters(out, _BOLD))
        heading.text = text[0] if len(text) == 1 else text
        if isinstance(heading.subtitle, list):
            heading.subtitle = lines_above(out, [" ".join(heading.subtitle)])
    return out


def _lines(sentence: str, letters: int) -> list[str]:
    return textwrap.wrap(sentence, letters, break_on_hyphens=False, break_long_words=False)


def _letters(chart: Any, size: float) -> int:
    return max(int(_width(chart) / size), _FEWEST)


def _panels(chart: Any) -> Iterator[Any]:
    """Return the parts of a chart that have axes of their own."""
    inner = _parts(chart)
    if not inner:
        yield chart
    for part in inner:
        yield from _panels(part)


def _parts(chart: Any) -> list[Any]:
    if isinstance(chart, alt.FacetChart):
        return [chart.spec]
    for name in ("hconcat", "vconcat", "concat"):
        parts = getattr(chart, name, None)
        if isinstance(parts, list):
            return parts
    return []


def _width(chart: Any) -> float:
    """Return the approximate width of a chart in pixels."""
    widths = [_width(part) for part in _parts(chart)]
    if not widths:
        own = getattr(chart, "width", None)
        return _AXIS + float(own if isinstance(own, int | float) else _DEFAULT)
    if isinstance(chart, alt.VConcatChart):
        return max(widths)
    columns = getattr(chart, "columns", None)
    if isinstance(chart, alt.FacetChart):
        # A facet without a number of columns has one row of usually two panels.
        count = columns if isinstance(columns, int) else 2
        return count * widths[0] + (count - 1) * _GAP
    count = columns if isinstance(columns, int) else len(widths)
    return sum(widths[:count]) + (min(count, len(widths)) - 1) * _GAP
