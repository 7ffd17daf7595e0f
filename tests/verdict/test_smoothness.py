"""The largest curvatures equal the largest eigenvalues of dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.smoothness import local_curvature, smoothness
from support.forms import FORMS, SMOOTH, Form
from support.looped import looped

N, D, B = 30, 5, 3
KINDS: dict[str, Any] = {"dense": np.asarray, "CSR": sp.csr_array}
FACTORS = {
    "no factors": None,
    "factors per feature": np.linspace(0.4, 2.5, D),
    "factors per model": np.random.default_rng(1).uniform(0.4, 2.5, (D, B)),
}
L2 = [0.0, 0.1, 2.0]
smooth_form = pytest.mark.parametrize("form", SMOOTH, ids=str)
with_factors = looped("factors", FACTORS)
with_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])


def draw(form: Form, *, each: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * np.array([1.0, 3.0, 0.3, 1.0, 2.0])
    s = rng.exponential(1.0, (N, B) if each else N) * (rng.random((N, B) if each else N) < 0.8)
    return X, rng.integers(0, form.classes, (N, B) if each else N), s


def features(X: np.ndarray, f: np.ndarray | None, m: int, bias: bool) -> np.ndarray:
    """X in the scaled variables of model m, with a column of ones for a free bias."""
    if f is not None:
        X = X / (f if f.ndim == 1 else f[:, m])
    return np.column_stack([X, np.ones(len(X))]) if bias else X


def dense_hessian(
    form: Form, X: np.ndarray, y: np.ndarray, s: np.ndarray, Z: np.ndarray, l2: float, bias: bool
) -> np.ndarray:
    """sum_i s_i kron(x x^T, loss'') / S, plus l2 on all but the bias; X includes the ones."""
    K = Z.shape[1]
    curved = np.stack(
        [
            form.loss.hessian_times(y, Z[:, None], np.broadcast_to(np.eye(K)[k], (len(y), 1, K)))[
                :, 0
            ]
            for k in range(K)
        ],
        axis=2,
    )
    H = np.einsum("i,ip,iq,ikl->pkql", s / s.sum(), X, X, curved)
    d = X.shape[1]
    H = H.reshape(d * K, d * K)
    penalised = np.repeat(np.arange(d) < d - bias, K)
    return H + l2 * np.diag(penalised.astype(float))


@smooth_form
@with_factors
@with_bias
@looped("each", [False, True])
def test_smoothness_is_the_largest_eigenvalue_of_the_weighted_gram_matrix(
    form: Form, factors: str, bias: bool, each: bool
) -> None:
    X, y, s = draw(form, each=each)
    f = FACTORS[factors]
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.1, L2, f), bias=bias)
    found = smoothness(objective, Model.zeros(D, B, form.outputs))
    assert found is not None
    for m in range(B):
        own = s[:, m] if each else s
        x = features(X, f, m, bias)
        top = np.linalg.eigvalsh(x.T @ (x * own[:, None]) / own.sum())[-1]
        expected = form.loss.curvature_of(form.outputs) * top + L2[m]
        assert expected <= found[m] <= expected * (1 + 2e-3)


@pytest.mark.slow
@smooth_form
@with_factors
@with_bias
@looped("seed", range(3))
def test_local_curvature_is_the_largest_eigenvalue_of_the_hessian(
    form: Form, factors: str, bias: bool, seed: int
) -> None:
    X, y, s = draw(form, each=True, seed=seed)
    f = FACTORS[factors]
    rng = np.random.default_rng(4)
    model = Model(
        0.5 * rng.standard_normal((D, B, form.outputs)),
        bias * rng.standard_normal((B, form.outputs)),
    )
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.1, L2, f), bias=bias)
    found = local_curvature(objective, model)
    bound = smoothness(objective, model)
    assert found is not None
    assert bound is not None
    Z = np.tensordot(X, model.W, 1) + model.b
    for m in range(B):
        x = features(X, f, m, bias)
        H = dense_hessian(form, x, y[:, m], s[:, m], Z[:, m], L2[m], bias)
        expected = np.linalg.eigvalsh(H)[-1]
        assert found[m] == pytest.approx(expected, rel=2e-3)
        assert expected <= bound[m]


@pytest.mark.parametrize("form", [f for f in FORMS if not f.loss.smooth], ids=str)
def test_a_loss_with_kinks_has_no_curvature(form: Form) -> None:
    X, y, s = draw(form, each=False)
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, 1.0))
    model = Model.zeros(D, 1, form.outputs)
    assert smoothness(objective, model) is None
    assert local_curvature(objective, model) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_eigenvalue_is_found_among_many(kind: str, dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = 200, 80
    X = (rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d)).astype(dtype)
    X[:, 7] = 0
    y = rng.integers(0, 2, n)
    objective = Objective(Dataset.of(KINDS[kind](X), y), LOSSES["squared"], ElasticNet(0.0, 0.0))
    x = np.column_stack([X.astype(float), np.ones(n)])
    expected = np.linalg.eigvalsh(x.T @ x / n)[-1]
    model = Model.zeros(d, 1, 1, dtype)
    assert expected <= smoothness(objective, model)[0] <= 1.01 * expected
    assert local_curvature(objective, model)[0] == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_of_close_eigenvalues_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = 500, 120
    X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n)
    objective = Objective(Dataset.of(X, y), LOSSES["squared"], ElasticNet(0.0, 0.0), bias=False)
    expected = np.linalg.eigvalsh(X.T @ X / n)[-1]
    model = Model.zeros(d, 1, 1)
    assert 0.98 * expected <= local_curvature(objective, model)[0] <= expected * (1 + 1e-9)
    assert expected <= smoothness(objective, model)[0] <= 1.02 * expected


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_never_below_the_largest_eigenvalue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(3, 300), rng.integers(1, 200)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-rng.uniform(0, 2), 0, d)
    X, y = X + rng.integers(2), rng.integers(0, 2, n)
    objective = Objective(Dataset.of(X, y), LOSSES["squared"], ElasticNet(0.0, 0.0), bias=False)
    expected = np.linalg.eigvalsh(X.T @ X / n)[-1]
    assert expected <= smoothness(objective, Model.zeros(d, 1, 1))[0] <= 1.01 * expected


@pytest.mark.parametrize("measure", [smoothness, local_curvature])
def test_the_curvature_of_a_model_does_not_depend_on_its_neighbours(measure: Any) -> None:
    # The second model converges in the 4th step, the others later.
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 40)), rng.integers(0, 2, 80)
    s = np.stack([np.ones(80), np.arange(80) < 2, rng.exponential(1.0, 80)], axis=1)
    model = Model(rng.standard_normal((40, 3, 1)), np.zeros((3, 1)))
    objective = Objective(Dataset.of(X, y, s), LOSSES["logistic"], ElasticNet(0.0, 0.0))
    together = measure(objective, model)
    for m in range(3):
        data = Dataset.of(X, y, s[:, m])
        alone = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
        assert together[m] == measure(alone, model.select(np.array([m])))[0]


def test_curvature_of_blocks_equals_that_of_one_block() -> None:
    form = Form(LOSSES["softmax"], 3, 3)
    X, y, s = draw(form, each=True)
    parts = [Block.of(X[c], y[c], s[c]) for c in (slice(0, 4), slice(4, N))]
    model = Model(np.ones((D, B, 3)) * np.arange(3), np.zeros((B, 3)))
    pair = [
        Objective(data, form.loss, ElasticNet(0.0, L2))
        for data in (Dataset.of(X, y, s), Dataset(parts, np.arange(3)))
    ]
    for measure in (smoothness, local_curvature):
        one, many = (measure(objective, model) for objective in pair)
        np.testing.assert_allclose(one, many, rtol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (4, 1)], ids=str)
def test_curvature_of_tiny_data(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).standard_normal(shape)
    objective = Objective(
        Dataset.of(X, np.zeros(shape[0], int)), LOSSES["logistic"], ElasticNet(0.0, 0.5)
    )
    x = np.column_stack([X, np.ones(shape[0])])
    top = np.linalg.eigvalsh(x.T @ x / shape[0])[-1]
    model = Model.zeros(shape[1], 1, 1)
    assert smoothness(objective, model)[0] == pytest.approx(0.25 * 1.001 * top + 0.5, rel=1e-9)
    empty = Objective(Dataset.of(0 * X, np.zeros(shape[0], int)), LOSSES["logistic"],
                      ElasticNet(0.0, 0.0), bias=False)  # fmt: skip
    assert smoothness(empty, model).tolist() == [0.0]
    assert local_curvature(empty, model).tolist() == [0.0]
