"""Charts of the demonstrations in `explain`: common mistakes in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.positions import at_share, padded, powers, share, spread
from separatrix.charts.drawing.theme import (
    CHOSEN,
    DASHES,
    TRAINING,
    VALIDATION,
    WRONG,
    class_channels,
    finish,
)
from separatrix.explain import Demonstration
from separatrix.explain.text_tables import number
from separatrix.matrix import Array

_WIDTH, _HEIGHT = 420, 320
_FAR = 1e6  # a loss larger than this multiple of its first value leaves the chart
_FEW = 14.0  # right end of the feature axis, left of the outlier


def one_at_a_time(found: Demonstration) -> Any:
    """Draw the paths of two weights that are updated simultaneously, and one at a time.

    >>> from separatrix import charts, explain
    >>> found = explain.one_at_a_time()
    >>> charts.one_at_a_time(found).to_dict()["title"]["text"] == found.title
    True
    """
    paths = _series(found, "paths", "one_at_a_time")
    return _finished(_paths(paths, [CHOSEN, WRONG, VALIDATION]), found)


def zero_start(found: Demonstration) -> Any:
    """Draw the paths of two weights that start at zero: one that moves, and one that does not.

    >>> from separatrix import charts, explain
    >>> found = explain.zero_start()
    >>> charts.zero_start(found).to_dict()["title"]["text"] == found.title
    True
    """
    paths = _series(found, "paths", "zero_start")
    still = {way for way, path in paths.items() if not np.any(path)}
    chart = _paths(paths, [WRONG if way in still else TRAINING for way in paths])
    stuck = alt.Chart(data([{"w1": 0.0, "w2": 0.0, "text": f"{way}: stays at 0"} for way in still]))
    base = stuck.encode(x="w1:Q", y="w2:Q")
    cross = base.mark_point(shape="cross", angle=45, size=140, filled=True, color=WRONG, opacity=1)
    words = haloed(base.encode(text="text:N"), align="left", dx=12, dy=4, color=WRONG)
    return _finished(alt.layer(chart, cross, *words), found)


def outlier(found: Demonstration) -> Any:
    """Draw the decision boundaries of squared and logistic loss, without and with an outlier.

    The curves show the output of each model, read as the probability of class 1. The outlier lies
    beyond the right end of the axis.

    >>> from separatrix import charts, explain
    >>> found = explain.outlier()
    >>> charts.outlier(found).to_dict()["title"]["text"] == found.title
    True
    """
    planes = _series(found, "planes", "outlier")
    x, y = (np.asarray(found.series[name]) for name in ("x", "y"))
    far = float(found.series["outlier"])
    panels = [_outlier_panel(way, lines, x, y, far) for way, lines in planes.items()]
    return _finished(alt.hconcat(*panels, spacing=28), found)


def large_rate(found: Demonstration) -> Any:
    """Draw the loss by epoch at learning rates below and above the limit.

    The limit is 2/L, where L is the largest curvature of the loss.

    >>> from separatrix import charts, explain
    >>> found = explain.large_rate()
    >>> charts.large_rate(found).to_dict()["title"]["text"] == found.title
    True
    """
    losses = _series(found, "losses", "large_rate")
    fates = {number(row[1]): str(row[-1]) for row in found.rows}
    first = next(iter(losses.values()))[0]
    curves = {name: np.asarray(curve, np.float64) for name, curve in losses.items()}
    seen = np.concatenate([c[np.isfinite(c) & (c > 0.0)] for c in curves.values()])
    low, high = float(seen.min()), min(float(seen.max()), _FAR * first)
    span, epochs = (low / 1.3, high * 1.3), max(map(len, curves.values()))
    rows, ends = [], []
    for name, curve in curves.items():
        shown = np.flatnonzero((curve > 0.0) & (curve <= span[1]))
        kind = "falls" if fates.get(name) == "falls" else "diverges"
        own = {"rate": name, "fate": kind}
        rows += [{"epoch": int(k) + 1, "loss": float(curve[k]), **own} for k in shown]
        last = int(shown[-1])
        words = f"{name} × the limit: {kind}"
        ends.append({"epoch": last + 1, "loss": float(curve[last]), "text": words, **own})
    places = spread([_HEIGHT * share(end["loss"], span, True) for end in ends], 14.0, _HEIGHT)
    for end, place in zip(ends, places):
        end["loss"] = at_share(place / _HEIGHT, span, True)
    x = alt.X("epoch:Q").scale(domain=[1, max(epochs, 2)], nice=False)
    x = x.axis(grid=False, tickCount=5, format=",d")
    y = alt.Y("loss:Q").scale(type="log", domain=list(span), nice=False)
    y = y.title("training loss").axis(format=".3~g", values=powers(*span))
    hue = alt.Color("fate:N").legend(None)
    hue = hue.scale(domain=["falls", "diverges"], range=[TRAINING, WRONG])
    dash = alt.StrokeDash("rate:N").legend(None)
    dash = dash.scale(domain=list(curves), range=[DASHES[k % 6] for k in range(len(curves))])
    chart = alt.layer(
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=x,
            y=y,
            color=hue,
            strokeDash=dash,
            tooltip=[alt.Tooltip("rate:N", title="multiple of the limit"), "epoch:Q", "loss:Q"],
        ),
        *haloed(
            alt.Chart(data(ends)).encode(x=x, y=y, text="text:N", color=hue), align="left", dx=8
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)
    return _finished(chart, found)


def _outlier_panel(way: str, lines: Mapping[str, Any], x: Array, y: Array, far: float) -> Any:
    """Draw one loss: the rows, the two curves and the two decision boundaries."""
    bounds = {kind: -b / w for kind, (w, b) in lines.items()}
    wrong = (x > bounds["with"]) != (y == 1)
    along = np.linspace(0.0, _FEW, 141)
    curves = [
        {"kind": f"{kind} outlier", "x": along, "p": _chance(way, w * along + b)}
        for kind, (w, b) in lines.items()
    ]
    points = [{"x": a, "p": float(b), "class": str(b)} for a, b in zip(x.tolist(), y.tolist())]
    at = alt.X("x:Q").title("feature").scale(domain=[0.0, _FEW], nice=False)
    at = at.axis(grid=False, tickCount=7)
    up = alt.Y("p:Q").scale(domain=[-0.25, 1.25], nice=False).axis(values=[0, 0.5, 1])
    up = up.title("output as the probability of class 1")
    kinds = ["without outlier", "with outlier"]
    key = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    dash = alt.StrokeDash("kind:N").legend(key).scale(domain=kinds, range=[[4, 3], [1, 0]])
    rules = [{"kind": f"{kind} outlier", "x": bound} for kind, bound in bounds.items()]
    rings = [point for point, off in zip(points, wrong.tolist()) if off]
    arrow = [{"x": _FEW, "p": 1.0, "text": f"outlier at {number(far)} →"}]
    told = f"{way} loss: {int(wrong.sum())} of {len(x)} rows wrong with the outlier"
    return (
        alt.layer(
            alt.Chart(data(curves))
            .transform_flatten(["x", "p"])
            .mark_line(style="quiet", strokeWidth=1.6, clip=True)
            .encode(x=at, y=up, strokeDash=dash),
            alt.Chart(data(rules))
            .mark_rule(style="ink", strokeWidth=2)
            .encode(x=at, strokeDash=dash),
            alt.Chart(data(points))
            .mark_point(filled=True, size=60, opacity=1)
            .encode(x=at, y=up, **class_channels(["0", "1"], legend=False)),
            alt.Chart(data(rings))
            .mark_point(size=170, strokeWidth=2, color=WRONG, opacity=1)
            .encode(x=at, y=up),
            *haloed(
                alt.Chart(data(arrow)).encode(x=at, y=up, text="text:N"),
                align="right",
                dy=-16,
                color=VALIDATION,
                fontWeight="bold",
            ),
        )
        .properties(width=300, height=220)
        .properties(title=alt.TitleParams(told, fontSize=12, offset=6))
    )


def _chance(way: str, scores: Array) -> Array:
    """Convert scores to probabilities. Least squares has the targets -1 and 1 for 0 and 1."""
    return 0.5 * (scores + 1.0) if way == "squared" else 1.0 / (1.0 + np.exp(-scores))


def _paths(paths: Mapping[str, Sequence[Sequence[float]]], hues: Sequence[str]) -> Any:
    """Draw paths of two weights that start at zero, with a dot after every step."""
    rows = [
        {"way": way, "step": k, "w1": w1, "w2": w2}
        for way, path in paths.items()
        for k, (w1, w2) in enumerate(path)
    ]
    spans = [padded(np.array([row[name] for row in rows]), 0.08) for name in ("w1", "w2")]
    x, y = (
        channel.scale(domain=list(span), nice=False, zero=False).axis(tickCount=5, format=".6~g")
        for channel, span in zip(
            (alt.X("w1:Q").title("weight w1"), alt.Y("w2:Q").title("weight w2")), spans
        )
    )
    moving = {way: hue for (way, path), hue in zip(paths.items(), hues) if np.any(path)}
    key = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    names = list(moving)
    hue = alt.Color("way:N").legend(key).scale(domain=names, range=list(moving.values()))
    dash = alt.StrokeDash("way:N").legend(key)
    dash = dash.scale(domain=names, range=[DASHES[k % 6] for k in range(len(names))])
    base = alt.Chart(data([row for row in rows if row["way"] in moving])).encode(x=x, y=y)
    return alt.layer(
        base.mark_line(strokeWidth=1.8).encode(color=hue, strokeDash=dash, order="step:Q"),
        base.mark_point(filled=True, size=26, opacity=1).encode(
            color=hue, tooltip=["way:N", "step:Q", "w1:Q", "w2:Q"]
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)


def _series(found: Demonstration, name: str, made_by: str) -> Any:
    if name not in found.series:
        raise ValueError(
            f"This chart needs the result of explain.{made_by}(). Got {found.title!r} instead."
        )
    return found.series[name]


def _finished(chart: Any, found: Demonstration) -> Any:
    return finish(
        chart, found.title, found.sentences[:1], f"{found.title}. {' '.join(found.sentences)}"
    )
