"""Class weights, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.data.block_sums import largest_weights
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


def weigh_classes(data: Dataset, class_weights: Sequence[Any]) -> Dataset:
    """Return a data set of one model with its weights multiplied by class weights.

    It has the same bits as `with_class_weights` of all rows, but reads them block by block.
    """
    if all(given is None for given in class_weights):
        return data
    C = len(data.classes)
    factors = []
    for given in class_weights:
        if given is None:
            factors.append(np.ones(C))
        elif _is_balanced(given):
            largest = np.max(data.map_blocks(largest_weights))
            weight = data.fold_over_blocks(_add_shares, np.zeros(C), largest or 1.0)
            factors.append(_balanced(weight))
        else:
            factors.append(_named(given, data.classes))
    same = all(given is class_weights[0] for given in class_weights[1:])
    by_class = factors[0] if same else np.stack(factors, axis=1)
    columns = None if same else np.arange(len(factors), dtype=np.int32)[None]
    facts = replace(data.facts, is_weighted=True, weight_columns=columns)
    return Dataset(data.source.transform(_scale_weights, by_class, facts=facts), data.classes)


def _add_shares(block: Block, number: int, weight: Array, largest: float) -> Array:
    """Add the weights of the rows of every class, in the order of the rows, to weight (C,)."""
    np.add.at(weight, block.y, 1.0 if block.s is None else block.s / largest)
    return weight


def _scale_weights(block: Block, by_class: Array) -> Block:
    """Return the block with its weights times those of the classes, (C,) or (C, B)."""
    factors = by_class[block.y]
    if block.s is not None:
        factors = factors * (block.s if factors.ndim == 1 else block.s[:, None])
    return replace(block, s=np.ascontiguousarray(factors))


def _weighted(s: Array | None, y: Array, classes: Array, given: Any) -> Array:
    if given is None:
        return np.ones(len(y)) if s is None else s
    if _is_balanced(given):
        # Dividing by the largest weight keeps the sums from overflowing.
        shares = s if s is None or not s.any() else s / s.max()
        by_class = _balanced(np.bincount(y, shares, minlength=len(classes)))
    else:
        by_class = _named(given, classes)
    return by_class[y] if s is None else s * by_class[y]


def _balanced(weight: Array) -> Array:
    """Return the balanced weights of classes with these total weights (C,)."""
    C = len(weight)
    return np.divide(weight.sum(), C * weight, out=np.ones(C), where=weight > 0.0)


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
