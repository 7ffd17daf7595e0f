"""A score against the number of training samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import at_share, share, spread
from separatrix.charts.drawing.theme import DASHES, class_colours, finish
from separatrix.matrix import Array
from separatrix.text import counted

_WIDTH, _HEIGHT = 440, 300
_BAND = (0.1, 0.9)  # of the repeats
_KEYS = ("model", "samples", "score")
_LABEL = 14.0  # pixels between the names of two lines

Curve = dict[int, Array]  # from numbers of samples to the scores of the repeats


def learning_curves(
    rows: Iterable[Mapping[str, Any]], *, score: str = "accuracy", log_x: bool = True
) -> Any:
    """Draw a score of several models against the number of samples that they were trained on.

    Parameters
    ----------
    rows : mappings with "model", "samples" and "score", a number or those of several repeats; rows
        of the same model and number of samples are repeats as well
    score : its name; an accuracy is written in per cent
    log_x : whether the axis of the samples is logarithmic

    A line is the mean over the repeats, its band the middle 80 % of them.

    >>> from separatrix import charts
    >>> rows = [
    ...     {"model": "naive Bayes", "samples": 10, "score": [0.8, 0.7]},
    ...     {"model": "naive Bayes", "samples": 1000, "score": 0.9},
    ...     {"model": "logistic regression", "samples": 10, "score": 0.6},
    ...     {"model": "logistic regression", "samples": 1000, "score": 0.95},
    ... ]
    >>> charts.learning_curves(rows).to_dict()["description"][:67]
    'Accuracy by training samples, 10 to 1,000: naive Bayes 0.75 to 0.9,'
    """
    curves = _curves(rows)
    names = list(curves)
    values = np.concatenate([scores for curve in curves.values() for scores in curve.values()])
    low, high = float(values.min()), float(values.max())
    pad = 0.05 * (high - low) or 0.05
    accurate = "accuracy" in score.lower()
    span = (low - pad, min(high + pad, 1.0) if accurate and high < 1.0 else high + pad)
    sizes = sorted({size for curve in curves.values() for size in curve})
    form = ".0%" if accurate else ".6~g"
    x = alt.X("samples:Q").title("training samples").axis(format=",d", values=sizes, grid=False)
    ends = [sizes[0], max(sizes[-1], sizes[0] + 1)]
    x = x.scale(type="log" if log_x else "linear", domain=ends, nice=False)
    scale = alt.Scale(domain=list(span), nice=False, zero=False)
    axis = alt.Axis(format=form, tickCount=5, title=score)
    y, lower = (alt.Y(f"{field}:Q").scale(scale).axis(axis) for field in ("score", "low"))
    hue = alt.Color("model:N").legend(None)
    hue = hue.scale(domain=names, range=class_colours(len(names)))
    dash = alt.StrokeDash("model:N").legend(None)
    dash = dash.scale(domain=names, range=[DASHES[k % len(DASHES)] for k in range(len(names))])
    points: list[dict[str, Any]] = [
        {"model": name, "samples": size, "repeats": len(curve[size]), **_point(curve[size])}
        for name, curve in curves.items()
        for size in sorted(curve)
    ]
    base = alt.Chart(data(points)).encode(x=x, color=hue)
    tooltip = ["model:N", "samples:Q", alt.Tooltip("score:Q", format=".4g"), "repeats:Q"]
    chart = alt.layer(
        base.mark_area(opacity=0.18).encode(y=lower, y2="high:Q"),
        base.mark_line(strokeWidth=2.2, strokeJoin="round").encode(y=y, strokeDash=dash),
        base.mark_point(filled=True, size=36, opacity=1).encode(y=y, tooltip=tooltip),
        alt.Chart(data(_labels(points, names, span)))
        .mark_text(align="left", dx=8)
        .encode(x=alt.value(_WIDTH), y=y, text="model:N", color=hue),
    ).properties(width=_WIDTH, height=_HEIGHT)
    repeats = max(point["repeats"] for point in points)
    subtitle = []
    if repeats > 1:
        subtitle = [f"Means of up to {repeats:,} repeats; the bands hold 80 % of them."]
    description = _words(points, names, score, sizes)
    return finish(chart, f"{score.capitalize()} by training samples", subtitle, description)


def _curves(rows: Iterable[Mapping[str, Any]]) -> dict[str, Curve]:
    found: dict[str, dict[int, list[float]]] = {}
    for k, row in enumerate(rows):
        missing = [key for key in _KEYS if key not in row]
        if missing:
            raise ValueError(
                f"Every row of learning curves has {', '.join(map(repr, _KEYS))}. Row {k} has no "
                f"{missing[0]!r}: it has {', '.join(map(repr, row)) or 'nothing'}."
            )
        scores = np.atleast_1d(np.asarray(row["score"], np.float64)).ravel()
        size = int(row["samples"])
        if size < 1 or not len(scores) or not np.isfinite(scores).all():
            raise ValueError(
                "A row of learning curves has at least one sample, and one or more finite scores. "
                f"Row {k} has {row['samples']!r} and {row['score']!r}."
            )
        found.setdefault(str(row["model"]), {}).setdefault(size, []).extend(scores.tolist())
    if not found:
        raise ValueError("There are no rows to draw learning curves of.")
    return {
        name: {size: np.array(scores) for size, scores in curve.items()}
        for name, curve in found.items()
    }


def _point(scores: Array) -> dict[str, float]:
    low, high = np.quantile(scores, _BAND)
    return {"score": float(scores.mean()), "low": float(low), "high": float(high)}


def _labels(
    points: list[dict[str, Any]], names: list[str], span: tuple[float, float]
) -> list[dict[str, Any]]:
    """The names of the lines, at the height of their ends."""
    heights = [_HEIGHT * share(_ends(points, name)[1]["score"], span, False) for name in names]
    return [
        {"model": name, "score": at_share(place / _HEIGHT, span, False)}
        for name, place in zip(names, spread(heights, _LABEL, _HEIGHT))
    ]


def _ends(points: list[dict[str, Any]], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    own = [point for point in points if point["model"] == name]
    return own[0], own[-1]


def _words(points: list[dict[str, Any]], names: list[str], score: str, sizes: list[int]) -> str:
    ends = {name: _ends(points, name) for name in names}
    listed = ", ".join(
        f"{name} {short(first['score'])} to {short(last['score'])}"
        for name, (first, last) in ends.items()
    )
    words = f"{score.capitalize()} by training samples, {sizes[0]:,} to {sizes[-1]:,}: {listed}."
    if len(names) > 1 and len(sizes) > 1:
        tops = [
            max((p for p in points if p["samples"] == size), key=lambda p: float(p["score"]))
            for size in (sizes[0], sizes[-1])
        ]
        told = [f"{p['model']} with {counted(p['samples'], 'sample')}" for p in tops]
        words += f" The highest is {told[0]} and {told[1]}."
    return words
