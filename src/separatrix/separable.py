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


def without_finite_optimum(objective: Objective, model: Model) -> Array:
    """Which models (B,) minimise a cross-entropy without a penalty over separable data.

    Proven by the model itself where it puts every row strictly on its side and, for small data, by
    a linear programme. False says only that nothing was proven.
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
    blocks = list(objective.data.blocks())
    if any(block.y.ndim == 2 or block.weights.ndim == 2 for block in blocks):
        for m in free:
            endless[m] = _proven(objective.select(np.array([m])), model.select(np.array([m])))
        return endless
    # All models have the same rows: one that separates them is the proof for all.
    _, accuracy = objective.loss_and_accuracy(model)
    best = free[[np.argmax(accuracy[free])]]
    endless[free] = _proven(objective.select(best), model.select(best))
    return endless


def _proven(objective: Objective, model: Model) -> bool:
    blocks = list(objective.data.blocks())
    strict = np.logical_and.reduce([_strict(objective, model, block) for block in blocks])
    if strict.any():
        return True
    small = len(blocks) == 1 and not isinstance(objective.loss, OneVsRest)
    return small and _plane_exists(objective, blocks[0])


def _strict(objective: Objective, model: Model, block: Block) -> Array:
    """Whether every row that counts has its own class strictly ahead, for each plane of a model."""
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


def _plane_exists(objective: Objective, block: Block) -> bool:
    """Solve for W, b with z_y - z_j >= 1 for every row and every other class j."""
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
