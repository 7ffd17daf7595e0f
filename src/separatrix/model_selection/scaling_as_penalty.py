"""Standardised features without standardising: the scales as factors of the penalty.

With u = (x - mean) / f, a score u.v + c is x.w + b with w = v / f and b = c - mean.w. So the
penalty on v is that on f w, and a free bias takes up the means: the model of the standardised
features is found on X as it is, and its problem differs from fold to fold by f alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array, Matrix, moments_of_models

EPS = float(np.finfo(np.float64).eps)


def factors_will_do(scaler: Any, classifier: LinearClassifier, X: Any) -> bool:
    """Whether a scaler before a classifier is no more than factors of its penalty."""
    # A fit that ends at an optimum: the path of a descent would be another one.
    if type(scaler) is not StandardScaler or not isinstance(classifier, OptimumClassifier):
        return False
    if classifier._feature_map_key() is not None:  # its weights are not those of the features
        return False
    # A bias that is fixed or penalised cannot take up the means.
    free = classifier.fit_intercept and getattr(classifier, "intercept_scaling", None) is None
    # To centre sparse data is an error, and scikit-learn's to raise.
    return not scaler.with_mean or (free and not sp.issparse(X))


def scales(X: Matrix, counts: Array) -> Array:
    """The standard deviations (d, F) of X over the rows of every fold, 1 for a constant column.

    `counts` (n, F) says how often each row is in each fold.

    >>> scales(Matrix([[1.0, 5.0], [5.0, 5.0], [9.0, 6.0]]), np.array([[1.0], [1.0], [0.0]]))
    array([[2.],
           [1.]])
    """
    mean, spread = moments_of_models(X, counts)
    total = counts.sum(axis=0)
    # What scikit-learn takes for rounding, so that the same columns are constant for both.
    return np.where(spread > total * EPS * np.abs(mean), spread, 1.0)
