"""The rows of two classes in a square, for the charts of the perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import column_names, data
from separatrix.charts.drawing.contours import Segment, zero_lines
from separatrix.charts.drawing.theme import class_channels

SIDE = 300
_UNEQUAL = 10.0  # ratio of the ranges from which on the features have different scales


class PerceptronScene:
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
        spots = alt.Chart(data(rows)).mark_point(
            filled=True, size=44, opacity=0.9, strokeWidth=0.6, style="paper edge"
        )
        x, y = self.axes()
        return spots.encode(x=x, y=y, **class_channels(domain))

    def line(self, weights: Sequence[float], bias: float) -> list[Segment]:
        """Return the line w.x + b = 0 within the square."""
        x, y = (np.array([a, b]) for a, b in zip(self.low, self.high))
        scores = weights[0] * x[None, :] + weights[1] * y[:, None] + bias
        return zero_lines(scores, x, y)
