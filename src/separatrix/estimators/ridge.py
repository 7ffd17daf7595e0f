"""Ridge regression by its kernel matrix, and what it predicts for every row left out.

With weights s, A = diag(sqrt(s)) K diag(sqrt(s)) and G = (A + alpha I)^-1, the coefficients are
sqrt(s) o c with c = G (sqrt(s) o y). The model fitted without row i misses y_i by

    y_i - f_without_i(x_i) = (y_i - f(x_i)) / (1 - h_ii) = c_i / (sqrt(s_i) G_ii)

exactly, h being the matrix that takes y to f: no model is fitted twice (Allen's PRESS). A weight of
s is the row given s times, of which one is left out: of s_i the part u_i = min(1, 1 / s_i), and

    y_i - f_without_i(x_i) = (y_i - f(x_i)) / (1 - u_i h_ii) = c_i / (sqrt(s_i) (u_i G_ii + v_i))

with v_i = (1 - u_i) / alpha.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.linalg.lapack import dpotri

from separatrix.arrays import Array

EPS = float(np.finfo(np.float64).eps)


def solve_ridge(K: Array, y: Array, s: Array, alpha: float) -> tuple[Array, Array]:
    """Coefficients (n, T) and predictions for rows left out (n, T), for targets y (n, T).

    By a Cholesky factor, which takes a tenth of the time of the eigenvalues of K. They are asked
    where there is none: for alpha = 0 and rows that repeat, or a kernel that is not positive.
    """
    root = np.sqrt(s)
    A = root[:, None] * K * root
    A[np.diag_indices_from(A)] += alpha
    try:
        upper = cholesky(A, overwrite_a=True, check_finite=False)
    except LinAlgError:
        coefficients, left_out = solve_ridge_path(K, y, s, np.array([alpha]))
        return coefficients[0], left_out[0]
    inverse, _ = dpotri(upper, overwrite_c=True)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    c = inverse @ (root[:, None] * y)
    return root[:, None] * c, y - _missed(K, y, root, c, np.diagonal(inverse), alpha)


def solve_ridge_path(K: Array, y: Array, s: Array, alphas: Array) -> tuple[Array, Array]:
    """The same for every alpha, (A, n, T) each, by one eigendecomposition.

    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> coefficients, left_out = solve_ridge_path(K, y, np.ones(2), np.array([1.0, 2.0]))
    >>> coefficients[0].round(3).ravel(), left_out.round(3)[:, 1].ravel()
    (array([ 0.375, -0.125]), array([0.333, 0.25 ]))
    """
    root = np.sqrt(s)
    values, Q = eigh(root[:, None] * K * root, overwrite_a=True, check_finite=False, driver="evd")
    shifted = values[:, None] + alphas
    none = np.abs(shifted) <= len(K) * EPS * np.abs(shifted).max(axis=0)
    shrink = np.where(none, 0.0, 1.0 / np.where(none, 1.0, shifted))
    along = Q.T @ (root[:, None] * y)
    c = [Q @ (own[:, None] * along) for own in shrink.T]
    diagonals = np.square(Q) @ shrink
    left_out = [
        y - _missed(K, y, root, own, g, alpha) for own, g, alpha in zip(c, diagonals.T, alphas)
    ]
    return np.stack([root[:, None] * own for own in c]), np.stack(left_out)


def _missed(K: Array, y: Array, root: Array, c: Array, diagonal: Array, alpha: float) -> Array:
    """y less the prediction of the model without the row, (n, T)."""
    missed = np.empty_like(y)
    # Rows without weight are left out already.
    out = root == 0.0
    missed[out] = y[out] - K[out] @ (root[:, None] * c)
    r, g = root[~out], diagonal[~out]
    part = np.minimum(1.0, r**-2)
    # With alpha = 0 a row that stays in part is met as before.
    with np.errstate(divide="ignore"):
        rest = np.divide(1.0 - part, alpha, out=np.zeros_like(part), where=part < 1.0)
    missed[~out] = c[~out] / (r * (part * g + rest))[:, None]
    return missed
