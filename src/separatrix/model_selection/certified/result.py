"""The result of a certified search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from separatrix.matrix import Array
from separatrix.text import counted

NAMES = {"error": ("an", "error"), "log_loss": ("a", "log-loss")}


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedSearch:
    """The best C that was found, and bounds on the measure for every C of the interval.

    Attributes
    ----------
    C, error : float
        The best value of C, and the mean over the folds of its measure.
    lower_bound : float
        No C of the interval has a lower measure at the exact optima of its folds.
    epsilon, measure : float and str
        As given.
    complete : bool
        Whether the lower bound is at least `error - epsilon`.
    proven : float
        Share of the interval, on a logarithmic scale, in which it is.
    interrupted : bool
        Whether a callback ended the search.
    points, errors : ndarray of shape (P,)
        The values of C that were trained, increasing, and their measures.
    fold_errors : ndarray of shape (P, F)
        Their measures in each fold.
    edges : ndarray of shape (I + 1,)
        Values of C that divide the interval into pieces.
    low, high : ndarray of shape (I,)
        Bounds on the measure in each piece, at the exact optima.
    n_folds, n_batches, n_passes, seconds : int, int, float and float
        Number of folds and of batches, how often the rows were read, and the time of the search.
    """

    C: float
    error: float
    lower_bound: float
    epsilon: float
    measure: str
    proven: float
    complete: bool
    interrupted: bool
    points: Array
    errors: Array
    fold_errors: Array
    edges: Array
    low: Array
    high: Array
    n_folds: int
    n_batches: int
    n_passes: float
    seconds: float

    @property
    def n_fits(self) -> int:
        """The number of models that were trained."""
        return len(self.points) * self.n_folds

    def format(self, value: float) -> str:
        """Return a value of the measure as text."""
        return f"{100.0 * value:.2f} %" if self.measure == "error" else f"{value:.4f}"

    def sentences(self) -> list[str]:
        """Return the result in sentences."""
        article, name = NAMES[self.measure]
        interval = f"from {self.edges[0]:g} to {self.edges[-1]:g}"
        found = [
            f"C = {self.C:.3g} has a cross-validation {name} of {self.format(self.error)} "
            f"({self.n_folds} folds)."
        ]
        if self.complete:
            found.append(
                f"No C {interval} has {article} {name} below {self.format(self.lower_bound)}. So "
                f"none is better by more than {self.format(self.epsilon)}."
            )
        else:
            found.append(
                f"In {100.0 * self.proven:.3g} % of the interval {interval}, on a logarithmic "
                f"scale, no C is better by more than {self.format(self.epsilon)}. The rest is not "
                "proven."
            )
        found.append(
            f"This took {counted(self.n_fits, 'fit')} at {counted(len(self.points), 'value')} of C."
        )
        return found

    def facts(self) -> dict[str, Any]:
        """Return the result as plain values that are valid JSON."""
        arrays = ("points", "errors", "edges", "low", "high")
        plain = {name: _plain(getattr(self, name)) for name in arrays}
        names = ("C", "error", "lower_bound", "epsilon", "measure", "proven", "complete", "n_fits")
        return (
            {name: getattr(self, name) for name in names} | plain | {"sentences": self.sentences()}
        )

    def __repr__(self) -> str:
        return "\n".join(self.sentences())


def _plain(values: Array) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
