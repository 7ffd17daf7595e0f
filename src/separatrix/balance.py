"""Duals that a free bias allows: as much weight leaves every class as enters it."""

from __future__ import annotations

import numpy as np

from separatrix.arrays import Array


def balancing(A: Array) -> Array:
    """The factors F (C, C) by which flows must shrink for each class to receive what it gives.

    A_cj, the weighted sum of the flows from the samples of class c to class j, is the generator
    of a Markov chain (less its diagonal). Scaling the samples of class c by pi_c balances the
    flows if pi is stationary, pi A = 0. Flows between classes that cannot reach each other back
    (to a class without weight, say) can never be balanced and are dropped. Both steps only
    shrink flows, under which the domain of every conjugate here is closed.

    >>> balancing(np.array([[0.0, 1.0], [4.0, 0.0]]))
    array([[1.  , 1.  ],
           [0.25, 0.25]])
    """
    groups = _communicating(A > 0.0)
    return groups * _stationary(np.where(groups, A, 0.0), groups)[:, None]


def _communicating(links: Array) -> Array:
    """Mark the pairs (C, C) of states that reach each other."""
    reach = links | np.eye(len(links), dtype=bool)
    while True:
        steps = reach.astype(np.float32)
        further = steps @ steps > 0.0
        if np.array_equal(further, reach):
            return reach & reach.T
        reach = further


def _stationary(A: Array, groups: Array) -> Array:
    """Stationary vector of each closed group of states, each scaled to a maximum of 1."""
    pi = np.ones(len(A))
    for first in np.unique(groups.argmax(axis=1)):
        members = np.flatnonzero(groups[first])
        if len(members) > 1:
            pi[members] = _eliminate(A[np.ix_(members, members)])
    return pi


def _eliminate(A: Array) -> Array:
    """Stationary vector, maximum 1, of an irreducible generator given without its diagonal.

    See W. Grassmann, M. Taksar and D. Heyman, Regenerative analysis and steady state
    distributions for Markov chains, Operations Research 1985. Free of cancellation, so every
    entry is right to some eps whatever the range of the rates.
    """
    rates = A.sum(axis=1)
    P = A / rates[:, None]
    leaving = np.ones(len(P))
    for k in range(len(P) - 1, 0, -1):
        leaving[k] = P[k, :k].sum()
        P[:k, :k] += np.outer(P[:k, k], P[k, :k] / (leaving[k] or 1.0))
    pi = np.zeros(len(P))
    pi[0] = 1.0
    for k in range(1, len(P)):
        entering = pi[:k] @ P[:k, k]
        if entering > leaving[k]:  # keep the maximum at 1: a quotient could overflow
            pi[:k] *= leaving[k] / entering
            pi[k] = 1.0
        elif entering > 0.0:
            pi[k] = entering / leaving[k]
    pi *= rates.min() / rates
    peak = pi.max()
    return pi / peak if peak > 0.0 else np.zeros(len(P))
