"""The decision boundaries of perceptrons and of other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.theme import CHOSEN, OTHERS, finish
from separatrix.charts.lessons.perceptron_scene import SIDE, PerceptronScene
from separatrix.explain import PerceptronStory, Plane
from separatrix.text import counted

# Colours and dashes of the other models. Perceptrons are grey.
_MODELS: dict[str, tuple[str, list[int]]] = {
    "logistic regression": ("#CC79A7", [1, 0]),
    "support vector machine": ("#56B4E9", [1, 0]),
    "widest margin": (CHOSEN, [6, 4]),
    "separating hyperplane": (CHOSEN, [2, 2]),
}


def perceptron_planes(
    story: PerceptronStory, X: Any = None, y: Any = None, names: Sequence[str] | None = None
) -> Any:
    """Draw the decision boundaries that different models choose, and their margins.

    Parameters
    ----------
    story : the result of `explain.perceptron(X, y)`
    X, y : (n, 2) and (n,), the rows to draw. Without them, only the margins are drawn
    names : names of the two features

    If no hyperplane separates the classes, the accuracy is drawn instead of the margin.

    >>> from separatrix import charts, explain
    >>> X, y = [[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1]
    >>> chart = charts.perceptron_planes(explain.perceptron(X, y), X, y)
    >>> chart.to_dict()["description"][:52]
    'Margins of 8 decision boundaries. perceptron: 1.08; '
    """
    apart = story.bound is not None
    field = "margin" if apart else "accuracy"
    panels = [_bars(story.planes, field)]
    if X is not None:
        panels.insert(0, _with_planes(PerceptronScene(X, y, names), story))
    values = [getattr(plane, field) for plane in story.planes]
    listed = "; ".join(f"{plane.name}: {short(v)}" for plane, v in zip(story.planes, values))
    what = "Margins" if apart else "Accuracies"
    title = "Decision boundaries of different models"
    if not apart:
        none = story.separable is False and not story.ended
        found = "separates the classes" if none else "with a margin was found"
        title = f"No hyperplane {found}"
    chart = alt.hconcat(*panels, spacing=36)
    subtitle = [story.sentences[-1]]
    description = f"{what} of {counted(len(values), 'decision boundary', 'decision boundaries')}"
    return finish(chart, title, subtitle, f"{description}. {listed}.")


def _with_planes(scene: PerceptronScene, story: PerceptronStory) -> Any:
    x, y = scene.axes()
    rows = [
        {"kind": _kind(plane), "plane": plane.name, **segment}
        for plane in story.planes
        for segment in scene.line(plane.weights, plane.bias)
    ]
    hue, dash = _kinds(story.planes)
    tip = alt.Tooltip("plane:N", title="model")
    lines = alt.Chart(data(rows)).mark_rule(strokeWidth=2, clip=True)
    return (
        alt.layer(
            lines.encode(
                x=x, y=y, x2="right:Q", y2="top:Q", color=hue, strokeDash=dash, tooltip=tip
            ),
            scene.rows(),
        )
        .resolve_scale(color="independent", shape="independent")
        .properties(width=SIDE, height=SIDE)
    )


def _bars(planes: Sequence[Plane], field: str) -> Any:
    """Draw the margin or the accuracy of every model."""
    rows = [
        {"plane": plane.name, "kind": _kind(plane), "value": getattr(plane, field)}
        for plane in planes
    ]
    form = ".3~g" if field == "margin" else ".1%"
    title = "margin (distance to the nearest row)" if field == "margin" else "accuracy"
    x = alt.X("value:Q").title(title).axis(format=form.replace(".1%", ".0%"), tickCount=4)
    y = alt.Y("plane:N").sort([plane.name for plane in planes]).title(None)
    y = y.axis(domain=False, ticks=False, labelLimit=200)
    tooltip = [alt.Tooltip("plane:N", title="model"), alt.Tooltip("value:Q", title=field)]
    base = alt.Chart(data(rows)).encode(x=x, y=y, tooltip=tooltip)
    hue, _ = _kinds(planes)
    return alt.layer(
        base.mark_bar().encode(color=hue),
        base.mark_text(align="left", dx=5).encode(text=alt.Text("value:Q").format(form)),
    ).properties(width=240, height=alt.Step(22))


def _kind(plane: Plane) -> str:
    return plane.name if plane.name in _MODELS else "perceptron"


def _kinds(planes: Sequence[Plane]) -> tuple[Any, Any]:
    """Return the colours and dashes of the models. The names beside the bars are the legend."""
    looks = {"perceptron": (OTHERS, [1, 0])} | _MODELS
    names = [name for name in looks if name in {_kind(plane) for plane in planes}]
    colours, dashes = ([looks[name][k] for name in names] for k in (0, 1))
    return (
        alt.Color("kind:N").legend(None).scale(domain=names, range=colours),
        alt.StrokeDash("kind:N").legend(None).scale(domain=names, range=dashes),
    )
