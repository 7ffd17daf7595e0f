"""The gradient of a loss against finite differences of its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators.validation import require_count
from separatrix.explain.computation_graph.finite_differences import Slope, slope
from separatrix.explain.input_checks import loss_of, numbers_of
from separatrix.explain.text_tables import facts, number, wrapped
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.text import counted

ROWS = 40
SPREAD = 2.0  # standard deviation of the scores that are tried


@dataclass(frozen=True)
class Entry:
    """One derivative that was compared: which, where, and by both ways.

    `difference` is how far they are apart (at a kink, from the slopes on both sides), and `allowed`
    how far they may be: a millionth, and what the finite differences may be off by themselves.
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
        """Whether the two ways are as near as finite differences can tell."""
        return self.difference <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.what} {number(self.analytic)}, by differences {number(self.numeric)}, in "
            f"output {self.output + 1} of row {self.row + 1} (scores {number(self.scores)}, class "
            f"number {self.label})"
        )


@dataclass(frozen=True)
class GradientCheck:
    """What a check of a loss found: all `entries`, and `worst`, the one that is furthest off."""

    loss: str
    n_classes: int
    agrees: bool
    checked: int
    wrong: int
    worst: Entry
    entries: tuple[Entry, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether the derivatives are right, in a sentence."""
        said = f"all {self.checked} derivatives agree"
        if not self.agrees:
            are = "is" if self.wrong == 1 else "are"
            said = f"{self.wrong} of {counted(self.checked, 'derivative')} {are} wrong"
        return f"Loss '{self.loss}' with {self.n_classes} classes: {said}."

    def to_text(self, width: int = 80) -> str:
        """The verdict and the worst entry."""
        return "\n".join(wrapped(f"{self.verdict} Worst: {self.worst}.", width))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return facts(self)


def check_gradient(loss: str | Loss, n_classes: int = 2, *, seed: int = 0) -> GradientCheck:
    """Compare the gradient of a loss with its value, and its Hessian with its gradient.

    Scores are drawn at random, many and of both signs. At a kink any slope between those on its
    sides is right. Where the loss says that it is smooth, its Hessian times a random vector is
    compared with the slope of the gradient along that vector.

    >>> print(check_gradient("logistic").to_text())
    Loss 'logistic' with 2 classes: all 80 derivatives agree. Worst: ...
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
    """The derivatives of one row: the gradient by every score, and the Hessian times V."""
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
    """The name of a loss; that of its class if it has none."""
    return str(getattr(loss, "name", type(loss).__name__))


def _of_shape(loss: Loss, method: str, found: Any, shape: tuple[int, ...]) -> Array:
    """What a method returned, which must be of a shape: (n, B), or (n, B, K) as the scores."""
    array = numbers_of(f"What {method}() of loss '{_name(loss)}' returns", found)
    if array.shape != shape:
        axes = "(n, B)" if len(shape) == 2 else "(n, B, K) of the scores"
        raise ValueError(
            f"{method}() of loss '{_name(loss)}' must return an array of the shape {axes}, here "
            f"{shape}. Got {array.shape} instead."
        )
    return array


def _entry(what: str, row: int, y: Array, Z: Array, k: int, analytic: float, found: Slope) -> Entry:
    scores = tuple(float(z) for z in Z[0, 0])
    off, room = found.off(analytic), found.room
    return Entry(what, row, int(y[0]), scores, k, analytic, found.value, off, room)
