"""The error or the log-loss of rows whose scores are known up to an interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from separatrix.matrix import Array
from separatrix.verdict.regions.rounding import SMALLEST, UNIT

ROUNDING = 64.0 * UNIT  # relative error of a logarithm of probabilities


def error_bounds(y: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return whether rows are certainly, and whether they are possibly, in the wrong class (n,).

    `low` and `high` are bounds (n, K) on the scores of the classes y (n,). With one score, class 1
    is predicted if it is above 0.

    >>> scores = np.array([[0.3], [0.3], [-0.1]])
    >>> certain, possible = error_bounds(np.array([1, 0, 1]), scores - 0.2, scores + 0.2)
    >>> certain.tolist(), possible.tolist()
    ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    """
    if low.shape[1] == 1:
        below, above = low[:, 0], high[:, 0]
        certain = np.where(y == 1, above <= 0.0, below > 0.0)
        possible = np.where(y == 1, below <= 0.0, above > 0.0)
        return certain.astype(np.float64), possible.astype(np.float64)
    rows, others = np.arange(len(y)), np.arange(low.shape[1]) != y[:, None]
    certain = np.where(others, low, -np.inf).max(axis=1) > high[rows, y]
    possible = np.where(others, high, -np.inf).max(axis=1) >= low[rows, y]
    return certain.astype(np.float64), possible.astype(np.float64)


def log_loss_bounds(y: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return bounds (n,) on -log of the probability of the own class.

    Several scores are those of one class against the rest, whose probabilities are divided by their
    sum.

    >>> scores = np.zeros((1, 1))
    >>> least, most = log_loss_bounds(np.array([1]), scores - 1.0, scores + 1.0)
    >>> least.round(3), most.round(3)
    (array([0.313]), array([1.313]))
    """
    if low.shape[1] == 1:
        sign = np.where(y == 1, 1.0, -1.0)
        ends = -sign * low[:, 0], -sign * high[:, 0]
        least, most = (np.logaddexp(0.0, end(*ends)) for end in (np.minimum, np.maximum))
    else:
        rows = np.arange(len(y))
        others = np.arange(low.shape[1]) != y[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            least, most = (
                np.log1p(np.where(others, expit(rest), 0.0).sum(axis=1) / expit(own[rows, y]))
                for own, rest in ((high, low), (low, high))
            )
        least, most = np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=np.inf, posinf=np.inf)
    return np.maximum(least * (1.0 - ROUNDING) - SMALLEST, 0.0), most * (1.0 + ROUNDING) + SMALLEST


# The bounds of each measure: functions of (y, low, high).
MEASURES: dict[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "error": error_bounds,
    "log_loss": log_loss_bounds,
}
