"""Bounds on the cross-validation error for all values of C."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.theme import CHOSEN, OTHERS, TRAINING, VALIDATION, WRONG, finish
from separatrix.model_selection.certified import CertifiedSearch

_WIDTH, _HEIGHT = 480, 320
_THIN = 0.2  # of epsilon: the proof is thin where the lower bound is this close to its goal
_NAMES = {"error": "cross-validation error", "log_loss": "cross-validation log-loss"}


def certified_search(found: CertifiedSearch) -> Any:
    """Draw the bounds of a certified search on the cross-validation error, as a function of C.

    Parameters
    ----------
    found : the result of `certified_search`

    The error of every C is in the shaded area. The dashed line is the best error minus epsilon: the
    lower bound must not be below it. Where it is close, the proof is thin.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import certified_search, charts
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = certified_search(scale(X), y, C=(0.01, 1.0), epsilon=0.02)
    >>> charts.certified_search(found).to_dict()["title"]["text"]
    'Cross-validation error for every C'
    """
    goal = found.error - found.epsilon
    top = _top(found)
    runs = _runs(found, goal, top)
    points = [
        {"C": float(C), "error": float(value)} for C, value in zip(found.points, found.errors)
    ]
    percent = ".3~%" if found.measure == "error" else ".4~g"
    x = alt.X("from:Q").title("penalty parameter C").axis(format=".3~g", tickCount=6, grid=False)
    x = x.scale(type="log", domain=[float(found.edges[0]), float(found.edges[-1])], nice=False)
    y = alt.Y("low:Q").title(_NAMES[found.measure]).axis(format=percent, tickCount=6)
    y = y.scale(domain=[_bottom(found), top], nice=False)
    hue = (
        alt.Color("proof:N")
        .title(None)
        .scale(domain=["proven", "thin proof", "not proven"], range=[TRAINING, VALIDATION, WRONG])
    )
    base = alt.Chart(data(runs)).transform_flatten(["from", "low", "high"])
    area = base.mark_area(opacity=0.3, interpolate="step-after", clip=True)
    area = area.encode(x=x, y=y, y2="high:Q", color=hue, detail="run:N")
    edge = base.mark_line(strokeWidth=1.4, interpolate="step-after", clip=True)
    edge = edge.encode(x=x, y=y, color=hue, detail="run:N")
    line = alt.Chart(data([{"low": goal}])).mark_rule(color=OTHERS, strokeDash=[5, 4])
    dots = alt.Chart(data(points)).mark_point(filled=True, size=16, color=TRAINING, opacity=1)
    best = alt.Chart(data([{"from": found.C, "low": found.error}]))
    best = best.mark_point(filled=True, size=90, shape="diamond", color=CHOSEN, opacity=1)
    chart = alt.layer(
        area,
        edge,
        line.encode(y=y),
        dots.encode(
            x="C:Q",
            y="error:Q",
            tooltip=[alt.Tooltip("C:Q", format=".4g"), alt.Tooltip("error:Q", format=percent)],
        ),
        best.encode(x=x, y=y),
    ).properties(width=_WIDTH, height=_HEIGHT)
    subtitle = [
        f"Shaded: the {found.measure.replace('_', '-')} of every C is here. "
        f"Dashed: the best minus {found.format(found.epsilon)}.",
        f"Diamond: the best C, {short(found.C)}.",
    ]
    title = f"{_NAMES[found.measure].capitalize()} for every C"
    return finish(chart, title, subtitle, " ".join(found.sentences()))


def _runs(found: CertifiedSearch, goal: float, top: float) -> list[dict[str, Any]]:
    """Return stretches of pieces with the same kind of proof, each as lists of its steps."""
    runs: list[dict[str, Any]] = []
    high = np.minimum(found.high, top).tolist()
    for first, last, least, most in zip(found.edges, found.edges[1:], found.low.tolist(), high):
        kind = _kind(least, goal, found.epsilon)
        if not runs or runs[-1]["proof"] != kind:
            runs.append({"run": len(runs), "proof": kind, "from": [], "low": [], "high": []})
        run = runs[-1]
        for name, value in (("from", float(first)), ("low", least), ("high", most)):
            run[name].append(value)
        run["end"] = float(last)
    for run in runs:  # a step needs its end
        run["from"].append(run.pop("end"))
        run["low"].append(run["low"][-1])
        run["high"].append(run["high"][-1])
    return runs


def _kind(low: float, goal: float, epsilon: float) -> str:
    if low < goal:
        return "not proven"
    return "thin proof" if low < goal + _THIN * epsilon else "proven"


def _top(found: CertifiedSearch) -> float:
    """Return the highest value to draw: upper bounds far above the values say nothing."""
    largest, finite = float(found.errors.max()), found.high[np.isfinite(found.high)]
    above = float(finite.max()) if len(finite) else largest
    return min(above, largest + 4.0 * found.epsilon) + 0.2 * found.epsilon


def _bottom(found: CertifiedSearch) -> float:
    return max(0.0, min(float(found.low.min()), found.error - found.epsilon) - found.epsilon)
