"""Where to draw the line between two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators.validation import require_number
from separatrix.matrix import Array


@dataclass(frozen=True)
class Threshold:
    """A decision value above which the second class is predicted, and what that gives.

    Attributes
    ----------
    value : the threshold, on the scale of `decision_function`
    precision : share of the rows predicted to be of the second class that are; NaN if none is
    recall : share of the rows of the second class that are predicted
    cost : cost per row; NaN unless a cost was stated
    """

    value: float
    precision: float
    recall: float
    cost: float


def choose_threshold(
    scores: Array, positive: Array, s: Array, *, cost: Any, precision: Any, recall: Any
) -> Threshold:
    """The best threshold for one stated aim, by rows of known class and their weights.

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
            "choose_threshold takes exactly one of cost, precision and recall. Got "
            f"{' and '.join(given) or 'none'}."
        )
    cuts = _Cuts(scores, positive, s)
    if cost is not None:
        false_positive, false_negative = _costs(cost)
        paid = (false_positive * cuts.fp + false_negative * cuts.fn) / s.sum()
        return cuts.best(paid, np.full(len(paid), True), paid)
    name, aim = given[0], aims[given[0]]
    require_number(name, aim, high=1.0, closed_high=True, open_low=True)
    # Of the thresholds that reach what is asked, the one that gives most of the other.
    reached, other = (
        (cuts.precision, cuts.recall) if name == "precision" else (cuts.recall, cuts.precision)
    )
    enough = reached >= aim * (1.0 - 1e-12)
    if not enough.any():
        most = np.nanmax(reached)
        raise ParameterError(
            f"No threshold has a {name} of {aim:g} on these rows: the highest is {most:.3g}. "
            "Ask for less, or train on more or better features.",
            parameter=name,
        )
    return cuts.best(-np.nan_to_num(other), enough, np.full(len(other), np.nan))


class _Cuts:
    """Every way to cut the rows in two by their scores, from none to all predicted positive."""

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
        # A row is above the threshold if its score is larger: the lower score itself will do.
        self.values = np.append(levels[:1], np.where(middle < levels, middle, below))

    def best(self, loss: Array, allowed: Array, cost: Array) -> Threshold:
        """The allowed cut of the smallest loss; of equals, the one nearest to 0."""
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
            "cost must be a pair of numbers >= 0, the cost of a false positive and that of a false "
            f"negative, not both 0. Got {cost!r} instead.",
            parameter="cost",
        )
    return false_positive, false_negative
