"""Checks of Dask collections, with the messages for rows in memory."""

from __future__ import annotations

from typing import Any

from separatrix.cluster import PlacedRows, Placement
from separatrix.estimators.checks.training_data import number_classes, require_class_labels
from separatrix.estimators.checks.validation import (
    refuse_entry,
    refuse_label,
    refuse_lengths,
    refuse_no_weight,
    refuse_weight,
)


def place_rows(X: Any, y: Any, sample_weight: Any = None) -> PlacedRows:
    """Compute the training rows of a Dask collection on its workers, and check them."""
    placement = _place("X", X, "y", y, sample_weight)
    return placement.rows(number_classes(placement.labels())[0])


def place_validation_rows(X_val: Any, y_val: Any) -> PlacedRows:
    """Compute the validation rows of a Dask collection on its workers, and check them."""
    placement = _place("X_val", X_val, "y_val", y_val, None)
    labels = placement.labels()
    require_class_labels(labels, labels)
    return placement.rows(labels)


def _place(name: str, X: Any, name_of_labels: str, y: Any, s: Any) -> Placement:
    if y is None:
        raise ValueError(
            f"{name} is a Dask collection, which needs labels. Got {name_of_labels}=None."
        )
    if getattr(s, "ndim", 1) != 1:
        raise ValueError(
            "sample_weight of a Dask collection must have one dimension: all models share it. Got "
            f"{s.ndim} dimensions."
        )
    placement = Placement(X, y, s, name=name, name_of_labels=name_of_labels)
    first = 0
    for report in placement.reports:
        if report.n_rows != report.n_labels:
            refuse_lengths((name, name_of_labels), report.n_rows, report.n_labels, after=first)
        if report.n_weights not in (None, report.n_rows):
            both = name, "sample_weight"
            refuse_lengths(both, report.n_rows, int(report.n_weights or 0), after=first)
        if report.bad_entry is not None:
            row, column, value = report.bad_entry
            refuse_entry(name, first + row, column, value)
        if report.bad_label is not None:
            refuse_label(name_of_labels, first + report.bad_label[0], report.bad_label[1])
        if report.bad_weight is not None:
            refuse_weight(first + report.bad_weight[0], report.bad_weight[1])
        first += report.n_rows
    if not first:
        raise ValueError(f"{name} has no rows in any of its partitions.")
    widths = sorted({report.n_features for report in placement.reports})
    if len(widths) > 1:
        raise ValueError(
            f"All partitions of {name} must have the same features. Got partitions of "
            f"{' and '.join(map(str, widths))} columns."
        )
    if not any(report.weighted for report in placement.reports):
        refuse_no_weight()
    return placement
