"""Training estimators together: the single fit is the case of one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    column_or_1d,
    validate_data,
)

from separatrix._sklearn_compat import check_feature_names, check_sample_weight
from separatrix.data import Dataset
from separatrix.estimators.class_labels import number_labels, require_class_labels
from separatrix.estimators.class_weights import with_class_weights
from separatrix.estimators.linear_classifier import ACCEPTED, LinearClassifier
from separatrix.estimators.validation import (
    as_numbers,
    require_equal_lengths,
    require_finite,
    require_known_classes,
    require_labels,
    require_numbers,
    require_one_kind,
    require_two_classes,
    require_weights,
)
from separatrix.matrix import Array
from separatrix.training import Progress, Result, train
from separatrix.training.callbacks import renumbered
from separatrix.training.task import Task

Estimator = TypeVar("Estimator", bound=LinearClassifier)


def fit_many(
    estimators: Sequence[Estimator],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    on_record: Callable[[Progress], None] | None = None,
) -> list[Estimator]:
    """Fit estimators over the same data as one batch, and return them.

    Whatever can share a pass over X does: the data is read as often as for one model. Estimators
    that differ only in `epochs` are one run, read off several times. The result is the same as
    that of fitting each alone.

    Parameters
    ----------
    estimators : the estimators to fit, in place
    X, y : the training data, as for `fit`
    sample_weight : None, (n,) or (n, len(estimators)), a column for each
    X_val, y_val : a validation set, for the history and for patience
    on_record : called with a `Progress` after every epoch of every batch; its `members` say which
        estimators the batch is made of

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier, fit_many
    >>> X, y = load_iris(return_X_y=True)
    >>> rates = [0.1, 0.01, 0.001]
    >>> models = [GradientDescentClassifier(learning_rate=r, momentum=0.9) for r in rates]
    >>> [round(model.score(X, y), 2) for model in fit_many(models, X, y)]
    [0.98, 0.97, 0.67]
    """
    if isinstance(estimators, BaseEstimator):
        raise TypeError(
            f"fit_many takes a list of estimators. Got a single {type(estimators).__name__} "
            "instead: put it into a list, or call its fit."
        )
    estimators = list(estimators)
    if not estimators:
        return []
    for estimator in estimators:
        if not isinstance(estimator, LinearClassifier):
            raise TypeError(
                "fit_many takes estimators of separatrix, such as GradientDescentClassifier. "
                f"Got {type(estimator).__name__} instead."
            )
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
    groups: dict[Hashable, list[int]] = {}
    for k, estimator in enumerate(estimators):
        groups.setdefault(estimator._rows_key(), []).append(k)
    # All are trained before any is changed: a failed fit leaves all estimators as they were.
    fits = [
        _train_alike(estimators, numbers, X, y, sample_weight, (X_val, y_val), on_record)
        for numbers in groups.values()
    ]
    for numbers, (checked, classes, tasks, results) in zip(groups.values(), fits):
        for k, task, result in zip(numbers, tasks, results):
            copy_learnt(checked, estimators[k])
            estimators[k]._accept(result, task.loss, classes)
    for k, estimator in enumerate(estimators):
        estimator._warn()
        each = sample_weight is not None and sample_weight.ndim == 2
        estimator._calibrate(X, y, sample_weight[:, k] if each else sample_weight)
    return estimators


def _train_alike(
    estimators: Sequence[LinearClassifier],
    numbers: Sequence[int],
    X: Any,
    y: Any,
    sample_weight: Array | None,
    held_out: tuple[Any, Any],
    on_record: Callable[[Progress], None] | None,
) -> tuple[LinearClassifier, Array, list[Task], list[Result]]:
    """Train those of the estimators, by their numbers, that see the rows of X alike.

    Returns a copy of the first, which has learnt the features; the classes; tasks and results.
    """
    own = [estimators[k] for k in numbers]
    if sample_weight is not None and sample_weight.ndim == 2:
        require_columns(sample_weight, len(sample_weight), len(estimators))
        sample_weight = sample_weight[:, numbers]
    checked = copy(own[0])
    class_weights = [getattr(estimator, "class_weight", None) for estimator in own]
    data = prepare(checked, X, y, sample_weight, class_weights)
    tasks = [estimator._task(data.select(np.array([k]))) for k, estimator in enumerate(own)]
    validation = prepare_validation(checked, *held_out, data)
    require_validation(tasks, validation)
    results = train(tasks, data, validation, on_record=renumbered(on_record, numbers))
    return checked, data.classes, tasks, results


def prepare(
    estimator: LinearClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weights: Sequence[Any] = (None,),
    *,
    classes: Array | None = None,
) -> Dataset:
    """Check training data, learn its classes and feature names, and make it a data set.

    `class_weights` has one entry for every model.
    """
    require_equal_lengths(X, y)
    require_numbers("X", X)
    require_labels("y", y)
    first = not (classes is not None and hasattr(estimator, "n_features_in_"))
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=first,
        accept_sparse=ACCEPTED,
        dtype="numeric",
        ensure_all_finite=False,
        multi_output=False,
        y_numeric=False,
    )
    X = as_numbers(X)
    require_finite("X", X)
    classes, numbers = number_classes(y, classes)
    weights = as_weights(sample_weight, X, len(class_weights))
    weights = with_class_weights(weights, numbers, classes, class_weights)
    X = estimator._learn_rows(X) if first else estimator._see_rows(X)
    return Dataset.of(X, numbers, weights, classes=classes)


def number_classes(y: Array, classes: Array | None = None) -> tuple[Array, Array]:
    """The classes, of the labels y (n,) unless they are known, and the number of every label's."""
    require_one_kind("y", y)
    if classes is None:
        classes, numbers = number_labels(y)
        require_class_labels(y, classes)
        require_two_classes(classes)
        return classes, numbers
    check_classification_targets(y)
    require_known_classes(y, classes)
    return classes, np.searchsorted(classes, y)


def prepare_validation(
    estimator: LinearClassifier, X_val: Any, y_val: Any, data: Dataset
) -> Dataset | None:
    """Check a validation set against the training data it goes with."""
    if X_val is None and y_val is None:
        return None
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val go together: give both, or neither.")
    require_equal_lengths(X_val, y_val, ("X_val", "y_val"))
    require_numbers("X_val", X_val)
    checked = as_numbers(
        check_array(
            X_val,
            accept_sparse=ACCEPTED,
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name="X_val",
        )
    )
    if not checked.shape[0]:
        raise ValueError("X_val has no rows. Give rows to validate on, or leave X_val out.")
    if checked.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_val has {checked.shape[1]} columns and X has {estimator.n_features_in_}: they must "
            "have the same features, in the same order."
        )
    check_feature_names(estimator, X_val, reset=False)
    require_finite("X_val", checked)
    require_labels("y_val", y_val)
    labels = column_or_1d(y_val)
    require_known_classes(labels, data.classes, validation=True)
    checked = estimator._see_rows(checked)
    return Dataset.of(checked, np.searchsorted(data.classes, labels), classes=data.classes)


def as_weights(sample_weight: Any, X: Any, n_columns: int) -> Array | None:
    """Check sample weights, (n,) or (n, n_columns); None stays None."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim == 0 and given.dtype.kind in "biuf":  # one for all rows
        given = sample_weight = np.full(X.shape[0], given)
    if given.ndim == 2:
        require_columns(given, X.shape[0], n_columns)
        columns = [as_weights(given[:, k], X, 1) for k in range(n_columns)]
        return np.stack([c for c in columns if c is not None], axis=1)
    if given.ndim == 1:
        require_equal_lengths(X, given, ("X", "sample_weight"))
        if given.dtype.kind not in "biuf":
            raise ValueError(
                f"sample_weight must hold numbers. Got an array of type {given.dtype} instead."
            )
        require_weights(given)
    return np.asarray(check_sample_weight(sample_weight, X, dtype=np.float64))


def require_columns(weights: Array, n_rows: int, n_columns: int) -> None:
    """Raise unless weights of two axes have a column for each estimator."""
    if weights.shape != (n_rows, n_columns):
        raise ValueError(
            f"sample_weight must be of shape ({n_rows},) or ({n_rows}, {n_columns}), one column "
            f"for each estimator. Got {weights.shape} instead."
        )


def require_validation(tasks: Sequence[Task], validation: Dataset | None) -> None:
    """Raise if a model is to wait for a validation set that is not there."""
    if validation is None and any((task.stop.patience >= 0).any() for task in tasks):
        raise ValueError(
            "patience watches a validation set, and none was given. "
            "Pass X_val and y_val to fit, or set patience=None."
        )


def copy_learnt(source: LinearClassifier, target: LinearClassifier) -> None:
    """Let one estimator know what another has learnt from X alone, such as the features' names."""
    for name in source._learnt_of_rows:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
        elif hasattr(target, name):
            delattr(target, name)
