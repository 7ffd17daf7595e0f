"""Split validation rows off the training rows, for early stopping."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.validation import column_or_1d

from separatrix._sklearn_compat import count_rows, safe_indexing
from separatrix.estimators.checks.class_weights import with_class_weights
from separatrix.estimators.checks.training_data import as_weights, number_classes
from separatrix.matrix import Array

WITHOUT_WEIGHT = (  # the words of scikit-learn
    "The sample weights for validation set are all zero, consider using a different random state."
)


class Split(NamedTuple):
    """Training rows, and validation rows (X_val, y_val) with their weights."""

    X: Any
    y: Any
    sample_weight: Array | None
    held_out: tuple[Any, Any]
    weights: Array | None


def hold_out(
    X: Any, y: Any, sample_weight: Any, class_weight: Any, fraction: float, random_state: Any
) -> Split:
    """Draw a fraction of every class as validation rows from X and y, which were checked.

    Validation rows count by their sample weight times the weight of their class, as in training.
    """
    X = X.tocsr() if sp.issparse(X) else X  # other formats have no rows to select
    y, row_numbers = column_or_1d(y), np.zeros((count_rows(X), 1))
    given = None if sample_weight is None else np.asarray(sample_weight)
    columns = given.shape[1] if given is not None and given.ndim == 2 else 1
    if given is not None and not given.any():
        raise ValueError(WITHOUT_WEIGHT)
    s = as_weights(given, row_numbers, columns)
    split = StratifiedShuffleSplit(1, test_size=fraction, random_state=random_state)
    training, validation = next(split.split(row_numbers, y))
    training = np.sort(training)
    classes, numbers = number_classes(y)
    weights = with_class_weights(s, numbers, classes, [class_weight] * columns)
    if weights is not None and not weights[validation].any(axis=0).all():
        raise ValueError(WITHOUT_WEIGHT)
    return Split(
        safe_indexing(X, training),
        safe_indexing(y, training),
        None if s is None else s[training],
        (safe_indexing(X, validation), safe_indexing(y, validation)),
        None if weights is None else weights[validation],
    )
