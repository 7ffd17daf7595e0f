"""The unpenalised bias: its value for given weights, and an interval for it.

For given scores without a bias the best bias solves

    F(b) = sum_i s_i loss'(y_i, z_i + b) = 0

Losses are convex, so loss' and F increase. If all z_i rise, F rises and its root falls. So for
scores between low_i and high_i the root lies between the roots for `high` and for `low`.

All functions need outputs that do not depend on each other (`loss.coupling` "none").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import separatrix._core as _core
from separatrix.losses import Loss
from separatrix.matrix import Array, per_model, sum_samples
from separatrix.verdict.regions.rounding import LOSS_GRADIENT, SMALLEST, UNIT, rounding_of

MOST_STEPS = 60
SECANT_STEPS = 12
CLOSE = 0.02  # the ends may be this fraction of the interval too far out
NUDGE = 0.02


def profile_bias(loss: Loss, y: Array, s: Array, Z: Array, b: Array) -> Array:
    """Improve the biases b (B, K) of a smooth loss for scores Z (n, B, K) without the bias.

    The secant method, which needs no second derivatives. The first slope is the largest possible,
    so that the first step is too short rather than too long. A step that does not lower |F| is not
    taken. What remains of F is accounted for by `loss_slope`.
    """
    weights = per_model(s)[:, :, None]
    curvature = loss.curvature_of(1)
    assert curvature is not None

    def total(b: Array) -> tuple[Array, Array]:
        terms = weights * score_gradient(loss, y, Z + b)
        return sum_samples(terms), sum_samples(np.abs(terms))

    value, size = total(b)
    slope = np.broadcast_to(curvature * sum_samples(weights), b.shape)
    for _ in range(SECANT_STEPS):
        if (np.abs(value) <= 8.0 * UNIT * size).all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ahead = b - np.where(slope > 0.0, value / slope, 0.0)
            found, size = total(ahead)
            steepness = (found - value) / (ahead - b)
        slope = np.where(np.isfinite(steepness) & (steepness > 0.0), steepness, slope)
        better = np.abs(found) < np.abs(value)
        if not better.any():
            break
        b, value = np.where(better, ahead, b), np.where(better, found, value)
    return b


def score_gradient(loss: Loss, y: Array, Z: Array) -> Array:
    """Return the gradient of each row's loss with respect to its scores Z (n, B, K).

    Z may be overwritten. Kernels are an order of magnitude faster than numpy.
    """
    if not loss.compiled:
        return loss.gradient(y, Z)
    Z, nothing = np.ascontiguousarray(Z, np.float64), np.empty(Z.shape[:2])
    labels = np.ascontiguousarray(y, np.int32)
    ones = np.ones(Z.shape[1])
    _core.loss_values(
        loss.native_code, loss.margin, labels, None, ones, Z, nothing, np.empty_like(nothing)
    )
    return Z


def bias_interval(
    loss: Loss, y: Array, s: Array, low: Array, high: Array, guess: Array
) -> tuple[Array, Array]:
    """Return lower and upper bounds (B, K) on the best bias for scores between `low` and `high`.

    Parameters
    ----------
    loss, y, s : the loss, class numbers and weights of the rows
    low, high : bounds (n, B, K) on the scores without the bias
    guess : biases (B, K) in or near the interval

    An end is infinite if there is no bound, for example if all rows are of one class.

    >>> from separatrix.losses import LOSSES
    >>> z = np.array([0.0, 0.0]).reshape(2, 1, 1)
    >>> low, high = bias_interval(
    ...     LOSSES["logistic"], np.array([0, 1]), np.ones(2), z - 0.1, z + 0.1, np.zeros((1, 1))
    ... )
    >>> low.round(2).item(), high.round(2).item()
    (-0.1, 0.1)
    """
    weights = per_model(s)[:, :, None]
    low, high = (np.where(weights > 0.0, Z, 0.0) for Z in (low, high))
    total = np.broadcast_to(sum_samples(weights), guess.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        width = sum_samples(weights * (0.5 * (high - low))) / np.where(total > 0.0, total, 1.0)
    step = np.where(np.isfinite(width), width, 1.0) + 8.0 * UNIT * (1.0 + np.abs(guess))

    def above(b: Array) -> Array:
        return _bound_of_sum(loss, y, weights, high, b, 1.0)

    def below(b: Array) -> Array:
        return -_bound_of_sum(loss, y, weights, low, -b, -1.0)

    return _largest_below_zero(above, guess, step), -_largest_below_zero(below, -guess, step)


def _bound_of_sum(loss: Loss, y: Array, weights: Array, Z: Array, b: Array, side: float) -> Array:
    """Return an upper (side 1) or lower (side -1) bound on F(b), including rounding."""
    scores = Z + b
    # The loss may subtract the score from its margin 1. F increases, so a score may be moved.
    scores += side * 4.0 * UNIT * (1.0 + np.abs(scores))
    terms = weights * score_gradient(loss, y, scores)
    size = sum_samples(np.abs(terms))
    off = (rounding_of(len(Z)) + LOSS_GRADIENT) * size + SMALLEST * sum_samples(weights)
    return sum_samples(terms) + side * off


def _largest_below_zero(f: Callable[[Array], Array], guess: Array, step: Array) -> Array:
    """Return points (B, K) close to the root of f, an increasing function, where f < 0 for certain.

    -inf where no such point is found.
    """
    step, allowed = step.copy(), CLOSE * step
    inside, outside = np.full_like(guess, -np.inf), np.full_like(guess, np.inf)
    inner, outer = np.full_like(guess, np.nan), np.full_like(guess, np.nan)
    b = guess - step
    for step_number in range(MOST_STEPS):
        even = step_number % 2 == 0
        value = f(b)
        negative = value < 0.0
        nearer = negative & (b > inside)
        inside, inner = np.where(nearer, b, inside), np.where(nearer, value, inner)
        nearer = ~negative & (b < outside)
        outside, outer = np.where(nearer, b, outside), np.where(nearer, value, outer)
        started, bracketed = np.isfinite(inside), np.isfinite(outside)
        open_ = ~(started & bracketed & (outside - inside <= allowed + 8.0 * UNIT * np.abs(inside)))
        if not open_.any() or not np.isfinite(b).all():
            break
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = inner / (inner - outer)  # of the way from `inside` to the root
            # Alternately just before and just behind the root, so that both ends approach it.
            share = share + (NUDGE if even else -NUDGE)
            share = np.where(np.isfinite(share), np.clip(share, NUDGE, 1.0 - NUDGE), 0.5)
            between = inside + share * (outside - inside)
            step = np.where(started & bracketed, step, 4.0 * step)
            b = np.where(
                started & bracketed, between, np.where(started, inside + step, outside - step)
            )
    return inside
