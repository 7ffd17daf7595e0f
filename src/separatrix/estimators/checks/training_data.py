"""Checks of X, y and sample weights, which return the data set that models are trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from separatrix._sklearn_compat import check_feature_names, check_sample_weight
from separatrix.data import BlockRows, Dataset, current_rows_per_block, require_own_labels
from separatrix.estimators.checks.class_weights import weigh_classes, with_class_weights
from separatrix.estimators.checks.validation import (
    as_numbers,
    is_plain,
    require_equal_lengths,
    require_features,
    require_finite,
    require_known_classes,
    require_labels,
    require_numbers,
    require_one_kind,
    require_two_classes,
    require_weights,
)
from separatrix.estimators.linear_classifier import ACCEPTED, LinearClassifier
from separatrix.matrix import Array

# Up to this number of classes, every label is compared with each; above it, a search is faster.
FEW_NUMBERS, FEW_WORDS = 16, 4


def make_dataset(
    estimator: LinearClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weights: Sequence[Any] = (None,),
    *,
    classes: Array | None = None,
) -> Dataset:
    """Check training data, learn the classes and feature names, and return a data set.

    `class_weights` has one entry per model. X can be rows outside of memory, which have labels.
    """
    if isinstance(X, BlockRows):
        return _dataset_of_rows(estimator, X, y, sample_weight, class_weights, classes)
    require_equal_lengths(X, y)
    require_numbers("X", X)
    require_labels("y", y)
    first = not (classes is not None and hasattr(estimator, "n_features_in_"))
    if first and is_plain(X) and _is_plain_column(y):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    else:
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
    X = estimator._fit_feature_map(X) if first else estimator._apply_feature_map(X)
    return Dataset.of(X, numbers, weights, classes=classes, rows_per_block=current_rows_per_block())


def _dataset_of_rows(
    estimator: LinearClassifier,
    rows: BlockRows,
    y: Any,
    sample_weight: Any,
    class_weights: Sequence[Any],
    classes: Array | None,
) -> Dataset:
    """Return the data set of rows outside of memory, which were checked when they were stored."""
    require_no_feature_map(estimator, rows)
    require_own_labels(rows, y, sample_weight)
    estimator.n_features_in_ = rows.shape[1]
    if rows.template is None:
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        check_feature_names(estimator, rows.template, reset=classes is None)
    data = rows.dataset() if classes is None else rows.dataset_of(classes)
    if data is None:
        require_known_classes(rows.dataset().classes, np.asarray(classes))
    assert data is not None
    require_two_classes(data.classes)
    return weigh_classes(data, class_weights)


def require_no_feature_map(estimator: LinearClassifier, rows: BlockRows) -> None:
    """Raise if an estimator makes other features from X, which needs X in memory."""
    if estimator._feature_map_key() is not None:
        raise ValueError(
            f"{type(estimator).__name__} needs X in memory, because it makes features from it. Got "
            f"{rows!r}. Use LogisticRegression or LinearSVC."
        )


def _is_plain_column(y: Any) -> bool:
    """Return whether scikit-learn's checks would accept the labels y and return them unchanged."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU"
    return plain and bool(y.flags.c_contiguous)


def make_validation_set(
    estimator: LinearClassifier, X_val: Any, y_val: Any, data: Dataset, weights: Any = None
) -> Dataset | None:
    """Check that a validation set matches the training data, and return it as a data set.

    `weights` (m,) are the sample weights of its rows.
    """
    if X_val is None and y_val is None:
        return None
    if isinstance(X_val, BlockRows):
        return _validation_rows(estimator, X_val, y_val, data, weights)
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val must be given together.")
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
        raise ValueError("X_val has no rows. Pass at least one row, or omit X_val and y_val.")
    require_features(estimator, checked, "X_val")
    check_feature_names(estimator, X_val, reset=False)
    require_finite("X_val", checked)
    require_labels("y_val", y_val)
    labels = column_or_1d(y_val)
    require_known_classes(labels, data.classes, validation=True)
    checked = estimator._apply_feature_map(checked)
    numbers = np.searchsorted(data.classes, labels)
    return Dataset.of(
        checked,
        numbers,
        as_weights(weights, checked, 1),
        classes=data.classes,
        rows_per_block=current_rows_per_block(),
    )


def _validation_rows(
    estimator: LinearClassifier, rows: BlockRows, y_val: Any, data: Dataset, weights: Any
) -> Dataset:
    """Return validation rows outside of memory as a data set of the classes in training."""
    require_own_labels(rows, y_val, weights)
    require_features(estimator, rows, "X_val")
    if rows.template is not None:
        check_feature_names(estimator, rows.template, reset=False)
    found = rows.dataset_of(data.classes)
    if found is None:
        require_known_classes(rows.dataset().classes, data.classes, validation=True)
    assert found is not None
    return found


def number_classes(y: Array, classes: Array | None = None) -> tuple[Array, Array]:
    """Return the classes and the class number of every label in y (n,).

    If `classes` are given, labels of other classes are an error.
    """
    require_one_kind("y", y)
    if classes is None:
        classes, numbers = number_labels(y)
        require_class_labels(y, classes)
        require_two_classes(classes)
        return classes, numbers
    check_classification_targets(y)
    require_known_classes(y, classes)
    return classes, np.searchsorted(classes, y)


def number_labels(y: Array, sample: int = 1000) -> tuple[Array, Array]:
    """Return the sorted classes of y (n,) and the class number of every label.

    The result is that of np.unique with return_inverse. It is faster because it sorts only the
    first `sample` labels, which usually contain most classes, and labels of other classes.

    >>> import numpy as np
    >>> number_labels(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    classes = np.unique(y[:sample])
    few = FEW_NUMBERS if y.dtype.kind in "biuf" else FEW_WORDS
    while True:
        if len(classes) <= few:
            numbers = np.zeros(len(y), np.intp)
            for later in classes[1:]:
                numbers += y >= later
        else:
            numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        unmet = classes[numbers] != y
        if not unmet.any():
            return classes, numbers
        classes = np.union1d(classes, y[unmet])


def require_class_labels(y: Array, classes: Array) -> None:
    """Raise scikit-learn's error if y holds continuous values instead of classes."""
    # scikit-learn's check sorts all labels, so it is called only if it could fail.
    whole = classes.dtype.kind != "f" or (classes == np.rint(classes)).all()
    if y.dtype.kind == "O" or not whole:
        check_classification_targets(y)


def as_weights(sample_weight: Any, X: Any, n_columns: int) -> Array | None:
    """Check and return sample weights (n,) or (n, n_columns); return None for None."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim == 0 and given.dtype.kind in "biuf":  # one weight for all rows
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
    """Raise unless a matrix of weights has one column for each estimator."""
    if weights.shape != (n_rows, n_columns):
        raise ValueError(
            f"sample_weight must be of shape ({n_rows},) or ({n_rows}, {n_columns}), one column "
            f"for each estimator. Got {weights.shape} instead."
        )
