"""Lower bounds on the objective from the duals of all rows, in float64 on a device.

As in `verdict/certificate.py`: one pass sums the flows between classes, the flows are balanced on
the host, and a second pass sums the conjugates and X^T (s o U). With many classes the scores are
shifted before that (`losses/balance.py`), with one more pass for every shift that is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.device.objective import DeviceObjective
from separatrix.device.rows import Piece
from separatrix.device.torch_device import Tensor, as_array
from separatrix.device.weights import DeviceModel
from separatrix.losses import Loss, OneVsRest
from separatrix.losses.balance import balancing, tilts
from separatrix.losses.cross_entropy import BALANCED, MANY_CLASSES, MOST_TILTS, CrossEntropy
from separatrix.losses.shapes import fill_true_class, prepend, true_class
from separatrix.losses.squared import Squared
from separatrix.matrix import Array
from separatrix.model import Model

LEAST_TILT = 0.5  # share to which a shift must reduce the imbalance


class DualSums(NamedTuple):
    """Sums over all rows: s conjugate (B,), s |U| and s U (B, K), and X^T (s o U) (d, B, K)."""

    cost: Array
    sizes: Array
    sums: Array
    V: Array


@dataclass
class DeviceDuals:
    """The gradients of the loss at the scores of B models, balanced where the bias is free.

    Parameters
    ----------
    objective, model : the objective and the models
    free : (B,), which models have an unpenalised bias
    """

    objective: DeviceObjective
    model: Model
    free: Array

    def __post_init__(self) -> None:
        self._torch = self.objective.device.torch
        self._here = DeviceModel.of(self.model.astype(np.float64), self.objective.device)
        self._loss: Loss = self.objective.loss
        self._shift: Tensor = None
        self._factors: Tensor = None
        if self.free.any():
            self._balance()

    def sums(self, shrink: Array | None = None) -> DualSums:
        """Sum over the rows; the conjugates are those of the duals times a factor (B,)."""
        return self.objective.rows.attempt(self._sums, shrink)

    def _sums(self, shrink: Array | None) -> DualSums:
        factor = 1.0 if shrink is None else self._tensor(shrink)[:, None]
        total: list[Any] = [0.0, 0.0, 0.0, 0.0]
        for piece, U, s in self._duals():
            cost = self._loss.conjugate(piece.y, U * factor, xp=self._torch)
            cost = self._torch.where(s > 0.0, s * cost, 0.0).sum(axis=0)
            weighed = s[:, :, None] * U
            sizes, sums = weighed.abs().sum(axis=0), weighed.sum(axis=0)
            parts = (cost, sizes, sums, piece.X.transpose_times(weighed))
            total = [a + b for a, b in zip(total, parts)]
        d = len(self.model.W)
        total[3] = total[3][:d]
        return DualSums(*(as_array(each) for each in total))

    def _balance(self) -> None:
        """Find the shifts and the factors that balance the duals of all rows."""
        if isinstance(self._loss, Squared) or self._is_squared_each():
            weight, sums = self._flow_sums(_weights_and_sums)
            mean = (sums / np.where(weight > 0.0, weight, 1.0)).reshape(self.model.b.shape)
            self._factors = self._tensor(np.where(self.free[:, None], mean, 0.0))
            return
        A = self._flow_sums(_class_pair_sums)[0]
        loss, C = self._loss, A.shape[2]
        tilted = isinstance(loss, CrossEntropy) and not _is_lifted(loss, self.model.n_outputs)
        if tilted and C >= MANY_CLASSES:
            A = self._tilt(A)
        each = balancing(A.reshape(-1, *A.shape[-2:]))
        free = np.repeat(self.free, len(each) // len(self.free))
        self._factors = self._tensor(np.where(free[:, None, None], each, 1.0))

    def _tilt(self, A: Array) -> Array:
        """Shift the scores of each model as long as that balances its flows better."""
        x, off = np.zeros(A.shape[:2]), _imbalance(A)
        going = self.free & (off > BALANCED)
        for _ in range(MOST_TILTS):
            if not going.any():
                break
            tried = np.where(going[:, None], x + tilts(A), x)
            self._shift = self._tensor(tried)
            flows = self._flow_sums(_class_pair_sums)[0]
            better = going & (_imbalance(flows) < LEAST_TILT * off)
            x = np.where(better[:, None], tried, x)
            A = np.where(better[:, None, None], flows, A)
            off = _imbalance(A)
            going = better & (off > BALANCED)
        self._shift = self._tensor(x)
        return A

    def _flow_sums(self, sums_of: Callable[..., tuple[Tensor, ...]]) -> list[Array]:
        return self.objective.rows.attempt(self._sum_flows, sums_of)

    def _sum_flows(self, sums_of: Callable[..., tuple[Tensor, ...]]) -> list[Array]:
        total: list[Any] = [0.0, 0.0]
        for piece, U, s in self._duals():
            loss, y = self._loss, piece.y
            if isinstance(loss, OneVsRest):
                y, U, s, loss = *_binary(loss, y, U, s, self._torch), loss.base
            total = [a + b for a, b in zip(total, sums_of(self._torch, loss, y, U, s))]
        return [as_array(a) for a in total]

    def _duals(self) -> Iterator[tuple[Piece, Tensor, Tensor]]:
        """Yield every piece with its duals (n, B, K) and its weights (n, 1 or B).

        The duals are 0, which is always allowed, where weights are 0 or scores overflowed.
        """
        torch = self._torch
        for piece, Z in self.objective.pieces(self._here):
            s = torch.ones_like(Z[:, :1, 0]) if piece.s is None else piece.s
            Z = Z if self._shift is None else Z + self._shift
            Z = torch.where(s[:, :, None] > 0.0, Z, 0.0)
            U = self._loss.gradient(piece.y, Z, xp=torch)
            usable = torch.isfinite(U).all(axis=2, keepdims=True) & (s[:, :, None] > 0.0)
            U = torch.where(usable, U, 0.0)
            yield piece, U if self._factors is None else self._balanced(piece.y, U), s

    def _balanced(self, y: Tensor, U: Tensor) -> Tensor:
        torch, loss, factors, shape = self._torch, self._loss, self._factors, U.shape
        if isinstance(loss, Squared) or self._is_squared_each():
            return U - factors
        if isinstance(loss, OneVsRest):
            (y, U, _), loss = _binary(loss, y, U, U[:, :, 0], torch), loss.base
        lifted = _lift(torch, loss, U)
        models = torch.arange(len(factors), device=y.device)
        own = factors.permute(1, 0, 2)[y] if y.ndim == 1 else factors[models, y]
        flows = fill_true_class(lifted * own, true_class(y, lifted, torch), torch)
        return flows[:, :, lifted.shape[2] - U.shape[2] :].reshape(shape)

    def _is_squared_each(self) -> bool:
        return isinstance(self._loss, OneVsRest) and isinstance(self._loss.base, Squared)

    def _tensor(self, a: Array) -> Tensor:
        return self.objective.device.tensor(a, np.float64)


def _class_pair_sums(
    torch: Any, loss: Loss, y: Tensor, U: Tensor, s: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the weighted flows from class to class (B, C, C), and 0."""
    lifted = _lift(torch, loss, U)
    own = true_class(y, lifted, torch)
    flows = s[:, :, None] * torch.where(own, 0.0, lifted)
    n, B, C = flows.shape
    classes: Tensor = torch.where(own, torch.ones_like(flows[:1, :1]), 0.0)
    if own.shape[1] == 1:  # one product for all models
        sums = (classes[:, 0].T @ flows.reshape(n, B * C)).reshape(C, B, C).permute(1, 0, 2)
    else:
        sums = torch.einsum("nbc,nbj->bcj", classes, flows)
    return sums, torch.zeros_like(sums[:1, :1, :1])


def _weights_and_sums(
    torch: Any, loss: Loss, y: Tensor, U: Tensor, s: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the sums of the weights (1 or B, 1), and of s U (B, K)."""
    return s.sum(axis=0)[:, None], (s[:, :, None] * U).sum(axis=0)


def _binary(
    loss: OneVsRest, y: Tensor, U: Tensor, s: Tensor, torch: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the labels, duals and weights of B K binary models."""
    n, B, K = U.shape
    weights = torch.broadcast_to(s[:, :, None], U.shape).reshape(n, B * K)
    return *loss.split(y, U, torch), weights


def _is_lifted(loss: Loss, n_outputs: int) -> bool:
    return n_outputs == 1 or loss.coupling(n_outputs) == "full"


def _lift(torch: Any, loss: Loss, U: Tensor) -> Tensor:
    """Return the duals with that of the first class, whose score is fixed at 0."""
    return prepend(-U.sum(axis=2, keepdims=True), U, torch) if _is_lifted(loss, U.shape[2]) else U


def _imbalance(A: Array) -> Array:
    """Return the flow (B,) that classes receive in excess or lack, as a fraction of all flows."""
    off, total = np.abs(A.sum(axis=1) - A.sum(axis=2)).sum(axis=1), A.sum(axis=(1, 2))
    return np.where(total > 0.0, off / np.where(total > 0.0, total, 1.0), 0.0)
