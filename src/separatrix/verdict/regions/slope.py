"""Subgradients of the mean loss, with proven bounds on their errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.data import Block
from separatrix.losses import Loss
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, per_model, sum_samples, zero_unweighted
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.recentring import Recentring
from separatrix.verdict.regions.bias import profile_bias, score_gradient
from separatrix.verdict.regions.rounding import (
    LOSS_GRADIENT,
    SMALLEST,
    UNIT,
    rounding_of,
    upper_norm,
)
from separatrix.verdict.regions.rows import (
    RowLengths,
    TrainingRows,
    centred_rows,
    scores_of,
    training_rows,
    training_scores,
)
from separatrix.verdict.regions.softmax_bias import profile_biases


@dataclass(frozen=True)
class Slope:
    """Subgradients of the mean losses of B models, for features with the origin subtracted.

    Attributes
    ----------
    model : W (d, B, K) and b (B, K) for the recentred features; a free bias is (nearly) the best
    V, gb : the subgradient for W (d, B, K) and b (B, K)
    slack : how far the tangent may lie above the loss; (B, K) or (B, 1) as the radius of `Ball`
    error : bound on the length of the error of the subgradient, in the scaled variables
    lost : bound on the error of gb, for each output or as a length
    apart : whether the outputs do not depend on each other
    """

    model: Model
    V: Array
    gb: Array
    slack: Array
    error: Array
    lost: Array
    apart: bool

    def with_l1(self, l1: Array, factors: Array | None) -> Slope:
        """Add the smallest subgradient of the L1 penalties of strengths l1 (B,)."""
        if not l1.any():
            return self
        bound = np.broadcast_to(l1[:, None] * factor_columns(factors), self.V.shape)
        W = self.model.W
        V = self.V + np.where(W == 0.0, np.clip(-self.V, -bound, bound), np.sign(W) * bound)
        size = upper_norm(bound / factor_columns(factors), (0,) if self.apart else (0, 2))
        return replace(self, V=V, error=self.error + 4.0 * UNIT * size.reshape(len(l1), -1))


def loss_slope(
    objective: Objective, model: Model, origin: Array, rows: TrainingRows | None = None
) -> Slope:
    """Return the gradient of the mean loss of a smooth loss with the best free bias.

    It takes three products with X. `model` (float64) is for the features as given. The origin (d,)
    must be 0 unless the bias is free. `rows` are the training rows, if they are known. With several
    outputs that depend on each other and a free bias, what remains of the gradient for the bias is
    not in `error`; see `softmax_bias`.
    """
    data, loss, B = objective.data, objective.loss, model.n_models
    f, apart = objective.penalty.factors, loss.coupling(model.n_outputs) == "none"
    free = has_free_bias(objective, B)
    moved = Recentring(origin, np.full(B, free)).apply(model)
    if rows is None:
        rows = training_rows(data, origin, factor_matrix(f))
    Z = zero_unweighted(training_scores(data, origin, moved.W), rows.s)
    if free and (apart or isinstance(loss, CrossEntropy)):
        improve = profile_bias if apart else profile_biases
        moved = Model(moved.W, improve(loss, rows.y, rows.s, Z, moved.b))
    scale = objective.scale(B)
    (V,) = data.sum_over_blocks(_pull_of_block, origin, moved, loss, scale)
    Z = np.where(rows.s[:, :, None] > 0.0, Z + moved.b, 0.0)
    U = score_gradient(loss, rows.y, Z.copy())
    weights = (rows.s * scale)[:, :, None]
    gb = sum_samples(weights * U)
    off = score_rounding(moved, f, rows.lengths, Z)
    each = weights * error_of_duals(loss, apart, U, off)
    error, lost = sum_samples(each * rows.lengths.given[:, :, None]), sum_samples(each)
    if free and apart:  # moving b to the best one changes the slopes by |gb| in total
        error = error + (np.abs(gb) + lost) * _longest(rows)
    factor = objective.penalty.bias_factor[:, None] * objective.bias
    error = error + np.divide(lost, factor, out=np.zeros(error.shape), where=factor > 0.0)
    grow = 1.0 + 4.0 * rounding_of(data.n_samples)
    return Slope(moved, V, gb, np.zeros_like(error), error * grow, lost * grow, apart)


def _pull_of_block(
    block: Block, origin: Array, model: Model, loss: Loss, scale: Array
) -> tuple[Array]:
    """Return (X - o)^T (s o U) / S, (d, B, K), for the gradient U of the loss."""
    s = per_model(block.weights)[:, :, None]
    scores = np.where(s > 0.0, scores_of(block.X, origin, model.W) + model.b, 0.0)
    U = np.ascontiguousarray(score_gradient(loss, block.y, scores) * (s * scale[:, None]))
    V = np.zeros(model.W.shape)
    for rows in centred_rows(block.X, origin):
        V += rows.transpose_times(U[rows.lines])
    return (V,)


def _longest(rows: TrainingRows) -> Array:
    """Return the largest length (1 or B, 1) of a row with weight."""
    seen = np.where(rows.s > 0.0, rows.lengths.centred, 0.0)
    return np.asarray(seen.max(axis=0)[:, None])


def error_of_duals(loss: Loss, apart: bool, U: Array, off: Array) -> Array:
    """Bound the errors of U (n, B, K) at scores with errors `off`, and of sums of them.

    They are (n, B, K), or the lengths (n, B, 1) unless the outputs are independent (`apart`).
    """
    curvature = loss.curvature_of(U.shape[2])
    assert curvature is not None
    share = LOSS_GRADIENT + rounding_of(2 * len(U))
    if apart:
        return curvature * off + share * np.abs(U) + SMALLEST
    return (curvature * upper_norm(off, 2) + share * upper_norm(U, 2))[:, :, None] + SMALLEST


def has_free_bias(objective: Objective, n_models: int) -> bool:
    """Return whether the bias is trained and not penalised; the same must hold for all models."""
    free = objective.bias & (objective.bias_curvature(n_models) == 0.0)
    if free.any() != free.all():
        raise ValueError("Models with a free and with a penalised bias need separate regions.")
    return bool(free.all())


def score_rounding(model: Model, factors: Array | None, length: RowLengths, Z: Array) -> Array:
    """Bound the rounding errors (n, B, K) of the scores Z of a model."""
    f = factor_columns(factors)
    size = upper_norm(f * model.W, 0)
    share = rounding_of(2 * len(model.W))
    return share * length.given[:, :, None] * size + 4.0 * UNIT * (np.abs(model.b) + np.abs(Z))


def factor_columns(factors: Array | None) -> Array:
    """View factors (d,) or (d, B) so that they broadcast against W (d, B, K)."""
    if factors is None:
        return np.ones((1, 1, 1))
    return factors[:, None, None] if factors.ndim == 1 else factors[:, :, None]


def factor_matrix(factors: Array | None) -> Array | None:
    """Return factors as (d, 1) or (d, B)."""
    return factors[:, None] if factors is not None and factors.ndim == 1 else factors
