"""Predictions that are proven to be those of the exact optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.data import Dataset
from separatrix.losses import Loss
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training import Result
from separatrix.training.task import Task
from separatrix.verdict.regions import Region, ScoreBounds, optimum_region, score_bounds
from separatrix.verdict.regions.rounding import UNIT, rounding_of
from separatrix.verdict.regions.screening import zero_weights
from separatrix.verdict.regions.slope import factor_columns


@dataclass(frozen=True, repr=False)
class CertifiedPredictions:
    """What is certain about the predictions of the exact optimum.

    Attributes
    ----------
    certain : ndarray of shape (n,)
        Whether the predicted class of a row is that of the exact optimum.
    low, high : ndarray of shape (n,) or (n, C)
        Bounds on the scores at the optimum, in the shape of `decision_function`. Scores of softmax
        are shifted so that their mean over the classes is 0; with an L1 penalty, those of
        `decision_function` are not.
    probability_low, probability_high : ndarray of shape (n, C) or None
        Bounds on the probabilities at the optimum, for models with probabilities.
    coef_radius : ndarray of shape (K, d)
        Largest distance of each weight of `coef_` from that of the optimum.
    """

    certain: Array
    low: Array
    high: Array
    probability_low: Array | None
    probability_high: Array | None
    coef_radius: Array

    def __repr__(self) -> str:
        n, sure = len(self.certain), int(self.certain.sum())
        if sure == n == 1:
            return "The prediction is that of the exact optimum."
        if sure == n:
            return f"All {n:,} predictions are those of the exact optimum."
        return f"{sure:,} of {n:,} predictions are those of the exact optimum."


# The region of the optimum, or why there is none; and which weights (K, d) are certainly 0 there.
Proof = tuple[Region | str, Array]


def prove(task: Task, data: Dataset, result: Result) -> Proof:
    """Return what is proven about the optimum of a task."""
    model = result.model.astype(np.float64)
    none = np.zeros(model.W[:, 0].T.shape, bool)
    if task.l1 > 0.0 and task.bias_factor > 0.0:
        return "There is no certificate for a bias with an L1 penalty. Use another solver.", none
    penalty = ElasticNet([task.l1], [task.l2], task.factors, task.bias_factor)
    objective = Objective(data, task.loss, penalty, bias=task.bias)
    zero = none
    if task.loss.convex and task.l1 > 0.0:
        zero = np.ascontiguousarray(zero_weights(objective, model)[:, 0].T)
    reason = _obstacle(task)
    if reason is not None:
        return reason, zero
    certificate, gap = result.certificate, None
    if certificate.gap is not None:
        off = rounding_of(4 * data.n_samples) * abs(certificate.primal)
        gap = np.array([certificate.gap + off])
    found = optimum_region(objective, model, gap=gap)
    assert found is not None  # all obstacles are known
    return found, zero


def _obstacle(task: Task) -> str | None:
    """Return why nothing bounds the optimum of a task, or None if something does."""
    free = task.bias and task.bias_factor == 0.0
    apart = task.loss.coupling(task.n_outputs) == "none"
    if task.l2 == 0.0:
        return (
            "The penalty has no L2 part, and only that bounds the distance of the weights from the "
            "optimum. Use a finite C, and elastic net instead of L1 alone."
        )
    if not task.loss.convex:
        return f"The loss '{task.loss.name}' is not convex."
    if free and not apart and not isinstance(task.loss, CrossEntropy):
        return (
            f"Nothing bounds the free biases of the multiclass loss '{task.loss.name}'. Train each "
            "class against the rest (ovr), or without a bias."
        )
    return None


def certify_rows(
    region: Region, loss: Loss, X: Matrix, classes: Array, threshold: float, n_classes: int
) -> tuple[Array, Array, Array, ScoreBounds]:
    """Return which predicted classes (n,) are certain, and bounds on the decision values."""
    bounds = score_bounds(region, loss, X)
    if n_classes == 2:
        low, high = decision_bounds(bounds)
        certain = np.where(classes == 1, low > threshold, high < threshold)
        return certain, low, high, bounds
    lead = bounds.leads(classes[:, None])[:, 0]
    return lead > 0.0, bounds.low[:, 0], bounds.high[:, 0], bounds


def decision_bounds(bounds: ScoreBounds) -> tuple[Array, Array]:
    """Return bounds (n,) on the decision value of two classes."""
    n = len(bounds.low)
    second, first = np.ones((n, 1), np.int64), np.zeros((n, 1), np.int64)
    return bounds.leads(second)[:, 0], -bounds.leads(first)[:, 0]


def coefficient_radius(region: Region, model: Model) -> Array:
    """Return the largest distance (K, d) of each weight of a model from that of the optimum."""
    centre, f = region.ball.centre.W, factor_columns(region.factors)
    with np.errstate(over="ignore"):
        reach = np.abs(model.W - centre) + region.ball.radius[None] / f
    size = np.abs(model.W) + np.abs(centre)
    return np.ascontiguousarray((reach + 4.0 * UNIT * (reach + size))[:, 0].T)


def intercept_radius(region: Region, loss: Loss, model: Model) -> Array:
    """Return the largest distance (K,) of each bias of a model from that of the optimum.

    A bias is the score of a row of zeros.
    """
    bounds = score_bounds(region, loss, Matrix(np.zeros((1, len(model.W)))))
    K = model.n_outputs
    low, high, b = bounds.low[0, 0, -K:], bounds.high[0, 0, -K:], model.b[0]
    reach = np.maximum(high - b, b - low)
    return np.asarray(reach + 4.0 * UNIT * (reach + np.abs(b)))
