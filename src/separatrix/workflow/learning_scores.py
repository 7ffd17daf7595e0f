"""The accuracy of models by the number of training rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from separatrix.estimators import fit_many
from separatrix.matrix import Array
from separatrix.workflow.facts import collect_convergence_warnings
from separatrix.workflow.model_families import ModelOptions, build_estimator, find_family
from separatrix.workflow.preparing import PreparedSource

_SIZES = 6
_LEAST = 10  # rows in the smallest training set, unless there are many classes
_PER_CLASS = 5


def learning_scores(
    prepared: PreparedSource, models: Sequence[str], repeats: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Train models on random parts of the training rows, and measure them on the held-out rows.

    Yields rows with "model", "samples" and "score", the accuracy on all validation and test rows.

    >>> from separatrix import load
    >>> from separatrix.workflow.preparing import prepare_source
    >>> found = list(learning_scores(prepare_source(load("iris")), ["auto"], 2, 0))
    >>> found[0]["model"], found[0]["samples"], found[-1]["samples"]
    ('softmax', 15, 100)
    """
    X, y, weights = prepared.X["train"], prepared.y["train"], prepared.weights.get("train")
    held_out = [part for part in ("validation", "test") if part in prepared.X]
    if not held_out:
        raise ValueError(f"{prepared.source.name} has no validation or test rows to measure on.")
    families = [find_family(name, prepared.n_classes) for name in models]
    for rows in _subsets(y, repeats, np.random.default_rng(seed)):
        estimators = [build_estimator(family, ModelOptions(seed=seed)) for family in families]
        with collect_convergence_warnings():
            fit_many(estimators, X[rows], y[rows], None if weights is None else weights[rows])
        for family, estimator in zip(families, estimators):
            right = [estimator.predict(prepared.X[part]) == prepared.y[part] for part in held_out]
            score = float(np.concatenate(right).mean())
            yield {"model": family.name, "samples": len(rows), "score": score}


def _subsets(y: Array, repeats: int, random: np.random.Generator) -> Iterator[Array]:
    """Return row numbers: all rows once, and smaller stratified parts several times."""
    classes, numbers = np.unique(y, return_inverse=True)
    least = min(max(_LEAST, _PER_CLASS * len(classes)), len(y))
    for size in np.unique(np.geomspace(least, len(y), _SIZES).round().astype(int)).tolist():
        for _ in range(repeats if size < len(y) else 1):
            # Taking turns between the classes in random order gives every class its share.
            order = random.permutation(len(y))
            turn = np.empty(len(y))
            for k in range(len(classes)):
                own = order[numbers[order] == k]
                turn[own] = (np.arange(len(own)) + 0.5) / len(own)
            yield np.sort(np.lexsort((random.random(len(y)), turn))[:size])
