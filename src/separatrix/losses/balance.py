"""Balance duals as an unpenalised bias requires: as much flows into every class as out of it."""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array

MOST_TURNS, TILT_EXACT = 50, 0.01  # conjugate-gradient iterations, and the imbalance they may leave


def balancing(A: Array) -> Array:
    """Return the factors F (B, C, C) by which flows must shrink so that every class is balanced.

    A_cj is the weighted sum of the flows from the samples of class c to class j, for B models. It
    is the generator of a Markov chain, without its diagonal. Scaling the samples of class c by pi_c
    balances the flows if pi is stationary, pi A = 0. Flows between classes without a path back (to
    a class without weight, for example) can never be balanced and are dropped. Both steps only
    shrink flows, which keeps them in the domain of every conjugate here.

    >>> balancing(np.array([[[0.0, 1.0], [4.0, 0.0]]]))[0]
    array([[1.  , 1.  ],
           [0.25, 0.25]])
    """
    groups = _communicating(A > 0.0)
    return groups * _stationary(np.where(groups, A, 0.0), groups)[:, :, None]


def tilts(A: Array) -> Array:
    """Return shifts x (B, C) of the scores that nearly balance the flows of a softmax.

    Let p be the probabilities of the rows. Shifting the scores changes the imbalance g by the
    Hessian diag(sum p) - sum p p^T. If most rows are predicted right, that is close to the
    Laplacian of A + A^T. L x = -g is solved by conjugate gradients, summed without a library's
    matrix product, whose bits depend on its threads.
    """
    S = A + A.swapaxes(1, 2)
    degree = S.sum(axis=2)
    degree = np.where(degree > 0.0, degree, 1.0)
    x, r = np.zeros(degree.shape), A.sum(axis=2) - A.sum(axis=1)
    z = q = r / degree
    rz = (r * z).sum(axis=1, keepdims=True)
    goal = TILT_EXACT**2 * rz
    for _ in range(MOST_TURNS):
        Lq = degree * q - (S * q[:, None, :]).sum(axis=2)
        curvature = (q * Lq).sum(axis=1, keepdims=True)
        go = (rz > goal) & (curvature > 0.0)  # each model stops on its own
        if not go.any():
            break
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=go)
        x, r = x + step * q, r - step * Lq
        z = r / degree
        before, rz = rz, np.where(go, (r * z).sum(axis=1, keepdims=True), rz)
        q = np.where(go, z + np.divide(rz, before, out=np.zeros_like(rz), where=go) * q, q)
    return x


def _communicating(links: Array) -> Array:
    """Mark the pairs (B, C, C) of states that can reach each other."""
    reach = links | np.eye(links.shape[1], dtype=bool)
    while True:
        steps = reach.astype(np.float32)
        further = steps @ steps > 0.0
        if np.array_equal(further, reach):
            return reach & reach.swapaxes(1, 2)
        reach = further


def _stationary(A: Array, groups: Array) -> Array:
    """Return stationary vectors (B, C) of generators given without their diagonals.

    They are supported on closed groups of states, each scaled to a maximum of 1. See W. Grassmann,
    M. Taksar and D. Heyman, Regenerative analysis and steady state distributions for Markov chains,
    Operations Research 1985. The algorithm has no cancellation, so every entry is accurate to a few
    eps, whatever the range of the rates.
    """
    B, C, _ = A.shape
    rates = A.sum(axis=2)
    rates = np.where(rates > 0.0, rates, 1.0)  # of a state that is its own group
    P = A / rates[:, :, None]
    leaving, pi = np.ones((B, C)), np.ones((B, C))
    for k in range(C - 1, 0, -1):
        leaving[:, k] = P[:, k, :k].sum(axis=1)  # nothing leaves the first state of a group
        share = P[:, k, :k] / np.where(leaving[:, k] > 0.0, leaving[:, k], 1.0)[:, None]
        P[:, :k, :k] += P[:, :k, k, None] * share[:, None, :]
    for k in range(1, C):
        inside, away = groups[:, k, :k], leaving[:, k]
        entering = (pi[:, :k] * P[:, :k, k]).sum(axis=1)
        high = entering > away  # keep the maximum at 1, because a quotient could overflow
        shrink = np.divide(away, entering, out=np.ones(B), where=high)
        pi[:, :k] *= np.where(inside, shrink[:, None], 1.0)
        grown = np.divide(entering, away, out=np.zeros(B), where=away > 0.0)
        pi[:, k] = np.where(high | ~inside.any(axis=1), 1.0, grown)
    pi *= np.where(groups, rates[:, None, :], np.inf).min(axis=2) / rates
    peak = np.where(groups, pi[:, None, :], 0.0).max(axis=2)
    return np.divide(pi, peak, out=np.zeros((B, C)), where=peak > 0.0)
