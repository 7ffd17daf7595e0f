"""The lines on which two classes have the same score."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from separatrix.charts.drawing.contours import Segment, class_lines
from separatrix.matrix import Array

POINTS = (44, 55)  # grid points for finding curved boundaries
Box = tuple[float, float, float, float]  # left, right, bottom, top


def tie_lines(scores: Callable[[Array], Array], box: Box) -> Callable[[float], list[Segment]]:
    """Return a function from a margin to the lines on which two classes tie.

    The margin is subtracted from the score of the last class first. `scores` returns the scores of
    points (m, 2). They are computed on a grid, so any model can be drawn. If they are linear, their
    values at three corners give the exact lines.
    """
    left, right, bottom, top = box
    height, width = POINTS
    x, y = np.linspace(left, right, width), np.linspace(bottom, top, height)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    Z = np.asarray(scores(points.reshape(-1, 2)), np.float64).reshape(height, width, -1)
    if Z.shape[2] == 1:
        Z = np.concatenate([np.zeros_like(Z), Z], axis=2)
    last = np.arange(Z.shape[2]) == Z.shape[2] - 1
    origin = Z[0, 0]
    along = (Z[0, -1] - origin) / (right - left)
    up = (Z[-1, 0] - origin) / (top - bottom)
    flat = origin + (points - points[0, 0]) @ np.stack([along, up])
    if not np.allclose(Z, flat, rtol=1e-3, atol=1e-4 * np.abs(Z).max()):
        return lambda side: class_lines(Z - side * last, x, y)
    slopes = np.stack([along, up], axis=1)
    offsets = origin - slopes @ points[0, 0]
    return lambda side: _straight_lines(slopes, offsets - side * last, box)


def _straight_lines(slopes: Array, offsets: Array, box: Box) -> list[Segment]:
    """Return the segments in the box on which the two highest scores are equal."""
    left, right, bottom, top = box
    walls = [
        (np.array([1.0, 0.0]), -left),
        (np.array([-1.0, 0.0]), right),
        (np.array([0.0, 1.0]), -bottom),
        (np.array([0.0, -1.0]), top),
    ]
    out = []
    for j, k in combinations(range(len(slopes)), 2):
        normal, offset = slopes[j] - slopes[k], offsets[j] - offsets[k]
        size = float(normal @ normal)
        if size == 0.0:
            continue
        origin, along = -offset * normal / size, np.array([-normal[1], normal[0]])
        others = [
            (slopes[j] - slopes[i], float(offsets[j] - offsets[i]))
            for i in range(len(slopes))
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
