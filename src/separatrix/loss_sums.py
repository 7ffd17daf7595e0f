"""Block functions of a loss: its value, its hits and its gradient, for B models in one pass."""

from __future__ import annotations

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.losses import Loss
from separatrix.matrix import Array, per_model, sum_samples, zero_unweighted, zeros
from separatrix.model import Model


def loss_and_hits(block: Block, loss: Loss, model: Model, scale: Array) -> tuple[Array, Array]:
    """Return sums over a block: s loss (B,) and s correct (B,)."""
    value, hits, *_ = _sums(block, loss, model, scale, False, None)
    return value, hits


def loss_and_gradient(
    block: Block, loss: Loss, model: Model, scale: Array, seen: Array | None = None
) -> tuple[Array, ...]:
    """Return the same sums, and the gradient of the loss times `scale`: (d, B, K) and (B, K).

    The scores are written to `seen` (n, B, K), if given.
    """
    return _sums(block, loss, model, scale, True, seen)


def loss_gradient(block: Block, loss: Loss, model: Model) -> Array:
    """Return the gradient of each row's loss with respect to its scores, (n, B, K)."""
    return score_gradient(block, loss, model.scores(block.X))


def score_gradient(block: Block, loss: Loss, Z: Array) -> Array:
    """Return the same from the scores (n, B, K), which may be overwritten."""
    if not loss.compiled:
        return loss.gradient(block.y, Z)
    value, hits = np.empty(Z.shape[:2]), np.empty(Z.shape[:2])
    ones = np.ones(Z.shape[1])
    _core.loss_values(loss.native_code, loss.margin, block.y, None, ones, Z, value, hits)
    return Z


def sum_of_class_values(block: Block, each: Array) -> tuple[Array]:
    """Return the weighted sum of a value (C,) or (C, B) that depends on the class only."""
    return (sum_samples(per_model(block.weights) * per_model(each[block.y])),)


def _sums(
    block: Block, loss: Loss, model: Model, scale: Array, gradient: bool, seen: Array | None
) -> tuple[Array, ...]:
    if not loss.compiled:
        return _reference_sums(block, loss, model, scale, gradient)
    B = model.n_models
    value, hits, gb = np.zeros(B), np.zeros(B), np.zeros(model.b.shape)
    GW = zeros(model.W.shape, model.W.dtype) if gradient else None
    _core.value_gradient(
        block.X.for_transpose(model.b.size) if gradient else block.X.for_scores(model.b.size),
        block.y,
        block.s,
        scale,
        loss.native_code,
        loss.margin,
        model.W,
        model.b,
        value,
        hits,
        GW,
        gb,
        block.weight_column,
        seen,
    )
    return (value, hits) if GW is None else (value, hits, GW, gb)


def _reference_sums(
    block: Block, loss: Loss, model: Model, scale: Array, gradient: bool
) -> tuple[Array, ...]:
    """Return the same sums in numpy, for a loss that has no kernel."""
    s, y = per_model(block.weights), per_model(block.y)
    Z = zero_unweighted(model.scores(block.X), s)
    value = sum_samples(s * loss.value(block.y, Z))
    hits = sum_samples(s * (loss.predict(Z) == y))
    if not gradient:
        return value, hits
    U = loss.gradient(block.y, Z) * (s * scale)[:, :, None]
    U = U.astype(model.W.dtype, copy=False)
    return value, hits, block.X.transpose_times(U), sum_samples(U)
