"""The lowest point of the objective along a line, from scores that are found once.

    phi'(t) = sum_i s_i <gradient of the loss at z_i + t v_i, v_i> / S + slope of the penalty,

with z the scores of the model and v those of the direction: two passes over X, however many values
of t are tried. Where a full Newton step is refused, as by squared hinges whose rows change sides,
the lowest point leads much farther than the first step that is short enough.
"""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array, per_model, sum_samples, zero_unweighted
from separatrix.model import Model
from separatrix.objective import Objective

TRIES = 30
FLAT = 0.1  # share of the slope at the start that may be left at the end


def find_line_minimum(objective: Objective, model: Model, direction: Model, slope: Array) -> Array:
    """The t (B,) in (0, 1) at which each model is lowest along its direction, roughly.

    `slope` (B,) is that of the objective at t = 0, below 0. The slope is brought to 0 by false
    position, halving what is left where that is slow (the Illinois algorithm).

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> objective = Objective(Dataset.of([[1.0], [-1.0]], [1, 0]), LOSSES["squared"],
    ...                       ElasticNet(0.0, 0.0), bias=False)
    >>> far = Model(np.array([[[4.0]]]), np.zeros((1, 1)))
    >>> find_line_minimum(objective, Model.zeros(1, 1, 1), far, np.array([-4.0]))
    array([0.25])
    """
    line = _Line(objective, model, direction)
    B = model.n_models
    low, high = np.zeros(B), np.ones(B)
    below, above = slope.copy(), line.slopes(high)
    t, last, flat = np.full(B, 0.5), np.zeros(B), np.zeros(B, bool)
    for _ in range(TRIES):
        # False position where both slopes are numbers of opposite sign, else nearer to the start.
        known = np.isfinite(above) & (above > 0.0)
        guess = low + (high - low) * np.divide(
            -below, above - below, out=np.full(B, 0.5), where=known
        )
        # A model that has arrived stays, whatever models stand beside it.
        t = np.where(flat, t, np.where(known, guess, low + 0.1 * (high - low)))
        here = line.slopes(t)
        flat |= np.abs(here) <= FLAT * np.abs(slope)
        if flat.all():
            break
        rising = ~(here < 0.0)
        side = np.where(rising, 1.0, -1.0)
        again = side == last
        below = np.where(rising, np.where(again, 0.5 * below, below), here)
        above = np.where(rising, here, np.where(again, 0.5 * above, above))
        low, high = np.where(rising, low, t), np.where(rising, t, high)
        last = side
    return t


class _Line:
    """The objective of each model along its direction."""

    def __init__(self, objective: Objective, model: Model, direction: Model) -> None:
        self.objective, self.model, self.direction = objective, model, direction
        self.blocks = list(objective.data.blocks())
        self.scores = [(model.scores(block.X), direction.scores(block.X)) for block in self.blocks]
        self.room = [np.empty_like(Z) for Z, _ in self.scores]

    def slopes(self, t: Array) -> Array:
        """The derivative of the objective (B,) at t (B,)."""
        objective, V = self.objective, self.direction
        there = self.model.plus(V, t)
        total = Model(objective.penalty.gradient(there.W), np.zeros_like(V.b)).dot(V)
        total += objective.penalty.l1_slope(there.W, V.W)
        total += objective.bias_curvature(len(t)) * (there.b * V.b).sum(axis=1)
        for block, (Z, along), U in zip(self.blocks, self.scores, self.room):
            s = per_model(block.weights)
            np.multiply(along, t[:, None], out=U)
            U += Z
            U = objective.score_gradient(block, zero_unweighted(U, s))
            U *= along
            total += sum_samples(s * U.sum(axis=2)) * objective.scale(len(t))
        return total
