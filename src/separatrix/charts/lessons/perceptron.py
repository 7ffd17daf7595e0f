"""Charts of the perceptron: its mistakes, the path of its weights, its boundary, its angles."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short, thinned
from separatrix.charts.drawing.contours import Segment
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.positions import padded, powers, turned
from separatrix.charts.drawing.theme import CHOSEN, TRAINING, WRONG, class_channels, finish
from separatrix.charts.lessons.perceptron_scene import SIDE, PerceptronScene
from separatrix.explain import PerceptronStory
from separatrix.matrix import Array
from separatrix.text import counted

_ROWS = 1500  # largest number of angles drawn
_LONG, _FEW = 600, 60  # largest numbers of points of a path, without and with dots
_ARROW = 0.22  # length of the normal vector, as a fraction of the side


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
    x = alt.X("left:Q").title("epoch").axis(grid=False, format="d", values=_whole(len(counts)))
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
    chart = alt.hconcat(*(p.properties(width=SIDE, height=220) for p in panels), spacing=30)
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
    scene = PerceptronScene(X, y, names)
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
    x = x.axis(tickCount=8)
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


def _whole(most: int) -> list[int]:
    """Return about ten whole numbers from 1 to `most`, the ticks of an axis of epochs."""
    step = next(s for k in range(9) for s in (10**k, 2 * 10**k, 5 * 10**k) if most <= 10 * s)
    return [k for k in range(1, most + 1) if step == 1 or k % step == 0]


def _written(story: PerceptronStory, names: Sequence[str]) -> str:
    """Write w.x + b with its numbers."""
    terms = [f"{short(w)} {name}" for w, name in zip(story.weights, names)]
    return " + ".join([*terms, short(story.bias)]).replace("+ -", "- ")


def _below_the_bound(epochs: Array, total: Array, story: PerceptronStory) -> Any:
    bound = story.bound or 0.0
    rows = [{"epoch": k, "mistakes": v} for k, v in zip(epochs.tolist(), total.tolist()) if v]
    top = max(2.0 * bound, 10.0)
    x = alt.X("epoch:Q").axis(grid=False, format="d", values=_whole(len(epochs)))
    x = x.scale(domain=[0.5, len(epochs) + 0.5], nice=False)
    ticks = powers(1.0, top)
    ticks, form = ticks[:: math.ceil(len(ticks) / 7)], ",d" if top < 1e6 else ".0e"
    y = alt.Y("mistakes:Q").title("total mistakes").axis(format=form, values=ticks)
    y = y.scale(type="log", domain=[1.0, top], nice=False)
    few = len(rows) <= _FEW
    line = alt.Chart(data(rows)).mark_line(
        color=TRAINING,
        strokeWidth=2.2,
        interpolate="step-after",
        point={"size": 30} if few else False,
    )
    words = f"upper bound (R / margin)² = {story.most}"
    rule = alt.Chart(data([{"mistakes": bound, "epoch": 0.5, "text": words}]))
    return alt.layer(
        line.encode(x=x, y=y, tooltip=["epoch:Q", "mistakes:Q"]),
        rule.mark_rule(color=CHOSEN, strokeWidth=2, strokeDash=[6, 3]).encode(y=y),
        *haloed(rule.encode(x=x, y=y, text="text:N"), align="left", dx=6, dy=-9, color=CHOSEN),
    )


def _with_normal(scene: PerceptronScene, story: PerceptronStory) -> Any:
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
    return alt.layer(*layers).properties(width=SIDE, height=SIDE)


def _arrow(scene: PerceptronScene, line: Segment, w: Array) -> Any:
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
        *haloed(
            tip.encode(text="text:N"), color=CHOSEN, fontSize=14, fontWeight="bold", dx=14, dy=-6
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
        *haloed(
            last.encode(x=x, y=y, text="text:N"),
            style="ink",
            align="left",
            dx=8,
            dy=-8,
            fontWeight="bold",
        ),
    ]
    if few:
        dots = base.mark_point(filled=True, size=26, color=TRAINING, opacity=1)
        titles = [alt.Tooltip(f"w{k}:Q", title=f"weight of {n}") for k, n in enumerate(names, 1)]
        layers.insert(1, dots.encode(x=x, y=y, tooltip=["mistakes:Q", *titles]))
    return alt.layer(*layers).properties(width=SIDE, height=SIDE)
