"""Positions in a chart: axis ranges, labels that do not overlap, and angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from separatrix.matrix import Array


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Move heights so that they are at least `gap` apart, between 0 and `top`, in the same order.

    >>> spread([10.0, 11.0, 50.0], 12.0, 100.0)
    [10.0, 22.0, 50.0]
    >>> spread([100.0, 100.0], 12.0, 100.0)
    [88.0, 100.0]
    """
    order = np.argsort(heights, kind="stable")
    out = np.array(heights, float)[order]
    for k in range(1, len(out)):
        out[k] = max(out[k], out[k - 1] + gap)
    ceiling = top
    for k in reversed(range(len(out))):
        out[k] = min(out[k], ceiling)
        ceiling = out[k] - gap
    back = np.empty(len(out))
    back[order] = out
    return [float(height) for height in back]


def free_height(
    height: float, taken: Sequence[tuple[float, float]], top: float, size: float
) -> float:
    """Return the height next to the given one for a label of this size that no range crosses.

    It is the given height if there is no such place from 0 to `top`.

    >>> free_height(10.0, [(9.0, 10.0)], 100.0, 12.0)
    16.0
    >>> free_height(10.0, [(0.0, 100.0)], 100.0, 12.0)
    10.0
    """
    half = size / 2.0
    ends = [height, *(at for low, high in taken for at in (low - half, high + half))]

    def is_free(at: float) -> bool:
        inside = half <= at <= top - half
        return inside and all(at + half <= low or at - half >= high for low, high in taken)

    return min(filter(is_free, ends), key=lambda at: abs(at - height), default=height)


def share(value: float, span: tuple[float, float], log: bool) -> float:
    """Return the position of a value in a range, from 0 at the lower end to 1 at the upper end."""
    low, high = span
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def at_share(part: float, span: tuple[float, float], log: bool) -> float:
    """Return the value at a position in a range: the inverse of `share`."""
    low, high = span
    if log:
        return math.exp(math.log(low) + part * math.log(high / low))
    return low + part * (high - low)


def padded(values: Array, share_of: float = 0.05) -> tuple[float, float]:
    """Return the range of finite values, with some space at both ends.

    >>> padded(np.array([0.0, 10.0]))
    (-0.5, 10.5)
    """
    low, high = float(np.min(values)), float(np.max(values))
    room = share_of * (high - low) or 0.5
    return low - room, high + room


def powers(low: float, high: float) -> list[float]:
    """Return the powers of ten in a range, the ticks of a logarithmic axis.

    >>> powers(0.05, 120.0)
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**k for k in range(first, last + 1)]


def turned(across: float, up: float) -> float:
    """Return the angle of a direction, in degrees clockwise from straight up.

    >>> turned(1.0, 0.0), turned(0.0, -1.0), turned(-1.0, 0.0)
    (90.0, 180.0, 270.0)
    """
    return math.degrees(math.atan2(across, up)) % 360.0
