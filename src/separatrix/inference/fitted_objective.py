"""A fitted estimator, brought together again with the data it was fitted to."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.estimators.class_weights import with_class_weights
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.training_data import as_weights, make_dataset
from separatrix.estimators.validation import list_classes
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training.task import Task

SAME_VALUE = 1e-6  # to which an objective must be what it was; float32 sums differ by less


@dataclass(frozen=True, eq=False)
class FittedObjective:
    """An estimator and its data.

    Attributes
    ----------
    rows : X and y, without weights
    s : (n,), the weights of the rows, those of the classes left out
    task, objective, model : what was asked for, what was minimised, and what was found
    """

    estimator: OptimumClassifier
    rows: Block
    s: Array
    task: Task
    objective: Objective
    model: Model

    @classmethod
    def of(
        cls, estimator: OptimumClassifier, X: Any, y: Any, sample_weight: Any
    ) -> FittedObjective:
        """Check that these are the data of the fit: its objective has the same value on them."""
        checked = copy(estimator)
        data = make_dataset(checked, X, y, sample_weight)
        _require_same_columns(estimator, checked)
        if not np.array_equal(data.classes, estimator.classes_):
            raise ValueError(
                f"y has the classes {list_classes(data.classes)}, and the fit has "
                f"{list_classes(estimator.classes_)}. Give the y of the fit."
            )
        (block,) = data.blocks()
        given = as_weights(sample_weight, X, 1)
        s = np.ones(len(block.y)) if given is None else given.reshape(len(block.y))
        rows = Block(block.X, block.y)
        data = _weighted(rows, s, estimator)
        task = estimator._make_task(data)
        objective = Objective(
            data,
            task.loss,
            ElasticNet(task.l1, task.l2, task.factors, task.bias_factor),
            bias=task.bias,
        )
        model = estimator._model().astype(np.float64)
        _require_same_value(estimator, objective, model)
        return cls(estimator, rows, s, task, objective, model)

    def weighted(self, s: Array) -> Dataset:
        """The data with other weights, (n,) or (n, B), times those of the classes."""
        return _weighted(self.rows, s, self.estimator)

    def coefficients(self, model: Model) -> Array:
        """Intercept, if there is one, and weights of every output of every model, (B, K, p)."""
        W = np.transpose(model.W, (1, 2, 0))
        return np.concatenate([model.b[:, :, None], W], axis=2) if self.task.bias else W.copy()


def _weighted(rows: Block, s: Array, estimator: OptimumClassifier) -> Dataset:
    classes = estimator.classes_
    n_models = 1 if s.ndim == 1 else s.shape[1]
    weights = with_class_weights(s, rows.y, classes, [estimator.class_weight] * n_models)
    return Dataset.of(rows.X, rows.y, weights, classes=classes)


def _require_same_columns(estimator: OptimumClassifier, checked: OptimumClassifier) -> None:
    known, given = (getattr(e, "feature_names_in_", None) for e in (estimator, checked))
    if checked.n_features_in_ != estimator.n_features_in_:
        raise ValueError(
            f"X has {checked.n_features_in_} features, and the fit has "
            f"{estimator.n_features_in_}. Give the X of the fit."
        )
    if known is not None and given is not None and not np.array_equal(known, given):
        at = int(np.flatnonzero(known != given)[0])
        raise ValueError(
            f"Column {at} of X is {given[at]!r}, and in the fit it is {known[at]!r}. Give the "
            "columns of the fit, in its order."
        )


def _require_same_value(estimator: OptimumClassifier, objective: Objective, model: Model) -> None:
    now, then = float(objective.value(model)[0]), estimator.certificate_.primal
    if not abs(now - then) <= SAME_VALUE * max(abs(now), abs(then)):
        raise ValueError(
            f"The objective of the fit is {now:.6g} on these data, and was {then:.6g} when it was "
            "fitted. Give the X, y and sample_weight of the fit, and fit again after a change of "
            "the parameters or the weights."
        )
