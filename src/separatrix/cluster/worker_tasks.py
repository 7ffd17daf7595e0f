"""What a worker computes: functions of the rows of one partition.

A partition is X (m, d) as the collection holds it, and labels (y, s): class numbers and weights.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.cluster.compact import expand
from separatrix.data import Block, add_in_order
from separatrix.matrix import Array, Matrix, first_not_finite, kernel_threads, readable

FEW_LABELS = 1000  # different labels that a report holds if they look like continuous values

Labels = tuple[Array, Array | None]


@dataclass(frozen=True)
class Step:
    """A function that is applied to every block before a block function.

    `f(block, *small)`, or `f(block, each, *small)` with `each` the value at position `own` among
    the values that belong to the block.
    """

    f: Callable[..., Block]
    small: tuple[Any, ...]
    own: int | None = None


@dataclass(frozen=True)
class Work:
    """A block function, its arguments, and the steps that make the block it is applied to."""

    f: Callable[..., Any]
    small: tuple[Any, ...]
    steps: tuple[Step, ...]

    def make_block(self, X: Any, labels: Labels, each: Sequence[Any]) -> Block:
        """Make the block for one pass. It shares the memory of X and caches nothing in it."""
        block = Block(Matrix(X), *labels)
        for step in self.steps:
            own = () if step.own is None else (expand(each[step.own]),)
            block = step.f(block, *own, *step.small)
        return block


def apply(X: Any, labels: Labels, *each: Any, work: bytes, threads: int) -> Any:
    """Return the result of a block function for one partition."""
    todo: Work = pickle.loads(work)
    with kernel_threads(threads):
        return todo.f(todo.make_block(X, labels, each), *todo.small)


def apply_in_turn(X: Any, labels: Labels, *more: Any, work: bytes, threads: int) -> Any:
    """Return the state after one partition.

    `more` ends with the state before it, which is left as it is, and the number of the partition.
    """
    *each, state, number = more
    todo: Work = pickle.loads(work)
    own_state = pickle.loads(pickle.dumps(state))  # the function may change it
    with kernel_threads(threads):
        return todo.f(todo.make_block(X, labels, each), number, own_state, *todo.small)


def add(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays, one after the other."""
    return add_in_order(parts)


def count_rows(X: Any) -> int:
    """Return the number of rows of a partition."""
    return int(X.shape[0])


def itself(value: Any) -> Any:
    """Return a value, which is so part of the graph."""
    return value


@dataclass(frozen=True)
class PartReport:
    """What must be known about a partition before its rows are used.

    Attributes
    ----------
    n_rows : the number of rows; `n_labels` and `n_weights` are those of y and of the weights
    n_features, n_entries, dtype : the width, the entries and the working type of X
    labels : the different labels. Of labels that look continuous, only some
    bad_entry : row, column and value of the first entry that is not finite, or None
    bad_label, bad_weight : row and value of the first label or weight that is refused, or None
    weighted : whether a row has a positive weight
    sparse : whether X is sparse
    plain : whether the kernels read X in place
    """

    n_rows: int
    n_labels: int
    n_weights: int | None
    n_features: int
    n_entries: int
    dtype: np.dtype[Any]
    labels: Array
    bad_entry: tuple[int, int, float] | None
    bad_label: tuple[int, float] | None
    bad_weight: tuple[int, float] | None
    weighted: bool
    sparse: bool
    plain: bool


def inspect(X: Any, y: Any, s: Any) -> PartReport:
    """Report on one partition; s is None without weights."""
    matrix, labels = Matrix(X), np.asarray(y)
    weights = None if s is None else np.asarray(s, np.float64)
    missing = labels.dtype.kind == "f" and ~np.isfinite(labels)
    wrong = None if weights is None else ~(np.isfinite(weights) & (weights >= 0.0))
    return PartReport(
        n_rows=matrix.shape[0],
        n_labels=len(labels),
        n_weights=None if weights is None else len(weights),
        n_features=matrix.shape[1],
        n_entries=matrix.n_entries,
        dtype=matrix.dtype,
        labels=_different(labels),
        bad_entry=first_not_finite(X),
        bad_label=_first(labels, missing),
        bad_weight=_first(weights, wrong),
        weighted=weights is None or bool(weights.any()),
        sparse=matrix.is_sparse,
        plain=is_plain_part(X),
    )


def _different(labels: Array) -> Array:
    found = np.unique(labels)
    continuous = labels.dtype.kind == "f" and not (found == np.rint(found)).all()
    return found[:FEW_LABELS] if continuous else found


def _first(values: Array | None, wrong: Any) -> tuple[int, float] | None:
    at = np.flatnonzero(wrong)
    return (int(at[0]), float(values[at[0]])) if values is not None and len(at) else None


def is_plain_part(X: Any) -> bool:
    """Return whether the kernels read X in place, without a copy for every pass."""
    if sp.issparse(X):
        return X.format == "csr" and X.data.dtype in (np.float32, np.float64)
    return type(X) is np.ndarray and X.flags.c_contiguous and readable(X) is X


def make_plain(X: Any) -> Any:
    """Copy X to a form that the kernels read in place, unless it has one."""
    if is_plain_part(X):
        return X
    if sp.issparse(X):
        return X.tocsr().astype(Matrix(X).dtype)
    return np.ascontiguousarray(readable(np.asarray(X)))


def frame_to_rows(frame: Any, dtype: Any) -> Array:
    """Return a partition of a data frame as an array in C order."""
    return np.ascontiguousarray(frame.to_numpy(dtype=dtype))


def column_of_frame(column: Any) -> Array:
    """Return a partition of a series as an array."""
    return np.asarray(column)


def number_labels(y: Any, s: Any, classes: Array) -> Labels:
    """Return the class numbers and the weights of a partition."""
    numbers = np.searchsorted(classes, np.asarray(y)).astype(np.int32)
    weights = None if s is None else np.ascontiguousarray(s, np.float64)
    return numbers, weights
