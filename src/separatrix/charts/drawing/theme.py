"""Colours, sizes and the two themes: what all pictures share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

# Okabe and Ito's hues: told apart by eyes of every kind, on white and on black.
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
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2])
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
# In an SVG the places of words are fixed when it is written: these are all of one width.
MEASURED = "Arial, Helvetica, Liberation Sans, sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of the page behind a picture: paper, text, quiet text, thin lines, blue text."""

    paper: str
    ink: str
    quiet: str
    rule: str
    accent: str


THEMES = {
    "light": Theme("#ffffff", "#1c2430", "#5b6573", "#e3e7ec", TRAINING),
    "dark": Theme("#14181f", "#e6e9ee", "#a3adba", "#2c343f", "#56B4E9"),
}
_current = "light"


def set_theme(theme: str) -> None:
    """Choose "light" or "dark" for all charts that are made from now on.

    >>> set_theme("dark")
    >>> config()["background"]
    '#14181f'
    >>> set_theme("light")
    """
    global _current
    _require_theme(theme)
    _current = theme


def config(theme: str | None = None) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme, of the one chosen by `set_theme` for None.

    The specification of a chart has no colour of its theme but here: another one replaces it.
    """
    theme = _current if theme is None else theme
    _require_theme(theme)
    chosen = THEMES[theme]
    return {
        "background": chosen.paper,
        "font": FONT,
        "padding": 12,
        # The chart as a whole is described; thousands of marks that each describe themselves are
        # no help to a reader, and most of a file.
        "mark": {"aria": False},
        "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 300},
        "axis": {
            "labelColor": chosen.quiet,
            "titleColor": chosen.quiet,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
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
            "labelLimit": 0,
            "titleLimit": 0,
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
        },
    }


def finish(chart: Any, title: str, subtitle: list[str], description: str) -> Any:
    """Give a chart its title, its text summary and the look of the theme."""
    heading = alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)
    return chart.properties(title=heading, description=description).configure(**config())


def class_colours(n_classes: int) -> list[str]:
    """A colour for every class; those beyond the tenth begin anew."""
    return [CLASSES[k % len(CLASSES)] for k in range(n_classes)]


def class_shapes(n_classes: int) -> list[str]:
    """A shape for every class, so that no two are told apart by colour alone."""
    return [SHAPES[k % len(SHAPES)] for k in range(n_classes)]


def class_channels(domain: list[str], *, legend: bool = True) -> dict[str, Any]:
    """Colour and shape of the classes."""
    key = alt.Legend(title=None, orient="top", columns=8) if legend else None
    n = len(domain)
    return {
        "color": alt.Color("class:N").scale(domain=domain, range=class_colours(n)).legend(key),
        "shape": alt.Shape("class:N").scale(domain=domain, range=class_shapes(n)).legend(key),
    }


def _require_theme(theme: str) -> None:
    if theme not in THEMES:
        known = ", ".join(repr(name) for name in THEMES)
        raise ValueError(f"The theme of a chart is one of {known}. Got {theme!r} instead.")
