"""Models and rows for charts, in the units that the features have before the preparation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.inference.coefficient_names import feature_names
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.workflow.gradient_descent import GradientOptions, build_gradient_descent
from separatrix.workflow.model_families import ModelOptions, find_family
from separatrix.workflow.preparing import PreparedSource


@dataclass(frozen=True, eq=False)
class ModelWithRows:
    """A classifier, and rows X (n, d) with labels y (n,) and the names of the features."""

    estimator: Any
    X: Any
    y: Array
    names: list[str]


def in_original_units(bundle: Bundle, source: Source) -> ModelWithRows:
    """Return a model as a pipeline of features in original units, and the rows of a source.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> iris = load("iris")
    >>> found = in_original_units(fit_source(iris).bundle, iris)
    >>> found.names[0], found.X[0].round(1).tolist(), found.estimator.predict(found.X[:1]).tolist()
    ('sepal length (cm)', [5.1, 3.5, 1.4, 0.2], ['setosa'])
    """
    assert source.y is not None
    preparation: Any = bundle.preparation
    X = bundle.transform(source, [])
    if preparation is None:
        return ModelWithRows(bundle.estimator, X, source.y, feature_names(bundle.estimator))
    units, names = preparation.units, list(preparation.feature_names_out)
    return ModelWithRows(_pipeline(bundle.estimator, units), _unprepared(X, units), source.y, names)


def training_rows(prepared: PreparedSource) -> tuple[Any, Array, list[str]]:
    """Return the training rows X (n, d) in original units, y (n,) and the names of the features."""
    X = _unprepared(prepared.X["train"], prepared.preparation.units)
    return X, prepared.y["train"], list(prepared.preparation.feature_names_out)


def descent_on_features(
    prepared: PreparedSource, features: Sequence[int], descent: GradientOptions, seed: int
) -> ModelWithRows:
    """Return gradient descent on some features of the training rows, not trained yet.

    The pipeline standardises the features if the preparation does.
    """
    X, y, names = (
        prepared.X["train"][:, list(features)],
        prepared.y["train"],
        training_rows(prepared)[2],
    )
    X = X.toarray() if sp.issparse(X) else X
    model = descending_model(prepared, X, descent, seed)
    units = _units_of(prepared, features)
    steps: list[Any] = [] if units is None else [("scale", StandardScaler())]
    return ModelWithRows(
        Pipeline([*steps, ("model", model)]),
        _unprepared(X, units),
        y,
        [names[j] for j in features],
    )


def descending_model(prepared: PreparedSource, X: Any, descent: GradientOptions, seed: int) -> Any:
    """Return gradient descent on the objective of the default model, not trained yet."""
    family = find_family("auto", prepared.n_classes)
    return build_gradient_descent(family, ModelOptions(seed=seed), descent, X, prepared.y["train"])[
        0
    ]


def _units_of(prepared: PreparedSource, features: Sequence[int]) -> tuple[Array, Array] | None:
    units = prepared.preparation.units
    return None if units is None else (units[0][list(features)], units[1][list(features)])


def _unprepared(X: Any, units: tuple[Array, Array] | None) -> Any:
    """Undo the scaling of prepared rows. Sparse rows are never shifted."""
    if units is None:
        return X
    shift, scale = units
    if sp.issparse(X):
        return sp.csr_array(X.multiply(scale))
    return np.round(X * scale + shift, 12)  # remove rounding errors


def _pipeline(model: Any, units: tuple[Array, Array] | None) -> Any:
    if units is None:
        return model
    scaler = StandardScaler(with_mean=bool(units[0].any()))
    scaler.mean_, scaler.scale_ = units
    scaler.var_, scaler.n_features_in_ = np.square(units[1]), len(units[0])
    return Pipeline([("scale", scaler), ("model", model)])
