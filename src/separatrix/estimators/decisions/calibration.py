"""Platt scaling: probabilities for a classifier whose loss does not define any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.losses import LOSSES, OneVsRest
from separatrix.matrix import Array


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """Platt's sigmoids p_k = sigma(a_k z_k + c_k) of the scores z_k of a classifier.

    `slope` (K,) holds the a_k and `offset` (K,) the c_k. A single score gives the probability of
    the second class. With several scores, each p_k is the probability of class k against the rest,
    and the p_k are divided by their sum.

    See J. Platt, Probabilistic outputs for support vector machines, 1999. The targets are
    (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so the optimum is finite even if the scores separate
    the classes. A target between 0 and 1 is fitted as two weighted rows, one for each label.
    """

    slope: Array
    offset: Array

    @classmethod
    def fit(cls, scores: Array, y: Array, s: Array) -> Sigmoids:
        """Fit the sigmoids to scores (n, K), class numbers y (n,) and weights s (n,)."""
        K = scores.shape[1]
        targets = [y == 1] if K == 1 else [y == k for k in range(K)]
        slopes, offsets = zip(*(_fit(scores[:, k], target, s) for k, target in enumerate(targets)))
        return cls(np.array(slopes), np.array(offsets))

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities (n, C) for scores (n, K)."""
        Z = (scores * self.slope + self.offset)[:, None, :]
        loss = LOSSES["logistic"] if Z.shape[2] == 1 else OneVsRest(LOSSES["logistic"])
        P = loss.probabilities(Z)
        assert P is not None
        return P[:, 0]


def _fit(z: Array, positive: Array, s: Array) -> tuple[float, float]:
    many, few = float(s[positive].sum()), float(s[~positive].sum())
    target = np.where(positive, (many + 1.0) / (many + 2.0), 1.0 / (few + 2.0))
    model = LogisticRegression(C=np.inf, tol=1e-8).fit(
        np.concatenate([z, z])[:, None],
        np.repeat([1, 0], len(z)),
        sample_weight=np.concatenate([s * target, s * (1.0 - target)]),
    )
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def held_out_scores(
    models: Sequence[LinearClassifier], X: Any, y: Array, s: Array, seed: int
) -> Array:
    """Return decision values (n, K) of rows from models that were trained without these rows.

    The folds are columns of sample weights, so all models are trained as one batch. Rows with
    weight 0 belong to no fold and get NaN.
    """
    n, counts = len(y), np.flatnonzero(s > 0.0)
    folds = StratifiedKFold(len(models), shuffle=True, random_state=seed)
    parts = [counts[held_out] for _, held_out in folds.split(np.zeros(len(counts)), y[counts])]
    weights = np.repeat(s[:, None], len(models), axis=1)
    for k, rows in enumerate(parts):
        weights[rows, k] = 0.0
    fit_many(models, X, y, sample_weight=weights)
    out = np.full((n, _columns(models[0])), np.nan)
    for model, rows in zip(models, parts):
        out[rows] = model.decision_function(X[rows]).reshape(len(rows), -1)
    return out


def _columns(model: LinearClassifier) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)
