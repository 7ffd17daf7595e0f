"""Rows outside of memory with their labels, which estimators take in place of X and y."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from separatrix.data.block_source import BlockSource
from separatrix.data.dataset import Dataset
from separatrix.matrix import Array


class NotInMemoryError(TypeError, ValueError):
    """Rows outside of memory were used as an array."""


class BlockRows:
    """Rows of a block source, with the labels that their class numbers stand for.

    Attributes
    ----------
    source : the blocks
    labels : the labels (C,) of the class numbers
    sparse : whether X is sparse
    feature_names : d names, or None
    template : a data frame without rows whose columns are those of X, or None if X is no data frame
    """

    def __init__(
        self,
        source: BlockSource,
        labels: Array,
        *,
        sparse: bool = False,
        feature_names: list[str] | None = None,
        template: Any = None,
    ) -> None:
        self.source, self.labels, self.template = source, labels, template
        self.sparse, self.feature_names = sparse, feature_names

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return self.source.facts.n_samples, self.source.facts.n_features

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NoReturn:
        raise NotInMemoryError(
            "Rows that are outside of memory cannot be selected one by one. Use estimators and "
            "searches of separatrix, which read them block by block, without other transformers "
            "than StandardScaler and without scorers that need X."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise NotInMemoryError(
            "Rows that are outside of memory are not an array. Use estimators and searches of "
            "separatrix, which read them block by block."
        )

    @cached_property
    def y(self) -> Array:
        """The labels of all rows, read into memory."""
        return self.labels[Dataset(self.source, self.labels).labels()]

    @cached_property
    def weights(self) -> Array | None:
        """The weights of all rows, read into memory; None if there are none."""
        if not self.source.facts.is_weighted:
            return None
        return Dataset(self.source, self.labels).weights()

    def dataset(self) -> Dataset:
        """Return the rows as a data set of the classes that occur."""
        data = Dataset(self.source, self.labels)
        present = np.flatnonzero(data.class_counts() > 0)
        return data if len(present) == len(self.labels) else data.with_classes(present.tolist())

    def dataset_of(self, classes: Array) -> Dataset | None:
        """Return the rows as a data set of given classes; None if other classes occur."""
        data = self.dataset()
        if np.array_equal(data.classes, classes):
            return data
        if np.setdiff1d(data.classes, classes).size:
            return None
        return data.renumbered(np.searchsorted(classes, data.classes), classes)


def require_own_labels(rows: BlockRows, y: Any, sample_weight: Any = None) -> None:
    """Raise if labels or weights are given that are not those of the rows."""
    if y is not None and not np.array_equal(y, rows.y):
        raise ValueError(
            f"{rows!r} have their own labels. Leave out y, or convert the rows with other labels."
        )
    own = rows.weights
    if sample_weight is not None and (own is None or not np.array_equal(sample_weight, own)):
        raise ValueError(
            f"{rows!r} can have only the weights that are stored with them. Leave out "
            "sample_weight, and name the column of weights when the rows are converted."
        )
