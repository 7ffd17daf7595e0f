"""The curvature of a loss along a line in weight space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators.checks.validation import require_count
from separatrix.explain.input_checks import loss_of, numbers_of, require_class_numbers
from separatrix.explain.steps import classes_of
from separatrix.explain.text_tables import facts, number, table, to_builtin, wrapped
from separatrix.losses import LOSSES, Loss
from separatrix.matrix import Array
from separatrix.text import quoted

_ENDS = 60  # bisection steps for the end of a region
_LEVEL = 1e-12  # smaller curvatures, relative to the terms of the sum, are rounding errors


@dataclass(frozen=True)
class CurvatureAlong:
    """Value, slope and curvature of a mean loss along a line of weights, start + t direction.

    Attributes
    ----------
    loss : the name of the loss
    positions : the values of t
    values, slopes, curvatures : of the mean loss at every position
    negative : the intervals of t with negative curvature, within the range of `positions`
    """

    loss: str
    positions: tuple[float, ...]
    values: tuple[float, ...]
    slopes: tuple[float, ...]
    curvatures: tuple[float, ...]
    negative: tuple[tuple[float, float], ...]

    @property
    def verdict(self) -> str:
        """A sentence that states whether the loss is convex along the line."""
        if not self.negative:
            return f"Loss '{self.loss}' is convex along this line: its curvature is never below 0."
        parts = ", ".join(f"{number(a)} to {number(b)}" for a, b in self.negative)
        return f"Loss '{self.loss}' is not convex: its curvature is below 0 for t from {parts}."

    def to_text(self, width: int = 80) -> str:
        """Format some points of the line, and the verdict."""
        step = max(1, (len(self.positions) - 1) // 12)
        rows = zip(self.positions, self.values, self.slopes, self.curvatures)
        shown = list(rows)[::step]
        lines = table(("t", "loss", "slope", "curvature"), shown, width)
        return "\n".join([*lines, "", *wrapped(self.verdict, width)])

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self) | {"verdict": self.verdict}


def curvature_along(
    loss: str | Loss,
    X: Any,
    y: Any,
    start: Any,
    direction: Any,
    *,
    span: tuple[float, float] = (-8.0, 8.0),
    points: int = 241,
) -> CurvatureAlong:
    """Return the curvature of a mean loss along a line in weight space.

    Parameters
    ----------
    loss : a smooth loss: a name in LOSSES, or a Loss
    X, y : rows (n, d) and class numbers (n,). For a bias, add a column of ones
    start, direction : weights (d,), or (K, d) for K outputs. The line is start + t direction
    span, points : the range of t, and the number of points

    >>> x, label = [[1.0]], [0]
    >>> curvature_along("sigmoid_mse", x, label, [0.0], [1.0]).verdict
    "Loss 'sigmoid_mse' is not convex: its curvature is below 0 for t from 0.69315 to 8."
    >>> curvature_along("logistic", x, label, [0.0], [1.0]).negative
    ()

    The curvature of the first loss becomes negative at t = log 2, where sigma(t) is 2/3.
    """
    made = loss_of(loss)
    if not made.smooth:
        smooth = ", ".join(name for name, other in LOSSES.items() if other.smooth)
        raise ValueError(
            f"Loss '{made.name}' has kinks, where it has no curvature. Smooth losses: {smooth}."
        )
    require_count("points", points, low=2)
    ends = numbers_of("span", span)
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise ValueError(f"The span must be two increasing numbers. Got {quoted(span)} instead.")
    X, labels = np.atleast_2d(numbers_of("X", X)), np.atleast_1d(np.asarray(y))
    given = (("start", start), ("direction", direction))
    W, V = (np.atleast_2d(numbers_of(name, a)) for name, a in given)
    _require(made, X, labels, W, V)
    Z, D = (X @ W.T)[:, None, :], (X @ V.T)[:, None, :]

    def at(t: float) -> tuple[float, float, float, float]:
        here = Z + t * D
        slopes = (made.gradient(labels, here) * D).sum(axis=(1, 2))
        curvatures = (made.hessian_times(labels, here, D) * D).sum(axis=(1, 2))
        found = made.value(labels, here), slopes, curvatures, np.abs(curvatures)
        value, slope, curvature, size = (float(each.mean()) for each in found)
        return value, slope, curvature, size

    positions = np.linspace(ends[0], ends[1], points)
    found = np.array([at(t) for t in positions])
    # With one output, even a tiny curvature of a row has the correct sign. With several outputs it
    # is a sum with cancellation, and its error is relative to the largest curvature.
    sizes = found[:, 3] if Z.shape[2] == 1 else np.abs(found[:, 2]).max()
    negative = _below(positions, found[:, 2] < -_LEVEL * sizes, lambda t: at(t)[2])
    values, slopes, curvatures = (to_builtin(column) for column in found[:, :3].T)
    return CurvatureAlong(made.name, to_builtin(positions), values, slopes, curvatures, negative)


def _below(
    positions: Array, inside: Array, f: Callable[[float], float]
) -> tuple[tuple[float, float], ...]:
    """Return the intervals in which f is below 0, with ends found by bisection."""
    regions, begin = [], float(positions[0])
    for k in range(1, len(positions)):
        if inside[k] != inside[k - 1]:
            end = _crossing(f, float(positions[k - 1]), float(positions[k]))
            if inside[k]:
                begin = end
            else:
                regions.append((begin, end))
    if inside[-1]:
        regions.append((begin, float(positions[-1])))
    return tuple(regions)


def _crossing(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the point where f changes its sign, by bisection."""
    first = f(low) < 0.0
    for _ in range(_ENDS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (f(middle) < 0.0) == first else (low, middle)
    return 0.5 * (low + high)


def _require(loss: Loss, X: Array, y: Array, W: Array, V: Array) -> None:
    n, d = X.shape
    if len(y) != n or W.shape != V.shape or W.shape[1] != d:
        raise ValueError(
            f"X has {n} rows of {d} features: y must be ({n},), start and direction ({d},) or "
            f"(K, {d}). Got {y.shape}, {W.shape} and {V.shape} instead."
        )
    require_class_numbers(y, classes_of(loss, len(W)))
