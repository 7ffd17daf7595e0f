"""Whether a plane separates the classes, so that a cross-entropy has no finite optimum."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from separatrix.arrays import Array
from separatrix.data import Block
from separatrix.losses import OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective

PROGRAMME_SIZE = 50_000  # entries of the linear programme that is worth solving
NEARLY_ALL = 1.0 - 1e-6  # an accuracy of 1, but for rounding


def without_finite_optimum(objective: Objective, model: Model) -> Array:
    """Which models (B,) minimise a cross-entropy without a penalty over separable data.

    Proven for each by the model itself, where it puts every row strictly on its side, and for small
    data by a linear programme; never by another model, so that a model is told the same in every
    company. False says only that nothing was proven.
    """
    B, loss = model.n_models, objective.loss
    endless = np.zeros(B, bool)
    # Of the convex losses only the cross-entropies fall for ever on separable data.
    if not loss.convex or loss.probabilities(model.b[None]) is None:
        return endless
    l1, l2 = objective.strengths(B)
    free = np.flatnonzero((l1 == 0.0) & (l2 == 0.0))
    if not len(free):
        return endless
    endless[free] = _separating(objective.select(free), model.select(free))
    own_rows = any(b.y.ndim == 2 or b.weights.ndim == 2 for b in objective.data.blocks())
    exists: bool | None = None
    for m in free[~endless[free]]:
        if exists is None or own_rows:
            exists = _plane_exists(objective.select(np.array([m])))
        endless[m] = exists
    return endless


def _separating(objective: Objective, model: Model) -> Array:
    """Which models (B,) put every row that counts strictly on its side."""
    out = np.zeros(model.n_models, bool)
    _, accuracy = objective.loss_and_accuracy(model)
    # With one-vs-rest a single plane is enough, and the rows need not all be right.
    one_plane = isinstance(objective.loss, OneVsRest)
    for m in np.flatnonzero((accuracy > NEARLY_ALL) | one_plane):
        one, alone = np.array([m]), objective.select(np.array([m]))
        parts = [_strict(alone, model.select(one), block) for block in alone.data.blocks()]
        out[m] = np.logical_and.reduce(parts).any()
    return out


def _strict(objective: Objective, model: Model, block: Block) -> Array:
    """Whether every row that counts has its own class strictly ahead, for each plane of a model."""
    if not objective.bias:  # a bias that is fixed does not grow with the weights
        model = Model(model.W, np.zeros_like(model.b))
    loss, y, Z = objective.loss, block.y, model.scores(block.X).astype(np.float64)
    if isinstance(loss, OneVsRest):
        y, Z = loss.split(y, Z)
        loss = loss.base
    P = loss.probabilities(Z)
    assert P is not None
    true = np.broadcast_to(y if y.ndim == 2 else y[:, None], P.shape[:2]).astype(int)[:, :, None]
    own = np.take_along_axis(P, true, axis=2)[:, :, 0]
    np.put_along_axis(P, true, -1.0, axis=2)
    counts = np.broadcast_to(block.weights.reshape(len(y), -1)[:, :1] > 0.0, own.shape)
    return np.asarray(((own > P.max(axis=2)) | ~counts).all(axis=0))


def _plane_exists(objective: Objective) -> bool:
    """Solve for W, b with z_y - z_j >= 1 for every row and every other class j, for one model."""
    block, *more = objective.data.blocks()
    if more or isinstance(objective.loss, OneVsRest):
        return False
    C, (n, d) = max(len(objective.data.classes), 2), block.X.shape
    if n * (C - 1) * (d + 1) * 2 > PROGRAMME_SIZE:
        return False
    counts = block.weights.reshape(n, -1)[:, 0] > 0.0
    if not counts.any():
        return False
    X = sp.csr_array(block.X.X[counts], dtype=np.float64)
    y = block.y.reshape(n, -1)[counts, 0]
    if objective.bias:
        X = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    pairs = [(i, j) for i in range(len(y)) for j in range(C) if j != y[i]]
    rows = np.array([i for i, _ in pairs])
    ahead = _one_hot(y[rows], C) - _one_hot(np.array([j for _, j in pairs]), C)
    # Row r is the Kronecker product of ahead[r] and of its row of X.
    A = sp.csr_array((ahead[:, :, None] * X[rows].toarray()[:, None, :]).reshape(len(rows), -1))
    found = linprog(
        np.zeros(A.shape[1]),
        A_ub=-A,
        b_ub=-np.ones(A.shape[0]),
        bounds=(None, None),
        method="highs",
    )
    return bool(found.status == 0)


def _one_hot(classes: Array, n_classes: int) -> Array:
    return (classes[:, None] == np.arange(n_classes)).astype(np.float64)
