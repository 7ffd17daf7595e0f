"""The modified Huber loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, fill_true_class
from separatrix.matrix import Array

LARGEST_FLOW = 4.0


@dataclass(frozen=True)
class ModifiedHuber(ClassDifferences):
    """The squared hinge, continued as a straight line for rows that are far on the wrong side.

        loss(y, z) = max(0, 1 - ty z)^2   if ty z >= -1
                     -4 ty z              otherwise

    With t = 1 - ty z, the flow is a = 2 min(max(t, 0), 2), the loss is a t - a^2 / 4 and its
    conjugate is a^2 / 4 - a for a in [0, 4]. The score, cut off at -1 and 1, gives a probability.

    See T. Zhang, Solving large scale linear prediction problems using stochastic gradient descent
    algorithms, ICML 2004.
    """

    margin: float = 1.0  # not another one, or the probabilities would not fit
    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        return 2.0

    @np.errstate(all="ignore")
    def probabilities(self, Z: Array) -> Array | None:
        P = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0
        return np.concatenate([1.0 - P, P], axis=2)

    def _terms(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        """Return 1 + z_j - z_y, and -inf at the true class, which has no term."""
        return xp.where(own, -math.inf, self.margin + (Z - at_true(Z, own, xp)))

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        a = self._flows(Z, own, xp)
        terms = xp.where(own, 0.0, self._terms(Z, own, xp))
        return (a * (terms - 0.25 * a)).sum(axis=2)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return xp.clip(2.0 * self._terms(Z, own, xp), 0.0, LARGEST_FLOW)

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        terms = self._terms(Z, own, xp)
        curved = (terms >= 0.0) & (2.0 * terms <= LARGEST_FLOW)
        return fill_true_class(xp.where(curved, 2.0 * (V - at_true(V, own, xp)), 0.0), own, xp)

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        return xp.amax(flows, axis=2) / LARGEST_FLOW

    def _conjugate(self, flows: Array, xp: ModuleType) -> Array:
        return (0.25 * flows**2 - flows).sum(axis=2)
