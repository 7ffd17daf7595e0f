"""Logistic, softmax, softmax with a reference class, and the squared error on a sigmoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Array
from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, close, quiet, softmax


@dataclass(frozen=True)
class CrossEntropy(ClassDifferences):
    """Logistic, softmax and softmax with a reference class.

        loss(y, z) = log sum_j exp(z_j) - z_y,    gradient p - e_y,    p = softmax(z)

    With one output, or a reference class, a score 0 stands first: log(1 + exp(-ty z)).
    Conjugate: sum_j p_j log p_j for p = U + e_y in the simplex. The second derivative along v is
    the variance of v under p, at most (max v - min v)^2 / 4: 1/2 for unit v, 1/4 for one output
    beside a fixed 0.
    """

    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        return 0.25 if n_outputs == 1 and self.outputs != "all" else 0.5

    @quiet
    def probabilities(self, Z: Array) -> Array | None:
        return softmax(self._lift(Z))[0]

    def _value(self, Z: Array, own: Array) -> Array:
        _, rest = softmax(Z)
        return np.log1p(rest) + (Z.max(axis=2) - at_true(Z, own)[:, :, 0])

    def _flows(self, Z: Array, own: Array) -> Array:
        return softmax(Z)[0]

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        P, _ = softmax(Z)
        return P * (V - (P * V).sum(axis=2, keepdims=True))


@dataclass(frozen=True)
class SigmoidSquared(ClassDifferences):
    """Squared error on a sigmoid: not convex, kept to show why it is not used.

        loss(y, z) = (y - sigma(z))^2 / 2 = r^2 / 2,    r = sigma(-ty z)

    First derivative -ty r^2 (1 - r), second r^2 (1 - r) (2 - 3 r): negative where r > 2/3. Its
    stationary points in r solve 12 r^2 - 15 r + 4 = 0; the one at (15 - sqrt 33) / 24 has the
    larger modulus (0.0770 against 0.0601), which is the curvature.
    """

    convex: bool = False
    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        r = (15.0 - math.sqrt(33.0)) / 24.0
        return r * r * (1.0 - r) * (2.0 - 3.0 * r)

    def conjugate(self, y: Array, U: Array) -> Array:
        raise ValueError(
            f"Loss '{self.name}' has no conjugate: it is not convex, so it has no duality gap. "
            "Judge its fits by the gradient norm, or use 'logistic'."
        )

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        return self.conjugate(y, U)

    @quiet
    def probabilities(self, Z: Array) -> Array | None:
        return softmax(self._lift(Z))[0]

    def _value(self, Z: Array, own: Array) -> Array:
        miss = np.where(own, 0, softmax(Z)[0])
        return 0.5 * np.square(miss).sum(axis=2)

    def _flows(self, Z: Array, own: Array) -> Array:
        miss = softmax(Z)[0]
        return miss**2 * at_true(miss, own)

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        miss = softmax(Z)[0]
        second = miss**2 * at_true(miss, own) * (2.0 - 3.0 * miss)
        return close(second * (V - at_true(V, own)), own)
