"""The modified Huber loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, fill_true_class, quiet
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

    @quiet
    def probabilities(self, Z: Array) -> Array | None:
        P = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0
        return np.concatenate([1.0 - P, P], axis=2)

    def _terms(self, Z: Array, own: Array) -> Array:
        """Return 1 + z_j - z_y, and -inf at the true class, which has no term."""
        terms = np.where(own, -np.inf, self.margin + (Z - at_true(Z, own)))
        return terms.astype(Z.dtype, copy=False)

    def _value(self, Z: Array, own: Array) -> Array:
        a = self._flows(Z, own)
        terms = np.where(own, 0.0, self._terms(Z, own))
        return (a * (terms - 0.25 * a)).sum(axis=2)

    def _flows(self, Z: Array, own: Array) -> Array:
        return np.clip(2.0 * self._terms(Z, own), 0.0, LARGEST_FLOW)

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        terms = self._terms(Z, own)
        curved = (terms >= 0.0) & (2.0 * terms <= LARGEST_FLOW)
        return fill_true_class(np.where(curved, 2.0 * (V - at_true(V, own)), 0.0), own)

    def _extent(self, flows: Array) -> Array:
        return flows.max(axis=2) / LARGEST_FLOW

    def _conjugate(self, flows: Array) -> Array:
        return (0.25 * flows**2 - flows).sum(axis=2)
