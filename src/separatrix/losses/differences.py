"""The base class of losses that depend on differences of scores only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

import separatrix._core as _core
from separatrix.losses.balance import balancing
from separatrix.losses.shapes import (
    count_outputs,
    fill_true_class,
    predict_class,
    prepend,
    quiet,
    true_class,
)
from separatrix.matrix import Array, per_model, sum_samples

# Duals are sums of some hundred rounded terms, so they may leave a domain by this many eps.
DOMAIN_TOLERANCE = 512


@dataclass(frozen=True)
class ClassDifferences:
    """The common part of losses that depend on the differences z_j - z_y, j != y, only.

    The gradient of such a loss always has the same form: flows a_j >= 0 on the wrong classes and
    -sum_j a_j on the true one. Its conjugate is finite only for U of this form, and is a function
    of the flows.

    A subclass without a kernel defines `_value`, `_flows`, `_hessian_times` (if it is smooth),
    `_extent`, `_conjugate` and `curvature_of`. They are pure functions of arrays of the namespace
    `xp`, numpy or torch. With a `native_code`, kernels replace them where they are faster.
    """

    name: str
    formula: str  # for the reader; {margin} stands for the margin
    native_code: int = -1  # the number of the loss in the kernels; below 0 if it has no kernel
    outputs: str = "one or all"  # or "one", "all", "all but the first"
    margin: float = 0.0
    convex: bool = True

    @property
    def compiled(self) -> bool:
        return self.native_code >= 0

    @property
    def words(self) -> str:
        return f"mean {self.formula.format(margin=f'{self.margin:.12g}')}"

    @property
    def curvature(self) -> float | None:
        return self.curvature_of(1 if self.outputs.startswith("one") else 2)

    def curvature_of(self, n_outputs: int) -> float | None:
        raise NotImplementedError

    def coupling(self, n_outputs: int) -> str:
        if n_outputs == 1:
            return "none"
        return "full" if self.outputs == "all but the first" else "differences"

    def n_outputs(self, n_classes: int) -> int:
        return count_outputs(self.name, self.outputs, n_classes)

    @quiet
    def value(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        scores = self._lift(Z, xp)
        return self._value(scores, true_class(y, scores, xp), xp)

    @quiet
    def gradient(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        scores = self._lift(Z, xp)
        own = true_class(y, scores, xp)
        return self._drop(self._gradient(scores, own, xp), Z)

    @quiet
    def hessian_times(self, y: Array, Z: Array, V: Array, *, xp: ModuleType = np) -> Array:
        scores, own = self._lift(Z, xp), true_class(y, self._lift(Z, xp), xp)
        return self._drop(self._hessian_times(scores, own, self._lift(V, xp), xp), Z)

    @quiet
    def conjugate(self, y: Array, U: Array, *, xp: ModuleType = np) -> Array:
        tolerance = DOMAIN_TOLERANCE * float(xp.finfo(U.dtype).eps)
        if not self.compiled or xp is not np:
            return self._conjugate_by_formula(y, U, tolerance, xp)
        cost = np.empty(U.shape[:2])
        _core.conjugate_values(
            self.native_code,
            self.margin,
            self._is_lifted(U),
            tolerance,
            _whole(y, U.shape[2] + self._is_lifted(U)),
            np.ascontiguousarray(U, np.float64),
            cost,
        )
        return cost.astype(U.dtype, copy=False)

    def _conjugate_by_formula(
        self, y: Array, U: Array, tolerance: float, xp: ModuleType = np
    ) -> Array:
        """Return the conjugate without a kernel; rounding may exceed the domain."""
        lifted = prepend(-U.sum(axis=2, keepdims=True), U, xp) if self._is_lifted(U) else U
        own = true_class(y, lifted, xp)
        wrong = xp.where(own, 0.0, lifted)
        flows = xp.clip(wrong, 0.0, None)
        allowed = tolerance * xp.clip(xp.amax(xp.abs(lifted), axis=2), 1.0, None)
        extent = self._extent(flows, xp)
        balanced = xp.abs(lifted.sum(axis=2)) <= allowed
        inside = balanced & (xp.amin(wrong, axis=2) >= -allowed) & (extent <= 1.0 + allowed)
        cost = self._conjugate(flows / xp.clip(extent, 1.0, None)[:, :, None], xp)
        return xp.where(inside, cost, math.inf)

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        weights, duals = (np.ascontiguousarray(a, np.float64) for a in (s, U))
        labels = np.ascontiguousarray(y, np.int32)
        A = self._flow_shares(labels, duals, weights)
        duals, A = self._tilted(labels, weights, duals, A)
        return self.apply_balance(y, duals, self.balancing(A)).astype(U.dtype, copy=False)

    def flows(self, y: Array, U: Array, s: Array) -> tuple[Array]:
        """Return the weighted sums (B, C, C) of the flows from class c to class j."""
        A = self._flow_shares(y, U, s)
        lifted = prepend(-U.sum(axis=2, keepdims=True), U) if self._is_lifted(U) else U
        total = sum_samples(per_model(s) * np.maximum(lifted, 0.0).sum(axis=2))
        shares = A.sum(axis=2).sum(axis=1)
        known = (shares > 0.0) & (total > 0.0) & np.isfinite(total)
        ratio = np.divide(total, shares, out=np.ones_like(total), where=known)
        return (np.ldexp(A, np.rint(np.log2(ratio)).astype(int)[:, None, None]),)

    def _flow_shares(self, y: Array, U: Array, s: Array) -> Array:
        """Return the same sums of each model divided by a power of two, so that none overflows."""
        lifted = self._is_lifted(U)
        C = U.shape[2] + lifted
        A = np.zeros((U.shape[1], C, C))
        _core.class_pair_sums(
            lifted,
            _whole(y, C),
            np.ascontiguousarray(s, np.float64),
            np.ascontiguousarray(U, np.float64),
            A,
        )
        return A

    def balancing(self, *flows: Array) -> Array:
        """Return the factors (B, C, C) by which the flows must shrink."""
        return balancing(*flows)

    def apply_balance(self, y: Array, U: Array, how: Array) -> Array:
        """Return the duals with their flows shrunk by the factors."""
        lifted = self._is_lifted(U)
        duals = np.ascontiguousarray(U, np.float64)
        balanced = np.empty_like(duals)
        _core.scale_class_pairs(lifted, _whole(y, U.shape[2] + lifted), duals, how, balanced)
        return balanced

    def _tilted(self, y: Array, s: Array, U: Array, A: Array) -> tuple[Array, Array]:
        """Return duals closer to balance, if the loss can compute them, and their flows A."""
        return U, A

    def probabilities(self, Z: Array) -> Array | None:
        return None

    def predict(self, Z: Array, *, xp: ModuleType = np) -> Array:
        return predict_class(Z if Z.shape[2] == 1 else self._lift(Z, xp), xp)

    def _is_lifted(self, Z: Array) -> bool:
        return Z.shape[2] == 1 or self.outputs == "all but the first"

    def _lift(self, Z: Array, xp: ModuleType = np) -> Array:
        return prepend(xp.zeros_like(Z[:, :, :1]), Z, xp) if self._is_lifted(Z) else Z

    def _drop(self, lifted: Array, like: Array) -> Array:
        return lifted[:, :, 1:] if self._is_lifted(like) else lifted

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        raise NotImplementedError

    def _gradient(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        """Return the flows, and minus their sum at the true class."""
        return fill_true_class(self._flows(Z, own, xp), own, xp)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        """Return the gradient on the wrong classes; the entry of the true class is ignored."""
        raise NotImplementedError

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        raise NotImplementedError

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        """Return a size (n, B) of flows (n, B, C) that must be at most 1 for them to be allowed.

        The largest flow if each has its own bound, their sum if they share one, 0 if there is none.
        The flow of the true class is 0.
        """
        raise NotImplementedError

    def _conjugate(self, flows: Array, xp: ModuleType) -> Array:
        """Return the conjugate (n, B) of flows (n, B, C) in the domain, 0 at the true class."""
        raise NotImplementedError


def _whole(y: Array, n_classes: int) -> Array:
    """Convert labels for the kernels, which check nothing."""
    labels = np.ascontiguousarray(y, np.int32)
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= n_classes:
        raise ValueError(
            f"y must hold class numbers 0 to {n_classes - 1}. "
            f"Got {labels.min()} to {labels.max()} instead."
        )
    return labels
