"""Derivatives by finite differences, with what they can be off by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

STEPS = tuple(10.0**-k for k in range(1, 9))
TOLERANCE = 1e-6
_EPS = 2.0**-52


@dataclass(frozen=True)
class Slope:
    """The slope of a function at a point, its error, and the slopes on both sides of a kink."""

    value: float
    error: float
    kink: tuple[float, float] | None = None

    def agrees(self, analytic: float) -> bool:
        """Whether a derivative is this slope, or at a kink lies between those on its sides."""
        room = TOLERANCE * max(1.0, abs(self.value)) + self.error
        if abs(analytic - self.value) <= room:
            return True
        return self.kink is not None and (
            min(self.kink) - room <= analytic <= max(self.kink) + room
        )


def slope(f: Callable[[float], float], at: float) -> Slope:
    """The slope of f at a point by central differences.

    Differences over wide steps are wrong by the third derivative, those over narrow ones by
    rounding. So steps from 1e-1 to 1e-8 are tried, two neighbours being combined so that their
    leading errors cancel (Richardson), and the pair that changes least is taken.

    >>> round(slope(lambda w: w**2 + 3, 2.0).value, 9)
    4.0
    >>> slope(abs, 0.0).kink
    (-1.0, 1.0)
    """
    here, scale = f(at), max(abs(at), 1.0)
    found: list[tuple[float, float]] = []  # the step, and the difference over it
    for step in STEPS:
        low, high = at - step * scale, at + step * scale
        central = (f(high) - f(low)) / (high - low)
        if math.isfinite(central):
            found.append((high - low, central))
    if len(found) < 3:
        return Slope(math.nan, math.inf)
    better = [(100.0 * b - a) / 99.0 for (_, a), (_, b) in pairwise(found)]
    changes = [abs(b - a) for a, b in pairwise(better)]
    best = min(range(len(changes)), key=changes.__getitem__)
    rounding = 8.0 * _EPS * abs(here) / found[best + 2][0]
    return Slope(better[best + 1], changes[best] + rounding, _kink(f, at, here, scale))


def _kink(
    f: Callable[[float], float], at: float, here: float, scale: float
) -> tuple[float, float] | None:
    """The slopes on both sides, where their difference does not shrink with the step."""
    sides = []
    for step in (1e-4 * scale, 1e-6 * scale):
        low, high = at - step, at + step
        sides.append(((here - f(low)) / (at - low), (f(high) - here) / (high - at)))
    wide, narrow = (abs(right - left) for left, right in sides)
    is_kink = narrow > 0.5 * wide and narrow > 1e-4 * max(1.0, abs(sides[1][0]))
    left, right = sides[1]
    return (round(left, 6), round(right, 6)) if is_kink else None
