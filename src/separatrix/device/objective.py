"""The objective, with every pass over the rows on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.device.formulas import penalty_and_slope, sums_and_duals, sums_of_rows
from separatrix.device.rows import DeviceRows, Piece
from separatrix.device.torch_device import Tensor, TorchDevice, as_array
from separatrix.device.weights import DeviceEvaluation, DeviceModel
from separatrix.errors import ParameterError
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.penalty import ElasticNet


class DeviceObjective(Objective):
    """The function P of B models, whose passes over X run on a device.

    It evaluates models on the host, whose evaluations are then on the host too, and models on the
    device (`place` copies one there), whose gradients stay on the device.
    """

    def __init__(
        self,
        data: Dataset,
        loss: Loss,
        penalty: ElasticNet,
        *,
        rows: DeviceRows,
        bias: bool = True,
        scale: Array | None = None,
    ) -> None:
        super().__init__(data, loss, penalty, bias=bias, scale=scale)
        _require_formulas(loss)
        self.rows = rows
        self._small: dict[str, tuple[Array, Tensor]] = {}

    @property
    def device(self) -> TorchDevice:
        return self.rows.device

    def small(self, name: str, a: Array, dtype: Any) -> Tensor:
        """Return a small array, which nobody writes to, on the device; it is copied only once."""
        key = f"{name} {np.dtype(dtype).name}"
        known = self._small.get(key)
        if known is None or not (known[0] is a or np.array_equal(known[0], a)):
            known = self._small[key] = a, self.device.tensor(a, dtype)
        return known[1]

    def pass_size(self, model: Model) -> int:
        """Return the number of scores of a pass."""
        return self.data.n_samples * int(np.prod(model.b.shape))

    def place(self, model: Model) -> Model:
        """Return a copy of a model on the device."""
        return (
            model.copy() if isinstance(model, DeviceModel) else DeviceModel.of(model, self.device)
        )

    def select(self, models: Array) -> Objective:
        return DeviceObjective(
            self.data.select(models),
            self.loss,
            self.penalty.select(models),
            rows=self.rows,
            bias=self.bias,
            scale=self._scale if len(self._scale) == 1 else self._scale[models],
        )

    def loss_and_accuracy(self, model: Model) -> tuple[Array, Array]:
        """Return the mean loss and the weighted accuracy, (B,) each."""
        self.require(model)
        loss, hits = as_array(self.rows.attempt(self._loss_and_hits, model))
        return loss * self.scale(model.n_models), hits * self.scale(model.n_models)

    def evaluate(self, model: Model, gradient: bool = True, scores: bool = False) -> Evaluation:
        """Compute loss, accuracy, penalty and gradient of every model in one pass.

        Scores are never kept.
        """
        self.require(model)
        torch, here = self.device.torch, self._here(model)
        scale, d = self.scale(here.n_models), len(here.W)
        sums, G = self.rows.attempt(self._sums_and_gradient, here)
        GW, gb = G[:d], self._gradient_of_bias(G[d], here)
        l1, l2 = self.strengths(here.n_models)
        l1, l2 = self.small("l1 of penalty", l1, float), self.small("l2 of penalty", l2, float)
        rest = self.run(
            penalty_and_slope, self.pass_size(here), here.W, GW, self.factor_tensor(here), l1, l2
        )
        of_bias = torch.stack([torch.sum(b * b, axis=1, dtype=torch.float64) for b in (gb, here.b)])
        each = as_array(torch.cat([sums, rest, of_bias]))
        loss, hits, penalty, slope, slope_of_bias, square_of_bias = each
        curvature = self.bias_curvature(here.n_models)
        found = DeviceEvaluation(
            loss=loss * scale,
            accuracy=hits * scale,
            penalty=penalty + np.where(curvature > 0.0, 0.5 * curvature * square_of_bias, 0.0),
            gradient_norm=np.sqrt(slope + slope_of_bias),
            GW=GW,
            gb=gb,
            device=self.device,
        )
        return found if isinstance(model, DeviceModel) else found.on_host()

    def gradient_of_rows(
        self, block: Block, rows: Array, model: DeviceModel, scale: Array
    ) -> tuple[Tensor, Tensor]:
        """Return the gradient of the loss of some rows of a block, times a scale (B,)."""
        piece, d = self.rows.take(block, rows, model.dtype), len(model.W)
        _, G = self._of_piece(piece, model, self.device.tensor(scale, model.dtype))
        return G[:d], G[d]

    def factor_tensor(self, model: DeviceModel) -> Any:
        """Return the penalty's factors (d, 1 or B, 1), or 1.0."""
        f = self.penalty.factors
        if f is None:
            return 1.0
        wide = f[:, None, None] if f.ndim == 1 else f[:, :, None]
        return self.small("factors", wide, model.dtype)

    def pieces(self, model: DeviceModel) -> Iterator[tuple[Piece, Tensor]]:
        """Yield the rows in pieces, with the scores (n, B, K) of the models."""
        for piece in self.rows.pieces(self.data, tuple(model.W.shape), model.dtype):
            with self.device.products():
                Z = piece.X.times(model.P)
            yield piece, Z

    def _loss_and_hits(self, model: Model) -> Tensor:
        total: Any = 0.0
        for piece, Z in self.pieces(self._here(model)):
            total = total + self.run(sums_of_rows, Z.numel(), self.loss, piece.y, Z, piece.s)
        return total

    def _sums_and_gradient(self, model: DeviceModel) -> tuple[Tensor, Tensor]:
        sums: Any = 0.0
        G, scale = None, self.small("scale", self.scale(model.n_models), model.dtype)
        for piece in self.rows.pieces(self.data, tuple(model.W.shape), model.dtype):
            more, part = self._of_piece(piece, model, scale)
            sums, G = sums + more, part if G is None else G.add_(part)
        return sums, G

    def _of_piece(self, piece: Piece, model: DeviceModel, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums of some rows, and their gradient (rows of P, B, K) times the scale."""
        with self.device.products():
            Z = piece.X.times(model.P)
            sums, U = self.run(sums_and_duals, Z.numel(), self.loss, piece.y, Z, piece.s, scale)
            return sums, piece.X.transpose_times(U)

    def run(self, formula: Callable[..., Any], size: int, *arguments: Any) -> Any:
        """Call a formula for a pass with `size` scores."""
        return self.device.run(formula, self.device.torch, *arguments, size=size)

    def _gradient_of_bias(self, gb: Tensor, model: DeviceModel) -> Tensor:
        if not self.bias:
            return self.device.torch.zeros_like(gb)
        if not self._penalises_bias:
            return gb
        curvature = self.small("bias", self.bias_curvature(len(gb)), model.dtype)[:, None]
        return gb + self.device.torch.where(curvature > 0.0, curvature * model.b, 0.0)

    def _here(self, model: Model) -> DeviceModel:
        """Return the model itself if it is on the device, else a copy of it there."""
        return model if isinstance(model, DeviceModel) else DeviceModel.of(model, self.device)

    def require(self, model: Model) -> None:
        if not isinstance(model, DeviceModel):  # which was checked when it was placed
            super().require(model)


def _require_formulas(loss: Loss) -> None:
    """Raise unless the formulas of a loss can run in torch."""
    base = loss.base if isinstance(loss, OneVsRest) else loss
    if "xp" not in signature(base.value).parameters:
        raise ParameterError(
            f"Loss '{loss.name}' cannot be used with a device: its formulas know numpy only. "
            "Write them as functions of xp, as the losses of separatrix are.",
            parameter="device",
        )
