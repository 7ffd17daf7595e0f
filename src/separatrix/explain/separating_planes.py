"""Decide in exact arithmetic whether a hyperplane strictly separates two classes.

Let a_i = t_i (x_i, 1). Either there is a hyperplane w with a_i.w > 0 for all rows, or there are
coefficients c >= 0 of the rows, not all 0, with sum_i c_i a_i = 0 (Gordan's theorem). A linear
programme finds a candidate for w or c. The candidate is checked in exact arithmetic, because
rounding errors could decide the result if the margin is narrow.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.matrix import Array

PROGRAMME_SIZE = 1_000_000  # largest number of entries of the linear programme (one to two seconds)
MOST_ROWS = 80  # of a proof of inseparability: two seconds; the time grows with the fifth power
_EPS = float(np.finfo(np.float64).eps)
_NONE = 1e-9  # smaller coefficients, relative to the largest, are rounding errors


def strictly_apart(w: Array, X: Array, t: Array) -> bool:
    """Whether the hyperplane w (d + 1,), the bias last, strictly separates X (n, d) with signs t.

    >>> X, t = np.array([[0.1], [0.2], [0.3]]), np.array([-1.0, 1.0, 1.0])
    >>> strictly_apart(np.array([1.0, -0.15]), X, t), strictly_apart(np.array([1.0, -0.2]), X, t)
    (True, False)
    """
    if not np.isfinite(w).all():
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        scores = t * (X @ w[:-1] + w[-1])
        room = (len(w) + 2) * _EPS * (np.abs(X) @ np.abs(w[:-1]) + abs(w[-1]))
        unsure = np.flatnonzero(~(np.abs(scores) > room))
    if (np.delete(scores, unsure) < 0.0).any():
        return False
    exact = [Fraction(v) for v in w.tolist()]
    return all(t[i] * _exact_score(X[i], exact) > 0 for i in unsure)


def _exact_score(x: Array, w: list[Fraction]) -> Fraction:
    return sum((Fraction(a) * b for a, b in zip(x.tolist(), w)), w[-1])


def plane_or_none(near: Array, X: Array, t: Array, bias: bool) -> tuple[Array | None, bool]:
    """Return a hyperplane that may separate `near`, and whether X is proven to be inseparable.

    Maximises m subject to t_i (x_i.w + b) >= m and 0 <= m <= 1, with entries of w between -1 and 1
    after scaling the columns. `near` is X minus a constant row, so that no digits are lost.

    >>> X, t = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> plane_or_none(X, X, t, True)
    (None, True)
    """
    from scipy.optimize import linprog  # a slow import that is rarely needed

    A = _signed(near, t, bias)
    scale = np.abs(A).max(axis=0)
    scale[scale == 0.0] = 1.0
    n, d = A.shape
    if 2 * n * (near.shape[1] + 1) > PROGRAMME_SIZE:
        return None, False
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([-A / scale, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * d + [(0.0, 1.0)],
        method="highs-ds",  # returns a vertex, so that few rows have a coefficient
    )
    if found.status != 0:
        return None, False
    if found.x[-1] > 0.0:
        w = found.x[:-1] / scale
        return (w if bias else np.append(w, 0.0)), False
    c = -found.ineqlin.marginals
    rows = np.flatnonzero(c > _NONE * c.max(initial=0.0))
    return None, len(rows) <= MOST_ROWS and _cancel(_signed(X[rows], t[rows], bias))


def _signed(X: Array, t: Array, bias: bool) -> Array:
    A = np.column_stack([X, np.ones(len(X))]) if bias else X
    return t[:, None] * A


def _cancel(A: Array) -> bool:
    """Whether positive coefficients of the rows of A (k, d), unique up to a factor, sum to 0.

    Computes with integers, since a float is an integer times a power of two. Fraction-free
    elimination (Bareiss) divides without a remainder.
    """
    k = len(A)
    M = [_whole(column) for column in A.T.tolist()]
    pivot, before = 0, 1
    for j in range(k - 1):
        row = next((i for i in range(pivot, len(M)) if M[i][j]), None)
        if row is None:
            return False
        M[pivot], M[row] = M[row], M[pivot]
        top = M[pivot]
        for i in range(pivot + 1, len(M)):
            lead = M[i][j]
            M[i] = [(a * top[j] - lead * b) // before for a, b in zip(M[i], top)]
        before, pivot = top[j], pivot + 1
    if k == 0 or any(row[-1] for row in M[pivot:]):
        return False
    weights = [Fraction(1)]
    for j in reversed(range(k - 1)):
        rest = sum((a * c for a, c in zip(M[j][j + 1 :], weights)), Fraction(0))
        weights.insert(0, -rest / M[j][j])
    return min(weights) > 0


def _whole(values: list[float]) -> list[int]:
    pairs = [value.as_integer_ratio() for value in values]
    common = max(below for _, below in pairs)
    return [above * (common // below) for above, below in pairs]
