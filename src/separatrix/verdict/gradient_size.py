"""Measure how large a gradient is, for models that have no duality gap.

Without a penalty a model is close to optimal if its gradient is small. But the gradient of a weight
has the units of its feature, and for a feature far from zero it nearly equals the gradient of the
bias. So the size is computed for centred features in units of their standard deviations:

    size^2 = sum_j ((g_j - mean_j g_b) / deviation_j)^2 + g_b^2

This is the gradient norm for the standardised features. With a fixed bias the features are not
centred, and the unit is their root mean square.
"""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array
from separatrix.objective import Evaluation, Objective

ROUNDING = 1e-13  # a size below this is rounding: the gradients of single rows are about 1


def has_gap(objective: Objective, n_models: int) -> Array:
    """Return which models have a useful lower bound on their objective (B,)."""
    l1, l2 = objective.strengths(n_models)
    return objective.loss.convex & ((l1 > 0.0) | (l2 > 0.0))


def gradient_sizes(objective: Objective, found: Evaluation) -> Array:
    """Return the sizes (B,) of evaluated gradients; with a penalty, the plain gradient norm.

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.model import Model
    >>> from separatrix.penalty import ElasticNet
    >>> def size(X):
    ...     data = Dataset.of(X, [0, 1, 1])
    ...     objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    ...     return gradient_sizes(objective, objective.evaluate(Model.zeros(1, 1, 1))).round(6)
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> size(X) == size(1e3 * X + 1e6)
    array([ True])
    """
    l1, l2 = objective.strengths(len(found.gb))
    free = (l1 == 0.0) & (l2 == 0.0)
    if not free.any():
        return found.gradient_norm
    mean, deviation = objective.data.moments()
    G = found.GW
    if objective.bias:
        G = G - mean[:, :, None] * found.gb
    else:
        deviation = np.sqrt(deviation**2 + mean**2)
    units = np.where(deviation == 0.0, np.inf, deviation)
    squares = np.square(G / units[:, :, None])
    sums = np.ascontiguousarray(squares.transpose(1, 2, 0)).sum(axis=2).sum(axis=1)
    size = np.sqrt(sums + np.square(found.gb).sum(axis=1))
    return np.where(free, size, found.gradient_norm)
