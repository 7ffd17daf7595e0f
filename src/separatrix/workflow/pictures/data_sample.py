"""A sample of the rows, for the scatter plots of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data import Block, Dataset
from separatrix.matrix import Array

ROWS = 300  # rows of the sample
FEATURES = 4  # features of the sample
WHOLE_ROWS = 20  # rows that are kept with all features ...
WHOLE_FEATURES = 4096  # ... if there are at most this many


@dataclass(frozen=True, eq=False)
class DataSample:
    """A few rows of the data, and the number of rows of every class.

    Attributes
    ----------
    columns : (f,), the numbers of the features that separate the classes best
    rows, labels : (m, f) and (m,), training rows with these features, and their class numbers
    held_out, held_out_labels : the same for validation rows, if there are only two features
    whole, whole_labels : (w, d) and (w,), a few training rows with all features, such as images
    class_rows : (C,), the number of training rows of every class
    """

    columns: Array
    rows: Array
    labels: Array
    held_out: Array
    held_out_labels: Array
    whole: Array
    whole_labels: Array
    class_rows: Array

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return plain values and arrays for the store."""
        return {}, vars(self)

    @classmethod
    def from_parts(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> DataSample:
        """Restore what `to_parts` returned."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def draw_sample(training: Dataset, validation: Dataset | None) -> DataSample:
    """Return a sample of the training rows, with the features that separate the classes best.

    The features have the highest ratio of the variance between classes to the variance within them,
    among the rows of the sample.

    >>> found = draw_sample(Dataset.of([[0.0, 5.0], [0.1, 4.0], [1.0, 5.0]], [0, 0, 1]), None)
    >>> found.columns.tolist(), found.class_rows.tolist()
    ([0, 1], [2, 1])
    """
    C, d = len(training.classes), training.n_features
    X, y = _some_rows(training, ROWS)
    columns = np.arange(d)
    if d > FEATURES:
        columns = np.sort(np.argsort(-_separation(X, y, C), kind="stable")[:FEATURES])
    held_out, held_out_labels = np.zeros((0, len(columns)), np.float32), np.zeros(0, np.int32)
    if d == 2 and validation is not None:
        rows, held_out_labels = _some_rows(validation, ROWS)
        held_out = _dense(rows, columns)
    few = _few_of_each(y, C) if d <= WHOLE_FEATURES else y[:0]
    (class_rows,) = training.sum_over_blocks(_count_classes, C)
    return DataSample(
        columns=columns,
        rows=_dense(X, columns),
        labels=y,
        held_out=held_out,
        held_out_labels=held_out_labels,
        whole=_dense(X[few], np.arange(d if len(few) else 0)),
        whole_labels=y[few],
        class_rows=class_rows,
    )


def _some_rows(data: Dataset, most: int) -> tuple[Any, Array]:
    """Return at most `most` rows, in their order, and their classes."""
    chosen = np.sort(np.random.default_rng(0).permutation(data.n_samples)[:most])
    ends = np.cumsum(data.facts.lengths)
    parts: list[tuple[Any, Array]] = data.fold_over_blocks(_pick_rows, [], chosen, ends)
    X, y = zip(*parts)
    if len(parts) == 1:
        return X[0], y[0]
    return (sp.vstack(X) if sp.issparse(X[0]) else np.concatenate(X)), np.concatenate(y)


def _pick_rows(
    block: Block, number: int, parts: list[tuple[Any, Array]], chosen: Array, ends: Array
) -> list[tuple[Any, Array]]:
    """Add some of the rows (numbers in all blocks) that are in this block."""
    first = ends[number] - len(block.y)
    own = chosen[(chosen >= first) & (chosen < ends[number])] - first
    return [*parts, (block.X.rows()[own], block.y[own])]


def _count_classes(block: Block, n_classes: int) -> tuple[Array]:
    return (np.bincount(block.y, minlength=n_classes),)


def _dense(X: Any, columns: Array) -> Array:
    part = X[:, columns]
    return np.asarray(part.toarray() if sp.issparse(part) else part, np.float32)


def _separation(X: Any, y: Array, C: int) -> Array:
    """Return the variance between classes relative to the variance within them, (d,)."""
    member = sp.csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(C, len(y)))
    counts = np.maximum(member.sum(axis=1), 1.0)[:, None]
    rows = X.astype(np.float64)
    means, squares = (
        np.asarray(a.toarray() if sp.issparse(a) else a) / counts
        for a in (member @ rows, member @ (rows.multiply(rows) if sp.issparse(rows) else rows**2))
    )
    share = counts / len(y)
    middle = (share * means).sum(axis=0)
    between = (share * (means - middle) ** 2).sum(axis=0)
    within = (share * (squares - means**2)).sum(axis=0)
    size = np.maximum(between + within, np.finfo(np.float64).tiny)
    return np.where(between + within > 0.0, between / size, 0.0)


def _few_of_each(y: Array, C: int) -> Array:
    """Return a few positions of every class, the same number of each if there are enough."""
    each = max(WHOLE_ROWS // C, 1)
    chosen = [np.flatnonzero(y == c)[:each] for c in range(min(C, WHOLE_ROWS))]
    return np.concatenate(chosen) if chosen else np.zeros(0, int)
