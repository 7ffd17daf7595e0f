"""Newton directions by conjugate gradients, for many models together."""

from __future__ import annotations

import numpy as np

from separatrix.hessian import HessianOperator
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State

MAX_ITERATIONS = 1000
LEAST_EXACT = 0.3  # largest residual, relative to the gradient
DIAGONAL_SHARE = 0.05  # of the Hessian's diagonal in the preconditioner; the penalty has the rest


def solve_by_conjugate_gradients(
    objective: Objective, state: State, gradient: Model
) -> tuple[Model, dict[str, Array]]:
    """Return p with |H p + g| <= eta |g| for every model, and the solver's memory.

    The norm is that of the preconditioner. eta = min(0.3, sqrt(|g| / |g of the first step|)) makes
    the steps converge superlinearly without wasting work on the first ones. See R. Dembo,
    S. Eisenstat and T. Steihaug, Inexact Newton methods, SIAM J. Numer. Anal. 1982. H, g and p are
    for recentred features. A model leaves the batch as soon as it is accurate enough.
    """
    recentring = objective.recentring(gradient.n_models)
    at = objective.hessian_operator(state.model, recentring, state.found.scores)
    M = _preconditioner(objective, at)
    out = Model(np.zeros_like(gradient.W), np.zeros_like(gradient.b))
    r = gradient.times(np.full(gradient.n_models, -1.0))
    z = _divide(r, M)
    rz = r.dot(z)
    norm = state.memory["norm"]
    norm = np.where(np.isnan(norm), np.sqrt(rz), norm)
    eta = np.minimum(LEAST_EXACT, np.sqrt(np.sqrt(rz) / np.where(norm > 0.0, norm, 1.0)))
    goal = eta**2 * rz
    running = np.arange(gradient.n_models)
    p, q = out.copy(), z
    for _ in range(min(MAX_ITERATIONS, gradient.W.size // len(running) + 10)):
        Hq = at.times(q)
        curvature = q.dot(Hq)
        alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0.0)
        p, r = p.plus(q, alpha), r.plus(Hq, -alpha)
        z = _divide(r, M)
        before, rz = rz, r.dot(z)
        over = ~(rz > goal) | ~(curvature > 0.0)
        beta = np.divide(rz, before, out=np.zeros_like(rz), where=before > 0.0)
        q = z.plus(q, beta)
        if over.any():
            out.put(running[over], p.select(over))
            if over.all():
                return out, {"norm": norm}
            on = np.flatnonzero(~over)
            at, running, goal, rz = at.select(on), running[on], goal[on], rz[on]
            p, q, r, M = p.select(on), q.select(on), r.select(on), M.select(on)
    out.put(running, p)
    return out, {"norm": norm}


def _preconditioner(objective: Objective, at: HessianOperator) -> Model:
    D = at.diagonal()
    W = DIAGONAL_SHARE * D.W + (1.0 - DIAGONAL_SHARE) * objective.penalty.gradient(
        np.ones(D.W.shape)
    )
    b = DIAGONAL_SHARE * D.b + (1.0 - DIAGONAL_SHARE) * objective.bias_curvature(len(D.b))[:, None]
    return Model(np.where(W > 0.0, W, 1.0), np.where(b > 0.0, b, 1.0))


def _divide(a: Model, by: Model) -> Model:
    return Model(a.W / by.W, a.b / by.b)
