"""Multiclass losses from binary losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from separatrix.losses.protocol import Loss
from separatrix.losses.shapes import predict_class, true_class
from separatrix.matrix import Array, per_model

# Added to the native code of a loss to get the code of its one-vs-rest form.
ONE_VS_REST = 16


@dataclass(frozen=True)
class OneVsRest:
    """C binary losses over C classes: output k separates class k from all others.

        loss(y, z) = sum_k base(1{y = k}, z_k)

    The outputs share no parameters, so training them together is the same as training each alone.
    The class with the highest score is predicted.
    """

    base: Loss

    @property
    def name(self) -> str:
        return f"{self.base.name}, one-vs-rest"

    @property
    def words(self) -> str:
        return f"sum over the classes, each against the rest, of the {self.base.words}"

    @property
    def convex(self) -> bool:
        return self.base.convex

    @property
    def smooth(self) -> bool:
        return self.base.smooth

    @property
    def curvature(self) -> float | None:
        return self.base.curvature_of(1)

    @property
    def compiled(self) -> bool:
        return self.base.compiled

    @property
    def native_code(self) -> int:
        return self.base.native_code + ONE_VS_REST

    @property
    def margin(self) -> float:
        return self.base.margin

    def n_outputs(self, n_classes: int) -> int:
        return n_classes

    def curvature_of(self, n_outputs: int) -> float | None:
        return self.base.curvature_of(1)

    def coupling(self, n_outputs: int) -> str:
        return "none"

    def split(self, y: Array, Z: Array, xp: ModuleType = np) -> tuple[Array, Array]:
        """Return binary labels (n, B K) and scores (n, B K, 1) of B K binary models."""
        n, B, K = Z.shape
        own = xp.broadcast_to(true_class(y, Z, xp), Z.shape).reshape(n, B * K)
        return own.astype(np.int32) if xp is np else own * 1, Z.reshape(n, B * K, 1)

    def value(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        return self._alone(self.base.value, y, Z, xp=xp).sum(axis=2)

    def gradient(self, y: Array, Z: Array, *, xp: ModuleType = np) -> Array:
        return self._alone(self.base.gradient, y, Z, xp=xp)

    def hessian_times(self, y: Array, Z: Array, V: Array, *, xp: ModuleType = np) -> Array:
        return self._alone(self.base.hessian_times, y, Z, V.reshape(len(V), -1, 1), xp=xp)

    def conjugate(self, y: Array, U: Array, *, xp: ModuleType = np) -> Array:
        return self._alone(self.base.conjugate, y, U, xp=xp).sum(axis=2)

    def _alone(
        self, formula: Callable[..., Array], y: Array, Z: Array, *more: Array, xp: ModuleType
    ) -> Array:
        """Return a formula of the binary loss for every output, (n, B, K)."""
        # A loss of one's own may know numpy only.
        namespace = {} if xp is np else {"xp": xp}
        return formula(*self.split(y, Z, xp), *more, **namespace).reshape(Z.shape)

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        binary, duals = self.split(y, U)
        return self.base.balance(binary, duals, _of_outputs(s, U)).reshape(U.shape)

    def flows(self, y: Array, U: Array, s: Array) -> tuple[Array, ...]:
        """Return the sums of the base loss for B K binary models."""
        return self.base.flows(*self.split(y, U), _of_outputs(s, U))

    def balancing(self, *flows: Array) -> Array:
        return self.base.balancing(*flows)

    def apply_balance(self, y: Array, U: Array, how: Array) -> Array:
        return self.base.apply_balance(*self.split(y, U), how).reshape(U.shape)

    def probabilities(self, Z: Array) -> Array | None:
        """Return the probability of each class against the rest, divided by the sum of all."""
        n, B, K = Z.shape
        alone = self.base.probabilities(Z.reshape(n, B * K, 1))
        if alone is None:
            return None
        P = alone[:, :, 1].reshape(Z.shape)
        total = P.sum(axis=2, keepdims=True)
        return np.where(total > 0.0, P / np.where(total > 0.0, total, 1.0), 1.0 / K)

    def predict(self, Z: Array, *, xp: ModuleType = np) -> Array:
        return predict_class(Z, xp)


def _of_outputs(s: Array, U: Array) -> Array:
    """Return the weights (n, B K) of B K binary models."""
    return np.broadcast_to(per_model(s), U.shape[:2]).repeat(U.shape[2], axis=1)
