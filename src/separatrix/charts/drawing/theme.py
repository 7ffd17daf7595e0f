"""Colours, sizes and the two themes of all charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from separatrix.charts.drawing.sizes import lines_above

# The colours of Okabe and Ito, which colour-blind readers can distinguish, on white and on black.
TRAINING, VALIDATION = "#0072B2", "#E69F00"
OTHERS, WRONG, CHOSEN = "#8a94a0", "#D55E00", "#009E73"
CLASSES = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#9A8A00",
    "#6A51A3",
    "#8C564B",
    "#7F7F7F",
)
# Shades for the values of a parameter, from low to high.
ORDERED = ("#D9CCF2", "#C4B0E9", "#AE94DF", "#977AD4", "#8060C7", "#6946B8", "#52309E")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2])
# The same colours, lighter, for the lines and texts on the dark background.
_ON_DARK = {
    "#0072B2": "#4A9FE3",
    "#009E73": "#2BC596",
    "#D55E00": "#F58142",
    "#56B4E9": "#8FD3FA",
    "#9A8A00": "#CDBB1E",
    "#6A51A3": "#AC95F2",
    "#8C564B": "#C99284",
    "#7F7F7F": "#B4B4B4",
    "#D9CCF2": "#433466",
    "#C4B0E9": "#554480",
    "#AE94DF": "#69569C",
    "#977AD4": "#7E6AB6",
    "#8060C7": "#9480CE",
    "#6946B8": "#AC9AE4",
    "#52309E": "#C8BAF8",
}
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
# An SVG fixes the positions of its text. These fonts all have the same letter widths.
MEASURED = "Arial, Helvetica, Liberation Sans, sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of a theme.

    Attributes
    ----------
    paper : background
    ink : text
    quiet : secondary text
    rule : thin lines
    accent : blue text
    """

    paper: str
    ink: str
    quiet: str
    rule: str
    accent: str


THEMES = {
    "light": Theme("#ffffff", "#1c2430", "#5b6573", "#e3e7ec", TRAINING),
    "dark": Theme("#14181f", "#e6e9ee", "#a3adba", "#2c343f", "#56B4E9"),
}
_LONGEST = 320  # pixels of a name beside an axis or in a legend; longer ones end in an ellipsis
_KEPT = ("data", "datasets", "config")  # parts without colours of marks
_current = "light"


def set_theme(theme: str) -> None:
    """Set the theme of all later charts to "light" or "dark".

    >>> set_theme("dark")
    >>> config()["background"]
    '#14181f'
    >>> set_theme("light")
    """
    global _current
    _require_theme(theme)
    _current = theme


def config(theme: str | None = None) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a theme; None means the theme set by `set_theme`.

    All colours of the theme are in this part of a chart, so replacing it changes the theme.
    """
    theme = _current if theme is None else theme
    _require_theme(theme)
    chosen = THEMES[theme]
    return {
        "background": chosen.paper,
        "font": FONT,
        "padding": 12,
        # The description covers the whole chart. A description of every mark would not help
        # readers and would take up most of the file.
        "mark": {"aria": False},
        "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 300},
        "axis": {
            "labelColor": chosen.quiet,
            "titleColor": chosen.quiet,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "titleLimit": _LONGEST,
            "labelFontSize": 11,
            "gridColor": chosen.rule,
            "domainColor": chosen.rule,
            "tickColor": chosen.rule,
            "labelOverlap": "greedy",
        },
        "title": {
            "anchor": "start",
            "color": chosen.ink,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": chosen.quiet,
            "subtitleFontSize": 12,
            "offset": 12,
            "subtitlePadding": 4,
        },
        "header": {
            "labelColor": chosen.ink,
            "labelFontSize": 12,
            "labelAnchor": "start",
            "labelLimit": 0,
            "titleColor": chosen.quiet,
            "titleFontWeight": "normal",
        },
        "legend": {
            "labelColor": chosen.ink,
            "titleColor": chosen.quiet,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "labelLimit": _LONGEST,
            "titleLimit": _LONGEST,
            "symbolStrokeWidth": 2,
        },
        "text": {"color": chosen.ink, "fontSize": 11},
        "style": {
            "accent": {"color": chosen.accent},
            "ink": {"color": chosen.ink},
            "quiet": {"color": chosen.quiet},
            "outline": {"stroke": chosen.quiet, "fill": chosen.paper},
            "paper": {"color": chosen.paper},
            "paper edge": {"stroke": chosen.paper},
            "halo": {"stroke": chosen.paper, "strokeWidth": 3.5, "strokeJoin": "round"},
        },
    }


def finish(chart: Any, title: str, subtitle: Sequence[str], description: str) -> Any:
    """Add the title, the subtitle, the text summary and the theme to a chart.

    Every sentence of the subtitle begins a new line, and is wrapped to the width of the chart.
    """
    lines = lines_above(chart, [sentence for sentence in subtitle if sentence])
    heading = alt.TitleParams(title, subtitle=lines) if lines else alt.TitleParams(title)
    finished = chart.properties(title=heading, description=description).configure(**config())
    return recoloured(finished, _current)


def retitled(chart: Any, title: str | None, sentences: Sequence[str] = ()) -> Any:
    """Replace the title of a finished chart, and add sentences before its subtitle."""
    if title is not None:
        chart.title.text = title
    if sentences:
        old = chart.title.subtitle
        kept = old if isinstance(old, list) else []
        chart.title.subtitle = [*lines_above(chart, sentences), *kept]
    return chart


def recoloured(part: Any, theme: str) -> Any:
    """Replace the colours of a specification by those of a theme; data is not changed.

    >>> recoloured({"mark": {"color": "#0072B2"}}, "dark")
    {'mark': {'color': '#4A9FE3'}}
    """
    colours = _ON_DARK if theme == "dark" else {dark: light for light, dark in _ON_DARK.items()}
    return _replaced(part, colours)


def _replaced(part: Any, colours: Mapping[str, str]) -> Any:
    if isinstance(part, alt.SchemaBase):
        for name, value in part._kwds.items():
            if name not in _KEPT:
                part._kwds[name] = _replaced(value, colours)
        return part
    if isinstance(part, dict):
        return {k: v if k in _KEPT else _replaced(v, colours) for k, v in part.items()}
    if isinstance(part, list | tuple):
        return [_replaced(each, colours) for each in part]
    return colours.get(part, part) if isinstance(part, str) else part


def class_colours(n_classes: int) -> list[str]:
    """Return a colour for every class. The ten colours repeat from the eleventh class on."""
    return [CLASSES[k % len(CLASSES)] for k in range(n_classes)]


def class_shapes(n_classes: int) -> list[str]:
    """Return a shape for every class, so that colour is not the only difference."""
    return [SHAPES[k % len(SHAPES)] for k in range(n_classes)]


def class_channels(domain: list[str], *, legend: bool = True) -> dict[str, Any]:
    """Return the encodings of colour and shape by class."""
    key = alt.Legend(title="class", titleOrient="left", orient="top", columns=8)
    n, shown = len(domain), key if legend else None
    return {
        "color": alt.Color("class:N").scale(domain=domain, range=class_colours(n)).legend(shown),
        "shape": alt.Shape("class:N").scale(domain=domain, range=class_shapes(n)).legend(shown),
    }


def _require_theme(theme: str) -> None:
    if theme not in THEMES:
        known = ", ".join(repr(name) for name in THEMES)
        raise ValueError(f"The 'theme' parameter must be one of {known}. Got {theme!r} instead.")
