"""Platt scaling: probabilities for a classifier whose loss does not define any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.losses import LOSSES, OneVsRest
from separatrix.matrix import Array, Matrix
from separatrix.matrix.row_keys import row_keys, scramble

SMALLEST_SLOPE = 1e-6  # of a sigmoid, divided by the largest score


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """Platt's sigmoids p_k = sigma(a_k z_k + c_k) of the scores z_k of a classifier.

    `slope` (K,) holds the a_k and `offset` (K,) the c_k. A single score gives the probability of
    the second class. With several scores, each p_k is the probability of class k against the rest,
    and the p_k are divided by their sum.

    `fit` keeps the order of the scores, so that `predict` returns the most probable class: a score
    of 0 between two classes has the probability 1/2 (c = 0), several classes have the same sigmoid,
    and slopes are positive.

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
        if K == 1:
            slope, offset = _fit(scores[:, 0], y == 1, s, bias=False)
        else:
            positive = y[:, None] == np.arange(K)
            slope, offset = _fit(scores.ravel(), positive.ravel(), np.repeat(s, K), bias=True)
        return cls(np.full(K, slope), np.full(K, offset))

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities (n, C) for scores (n, K)."""
        Z = (scores * self.slope + self.offset)[:, None, :]
        loss = LOSSES["logistic"] if Z.shape[2] == 1 else OneVsRest(LOSSES["logistic"])
        P = loss.probabilities(Z)
        assert P is not None
        return P[:, 0]


def _fit(z: Array, positive: Array, s: Array, *, bias: bool) -> tuple[float, float]:
    """Return the slope and the offset of the sigmoid of scores z (n,)."""
    many, few = float(s[positive].sum()), float(s[~positive].sum())
    target = np.where(positive, (many + 1.0) / (many + 2.0), 1.0 / (few + 2.0))
    model = LogisticRegression(C=np.inf, tol=1e-8, fit_intercept=bias).fit(
        np.concatenate([z, z])[:, None],
        np.repeat([1, 0], len(z)),
        sample_weight=np.concatenate([s * target, s * (1.0 - target)]),
    )
    slope, offset = float(model.coef_[0, 0]), float(model.intercept_[0])
    least = SMALLEST_SLOPE / max(float(np.abs(z).max()), np.finfo(np.float64).tiny)
    if slope >= least:
        return slope, offset
    # The held-out scores are no better than chance, so the probability hardly depends on them.
    return least, float(np.log(s @ target) - np.log(s @ (1.0 - target))) if bias else 0.0


def held_out_scores(
    models: Sequence[LinearClassifier], X: Any, y: Array, s: Array, folds: Array
) -> Array:
    """Return decision values (n, K) of rows from models that were trained without these rows.

    Model k is trained without the rows of fold k. The folds are columns of sample weights, so all
    models are trained as one batch. Rows without a fold get NaN.
    """
    weights = np.where(folds[:, None] == np.arange(len(models)), 0.0, s[:, None])
    fit_many(models, X, y, sample_weight=weights)
    out = np.full((len(y), _columns(models[0])), np.nan)
    for k, model in enumerate(models):
        rows = np.flatnonzero(folds == k)
        out[rows] = model.decision_function(X[rows]).reshape(len(rows), -1)
    return out


def draw_folds(X: Any, y: Array, s: Array, n_folds: int, seed: int) -> Array:
    """Return the fold (n,) of every row, or -1 for rows that no fold holds out.

    The folds depend on the contents of the rows, not on their positions. Equal rows of a class are
    in the same fold, so a weight of 2 is the same as repeating the row. The different rows of each
    class are spread evenly over the folds. Rows with weight 0 are in no fold, and neither are those
    of a class whose rows are all equal, because training without them would lack the class.
    """
    salt = np.random.default_rng(seed).integers(2**63, dtype=np.uint64)
    keys, used = scramble(row_keys(Matrix(X)) ^ salt), s > 0.0
    folds, n_drawn, n_classes = np.full(len(y), -1), 0, 0
    for label in np.unique(y[used]):
        rows = np.flatnonzero(used & (y == label))
        different, place = np.unique(keys[rows], return_inverse=True)
        if len(different) > 1:
            folds[rows] = (n_drawn + place.reshape(-1)) % n_folds
            n_drawn, n_classes = n_drawn + len(different), n_classes + 1
    if n_classes < 2:
        raise ParameterError(
            Message(
                "{probability} needs two classes with at least two different rows of positive "
                "weight, one to train on and one to calibrate on. Got {n_classes}. Use more rows, "
                "or {none}.",
                probability=Parameter("probability", n_folds),
                n_classes=n_classes,
                none=Parameter("probability", False),
            )
        )
    return folds


def _columns(model: LinearClassifier) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)
