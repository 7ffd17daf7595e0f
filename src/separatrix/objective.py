"""The objective that is minimised: data, loss and penalty together.

    P(W, b) = sum_i s_i loss(y_i, x_i W + b) / S  +  l1 |W|_1  +  l2/2 |W|^2,    S = sum_i s_i

for every model of a batch. The bias is not penalised unless the penalty says so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

import separatrix._core as _core
from separatrix.data import Dataset
from separatrix.hessian import HessianOperator
from separatrix.loss_sums import loss_and_gradient, loss_and_hits, sum_of_class_values
from separatrix.losses import Loss
from separatrix.matrix import Array, pick_models
from separatrix.model import Model
from separatrix.penalty import ElasticNet
from separatrix.recentring import Recentring


@dataclass(frozen=True)
class Evaluation:
    """The result of one pass over the data; all arrays except the gradients are (B,).

    `gradient_norm` is the norm of the smallest subgradient of P, including the bias; with l1 = 0
    this is the norm of the gradient. `GW` (d, B, K) is the gradient of the loss term only, `gb`
    (B, K) the gradient of the loss and the penalty on the bias. `scores` (n, B, K) are included on
    request, if all rows are in one block in memory.
    """

    loss: Array
    accuracy: Array
    penalty: Array
    gradient_norm: Array
    GW: Array
    gb: Array
    scores: Array | None = None

    @property
    def value(self) -> Array:
        """P, loss and penalty together."""
        return self.loss + self.penalty

    def put(self, models: Array, other: Evaluation) -> Evaluation:
        """Return a copy in which some of the models have a new evaluation."""
        names = [f.name for f in fields(self) if f.name != "scores"]
        out = Evaluation(*(getattr(self, name).copy() for name in names))
        for name in names:
            mine, theirs = getattr(out, name), getattr(other, name)
            if name == "GW":
                mine[:, models] = theirs
            else:
                mine[models] = theirs
        return out

    def on_host(self) -> Evaluation:
        """Return the evaluation as numpy arrays: a copy of gradients that are on a device."""
        return self

    def select(self, models: Array) -> Evaluation:
        """Return the evaluation of some of the models."""
        return Evaluation(
            self.loss[models],
            self.accuracy[models],
            self.penalty[models],
            self.gradient_norm[models],
            pick_models(self.GW, models),
            np.ascontiguousarray(self.gb[models]),
        )


class Objective:
    """The function P of B models over one data set.

    Parameters
    ----------
    data : Dataset
    loss : Loss
    penalty : ElasticNet, for one or for B models
    bias : whether the bias is trained; otherwise it is fixed
    scale : (B,), used instead of 1 / S: a mini-batch counts for all rows that it represents

    >>> from separatrix.losses import LOSSES
    >>> data = Dataset.of([[1.0], [-1.0]], [1, 0])
    >>> objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    >>> objective.value(Model.zeros(1, 1, 1)).round(4)
    array([0.6931])
    """

    def __init__(
        self,
        data: Dataset,
        loss: Loss,
        penalty: ElasticNet,
        *,
        bias: bool = True,
        scale: Array | None = None,
    ) -> None:
        self.data = data
        self.loss = loss
        self.penalty = penalty
        self.bias = bias
        self._penalises_bias = bias and bool(penalty.bias_curvature.any())
        if scale is None:
            total = data.total_weight()
            scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0)
        self._scale = np.atleast_1d(np.asarray(scale, np.float64))
        self._recentring: Recentring | None = None

    def scale(self, n_models: int) -> Array:
        """Return 1 / S of each model (B,), or the given scale; 0 for a model without weight."""
        return _of_each("The weights", self._scale, n_models)

    def strengths(self, n_models: int) -> tuple[Array, Array]:
        """Return l1 and l2 of each model (B,)."""
        what, penalty = "The l1 and l2 of the penalty", self.penalty
        return _of_each(what, penalty.l1, n_models), _of_each(what, penalty.l2, n_models)

    def bias_curvature(self, n_models: int) -> Array:
        """Return the second derivative of the penalty on the bias (B,): 0 if it has none."""
        what = "The l2 and bias_factor of the penalty"
        return _of_each(what, self.penalty.bias_curvature, n_models) * self.bias

    def place(self, model: Model) -> Model:
        """Return the model where the passes run: a copy on a device, or the model itself."""
        return model

    def factors(self, model: Model) -> Array | None:
        """Return the penalty's factors for the kernels: (d,), or one per column of W."""
        f = self.penalty.factors
        if f is None:
            return None
        if f.ndim == 2:
            f = np.broadcast_to(f[:, :, None], model.W.shape).reshape(len(f), model.b.size)
        return np.ascontiguousarray(f, model.W.dtype)

    def value(self, model: Model) -> Array:
        """P (B,)."""
        loss, _ = self.loss_and_accuracy(model)
        return loss + self.penalty.value(model.W) + self._bias_penalty(model)

    def value_of_zero(self, n_models: int, n_outputs: int) -> Array:
        """Return P (B,) of models with zero weights and biases, without reading X."""
        classes = np.arange(self.data.highest_label + 1)
        each = self.loss.value(classes, np.zeros((len(classes), 1, n_outputs)))[:, 0]
        (total,) = self.data.sum_over_blocks(sum_of_class_values, each)
        return np.broadcast_to(total, n_models) * self.scale(n_models)

    def loss_and_accuracy(self, model: Model) -> tuple[Array, Array]:
        """Return the mean loss and the weighted accuracy, (B,) each."""
        self.require(model)
        scale = self.scale(model.n_models)
        loss, hits = self.data.sum_over_blocks(loss_and_hits, self.loss, model, scale)
        return loss * scale, hits * scale

    def evaluate(self, model: Model, gradient: bool = True, scores: bool = False) -> Evaluation:
        """Compute loss, accuracy, penalty and gradient of every model in one pass over the data.

        Without the gradient (NaN then) it takes half the time, and even less at zero weights. With
        `scores`, the scores are kept too if the loss has a kernel and all rows are in one block.
        """
        self.require(model)
        if not gradient:
            loss, accuracy = self.loss_and_accuracy(model)
            penalty = self.penalty.value(model.W) + self._bias_penalty(model)
            GW, gb = (np.broadcast_to(np.nan, a.shape) for a in (model.W, model.b))
            return Evaluation(loss, accuracy, penalty, np.full_like(loss, np.nan), GW, gb)
        seen = None
        if scores and self.loss.compiled and self.data.in_one_block:
            seen = np.empty((self.data.n_samples, *model.b.shape), model.W.dtype)
        scale = self.scale(model.n_models)
        loss, hits, GW, gb = self.data.sum_over_blocks(
            loss_and_gradient, self.loss, model, scale, seen
        )
        gb = (gb + self._bias_gradient(model.b)).astype(model.b.dtype, copy=False)
        if not self.bias:
            gb[:] = 0
        l1, l2 = self.strengths(model.n_models)
        penalty, squares = np.zeros(model.n_models), np.zeros(model.n_models)
        _core.penalty_and_gradient_norm(
            model.W, GW, gb, l1, l2, self.factors(model), self.bias, penalty, squares
        )  # fmt: skip
        penalty += self._bias_penalty(model)
        norm = np.sqrt(squares)
        return Evaluation(loss * scale, hits * scale, penalty, norm, GW, gb, seen)

    def gradient(self, model: Model) -> tuple[Array, Array]:
        """Return the gradient of the loss and the l2 term for W (d, B, K) and b (B, K)."""
        found = self.evaluate(model)
        return found.GW + self.penalty.gradient(model.W), found.gb

    def recentring(self, n_models: int) -> Recentring:
        """Return the recentring of the features: to their origin for unpenalised biases."""
        if self._recentring is None or len(self._recentring.free) != n_models:
            free = self.bias & (self.bias_curvature(n_models) == 0.0)
            self._recentring = Recentring(self.data.origin(), free)
        return self._recentring

    def hessian_operator(
        self, model: Model, recentring: Recentring | None = None, scores: Array | None = None
    ) -> HessianOperator:
        """Return the Hessian of the loss and the l2 terms, for features as given or recentred.

        The model is for the features as given. Its scores are computed unless an evaluation has
        them.
        """
        self.require(model)
        B = model.n_models
        bias = self.bias_curvature(B) if self.bias else None
        if recentring is None:
            recentring = Recentring.at_zero(self.data.n_features, B)
        scale = self.scale(B)
        return HessianOperator(
            self.data, self.loss, self.penalty, model, scale, bias, recentring, scores
        )

    def hessian_times(self, model: Model, V: Model) -> Model:
        """Return the Hessian of the loss and the l2 terms times the direction V (a model)."""
        return self.hessian_operator(model).times(V)

    def select(self, models: Array) -> Objective:
        """Return the objective of some of the models."""
        return Objective(
            self.data.select(models),
            self.loss,
            self.penalty.select(models),
            bias=self.bias,
            scale=self._scale if len(self._scale) == 1 else self._scale[models],
        )

    def every(self, step: int) -> Objective:
        """Return the objective of every step-th row: less accurate, but proportionally cheaper."""
        return Objective(self.data.every(step), self.loss, self.penalty, bias=self.bias)

    def words(self, b: int = 0) -> str:
        """Describe the formula that model b minimises, in words and numbers."""
        rows = f"{self.data.n_samples:,} {'weighted ' if self._is_weighted(b) else ''}rows"
        parts = [f"{self.loss.words} over {rows}"]
        penalty = self.penalty.words(b)
        parts.append(penalty)
        text = " + ".join(parts) if penalty != "no penalty" else ", ".join(parts)
        if not self.bias:
            return f"{text}, no bias"
        own = self.penalty.bias_curvature
        penalised = own[b if len(own) > 1 else 0] > 0.0
        return f"{text}, bias {'penalised' if penalised else 'free'}"

    def _is_weighted(self, b: int) -> bool:
        """Return whether the rows of model b have different weights; a mean ignores equal ones."""
        vary = self.data.weights_vary()
        return bool(vary[b if len(vary) > 1 else 0])

    def require(self, model: Model) -> None:
        """Raise unless a model fits the data, the loss and the penalty: kernels check nothing."""
        data, (W, b) = self.data, (model.W, model.b)
        d = data.n_features
        if W.ndim != 3 or W.shape[0] != d or b.shape != W.shape[1:] or not b.size:
            raise ValueError(
                f"The data has {d} features: a model must have W of shape ({d}, B, K) and b of "
                f"shape (B, K). Got {W.shape} and {b.shape} instead."
            )
        if W.dtype not in (np.float32, np.float64) or b.dtype != W.dtype:
            raise ValueError(
                "W and b of a model must both be float32 or both float64. "
                f"Got {W.dtype} and {b.dtype} instead. Convert them with Model.astype."
            )
        if not (W.flags.c_contiguous and b.flags.c_contiguous):
            raise ValueError("W and b of a model must be in C order. Model.copy makes one.")
        n_classes = _n_classes(self.loss, model.n_outputs)
        if data.highest_label >= n_classes:
            raise ValueError(
                f"Loss '{self.loss.name}' with n_outputs={model.n_outputs} has only {n_classes} "
                f"classes. The data has the class number {data.highest_label}. "
                "Give the model an output for every class."
            )
        for name, given in data.facts.own.items():
            if given != model.n_models:
                raise ValueError(
                    f"The {name} of the data must have one column for all models, or one for "
                    f"each of {model.n_models}. Got {given} instead."
                )
        f = self.penalty.factors
        if f is not None and (len(f) != d or f[0].size not in (1, model.n_models)):
            raise ValueError(
                f"The 'factors' of the penalty must be of shape ({d},) or ({d}, {model.n_models}). "
                f"Got {f.shape} instead."
            )

    def _bias_penalty(self, model: Model) -> Array | float:
        return self.penalty.bias_value(model.b) if self._penalises_bias else 0.0

    def _bias_gradient(self, b: Array) -> Array | float:
        if not self._penalises_bias:
            return 0.0
        curvature = self.bias_curvature(len(b))[:, None]
        return np.where(curvature > 0.0, curvature * b, 0.0)  # 0 if unpenalised, even for b = inf


def _n_classes(loss: Loss, n_outputs: int) -> int:
    """Return the number of classes of `n_outputs` outputs; a fixed score 0 is a class too."""
    try:
        lifted = n_outputs == 1 or loss.n_outputs(n_outputs + 1) == n_outputs
    except ValueError:  # a loss for two classes
        lifted = False
    return n_outputs + lifted


def _of_each(what: str, a: Array, n_models: int) -> Array:
    """Return one number for every model, given one for all or one each."""
    if len(a) not in (1, n_models):
        raise ValueError(
            f"{what} must be one for all models, or one for each of {n_models}. Got {len(a)} "
            "instead."
        )
    return a if len(a) == n_models else np.repeat(a, n_models)
