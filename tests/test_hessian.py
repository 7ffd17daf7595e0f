"""Second derivatives, compiled and in numpy: products, explicit matrices and factors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix import _core
from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import get_threads, rows_read, set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from support.forms import SMOOTH, Form
from support.looped import looped
from support.uncompiled import Uncompiled

smooth_form = pytest.mark.parametrize("form", SMOOTH, ids=str)
B, D = 3, 4


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = get_threads(), _core.instruction_set()
    yield
    set_threads(before[0])
    _core.use_instruction_set(before[1])


def rows(form: Form, n: int = 70) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.7)
    s = rng.exponential(1.0, (n, B)) * (rng.random((n, B)) < 0.8)
    return X, rng.integers(0, form.classes, n), s


def make(
    form: Form,
    *,
    loss: Any = None,
    kind: Any = np.asarray,
    bias: bool = True,
    bias_factor: float = 0.0,
    cuts: tuple[int, ...] = (),
) -> Objective:
    X, y, s = rows(form)
    ends = [0, *cuts, len(X)]
    blocks = [Block.of(kind(X[i:j]), y[i:j], s[i:j]) for i, j in pairwise(ends)]
    factors = np.random.default_rng(1).uniform(0.5, 2.0, (D, B))
    penalty = ElasticNet(0.0, [0.0, 0.1, 1.0], factors, bias_factor)
    return Objective(
        Dataset(blocks, np.arange(form.classes)), loss or form.loss, penalty, bias=bias
    )


def random_model(form: Form, seed: int = 0, size: float = 1.0) -> Model:
    rng = np.random.default_rng(seed)
    K = form.outputs
    return Model(size * rng.standard_normal((D, B, K)), size * rng.standard_normal((B, K)))


def flat(model: Model) -> np.ndarray:
    """(B, K (d + 1)), output after output, the bias last."""
    both = np.concatenate([model.W, model.b[None]])
    return np.moveaxis(both, 0, 2).reshape(model.n_models, -1)


def by_columns(objective: Objective, model: Model) -> np.ndarray:
    """H (B, K (d + 1), K (d + 1)), one product for each column."""
    K = model.n_outputs
    at, columns = objective.hessian_operator(model), []
    for k in range(K):
        for j in range(D + 1):
            V = Model.zeros(D, B, K)
            if j < D:
                V.W[j, :, k] = 1.0
            else:
                V.b[:, k] = 1.0
            columns.append(flat(at.times(V)))
    return np.stack(columns, axis=2)


def lower(H: np.ndarray) -> np.ndarray:
    L = np.tril(H)
    return L + np.swapaxes(np.tril(H, -1), -1, -2)


def whole(objective: Objective, model: Model) -> np.ndarray:
    """The explicit H, with its blocks in one matrix."""
    H = lower(objective.hessian_operator(model).matrix())
    n_blocks, m = H.shape[1:3]
    out = np.zeros((B, n_blocks * m, n_blocks * m))
    for k in range(n_blocks):
        part = slice(k * m, k * m + m)
        out[:, part, part] = H[:, k]
    return out


@smooth_form
@pytest.mark.parametrize("name", _core.instruction_sets())
@looped("dtype", [np.float64, np.float32])
def test_compiled_second_derivatives_are_those_of_the_formulas(
    form: Form, name: str, dtype: Any
) -> None:
    _core.use_instruction_set(name)
    rng = np.random.default_rng(0)
    for n, models, size in ((3, 1, 1.0), (130, 1, 5.0), (29, 7, 3.0)):
        y = rng.integers(0, form.classes, (n, models)).astype(np.int32)
        s, scale = rng.exponential(1.0, (n, models)), rng.exponential(1.0, models)
        Z, V = size * rng.standard_normal((2, n, models, form.outputs)).astype(dtype)
        expected = form.loss.hessian_times(y, Z, V) * (s * scale)[:, :, None]
        found = V.copy()
        _core.apply_loss_hessian(form.loss.native_code, form.loss.margin, y, s, scale, Z, found)
        eps = 40 * np.finfo(dtype).eps * (s * scale).max() * np.abs(V).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=eps)


@smooth_form
@looped("dtype", [np.float64, np.float32])
def test_second_derivatives_at_huge_scores_are_finite(form: Form, dtype: Any) -> None:
    huge = 1e300 if dtype == np.float64 else 1e30
    Z = np.array([1.0, -1.0, 0.0, 1e-3])[:, None, None] * huge * np.ones((4, 1, form.outputs))
    Z[:, :, 0] *= -1.0
    V = np.random.default_rng(0).standard_normal(Z.shape).astype(dtype)
    y = np.zeros(4, np.int32)
    _core.apply_loss_hessian(
        form.loss.native_code, form.loss.margin, y, None, np.ones(1), Z.astype(dtype), V
    )
    assert np.isfinite(V).all()


def test_a_class_that_is_almost_certain_keeps_its_curvature() -> None:
    Z = np.array([[[50.0, 0.0, -3.0]]])
    V = np.array([[[1.0, 0.0, 0.0]]])
    softmax = LOSSES["softmax"]
    _core.apply_loss_hessian(
        softmax.native_code, 0.0, np.zeros(1, np.int32), None, np.ones(1), Z, V
    )
    other = np.exp(-50.0) + np.exp(-53.0)
    np.testing.assert_allclose(V[0, 0, 0], other, rtol=1e-12)
    assert abs(V.sum()) <= 1e-15 * other
    V = np.full((1, 1, 3), 7.0)
    _core.apply_loss_hessian(
        softmax.native_code, 0.0, np.zeros(1, np.int32), None, np.ones(1), Z, V
    )
    assert not V.any()


@smooth_form
def test_rows_without_weight_have_no_effect_even_if_infinite(form: Form) -> None:
    s = np.array([[1.0], [0.0]])
    Z = np.array([1.0, np.inf])[:, None, None] * np.ones((2, 1, form.outputs))
    V = np.array([1.0, np.nan])[:, None, None] * np.ones((2, 1, form.outputs))
    _core.apply_loss_hessian(
        form.loss.native_code, form.loss.margin, np.zeros(2, np.int32), s, np.ones(1), Z, V
    )
    assert not V[1].any()
    assert np.isfinite(V[0]).all()


@smooth_form
@looped("bias", ["free", "fixed", "penalised"])
@looped("kind", [np.asarray, sp.csr_array])
def test_explicit_hessians_equal_the_products(form: Form, bias: str, kind: Any) -> None:
    objective = make(
        form, kind=kind, bias=bias != "fixed", bias_factor=0.5 if bias == "penalised" else 0.0
    )
    model = random_model(form)
    H = whole(objective, model)
    expected = by_columns(objective, model)
    if bias == "fixed":
        biases = np.arange(D, expected.shape[1], D + 1)
        assert not expected[:, biases].any()
        expected[:, :, biases] = 0.0  # the products include a direction of the bias, H does not
        expected[:, biases, biases] = 1.0
    np.testing.assert_allclose(H, expected, rtol=1e-12, atol=1e-14)
    diagonal = flat(objective.hessian_operator(model).diagonal())
    np.testing.assert_allclose(diagonal, H.diagonal(axis1=1, axis2=2), rtol=1e-12)


@smooth_form
def test_compiled_and_numpy_losses_have_the_same_curvature(form: Form) -> None:
    model, V = random_model(form), random_model(form, 5)
    own = make(form, loss=Uncompiled(form.loss)).hessian_operator(model)
    compiled = make(form).hessian_operator(model)
    for a, b in (
        (own.matrix(), compiled.matrix()),
        (own.times(V).W, compiled.times(V).W),
        (own.times(V).b, compiled.times(V).b),
    ):
        np.testing.assert_allclose(np.tril(a), np.tril(b), rtol=1e-10, atol=1e-14)


@smooth_form
def test_curvature_of_blocks_is_that_of_one_block(form: Form) -> None:
    model = random_model(form)
    one, many = (make(form, cuts=cuts).hessian_operator(model) for cuts in ((), (1, 40)))
    np.testing.assert_allclose(
        np.tril(one.matrix()), np.tril(many.matrix()), rtol=1e-10, atol=1e-14
    )


@smooth_form
def test_a_model_has_the_same_curvature_alone_in_groups_and_on_any_threads(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective, model, V = make(form, kind=sp.csr_array), random_model(form), random_model(form, 2)
    set_threads(1)
    at = objective.hessian_operator(model)
    H, HV = np.tril(at.matrix()), at.times(V)
    set_threads(8)
    monkeypatch.setattr("separatrix.hessian.NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(np.tril(at.matrix()), H)
    for m in range(B):
        one = np.array([m])
        for alone in (objective.select(one).hessian_operator(model.select(one)), at.select(one)):
            np.testing.assert_array_equal(np.tril(alone.matrix())[0], H[m])
            np.testing.assert_array_equal(alone.times(V.select(one)).W[:, 0], HV.W[:, m])


def test_a_product_is_one_pass_and_the_scores_another() -> None:
    form = SMOOTH[0]
    objective, model = make(form), random_model(form)
    before = rows_read()
    at = objective.hessian_operator(model)
    assert np.subtract(rows_read(), before).tolist() == [70, 0]
    before = rows_read()
    at.times(random_model(form, 1))
    assert np.subtract(rows_read(), before).tolist() == [70, 70]


def test_a_loss_with_kinks_has_no_curvature() -> None:
    objective = Objective(Dataset.of(np.eye(2), [0, 1]), LOSSES["hinge"], ElasticNet(0.0, 1.0))
    with pytest.raises(ValueError, match="'hinge' has no second derivative"):
        objective.hessian_operator(Model.zeros(2, 1, 1))


# --- Cholesky ---


@given(st.integers(1, 130), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_factors_solve_their_systems(m: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((count, m, m + 3))
    A = Q @ np.swapaxes(Q, 1, 2)
    L = A.copy()
    _core.cholesky_factor(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-7, atol=1e-9)
    g = rng.standard_normal((count, m))
    x = g.copy()
    _core.cholesky_solve(L, x)
    residual = np.abs(np.einsum("ijk,ik->ij", A, x) - g).max()
    assert residual <= 1e-13 * m * np.abs(A).max() * np.abs(x).max()


@given(st.integers(1, 60), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_singular_systems_are_solved_if_they_have_a_solution(r: int, more: int, seed: int) -> None:
    """Columns on scales from 1e-4 to 1e4, some of them zero or sums of others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((r + 20, r))
    X = np.hstack([X, X @ rng.integers(-1, 2, (r, more))])[:, rng.permutation(r + more)]
    X = X * 10.0 ** rng.integers(-4, 5, r + more)
    A = X.T @ X
    g = A @ (rng.standard_normal(r + more) / np.sqrt(np.where(A.diagonal() > 0, A.diagonal(), 1)))
    L, x = A[None].copy(), g[None].copy()
    _core.cholesky_factor(L)
    _core.cholesky_solve(L, x)
    size = np.sqrt(A.diagonal()) * np.sqrt(abs(x[0] @ A @ x[0]) + 1e-300)
    assert (np.abs(A @ x[0] - g) <= 1e-7 * np.maximum(size, np.abs(g))).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", _core.instruction_sets())
def test_factors_are_correct_in_every_instruction_set_and_for_any_threads(name: str) -> None:
    _core.use_instruction_set(name)
    rng = np.random.default_rng(0)
    Q = rng.standard_normal((5, 150, 160))
    A = Q @ np.swapaxes(Q, 1, 2)
    found = []
    for threads in (1, 2, 8):
        set_threads(threads)
        L = A.copy()
        _core.cholesky_factor(L)
        found.append(np.tril(L))
    np.testing.assert_allclose(found[0], np.linalg.cholesky(A), rtol=1e-9, atol=1e-10)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
