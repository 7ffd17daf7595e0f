"""Weights and gradients as they are where the features are seen from an origin.

With x - o for x, the scores x W + b are those of the same weights and another bias:

    c = b + o.W,    and so    dP/dW at a fixed c = dP/dW - o dP/db

A free bias makes up for any origin, and what is solved for (W, c) is as well conditioned as if the
features had never been far from zero. A bias that is fixed or penalised has an origin of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model


@dataclass(frozen=True)
class Frame:
    """Where the models of a batch see the features from.

    Parameters
    ----------
    origin : (d,)
    free : (B,), which models see them from there; the others from zero

    >>> frame = Frame(np.array([100.0]), np.array([True]))
    >>> model = Model(np.array([[[2.0]]]), np.array([[-199.0]]))
    >>> frame.enter(model).b, frame.leave(frame.enter(model)).b
    (array([[1.]]), array([[-199.]]))
    """

    origin: Array
    free: Array
    moves: bool = field(init=False)  # whether anything looks different from there

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", bool(self.origin.any() and self.free.any()))

    @classmethod
    def at_zero(cls, n_features: int, n_models: int) -> Frame:
        """The frame in which everything is as it is given."""
        return cls(np.zeros(n_features), np.zeros(n_models, bool))

    def select(self, models: Array) -> Frame:
        """The frame of some of the models (numbers or a mask)."""
        return Frame(self.origin, self.free[models])

    def groups(self) -> Iterator[tuple[Array, Array]]:
        """The numbers of the models that see the features from the same origin, and that (d,)."""
        if not self.moves:
            yield np.arange(len(self.free)), np.zeros_like(self.origin)
            return
        for which, origin in ((self.free, self.origin), (~self.free, np.zeros_like(self.origin))):
            if which.any():
                yield np.flatnonzero(which), origin

    def enter(self, model: Model) -> Model:
        """Weights, or a way from weights to others, as seen from the origin."""
        return self._move(model, 1.0)

    def leave(self, model: Model) -> Model:
        """Weights, or a way, that are seen from the origin, as seen from zero."""
        return self._move(model, -1.0)

    def sizes(self, model: Model) -> Array:
        """The parts of the scores (B, K) that cancel: what lies at the origin, and the bias."""
        if not self.origin.any():
            return np.abs(model.b)
        parts = np.abs(self.origin)[:, None, None] * np.abs(model.W)
        return np.abs(model.b) + np.ascontiguousarray(parts.transpose(1, 2, 0)).sum(axis=2)

    def enter_gradient(self, gradient: Model) -> Model:
        """The gradient for the weights as seen from the origin."""
        if not self.moves:
            return gradient
        part = self.origin[:, None, None] * np.where(self.free[:, None], gradient.b, 0.0)
        return Model((gradient.W - part).astype(gradient.W.dtype, copy=False), gradient.b)

    def _move(self, model: Model, sign: float) -> Model:
        if not self.moves:
            return model
        parts = (self.origin[:, None, None] * model.W).transpose(1, 2, 0)
        # Copied, so that each is summed in the same order whatever models stand beside it.
        by = np.where(self.free[:, None], np.ascontiguousarray(parts).sum(axis=2), 0.0)
        return Model(model.W, (model.b + sign * by).astype(model.b.dtype, copy=False))
