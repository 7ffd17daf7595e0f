"""What a pass and a step compute from the scores and the weights, as pure functions of tensors.

They write into none of their arguments, so that PyTorch can compile each into a few kernels.

    Z (n, B, K) scores    y (n,) or (n, B) labels     s (n, 1) or (n, B) weights, None for ones
    W (d, B, K) weights   G (d, B, K) their gradient  f (d, 1 or B, 1) penalty factors, or 1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from separatrix.device.torch_device import Tensor
from separatrix.losses import Loss
from separatrix.losses.shapes import at_true, true_class

DEVICE_RULES = ("plain", "momentum", "nesterov", "adam")


def sums_of_rows(xp: ModuleType, loss: Loss, y: Tensor, Z: Tensor, s: Tensor | None) -> Tensor:
    """Return the sums of s loss and of s correct over the rows, (2, B) in float64."""
    Z = _weighted_only(xp, Z, s)
    value, right = loss.value(y, Z, xp=xp), _is_right(xp, loss, y, Z)
    if s is not None:
        value, right = s * value, s * right
    sums = (xp.sum(each, axis=0, dtype=xp.float64) for each in (value, right))
    return xp.stack(list(sums))


def sums_and_duals(
    xp: ModuleType, loss: Loss, y: Tensor, Z: Tensor, s: Tensor | None, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same sums, and the gradient s dloss/dz times a scale (B,) for each model."""
    Z = _weighted_only(xp, Z, s)
    share = scale[None, :] if s is None else (s * scale[None, :]).to(Z.dtype)
    U = loss.gradient(y, Z, xp=xp) * share[:, :, None]
    return sums_of_rows(xp, loss, y, Z, s), U


def penalty_and_slope(
    xp: ModuleType, W: Tensor, G: Tensor, f: Any, l1: Tensor, l2: Tensor
) -> Tensor:
    """Return the penalty and the square of the smallest subgradient's norm, (2, B) in float64.

    The penalty of a model whose weights are not finite is NaN, because it has diverged.
    """
    l1, l2 = l1[None, :, None], l2[None, :, None]
    W, G = W.to(xp.float64), G.to(xp.float64)
    V = f * W
    slope = G + l2 * f * V + l1 * f * xp.sign(W)
    slope = xp.where(W == 0.0, xp.clip(xp.abs(G) - l1 * f, 0.0, None), slope)
    terms = l1 * xp.abs(V) + 0.5 * l2 * V * V + 0.0 * W
    return xp.stack(
        [xp.sum(each, axis=(0, 2), dtype=xp.float64) for each in (terms, slope * slope)]
    )


class Part(NamedTuple):
    """The weights or the biases of a step, their slots and their gradient."""

    values: Tensor
    slots: Sequence[Tensor]
    gradient: Tensor


class RuleParameters(NamedTuple):
    """The parameters of a step: tensors (B, 1), and Adam's numbers.

    `corrections` are 1 / (1 - b1^t) and 1 / (1 - b2^t), and `rule` is one of DEVICE_RULES.
    """

    rule: str
    rate: Tensor
    momentum: Tensor
    l1: Tensor
    l2: Tensor
    betas: tuple[float, float]
    corrections: Tensor
    epsilon: float


def take_step(
    xp: ModuleType, p: RuleParameters, W: Part, b: Part | None, f: Any
) -> tuple[list[Tensor], list[Tensor]]:
    """Return weights and biases after a step along the gradient of the loss, each with its slots.

    Biases have no penalty here: their gradient contains it. None leaves them as they are.
    """
    w = f * W.values
    w, *slots = _moved(xp, p, w, W.slots, W.gradient / f + p.l2 * w)
    moved = [w / f, *slots]
    if b is None:
        return moved, []
    free = p._replace(l1=0.0 * p.l1)
    return moved, list(_moved(xp, free, b.values, b.slots, b.gradient))


def _moved(
    xp: ModuleType, p: RuleParameters, w: Tensor, slots: Sequence[Tensor], g: Tensor
) -> tuple[Tensor, ...]:
    """Return the same in the scaled variables, with the gradient of loss and L2 term."""
    if p.rule == "adam":
        m, s = slots
        m = p.betas[0] * m + (1.0 - p.betas[0]) * g
        s = p.betas[1] * s + (1.0 - p.betas[1]) * g * g
        metric = p.rate / (xp.sqrt(s * p.corrections[1]) + p.epsilon)
        return _soft_threshold(xp, w - metric * (m * p.corrections[0]), metric * p.l1), m, s
    if p.rule == "momentum":
        move = p.momentum * slots[0] - p.rate * g
        u = _soft_threshold(xp, w + move, p.rate * p.l1)
        return u, xp.where(p.l1 > 0.0, u - w, move)
    u = _soft_threshold(xp, w - p.rate * g, p.rate * p.l1)
    return (u,) if p.rule == "plain" else (u + p.momentum * (u - slots[0]), u)


def _soft_threshold(xp: ModuleType, x: Tensor, t: Tensor) -> Tensor:
    """Return sign(x) max(|x| - t, 0), and NaN for NaN."""
    return x - xp.minimum(xp.maximum(x, -t), t)


def _weighted_only(xp: ModuleType, Z: Tensor, s: Tensor | None) -> Tensor:
    """Return Z with 0 in rows without weight, where Z may be infinite."""
    return Z if s is None else xp.where(s[:, :, None] > 0.0, Z, 0.0)


def _is_right(xp: ModuleType, loss: Loss, y: Tensor, Z: Tensor) -> Tensor:
    """Return 1 where the predicted class is the true one, in the type of Z."""
    ones = xp.ones_like(Z[:, :, 0])
    if Z.shape[2] == 1 or loss.coupling(Z.shape[2]) == "full":
        labels = y[:, None] if y.ndim == 1 else y
        return xp.where(loss.predict(Z, xp=xp) == labels, ones, 0.0)
    # Whether no other score comes first: a sum is faster than the place of a maximum.
    own, labels = true_class(y, Z, xp), y[:, None, None] if y.ndim == 1 else y[:, :, None]
    before = xp.arange(Z.shape[2], device=Z.device) < labels
    true = at_true(Z, own, xp)
    higher = (true < Z) | (before & (true == Z))
    finite = xp.isfinite(true)[:, :, 0]
    return xp.where(finite & (xp.where(higher, 1.0, 0.0).sum(axis=2) == 0.0), ones, 0.0)
