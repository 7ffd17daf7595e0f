"""Scores of many models on held-out rows, computed by scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sklearn_compat import (
    check_method_params,
    is_accuracy,
    needs_predictions_only,
    safe_indexing,
    score_estimator,
)
from separatrix.data import Block, Dataset
from separatrix.estimators.linear_classifier import LinearClassifier, scores_of_block
from separatrix.losses import Loss
from separatrix.matrix import Array, Matrix, per_model
from separatrix.model import Model
from separatrix.verdict.regions import Region, score_bounds

SCORES_AT_ONCE = 1 << 25  # maximum number of entries


@dataclass(frozen=True)
class ScoredRows:
    """Some rows in the form that a scorer takes: X (or row numbers), y and metadata."""

    X: Any
    y: Any
    labels: Array
    params: dict[str, Any]


class FoldScorer:
    """Scores fitted models on rows of X (n, d) and y (n,).

    Parameters
    ----------
    scorer : scorer of scikit-learn
    params : metadata of all rows for the scorer
    error_score : score if the scorer fails, or "raise"
    X, y : the data as given by the user
    labels : y as an array
    """

    def __init__(
        self,
        scorer: Any,
        params: Mapping[str, Any],
        error_score: Any,
        X: Any,
        y: Any,
        labels: Array,
    ) -> None:
        self.scorer, self.params, self.error_score = scorer, params, error_score
        self.X, self.y, self.labels = X, y, labels
        self.needs_predictions_only = needs_predictions_only(scorer, params)
        self.is_accuracy = is_accuracy(scorer) and not params

    def select_rows(self, rows: Array) -> ScoredRows:
        """Return some rows for the scorer; if it does not use X, row numbers replace X."""
        return ScoredRows(
            rows if self.needs_predictions_only else safe_indexing(self.X, rows),
            safe_indexing(self.y, rows),
            self.labels[rows],
            check_method_params(self.X, params=self.params, indices=rows),
        )

    def score(
        self, model: LinearClassifier, rows: ScoredRows, Z: Array, pipeline: Any = None
    ) -> Any:
        """Return the score, or a dict of scores, of a model with known scores Z (m, 1, K).

        `pipeline` is the pipeline that ends with the model. Scorers that use X need it.
        """
        if self.is_accuracy:
            right = model.classes_[model._loss.predict(Z)[:, 0]] == rows.labels
            return float(right.mean())
        scored = model if pipeline is None or self.needs_predictions_only else pipeline
        model._known_scores = rows.X, Z
        return score_estimator(scored, rows.X, rows.y, self.scorer, rows.params, self.error_score)


def accuracy_bounds(
    region: Region, loss: Loss, X: Matrix | Dataset, rows: Any, y: Array
) -> tuple[float, float]:
    """Return bounds on the accuracy of the optimum in a region on some rows of X.

    `rows` are their numbers or a slice, and `y` (m,) are their class numbers.
    """
    parts = X.map_blocks(_matrix_of_block) if isinstance(X, Dataset) else [X]
    numbers, first = np.arange(sum(part.shape[0] for part in parts))[rows], 0
    sure, possible = 0, 0
    for part in parts:
        here = (numbers >= first) & (numbers < first + part.shape[0])
        if here.any():
            bounds = score_bounds(region, loss, part.take(numbers[here] - first))
            classes = y[here][:, None]
            sure += int((bounds.leads(classes) > 0.0).sum())
            possible += int((bounds.lags(classes) <= 0.0).sum())
        first += part.shape[0]
    return sure / len(y), possible / len(y)


def accuracies(
    models: Sequence[LinearClassifier],
    part_of_model: Sequence[int],
    parts: Sequence[Array],
    data: Dataset,
) -> Array:
    """Return the accuracy of every model on its part of the rows, counted block by block.

    `parts` are the row numbers of every part. No scores leave the place of their block.
    """
    place = np.array(part_of_model, np.int32)
    counts = np.stack([np.bincount(rows, minlength=data.n_samples) for rows in parts], axis=1)
    weighted = data.with_weights(counts.astype(np.float64))
    found, sizes = np.empty(len(models)), counts.sum(axis=0)
    groups: dict[Hashable, list[int]] = {}
    for k, model in enumerate(models):
        groups.setdefault((model.coef_.shape[0], model._loss), []).append(k)
    for group in groups.values():
        loss = models[group[0]]._loss
        stacked = Model.stack([models[k]._model() for k in group])
        (right,) = weighted.sum_over_blocks(_right_of_block, loss, stacked)
        found[group] = right[np.arange(len(group)), place[group]] / sizes[place[group]]
    return found


def _right_of_block(block: Block, loss: Loss, model: Model) -> tuple[Array]:
    """Return the weight of the rows (B, G) that each model gets right, for G columns of weights."""
    right = loss.predict(model.scores(block.X)) == block.y[:, None]
    return (right.T.astype(np.float64) @ per_model(block.weights),)


def scores_of_models(
    models: Sequence[LinearClassifier], X: Matrix | Dataset
) -> Iterator[tuple[int, Array]]:
    """Yield the number and the scores Z (n, 1, K) of every model.

    One product with X computes the scores of as many models as `SCORES_AT_ONCE` allows.
    """
    n = X.n_samples if isinstance(X, Dataset) else X.shape[0]
    shapes = [model.coef_.shape[0] for model in models]
    for K in sorted(set(shapes)):
        same = [k for k, own in enumerate(shapes) if own == K]
        step = max(SCORES_AT_ONCE // max(n * K, 1), 1)
        for first in range(0, len(same), step):
            group = same[first : first + step]
            Z = _scores(Model.stack([models[k]._model() for k in group]), X)
            yield from ((k, Z[:, i : i + 1]) for i, k in enumerate(group))


def _scores(model: Model, X: Matrix | Dataset) -> Array:
    if isinstance(X, Matrix):
        return model.scores(X)
    parts = X.map_blocks(scores_of_block, model)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _matrix_of_block(block: Block) -> Matrix:
    return block.X
