"""What the coefficients of an estimator are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from separatrix.estimators.linear_classifier import LinearClassifier

if TYPE_CHECKING:
    import pandas as pd


def feature_names(estimator: LinearClassifier) -> list[str]:
    """The names of the features; x0, x1, ... where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def output_classes(estimator: LinearClassifier) -> list[Any]:
    """The class that each output speaks for: one whose score is always 0, the first, has none."""
    n_outputs = len(estimator.intercept_)
    return list(estimator.classes_[len(estimator.classes_) - n_outputs :].tolist())


def table_index(classes: Sequence[Any], names: Sequence[str]) -> pd.Index:
    """The names, below the classes if these are several."""
    import pandas as pd

    if len(classes) == 1:
        return pd.Index(names, name="feature")
    return pd.MultiIndex.from_product([classes, names], names=["class", "feature"])
