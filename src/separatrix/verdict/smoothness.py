"""The largest curvature of an objective, which limits the learning rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.data import Block
from separatrix.matrix import Array, per_model, sum_samples
from separatrix.model import Model
from separatrix.objective import Objective

ITERATIONS = 24
TOLERANCE = 1e-5
STEADY = 3  # steps in a row within the tolerance: a single one may pause at a smaller eigenvalue
SAFETY = 1e-3  # relative amount added to a bound beyond the error that Lanczos estimates


def smoothness(objective: Objective, model: Model) -> Array | None:
    """Return L of each model (B,): the gradient of the loss and l2 term has Lipschitz constant L.

    L = curvature of the loss * lambda_max(X^T diag(s) X) / S + l2, where X has a column of ones if
    the bias is free. A learning rate below 2 / L is stable at all weights. The eigenvalue is
    approached from below and raised by its error, so L is slightly too large rather than too small.
    None for a loss with kinks.
    """
    curvature = objective.loss.curvature_of(model.n_outputs)
    if curvature is None:
        return None
    B = model.n_models
    scale = objective.scale(B)
    factors = objective.penalty.factors
    if objective.data.facts.own_weights is None and (factors is None or factors.ndim == 1):
        B = 1  # all models have the same rows and weights
    f = _factors(objective, B)

    def times(V: Model) -> Model:
        GW, gb = objective.data.sum_over_blocks(_weighted_product, V, scale[:B])
        return Model(GW, gb if objective.bias else 0.0 * gb)

    start = Model.zeros(model.W.shape[0], B, 1)
    largest, error = largest_eigenvalue(_scaled(times, f), start, objective.bias)
    _, l2 = objective.strengths(model.n_models)
    return curvature * (1.0 + SAFETY) * (largest + error) + l2


def _weighted_product(block: Block, V: Model, scale: Array) -> tuple[Array, Array]:
    """Return X^T and the sum of s (X V + c) / S."""
    Z = V.scores(block.X) * (per_model(block.weights) * scale)[:, :, None]
    return block.X.transpose_times(Z), sum_samples(Z)


def local_curvature(objective: Objective, model: Model) -> Array | None:
    """Return lambda_max of the Hessian of each model (B,) at its weights; None if there is none."""
    if not objective.loss.smooth:
        return None
    model = model.astype(np.float64)
    f = _factors(objective, model.n_models)
    start = Model.zeros(model.W.shape[0], model.n_models, model.n_outputs)
    times = objective.hessian_operator(model).times
    return largest_eigenvalue(_scaled(times, f), start, objective.bias)[0]


def largest_eigenvalue(
    times: Callable[[Model], Model], like: Model, bias: bool
) -> tuple[Array, Array]:
    """Return the largest eigenvalue (B,) of symmetric operators, one per model, and its error (B,).

    Lanczos's three-term recurrence starts from a fixed random vector. Without reorthogonalisation
    it repeats eigenvalues, which does no harm to the largest. The estimate rises from below. The
    error is the residual |A v - lambda v|: some eigenvalue lies within it, in practice the largest.
    A model's numbers stop changing once they are steady, so they do not depend on other models.
    See G. Golub and C. Van Loan, Matrix Computations, algorithm 10.1.1.
    """
    d, B, K = like.W.shape
    rng = np.random.default_rng(0)
    vector = Model(
        np.repeat(rng.standard_normal((d, 1, K)), B, axis=1),
        np.repeat(rng.standard_normal((1, K)), B, axis=0) * bias,
    )
    previous = Model.zeros(d, B, K)
    norm = np.sqrt(vector.dot(vector))
    alphas: list[Array] = []
    betas: list[Array] = []
    largest, error, steady = np.zeros(B), np.zeros(B), np.zeros(B, int)
    final = np.zeros(B, bool)
    for _ in range(min(ITERATIONS, (d + bias) * K)):
        vector = vector.times(1.0 / np.where(norm > 0.0, norm, 1.0))
        image = times(vector)
        alpha = vector.dot(image)
        beta = betas[-1] if betas else np.zeros(B)
        image = image.plus(vector, -alpha).plus(previous, -beta)
        alphas.append(alpha)
        norm = np.sqrt(image.dot(image))
        top, last = _top_of_tridiagonal(alphas, betas)
        near = np.abs(top - largest) <= TOLERANCE * np.abs(top)
        steady = np.where(near, steady + 1, 0)
        largest, error = np.where(final, largest, top), np.where(final, error, norm * np.abs(last))
        final |= (steady >= STEADY) | (norm == 0.0)
        if final.all():
            break
        betas.append(norm)
        previous, vector = vector, image
    return largest, error


def _top_of_tridiagonal(alphas: list[Array], betas: list[Array]) -> tuple[Array, Array]:
    """Return the largest eigenvalue (B,) and the last component of its unit eigenvector (B,)."""
    k = len(alphas)
    T = np.zeros((len(alphas[0]), k, k))
    T[:, range(k), range(k)] = np.stack(alphas, axis=1)
    if betas:
        side = np.stack(betas[: k - 1], axis=1)
        T[:, range(k - 1), range(1, k)] = side
        T[:, range(1, k), range(k - 1)] = side
    values, vectors = np.linalg.eigh(np.nan_to_num(T))
    return values[:, -1], vectors[:, -1, -1]


def _factors(objective: Objective, n_models: int) -> Array:
    f = objective.penalty.factors
    if f is None:
        return np.ones((1, 1, 1))
    return f[:, None, None] if f.ndim == 1 else f[:, :n_models, None]


def _scaled(times: Callable[[Model], Model], f: Array) -> Callable[[Model], Model]:
    """Return the operator in the scaled variables f W, in which gradient steps are made."""

    def scaled(V: Model) -> Model:
        image = times(Model(V.W / f, V.b))
        return Model(image.W / f, image.b)

    return scaled
