"""Duals that a free bias allows: as much weight leaves every class as enters it."""

from __future__ import annotations

import numpy as np

from separatrix.matrix import Array

MOST_TURNS, TILT_EXACT = 50, 0.01  # of conjugate gradients, and what they leave of the imbalance


def balancing(A: Array) -> Array:
    """The factors F (B, C, C) by which flows must shrink for each class to receive what it gives.

    A_cj, the weighted sum of the flows from the samples of class c to class j, is the generator
    of a Markov chain (less its diagonal), one for each of B models. Scaling the samples of class c
    by pi_c balances the flows if pi is stationary, pi A = 0. Flows between classes that cannot
    reach each other back (to a class without weight, say) can never be balanced and are dropped.
    Both steps only shrink flows, under which the domain of every conjugate here is closed.

    >>> balancing(np.array([[[0.0, 1.0], [4.0, 0.0]]]))[0]
    array([[1.  , 1.  ],
           [0.25, 0.25]])
    """
    groups = _communicating(A > 0.0)
    return groups * _stationary(np.where(groups, A, 0.0), groups)[:, :, None]


def tilts(A: Array) -> Array:
    """Shifts x (B, C) of the scores that all but balance the flows of a softmax.

    With p the probabilities that the flows are made of, shifting the scores changes the imbalance g
    by the Hessian diag(sum p) - sum p p^T. Where most rows are right, that is the Laplacian of
    A + A^T: L x = -g is solved by conjugate gradients, summed without a library of products, whose
    bits depend on its threads.
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
        go = (rz > goal) & (curvature > 0.0)  # each model ends by itself
        if not go.any():
            break
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=go)
        x, r = x + step * q, r - step * Lq
        z = r / degree
        before, rz = rz, np.where(go, (r * z).sum(axis=1, keepdims=True), rz)
        q = np.where(go, z + np.divide(rz, before, out=np.zeros_like(rz), where=go) * q, q)
    return x


def _communicating(links: Array) -> Array:
    """Mark the pairs (B, C, C) of states that reach each other."""
    reach = links | np.eye(links.shape[1], dtype=bool)
    while True:
        steps = reach.astype(np.float32)
        further = steps @ steps > 0.0
        if np.array_equal(further, reach):
            return reach & reach.swapaxes(1, 2)
        reach = further


def _stationary(A: Array, groups: Array) -> Array:
    """Stationary vectors (B, C) of generators given without their diagonals.

    They are made of closed groups of states; that of each group is scaled to a maximum of 1.
    See W. Grassmann, M. Taksar and D. Heyman, Regenerative analysis and steady state
    distributions for Markov chains, Operations Research 1985. Free of cancellation, so every
    entry is right to some eps whatever the range of the rates.
    """
    B, C, _ = A.shape
    rates = A.sum(axis=2)
    rates = np.where(rates > 0.0, rates, 1.0)  # of a state that is a group by itself
    P = A / rates[:, :, None]
    leaving, pi = np.ones((B, C)), np.ones((B, C))
    for k in range(C - 1, 0, -1):
        leaving[:, k] = P[:, k, :k].sum(axis=1)  # nothing leaves the first state of a group
        share = P[:, k, :k] / np.where(leaving[:, k] > 0.0, leaving[:, k], 1.0)[:, None]
        P[:, :k, :k] += P[:, :k, k, None] * share[:, None, :]
    for k in range(1, C):
        inside, away = groups[:, k, :k], leaving[:, k]
        entering = (pi[:, :k] * P[:, :k, k]).sum(axis=1)
        high = entering > away  # keep the maximum at 1: a quotient could overflow
        shrink = np.divide(away, entering, out=np.ones(B), where=high)
        pi[:, :k] *= np.where(inside, shrink[:, None], 1.0)
        grown = np.divide(entering, away, out=np.zeros(B), where=away > 0.0)
        pi[:, k] = np.where(high | ~inside.any(axis=1), 1.0, grown)
    pi *= np.where(groups, rates[:, None, :], np.inf).min(axis=2) / rates
    peak = np.where(groups, pi[:, None, :], 0.0).max(axis=2)
    return np.divide(pi, peak, out=np.zeros((B, C)), where=peak > 0.0)
