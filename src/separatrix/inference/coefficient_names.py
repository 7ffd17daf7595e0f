"""Names of the coefficients of an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from separatrix.estimators.linear_classifier import LinearClassifier

if TYPE_CHECKING:
    import pandas as pd


def feature_names(estimator: LinearClassifier) -> list[str]:
    """Return the names of the features, or x0, x1, ... if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def output_classes(estimator: LinearClassifier) -> list[Any]:
    """Return the class of each output; a first class with a fixed score of 0 has no output."""
    n_outputs = len(estimator.intercept_)
    return list(estimator.classes_[len(estimator.classes_) - n_outputs :].tolist())


def table_index(classes: Sequence[Any], names: Sequence[str]) -> pd.Index:
    """Return an index of the names, below the classes if there are several."""
    import pandas as pd

    if len(classes) == 1:
        return pd.Index(names, name="feature")
    return pd.MultiIndex.from_product([classes, names], names=["class", "feature"])
