"""Balls that contain the optimal weights for any strength of the penalty.

Let L be the mean loss with the bias that minimises it, and V a subgradient of L at w0 up to a slack
e: L(w) >= L(w0) + <V, w - w0> - e for all w. With g = V + l2 w0, the optimum w* for l2 satisfies

    |w* - (w0 - g / (2 l2))|^2  <=  |g|^2 / (4 l2^2) + e / l2

for any w0 and any l2 > 0, since the subgradients of the convex function L increase. Lengths are
those of f w, the variables in which the penalty is l2/2 |f w|^2. docs/maths.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.verdict.regions.rounding import UNIT, rounding_of, upper_norm
from separatrix.verdict.regions.slope import Slope, factor_columns


@dataclass(frozen=True)
class Ball:
    """The balls of B models: |f (w - centre)| <= radius.

    Attributes
    ----------
    centre : weights W (d, B, K) and biases b (B, K) for features from which the origin was
        subtracted. A penalised bias is inside the ball. A free bias is not; there b is near the
        best bias of the centre
    radius : (B, K) if every output has its own ball, (B, 1) if all outputs of a model share one
    """

    centre: Model
    radius: Array

    def within(self, other: Ball) -> Ball:
        """Return the smaller of two balls of each model and output."""
        smaller = self.radius <= other.radius
        mine = np.broadcast_to(smaller, self.centre.b.shape)
        return Ball(
            Model(
                np.where(mine, self.centre.W, other.centre.W),
                np.where(mine, self.centre.b, other.centre.b),
            ),
            np.where(smaller, self.radius, other.radius),
        )


def ball(
    slope: Slope, l2: Array, factors: Array | None = None, bias_factor: Array | None = None
) -> Ball:
    """Return the balls that contain the optima for the strengths l2 (B,), which may be any.

    Parameters
    ----------
    slope : subgradients of the mean loss at some weights
    l2 : strengths of the penalty; 0 gives an infinite radius
    factors : factors of the penalty, (d,) or (d, B)
    bias_factor : factors (B,) of penalised biases; None or 0 if the bias is free or fixed

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.objective import Objective
    >>> from separatrix.penalty import ElasticNet
    >>> from separatrix.verdict.regions.slope import loss_slope
    >>> objective = Objective(
    ...     Dataset.of(np.eye(2), [0, 1]), LOSSES["logistic"], ElasticNet(0.0, 1.0), bias=False
    ... )
    >>> slope = loss_slope(objective, Model.zeros(2, 1, 1), np.zeros(2))
    >>> found = ball(slope, np.array([1.0]))
    >>> found.centre.W.ravel(), found.radius.round(3)
    (array([-0.125,  0.125]), array([[0.177]]))
    """
    strength, f = l2[:, None], factor_columns(factors)
    model, V, axes = slope.model, slope.V, (0,) if slope.apart else (0, 2)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        step = 0.5 * (V / (strength * f**2) + model.W)
        W = model.W - step
        steps, weights = [f * step], [f * model.W]
        b = model.b
        if bias_factor is not None and bias_factor.any():
            own = bias_factor[:, None]
            move = 0.5 * (slope.gb / (strength * own**2) + b)
            steps.append(own * move[None])
            weights.append(own * b[None])
            b = b - move
        length = upper_norm(np.concatenate(steps), axes).reshape(len(l2), -1)
        size = upper_norm(np.concatenate(weights), axes).reshape(len(l2), -1)
        squared = np.square(length) + slope.slack / strength
        lost = 16.0 * UNIT * (length + size)
        radius = (np.sqrt(squared) + slope.error / strength + lost) * (1.0 + rounding_of(8))
    return Ball(Model(W, b), np.where(np.isfinite(radius) & (strength > 0.0), radius, np.inf))


def gap_ball(model: Model, gap: Array, l2: Array) -> Ball:
    """Return the balls |f (w - w*)| <= sqrt(2 gap / l2) around models with a duality gap (B,).

    The objective is strongly convex: it exceeds its minimum by at least l2/2 |f (w - w*)|^2. The
    gap must include its rounding. It proves nothing if l2 is 0.

    >>> gap_ball(Model.zeros(1, 1, 1), np.array([0.02]), np.array([1.0])).radius.round(3)
    array([[0.2]])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.sqrt(2.0 * gap / l2) * (1.0 + rounding_of(4))
    return Ball(model, np.where(np.isfinite(radius) & (l2 > 0.0), radius, np.inf)[:, None])
