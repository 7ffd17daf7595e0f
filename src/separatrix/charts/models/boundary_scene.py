"""The rows, shading and lines around the decision boundary of one or more classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.chart_data import column_names, data
from separatrix.charts.drawing.labels import haloed, shade_key
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.row_choice import some_rows, two_features
from separatrix.charts.drawing.saving import FRAME
from separatrix.charts.drawing.theme import class_channels, class_colours
from separatrix.charts.models.boundary_lines import Box, tie_lines
from separatrix.charts.models.model_words import last_step
from separatrix.matrix import Array
from separatrix.metrics import measure
from separatrix.text import counted, percent

_GRID = (170, 210)  # pixels of the shading, which is smoothed
_ENTRIES = 1 << 22  # largest number of entries of the rows that are evaluated at once
_ROWS = 1500  # largest number of rows drawn
_AXIS = alt.Axis(grid=False, tickCount=5, format=".6~g")
_STEPS = 20  # levels of opacity: few levels make small files and show lines of equal probability
_FAINT, _DEEP = 0.06, 0.40  # opacity of the shading at a tie and at certainty
_ON_THE_MARGIN = 1e-3
_FEW = 40  # number of support vectors with large rings
_DASHES = {"boundary": [1, 0], "margin": [5, 4]}


@dataclass(frozen=True)
class Frame:
    """The parts of the chart of one classifier: shading, lines, rings and text."""

    shade: dict[str, Any]
    lines: list[dict[str, Any]]
    rings: list[dict[str, Any]]
    words: dict[str, Any]
    accuracy: float
    least: float | None  # the lowest probability of a predicted class, at a tie of all classes


@dataclass(frozen=True)
class Scene:
    """The rows, the two features that are drawn, and the rectangle around the rows."""

    X: Any
    y: Array
    features: tuple[int, int]
    fixed: Array  # (d,), the values of the features that are not drawn
    names: list[str]
    points: Array  # (n, 2)
    box: Box
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        names: Sequence[str] | None,
        features: Sequence[int | str] | None,
        *,
        two: bool = False,
    ) -> Scene:
        """Choose the features and the rectangle; with `two`, X must have two features."""
        table = X if sp.issparse(X) else np.asarray(X, np.float64)
        d = table.shape[1] if table.ndim == 2 else 0
        if d < 2 or (two and d > 2):
            raise ValueError(
                f"X must have two features. Got X of shape {table.shape} instead. Choose two "
                "columns and fit the classifier to them."
            )
        labels, every = np.asarray(y), column_names(X, names)
        j, k = two_features(table, labels, every, features if d > 2 or features else (0, 1))
        both: Any = table[:, [j, k]]
        points = np.asarray(both.toarray() if sp.issparse(both) else both, np.float64)
        low, high = points.min(axis=0), points.max(axis=0)
        pad = np.where(high > low, 0.08 * (high - low), 1.0)
        (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
        fixed = np.asarray(table.mean(axis=0), np.float64).ravel()
        notes = []
        if d > 2:
            others = "other feature is held at its mean"
            others = others if d == 3 else f"{d - 2:,} other features are held at their means"
            notes.append(f"The {others}, so rows can lie on the wrong side of the boundary.")
        if len(labels) > _ROWS:
            drawn = len(some_rows(labels, _ROWS))
            notes.append(f"Drawn: {drawn:,} of {counted(len(labels), 'row')}.")
        own = [every[j], every[k]]
        return cls(X, labels, (j, k), fixed, own, points, (left, right, bottom, top), notes)

    def frame(self, estimator: Any, number: int, told: str = "") -> Frame:
        classes = estimator.classes_
        margin = _margin(estimator)
        where = tie_lines(lambda points: self._at(estimator.decision_function, points), self.box)
        lines = [{"kind": "boundary", **segment} for segment in where(0.0)]
        if margin > 0.0 and len(classes) == 2:
            for side in (-margin, margin):
                lines += [{"kind": "margin", **segment} for segment in where(side)]
        ringed = _support(estimator, self.X, self.y) if margin > 0.0 else np.zeros(0, int)
        found = measure(self.y, estimator.predict(self.X), classes)
        left, right, bottom, top = self.box
        place = {"left": left, "right": right, "bottom": bottom, "top": top}
        of = {"frame": number}
        return Frame(
            {"url": self._shade(estimator)} | place | of,
            [line | of for line in lines],
            [{"x": self.points[i, 0], "y": self.points[i, 1]} | of for i in ringed.tolist()],
            {"text": f"{told}, accuracy {percent(found['accuracy'])}" if told else ""} | of,
            found["accuracy"],
            1.0 / len(classes) if hasattr(estimator, "predict_proba") else None,
        )

    def layers(self, frames: Sequence[Frame]) -> list[Any]:
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
        shown = [line for frame in frames for line in frame.lines]
        ringed = max(len(frame.rings) for frame in frames)
        rings = chart([ring for frame in frames for ring in frame.rings])
        words = chart([frame.words for frame in frames])
        words = words.encode(x=alt.value(6), y=alt.value(6), text="text:N")
        layers = [
            chart([frame.shade for frame in frames])
            .mark_image(aspect=False)
            .encode(x=x, y=y, url="url:N", **place),
            *_shading_key(frames[-1].least),
            chart(shown)
            .mark_rule(style="ink", strokeWidth=1.5, clip=True)
            .encode(x=x, y=y, strokeDash=_line_key(shown), **place),
            self._rows(),
            rings.mark_point(
                size=110 if ringed <= _FEW else 60, strokeWidth=1.2, style="ink", opacity=1
            ).encode(x="x:Q", y="y:Q"),
        ]
        if any(frame.words["text"] for frame in frames):
            look: dict[str, Any] = {
                "align": "left",
                "baseline": "top",
                "fontSize": 13,
                "fontWeight": "bold",
            }
            layers += haloed(words, **look)
        return layers

    def _rows(self) -> Any:
        labels = self.y.tolist()
        rows = [
            {"x": self.points[i, 0], "y": self.points[i, 1], "class": str(labels[i])}
            for i in some_rows(self.y, _ROWS).tolist()
        ]
        domain = [str(label) for label in np.unique(self.y).tolist()]
        spots = alt.Chart(data(rows)).mark_point(
            filled=True, size=34, opacity=0.9, strokeWidth=0.6, style="paper edge"
        )
        return spots.encode(x="x:Q", y="y:Q", **class_channels(domain))

    def _at(self, function: Callable[[Any], Array], points: Array) -> Array:
        """Apply a function of rows (m, d) to points (m, 2), in blocks if d is large."""
        step = max(_ENTRIES // len(self.fixed), 1)
        parts = [function(self._full(points[k : k + step])) for k in range(0, len(points), step)]
        return np.concatenate(parts)

    def _full(self, points: Array) -> Any:
        """Return rows (m, d) with the two features of the points; a data frame if X is one."""
        rows = np.tile(self.fixed, (len(points), 1))
        rows[:, list(self.features)] = points
        return type(self.X)(rows, columns=self.X.columns) if hasattr(self.X, "columns") else rows

    def _shade(self, estimator: Any) -> str:
        """Return an image in the colour of the predicted class.

        The opacity grows with the probability, and ties are almost transparent.
        """
        left, right, bottom, top = self.box
        height, width = _GRID
        across = left + (right - left) * (np.arange(width) + 0.5) / width
        up = top - (top - bottom) * (np.arange(height) + 0.5) / height
        points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        classes = estimator.classes_
        if hasattr(estimator, "predict_proba"):
            P = self._at(estimator.predict_proba, points)
        else:
            P = self._at(estimator.predict, points)[:, None] == classes
        hues = np.stack([colour(name) for name in class_colours(len(classes))])
        pixels = np.empty((height * width, 4))
        pixels[:, :3] = hues[P.argmax(axis=1)]
        pixels[:, 3] = _opacity(P.max(axis=1), 1.0 / len(classes))
        return image(pixels.reshape(height, width, 4))


def _opacity(probability: Any, least: float) -> Any:
    certainty = (np.asarray(probability) - least) / (1.0 - least)
    return _FAINT + (_DEEP - _FAINT) * np.rint(_STEPS * certainty) / _STEPS


def _shading_key(least: float | None) -> list[Any]:
    """Return a legend of the shading if there are probabilities."""
    if least is None:
        return []
    shown = [least, (1.0 + least) / 2.0, 1.0]
    names = [f"{100.0 * value:.0f} %" for value in shown]
    # Grey looks fainter than the colours of the classes.
    depths = [min(2.0 * float(_opacity(value, least)), 1.0) for value in shown]
    return [shade_key("probability of the predicted class", names, depths)]


def _line_key(lines: Sequence[dict[str, Any]]) -> Any:
    """Return the dashes of the lines, with a legend if there is a margin."""
    kinds = [kind for kind in _DASHES if any(line["kind"] == kind for line in lines)]
    key = alt.Legend(
        title=None,
        orient="bottom",
        symbolType="stroke",
        symbolSize=300,
        labelExpr="{boundary: 'decision boundary', margin: 'margin'}[datum.label]",
    )
    dash = alt.StrokeDash("kind:N").legend(key if len(kinds) > 1 else None)
    return dash.scale(domain=kinds, range=[_DASHES[kind] for kind in kinds])


def _margin(estimator: Any) -> float:
    loss = getattr(last_step(estimator), "_loss", None)
    return 0.0 if loss is None else float(loss.margin)


def _support(estimator: Any, X: Any, y: Array) -> Array:
    """Return the support vectors: the rows where the gradient of the loss is not zero."""
    last = last_step(estimator)
    rows = estimator[:-1].transform(X) if hasattr(estimator, "steps") else X
    # Rows on the margin count. Rounding puts some of them just outside, so shrink the scores.
    Z = last._scores(rows) * (1.0 - _ON_THE_MARGIN)
    slopes = last._loss.gradient(np.searchsorted(last.classes_, y), Z)
    return np.flatnonzero((slopes != 0.0).any(axis=(1, 2)))
