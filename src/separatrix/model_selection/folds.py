"""Folds of a cross-validation as sample weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from separatrix.estimators.checks.training_data import number_classes
from separatrix.matrix import Array


@dataclass(frozen=True)
class Folds:
    """The numbers of the training and test rows of each split.

    A row can be in several test sets or in none, and can occur several times in a training set.

    >>> folds = Folds.of([([0, 1, 1], [2]), ([False, True, True], [0])], 3)
    >>> folds.weights()
    array([[1., 0.],
           [2., 1.],
           [0., 1.]])
    """

    train: list[Array]
    test: list[Array]
    n_samples: int

    @classmethod
    def split(
        cls, cv: Any, X: Any, y: Any, labels: Array, s: Array | None, params: Mapping[str, Any]
    ) -> Folds:
        """Split the rows.

        `cv` is anything that scikit-learn accepts, `labels` is y as an array, `s` (n,) holds the
        sample weights, and `params` is passed to the splitter.
        """
        number_classes(labels)  # which checks them
        splits = check_cv(cv, y, classifier=True).split(X, y, **params)
        folds = cls.of(splits, len(labels))
        folds.require_weight(s)
        return folds

    @classmethod
    def of(cls, splits: Iterable[tuple[Any, Any]], n_samples: int) -> Folds:
        """Return the folds of pairs of row numbers or masks, as from a scikit-learn splitter."""
        rows = np.arange(n_samples)
        pairs = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
        if not pairs:
            raise ValueError("The cross-validation has no splits. 'cv' must have at least one.")
        for k, pair in enumerate(pairs):
            for part, use in zip(pair, ("train", "test")):
                if not len(part):
                    raise ValueError(
                        f"Split {k} of the cross-validation has no rows to {use} on. "
                        "Every split needs training rows and test rows."
                    )
        return cls([train for train, _ in pairs], [test for _, test in pairs], n_samples)

    def __len__(self) -> int:
        return len(self.train)

    def weights(self) -> Array:
        """Return how often every row occurs in the training rows of every split, (n, F)."""
        columns = [np.bincount(rows, minlength=self.n_samples) for rows in self.train]
        return np.stack(columns, axis=1).astype(np.float64)

    def require_weight(self, s: Array | None) -> None:
        """Raise if no training row of a split has a positive weight."""
        for k, rows in enumerate(self.train):
            if s is not None and not s[rows].any():
                raise ValueError(
                    f"Split {k} of the cross-validation (counted from 0) has no training row with "
                    "a positive sample_weight. Use other splits, or give more rows a weight."
                )


def as_indexable(X: Any) -> Any:
    """Return X in a form whose rows can be selected; CSC matrices are returned unchanged."""
    return X if getattr(X, "format", None) == "csc" else indexable(X)[0]
