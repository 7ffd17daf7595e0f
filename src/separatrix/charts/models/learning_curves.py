"""Learning curves: a score by the number of training samples."""

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
_BAND = (0.1, 0.9)  # quantiles of the repeats
_KEYS = ("model", "samples", "score")
_LABEL = 14.0  # pixels between the names of two lines

Curve = dict[int, Array]  # number of samples -> scores of the repeats


def learning_curves(
    rows: Iterable[Mapping[str, Any]], *, score: str = "accuracy", log_x: bool = True
) -> Any:
    """Draw a score of several models by the number of training samples.

    Parameters
    ----------
    rows : mappings with "model", "samples" and "score" (a number, or the numbers of several
        repeats). Several rows with the same model and number of samples are repeats too
    score : name of the score. Scores with "accuracy" in their name are shown in per cent
    log_x : whether the horizontal axis is logarithmic

    Lines show the mean over the repeats, and bands show the middle 80 % of them.

    >>> from separatrix import charts
    >>> rows = [
    ...     {"model": "naive Bayes", "samples": 10, "score": [0.8, 0.7]},
    ...     {"model": "naive Bayes", "samples": 1000, "score": 0.9},
    ...     {"model": "logistic regression", "samples": 10, "score": 0.6},
    ...     {"model": "logistic regression", "samples": 1000, "score": 0.95},
    ... ]
    >>> charts.learning_curves(rows).to_dict()["description"][:70]
    'Accuracy for 10 to 1,000 training samples: naive Bayes from 0.75 to 0.'
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
    x = alt.X("samples:Q").title("number of training samples")
    x = x.axis(format=",d", values=sizes, grid=False)
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
        .encode(x=alt.XDatum(ends[1]), y=y, text="model:N", color=hue),
    ).properties(width=_WIDTH, height=_HEIGHT)
    repeats = max(point["repeats"] for point in points)
    subtitle = []
    if repeats > 1:
        subtitle = [f"Lines: means of up to {repeats:,} repeats. Bands: the middle 80 % of them."]
    description = _words(points, names, score, sizes)
    title = f"{score.capitalize()} by number of training samples"
    return finish(chart, title, subtitle, description)


def _curves(rows: Iterable[Mapping[str, Any]]) -> dict[str, Curve]:
    found: dict[str, dict[int, list[float]]] = {}
    for k, row in enumerate(rows):
        missing = [key for key in _KEYS if key not in row]
        if missing:
            raise ValueError(
                f"Every row must have {', '.join(map(repr, _KEYS))}. Row {k} has no "
                f"{missing[0]!r}: it has {', '.join(map(repr, row)) or 'nothing'}."
            )
        scores = np.atleast_1d(np.asarray(row["score"], np.float64)).ravel()
        size = int(row["samples"])
        if size < 1 or not len(scores) or not np.isfinite(scores).all():
            raise ValueError(
                "Every row must have at least one sample and one or more finite scores. Row "
                f"{k} has samples {row['samples']!r} and score {row['score']!r}."
            )
        found.setdefault(str(row["model"]), {}).setdefault(size, []).extend(scores.tolist())
    if not found:
        raise ValueError("There are no rows to draw. Give at least one.")
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
    """Return the names of the lines at the heights of their ends, without overlaps."""
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
        f"{name} from {short(first['score'])} to {short(last['score'])}"
        for name, (first, last) in ends.items()
    )
    title = score.capitalize()
    words = f"{title} for {sizes[0]:,} to {sizes[-1]:,} training samples: {listed}."
    if len(names) > 1 and len(sizes) > 1:
        tops = [
            max((p for p in points if p["samples"] == size), key=lambda p: float(p["score"]))
            for size in (sizes[0], sizes[-1])
        ]
        told = [f"{p['model']} with {counted(p['samples'], 'sample')}" for p in tops]
        words += f" Highest: {told[0]}, {told[1]}."
    return words
