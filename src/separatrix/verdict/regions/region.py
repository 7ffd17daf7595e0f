"""The region of the optimum of a fitted model, and what follows for the scores of any rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix, per_model
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.recentring import Recentring
from separatrix.verdict.regions.ball import Ball, ball, gap_ball
from separatrix.verdict.regions.bias import bias_interval
from separatrix.verdict.regions.rounding import UNIT
from separatrix.verdict.regions.rows import RowLengths, row_lengths
from separatrix.verdict.regions.slope import (
    Slope,
    factor_matrix,
    has_free_bias,
    loss_slope,
    score_rounding,
    scores_of,
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

    def scores(self, X: Matrix, length: RowLengths | None = None) -> tuple[Array, Array]:
        """Return the centre's scores (n, B, K) and the half-widths (n, B, K or 1) of the ball.

        The half-width is that of one score. A difference of two scores that share a ball has sqrt 2
        times this half-width.
        """
        model, B = self.ball.centre, len(self.bias_factor)
        Z = scores_of(X, self.origin, model.W)
        if length is None:
            length = row_lengths(X, self.origin, self.factors)
        far = np.broadcast_to(length.centred, (len(Z), B))
        with np.errstate(divide="ignore"):
            more = np.where(self.bias_factor > 0.0, 1.0 / self.bias_factor, 0.0)
        far = np.sqrt(np.square(far) + np.square(more)) * (1.0 + 4.0 * UNIT)
        Z = Z + model.b
        off = score_rounding(model, self.factors, length, Z)
        with np.errstate(invalid="ignore"):
            reach = np.where(far > 0.0, far, 0.0)[:, :, None] * self.ball.radius
        if self.ball.radius.shape[1] < Z.shape[2]:
            off = off.max(axis=2, keepdims=True)
        return Z, np.where(np.isnan(reach), np.inf, reach) + off


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
    lengths = [row_lengths(block.X, origin, f) for block in objective.data.blocks()]
    slope = None
    if loss.smooth:
        slope = loss_slope(objective, model, origin, lengths).with_l1(l1, penalty.factors)
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
        return _with_biases(objective, region, lengths)
    return None if slope is None else _with_movement(objective, region, slope, lengths)


def _with_biases(objective: Objective, region: Region, lengths: Sequence[RowLengths]) -> Region:
    """Return the region with the intervals of free biases of outputs that do not interact."""
    blocks, b = list(objective.data.blocks()), region.ball.centre.b
    B = len(b)
    y = np.concatenate([np.broadcast_to(per_model(k.y), (len(k.y), B)) for k in blocks])
    s = np.concatenate([np.broadcast_to(per_model(k.weights), (len(k.y), B)) for k in blocks])
    parts = [region.scores(block.X, length) for block, length in zip(blocks, lengths)]
    Z = np.concatenate([z for z, _ in parts]) - b
    width = np.concatenate([w for _, w in parts])
    # A score may have lost digits beside the bias, which is added again.
    width = width + 4.0 * UNIT * np.abs(b)
    low, high = bias_interval(objective.loss, y, s, Z - width, Z + width, b)
    return replace(region, low=low, high=high)


def _with_movement(
    objective: Objective, region: Region, slope: Slope, lengths: Sequence[RowLengths]
) -> Region:
    """Return the region with bounds on the differences of the free biases of softmax.

    The biases of the model are not the best ones. What remains of the gradient for the biases, gb,
    moves the optimum. Whatever its ball, a radius t is proven if a slack of |gb|_1 R(t) gives a
    ball smaller than t, where R(t) is the largest movement of the biases.
    """
    blocks, B = list(objective.data.blocks()), len(region.bias_factor)
    (_, l2), scale, factors = objective.strengths(B), objective.scale(B), region.factors
    found, K = region.ball, region.ball.centre.n_outputs
    Z = [scores_of(block.X, region.origin, found.centre.W) + found.centre.b for block in blocks]
    off = [score_rounding(found.centre, factors, size, z) for size, z in zip(lengths, Z)]
    lifted = [lift(objective.loss, z) for z in Z], [lift(objective.loss, e) for e in off]
    left = np.abs(slope.gb).sum(axis=1, keepdims=True) + np.sqrt(K) * slope.lost
    by_gap = found.radius < ball(slope, l2, factors).radius
    C = lifted[0][0].shape[2]
    radius, pairs = np.full((B, 1), np.inf), np.full((B, C, C), np.inf)
    for factor in TRIALS:
        tried = np.where(by_gap, found.radius, factor * found.radius)
        move = bias_movement(
            blocks, scale, *lifted, [size.centred for size in lengths], tried[:, 0]
        )
        with np.errstate(invalid="ignore"):
            slack = np.where(left > 0.0, left * move.largest[:, None], 0.0)
        reach = ball(replace(slope, slack=slack), l2, factors).radius
        new = (by_gap | (reach < tried)) & np.isinf(radius) & np.isfinite(move.largest[:, None])
        radius = np.where(new, tried, radius)
        pairs = np.where(new[:, :, None], move.pairs, pairs)
        if np.isfinite(radius).all():
            break
    return replace(region, ball=replace(found, radius=radius), pairs=pairs)
