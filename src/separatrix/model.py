"""The weights and biases of a batch of linear models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import separatrix._core as _core
from separatrix.matrix import Array, Matrix, pick_models


@dataclass
class Model:
    """W (d, B, K) and b (B, K): B models of K outputs over the same d features.

    >>> model = Model.zeros(n_features=4, n_models=3, n_outputs=2)
    >>> model.W.shape, model.b.shape
    ((4, 3, 2), (3, 2))
    """

    W: Array
    b: Array

    @classmethod
    def zeros(
        cls, n_features: int, n_models: int, n_outputs: int, dtype: np.dtype | type = np.float64
    ) -> Model:
        """Models with all weights at zero."""
        return cls(
            np.zeros((n_features, n_models, n_outputs), dtype),
            np.zeros((n_models, n_outputs), dtype),
        )

    @property
    def n_models(self) -> int:
        """B."""
        return self.b.shape[0]

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.b.shape[1]

    def scores(self, X: Matrix) -> Array:
        """Return Z (n, B, K) = X W + b."""
        return X.scores(self.W, self.b)

    def select(self, models: Array) -> Model:
        """Return a copy of some of the models (numbers or a mask)."""
        return Model(pick_models(self.W, models), np.ascontiguousarray(self.b[models]))

    def split(self, models: Array) -> list[Model]:
        """Return separate copies of some of the models (numbers).

        >>> [part.b.item() for part in Model(np.ones((1, 2, 1)), np.array([[3.0], [4.0]])).split(
        ...     np.array([1, 0])
        ... )]
        [4.0, 3.0]
        """
        W, (d, B, K) = np.ascontiguousarray(self.W), self.W.shape
        which = np.ascontiguousarray(np.arange(B)[models], np.int64)
        out = [np.empty((d, 1, K), W.dtype) for _ in which]
        _core.split_models(W, which, out)
        return [Model(part, self.b[m : m + 1].copy()) for part, m in zip(out, which)]

    def copy(self) -> Model:
        """Return a copy of all the models."""
        return Model(self.W.copy(), self.b.copy())

    def on_host(self) -> Model:
        """Return the models as numpy arrays: a copy of models that are on a device."""
        return self

    def assign(self, other: Model) -> None:
        """Overwrite all the models by those of `other`."""
        np.copyto(self.W, other.W)
        np.copyto(self.b, other.b)

    def largest_change(self, before: Model) -> Array:
        """Return the largest change (B,) of a weight or bias of each model."""
        change = np.abs(self.W - before.W).max(axis=(0, 2), initial=0.0)
        return np.maximum(change, np.abs(self.b - before.b).max(axis=1))

    def astype(self, dtype: np.dtype | type) -> Model:
        """Return the models in another number type."""
        return Model(self.W.astype(dtype, order="C"), self.b.astype(dtype, order="C"))

    def dot(self, other: Model) -> Array:
        """Return the inner products with the corresponding models of `other` (B,), in float64.

        Each is summed in the same order, so it does not depend on the other models.
        """
        out = np.empty(len(self.b))
        if self.W.dtype != other.W.dtype:
            self, other = self.astype(np.float64), other.astype(np.float64)
        _core.inner_products(self.W, self.b, other.W, other.b, out)
        return out

    def times(self, factors: Array) -> Model:
        """Multiply each model by its factor (B,)."""
        return Model(self.W * factors[:, None], self.b * factors[:, None])

    def plus(self, other: Model, factors: Array | float = 1.0) -> Model:
        """Add a factor, (B,) or one for all, times the corresponding model of `other`."""
        by = factors if isinstance(factors, float) else factors[:, None]
        return Model(self.W + by * other.W, self.b + by * other.b)

    def put(self, models: Array, other: Model) -> None:
        """Overwrite some of the models by the models of `other`."""
        self.W[:, models] = other.W
        self.b[models] = other.b

    @classmethod
    def stack(cls, models: list[Model]) -> Model:
        """Join all the models given into one batch.

        >>> Model.stack([Model.zeros(3, 1, 1), Model.zeros(3, 4, 1)]).W.shape
        (3, 5, 1)
        """
        b = np.concatenate([m.b for m in models], axis=0)
        parts = [np.ascontiguousarray(m.W, b.dtype) for m in models]
        d, (B, K) = len(parts[0]), b.shape
        if any(part.shape != (d, m.n_models, K) for part, m in zip(parts, models)):
            shapes = ", ".join(str(part.shape) for part in parts)
            raise ValueError(f"Models of one batch must have the same features. Got W of {shapes}.")
        W = np.empty((d, B, K), b.dtype)
        _core.join_models(parts, W)
        return cls(W, b)
