"""Curvature from the last changes of weights and gradients (the two-loop recursion of L-BFGS).

A change s = w' - w of the weights and y = g' - g of the gradient correct an approximation B to the
inverse Hessian, so that B y = s. Changes of zero are ignored: a model with fewer changes than the
other models of the batch is filled up with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model

CurvaturePairs: TypeAlias = list[tuple[Model, Model]]

CURVED = 1e-12  # pairs s, y with a cosine below this are ignored: their curvature is rounding


def curvature_pairs(slots: tuple[Model, ...]) -> CurvaturePairs:
    """Return the changes s and y, which alternate in the slots."""
    return list(zip(slots[::2], slots[1::2]))


def remember(
    slots: tuple[Model, ...], change: Model, turn: Model, memory: int
) -> tuple[Model, ...]:
    """Return the slots with s and y of one more step; zeros if they show no positive curvature."""
    product = change.dot(turn)
    size = np.sqrt(change.dot(change) * turn.dot(turn))
    good = product > CURVED * size
    if not good.all():
        change, turn = (pair.times(good.astype(np.float64)) for pair in (change, turn))
    return (*slots, change, turn)[-2 * memory :]


def forget(slots: tuple[Model, ...], models: Array) -> tuple[Model, ...]:
    """Return the slots with zeros for some models (a mask)."""
    kept = np.where(models, 0.0, 1.0)
    return tuple(slot.times(kept) for slot in slots)


def direction(gradient: Model, pairs: CurvaturePairs, inverse: Callable[[Model], Model]) -> Model:
    """Return -B g by two loops over the changes, starting from an approximate inverse.

    See J. Nocedal and S. Wright, Numerical Optimization, 2006, algorithm 7.4.
    """
    products = [s.dot(y) for s, y in pairs]
    rhos = [np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0) for p in products]
    q, taken = gradient, []
    for (s, y), rho in zip(reversed(pairs), reversed(rhos)):
        alpha = rho * s.dot(q)
        taken.append(alpha)
        q = q.plus(y, -alpha)
    q = inverse(q)
    for (s, y), rho, alpha in zip(pairs, rhos, reversed(taken)):
        q = q.plus(s, alpha - rho * y.dot(q))
    return q.times(np.full(gradient.n_models, -1.0))
