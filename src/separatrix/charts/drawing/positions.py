"""Positions in a chart: ranges of axes, labels that do not overlap, angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from separatrix.matrix import Array


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Heights at least a `gap` apart and within 0 and `top`, near those given, in their order.

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


def share(value: float, span: tuple[float, float], log: bool) -> float:
    """Where a value lies in a range, 0 at its lower end and 1 at its upper end."""
    low, high = span
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def at_share(part: float, span: tuple[float, float], log: bool) -> float:
    """The inverse of `share`."""
    low, high = span
    if log:
        return math.exp(math.log(low) + part * math.log(high / low))
    return low + part * (high - low)


def padded(values: Array, share_of: float = 0.05) -> tuple[float, float]:
    """The range of finite values with some room at both ends.

    >>> padded(np.array([0.0, 10.0]))
    (-0.5, 10.5)
    """
    low, high = float(np.min(values)), float(np.max(values))
    room = share_of * (high - low) or 0.5
    return low - room, high + room


def powers(low: float, high: float) -> list[float]:
    """The powers of ten in a range: a logarithmic axis has too many lines otherwise.

    >>> powers(0.05, 120.0)
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**k for k in range(first, last + 1)]


def turned(across: float, up: float) -> float:
    """The angle of a triangle that points in a direction, in degrees clockwise from upwards.

    >>> turned(1.0, 0.0), turned(0.0, -1.0), turned(-1.0, 0.0)
    (90.0, 180.0, 270.0)
    """
    return math.degrees(math.atan2(across, up)) % 360.0
