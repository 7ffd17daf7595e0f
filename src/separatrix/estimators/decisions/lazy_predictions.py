"""Predictions for collections of Dask, which are computed partition by partition when asked for."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np

from separatrix.cluster import is_collection, map_rows
from separatrix.cluster.worker_tasks import column_of_frame
from separatrix.matrix import Array

OF_TRAINING = ("history_", "_state", "_region", "_known_scores")  # not needed for predictions


def predict_lazily(estimator: Any, method: str, X: Any) -> Any:
    """Return estimator.method(X) for a collection as a lazy array of Dask."""
    small = copy(estimator)
    for name in OF_TRAINING:
        small.__dict__.pop(name, None)
    return map_rows(partial(_predict, small, method), X)


def score_collection(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy on a collection, counted where its partitions are."""
    predicted = estimator.predict(X)
    right = predicted == _as_array(y)
    if sample_weight is None:
        return float(right.mean().compute())
    s = _as_array(sample_weight)
    total = s.sum()
    part = (right * s).sum()
    return float(part.compute() / (total.compute() if is_collection(s) else total))


def _as_array(column: Any) -> Any:
    """Return a series of Dask as an array, and other labels or weights as they are."""
    is_series = hasattr(column, "to_dask_array")
    return map_rows(column_of_frame, column) if is_series else column


def _predict(estimator: Any, method: str, X: Any) -> Array:
    """Return the predictions for one partition, which may have no rows."""
    if X.shape[0]:
        return np.asarray(getattr(estimator, method)(X))
    one = X.reindex([0], fill_value=0.0) if hasattr(X, "reindex") else np.zeros((1, X.shape[1]))
    return np.asarray(getattr(estimator, method)(one))[:0]
