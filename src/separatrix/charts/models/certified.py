"""Balls that contain the optimum, and intervals of scores at the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from scipy.optimize import minimize

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.theme import CLASSES, OTHERS, TRAINING, WRONG, finish
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.text import counted

_WIDTH, _HEIGHT = 420, 320
EXAMPLE_L2 = 0.3


def optimum_balls(starts: Any, gradients: Any, l2: float, optimum: Sequence[float]) -> Any:
    """Draw the circles that contain the optimal two weights, one for each gradient.

    Parameters
    ----------
    starts, gradients : weights w0 (m, 2), and the gradients g (m, 2) of the objective there. The
        circles have the centres w0 - g / (2 l2) and the radii |g| / (2 l2)
    l2 : strength of the penalty
    optimum : the optimal weights (2,)

    >>> from separatrix import charts
    >>> chart = charts.optimum_balls([[0.0, 0.0]], [[-1.0, 0.5]], 0.5, [0.8, -0.3])
    >>> chart.to_dict()["description"]
    'The circle from weights (0, 0) has radius 1.12. The optimum (0.8, -0.3) is inside.'
    """
    starts, gradients = (np.atleast_2d(np.asarray(a, float)) for a in (starts, gradients))
    centres = starts - gradients / (2.0 * l2)
    radii = np.linalg.norm(gradients, axis=1) / (2.0 * l2)
    best = np.asarray(optimum, float)
    x, y = _axes(centres, radii)
    circles, points, words = [], [], []
    for k, (start, centre, radius) in enumerate(zip(starts, centres, radii)):
        hue, turn = CLASSES[k % len(CLASSES)], np.linspace(0.0, 2.0 * np.pi, 181)
        ring = {"w1": centre[0] + radius * np.cos(turn), "w2": centre[1] + radius * np.sin(turn)}
        line = alt.Chart(data([ring])).transform_flatten(["w1", "w2"])
        circles.append(
            line.mark_line(color=hue, strokeWidth=1.6, fill=hue, fillOpacity=0.07)
            .encode(x=x, y=y, order=alt.Order("index:Q"))
            .transform_window(index="row_number()")
        )
        at = alt.Chart(data([{"w1": start[0], "w2": start[1], "text": f"start {k + 1}"}]))
        base = at.encode(x=x, y=y)
        points.append(base.mark_point(shape="square", filled=True, size=60, color=hue, opacity=1))
        words += haloed(base.encode(text="text:N"), align="left", dx=8, dy=-8, color=hue)
    there = alt.Chart(data([{"w1": best[0], "w2": best[1], "text": "optimum"}])).encode(x=x, y=y)
    star = there.mark_point(shape="cross", filled=True, size=130, color=WRONG, opacity=1)
    words += haloed(there.encode(text="text:N"), align="left", dx=9, dy=4, color=WRONG)
    chart = alt.layer(*circles, *points, star, *words).properties(width=_WIDTH, height=_WIDTH)
    inside = np.linalg.norm(centres - best, axis=1) <= radii * (1.0 + 1e-9)
    told = [
        f"The circle from weights ({short(start[0])}, {short(start[1])}) has radius "
        f"{short(radius)}."
        for start, radius in zip(starts, radii)
    ]
    place = "inside" if inside.all() else "not inside every circle"
    told.append(f"The optimum ({short(best[0])}, {short(best[1])}) is {place}.")
    subtitle = ["One gradient, at any weights, gives a circle that contains the optimum."]
    return finish(chart, "Circles that contain the optimum", subtitle, " ".join(told))


def example_balls() -> Any:
    """Draw the circles from three gradients of a small problem: two weights, no bias.

    >>> example_balls().to_dict()["description"][-7:]
    'inside.'
    """
    rows = np.array([[2.0, 1.0], [1.0, 2.5], [0.5, -1.0], [-1.0, -0.5], [-2.0, 0.5], [-0.5, -2.0]])
    six = Dataset.of(rows, [1, 1, 1, 0, 0, 0])
    objective = Objective(six, LOSSES["logistic"], ElasticNet(0.0, EXAMPLE_L2), bias=False)
    starts = np.array([[0.0, 0.0], [1.6, 0.9], [0.2, 1.1]])
    best = minimize(
        lambda w: float(objective.value(_one(w))[0]),
        starts[0],
        jac=lambda w: objective.gradient(_one(w))[0][:, 0, 0],
        tol=1e-10,
    ).x
    gradients = [objective.gradient(_one(w))[0][:, 0, 0] for w in starts]
    return optimum_balls(starts, gradients, EXAMPLE_L2, best)


def _one(w: Array) -> Model:
    return Model(np.ascontiguousarray(w[:, None, None]), np.zeros((1, 1)))


def certified(found: Any, most: int = 60) -> Any:
    """Draw the intervals of the scores at the optimum for the rows closest to the boundary.

    Parameters
    ----------
    found : the result of `certify`, for two classes
    most : largest number of rows to draw

    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression, charts
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C=0.01, tol=1e-3, certified=True).fit(X, y)
    >>> charts.certified(model.certify(X)).to_dict()["title"]["text"]
    'Scores of 569 rows at the exact optimum'
    """
    low, high, sure = (np.asarray(a) for a in (found.low, found.high, found.certain))
    if low.ndim != 1:
        raise ValueError(
            "This chart draws the scores of two classes. These rows have scores of "
            f"{low.shape[1]} classes. Choose data with two classes."
        )
    middle = 0.5 * (low + high)
    near = np.argsort(np.abs(middle), kind="stable")[:most]
    near = near[np.argsort(middle[near], kind="stable")]
    rows = [
        {
            "place": float(k + 1),
            "low": float(low[i]),
            "high": float(high[i]),
            "row": int(i) + 1,
            "prediction": "certain" if sure[i] else "not certain",
        }
        for k, i in enumerate(near)
    ]
    hue = alt.Color("prediction:N").title(None)
    hue = hue.scale(domain=["certain", "not certain"], range=[TRAINING, WRONG])
    x = alt.X("place:Q").title("rows closest to the boundary, by score")
    x = x.scale(domain=[0, len(near) + 1], nice=False).axis(labels=False, ticks=False, grid=False)
    y = alt.Y("low:Q").title("score at the exact optimum")
    shown = ["row:Q", "low:Q", "high:Q", "prediction:N"]
    bars = alt.Chart(data(rows)).mark_rule(strokeWidth=3.5, strokeCap="round")
    zero = alt.Chart(data([{"low": 0.0}])).mark_rule(color=OTHERS, strokeDash=[4, 3]).encode(y=y)
    chart = alt.layer(zero, bars.encode(x=x, y=y, y2="high:Q", color=hue, tooltip=shown))
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    n, drawn = len(low), counted(len(near), "row")
    description = (
        f"Intervals of the scores of {drawn} near the boundary. Of {n:,} predictions, "
        f"{int(sure.sum()):,} are certain."
    )
    subtitle = [
        f"{int(sure.sum()):,} of {n:,} predictions are certain: their interval lies on one "
        "side of 0."
    ]
    title = f"Scores of {n:,} rows at the exact optimum"
    return finish(chart, title, subtitle, description)


def _axes(centres: Array, radii: Array) -> tuple[Any, Any]:
    """Return the axes of the two weights, with the same scale."""
    low = (centres - radii[:, None]).min(axis=0)
    high = (centres + radii[:, None]).max(axis=0)
    middle, half = 0.5 * (low + high), 0.55 * float((high - low).max())
    axes = []
    for name, at in zip(("w1", "w2"), middle):
        axis = alt.X if name == "w1" else alt.Y
        domain = [float(at - half), float(at + half)]
        axes.append(axis(f"{name}:Q").title(name).scale(domain=domain, nice=False))
    return axes[0], axes[1]
