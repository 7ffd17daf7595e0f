"""Multiclass losses from binary losses."""

from __future__ import annotations

from dataclasses import dataclass

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

    def split(self, y: Array, Z: Array) -> tuple[Array, Array]:
        """Return binary labels (n, B K) and scores (n, B K, 1) of B K binary models."""
        n, B, K = Z.shape
        own = np.broadcast_to(true_class(y, Z), Z.shape)
        return own.reshape(n, B * K).astype(np.int32), Z.reshape(n, B * K, 1)

    def value(self, y: Array, Z: Array) -> Array:
        return self.base.value(*self.split(y, Z)).reshape(Z.shape).sum(axis=2)

    def gradient(self, y: Array, Z: Array) -> Array:
        return self.base.gradient(*self.split(y, Z)).reshape(Z.shape)

    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array:
        n, B, K = Z.shape
        return self.base.hessian_times(*self.split(y, Z), V.reshape(n, B * K, 1)).reshape(Z.shape)

    def conjugate(self, y: Array, U: Array) -> Array:
        return self.base.conjugate(*self.split(y, U)).reshape(U.shape).sum(axis=2)

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

    def predict(self, Z: Array) -> Array:
        return predict_class(Z)


def _of_outputs(s: Array, U: Array) -> Array:
    """Return the weights (n, B K) of B K binary models."""
    return np.broadcast_to(per_model(s), U.shape[:2]).repeat(U.shape[2], axis=1)
