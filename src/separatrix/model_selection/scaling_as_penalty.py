"""Standardised features as penalty factors, without transforming X.

With u = (x - mean) / f, a score u.v + c equals x.w + b with w = v / f and b = c - mean.w. So a
penalty on v is a penalty on f w, and a free bias absorbs the means. The model of the standardised
features can therefore be fitted to the original X, and only f differs between folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from separatrix.data import BlockRows, Dataset, moments_of_block, pool_moments
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array

EPS = float(np.finfo(np.float64).eps)


def factors_will_do(scaler: Any, classifier: LinearClassifier, X: Any) -> bool:
    """Return whether a scaler before a classifier can be replaced by penalty factors."""
    # Only the optimum is the same: gradient descent would take different steps.
    if type(scaler) is not StandardScaler or not isinstance(classifier, OptimumClassifier):
        return False
    if classifier._feature_map_key() is not None:  # its weights do not belong to the features
        return False
    is_sparse = X.sparse if isinstance(X, BlockRows) else sp.issparse(X)
    # Only a free bias can absorb the means.
    # Centring sparse data is an error that scikit-learn raises.
    return not scaler.with_mean or (classifier._has_free_bias() and not is_sparse)


def scales(data: Dataset) -> Array:
    """Return the standard deviations (d, F) of X in every fold, with 1 for constant columns.

    The weights of the data hold how often each row occurs in each fold.

    >>> X, counts = [[1.0, 5.0], [5.0, 5.0], [9.0, 6.0]], np.array([[1.0], [1.0], [0.0]])
    >>> scales(Dataset.of(X, [0, 1, 0], counts))
    array([[2.],
           [1.]])
    """
    parts = data.map_blocks(moments_of_block)
    mean, spread = parts[0][1:] if len(parts) == 1 else pool_moments(parts)
    total = data.total_weight()
    # scikit-learn's criterion for rounding errors, so that both find the same constant columns.
    return np.where(spread > total * EPS * np.abs(mean), spread, 1.0)
