"""Kernel ridge regression with exact leave-one-out predictions.

With weights s, A = diag(sqrt(s)) K diag(sqrt(s)) and G = (A + alpha I)^-1, the coefficients are
sqrt(s) o c with c = G (sqrt(s) o y). Without row i, the error at row i is exactly

    y_i - f_without_i(x_i) = (y_i - f(x_i)) / (1 - h_ii) = c_i / (sqrt(s_i) G_ii)

where h is the matrix that maps y to f. No model is fitted twice (Allen's PRESS). A row of weight
s_i counts as s_i equal rows, one of which is left out. With u_i = min(1, 1 / s_i), the fraction of
the weight that is left out, and v_i = (1 - u_i) / alpha,

    y_i - f_without_i(x_i) = (y_i - f(x_i)) / (1 - u_i h_ii) = c_i / (sqrt(s_i) (u_i G_ii + v_i))

If A has eigenvalues of 0 and alpha is 0 or negligible beside A, G is unbounded. The limit of the
model is the least-squares model. Let N be the projection on the eigenvectors with eigenvalue 0.
Rows with N_ii > 0 then have the error

    y_i - f_without_i(x_i) = (N (sqrt(s) o y))_i / (sqrt(s_i) (1 - u_i (1 - N_ii)))
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.linalg.lapack import dpotri

from separatrix.matrix import Array

EPS = float(np.finfo(np.float64).eps)
SOUND = EPS**0.5  # smallest Cholesky pivot above rounding errors, relative to the largest entry


def solve_ridge(K: Array, y: Array, s: Array, alpha: float) -> tuple[Array, Array]:
    """Return coefficients (n, T) and leave-one-out predictions (n, T) for targets y (n, T).

    A Cholesky factorisation takes a tenth of the time of an eigendecomposition. If it fails or is
    inaccurate, the eigendecomposition is used. This happens if alpha is near 0 and rows repeat or
    outnumber the features, or if the kernel is not positive semidefinite.
    """
    root = np.sqrt(s)
    A = root[:, None] * K * root
    A[np.diag_indices_from(A)] += alpha
    largest = np.diagonal(A).max()
    try:
        upper = cholesky(A, overwrite_a=True, check_finite=False)
        sound = np.diagonal(upper).min() ** 2 > SOUND * largest
    except LinAlgError:
        sound = False
    if not sound:
        coefficients, left_out = solve_ridge_path(K, y, s, np.array([alpha]))
        return coefficients[0], left_out[0]
    inverse, _ = dpotri(upper, overwrite_c=True)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    c = inverse @ (root[:, None] * y)
    nothing = np.zeros_like(y), np.zeros(len(y))
    return root[:, None] * c, y - _missed(K, y, root, c, np.diagonal(inverse), alpha, *nothing)


def solve_ridge_path(K: Array, y: Array, s: Array, alphas: Array) -> tuple[Array, Array]:
    """Return the same for every alpha, (A, n, T) each, from one eigendecomposition.

    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> coefficients, left_out = solve_ridge_path(K, y, np.ones(2), np.array([1.0, 2.0]))
    >>> coefficients[0].round(3).ravel(), left_out.round(3)[:, 1].ravel()
    (array([ 0.375, -0.125]), array([0.333, 0.25 ]))
    """
    root = np.sqrt(s)
    values, Q = eigh(root[:, None] * K * root, overwrite_a=True, check_finite=False, driver="evd")
    values[np.abs(values) <= len(K) * EPS * np.abs(values).max()] = 0.0  # rounding
    shifted = values[:, None] + alphas
    none = np.abs(shifted) <= len(K) * EPS * np.abs(shifted).max(axis=0)
    shrink = np.where(none, 0.0, 1.0 / np.where(none, 1.0, shifted))
    along = Q.T @ (root[:, None] * y)
    c = [Q @ (own[:, None] * along) for own in shrink.T]
    diagonals = np.square(Q) @ shrink
    beside = [(Q[:, own] @ along[own], np.square(Q[:, own]).sum(axis=1)) for own in none.T]
    left_out = [
        y - _missed(K, y, root, own, g, alpha, *pair)
        for own, g, alpha, pair in zip(c, diagonals.T, alphas, beside)
    ]
    return np.stack([root[:, None] * own for own in c]), np.stack(left_out)


def _missed(
    K: Array,
    y: Array,
    root: Array,
    c: Array,
    diagonal: Array,
    alpha: float,
    beside: Array,
    share: Array,
) -> Array:
    """Return the leave-one-out errors (n, T): y minus the prediction without the row.

    `beside` (n, T) is N (sqrt(s) o y), and `share` (n,) is the diagonal of N. Both are 0 unless
    alpha is negligible.
    """
    missed = np.empty_like(y)
    # The fit does not depend on rows of weight 0.
    out = root == 0.0
    missed[out] = y[out] - K[out] @ (root[:, None] * c)
    r, g = root[~out], diagonal[~out]
    part = np.minimum(1.0, r**-2)
    # With alpha = 0, a row that keeps a part of its weight is still fitted exactly.
    with np.errstate(divide="ignore"):
        rest = np.divide(1.0 - part, alpha, out=np.zeros_like(part), where=part < 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed[~out] = c[~out] / (r * (part * g + rest))[:, None]
    free = ~out & (share > len(K) * EPS)
    part = np.minimum(1.0, root[free] ** -2.0)
    missed[free] = beside[free] / (root[free] * (1.0 - part * (1.0 - share[free])))[:, None]
    return missed
