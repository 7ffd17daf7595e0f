"""Weights that an L1 penalty certainly sets to zero at the optimum.

For a loss whose curvature is at most c, the dual objective D is strongly concave. So duals U with
the duality gap G are close to the optimal ones U*:

    sum_i s_i |U_i - U*_i|^2 / S  <=  2 c G

and V = X^T (s o U) / S is close to V*. At the optimum a weight is zero wherever |V*_j| < l1 f_j.

See E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, Gap safe screening rules for sparsity enforcing
penalties, JMLR 2017.
"""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.certificate import dual_values, duals_of
from separatrix.verdict.dual_sums import costs_of_block, pull_of_block
from separatrix.verdict.regions.rounding import rounding_of
from separatrix.verdict.regions.slope import factor_columns, has_free_bias

COARSE = 1e-7  # allowance for the rounding of a standard deviation, relative to the mean


def zero_weights(objective: Objective, model: Model) -> Array:
    """Return which weights (d, B, K) are certainly zero at the optimum of a smooth loss.

    `model` (float64) is near the optimum. None is certain without an L1 penalty.

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> X = np.array([[1.0, 0.1], [-1.0, 0.1], [1.0, -0.1], [-1.0, -0.1]])
    >>> objective = Objective(Dataset.of(X, [1, 0, 1, 0]), LOSSES["logistic"], ElasticNet(0.4, 0.0))
    >>> zero_weights(objective, Model(np.array([[[0.4]], [[0.0]]]), np.zeros((1, 1)))).ravel()
    array([False,  True])
    """
    data, B, n = objective.data, model.n_models, objective.data.n_samples
    l1, _ = objective.strengths(B)
    curvature, scale = objective.loss.curvature_of(model.n_outputs), objective.scale(B)
    if curvature is None or not l1.any():
        return np.zeros(model.W.shape, bool)
    source = duals_of(objective, model)
    (V,) = data.sum_over_blocks(pull_of_block, source, scale)
    shrink = objective.penalty.dual_scale(V)
    none = np.zeros(data.highest_label + 1)
    sizes = data.sum_over_blocks(costs_of_block, source, shrink, none, False)[2].sum(axis=1) * scale
    value = objective.value(model)
    gap = value - dual_values(objective, model) + rounding_of(8 * n) * (value + sizes)
    reach = np.sqrt(2.0 * curvature * np.maximum(gap, 0.0))
    mean, spread = (a[:, :, None] for a in data.moments())
    length = spread + COARSE * np.abs(mean)
    if not has_free_bias(objective, B):
        length = length + np.abs(mean)
    off = rounding_of(4 * n) * data.largest_values()[:, None, None] * sizes[:, None]
    bound = l1[:, None] * factor_columns(objective.penalty.factors)
    highest = np.abs(V) * shrink[:, None] + length * reach[:, None] * (1.0 + COARSE) + off
    return np.asarray(highest < bound)
