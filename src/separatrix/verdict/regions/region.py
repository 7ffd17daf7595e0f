"""The region of the optimum of a fitted model, and what follows for the scores of any rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.recentring import Recentring
from separatrix.verdict.regions.ball import Ball, ball, gap_ball
from separatrix.verdict.regions.bias import bias_interval
from separatrix.verdict.regions.rounding import UNIT
from separatrix.verdict.regions.rows import (
    RowLengths,
    TrainingRows,
    row_lengths,
    scores_of,
    training_rows,
    training_scores,
)
from separatrix.verdict.regions.slope import (
    Slope,
    factor_matrix,
    has_free_bias,
    loss_slope,
    score_rounding,
)
from separatrix.verdict.regions.softmax_bias import bias_movement, lift

TRIALS = (1.1, 2.0, 8.0)  # multiples of the radius without the bias that are tried


@dataclass(frozen=True)
class Region:
    """A set of weights and biases that contains the optimum of each of B models.

    The optimal weights are in the ball. Each optimal bias, for features from which the origin was
    subtracted, is between `low` and `high`. If the outputs depend on each other and the bias is
    free, only differences of biases count: those of the optimum differ from those of the centre by
    at most `pairs`.

    Attributes
    ----------
    ball : centre and radius; the radius is infinite if nothing is proven
    low, high : (B, K)
    pairs : (B, C, C) or None
    origin : (d,)
    factors : factors of the penalty, (d, 1), (d, B) or None
    bias_factor : (B,); a penalised bias is a feature with the value 1 and this factor
    """

    ball: Ball
    low: Array
    high: Array
    pairs: Array | None
    origin: Array
    factors: Array | None
    bias_factor: Array

    def scores(self, X: Matrix) -> tuple[Array, Array]:
        """Return the centre's scores (n, B, K) and the half-widths (n, B, K or 1) of the ball.

        The half-width is that of one score. A difference of two scores that share a ball has sqrt 2
        times this half-width.
        """
        Z = scores_of(X, self.origin, self.ball.centre.W) + self.ball.centre.b
        return Z, self.widths(Z, row_lengths(X, self.origin, self.factors))

    def widths(self, Z: Array, length: RowLengths) -> Array:
        """Return the half-widths (n, B, K or 1) of the centre's scores Z of rows of any length."""
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(self.bias_factor > 0.0, 1.0 / self.bias_factor, 0.0)
            far = np.sqrt(np.square(length.centred) + np.square(more)) * (1.0 + 4.0 * UNIT)
            reach = far[:, :, None] * self.ball.radius
        off = score_rounding(self.ball.centre, self.factors, length, Z)
        if self.ball.radius.shape[1] < Z.shape[2]:
            off = off.max(axis=2, keepdims=True)
        return np.where(np.isnan(reach), np.inf, reach) + off


def optimum_region(
    objective: Objective, model: Model, origin: Array | None = None, gap: Array | None = None
) -> Region | None:
    """Return the region that contains the optima of B models, or None if there is no proof.

    Parameters
    ----------
    objective, model : the objective, and models (float64) near its optimum
    origin : origin of the features (d,) if the bias is free; by default their mean
    gap : duality gaps of the models (B,), including rounding, if they are known

    There is none for a loss that is not convex, and for losses with kinks or other losses whose
    outputs depend on each other if the bias is free; softmax is not one of them.
    """
    B, (_, K) = model.n_models, model.b.shape
    loss, penalty = objective.loss, objective.penalty
    free, apart = has_free_bias(objective, B), loss.coupling(K) == "none"
    if not loss.convex or (free and not apart and not isinstance(loss, CrossEntropy)):
        return None
    if origin is None or not free:
        origin = (
            objective.data.class_shares()[0].sum(axis=2)[:, 0] if free else np.zeros(len(model.W))
        )
    l1, l2 = objective.strengths(B)
    bias_factor = np.broadcast_to(penalty.bias_factor * objective.bias, (B,)).astype(np.float64)
    moved = Recentring(origin, np.full(B, free)).apply(model)
    found = gap_ball(moved, np.full(B, np.inf) if gap is None else gap, l2)
    if apart:
        found = Ball(found.centre, np.repeat(found.radius, K, axis=1))
    f = factor_matrix(penalty.factors)
    rows = training_rows(objective.data, origin, f)
    slope = None
    if loss.smooth:
        slope = loss_slope(objective, model, origin, rows).with_l1(l1, penalty.factors)
        found = ball(slope, l2, penalty.factors, bias_factor).within(found)
    region = Region(
        found,
        found.centre.b,
        found.centre.b,
        None,
        origin,
        f,
        bias_factor,
    )
    if not free:
        return region
    if apart:
        return _with_biases(objective, region, rows)
    return None if slope is None else _with_movement(objective, region, slope, rows)


def _with_biases(objective: Objective, region: Region, rows: TrainingRows) -> Region:
    """Return the region with the intervals of free biases of outputs that do not interact."""
    model = region.ball.centre
    b, Z = model.b, training_scores(objective.data, region.origin, model.W)
    width = region.widths(Z + b, rows.lengths) + 4.0 * UNIT * np.abs(b)
    low, high = bias_interval(objective.loss, rows.y, rows.s, Z - width, Z + width, b)
    return replace(region, low=low, high=high)


def _with_movement(
    objective: Objective, region: Region, slope: Slope, rows: TrainingRows
) -> Region:
    """Return the region with bounds on the differences of the free biases of softmax.

    The biases of the model are not the best ones. What remains of the gradient for the biases, gb,
    moves the optimum. Whatever its ball, a radius t is proven if a slack of |gb|_1 R(t) gives a
    ball smaller than t, where R(t) is the largest movement of the biases.
    """
    B, found, factors = len(region.bias_factor), region.ball, region.factors
    (_, l2), scale, K = objective.strengths(B), objective.scale(B), found.centre.n_outputs
    Z = training_scores(objective.data, region.origin, found.centre.W) + found.centre.b
    off = lift(objective.loss, score_rounding(found.centre, factors, rows.lengths, Z))
    Z = lift(objective.loss, Z)
    left = np.abs(slope.gb).sum(axis=1, keepdims=True) + np.sqrt(K) * slope.lost
    by_gap = found.radius < ball(slope, l2, factors).radius
    radius, pairs = np.full((B, 1), np.inf), np.full((B, Z.shape[2], Z.shape[2]), np.inf)
    for factor in TRIALS:
        tried = np.where(by_gap, found.radius, factor * found.radius)
        move = bias_movement(rows, scale, Z, off, tried[:, 0])
        with np.errstate(invalid="ignore"):
            slack = np.where(left > 0.0, left * move.largest[:, None], 0.0)
        reach = ball(replace(slope, slack=slack), l2, factors).radius
        new = (by_gap | (reach < tried)) & np.isinf(radius) & np.isfinite(move.largest[:, None])
        radius = np.where(new, tried, radius)
        pairs = np.where(new[:, :, None], move.pairs, pairs)
        if np.isfinite(radius).all():
            break
    return replace(region, ball=replace(found, radius=radius), pairs=pairs)
