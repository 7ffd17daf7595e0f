"""Bounds on rounding errors in float64."""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array

UNIT = 2.0**-53  # largest relative error of one operation
SMALLEST = float(np.finfo(np.float64).tiny)
# Relative error of the gradient of a loss at a given score: a few functions and operations.
LOSS_GRADIENT = 64.0 * UNIT
SLACK_TERMS = 16  # operations beside those of a sum, such as products and conversions


def rounding_of(n_terms: int) -> float:
    """Return the largest error of a sum of products in any order, relative to its absolute terms.

    For n terms this is n u / (1 - n u) with the unit u = 2^-53.

    See N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
    """
    share = (n_terms + SLACK_TERMS) * UNIT
    return share / (1.0 - share)


def upper_norm(a: Array, axis: int | tuple[int, ...]) -> Array:
    """Return an upper bound on the Euclidean norm along some axes.

    The largest entry is divided out first, so that no square overflows or underflows.
    """
    largest = np.abs(a).max(axis=axis, keepdims=True, initial=0.0)
    unit = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
    squares = np.square(a / unit).sum(axis=axis, keepdims=True)
    norm = unit * np.sqrt(squares)
    return np.asarray(norm.squeeze(axis=axis) * (1.0 + rounding_of(a.size)) + SMALLEST)
