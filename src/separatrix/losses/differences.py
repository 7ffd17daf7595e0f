"""The losses that see the scores through their differences only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Array, per_model
from separatrix.balance import balance_flows
from separatrix.losses.shapes import (
    close,
    count_outputs,
    predict_class,
    prepend,
    quiet,
    true_class,
)

# Duals come from sums of some hundred rounded terms: they may leave a domain by this many eps.
DOMAIN_TOLERANCE = 512


@dataclass(frozen=True)
class ClassDifferences:
    """The common part of the losses that depend on z_j - z_y, j != y, only.

    Such a loss has a gradient of one shape: flows a_j >= 0 on the wrong classes and
    -sum_j a_j on the true one. Its conjugate is finite for such U only, and is a function of
    the flows. A subclass says what its flows are, how large they may be and what they cost.
    """

    name: str
    kernel: int
    formula: str  # for a reader; {margin} stands for the margin
    outputs: str = "one or all"  # or "one", "all", "all but the first"
    margin: float = 0.0
    convex: bool = True
    compiled: bool = True

    @property
    def words(self) -> str:
        return f"mean {self.formula.format(margin=f'{self.margin:.12g}')}"

    @property
    def curvature(self) -> float | None:
        return self.curvature_of(1 if self.outputs.startswith("one") else 2)

    def curvature_of(self, n_outputs: int) -> float | None:
        raise NotImplementedError

    def n_outputs(self, n_classes: int) -> int:
        return count_outputs(self.name, self.outputs, n_classes)

    @quiet
    def value(self, y: Array, Z: Array) -> Array:
        scores = self._lift(Z)
        return self._value(scores, true_class(y, scores))

    @quiet
    def gradient(self, y: Array, Z: Array) -> Array:
        scores = self._lift(Z)
        own = true_class(y, scores)
        return self._drop(close(self._flows(scores, own), own), Z)

    @quiet
    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array:
        scores = self._lift(Z)
        return self._drop(self._hessian_times(scores, true_class(y, scores), self._lift(V)), Z)

    @quiet
    def conjugate(self, y: Array, U: Array) -> Array:
        duals = self._lift_duals(U)
        own = true_class(y, duals)
        size = np.maximum(1.0, np.abs(duals).max(axis=2))
        tolerance = DOMAIN_TOLERANCE * np.finfo(duals.dtype).eps * size
        raw = np.where(own, 0.0, duals)
        flows = np.maximum(raw, 0.0)
        inside = (
            (np.abs(duals.sum(axis=2)) <= tolerance)
            & (raw.min(axis=2) >= -tolerance)
            & (self._extent(flows) <= 1.0 + tolerance)
        )
        return np.where(inside, self._conjugate(flows), np.inf).astype(U.dtype, copy=False)

    @quiet
    def balance(self, y: Array, U: Array, s: Array) -> Array:
        duals = self._lift_duals(U)
        own = true_class(y, duals)
        flows = np.where(own, 0.0, np.maximum(duals, 0.0)).astype(np.float64, copy=False)
        balanced = close(balance_flows(flows, own, per_model(s)), own)
        return self._drop(balanced, U).astype(U.dtype, copy=False)

    def probabilities(self, Z: Array) -> Array | None:
        return None

    def predict(self, Z: Array) -> Array:
        return predict_class(Z if Z.shape[2] == 1 else self._lift(Z))

    def _is_lifted(self, Z: Array) -> bool:
        return Z.shape[2] == 1 or self.outputs == "all but the first"

    def _lift(self, Z: Array) -> Array:
        return prepend(np.zeros_like(Z[:, :, :1]), Z) if self._is_lifted(Z) else Z

    def _lift_duals(self, U: Array) -> Array:
        return prepend(-U.sum(axis=2, keepdims=True), U) if self._is_lifted(U) else U

    def _drop(self, lifted: Array, like: Array) -> Array:
        return lifted[:, :, 1:] if self._is_lifted(like) else lifted

    def _value(self, Z: Array, own: Array) -> Array:
        raise NotImplementedError

    def _flows(self, Z: Array, own: Array) -> Array:
        """Gradient on the wrong classes; what stands at the true class is ignored."""
        raise NotImplementedError

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        raise NotImplementedError

    def _extent(self, flows: Array) -> Array:
        """The quantity (n, B) that is at most 1 inside the domain of the conjugate."""
        raise NotImplementedError

    def _conjugate(self, flows: Array) -> Array:
        raise NotImplementedError
