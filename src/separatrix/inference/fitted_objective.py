"""A fitted estimator together with the data of its fit."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data import BlockRows, Dataset
from separatrix.estimators.checks.class_weights import with_class_weights
from separatrix.estimators.checks.training_data import as_weights, make_dataset
from separatrix.estimators.checks.validation import list_classes
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training.task import Task

SAME_VALUE = 1e-6  # largest relative difference of two equal objectives; float32 sums differ less


@dataclass(frozen=True, eq=False)
class FittedObjective:
    """A fitted estimator and its data.

    Attributes
    ----------
    rows : X and y, without weights
    y : (n,), the class numbers
    s : (n,), the sample weights, without class weights
    task, objective, model : the training task, the objective that was minimised and its solution
    """

    estimator: OptimumClassifier
    rows: Dataset
    y: Array
    s: Array
    task: Task
    objective: Objective
    model: Model

    @classmethod
    def of(
        cls, estimator: OptimumClassifier, X: Any, y: Any, sample_weight: Any
    ) -> FittedObjective:
        """Check that these are the data of the fit: the objective must have the same value."""
        checked = copy(estimator)
        if isinstance(X, BlockRows):
            sample_weight = X.weights if sample_weight is None else sample_weight
        data = make_dataset(checked, X, y, sample_weight)
        _require_same_columns(estimator, checked)
        if not np.array_equal(data.classes, estimator.classes_):
            raise ValueError(
                f"y has the classes {list_classes(data.classes)}, but the fit had "
                f"{list_classes(estimator.classes_)}. Pass the y of the fit."
            )
        y, given = data.labels(), as_weights(sample_weight, X, 1)
        s = np.ones(len(y)) if given is None else given.reshape(len(y))
        rows = data.with_weights(None)
        data = _weighted(rows, y, s, estimator)
        task = estimator._make_task(data)
        objective = Objective(
            data,
            task.loss,
            ElasticNet(task.l1, task.l2, task.factors, task.bias_factor),
            bias=task.bias,
        )
        model = estimator._model().astype(np.float64)
        _require_same_value(estimator, objective, model)
        return cls(estimator, rows, y, s, task, objective, model)

    def weighted(self, s: Array) -> Dataset:
        """Return the data with other weights (n,) or (n, B), times the class weights."""
        return _weighted(self.rows, self.y, s, self.estimator)

    def coefficients(self, model: Model) -> Array:
        """Return coefficients (B, K, p): the intercept, if there is one, before the weights."""
        W = np.transpose(model.W, (1, 2, 0))
        return np.concatenate([model.b[:, :, None], W], axis=2) if self.task.bias else W.copy()


def _weighted(rows: Dataset, y: Array, s: Array, estimator: OptimumClassifier) -> Dataset:
    n_models = 1 if s.ndim == 1 else s.shape[1]
    given = [estimator.class_weight] * n_models
    return rows.with_weights(with_class_weights(s, y, estimator.classes_, given))


def _require_same_columns(estimator: OptimumClassifier, checked: OptimumClassifier) -> None:
    known, given = (getattr(e, "feature_names_in_", None) for e in (estimator, checked))
    if checked.n_features_in_ != estimator.n_features_in_:
        raise ValueError(
            f"X has {checked.n_features_in_} features, but the fit had "
            f"{estimator.n_features_in_}. Pass the X of the fit."
        )
    if known is not None and given is not None and not np.array_equal(known, given):
        at = int(np.flatnonzero(known != given)[0])
        raise ValueError(
            f"Column {at} of X is {given[at]!r}, but in the fit it was {known[at]!r}. Pass the "
            "columns of the fit in the same order."
        )


def _require_same_value(estimator: OptimumClassifier, objective: Objective, model: Model) -> None:
    now, then = float(objective.value(model)[0]), estimator.certificate_.primal
    if not abs(now - then) <= SAME_VALUE * max(abs(now), abs(then)):
        raise ValueError(
            f"The objective is {now:.6g} on this data, but was {then:.6g} after the fit. Pass the "
            "X, y and sample_weight of the fit. If parameters or coefficients were changed, fit "
            "again."
        )
