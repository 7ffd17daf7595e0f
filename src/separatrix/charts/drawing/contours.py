"""Lines of equal value in a plane, as segments."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from separatrix.matrix import Array

Segment = dict[str, float]


def zero_lines(F: Array, x: Array, y: Array, keep: Array | None = None) -> list[Segment]:
    """The segments on which F (h, w), known at the points of a grid y (h,) by x (w,), is 0.

    By marching squares: within a cell F is taken as linear along its sides. `keep` (h - 1, w - 1)
    says which cells count.

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
        # Of a saddle the two corners that are above are cut off, one segment each.
        if len(points) == 4 and above[around[0]]:
            points = [points[3], *points[:3]]
        for start, end in zip(points[::2], points[1::2]):
            out.append({"left": start[0], "bottom": start[1], "right": end[0], "top": end[1]})
    return out


def class_lines(Z: Array, x: Array, y: Array) -> list[Segment]:
    """The segments on which two classes score alike, and higher than all others, Z (h, w, C)."""
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
    """Where F is 0 between two neighbours of the grid."""
    t = F[a] / (F[a] - F[b])
    return (
        float(x[a[1]] + t * (x[b[1]] - x[a[1]])),
        float(y[a[0]] + t * (y[b[0]] - y[a[0]])),
    )
