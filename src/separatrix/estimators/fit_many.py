"""Fit several estimators as one batch.

    X, y, weights -> data set -> one task per estimator -> training -> fitted attributes -> warnings

A single fit is a batch of one estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.cluster import is_collection
from separatrix.data import BlockRows, Dataset
from separatrix.device import to_host
from separatrix.errors import ParameterError
from separatrix.estimators.certified.certified_predictions import Proof, prove
from separatrix.estimators.checks.placed_data import place_rows, place_validation_rows
from separatrix.estimators.checks.training_data import (
    make_dataset,
    make_validation_set,
    require_columns,
)
from separatrix.estimators.linear_classifier import LinearClassifier, copy_feature_attributes
from separatrix.matrix import Array
from separatrix.training import Progress, Result, train
from separatrix.training.recording.callbacks import renumbered
from separatrix.training.task import Task

Estimator = TypeVar("Estimator", bound=LinearClassifier)


def fit_many(
    estimators: Sequence[Estimator],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    device: str | None = None,
) -> list[Estimator]:
    """Fit several estimators to the same data in shared passes.

    Estimators with the same kind of solver and loss share every pass over X, so the data is read
    as often as for a single model. Estimators that differ only in `epochs` are trained as a single
    run. The results are the same as if each estimator had been fitted alone.

    Parameters
    ----------
    estimators : list of estimators
        Estimators of this library. They are fitted in place.
    X : array-like or sparse matrix of shape (n, d), or rows on disk
        Training data. Rows on disk come from `separatrix.open`.
    y : array-like of shape (n,), default=None
        Class labels. Rows on disk have their own.
    sample_weight : array-like of shape (n,) or (n, len(estimators)), default=None
        Weights of the rows, shared by all estimators or with one column per estimator.
    X_val, y_val : array-like of shape (m, d) and (m,), default=None
        Validation set for the histories and for early stopping (`patience`).
    on_progress : callable, default=None
        Function to call with a `Progress` after every epoch of every batch. `Progress.members`
        holds the positions of the batch's estimators in the list.
    device : str, default=None
        Device of PyTorch on which to train all estimators, such as "cuda". None leaves the choice
        to the `device` parameter of each estimator.

    Returns
    -------
    estimators : list of estimators
        The fitted estimators, in the same order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier, fit_many
    >>> X, y = load_iris(return_X_y=True)
    >>> rates = [0.1, 0.01, 0.001]
    >>> models = [GradientDescentClassifier(learning_rate=r, momentum=0.9) for r in rates]
    >>> [round(model.score(X, y), 2) for model in fit_many(models, X, y)]
    [0.98, 0.97, 0.67]
    """
    estimators = _require_estimators(estimators)
    if not estimators:
        return []
    X, y, sample_weight, X_val, y_val = (to_host(a) for a in (X, y, sample_weight, X_val, y_val))
    if is_collection(X):
        X, y, sample_weight = place_rows(X, y, sample_weight), None, None
    if is_collection(X_val):
        X_val, y_val = place_validation_rows(X_val, y_val), None
    weights = None if sample_weight is None else np.asarray(sample_weight)
    own_weights = weights is not None and weights.ndim == 2
    groups: dict[Hashable, list[int]] = {}
    for k, estimator in enumerate(estimators):
        split = estimator._split_key()
        # Validation rows have the weights of one model.
        alone = k if own_weights and split is not None else None
        key = estimator._feature_map_key(), split, alone
        groups.setdefault(key, []).append(k)
    if weights is not None and own_weights:
        require_columns(weights, len(weights), len(estimators))
    # Change estimators only after all are trained: a failed fit then leaves all of them unchanged.
    trained = [
        _train_group(
            [_on_device(estimators[k], device) for k in numbers],
            X,
            y,
            weights[:, numbers] if weights is not None and own_weights else weights,
            (X_val, y_val),
            renumbered(on_progress, numbers),
        )
        for numbers in groups.values()
    ]
    for numbers, (checked, classes, tasks, results, regions) in zip(groups.values(), trained):
        for k, task, result, region in zip(numbers, tasks, results, regions):
            copy_feature_attributes(checked, estimators[k])
            estimators[k]._set_fitted(result, task.loss, classes)
            if region is not None:
                estimators[k]._store_region(*region)
            if result.state is not None:
                estimators[k]._state_of = task.state_kind()
    for k, estimator in enumerate(estimators):
        own = weights[:, k] if weights is not None and own_weights else weights
        finish_fit(estimator, X, y, own)
    return estimators


def _on_device(estimator: Estimator, device: str | None) -> Estimator:
    """Return the estimator, or a copy of it that trains on a device."""
    if device is None:
        return estimator
    if "device" not in estimator.get_params(deep=False):
        raise ParameterError(
            f"device={device!r} cannot be used with {type(estimator).__name__}. Estimators with a "
            "device: GradientDescentClassifier, LinearSVC, LogisticRegression.",
            parameter="device",
        )
    out = copy(estimator)
    out.device = device
    return out


def _require_estimators(estimators: Any) -> list[Any]:
    if isinstance(estimators, BaseEstimator):
        raise TypeError(
            f"fit_many takes a list of estimators. Got a single {type(estimators).__name__} "
            "instead. Put it into a list, or call its fit method."
        )
    estimators = list(estimators)
    for estimator in estimators:
        if not isinstance(estimator, LinearClassifier):
            raise TypeError(
                "fit_many takes estimators of separatrix, such as GradientDescentClassifier. "
                f"Got {type(estimator).__name__} instead."
            )
    return estimators


def _train_group(
    estimators: Sequence[LinearClassifier],
    X: Any,
    y: Any,
    sample_weight: Array | None,
    held_out: tuple[Any, Any],
    on_progress: Callable[[Progress], None] | None,
) -> tuple[LinearClassifier, Array, list[Task], list[Result], list[Proof | None]]:
    """Train estimators with the same feature map and validation rows without changing them.

    Returns a copy of the first estimator with its feature attributes, the classes, the tasks, the
    results and the regions of the optima.
    """
    checked = copy(estimators[0])
    if isinstance(X, BlockRows):
        require_blocks_suffice(estimators, X, held_out[0])
    given = any(part is not None for part in held_out)
    split = None if given else checked._set_aside(X, y, sample_weight)
    held_out_weights = None
    if split is not None:
        X, y, sample_weight, held_out, held_out_weights = split
    class_weights = [getattr(estimator, "class_weight", None) for estimator in estimators]
    data = make_dataset(checked, X, y, sample_weight, class_weights)
    tasks = [
        estimator._make_task(data.select(np.array([k]))) for k, estimator in enumerate(estimators)
    ]
    validation = make_validation_set(checked, *held_out, data, held_out_weights)
    require_validation(tasks, validation)
    keep_state = any(estimator._keeps_state for estimator in estimators)
    results = train(tasks, data, validation, on_progress=on_progress, keep_state=keep_state)
    results = [
        result if estimator._keeps_state else replace(result, state=None)
        for estimator, result in zip(estimators, results)
    ]
    regions = [
        prove(task, data.select(np.array([k])), result) if estimator._stores_region() else None
        for k, (estimator, task, result) in enumerate(zip(estimators, tasks, results))
    ]
    return checked, data.classes, tasks, results, regions


def require_blocks_suffice(
    estimators: Sequence[LinearClassifier], rows: BlockRows, X_val: Any
) -> None:
    """Raise if an estimator has a parameter that needs rows in memory."""
    for estimator in estimators:
        what = estimator._needs_memory(X_val is not None)
        if what:
            raise ValueError(
                f"{type(estimator).__name__} with {what} needs X in memory. Got {rows!r}."
            )


def require_validation(tasks: Sequence[Task], validation: Dataset | None) -> None:
    """Raise if a model uses early stopping but there is no validation set."""
    if validation is None and any((task.stop.patience >= 0).any() for task in tasks):
        raise ParameterError(
            "patience needs a validation set, and none was given. "
            "Pass X_val and y_val to fit, or set patience=None.",
            parameter="patience",
        )
    asked = any(not np.isnan(task.stop.band).all() for task in tasks)
    if validation is None and asked:
        raise ParameterError(
            "tol='predictions' needs validation rows, and none were given. Pass X_val and y_val "
            "to fit, or set tol to a relative duality gap. Searches have no validation rows.",
            parameter="tol",
        )


def finish_fit(estimator: LinearClassifier, X: Any, y: Any, sample_weight: Any) -> None:
    """Do what remains after an estimator has been fitted, and warn about it."""
    estimator._warn(estimator._warned_kinds)
    estimator._finish(X, y, sample_weight)
