"""Weights and gradients for recentred features, from which an origin is subtracted.

With x - o instead of x, the scores x W + b belong to the same weights and another bias:

    c = b + o.W,    and so    dP/dW at a fixed c = dP/dW - o dP/db

An unpenalised bias makes up for any origin. Solving for (W, c) is as well conditioned as if the
features were close to zero. Models with a fixed or penalised bias keep the features as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model


@dataclass(frozen=True)
class Recentring:
    """Moves the features of each model of a batch to an origin, or leaves them as they are.

    Parameters
    ----------
    origin : (d,)
    free : (B,), which models are recentred; the others keep the features as given

    >>> recentring = Recentring(np.array([100.0]), np.array([True]))
    >>> model = Model(np.array([[[2.0]]]), np.array([[-199.0]]))
    >>> recentring.apply(model).b, recentring.undo(recentring.apply(model)).b
    (array([[1.]]), array([[-199.]]))
    """

    origin: Array
    free: Array
    has_effect: bool = field(init=False)  # whether it changes anything

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_effect", bool(self.origin.any() and self.free.any()))

    @classmethod
    def at_zero(cls, n_features: int, n_models: int) -> Recentring:
        """Return the recentring that changes nothing."""
        return cls(np.zeros(n_features), np.zeros(n_models, bool))

    def select(self, models: Array) -> Recentring:
        """Return the recentring of some of the models (numbers or a mask)."""
        return Recentring(self.origin, self.free[models])

    def groups(self) -> Iterator[tuple[Array, Array]]:
        """Yield the numbers of the models with the same origin, and this origin (d,)."""
        if not self.has_effect:
            yield np.arange(len(self.free)), np.zeros_like(self.origin)
            return
        for which, origin in ((self.free, self.origin), (~self.free, np.zeros_like(self.origin))):
            if which.any():
                yield np.flatnonzero(which), origin

    def apply(self, model: Model) -> Model:
        """Convert weights, or a direction, to the recentred features."""
        return self._move(model, 1.0)

    def undo(self, model: Model) -> Model:
        """Convert weights, or a direction, to the features as given: the inverse of `apply`."""
        return self._move(model, -1.0)

    def sizes(self, model: Model) -> Array:
        """Return the size of the parts of the scores (B, K) that cancel: o.W and the bias."""
        if not self.origin.any():
            return np.abs(model.b)
        parts = np.abs(self.origin)[:, None, None] * np.abs(model.W)
        return np.abs(model.b) + np.ascontiguousarray(parts.transpose(1, 2, 0)).sum(axis=2)

    def apply_to_gradient(self, gradient: Model) -> Model:
        """Convert a gradient to the recentred features."""
        if not self.has_effect:
            return gradient
        part = self.origin[:, None, None] * np.where(self.free[:, None], gradient.b, 0.0)
        return Model((gradient.W - part).astype(gradient.W.dtype, copy=False), gradient.b)

    def _move(self, model: Model, sign: float) -> Model:
        if not self.has_effect:
            return model
        parts = (self.origin[:, None, None] * model.W).transpose(1, 2, 0)
        # Copied, so that each sum has the same order and does not depend on the other models.
        by = np.where(self.free[:, None], np.ascontiguousarray(parts).sum(axis=2), 0.0)
        return Model(model.W, (model.b + sign * by).astype(model.b.dtype, copy=False))
