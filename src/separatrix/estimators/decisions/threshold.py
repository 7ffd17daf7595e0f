"""The choice of a decision threshold for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators.checks.validation import require_number
from separatrix.matrix import Array


@dataclass(frozen=True)
class Threshold:
    """A decision threshold and its precision, recall and cost.

    Attributes
    ----------
    value : float
        Threshold on the scale of `decision_function`. Rows with a higher score are predicted as
        the second class.
    precision : float
        Fraction of the predicted positive rows that are positive; NaN if none are predicted.
    recall : float
        Fraction of the positive rows that are predicted as positive.
    cost : float
        Mean cost per row; NaN unless the threshold was chosen by cost.
    """

    value: float
    precision: float
    recall: float
    cost: float


def choose_threshold(
    scores: Array, positive: Array, s: Array, *, cost: Any, precision: Any, recall: Any
) -> Threshold:
    """Return the best threshold for one aim: the lowest cost, a precision or a recall.

    `scores` (n,) are decision values, `positive` (n,) marks the rows of the positive class, and
    `s` (n,) holds sample weights.

    >>> import numpy as np
    >>> scores, positive = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([False, True, False, True])
    >>> aims = {"cost": None, "precision": None, "recall": 1.0}
    >>> choose_threshold(scores, positive, np.ones(4), **aims).value
    -0.5
    """
    aims = {"cost": cost, "precision": precision, "recall": recall}
    given = [name for name, aim in aims.items() if aim is not None]
    if len(given) != 1:
        raise ValueError(
            "choose_threshold needs exactly one of cost, precision and recall. Got "
            f"{' and '.join(given) or 'none'}."
        )
    cuts = Cuts(scores, positive, s)
    if cost is not None:
        false_positive, false_negative = _costs(cost)
        paid = (false_positive * cuts.fp + false_negative * cuts.fn) / s.sum()
        return cuts.best(paid, np.full(len(paid), True), paid)
    name, aim = given[0], aims[given[0]]
    require_number(name, aim, high=1.0, closed_high=True, open_low=True)
    # Among the thresholds that reach one measure, take the one with the highest other measure.
    reached, other = (
        (cuts.precision, cuts.recall) if name == "precision" else (cuts.recall, cuts.precision)
    )
    enough = reached >= aim * (1.0 - 1e-12)
    if not enough.any():
        most = np.nanmax(reached)
        raise ParameterError(
            f"No threshold has a {name} of {aim:g} on these rows: the highest is {most:.3g}. "
            f"Lower {name}, or improve the features.",
            parameter=name,
        )
    return cuts.best(-np.nan_to_num(other), enough, np.full(len(other), np.nan))


class Cuts:
    """All possible thresholds, from no row to all rows predicted as positive."""

    def __init__(self, scores: Array, positive: Array, s: Array) -> None:
        levels, level = np.unique(-scores.astype(np.float64), return_inverse=True)
        levels = -levels
        tp, fp = (
            np.concatenate([[0.0], np.cumsum(np.bincount(level, s * rows, len(levels)))])
            for rows in (positive, ~positive)
        )
        self.fp, self.fn = fp, tp[-1] - tp
        with np.errstate(invalid="ignore", divide="ignore"):
            self.precision, self.recall = tp / (tp + fp), tp / tp[-1]
        below = np.append(levels[1:], np.nextafter(levels[-1], -np.inf))
        middle = below + 0.5 * (levels - below)
        # If no number lies between two scores, the lower one separates them: "above" is strict.
        self.values = np.append(levels[:1], np.where(middle < levels, middle, below))

    def best(self, loss: Array, allowed: Array, cost: Array) -> Threshold:
        """Return the allowed threshold with the lowest loss, or the one nearest to 0 if tied."""
        equal = np.flatnonzero(allowed & (loss <= loss[allowed].min()))
        at = equal[np.argmin(np.abs(self.values[equal]))]
        numbers = (a[at] for a in (self.values, self.precision, self.recall, cost))
        return Threshold(*(float(number) for number in numbers))


def _costs(cost: Any) -> tuple[float, float]:
    try:
        false_positive, false_negative = (float(c) for c in cost)
    except (TypeError, ValueError):
        false_positive = false_negative = np.nan
    total = false_positive + false_negative
    if not (min(false_positive, false_negative) >= 0.0 and np.isfinite(total) and total > 0.0):
        raise ParameterError(
            "cost must be a pair of numbers >= 0, not both 0: the costs of a false positive and "
            f"of a false negative. Got {cost!r} instead.",
            parameter="cost",
        )
    return false_positive, false_negative
