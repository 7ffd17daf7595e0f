"""The kernel matrix of many rows as a factor of low rank: a pivoted Cholesky factorisation.

    K ~ L L^T,    K (n, n) with K_ij = k(x_i, x_j),    L (n, r)

A row of L is a row of features whose products are the kernel: what is linear in them is a model on
kernels. Of K only the diagonal and the columns of the r pivots are ever computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.kernel_methods.kernel import Kernel, as_float64
from separatrix.matrix import Array

EPS = float(np.finfo(np.float64).eps)
CANDIDATES = 128  # rows of which the pivots of one round are chosen
NEGATIVE = "Its matrix has negative eigenvalues."
SLACK = 1e-8  # of the largest entry, for what must be equal or positive
ENOUGH = 0.5  # of the largest residual, for a candidate to be as good a pivot


@dataclass(frozen=True, eq=False)
class LowRankFactor:
    """A pivoted Cholesky factor of a kernel matrix, cut off at a rank.

    The residual K - L L^T is positive semidefinite, and 0 in the rows and columns of the pivots.

    Attributes
    ----------
    kernel : the kernel
    pivots : (r,), the numbers of the pivots among the rows of X
    rows : (r, d), these rows
    triangle : (r, r), lower: their rows of L
    n_rows : of X
    trace, left, largest : the trace of K, that of the residual, and the largest entry of the
        residual's diagonal

    >>> X = np.array([[0.0], [1.0], [1.0], [3.0]])
    >>> factor, L = LowRankFactor.of(Kernel("rbf", gamma=1.0), X, rank=3)
    >>> print(factor)
    kernel='rbf', gamma=1: rank 3 of 4 rows; 0 of the trace of K is left out, at most 0 for a row
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
        """The factor and L (n, r) of the rows X (n, d).

        Ends at `rank` pivots, or where the trace of the residual is `tol` of that of K, or at the
        precision of the numbers.
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
        """The share of the trace of K that the factor leaves out."""
        return self.left / self.trace if self.trace > 0.0 else 0.0

    def features(self, X: Any) -> Array:
        """Rows of features (m, r) of any rows X (m, d): k(x, pivots) triangle^-T (Nystrom)."""
        if not self.rank:  # K is 0
            return np.empty((X.shape[0], 0))
        K = self.kernel(X, self.rows)
        return np.ascontiguousarray(solve_triangular(self.triangle, K.T, lower=True).T)

    def __str__(self) -> str:
        return (
            f"{self.kernel.words()}: rank {self.rank} of {self.n_rows} rows; "
            f"{self.relative_left:.2g} of the trace of K is left out, at most {self.largest:.2g} "
            "for a row"
        )


def _eliminate(
    kernel: Kernel, X: Any, rank: int | None, tol: float
) -> tuple[Array, Array, Array, Array]:
    """Pivots (r,), L (n, r), the diagonal of K and that of the residual.

    In rounds: of the rows with the largest residuals those are taken that are not explained by the
    ones taken before, which needs only the residuals between them; then the columns of all of them
    at once, by products of matrices. Pivot by pivot it would be as many passes over L.
    """
    n = X.shape[0]
    most = n if rank is None else min(rank, n)
    diagonal = kernel.diagonal(X)
    # Given one argument, a function would be asked once for (x, z) and (z, x).
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
        columns[pivots] = 0.0  # what is left there is rounding
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
    """Pivots of S (m, m) in their order, of residuals above `enough`, and their triangle."""
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
    """Raise if a row has with itself, or a pair of some rows has, what no kernel gives."""
    bad = np.flatnonzero(~((diagonal >= 0.0) & np.isfinite(diagonal)))
    if len(bad):
        found = f"Row {bad[0]} has {diagonal[bad[0]]:g} with itself, which must be finite and >= 0."
        raise _no_kernel(kernel, found)
    if not (np.abs(K - K.T) <= SLACK * np.abs(K).max()).all():
        raise _no_kernel(kernel, "It is not the same for (x, z) and (z, x).")


def _require_kernel(kernel: Kernel, K: Array, L: Array, residual: Array) -> None:
    """Raise if what L leaves of K between some rows, r_ij, is no kernel's: r_ij^2 <= r_ii r_jj."""
    root = np.sqrt(residual)
    if not (np.abs(K - L @ L.T) <= np.outer(root, root) + SLACK * np.abs(K).max()).all():
        raise _no_kernel(kernel, NEGATIVE)


def _no_kernel(kernel: Kernel, found: str) -> ValueError:
    return ValueError(
        f"{kernel.words()} is not positive semidefinite on these rows. {found} Use a kernel that "
        "is a product of features, such as 'rbf', or scale the features."
    )
