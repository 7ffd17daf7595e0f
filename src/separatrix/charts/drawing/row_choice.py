"""The features and the rows of a table that are drawn if there is no room for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.matrix import Array
from separatrix.text import listed

_NAMED = 10  # number of features in a message


def separation(X: Any, y: Array) -> Array:
    """Return, for every feature of X (n, d), the share of its variance between the classes.

    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 1.0], [5.0, 2.0]])
    >>> separation(X, np.array([0, 0, 1, 1]))
    array([1., 0.])
    """
    mean = _means(X)
    between = np.zeros(X.shape[1])
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        between += len(rows) / len(y) * np.square(_means(X[rows]) - mean)
    squares = X.multiply(X) if sp.issparse(X) else np.square(X - mean)
    whole = _means(squares) - (np.square(mean) if sp.issparse(X) else 0.0)
    return np.divide(between, whole, out=np.zeros_like(whole), where=whole > 0.0)


def some_rows(y: Array, most: int) -> Array:
    """Return the numbers of about `most` rows, evenly spaced within every class."""
    if len(y) <= most:
        return np.arange(len(y))
    out = []
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        count = max(int(most * len(own) / len(y)), min(len(own), 5))
        out.append(own[np.linspace(0, len(own) - 1, count).astype(int)])
    return np.sort(np.concatenate(out))


def feature_number(feature: int | str, names: Sequence[str]) -> int:
    """Return the number of a feature that is given by its number or its name.

    >>> feature_number("age", ["job", "age"]), feature_number(0, ["job", "age"])
    (1, 0)
    """
    if isinstance(feature, str):
        if feature not in names:
            known = listed(names, _NAMED)
            raise ValueError(f"There is no feature {feature!r}. The features are: {known}.")
        return list(names).index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(
            f"The number of a feature must be from 0 to {len(names) - 1}. Got {feature}."
        )
    return int(feature)


def two_features(
    X: Any, y: Array, names: Sequence[str], given: Sequence[int | str] | None
) -> tuple[int, int]:
    """Return the numbers of the given features, else of the two that separate the classes best."""
    if given is None:
        found = np.argsort(-separation(X, y), kind="stable")[:2]
        return int(found.min()), int(found.max())
    if len(given) != 2:
        raise ValueError(f"The 'features' parameter must have two entries. Got {len(given)}.")
    first, second = (feature_number(feature, names) for feature in given)
    if first == second:
        raise ValueError(f"The two features must be different. Got {given[0]!r} twice.")
    return first, second


def _means(X: Any) -> Array:
    return np.asarray(X.mean(axis=0), np.float64).ravel()
