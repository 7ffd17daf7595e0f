"""Low-rank factors of kernel matrices by a pivoted Cholesky factorisation.

    K ~ L L^T,    K (n, n) with K_ij = k(x_i, x_j),    L (n, r)

The rows of L are features whose inner products approximate the kernel, so a linear model on L is a
kernel model. Only the diagonal of K and the columns of the r pivots are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.kernel_methods.kernel import Kernel, as_float64
from separatrix.matrix import Array

EPS = float(np.finfo(np.float64).eps)
CANDIDATES = 128  # rows from which the pivots of one round are chosen
NEGATIVE = "Its matrix has negative eigenvalues."
SLACK = 1e-8  # tolerance of the checks for symmetry and sign, relative to the largest entry
ENOUGH = 0.5  # smallest residual of a pivot, relative to the largest residual


@dataclass(frozen=True, eq=False)
class LowRankFactor:
    """A pivoted Cholesky factor of a kernel matrix, truncated at a rank.

    The residual K - L L^T is positive semidefinite and 0 in the rows and columns of the pivots.

    Attributes
    ----------
    kernel : the kernel
    pivots : (r,), row numbers of the pivots
    rows : (r, d), rows of X at the pivots
    triangle : (r, r), rows of L at the pivots, a lower triangle
    n_rows : number of rows of X
    trace : trace of K
    left : trace of the residual
    largest : largest entry of the diagonal of the residual

    >>> X = np.array([[0.0], [1.0], [1.0], [3.0]])
    >>> factor, L = LowRankFactor.of(Kernel("rbf", gamma=1.0), X, rank=3)
    >>> print(factor)
    kernel='rbf', gamma=1: rank 3 of 4 rows, residual 0 of the trace of K (at most 0 per row)
    >>> np.allclose(L @ L.T, factor.kernel(X)), np.allclose(factor.features(X), L)
    (True, True)
    """

    kernel: Kernel
    pivots: Array
    rows: Any
    triangle: Array
    n_rows: int
    trace: float
    left: float
    largest: float

    @classmethod
    def of(
        cls, kernel: Kernel, X: Any, rank: int | None = None, tol: float = 0.0
    ) -> tuple[LowRankFactor, Array]:
        """Compute the factor and L (n, r) of the rows X (n, d).

        The factorisation stops at `rank` pivots, when the trace of the residual is at most `tol`
        times the trace of K, or at machine precision.
        """
        X = as_float64(X)
        pivots, L, diagonal, residual = _eliminate(kernel, X, rank, tol)
        factor = cls(
            kernel,
            pivots,
            X[pivots],
            L[pivots],
            X.shape[0],
            float(diagonal.sum()),
            float(residual.sum()),
            float(residual.max(initial=0.0)),
        )
        return factor, L

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def relative_left(self) -> float:
        """The trace of the residual divided by the trace of K."""
        return self.left / self.trace if self.trace > 0.0 else 0.0

    def features(self, X: Any) -> Array:
        """Return the features (m, r) of any rows X (m, d): k(x, pivots) triangle^-T (Nystrom)."""
        if not self.rank:  # K is 0
            return np.empty((X.shape[0], 0))
        K = self.kernel(X, self.rows)
        return np.ascontiguousarray(solve_triangular(self.triangle, K.T, lower=True).T)

    def __str__(self) -> str:
        return (
            f"{self.kernel.words()}: rank {self.rank} of {self.n_rows} rows, "
            f"residual {self.relative_left:.2g} of the trace of K (at most {self.largest:.2g} "
            "per row)"
        )


def _eliminate(
    kernel: Kernel, X: Any, rank: int | None, tol: float
) -> tuple[Array, Array, Array, Array]:
    """Return the pivots (r,), L (n, r), the diagonal of K and the diagonal of the residual.

    Each round chooses several pivots among the rows with the largest residuals, which needs only
    the residuals between these rows. It then computes all their columns with matrix products.
    Choosing one pivot at a time would need a pass over L for every pivot.
    """
    n = X.shape[0]
    most = n if rank is None else min(rank, n)
    diagonal = kernel.diagonal(X)
    # With one argument, a function would be called only once for (x, z) and (z, x).
    some = kernel(X[:CANDIDATES], X[:CANDIDATES])
    _require_entries(kernel, some, diagonal)
    residual = diagonal.copy()
    floor = n * EPS * float(residual.max(initial=0.0))
    L, pivots = np.empty((n, most)), np.empty(0, np.intp)
    while len(pivots) < most and residual.sum() > tol * diagonal.sum() and residual.max() > floor:
        r = len(pivots)
        tried = np.argsort(-residual, kind="stable")[:CANDIDATES]
        between = kernel(X[tried]) - L[tried, :r] @ L[tried, :r].T
        taken, triangle = _pivots_among(between, max(ENOUGH * residual[tried[0]], floor), most - r)
        new = tried[taken]
        columns = kernel(X, X[new]) - L[:, :r] @ L[new, :r].T
        columns = solve_triangular(triangle, columns.T, lower=True).T
        columns[pivots] = 0.0  # remove rounding errors
        columns[new] = triangle
        L[:, r : r + len(new)] = columns
        residual -= np.einsum("ij,ij->i", columns, columns)
        pivots = np.concatenate([pivots, new])
        residual[pivots] = 0.0
        if residual.min() < -SLACK * diagonal.max() or not np.isfinite(residual).all():
            raise _no_kernel(kernel, NEGATIVE)
        np.maximum(residual, 0.0, out=residual)
    L = np.ascontiguousarray(L[:, : len(pivots)])
    _require_kernel(kernel, some, L[:CANDIDATES], residual[:CANDIDATES])
    return pivots, L, diagonal, residual


def _pivots_among(S: Array, enough: float, most: int) -> tuple[list[int], Array]:
    """Return the pivots of S (m, m) with residuals above `enough`, and their triangle."""
    residual, taken = np.diagonal(S).copy(), [int(np.argmax(np.diagonal(S)))]
    L = np.zeros((len(S), min(len(S), most)))
    for k in range(L.shape[1]):
        p = taken[-1]
        L[:, k] = (S[:, p] - L[:, :k] @ L[p, :k]) / np.sqrt(residual[p])
        residual = residual - L[:, k] ** 2
        residual[taken] = -np.inf
        best = int(np.argmax(residual))
        if not residual[best] > enough or k + 1 == L.shape[1]:
            break
        taken.append(best)
    return taken, np.tril(L[taken, : len(taken)])


def _require_entries(kernel: Kernel, K: Array, diagonal: Array) -> None:
    """Raise if the diagonal has negative entries, or some entries are not symmetric."""
    bad = np.flatnonzero(~((diagonal >= 0.0) & np.isfinite(diagonal)))
    if len(bad):
        value = f"{diagonal[bad[0]]:g}"
        found = f"For row {bad[0]} and itself it is {value}, which must be finite and >= 0."
        raise _no_kernel(kernel, found)
    if not (np.abs(K - K.T) <= SLACK * np.abs(K).max()).all():
        raise _no_kernel(kernel, "It is not symmetric: (x, z) and (z, x) give different values.")


def _require_kernel(kernel: Kernel, K: Array, L: Array, residual: Array) -> None:
    """Raise unless the residuals r_ij of some rows satisfy r_ij^2 <= r_ii r_jj."""
    root = np.sqrt(residual)
    if not (np.abs(K - L @ L.T) <= np.outer(root, root) + SLACK * np.abs(K).max()).all():
        raise _no_kernel(kernel, NEGATIVE)


def _no_kernel(kernel: Kernel, found: str) -> ValueError:
    return ValueError(
        f"{kernel.words()} is not positive semidefinite on these rows. {found} Use a positive "
        "semidefinite kernel, such as 'rbf', or scale the features."
    )
