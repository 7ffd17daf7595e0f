"""Decision boundaries in two dimensions, also as an animation over the epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import altair as alt
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from separatrix.charts.drawing.chart_data import column_names, data
from separatrix.charts.drawing.contours import Segment, class_lines
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.saving import FRAME
from separatrix.charts.drawing.theme import class_channels, class_colours, finish
from separatrix.estimators import fit_many
from separatrix.matrix import Array
from separatrix.metrics import measure
from separatrix.text import counted, percent, quoted

_WIDTH, _HEIGHT = 420, 340
_GRID = (170, 210)  # pixels of the shading, which is smoothed
_POINTS = (44, 55)  # grid points for finding curved boundaries
_AXIS = alt.Axis(grid=False, tickCount=5, format=".6~g")
_STEPS = 20  # levels of opacity: few levels make small files and show lines of equal probability
_ON_THE_MARGIN = 1e-3


def boundary(estimator: Any, X: Any, y: Any, names: Sequence[str] | None = None) -> Any:
    """Draw the decision boundary and the regions of a fitted classifier of two features.

    Parameters
    ----------
    estimator : a classifier of separatrix or scikit-learn, or a pipeline that ends in one
    X, y : (n, 2) and (n,), the rows to draw
    names : names of the two features

    The shading shows the probability of the predicted class if the classifier has probabilities.
    If the loss has a margin and there are two classes, dashed lines show the margin. Rings mark
    the support vectors, the rows where the gradient of the loss is not zero.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC, charts
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", tol=1e-8).fit(X[:100, 2:], y[:100])
    >>> charts.boundary(model, X[:100, 2:], y[:100]).to_dict()["description"]
    'Decision boundary of LinearSVC for 2 classes. Accuracy 100.0 % on 100 rows. 2 support vectors.'
    """
    _require_classifier(estimator)
    scene = _Scene.of(X, y, names)
    frame = scene.frame(estimator, 0)
    chart = alt.layer(*scene.layers([frame])).properties(width=_WIDTH, height=_HEIGHT)
    description = scene.words(estimator, frame)
    subtitle = f"Accuracy {percent(frame.accuracy)} on {counted(len(scene.y), 'row')}."
    if frame.ringed:
        subtitle += f" Rings: {counted(frame.ringed, 'support vector')}."
    title = f"Decision boundary of {type(_last(estimator)).__name__}"
    return finish(chart, title, [subtitle], description)


def boundary_frames(
    estimator: Any,
    X: Any,
    y: Any,
    epochs: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """Train a classifier of two features and draw its decision boundary at several epochs.

    Parameters
    ----------
    estimator : a classifier with the parameter `epochs`, fitted or not
    X, y : (n, 2) and (n,)
    epochs : the epochs to draw. None means 24 epochs, most of them near the start
    names : names of the two features

    An HTML file has a slider for the epoch, a .gif is animated, and .png and .svg files show the
    last epoch.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier, charts
    >>> X, y = load_iris(return_X_y=True)
    >>> chart = charts.boundary_frames(GradientDescentClassifier(epochs=50), X[:, 2:], y, [1, 50])
    >>> chart.to_dict()["params"][0]["bind"]["max"]
    1
    """
    if not hasattr(estimator, "epochs"):
        raise ValueError(
            "The frames need a classifier with the parameter 'epochs', such as "
            f"GradientDescentClassifier or Perceptron. Got {type(estimator).__name__} instead."
        )
    if epochs is None:
        epochs = np.unique(np.geomspace(1, estimator.epochs, 24).round().astype(int)).tolist()
    if not epochs:
        raise ValueError("There are no epochs to draw. Give at least one.")
    scene = _Scene.of(X, y, names)
    # The models differ only in the number of epochs, so fit_many trains them as one run.
    models = fit_many([clone(estimator).set_params(epochs=int(e)) for e in epochs], X, y)
    frames = [
        scene.frame(model, k, f"epoch {e:,}") for k, (model, e) in enumerate(zip(models, epochs))
    ]
    last = len(frames) - 1
    slider = alt.binding_range(min=0, max=last, step=1, name="frame ")
    chosen = alt.param(name=FRAME, value=last, bind=slider)
    chart = alt.layer(*scene.layers(frames)).add_params(chosen)
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    description = (
        f"Decision boundary at {counted(len(frames), 'epoch')} from {epochs[0]:,} to "
        f"{epochs[-1]:,}. Accuracy on {counted(len(scene.y), 'row')}: "
        f"{percent(frames[0].accuracy)} at the first, {percent(frames[-1].accuracy)} at the last."
    )
    title = f"Decision boundary of {type(estimator).__name__} by epoch"
    return finish(chart, title, [], description)


@dataclass(frozen=True)
class _Frame:
    """The parts of the chart of one classifier: shading, lines, rings and text."""

    shade: dict[str, Any]
    lines: list[dict[str, Any]]
    rings: list[dict[str, Any]]
    words: dict[str, Any]
    accuracy: float

    @property
    def ringed(self) -> int:
        return len(self.rings)


@dataclass(frozen=True)
class _Scene:
    """The rows and the rectangle around them."""

    X: Any
    points: Array
    y: Array
    names: list[str]
    box: tuple[float, float, float, float]

    @classmethod
    def of(cls, X: Any, y: Any, names: Sequence[str] | None) -> _Scene:
        points = np.asarray(X, np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"X must have two features. Got X of shape {points.shape} instead. Choose two "
                "columns and fit the classifier to them."
            )
        low, high = points.min(axis=0), points.max(axis=0)
        pad = np.where(high > low, 0.08 * (high - low), 1.0)
        (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
        return cls(X, points, np.asarray(y), column_names(X, names), (left, right, bottom, top))

    def frame(self, estimator: Any, number: int, told: str = "") -> _Frame:
        classes = estimator.classes_
        margin = _margin(estimator)
        where = self._tie(estimator)
        lines = [{"kind": "boundary", **segment} for segment in where(0.0)]
        if margin > 0.0 and len(classes) == 2:
            for side in (-margin, margin):
                lines += [{"kind": "margin", **segment} for segment in where(side)]
        ringed = _support(estimator, self.X, self.y) if margin > 0.0 else np.zeros(0, int)
        found = measure(self.y, estimator.predict(self.X), classes)
        left, right, bottom, top = self.box
        shade = {
            "url": self._shade(estimator),
            "left": left,
            "right": right,
            "bottom": bottom,
            "top": top,
        }
        of = {"frame": number}
        return _Frame(
            shade | of,
            [line | of for line in lines],
            [{"x": self.points[i, 0], "y": self.points[i, 1]} | of for i in ringed.tolist()],
            {"text": f"{told}, accuracy {percent(found['accuracy'])}" if told else ""} | of,
            found["accuracy"],
        )

    def layers(self, frames: Sequence[_Frame]) -> list[Any]:
        """Return the shading, lines, points, rings and text, for the selected frame."""
        left, right, bottom, top = self.box
        x = alt.X("left:Q").title(self.names[0]).scale(domain=[left, right], nice=False, zero=False)
        y = alt.Y("bottom:Q").title(self.names[1])
        y = y.scale(domain=[bottom, top], nice=False, zero=False)
        x, y = x.axis(_AXIS), y.axis(_AXIS)

        def chart(rows: list[dict[str, Any]]) -> Any:
            shown = alt.Chart(data(rows))
            return shown.transform_filter(f"datum.frame == {FRAME}") if len(frames) > 1 else shown

        place = {"x2": "right:Q", "y2": "top:Q"}
        lines = chart([line for frame in frames for line in frame.lines])
        of_kind = {
            kind: lines.transform_filter(alt.datum.kind == kind) for kind in ("boundary", "margin")
        }
        points = alt.Chart(
            data(
                [
                    {"x": self.points[i, 0], "y": self.points[i, 1], "class": str(label)}
                    for i, label in enumerate(self.y.tolist())
                ]
            )
        )
        domain = [str(label) for label in np.unique(self.y).tolist()]
        spots = points.mark_point(
            filled=True, size=34, opacity=0.9, strokeWidth=0.6, style="paper edge"
        )
        rings = chart([ring for frame in frames for ring in frame.rings])
        words = chart([frame.words for frame in frames])
        return [
            chart([frame.shade for frame in frames])
            .mark_image(aspect=False)
            .encode(x=x, y=y, url="url:N", **place),
            *(
                of_kind[kind].mark_rule(style="ink", **drawn).encode(x=x, y=y, **place)
                for kind, drawn in (
                    ("margin", {"strokeWidth": 1, "strokeDash": [5, 4], "clip": True}),
                    ("boundary", {"strokeWidth": 1.6, "clip": True}),
                )
            ),
            spots.encode(x="x:Q", y="y:Q", **class_channels(domain)),
            rings.mark_point(size=110, strokeWidth=1.3, style="ink", opacity=1).encode(
                x="x:Q", y="y:Q"
            ),
            words.mark_text(align="left", baseline="top", fontSize=13, fontWeight="bold").encode(
                x=alt.value(6), y=alt.value(6), text="text:N"
            ),
        ]

    def words(self, estimator: Any, frame: _Frame) -> str:
        told = f" {counted(frame.ringed, 'support vector')}." if frame.ringed else ""
        return (
            f"Decision boundary of {type(_last(estimator)).__name__} for "
            f"{len(estimator.classes_)} classes. Accuracy {percent(frame.accuracy)} on "
            f"{counted(len(self.y), 'row')}.{told}"
        )

    def _grid(self, points: Array) -> Any:
        """Return points (m, 2) as an array, or as a data frame if X is one."""
        return (
            type(self.X)(points, columns=self.X.columns) if hasattr(self.X, "columns") else points
        )

    def _shade(self, estimator: Any) -> str:
        """Return an image in the colour of the predicted class.

        The opacity grows with the probability, and ties are almost transparent.
        """
        left, right, bottom, top = self.box
        height, width = _GRID
        across = left + (right - left) * (np.arange(width) + 0.5) / width
        up = top - (top - bottom) * (np.arange(height) + 0.5) / height
        points = self._grid(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
        classes = estimator.classes_
        if hasattr(estimator, "predict_proba"):
            P = estimator.predict_proba(points)
        else:
            P = estimator.predict(points)[:, None] == classes
        hues = np.stack([colour(name) for name in class_colours(len(classes))])
        least = 1.0 / len(classes)
        density = (P.max(axis=1) - least) / (1.0 - least)
        pixels = np.empty((height * width, 4))
        pixels[:, :3] = hues[P.argmax(axis=1)]
        pixels[:, 3] = 0.06 + 0.34 * np.rint(_STEPS * density) / _STEPS
        return image(pixels.reshape(height, width, 4))

    def _tie(self, estimator: Any) -> Callable[[float], list[Segment]]:
        """Return a function from a margin to the lines on which two classes tie.

        The margin is subtracted from the score of the last class first. The scores are computed
        on a grid of points, so any pipeline can be drawn. If they are linear, their values at
        three corners give the exact lines.
        """
        left, right, bottom, top = self.box
        height, width = _POINTS
        x, y = np.linspace(left, right, width), np.linspace(bottom, top, height)
        points = np.stack(np.meshgrid(x, y), axis=-1)
        Z = np.asarray(estimator.decision_function(self._grid(points.reshape(-1, 2))), np.float64)
        Z = Z.reshape(height, width, -1)
        if Z.shape[2] == 1:
            Z = np.concatenate([np.zeros_like(Z), Z], axis=2)
        last = np.arange(Z.shape[2]) == Z.shape[2] - 1
        origin = Z[0, 0]
        along = (Z[0, -1] - origin) / (right - left)
        up = (Z[-1, 0] - origin) / (top - bottom)
        flat = origin + (points - points[0, 0]) @ np.stack([along, up])
        if not np.allclose(Z, flat, rtol=1e-3, atol=1e-4 * np.abs(Z).max()):
            return lambda side: class_lines(Z - side * last, x, y)
        scores = np.stack([along, up], axis=1)
        offsets = origin - scores @ points[0, 0]
        return lambda side: _boundaries(scores, offsets - side * last, self.box)


def _boundaries(
    scores: Array, offsets: Array, box: tuple[float, float, float, float]
) -> list[Segment]:
    """Return the segments in the box on which the two highest scores are equal."""
    left, right, bottom, top = box
    walls = [
        (np.array([1.0, 0.0]), -left),
        (np.array([-1.0, 0.0]), right),
        (np.array([0.0, 1.0]), -bottom),
        (np.array([0.0, -1.0]), top),
    ]
    out = []
    for j, k in combinations(range(len(scores)), 2):
        normal, offset = scores[j] - scores[k], offsets[j] - offsets[k]
        size = float(normal @ normal)
        if size == 0.0:
            continue
        origin, along = -offset * normal / size, np.array([-normal[1], normal[0]])
        others = [
            (scores[j] - scores[i], float(offsets[j] - offsets[i]))
            for i in range(len(scores))
            if i not in (j, k)
        ]
        low, high = -np.inf, np.inf
        for direction, constant in [*walls, *others]:  # direction . point + constant >= 0
            slope, value = float(direction @ along), float(direction @ origin + constant)
            if slope > 0.0:
                low = max(low, -value / slope)
            elif slope < 0.0:
                high = min(high, -value / slope)
            elif value < 0.0:
                high = -np.inf
        if low < high:
            start, end = origin + low * along, origin + high * along
            out.append({"left": start[0], "bottom": start[1], "right": end[0], "top": end[1]})
    return out


def _require_classifier(estimator: Any) -> None:
    """Raise unless it is a fitted classifier."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise TypeError(
            "The estimator must be a fitted classifier of separatrix or scikit-learn, or a "
            f"pipeline that ends in one. Got {quoted(estimator)} instead."
        )
    check_is_fitted(estimator)
    if not (hasattr(estimator, "classes_") and hasattr(estimator, "decision_function")):
        raise TypeError(
            f"{type(_last(estimator)).__name__} has no classes_ or no decision_function, which "
            "the decision boundary needs. Give a classifier with both, such as "
            "LogisticRegression or KernelClassifier."
        )


def _last(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def _margin(estimator: Any) -> float:
    loss = getattr(_last(estimator), "_loss", None)
    return 0.0 if loss is None else float(loss.margin)


def _support(estimator: Any, X: Any, y: Array) -> Array:
    """Return the support vectors: the rows where the gradient of the loss is not zero."""
    last = _last(estimator)
    rows = estimator[:-1].transform(X) if hasattr(estimator, "steps") else X
    # Rows on the margin count. Rounding puts some of them just outside, so shrink the scores.
    Z = last._scores(rows) * (1.0 - _ON_THE_MARGIN)
    slopes = last._loss.gradient(np.searchsorted(last.classes_, y), Z)
    return np.flatnonzero((slopes != 0.0).any(axis=(1, 2)))
