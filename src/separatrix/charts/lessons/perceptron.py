"""Charts of the perceptron: its mistakes, the path of its weights, its boundary, its angles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import column_names, data, short, thinned
from separatrix.charts.drawing.contours import Segment, zero_lines
from separatrix.charts.drawing.positions import padded, powers, turned
from separatrix.charts.drawing.theme import CHOSEN, OTHERS, TRAINING, WRONG, class_channels, finish
from separatrix.explain import PerceptronStory, Plane
from separatrix.matrix import Array
from separatrix.text import counted

_SIDE = 300
_UNEQUAL = 10.0  # ratio of the ranges from which on the features have different scales
_ROWS = 1500  # largest number of angles drawn
_LONG, _FEW = 600, 60  # largest numbers of points of a path, without and with dots
_ARROW = 0.22  # length of the normal vector, as a fraction of the side
# Colours and dashes of the other models. Perceptrons are grey.
_MODELS: dict[str, tuple[str, list[int]]] = {
    "logistic regression": ("#CC79A7", [1, 0]),
    "support vector machine": ("#56B4E9", [1, 0]),
    "widest margin": (CHOSEN, [6, 4]),
    "separating hyperplane": (CHOSEN, [2, 2]),
}


def perceptron_mistakes(story: PerceptronStory) -> Any:
    """Draw the mistakes of every epoch, and their running total with the bound (R / margin)^2.

    R is the length of the longest row. If no hyperplane separates the classes, there is no bound.

    >>> from separatrix import charts, explain
    >>> story = explain.perceptron([[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1])
    >>> charts.perceptron_mistakes(story).to_dict()["description"][-77:]
    'Mistakes per epoch: 2 in the first and 0 in the last of 6 epochs. Bound: 740.'
    """
    counts = np.array(story.mistakes)
    epochs = np.arange(1, len(counts) + 1)
    x = alt.X("left:Q").title("epoch").axis(grid=False, format="d", tickMinStep=1)
    x = x.scale(domain=[0.5, len(counts) + 0.5], nice=False)
    bars = [
        {"left": k - 0.4, "right": k + 0.4, "epoch": k, "mistakes": count}
        for k, count in zip(epochs.tolist(), counts.tolist())
    ]
    y = alt.Y("mistakes:Q").title("mistakes in the epoch").axis(tickMinStep=1, tickCount=5)
    y = y.scale(domainMin=0)
    each = alt.Chart(data(bars)).mark_rect(color=TRAINING if story.ended else WRONG)
    tooltip = ["epoch:Q", "mistakes:Q"]
    panels = [each.encode(x=x, x2="right:Q", y=y, y2=alt.Y2Datum(0), tooltip=tooltip)]
    n = counted(len(counts), "epoch")
    told = f"Mistakes per epoch: {counts[0]:,} in the first and {counts[-1]:,} in the last of {n}."
    if story.bound is not None:
        panels.append(_below_the_bound(epochs, np.cumsum(counts), story))
        told += f" Bound: {story.most}."
    chart = alt.hconcat(*(p.properties(width=_SIDE, height=220) for p in panels), spacing=30)
    title = f"The perceptron {'stops' if story.ended else 'is still'} making mistakes"
    told = f"{story.sentences[0]} {told}"
    return finish(chart, title, [story.sentences[1]], told)


def perceptron_path(
    story: PerceptronStory, X: Any, y: Any, names: Sequence[str] | None = None
) -> Any:
    """Draw the decision boundary with its normal vector, and the path of the weights.

    Parameters
    ----------
    story : the result of `explain.perceptron(X, y)`
    X, y : (n, 2) and (n,)
    names : names of the two features

    >>> from separatrix import charts, explain
    >>> X, y = [[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1]
    >>> charts.perceptron_path(explain.perceptron(X, y), X, y).to_dict()["description"]
    'Decision boundary 45 x0 - 5 x1 + 1 = 0 and its normal vector, after 11 mistakes.'
    """
    scene = _Scene(X, y, names)
    path = np.array(story.path)[:, :2]
    kept = len(path) - 1
    end = "end" if kept == story.total else f"after {kept:,} mistakes"
    panels = [_with_normal(scene, story), _path(path, scene.names, end)]
    description = (
        f"Decision boundary {_written(story, scene.names)} = 0 and its normal vector, after "
        f"{counted(story.total, 'mistake')}."
    )
    subtitle = [
        "Left: the weight vector w is orthogonal to the boundary. "
        "Right: every mistake adds or subtracts a row."
    ]
    if not scene.equal:
        subtitle.append("The features have different scales, so right angles do not look right.")
    title = "Decision boundary of the perceptron and path of its weights"
    return finish(alt.hconcat(*panels, spacing=36), title, subtitle, description)


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
        panels.insert(0, _with_planes(_Scene(X, y, names), story))
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


def perceptron_angles(story: PerceptronStory) -> Any:
    """Draw the angles between the weight vector and the rows.

    Angles up to 90 degrees are on the side of the positive class.

    >>> from separatrix import charts, explain
    >>> story = explain.perceptron([[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1])
    >>> charts.perceptron_angles(story).to_dict()["description"][:80]
    'Angles between the weight vector and 4 rows, in degrees: class 0 from 91.1 to 94'
    """
    angles, labels = np.array(story.angles), np.array(story.labels)
    wrong = (angles <= 90.0) != (labels == 1)
    names = [str(name) for name in story.classes]
    chosen = np.linspace(0, len(angles) - 1, min(len(angles), _ROWS)).astype(int)
    rows = [
        {
            "class": names[labels[i]],
            "angle": angles[i],
            # Spread the rows vertically, so that equal angles do not overlap.
            "place": 1.0 - float(labels[i]) + 0.5 * ((k * 0.618) % 1.0 - 0.5),
            "side": "wrong" if wrong[i] else "correct",
            "row": int(i),
        }
        for k, i in enumerate(chosen)
    ]
    low, high = padded(np.append(angles, 90.0))
    x = alt.X("angle:Q").title("angle to the weight vector, in degrees")
    x = x.scale(domain=[max(low, 0.0), min(high, 180.0)], nice=False, zero=False)
    lanes = json.dumps([f"class {names[1]}", f"class {names[0]}"]) + "[datum.value]"
    y = alt.Y("place:Q").title(None).scale(domain=[-0.45, 1.45], nice=False)
    y = y.axis(values=[0, 1], labelExpr=lanes, grid=False, domain=False, ticks=False)
    base = alt.Chart(data(rows)).encode(x=x, y=y, tooltip=["row:Q", "class:N", "angle:Q"])
    right = base.transform_filter(alt.datum.side == "correct")
    crosses = base.transform_filter(alt.datum.side == "wrong")
    line = alt.Chart(data([{"angle": 90.0}])).mark_rule(style="ink", strokeDash=[5, 4])
    chart = alt.layer(
        line.encode(x=x),
        right.mark_point(filled=True, size=46, opacity=0.75).encode(
            **class_channels(names, legend=False)
        ),
        crosses.mark_point(shape="cross", angle=45, size=70, filled=True, color=WRONG, opacity=1),
    ).properties(width=460, height=150)
    ranges = ", ".join(
        f"class {name} from {short(float(own.min()))} to {short(float(own.max()))}"
        for k, name in enumerate(names)
        if len(own := angles[labels == k])
    )
    count = counted(int(wrong.sum()), "row")
    told = f" {count} on the wrong side, in red." if wrong.any() else ""
    subtitle = [f"Rows of class {names[1]} should have angles of 90 degrees or less.{told}"]
    description = (
        f"Angles between the weight vector and {counted(len(angles), 'row')}, in degrees: "
        f"{ranges}. {count} on the wrong side."
    )
    return finish(chart, "Angles between the weight vector and the rows", subtitle, description)


def _written(story: PerceptronStory, names: Sequence[str]) -> str:
    """Write w.x + b with its numbers."""
    terms = [f"{short(w)} {name}" for w, name in zip(story.weights, names)]
    return " + ".join([*terms, short(story.bias)]).replace("+ -", "- ")


class _Scene:
    """The rows in a square, with equal scales if the features have similar ranges."""

    def __init__(self, X: Any, y: Any, names: Sequence[str] | None) -> None:
        points = np.asarray(X, np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"X must have two features. Got X of shape {points.shape} instead. Choose two "
                "columns and pass them to explain.perceptron, too."
            )
        if np.shape(y) != points.shape[:1]:
            raise ValueError(
                f"Every row must have a label. Got {len(points)} rows and y of shape {np.shape(y)}."
            )
        self.points, self.labels = points, np.asarray(y)
        self.names = column_names(points if names is None and isinstance(X, list) else X, names)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
        half = np.maximum(0.6 * (points.max(axis=0) - points.min(axis=0)), 1e-9)
        self.equal = bool(half.max() <= _UNEQUAL * half.min())
        half = np.full(2, half.max()) if self.equal else half
        self.low, self.high = middle - half, middle + half

    def axes(self) -> tuple[Any, Any]:
        axis = alt.Axis(grid=False, tickCount=5, format=".6~g")
        return tuple(
            channel.title(name).scale(domain=[a, b], nice=False, zero=False).axis(axis)
            for channel, name, a, b in zip(
                (alt.X("left:Q"), alt.Y("bottom:Q")), self.names, self.low, self.high
            )
        )

    def rows(self) -> Any:
        rows = [
            {"left": p[0], "bottom": p[1], "class": str(label)}
            for p, label in zip(self.points.tolist(), self.labels.tolist())
        ]
        domain = [str(label) for label in np.unique(self.labels).tolist()]
        spots = alt.Chart(data(rows)).mark_point(filled=True, size=60, opacity=0.9)
        x, y = self.axes()
        return spots.encode(x=x, y=y, **class_channels(domain))

    def line(self, weights: Sequence[float], bias: float) -> list[Segment]:
        """Return the line w.x + b = 0 within the square."""
        x, y = (np.array([a, b]) for a, b in zip(self.low, self.high))
        scores = weights[0] * x[None, :] + weights[1] * y[:, None] + bias
        return zero_lines(scores, x, y)


def _below_the_bound(epochs: Array, total: Array, story: PerceptronStory) -> Any:
    bound = story.bound or 0.0
    rows = [{"epoch": k, "mistakes": v} for k, v in zip(epochs.tolist(), total.tolist()) if v]
    top = max(2.0 * bound, 10.0)
    x = alt.X("epoch:Q").axis(grid=False, format="d", tickMinStep=1)
    x = x.scale(domain=[0.5, len(epochs) + 0.5], nice=False)
    y = alt.Y("mistakes:Q").title("total mistakes").axis(format=",d", values=powers(1.0, top))
    y = y.scale(type="log", domain=[1.0, top], nice=False)
    line = alt.Chart(data(rows)).mark_line(
        color=TRAINING, strokeWidth=2.2, interpolate="step-after", point={"size": 30}
    )
    words = f"upper bound (R / margin)² = {story.most}"
    rule = alt.Chart(data([{"mistakes": bound, "epoch": 0.5, "text": words}]))
    return alt.layer(
        line.encode(x=x, y=y, tooltip=["epoch:Q", "mistakes:Q"]),
        rule.mark_rule(color=CHOSEN, strokeWidth=2, strokeDash=[6, 3]).encode(y=y),
        rule.mark_text(align="left", dx=6, dy=-8, color=CHOSEN).encode(x=x, y=y, text="text:N"),
    )


def _with_normal(scene: _Scene, story: PerceptronStory) -> Any:
    x, y = scene.axes()
    lines = scene.line(story.weights, story.bias)
    layers = [
        alt.Chart(data(list(lines)))
        .mark_rule(style="ink", strokeWidth=1.8, clip=True)
        .encode(x=x, y=y, x2="right:Q", y2="top:Q"),
        scene.rows(),
    ]
    if lines:
        layers.append(_arrow(scene, lines[0], np.array(story.weights)))
    return alt.layer(*layers).properties(width=_SIDE, height=_SIDE)


def _arrow(scene: _Scene, line: Segment, w: Array) -> Any:
    """Draw the normal vector, which starts at the middle of the boundary."""
    reach = scene.high - scene.low
    start = np.array([line["left"] + line["right"], line["bottom"] + line["top"]]) / 2.0
    end = start + _ARROW * w / np.linalg.norm(w / reach)
    x, y = scene.axes()
    place = {"left": start[0], "bottom": start[1], "right": end[0], "top": end[1], "text": "w"}
    across, up = ((end - start) / reach).tolist()
    base = alt.Chart(data([place]))
    tip = base.encode(x=alt.X("right:Q"), y=alt.Y("top:Q"))
    return alt.layer(
        base.mark_rule(color=CHOSEN, strokeWidth=3).encode(x=x, y=y, x2="right:Q", y2="top:Q"),
        tip.mark_point(
            shape="triangle-up",
            filled=True,
            size=130,
            color=CHOSEN,
            opacity=1,
            angle=turned(across, up),
        ),
        tip.mark_text(color=CHOSEN, fontSize=14, fontWeight="bold", dx=14, dy=-6).encode(
            text="text:N"
        ),
    )


def _path(path: Array, names: Sequence[str], end: str) -> Any:
    """Draw the weights after every mistake."""
    at = np.unique(np.concatenate([thinned(path[:, j], _LONG) for j in (0, 1)]))
    rows = [{"mistakes": int(k), "w1": path[k, 0], "w2": path[k, 1]} for k in at]
    spans = [padded(path[:, j], 0.08) for j in (0, 1)]
    x, y = (
        channel.title(f"weight of {name}").scale(domain=list(span), nice=False, zero=False)
        for channel, name, span in zip((alt.X("w1:Q"), alt.Y("w2:Q")), names, spans)
    )
    x, y = x.axis(tickCount=5, format=".6~g"), y.axis(tickCount=5, format=".6~g")
    ends = [rows[0] | {"text": "start"}, rows[-1] | {"text": end}]
    base, last = alt.Chart(data(rows)), alt.Chart(data(ends))
    few = len(rows) <= _FEW
    layers = [
        base.mark_line(color=TRAINING, strokeWidth=1.4 if few else 0.6, opacity=0.8).encode(
            x=x, y=y, order="mistakes:Q"
        ),
        last.mark_point(filled=True, size=70, color=CHOSEN, opacity=1).encode(x=x, y=y),
        last.mark_text(align="left", dx=8, dy=-6, fontWeight="bold").encode(
            x=x, y=y, text="text:N"
        ),
    ]
    if few:
        dots = base.mark_point(filled=True, size=26, color=TRAINING, opacity=1)
        titles = [alt.Tooltip(f"w{k}:Q", title=f"weight of {n}") for k, n in enumerate(names, 1)]
        layers.insert(1, dots.encode(x=x, y=y, tooltip=["mistakes:Q", *titles]))
    return alt.layer(*layers).properties(width=_SIDE, height=_SIDE)


def _with_planes(scene: _Scene, story: PerceptronStory) -> Any:
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
        .properties(width=_SIDE, height=_SIDE)
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
