"""Derivatives by finite differences, with an error estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

TOLERANCE = 1e-6
_EPS = 2.0**-52
_FINEST = 9  # the smallest step is 10^-9 of the magnitude of the point
_NOWHERE = -9  # the power of ten that stands for a point at 0
_ALIKE = 0.1  # relative deviation allowed to the slopes of smaller steps


@dataclass(frozen=True)
class Slope:
    """The slope of a function at a point, its error, and the slopes on both sides of a kink."""

    value: float
    error: float
    kink: tuple[float, float] | None = None

    @property
    def room(self) -> float:
        """The largest difference to a correct derivative."""
        return TOLERANCE * abs(self.value) + self.error

    def off(self, analytic: float) -> float:
        """Return the difference to a derivative. At a kink, it is 0 between both slopes."""
        apart = abs(analytic - self.value)
        if self.kink is None:
            return apart
        low, high = min(self.kink), max(self.kink)
        return min(apart, max(low - analytic, analytic - high, 0.0))

    def agrees(self, analytic: float) -> bool:
        """Whether a derivative is this slope. At a kink, any value between both slopes agrees."""
        return self.off(analytic) <= self.room


@dataclass(frozen=True)
class _Difference:
    """The slope over an interval, and its rounding error."""

    width: float
    value: float
    noise: float


def slope(f: Callable[[float], float], at: float) -> Slope:
    """Return the slope of f at a point by central differences.

    Large steps have an error from the third derivative, and small steps a rounding error. So all
    powers of ten from 0.1 max(1, |point|) down to 1e-9 |point| are tried as steps. Neighbouring
    steps are combined so that their leading errors cancel (Richardson extrapolation). The result is
    the combination that differs least from the next one. Combinations that smaller steps contradict
    are excluded, because a function can be flat over a large step.

    >>> round(slope(lambda w: w**2 + 3, 2.0).value, 9)
    4.0
    >>> slope(abs, 0.0).kink
    (-1.0, 1.0)
    """
    steps = _steps(at)
    found = [each for step in steps if math.isfinite((each := _central(f, at, step)).value)]
    if len(found) < 3:
        return Slope(math.nan, math.inf)
    better = [_combined(a, b) for a, b in pairwise(found)]
    tried = [Slope(b.value, abs(b.value - a.value) + b.noise) for a, b in pairwise(better)]
    sure = [each for k, each in enumerate(tried) if _stands(each.value, better[k + 2 :])]
    best = min(sure or tried, key=lambda each: each.error)
    return Slope(best.value, best.error, _kink(f, at, steps))


def _steps(at: float) -> list[float]:
    power = math.floor(math.log10(abs(at))) if at else _NOWHERE
    return [10.0**k for k in range(max(power, 0) - 1, max(power - _FINEST, -300) - 1, -1)]


def _central(f: Callable[[float], float], at: float, step: float) -> _Difference:
    low, high = at - step, at + step
    left, right, width = f(low), f(high), high - low
    value = (right - left) / width if width else math.nan
    size = max(abs(left), abs(right)) + abs(at * value)
    return _Difference(width, value, 8.0 * _EPS * size / width if width else math.inf)


def _combined(wide: _Difference, narrow: _Difference) -> _Difference:
    """Combine two differences so that the error in the square of the width cancels."""
    ratio = (wide.width / narrow.width) ** 2
    value = (ratio * narrow.value - wide.value) / (ratio - 1.0)
    return _Difference(narrow.width, value, narrow.noise)


def _stands(value: float, narrower: Sequence[_Difference]) -> bool:
    """Whether the slopes of smaller steps agree within their rounding errors."""
    return all(
        abs(each.value - value) <= 100.0 * each.noise + _ALIKE * max(abs(value), abs(each.value))
        for each in narrower
    )


def _kink(
    f: Callable[[float], float], at: float, steps: Sequence[float]
) -> tuple[float, float] | None:
    """Return the slopes on both sides if their difference does not shrink with the step."""
    here, last, sides = f(at), math.inf, None
    for step in steps:
        low, high = at - step, at + step
        if not low < at < high:
            break
        left, right = (here - f(low)) / (at - low), (f(high) - here) / (high - at)
        apart, size = abs(right - left), max(abs(left), abs(right))
        if not math.isfinite(apart):
            continue
        noise = 8.0 * _EPS * (abs(here) + size * (abs(at) + step)) / step
        if apart <= max(100.0 * noise, 1e-4 * size):  # within the rounding error
            return sides if apart > 0.5 * last else None
        sides = (left, right) if apart > 0.5 * last else None
        last = apart
    return sides
