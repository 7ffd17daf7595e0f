"""Check the gradient of a loss with finite differences of its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators.checks.validation import require_count
from separatrix.explain.computation_graph.finite_differences import Slope, slope
from separatrix.explain.input_checks import loss_of, numbers_of
from separatrix.explain.text_tables import facts, number, wrapped
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.text import counted

ROWS = 40
SPREAD = 2.0  # standard deviation of the random scores


@dataclass(frozen=True)
class Entry:
    """One derivative compared with finite differences.

    Attributes
    ----------
    what : "gradient" or "second derivative"
    row, label, scores : the number of the row from 0, its class number, and its scores
    output : the number of the output from 0
    analytic, numeric : the derivative returned by the loss, and by finite differences
    difference : their absolute difference. At a kink, the distance to the nearest slope between the
        slopes on both sides
    allowed : the tolerance: a relative error of 1e-6 plus the error of the finite differences
    """

    what: str
    row: int
    label: int
    scores: tuple[float, ...]
    output: int
    analytic: float
    numeric: float
    difference: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.difference <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.what} {number(self.analytic)}, by finite differences {number(self.numeric)}, "
            f"in output {self.output + 1} of row {self.row + 1} (scores {number(self.scores)}, "
            f"class number {self.label})"
        )


@dataclass(frozen=True)
class GradientCheck:
    """The result of a gradient check.

    `entries` has all compared derivatives, and `worst` is the one with the largest difference.
    """

    loss: str
    n_classes: int
    agrees: bool
    checked: int
    wrong: int
    worst: Entry
    entries: tuple[Entry, ...] = ()

    @property
    def verdict(self) -> str:
        """A sentence that states whether the derivatives are correct."""
        result = f"all {self.checked} derivatives are correct"
        if not self.agrees:
            are = "is" if self.wrong == 1 else "are"
            result = f"{self.wrong} of {counted(self.checked, 'derivative')} {are} wrong"
        return f"Loss '{self.loss}' with {self.n_classes} classes: {result}."

    def to_text(self, width: int = 80) -> str:
        """Format the verdict and the entry with the largest difference."""
        return "\n".join(wrapped(f"{self.verdict} Largest difference: {self.worst}.", width))

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self)


def check_gradient(loss: str | Loss, n_classes: int = 2, *, seed: int = 0) -> GradientCheck:
    """Compare the gradient of a loss with finite differences of its value.

    The scores are random numbers of both signs. At a kink, any slope between the slopes on both
    sides is correct. If the loss is smooth, its Hessian times a random vector is also compared with
    finite differences of the gradient in the direction of that vector.

    >>> print(check_gradient("logistic").to_text())
    Loss 'logistic' with 2 classes: all 80 derivatives are correct. Largest
    difference: ...
    """
    made = loss_of(loss)
    require_count("n_classes", n_classes, low=2)
    K = made.n_outputs(n_classes)
    rng = np.random.default_rng(seed)
    Z = np.round(SPREAD * rng.standard_normal((ROWS, 1, K)), 3)
    y = rng.integers(0, n_classes, ROWS).astype(np.int32)
    V = rng.standard_normal((ROWS, 1, K))
    entries = [
        entry
        for i in range(ROWS)
        for entry in _entries(made, y[i : i + 1], Z[i : i + 1], V[i : i + 1], i)
    ]
    wrong = [entry for entry in entries if not entry.agrees]
    worst = max(wrong or entries, key=lambda entry: np.nan_to_num(entry.difference, nan=np.inf))
    return GradientCheck(
        _name(made), n_classes, not wrong, len(entries), len(wrong), worst, tuple(entries)
    )


def _entries(loss: Loss, y: Array, Z: Array, V: Array, row: int) -> list[Entry]:
    """Compare the derivatives of one row: by every score, and the Hessian times V."""
    found = []
    for k in range(Z.shape[2]):
        unit = (np.arange(Z.shape[2]) == k).astype(np.float64).reshape(Z.shape)

        def value(t: float, unit: Array = unit) -> float:
            return float(_of_shape(loss, "value", loss.value(y, Z + t * unit), (1, 1))[0, 0])

        def along(t: float, k: int = k) -> float:
            return float(loss.gradient(y, Z + t * V)[0, 0, k])

        analytic = float(_of_shape(loss, "gradient", loss.gradient(y, Z), Z.shape)[0, 0, k])
        found.append(_entry("gradient", row, y, Z, k, analytic, slope(value, 0.0)))
        if getattr(loss, "smooth", False):
            times = _of_shape(loss, "hessian_times", loss.hessian_times(y, Z, V), Z.shape)
            analytic = float(times[0, 0, k])
            found.append(_entry("second derivative", row, y, Z, k, analytic, slope(along, 0.0)))
    return found


def _name(loss: Loss) -> str:
    """Return the name of a loss, or the name of its class if it has none."""
    return str(getattr(loss, "name", type(loss).__name__))


def _of_shape(loss: Loss, method: str, found: Any, shape: tuple[int, ...]) -> Array:
    """Return the result of a method as an array. Raise a ValueError if its shape is wrong."""
    array = numbers_of(f"The result of {method}() of loss '{_name(loss)}'", found)
    if array.shape != shape:
        axes = "(n, B)" if len(shape) == 2 else "(n, B, K), as the scores"
        raise ValueError(
            f"{method}() of loss '{_name(loss)}' must return an array of shape {axes}: here "
            f"{shape}. Got {array.shape} instead."
        )
    return array


def _entry(what: str, row: int, y: Array, Z: Array, k: int, analytic: float, found: Slope) -> Entry:
    scores = tuple(float(z) for z in Z[0, 0])
    off, room = found.off(analytic), found.room
    return Entry(what, row, int(y[0]), scores, k, analytic, found.value, off, room)
