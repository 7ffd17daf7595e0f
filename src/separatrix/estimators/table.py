"""What the coefficients of an estimator are called."""

from __future__ import annotations

from typing import Any

from separatrix.arrays import Array
from separatrix.estimators.linear import LinearClassifier


def coefficient_names(estimator: LinearClassifier) -> list[str]:
    """The names of the features; x0, x1, ... where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def output_names(classes: Array, n_outputs: int) -> list[Any]:
    """The class that each output speaks for: a class whose score is always 0 has none.

    >>> import numpy as np
    >>> output_names(np.array(["no", "yes"]), 1)
    ['yes']
    """
    return classes[len(classes) - n_outputs :].tolist()
