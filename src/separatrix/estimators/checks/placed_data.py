"""Checks of rows on the workers of a cluster, with the messages for rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix._sklearn_compat import check_feature_names
from separatrix.cluster import PlacedRows
from separatrix.data import Dataset
from separatrix.errors import ParameterError
from separatrix.estimators.checks.class_weights import factors_of_classes
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.checks.validation import (
    refuse_entry,
    refuse_label,
    refuse_lengths,
    refuse_no_weight,
    refuse_weight,
    require_known_classes,
)
from separatrix.matrix import Array


def require_blocks_will_do(estimator: LinearClassifier) -> None:
    """Raise if an estimator needs rows that a cluster does not give it."""
    name = type(estimator).__name__
    wrong = {
        f"{name} computes its features from all rows": estimator._feature_map_key() is not None,
        "early_stopping=True divides the rows": estimator._split_key() is not None,
        "probability trains on parts of the rows": getattr(estimator, "probability", False)
        is not False,
    }
    for reason, applies in wrong.items():
        if applies:
            raise ParameterError(
                f"{name} cannot be fitted to a Dask collection: {reason}, which must be in memory. "
                "Pass X.compute() and y.compute(), or change the estimator."
            )


def place_rows(
    X: Any, y: Any, sample_weight: Any = None, names: tuple[str, str] = ("X", "y")
) -> PlacedRows:
    """Compute a collection of Dask on its workers, and check every partition."""
    if y is None:
        raise ValueError(f"{names[0]} is a Dask collection without labels: {names[1]} is None.")
    if getattr(sample_weight, "ndim", 1) != 1:
        raise ValueError(
            "sample_weight of a Dask collection must have one dimension: all models share it. Got "
            f"{sample_weight.ndim} dimensions."
        )
    rows = PlacedRows(X, y, sample_weight)
    first = 0
    for report in rows.reports:
        if report.n_rows != report.n_labels:
            refuse_lengths(names, report.n_rows, report.n_labels, after=first)
        if report.n_weights not in (None, report.n_rows):
            both = names[0], "sample_weight"
            refuse_lengths(both, report.n_rows, int(report.n_weights or 0), after=first)
        if report.bad_entry is not None:
            row, column, value = report.bad_entry
            refuse_entry(names[0], first + row, column, value)
        if report.bad_label is not None:
            refuse_label(names[1], first + report.bad_label[0], report.bad_label[1])
        if report.bad_weight is not None:
            refuse_weight(first + report.bad_weight[0], report.bad_weight[1])
        first += report.n_rows
    if not first:
        raise ValueError(f"{names[0]} has no rows in any of its partitions.")
    widths = sorted({report.n_features for report in rows.reports})
    if len(widths) > 1:
        raise ValueError(
            f"All partitions of {names[0]} must have the same features. Got partitions of "
            f"{' and '.join(map(str, widths))} columns."
        )
    if not any(report.weighted for report in rows.reports):
        refuse_no_weight()
    return rows


def placed_dataset(
    estimator: LinearClassifier,
    rows: PlacedRows,
    classes: Array,
    class_weights: Sequence[Any] = (None,),
) -> Dataset:
    """Return the data set of rows on a cluster, and learn the features and their names."""
    estimator.n_features_in_ = rows.shape[1]
    if rows.template is None:
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        check_feature_names(estimator, rows.template, reset=True)
    data = Dataset(rows.source(classes), classes)
    if all(given is None for given in class_weights):
        return data
    weight = data.class_weight()
    factors = [factors_of_classes(given, weight, classes) for given in class_weights]
    table = np.stack(factors, axis=1)[None]
    return data.weighed(table, np.arange(table.shape[2]))


def placed_validation_set(estimator: LinearClassifier, rows: PlacedRows, data: Dataset) -> Dataset:
    """Return validation rows on a cluster as a data set."""
    if rows.shape[1] != data.n_features:
        raise ValueError(
            f"X_val must have the same features as X, in the same order. X has {data.n_features} "
            f"columns. Got {rows.shape[1]} columns instead."
        )
    if rows.template is not None:
        check_feature_names(estimator, rows.template, reset=False)
    require_known_classes(rows.labels(), data.classes, validation=True)
    return Dataset(rows.source(data.classes), data.classes)
