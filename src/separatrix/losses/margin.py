"""Perceptron, hinge, squared hinge and Crammer-Singer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, fill_true_class
from separatrix.matrix import Array


@dataclass(frozen=True)
class Margin(ClassDifferences):
    """Perceptron, hinge (Weston-Watkins) and squared hinge.

        loss(y, z) = sum_{j != y} max(0, margin + z_j - z_y)^power

    and max(0, margin - ty z)^power with one output. A tie counts as a violation. Conjugate:
    sum_j -margin a_j for flows a_j in [0, 1] (power 1), sum_j a_j^2/4 - margin a_j for a_j >= 0
    (power 2). With a violated terms the Hessian is twice the Laplacian of a star with a <= K - 1
    leaves, whose largest eigenvalue is a + 1: at most 2 K (2 with one output).

    See J. Weston and C. Watkins, Support vector machines for multi-class pattern recognition,
    ESANN 1999.
    """

    power: int = 1

    @property
    def smooth(self) -> bool:
        return self.power == 2

    def curvature_of(self, n_outputs: int) -> float | None:
        return 2.0 * n_outputs if self.smooth else None

    def predict(self, Z: Array, *, xp: ModuleType = np) -> Array:
        """Without a margin a tie is class 1, because the perceptron rule sees no mistake there."""
        if self.margin == 0.0 and Z.shape[2] == 1:
            above = Z[:, :, 0] >= 0
            return above.astype(np.int32) if xp is np else above * 1
        return super().predict(Z, xp=xp)

    def _terms(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        """Return margin + z_j - z_y, and -inf at the true class, which has no term."""
        return xp.where(own, -math.inf, self.margin + (Z - at_true(Z, own, xp)))

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return (xp.clip(self._terms(Z, own, xp), 0.0, None) ** self.power).sum(axis=2)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        terms = self._terms(Z, own, xp)
        if self.smooth:
            return 2.0 * xp.clip(terms, 0.0, None)
        return xp.where(terms >= 0.0, xp.ones_like(Z[:1]), 0.0)

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        if not self.smooth:
            raise ValueError(
                f"Loss '{self.name}' has no second derivative, because it is not smooth. Use "
                "'squared_hinge', which is smooth."
            )
        return fill_true_class(
            xp.where(self._terms(Z, own, xp) >= 0.0, 2.0 * (V - at_true(V, own, xp)), 0.0),
            own,
            xp,
        )

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        return 0.0 * flows.sum(axis=2) if self.smooth else xp.amax(flows, axis=2)

    def _conjugate(self, flows: Array, xp: ModuleType) -> Array:
        cost = -self.margin * flows
        return (cost + 0.25 * flows**2 if self.smooth else cost).sum(axis=2)


@dataclass(frozen=True)
class CrammerSinger(Margin):
    """The multiclass hinge of the worst class only.

        loss(y, z) = max(0, max_{j != y} margin + z_j - z_y)

    The gradient is on the first worst class. Conjugate: -margin sum_j a_j for flows a_j >= 0 with
    sum_j a_j <= 1.

    See K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based
    vector machines, JMLR 2001.
    """

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return xp.clip(xp.amax(self._terms(Z, own, xp), axis=2), 0.0, None)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        terms = self._terms(Z, own, xp)
        # By the scores, not the terms, which may have been rounded to the same number.
        worst = xp.where(own, -math.inf, Z).argmax(axis=2)[:, :, None]
        first = xp.arange(Z.shape[2], device=Z.device) == worst
        return xp.where(first & (terms >= 0.0), xp.ones_like(Z[:1]), 0.0)

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        return flows.sum(axis=2)
