"""Free biases of softmax: how much they can differ from given ones.

The biases are free, so only their differences count. Let the weights move from the centre of a ball
of radius r to any point of it. The best biases b move along, and with the Hessians H_i of the rows

    sum_i s_i H_i (e_i + b') = 0,    e_i the movement of the scores of row i

The scores of row i move by at most u_i = sqrt(2) r |x_i - o| relative to each other without the
biases, and by R(t) through the biases, where R(t) is the largest difference of movements of two
biases. A Hessian changes by at most the factor exp(of that movement). So R' <= q exp(R), and
R <= -log(1 - q), where q follows from the Hessians at the centre. docs/maths.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.losses import Loss
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.losses.shapes import softmax
from separatrix.matrix import Array, Matrix, per_model, sum_samples
from separatrix.verdict.regions.rounding import LOSS_GRADIENT, SMALLEST, UNIT, rounding_of
from separatrix.verdict.regions.rows import TrainingRows

WORST_CONDITION = 1e-7  # smallest eigenvalue of the Hessian, relative to its trace
NEWTON_STEPS = 8
GROW = 1.0 + 1e-6  # covers the rounding of an inverse of such a Hessian


@dataclass(frozen=True)
class BiasMovement:
    """Bounds on b_j - b_k of the best biases, relative to those of the centre.

    Attributes
    ----------
    pairs : (B, C, C), infinite if there is no bound
    largest : the largest of them (B,)
    """

    pairs: Array
    largest: Array


def bias_movement(
    rows: TrainingRows, scale: Array, scores: Array, rounding: Array, radius: Array
) -> BiasMovement:
    """Return the bounds for all weights in balls of B models.

    Parameters
    ----------
    rows, scale : the training rows, and 1 / S of each model (B,)
    scores : scores of the centres, biases included, for all C classes (n, B, C)
    rounding : bounds on their rounding errors (n, B, C)
    radius : radius of each ball (B,)
    """
    n, B, C = scores.shape
    s, far, off = rows.s * scale, rows.lengths.centred, 2.0 * rounding.max(axis=2)
    H = np.empty((B, C, C))
    with np.errstate(over="ignore", invalid="ignore"):
        P = softmax(scores)[0]
        moved = np.sqrt(2.0) * radius * far + off
        own = per_model(rows.y)[:, :, None] == np.arange(C)
        wrong = np.where(own, 0.0, P)
        U = np.where(own, -wrong.sum(axis=2, keepdims=True), wrong)
        slope = sum_samples(s[:, :, None] * U)
        share = LOSS_GRADIENT + rounding_of(2 * n)
        lost = sum_samples(s * (share * np.abs(U).sum(axis=2) + off))
        largest = (2.0 * P * (1.0 - P)).max(axis=2)
        energy = np.sqrt(sum_samples(s * np.exp(moved) * largest * np.square(radius * far)))
        h = s * np.exp(-moved)
        for m in range(B):
            H[m] = _hessian(np.ascontiguousarray(P[:, m]), np.ascontiguousarray(h[:, m]))
        found = [_bounds(H[m], energy[m], slope[m], lost[m], rounding_of(4 * n)) for m in range(B)]
    return BiasMovement(
        np.array([pairs for pairs, _ in found]), np.array([most for _, most in found])
    )


def profile_biases(loss: Loss, y: Array, s: Array, Z: Array, b: Array) -> Array:
    """Improve the biases b (B, K) of softmax for scores Z (n, B, K) without the biases.

    Newton's method; a step that does not lower the gradient is not taken.
    """
    out = b.copy()
    for m in range(len(b)):
        labels = y if y.ndim == 1 else np.ascontiguousarray(y[:, m])
        weights = np.ascontiguousarray(s[:, m if s.shape[1] > 1 else 0])
        total, own = max(float(weights.sum()), SMALLEST), Z[:, m : m + 1]
        best = _bias_gradient(loss, labels, weights / total, own, b[m])
        for _ in range(NEWTON_STEPS):
            P = softmax(lift(loss, own + out[m]))[0][:, 0]
            H = _hessian(np.ascontiguousarray(P), weights / total)[-len(best) :, -len(best) :]
            ahead = out[m] - np.linalg.pinv(H, rcond=1e-12, hermitian=True) @ best
            found = _bias_gradient(loss, labels, weights / total, own, ahead)
            if not np.abs(found).sum() < np.abs(best).sum():
                break
            out[m], best = ahead, found
    return out


def lift(loss: Loss, Z: Array) -> Array:
    """Return the scores of all classes: a reference class has the score 0."""
    lifted = isinstance(loss, CrossEntropy) and loss.outputs == "all but the first"
    return np.concatenate([np.zeros_like(Z[:, :, :1]), Z], axis=2) if lifted else Z


def _bias_gradient(loss: Loss, y: Array, s: Array, Z: Array, b: Array) -> Array:
    return sum_samples(s[:, None, None] * loss.gradient(y, Z + b))[0]


def _hessian(P: Array, h: Array) -> Array:
    """Return sum_i h_i (diag(p_i) - p_i p_i^T)."""
    products = Matrix(P).gram(h[:, None])[0, :-1, :-1]
    # Differences of large numbers would lose digits: the rows of the Hessian sum to 0.
    np.fill_diagonal(products, 0.0)
    return np.diag(products.sum(axis=1)) - products


def _bounds(
    H: Array, energy: float, slope: Array, lost: float, rounding: float
) -> tuple[Array, float]:
    """Return the bounds on the movements of pairs (C, C) and the largest one."""
    C = len(H)
    none = np.full((C, C), np.inf), np.inf
    if not (np.isfinite(H).all() and np.isfinite(energy) and np.isfinite(slope).all()):
        return none
    trace = float(np.trace(H))
    values, vectors = np.linalg.eigh(H[1:, 1:])  # the movement of the first bias is 0
    off = (rounding + 256.0 * C * UNIT) * trace
    values = values - off
    if not values.min() > WORST_CONDITION * trace:
        return none
    inverse = np.zeros((C, C))
    inverse[1:, 1:] = (vectors / values) @ vectors.T
    each = np.diag(inverse)
    squares = each[:, None] + each - 2.0 * inverse
    pairs = np.sqrt(np.maximum(squares, 0.0) + 1e-12 * (each[:, None] + each)) * GROW
    np.fill_diagonal(pairs, 0.0)
    most = float(pairs.max())
    imbalance = float(np.sqrt(np.maximum(slope @ inverse @ slope, 0.0))) * GROW + 0.5 * most * lost
    q = most * (energy * GROW + imbalance)
    if not q < 1.0:
        return none
    largest = -np.log1p(-q) * GROW
    return pairs * (largest / most), largest
