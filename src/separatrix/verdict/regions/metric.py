"""Lengths in the norm of a Hessian, with bounds on their rounding errors.

Let M be a symmetric matrix for the weights and the bias. A functional a moves by at most
|a|_{M^-1} |v|_M with v, where |a|_{M^-1}^2 = a M^-1 a. With the Cholesky factor L of M, this is the
length of L^-1 a.

The computed entries of M have errors of at most the share gamma of sqrt(M_jj M_kk), so the matrix
of the errors is at most m gamma diag(M). It is subtracted before the factor is computed.

See N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 8 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack

from separatrix.matrix import Array
from separatrix.verdict.regions.rounding import SMALLEST, UNIT, rounding_of
from separatrix.verdict.regions.rows import CentredRows

LARGEST_ERROR = 0.1  # of an inverse, relative


@dataclass(frozen=True)
class RowMovements:
    """What bounds the movement of the scores of n rows.

    Attributes
    ----------
    length : upper bounds on |(x - o, 1)|_{M^-1} (n,)
    drift : (x - o, 1) M^-1 a (n,) for a direction a, with an error of at most `lost` times the
        length
    lost : see above
    """

    length: Array
    drift: Array
    lost: float


@dataclass(frozen=True)
class Metric:
    """M as a Cholesky factor.

    Attributes
    ----------
    L, K : the factor and its inverse (m, m); the last column is that of the bias, if there is one
    grow : what lengths computed with K are multiplied by
    largest : bounds (m,) on the entries of rows, as far as rounding errors depend on them
    has_bias : whether the last entry of a row is the 1 of the bias
    """

    L: Array
    K: Array
    grow: float
    largest: Array
    has_bias: bool

    @classmethod
    def of(cls, M: Array, n_rows: int, largest: Array, has_bias: bool) -> Metric | None:
        """Return the metric of a matrix (m, m) that sums over n rows, or None if it has none.

        >>> metric = Metric.of(np.diag([4.0, 1.0]), 10, np.ones(2), False)
        >>> round(metric.size(np.array([1.0, 0.0]), np.zeros(2)), 3)
        0.5
        """
        m, M = len(M), M.copy()
        share = 2 * m * (rounding_of(4 * n_rows) + rounding_of(4 * m))
        M[np.diag_indices(m)] *= 1.0 - share
        if not np.isfinite(M).all():
            return None
        try:
            L = cholesky(M, lower=True, check_finite=False)
        except LinAlgError:
            return None
        K, failed = lapack.dtrtri(L, lower=1)
        if failed:
            return None
        error = float(
            np.linalg.norm(K @ L - np.eye(m))
            + rounding_of(4 * m) * np.linalg.norm(np.abs(K) @ np.abs(L))
        )
        if not error < LARGEST_ERROR:
            return None
        return cls(L, K, (1.0 + 4.0 * UNIT * m) / (1.0 - error), largest, has_bias)

    def size(self, a: Array, error: Array) -> float:
        """Return an upper bound on |a|_{M^-1} for a (m,) whose entries have errors (m,)."""
        off = np.abs(self.K) @ (rounding_of(2 * len(a)) * np.abs(a) + error)
        return float(np.linalg.norm(np.abs(self.K @ a) + off)) * self.grow + SMALLEST

    def ratio(self, other: Metric) -> float:
        """Return an upper bound on |a|_{M^-1} divided by the length in another metric, for any a.

        It is the largest singular value of L^-1 times the factor of the other metric.
        """
        off = rounding_of(8 * len(self.K)) * np.linalg.norm(np.abs(self.K) @ np.abs(other.L))
        values = np.linalg.svd(self.K @ other.L, compute_uv=False)
        return float((values[0] * (1.0 + 64.0 * UNIT * len(self.K)) + off) * self.grow)

    def movements(self, parts: Iterable[CentredRows], a: Array) -> RowMovements:
        """Return lengths and drifts of rows for the direction a (m,)."""
        m, d = self.K.shape[0], len(self.largest) - self.has_bias
        W = np.ascontiguousarray(self.K[:, :d].T)[:, :, None]
        b = self.K[:, d] if self.has_bias else np.zeros(m)
        direction = self.K @ a
        lengths, drifts = [], []
        for part in parts:
            Y = part.scores(W)[:, :, 0]
            Y += b
            lengths.append(np.einsum("ij,ij->i", Y, Y))
            drifts.append(Y @ direction)
        columns = np.sqrt(np.square(self.K).sum(axis=0))
        off = rounding_of(4 * m) * float(columns @ self.largest)
        # Once for the length and at least once for the drift, whose bound is |a| times the length.
        length = (np.sqrt(np.concatenate(lengths)) + 3.0 * off) * self.grow * (1.0 + UNIT * m)
        # Both factors of the drift have a relative error of at most grow - 1.
        size = float(np.linalg.norm(direction)) * self.grow
        lost = size * (4.0 * (self.grow - 1.0) + rounding_of(8 * m))
        return RowMovements(length + SMALLEST, np.concatenate(drifts), lost)
