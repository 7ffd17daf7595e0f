"""Linear regression used as a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from separatrix.losses.shapes import count_outputs, predict_class, quiet, targets
from separatrix.matrix import Array, per_model, sum_samples


@dataclass(frozen=True)
class Squared:
    """Linear regression used as a classifier.

        loss(y, z) = |t - z|^2 / 2,    gradient z - t,    conjugate u.t + |u|^2 / 2

    with t = ty for one output and the one-hot vector of y for C.
    """

    name: str = "squared"
    native_code: int = 6
    words: str = "mean squared error |t - z|^2 / 2 (one output: t = y, -1 or +1; else one-hot)"
    convex: bool = True
    smooth: bool = True
    compiled: bool = True
    margin: float = 0.0
    curvature: float | None = 1.0

    def n_outputs(self, n_classes: int) -> int:
        return count_outputs(self.name, "one or all", n_classes)

    def curvature_of(self, n_outputs: int) -> float | None:
        return self.curvature

    def coupling(self, n_outputs: int) -> str:
        return "none"

    @quiet
    def value(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        return (0.5 * (Z - targets(y, Z, xp)) ** 2).sum(axis=2)

    def gradient(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        return Z - targets(y, Z, xp)

    def hessian_times(self, y: Array, Z: Array, V: Array, *, xp: ModuleType = np) -> Array:
        return 1.0 * V

    @quiet
    def conjugate(self, y: Array, U: Array, *, xp: ModuleType = np) -> Array:
        return (U * (targets(y, U, xp) + 0.5 * U)).sum(axis=2)

    @np.errstate(all="ignore")
    def balance(self, y: Array, U: Array, s: Array) -> Array:
        return self.apply_balance(y, U, self.balancing(*self.flows(y, U, s)))

    def flows(self, y: Array, U: Array, s: Array) -> tuple[Array, ...]:
        """Return the sums of the weights (B, 1) and of s U (B, K)."""
        weights = per_model(s).astype(np.float64, copy=False)[:, :, None]
        return sum_samples(weights), sum_samples(weights * U)

    def balancing(self, *flows: Array) -> Array:
        """Return the weighted mean of the duals (B, K)."""
        total, sums = flows
        return sums / np.where(total > 0.0, total, 1.0)

    def apply_balance(self, y: Array, U: Array, how: Array) -> Array:
        """Return the duals minus their mean."""
        return (U - how).astype(U.dtype, copy=False)

    def probabilities(self, Z: Array) -> Array | None:
        return None

    def predict(self, Z: Array, *, xp: ModuleType = np) -> Array:
        return predict_class(Z, xp)
