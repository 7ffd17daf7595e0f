"""Class weights, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators.checks.validation import list_classes, require_number
from separatrix.matrix import Array


def with_class_weights(
    s: Array | None, y: Array, classes: Array, class_weights: Sequence[Any]
) -> Array | None:
    """Multiply the sample weights (n,) or (n, B) of B models by their class weights.

    `class_weights` has one entry per model: None, "balanced" or a mapping from labels to weights.
    y (n,) holds positions in `classes`. A balanced weight is S / (C S_c), where S_c is the total
    weight of class c in the rows of the model, and S is the sum of all S_c. Rows left out of a fold
    do not count.

    >>> import numpy as np
    >>> y, classes = np.array([0, 0, 0, 1]), np.array(["no", "yes"])
    >>> with_class_weights(None, y, classes, ["balanced"]).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    if all(given is None for given in class_weights):
        return s
    same = all(given is class_weights[0] for given in class_weights[1:])
    if same and (s is None or s.ndim == 1):
        return _weighted(s, y, classes, class_weights[0])
    columns = [
        _weighted(s if s is None or s.ndim == 1 else s[:, k], y, classes, given)
        for k, given in enumerate(class_weights)
    ]
    return np.stack(columns, axis=1)


def _weighted(s: Array | None, y: Array, classes: Array, given: Any) -> Array:
    if given is None:
        return np.ones(len(y)) if s is None else s
    weight: Array = np.empty(0)
    if _is_balanced(given):
        # Dividing by the largest weight keeps the sums from overflowing.
        shares = s if s is None or not s.any() else s / s.max()
        weight = np.bincount(y, shares, minlength=len(classes))
    by_class = factors_of_classes(given, weight, classes)
    return by_class[y] if s is None else s * by_class[y]


def factors_of_classes(given: Any, weight: Array, classes: Array) -> Array:
    """Return the factor (C,) of the weights of every class; `weight` (C,) is its total weight."""
    if given is None:
        return np.ones(len(classes))
    if not _is_balanced(given):
        return _named(given, classes)
    present = weight > 0.0
    return np.divide(weight.sum(), len(classes) * weight, out=np.ones(len(classes)), where=present)


def _is_balanced(given: Any) -> bool:
    return isinstance(given, str) and given == "balanced"


def _named(given: Any, classes: Array) -> Array:
    if not isinstance(given, Mapping):
        raise ParameterError(
            "The 'class_weight' parameter must be None, 'balanced' or a dict that maps labels to "
            f"weights. Got {given!r} instead.",
            parameter="class_weight",
        )
    weights = np.ones(len(classes))
    every_named = all(label in given for label in classes.tolist())
    for label, weight in given.items():
        at = np.flatnonzero(classes == label)
        if not len(at):
            if every_named:  # the label belongs to a class that is missing in these rows
                continue
            raise ParameterError(
                f"The 'class_weight' parameter names the class {label!r}, which does not occur in "
                f"y. Classes of y: {list_classes(classes)}. Remove it, or correct the label.",
                parameter="class_weight",
            )
        require_number(f"class_weight[{label!r}]", weight)
        weights[at[0]] = weight
    return weights
