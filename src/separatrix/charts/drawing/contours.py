"""Contour lines of a function of two variables, as line segments."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from separatrix.matrix import Array

Segment = dict[str, float]


def zero_lines(F: Array, x: Array, y: Array, keep: Array | None = None) -> list[Segment]:
    """Return the segments on which F is 0, by marching squares.

    F (h, w) holds the values at the points of a grid y (h,) by x (w,). Along the sides of a cell,
    F is interpolated linearly. `keep` (h - 1, w - 1) selects the cells to search.

    >>> zero_lines(np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    [{'left': 1.0, 'bottom': 0.0, 'right': 1.0, 'top': 1.0}]
    """
    above = F > 0.0
    corners = [above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1]]
    mixed = sum(c.astype(int) for c in corners) % 4 != 0
    out = []
    for i, j in np.argwhere(mixed if keep is None else mixed & keep):
        around = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
        points = [
            _crossing(F, x, y, a, b)
            for a, b in zip(around, [*around[1:], around[0]])
            if above[a] != above[b]
        ]
        # At a saddle, each of the two positive corners is cut off by one segment.
        if len(points) == 4 and above[around[0]]:
            points = [points[3], *points[:3]]
        for start, end in zip(points[::2], points[1::2]):
            out.append({"left": start[0], "bottom": start[1], "right": end[0], "top": end[1]})
    return out


def class_lines(Z: Array, x: Array, y: Array) -> list[Segment]:
    """Return the segments on which the two highest of the scores Z (h, w, C) are equal."""
    means = (Z[:-1, :-1] + Z[:-1, 1:] + Z[1:, :-1] + Z[1:, 1:]) / 4.0
    out = []
    for j, k in combinations(range(Z.shape[2]), 2):
        others = np.delete(means, [j, k], axis=2).max(axis=2, initial=-np.inf)
        keep = np.maximum(means[..., j], means[..., k]) >= others
        out += zero_lines(Z[..., j] - Z[..., k], x, y, keep)
    return out


def _crossing(
    F: Array, x: Array, y: Array, a: tuple[int, int], b: tuple[int, int]
) -> tuple[float, float]:
    """Return the point between two neighbours of the grid at which F is 0."""
    t = F[a] / (F[a] - F[b])
    return (
        float(x[a[1]] + t * (x[b[1]] - x[a[1]])),
        float(y[a[0]] + t * (y[b[0]] - y[a[0]])),
    )
