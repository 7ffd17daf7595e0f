"""Folds of a cross-validation as weights of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from separatrix.estimators.training_data import number_classes
from separatrix.matrix import Array


@dataclass(frozen=True)
class Folds:
    """The row numbers that each split trains on and is tested on.

    A row may be in no test set or in several, and may be drawn more than once for training.

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
        """The folds of `cv`, which is what scikit-learn takes for it: every class in each of them.

        `labels` is y as an array, s (n,) the sample weights, `params` goes to the splitter.
        """
        classes, numbers = number_classes(labels)
        splits = check_cv(cv, y, classifier=True).split(X, y, **params)
        folds = cls.of(splits, len(labels))
        folds.require_all_classes(numbers, classes, s)
        return folds

    @classmethod
    def of(cls, splits: Iterable[tuple[Any, Any]], n_samples: int) -> Folds:
        """The folds of pairs of row numbers or masks, as scikit-learn's splitters give them."""
        rows = np.arange(n_samples)
        pairs = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
        if not pairs:
            raise ValueError("The cross-validation has no splits. Give 'cv' at least one.")
        for k, pair in enumerate(pairs):
            for part, use in zip(pair, ("train", "test")):
                if not len(part):
                    raise ValueError(
                        f"Split {k} of the cross-validation has no rows to {use} on. "
                        "Give every split rows to train on and others to test on."
                    )
        return cls([train for train, _ in pairs], [test for _, test in pairs], n_samples)

    def __len__(self) -> int:
        return len(self.train)

    def weights(self) -> Array:
        """How often every row is trained on in every split, (n, F)."""
        columns = [np.bincount(rows, minlength=self.n_samples) for rows in self.train]
        return np.stack(columns, axis=1).astype(np.float64)

    def require_all_classes(self, y: Array, classes: Array, s: Array | None) -> None:
        """Raise if a split trains on no row of some class that has a weight s (n,)."""
        for k, rows in enumerate(self.train):
            weights = None if s is None else s[rows]
            found = np.bincount(y[rows], weights, minlength=len(classes))
            missing = np.flatnonzero(found == 0.0)
            if len(missing):
                weighted = "" if s is None else " with a positive sample_weight"
                raise ValueError(
                    f"Split {k} of the cross-validation (counted from 0) trains on no row of class "
                    f"{classes[missing[0]]!s}{weighted}: its model could not know this class. Use "
                    "stratified splits, as a whole number for 'cv' does, or fewer of them; or "
                    "leave the rows of this class out."
                )


def as_indexable(X: Any) -> Any:
    """X with rows that can be picked; CSC can, and stays where it is."""
    return X if getattr(X, "format", None) == "csc" else indexable(X)[0]
