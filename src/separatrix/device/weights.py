"""Weights and evaluations of a batch of models that stay on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.device.torch_device import Tensor, TorchDevice, as_array
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Evaluation

ALIGNMENT = 8  # rows of X begin at multiples of this many numbers, as fast products require


def padded_rows(n_features: int) -> int:
    """Return the number of rows of the weights with the bias and the padding.

    >>> padded_rows(784)
    792
    """
    return -(-(n_features + 1) // ALIGNMENT) * ALIGNMENT


class DeviceModel(Model):
    """Models on a device: P (rows, B, K) holds the weights, then the bias, then zeros.

    A product of [X, 1, 0] with P gives the scores, and one with its transpose the gradient of
    weights and biases. `W` (d, B, K) and `b` (B, K) are views of P.
    """

    def __init__(self, P: Tensor, n_features: int, device: TorchDevice) -> None:
        self.P, self.device = P, device
        super().__init__(P[:n_features], P[n_features])

    @classmethod
    def of(cls, model: Model, device: TorchDevice) -> DeviceModel:
        """Copy a model to the device."""
        d, B, K = model.W.shape
        P = np.zeros((padded_rows(d), B, K), model.W.dtype)
        P[:d], P[d] = model.W, model.b
        return cls(device.tensor(P), d, device)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.P.dtype).removeprefix("torch."))

    def on_host(self) -> Model:
        return Model(as_array(self.W), as_array(self.b))

    def select(self, models: Array) -> Model:
        return self._like(self.P[:, numbers(models, self.device)])

    def split(self, models: Array) -> list[Model]:
        """Return copies of some of the models (numbers), each on the host."""
        which = np.arange(self.n_models)[models]
        return self.select(which).on_host().split(np.arange(len(which))) if len(which) else []

    def copy(self) -> Model:
        return self._like(self.P.clone())

    def assign(self, other: Model) -> None:
        self.P.copy_(_tensor_of(other))

    def put(self, models: Array, other: Model) -> None:
        self.P[:, numbers(models, self.device)] = _tensor_of(other)

    def largest_change(self, before: Model) -> Array:
        change = (self.P - _tensor_of(before)).abs()
        return as_array(self.device.torch.amax(change, axis=(0, 2)))

    def _like(self, P: Tensor) -> Self:
        return type(self)(P, len(self.W), self.device)


@dataclass(frozen=True)
class DeviceEvaluation(Evaluation):
    """An evaluation whose gradients GW and gb stay on the device."""

    device: TorchDevice | None = None

    def select(self, models: Array) -> Evaluation:
        assert self.device is not None
        which = numbers(models, self.device)
        names = ("loss", "accuracy", "penalty", "gradient_norm")
        part: dict[str, Any] = {name: getattr(self, name)[models] for name in names}
        return replace(self, **part, GW=self.GW[:, which], gb=self.gb[which])

    def on_host(self) -> Evaluation:
        own = (self.loss, self.accuracy, self.penalty, self.gradient_norm)
        return Evaluation(*own, as_array(self.GW), as_array(self.gb))


def numbers(models: Array, device: TorchDevice) -> Tensor:
    """Return the numbers of some models, given as numbers or as a mask, on the device."""
    which = np.flatnonzero(models) if models.dtype == bool else models
    return device.tensor(which, np.int64)


def _tensor_of(model: Model) -> Tensor:
    assert isinstance(model, DeviceModel)
    return model.P
