"""Subgradients of the mean loss, with proven bounds on their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.data import Block
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix, per_model, sum_samples, zero_unweighted
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
from separatrix.verdict.regions.rows import RowLengths, centred_rows, row_lengths
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
    objective: Objective, model: Model, origin: Array, lengths: Sequence[RowLengths] | None = None
) -> Slope:
    """Return the gradient of the mean loss of a smooth loss with the best free bias.

    It takes two products with X. `model` (float64) is for the features as given. The origin (d,)
    must be 0 unless the bias is free. `lengths` are those of the rows of every block, if known.
    With several outputs that depend on each other and a free bias, what remains of the gradient for
    the bias is not in `error`; see `softmax_bias`.
    """
    data, loss, B = objective.data, objective.loss, model.n_models
    f, apart = objective.penalty.factors, loss.coupling(model.n_outputs) == "none"
    free = has_free_bias(objective, B)
    moved = Recentring(origin, np.full(B, free)).apply(model)
    blocks = list(data.blocks())
    if lengths is None:
        lengths = [row_lengths(block.X, origin, factor_matrix(f)) for block in blocks]
    Z = [scores_of(block.X, origin, moved.W) for block in blocks]
    if free and (apart or isinstance(loss, CrossEntropy)):
        y = np.concatenate([np.broadcast_to(per_model(k.y), (len(k.y), B)) for k in blocks])
        s = np.concatenate([np.broadcast_to(per_model(k.weights), (len(k.y), B)) for k in blocks])
        together = zero_unweighted(np.concatenate(Z), s)
        improve = profile_bias if apart else profile_biases
        moved = Model(moved.W, improve(loss, y, s, together, moved.b))
    sums = _Sums(objective, moved, apart)
    for block, z, length in zip(blocks, Z, lengths):
        sums.add(block, origin, z, length)
    error = sums.error
    if free and apart:  # moving b to the best one changes the slopes by |gb| in total
        error = error + (np.abs(sums.gb) + sums.lost) * sums.longest
    factor = objective.penalty.bias_factor[:, None] * objective.bias
    error = error + np.divide(sums.lost, factor, out=np.zeros((B, 1)) * error, where=factor > 0.0)
    grow = 1.0 + 4.0 * rounding_of(data.n_samples)
    none = np.zeros_like(error)
    return Slope(moved, sums.V, sums.gb, none, error * grow, sums.lost * grow, apart)


class _Sums:
    """The sums over the rows that make a slope."""

    def __init__(self, objective: Objective, model: Model, apart: bool) -> None:
        B, K = model.b.shape
        self.objective, self.model, self.apart = objective, model, apart
        self.V, self.gb = np.zeros(model.W.shape), np.zeros(model.b.shape)
        self.error = np.zeros((B, K if apart else 1))  # of V, as a length
        self.lost = np.zeros_like(self.error)  # of gb
        self.longest = np.zeros((B, 1))

    def add(self, block: Block, origin: Array, z: Array, length: RowLengths) -> None:
        loss, scale = self.objective.loss, self.objective.scale(self.model.n_models)
        s = per_model(block.weights)[:, :, None]
        scores = np.where(s > 0.0, z + self.model.b, 0.0)
        U = np.where(s > 0.0, score_gradient(loss, block.y, scores.copy()), 0.0)
        weighted = np.ascontiguousarray(U * (s * scale[:, None]))
        for rows in centred_rows(block.X, origin):
            self.V += rows.transpose_times(weighted[rows.lines])
        self.gb += sum_samples(weighted)
        off = score_rounding(self.model, self.objective.penalty.factors, length, scores)
        lost = self._error_of_duals(U, off) * (s * scale[:, None])
        self.error += sum_samples(lost * length.given[:, :, None])
        self.lost += sum_samples(lost)
        seen = np.where(s[:, :, 0] > 0.0, length.centred, 0.0)
        self.longest = np.maximum(self.longest, seen.max(axis=0)[:, None])

    def _error_of_duals(self, U: Array, off: Array) -> Array:
        """Bound the errors of U (n, B, K or 1) at scores with errors `off`, and of its sums."""
        curvature = self.objective.loss.curvature_of(U.shape[2])
        assert curvature is not None
        share = LOSS_GRADIENT + rounding_of(2 * self.objective.data.n_samples)
        if self.apart:
            return curvature * off + share * np.abs(U) + SMALLEST
        return (curvature * upper_norm(off, 2) + share * upper_norm(U, 2))[:, :, None] + SMALLEST


def has_free_bias(objective: Objective, n_models: int) -> bool:
    """Return whether the bias is trained and not penalised; the same must hold for all models."""
    free = objective.bias & (objective.bias_curvature(n_models) == 0.0)
    if free.any() != free.all():
        raise ValueError("Models with a free and with a penalised bias need separate regions.")
    return bool(free.all())


def scores_of(X: Matrix, origin: Array, W: Array) -> Array:
    """Return (X - o) W, (n, B, K), of all rows."""
    return np.concatenate([rows.scores(W) for rows in centred_rows(X, origin)])


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
