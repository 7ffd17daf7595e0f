"""Arrays in which most rows are equal, such as the weights of folds, in a short form.

The weights of five folds are five numbers for each row. Every row is in one of a few cases, so one
small integer for each row and a table of the cases are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.matrix import Array

MOST_CASES = 256


@dataclass(frozen=True)
class Cases:
    """The array table[numbers], with numbers (n,) of at most `MOST_CASES` cases."""

    numbers: Array
    table: Array


def compact(value: Any) -> Any:
    """Return an array (n, G) or (n,) as `Cases` if there are few; return all else as it is.

    >>> found = compact(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> found.numbers, found.table
    (array([1, 0, 1], dtype=uint8), array([[0., 1.],
           [1., 0.]]))
    """
    if not isinstance(value, np.ndarray) or not len(value):
        return value
    numbers, first = np.zeros(len(value), np.int64), np.zeros(1, np.int64)
    for column in value.reshape(len(value), -1).T:
        different, own = np.unique(column, return_inverse=True)
        numbers = numbers * len(different) + own
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        if len(first) > MOST_CASES:
            return value
    return Cases(numbers.astype(np.uint8), value[first])


def expand(value: Any) -> Any:
    """Return what `compact` was given."""
    return value.table[value.numbers] if isinstance(value, Cases) else value
