"""Logistic, softmax, softmax with a reference class, and the squared error on a sigmoid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

import separatrix._core as _core
from separatrix.losses.balance import tilts
from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, class_probabilities, fill_true_class, softmax
from separatrix.matrix import Array, per_model, pick_models

# Number of classes from which duals are tilted, largest number of tilts, and the imbalance, as a
# fraction of all flows, at which tilting stops.
MANY_CLASSES, MOST_TILTS, BALANCED = 32, 4, 1e-5
LEAST_TILT = 0.5  # fraction to which a tilt must reduce the imbalance to be kept


@dataclass(frozen=True)
class CrossEntropy(ClassDifferences):
    """Logistic, softmax and softmax with a reference class.

        loss(y, z) = log sum_j exp(z_j) - z_y,    gradient p - e_y,    p = softmax(z)

    With one output, or a reference class, the first score is 0: log(1 + exp(-ty z)). Conjugate:
    sum_j p_j log p_j for p = U + e_y in the simplex. The second derivative along v is the variance
    of v under p, at most (max v - min v)^2 / 4. This is 1/2 for a unit vector v, and 1/4 for one
    output beside a fixed 0.
    """

    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        return 0.25 if n_outputs == 1 and self.outputs != "all" else 0.5

    def probabilities(self, Z: Array) -> Array | None:
        return class_probabilities(Z, self._is_lifted(Z))

    def tilts(self, n_outputs: int) -> bool:
        """Return whether duals are tilted before they are balanced: with many classes."""
        return n_outputs >= MANY_CLASSES and self.outputs != "all but the first"

    def _tilted(self, y: Array, s: Array, U: Array, A: Array) -> tuple[Array, Array]:
        """Return the duals of shifted scores, p_j exp(x_j) / sum, which stay in the simplex.

        Little is left to balance by shrinking. Shrinking alone reduces all classes to the level of
        the most unbalanced one, which is costly with a thousand classes.
        """
        if not self.tilts(U.shape[2]):
            return U, A
        parts = [_tilt(*_of_model(b, y, s, U), A[b : b + 1]) for b in range(U.shape[1])]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([u for u, _ in parts], axis=1), np.concatenate([a for _, a in parts])

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        top, true, rest, _ = _exponentials(Z, own, xp)
        # log1p keeps the digits of a loss far below 1.
        far = xp.log(rest + xp.exp(true - top)) + (top - true)
        return xp.where(true == top, xp.log1p(rest), far)[:, :, 0]

    def _gradient(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        top, true, rest, E = _exponentials(Z, own, xp)
        return xp.where(own, -rest, E) / (rest + xp.exp(true - top))

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return softmax(Z, xp)[0]

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        P, _ = softmax(Z, xp)
        return P * (V - (P * V).sum(axis=2, keepdims=True))

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        return flows.sum(axis=2)

    def _conjugate(self, flows: Array, xp: ModuleType) -> Array:
        rest = xp.clip(1.0 - flows.sum(axis=2), 0.0, None)
        return _entropy(flows, xp).sum(axis=2) + _entropy(rest, xp)


@dataclass(frozen=True)
class SigmoidSquared(ClassDifferences):
    """Squared error of a sigmoid: not convex, included to show why it is not used.

        loss(y, z) = (y - sigma(z))^2 / 2 = r^2 / 2,    r = sigma(-ty z)

    First derivative -ty r^2 (1 - r), second r^2 (1 - r) (2 - 3 r), which is negative for r > 2/3.
    The stationary points of the second derivative solve 12 r^2 - 15 r + 4 = 0. The one at
    (15 - sqrt 33) / 24 has the larger modulus (0.0770 against 0.0601), which is the curvature.
    """

    convex: bool = False
    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        r = (15.0 - math.sqrt(33.0)) / 24.0
        return r * r * (1.0 - r) * (2.0 - 3.0 * r)

    def conjugate(self, y: Array, U: Array, *, xp: ModuleType = np) -> Array:
        raise ValueError(
            f"Loss '{self.name}' has no conjugate and no duality gap, because it is not convex. "
            "Judge its fits by the gradient norm, or use 'logistic'."
        )

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        return self.conjugate(y, U)

    def probabilities(self, Z: Array) -> Array | None:
        return class_probabilities(Z, self._is_lifted(Z))

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        miss = xp.where(own, 0.0, softmax(Z, xp)[0])
        return 0.5 * xp.square(miss).sum(axis=2)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        miss = softmax(Z, xp)[0]
        return miss**2 * at_true(miss, own, xp)

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        miss = softmax(Z, xp)[0]
        second = miss**2 * at_true(miss, own, xp) * (2.0 - 3.0 * miss)
        return fill_true_class(second * (V - at_true(V, own, xp)), own, xp)


@np.errstate(all="ignore")
def _tilt(y: Array, s: Array, U: Array, A: Array) -> tuple[Array, Array]:
    """Return more balanced duals and their flows, of one model: y (n,), s (n,), U (n, 1, C)."""
    off = imbalance(A)[0]
    for _ in range(MOST_TILTS):
        if off <= BALANCED:
            break
        moved, flows = tilt(y, U, tilts(A)), np.zeros(A.shape)
        _core.class_pair_sums(False, y, s, moved, flows)
        before, off = off, imbalance(flows)[0]
        if not off < LEAST_TILT * before:
            break
        U, A = moved, flows
    return U, A


def _exponentials(Z: Array, own: Array, xp: ModuleType) -> tuple[Array, Array, Array, Array]:
    """Return the highest score and that of the true class, and the exponentials E of Z - highest.

    Each is (n, B, 1). Before E (n, B, C) comes its sum over the wrong classes.
    """
    top, true = xp.amax(Z, axis=2)[:, :, None], at_true(Z, own, xp)
    E = xp.exp(Z - top)
    return top, true, xp.where(own, 0.0, E).sum(axis=2, keepdims=True), E


def _entropy(p: Array, xp: ModuleType) -> Array:
    """Return p log p, which is 0 at 0."""
    return p * xp.log(xp.where(p > 0.0, p, 1.0))


@np.errstate(all="ignore")
def tilt(y: Array, U: Array, x: Array) -> Array:
    """Return the duals U (n, B, C) of a softmax whose scores are shifted by x (B, C).

    A model whose shifts are all 0 keeps its duals.
    """
    some = np.flatnonzero(x.any(axis=1))
    if len(some) < len(x):
        out = U.copy()
        if len(some):
            own = y if y.ndim == 1 else pick_models(y, some)
            out[:, some] = tilt(own, pick_models(U, some), x[some])
        return out
    moved = np.empty(U.shape)
    y = np.ascontiguousarray(y, np.int32)
    _core.scale_class_pairs(False, y, U, np.exp(x[:, None, :] - x[:, :, None]), moved)
    at = np.arange(len(y))[:, None], np.arange(U.shape[1]), per_model(y)
    moved /= (1.0 + U[at] - moved[at])[:, :, None]
    return moved


def _of_model(b: int, y: Array, s: Array, U: Array) -> tuple[Array, Array, Array]:
    """Return the labels, weights and duals of one of several models."""
    y, s = (a if a.ndim == 1 else np.ascontiguousarray(a[:, b]) for a in (y, s))
    return y, s, np.ascontiguousarray(U[:, b : b + 1])


def imbalance(A: Array) -> Array:
    """Return the flow (B,) that classes receive in excess or lack, as a fraction of all flows."""
    return np.array([_imbalance(each) for each in A])


def _imbalance(A: Array) -> float:
    off, total = np.abs(A.sum(axis=0) - A.sum(axis=1)).sum(), A.sum()
    return float(off / total) if total > 0.0 else 0.0
