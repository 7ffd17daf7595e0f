"""How much a loss certainly curves near a score.

For a loss with one score, let l' be its derivative. While the score of a row moves by t from z, the
mean of l'' on the way is the slope of a secant of l':

    (l'(z + t) - l'(z)) / t

If l'' first rises and then falls, or is constant, this mean is smallest at one of the two ends, so
for |t| <= u it is at least the smaller of the two secants of the length u.
"""

from __future__ import annotations

import numpy as np

from separatrix.losses import Loss, OneVsRest
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.losses.margin import Margin
from separatrix.losses.modified_huber import ModifiedHuber
from separatrix.losses.squared import Squared
from separatrix.matrix import Array
from separatrix.verdict.regions.bias import score_gradient
from separatrix.verdict.regions.rounding import LOSS_GRADIENT, SMALLEST, UNIT

SHORTEST = 1e-4  # shorter secants would lose too many digits
ONE_PEAK = (CrossEntropy, Margin, ModifiedHuber, Squared)  # if the outputs are independent


def has_one_peak(loss: Loss, n_outputs: int) -> bool:
    """Return whether the outputs are independent and l'' of each may rise, then only falls.

    >>> from separatrix.losses import LOSSES
    >>> has_one_peak(LOSSES["logistic"], 1), has_one_peak(LOSSES["softmax"], 3)
    (True, False)
    """
    base = loss.base if isinstance(loss, OneVsRest) else loss
    apart = loss.convex and loss.smooth and loss.coupling(n_outputs) == "none"
    return apart and type(base) in ONE_PEAK


def least_curvature(loss: Loss, y: Array, Z: Array, reach: Array, off: Array) -> Array:
    """Return lower bounds (n, B, K) on the mean of l'' while a score moves by at most `reach`.

    Parameters
    ----------
    loss, y : a loss with `has_one_peak`, and the class numbers of the rows
    Z, off : scores (n, B, K), and bounds on their rounding errors
    reach : largest movements (n, B, K)

    >>> from separatrix.losses import LOSSES
    >>> z = np.zeros((1, 1, 1))
    >>> least_curvature(LOSSES["logistic"], np.array([1]), z, z + 2.0, z).round(3).item()
    0.19
    """
    curvature = loss.curvature_of(1)
    assert curvature is not None
    reach = np.maximum(reach, SHORTEST)
    with np.errstate(over="ignore", invalid="ignore"):
        here, up, down = (score_gradient(loss, y, Z + move) for move in (0.0, reach, -reach))
        size = np.maximum(np.abs(here), np.maximum(np.abs(up), np.abs(down)))
        error = curvature * (off + 4.0 * UNIT * (np.abs(Z) + reach)) + LOSS_GRADIENT * size
        least = np.minimum(up - here, here - down) - 2.0 * (error + SMALLEST)
        found = (1.0 - 8.0 * UNIT) * least / reach
    return np.where(np.isfinite(found), np.maximum(found, 0.0), 0.0)
