"""A certificate never claims more than is true, and its gap closes at the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from separatrix import GradientDescentClassifier, LinearSVC, LogisticRegression
from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS
from separatrix.training import Stop, run
from separatrix.verdict.certificate import certify, dual_values
from support.forms import BINARY, CONVEX, FORMS, MULTICLASS, Form

N, D, B = 14, 4, 4
# One model each: L1, L2, elastic net, and a very weak elastic net.
L1, L2 = [0.1, 0.0, 0.05, 1e-3], [0.0, 0.2, 0.1, 1e-3]
FACTORS: list[Callable[[np.random.Generator], np.ndarray | None]] = [
    lambda rng: None,
    lambda rng: rng.uniform(0.3, 3.0, D),
    lambda rng: rng.uniform(0.3, 3.0, (D, B)),
]
SMOOTH = [form for form in CONVEX if form.loss.smooth]
convex_form = pytest.mark.parametrize("form", CONVEX, ids=str)
with_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
seeds = st.integers(0, 2**32 - 1)


def draw_objective(
    form: Form, rng: np.random.Generator, *, bias: bool = True, spread: float = 1.0
) -> Objective:
    """Random rows, labels and weights (some zero), shared between models or not."""
    y_shape, s_shape = ((N, B) if rng.random() < 0.5 else N for _ in range(2))
    y = rng.integers(0, form.classes, y_shape)
    s = rng.exponential(1.0, s_shape) * (rng.random(s_shape) < 0.7)
    s[rng.integers(N)] = 1.0
    X = spread * rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.8)
    factors = FACTORS[rng.integers(3)](rng)
    kinds = [lambda a: a, sp.csr_array, sp.csc_array]
    data = Dataset.of(kinds[rng.integers(3)](X), y, None if rng.random() < 0.2 else s)
    return Objective(data, form.loss, ElasticNet(L1, L2, factors), bias=bias)


def draw_model(form: Form, rng: np.random.Generator, *, bias: bool = True) -> Model:
    size = 10.0 ** rng.uniform(-3, 2)
    W = size * rng.standard_normal((D, B, form.outputs)) * (rng.random((D, B, form.outputs)) < 0.7)
    b = 10.0 ** rng.uniform(-3, 2) * rng.standard_normal((B, form.outputs))
    return Model(W, b * bias)


def optimum(objective: Objective, form: Form) -> tuple[Model, float]:
    """The optimum of one smooth model by L-BFGS; l1 by the split W = P - Q, both >= 0."""
    shape, K = (D, 1, form.outputs), form.outputs
    size, l1 = D * K, float(objective.penalty.l1[0])
    f = objective.penalty.factors
    slope = l1 * np.broadcast_to(np.ones((D, 1)) if f is None else f.reshape(D, 1), (D, K)).ravel()
    smooth = Objective(
        objective.data, form.loss, ElasticNet(0.0, objective.penalty.l2, f), bias=objective.bias
    )

    def unpack(v: np.ndarray) -> Model:
        W = (v[:size] - v[size : 2 * size]).reshape(shape)
        return Model(W, v[2 * size :].reshape(1, K) * objective.bias)

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        GW, gb = smooth.gradient(unpack(v))
        total = smooth.value(unpack(v))[0] + slope @ (v[:size] + v[size : 2 * size])
        G = GW.ravel()
        return float(total), np.concatenate([G + slope, -G + slope, gb.ravel()])

    bounds = [(0, None)] * (2 * size) + [(None, None)] * K
    found = minimize(
        value,
        np.full(2 * size + K, 0.01) * np.r_[np.ones(2 * size), np.zeros(K)],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-11, "maxls": 60},
    )
    model = unpack(found.x)
    return model, float(objective.value(model)[0])


# --- weak duality ---


@pytest.mark.slow
@convex_form
@with_bias
@given(seed=seeds)
@settings(max_examples=5)
def test_the_dual_is_below_the_objective_of_every_model(form: Form, bias: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    objective = draw_objective(form, rng, bias=bias)
    duals = np.zeros(B)
    lowest = np.full(B, np.inf)
    for _ in range(6):
        model = draw_model(form, rng, bias=bias)
        found = certify(objective, model)
        assert [c.kind for c in found] == ["duality_gap"] * B
        assert all(c.gap >= 0.0 and c.primal >= c.dual >= 0.0 for c in found)
        duals = np.maximum(duals, [c.dual for c in found])
    for _ in range(25):
        lowest = np.minimum(lowest, objective.value(draw_model(form, rng, bias=bias)))
    # The best of some small steps along random directions from zero.
    best = Model.zeros(D, B, form.outputs)
    value = objective.value(best)
    for _ in range(60):
        step = draw_model(form, rng, bias=bias)
        tried = Model(best.W + 0.1 * step.W, best.b + 0.1 * step.b)
        better = objective.value(tried) < value
        best.put(better, tried.select(better))
        value = np.where(better, objective.value(best), value)
    lowest = np.minimum(lowest, value)
    assert (duals <= lowest * (1 + 1e-9) + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", SMOOTH, ids=str)
@with_bias
def test_the_dual_is_below_the_optimum_and_meets_it_there(form: Form, bias: bool) -> None:
    rng = np.random.default_rng(1)
    objective = draw_objective(form, rng, bias=bias)
    # Every loss with every penalty, with and without a bias; scipy takes long to solve them.
    for m in [m for m in range(3) if (SMOOTH.index(form) + m + bias) % 2]:
        one = objective.select(np.array([m]))
        model, lowest = optimum(one, form)
        for _ in range(10):
            other = draw_model(form, rng, bias=bias).select(np.array([m]))
            assert certify(one, other)[0].dual <= lowest * (1 + 1e-9) + 1e-12
        proof = certify(one, model)[0]
        assert proof.primal == pytest.approx(lowest, rel=1e-12)
        assert proof.dual <= proof.primal
        assert proof.gap <= 1e-5
        assert proof.gradient_norm <= 1e-3


@pytest.mark.parametrize("name", ["hinge", "perceptron"])
@pytest.mark.parametrize("seed", range(4))
def test_the_dual_is_below_the_optimum_of_a_linear_programme(name: str, seed: int) -> None:
    """With L1 the hinge is a linear programme: min s.t/S + l1 f.(p + q), t >= margin - ty z."""
    rng = np.random.default_rng(seed)
    loss, form = LOSSES[name], Form(LOSSES[name], 2, 1)
    X, y = rng.standard_normal((N, D)), rng.integers(0, 2, N)
    s, f, l1 = rng.exponential(1.0, N), rng.uniform(0.5, 2, D), 0.05
    objective = Objective(Dataset.of(X, y, s), loss, ElasticNet(l1, 0.0, f))
    sign = (2 * y - 1)[:, None]
    A = -np.hstack([sign * X, -sign * X, sign, np.eye(N)])
    cost = np.concatenate([l1 * f, l1 * f, [0.0], s / s.sum()])
    bounds = [(0, None)] * (2 * D) + [(None, None)] + [(0, None)] * N
    lowest = linprog(cost, A_ub=A, b_ub=np.full(N, -loss.margin), bounds=bounds).fun
    for _ in range(30):
        model = draw_model(form, rng).select(np.array([0]))
        assert certify(objective, model)[0].dual <= lowest + 1e-12


@pytest.mark.slow
@convex_form
@with_bias
@given(seed=seeds)
@settings(max_examples=8)
def test_duals_of_a_solver_are_bounds_too(form: Form, bias: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    objective = draw_objective(form, rng, bias=bias)
    block = objective.data.only_block()
    shape = (N, B, form.outputs)
    gradients = [form.loss.gradient(block.y, 4 * rng.standard_normal(shape)) for _ in range(3)]
    U = rng.uniform(0, 1, (N, B, 1)) * np.mean(gradients, axis=0)
    found = certify(objective, draw_model(form, rng, bias=bias), [U])
    for _ in range(25):
        other = objective.value(draw_model(form, rng, bias=bias))
        assert all(c.dual <= v * (1 + 1e-9) + 1e-12 for c, v in zip(found, other))


@convex_form
def test_the_dual_is_the_formula(form: Form) -> None:
    """D(U) = -sum_i s_i conjugate(U_i)/S - g*(X^T (s o U)/S), here with no bias to balance for."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((N, D)), rng.integers(0, form.classes, N)
    s = rng.exponential(1.0, (N, B))
    penalty = ElasticNet([0.0, 0.1, 0.2, 0.0], [5.0, 4.0, 3.0, 50.0])
    model = draw_model(form, np.random.default_rng(3), bias=False)
    model.W *= 0.1 / np.abs(model.W).max()
    U = form.loss.gradient(y, np.tensordot(X, model.W, 1))
    S = s.sum(axis=0)
    V = np.tensordot(X.T, U * (s / S)[:, :, None], 1)
    expected = -(s * form.loss.conjugate(y, U)).sum(axis=0) / S - penalty.conjugate(V)
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty, bias=False)
    np.testing.assert_allclose(dual_values(objective, model), np.maximum(expected, 0), atol=1e-12)
    assert form.loss.name.startswith("perceptron") or (expected > 0).any()


# --- the gap closes ---


@pytest.mark.parametrize(
    ("loss", "l1", "l2", "classes"),
    [
        ("logistic", 0.0, 0.1, 2),
        ("logistic", 0.03, 0.0, 2),
        ("logistic", 0.02, 0.05, 2),
        ("softmax", 0.0, 0.1, 3),
        ("softmax", 0.03, 0.0, 3),
        ("softmax_reference", 0.0, 0.1, 3),
        ("squared_hinge", 0.0, 0.1, 2),
        ("squared_hinge", 0.0, 0.1, 3),
        ("squared", 0.0, 0.1, 2),
        ("squared", 0.02, 0.1, 3),
    ],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_converged_fit_is_certified(
    loss: str, l1: float, l2: float, classes: int, fit_intercept: bool
) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 5)), rng.integers(0, classes, 80)
    X[:, 0] += y
    model = GradientDescentClassifier(
        loss, l1=l1, l2=l2, rule="nesterov", momentum=0.8, learning_rate=0.1, epochs=1500,
        fit_intercept=fit_intercept, gradient_tol=1e-9,
    ).fit(X, y, sample_weight=rng.uniform(0.5, 2, 80))  # fmt: skip
    proof = model.certificate_
    assert proof.kind == "duality_gap"
    assert 0.0 <= proof.relative_gap < 1e-6
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-15)
    assert proof.relative_gap == pytest.approx(proof.gap / proof.primal)
    assert proof.primal == model.history_["objective"][-1]


def test_a_fit_that_has_not_converged_has_a_wide_gap() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 5)), rng.integers(0, 2, 80)
    X[:, 0] += 2 * y
    gaps = [
        GradientDescentClassifier(l2=0.01, learning_rate=0.3, epochs=epochs)
        .fit(X, y)
        .certificate_.relative_gap
        for epochs in (1, 10, 100, 3000)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.1
    assert gaps[-1] < 1e-6


# --- fits without a gap ---


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_without_a_penalty_there_is_no_gap(form: Form) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, D)), rng.integers(0, form.classes, N)
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet([0, 0, 0, 0.1], 0.0))
    model = draw_model(form, rng)
    found = certify(objective, model)
    for proof, value in zip(found, objective.value(model)):
        assert proof.primal == pytest.approx(value, rel=1e-12)
    for proof in found[:3]:
        assert proof.kind == "gradient_norm"
        assert proof.dual is proof.gap is proof.relative_gap is None
        assert "no duality gap" in str(proof)
    assert found[3].kind == ("duality_gap" if form.loss.convex else "gradient_norm")


def test_a_loss_that_is_not_convex_has_no_gap() -> None:
    form = Form(LOSSES["sigmoid_mse"], 2, 1)
    rng = np.random.default_rng(0)
    objective = Objective(
        Dataset.of(rng.standard_normal((N, D)), rng.integers(0, 2, N)),
        form.loss,
        ElasticNet(L1, L2),
    )
    for proof in certify(objective, draw_model(form, rng)):
        assert proof.kind == "gradient_norm"
        assert proof.dual is proof.gap is proof.relative_gap is None
        assert proof.gradient_norm > 0


def test_the_perceptron_with_a_penalty_has_dual_zero_and_its_optimum_there() -> None:
    for form in [f for f in BINARY + MULTICLASS if f.loss.name == "perceptron"]:
        rng = np.random.default_rng(0)
        objective = draw_objective(form, rng)
        for proof in certify(objective, draw_model(form, rng)):
            assert proof.dual == 0.0
            assert proof.gap == proof.primal > 0.0
            assert proof.relative_gap == 1.0
        for proof in certify(objective, Model.zeros(D, B, form.outputs)):
            assert (proof.primal, proof.gap, proof.relative_gap) == (0.0, 0.0, 0.0)


# --- precision, blocks, extremes ---


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_a_float32_fit_is_certified_in_float64(loss: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)).astype(np.float32), rng.integers(0, 2, 200)
    model = GradientDescentClassifier(loss, l2=0.1, learning_rate=0.2, epochs=300).fit(X, y)
    assert model.coef_.dtype == np.float32
    W, b = model.coef_.astype(float).T[:, None, :], model.intercept_.astype(float)[None]
    objective = Objective(Dataset.of(X.astype(float), y), LOSSES[loss], ElasticNet(0.0, 0.1))
    expected = certify(objective, Model(np.ascontiguousarray(W), b))[0]
    assert model.certificate_.primal == pytest.approx(expected.primal, rel=1e-13)
    assert model.certificate_.dual == pytest.approx(expected.dual, rel=1e-12)


@convex_form
def test_a_certificate_has_the_same_bits_alone_and_in_a_batch(form: Form) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((150, D)), rng.integers(0, form.classes, (150, B))
    s = rng.exponential(1.0, (150, B))
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(L1, L2))
    model = draw_model(form, np.random.default_rng(1))
    together = certify(objective, model)
    for m in range(B):
        one = np.array([m])
        assert certify(objective.select(one), model.select(one))[0] == together[m]


@convex_form
@with_bias
def test_duals_of_several_blocks_equal_those_of_one(form: Form, bias: bool) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((30, D)), rng.integers(0, form.classes, 30)
    s = rng.exponential(1.0, (30, B))
    cuts = [slice(0, 11), slice(11, 12), slice(12, 30)]
    parts = [Block.of(X[c], y[c], s[c]) for c in cuts]
    penalty = ElasticNet(L1, L2)
    one = Objective(Dataset.of(X, y, s), form.loss, penalty, bias=bias)
    many = Objective(Dataset(parts, np.arange(form.classes)), form.loss, penalty, bias=bias)
    model = draw_model(form, np.random.default_rng(7), bias=bias)
    np.testing.assert_allclose(dual_values(many, model), dual_values(one, model), rtol=1e-12)
    only_l1 = [
        Objective(each.data, form.loss, ElasticNet(L1, 0.0), bias=bias) for each in (one, many)
    ]
    a, b = (dual_values(each, model) for each in only_l1)  # the duals must shrink
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_duals_of_many_classes_are_tilted_alike_on_several_blocks() -> None:
    rng = np.random.default_rng(6)
    C = 40
    X, y = rng.standard_normal((900, D)), np.minimum(rng.geometric(0.08, 900) - 1, C - 1)
    model = Model(rng.standard_normal((D, B, C)), np.zeros((B, C)))
    model.b[0] += 5.0 * rng.standard_normal(C)
    values = [
        dual_values(
            Objective(
                Dataset.of(X, y, classes=np.arange(C), rows_per_block=rows),
                LOSSES["softmax"],
                ElasticNet(0.0, 10.0),
            ),
            model,
        )
        for rows in (None, 130)
    ]
    np.testing.assert_allclose(*values, rtol=1e-11)


@convex_form
@pytest.mark.parametrize("size", [1e30, 1e160, 1e300])
def test_extreme_models_get_a_certificate_without_nan(form: Form, size: float) -> None:
    rng = np.random.default_rng(0)
    objective = draw_objective(form, rng)
    for proof in certify(objective, Model(*(size * a for a in _unit(form, rng)))):
        assert not math.isnan(proof.primal)
        if proof.kind == "duality_gap":
            assert proof.gap >= 0.0
            assert math.isfinite(proof.dual)
        else:
            assert proof.primal == math.inf


def _unit(form: Form, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((D, B, form.outputs)), rng.standard_normal((B, form.outputs))


@convex_form
def test_huge_rows_without_weight_have_no_effect(form: Form) -> None:
    rng = np.random.default_rng(2)
    X, y, s = rng.standard_normal((N, D)), rng.integers(0, form.classes, N), np.ones(N)
    X[:3], s[:3] = 1e300, 0.0
    model = draw_model(form, np.random.default_rng(3))
    model.W[:] = 1e10 * np.abs(model.W)
    penalty = ElasticNet(L1, L2)
    found = certify(Objective(Dataset.of(X, y, s), form.loss, penalty), model)
    expected = certify(Objective(Dataset.of(X[3:], y[3:]), form.loss, penalty), model)
    for a, b in zip(found, expected):
        assert a.primal == pytest.approx(b.primal, rel=1e-10)
        assert a.dual == pytest.approx(b.dual, rel=1e-9, abs=1e-9)


@convex_form
def test_one_sample_and_one_class_get_a_certificate(form: Form) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 5):
        data = Dataset.of(rng.standard_normal((n, D)), np.zeros(n, int), classes=[0, 1, 2])
        for bias in (True, False):
            objective = Objective(data, form.loss, ElasticNet(L1, L2), bias=bias)
            for proof in certify(objective, draw_model(form, rng, bias=bias)):
                assert proof.gap >= 0.0
                assert math.isfinite(proof.dual)


def test_a_certificate_prints_objective_and_gap() -> None:
    data = Dataset.of([[1.0], [-1.0]], [1, 0])
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    text = str(certify(objective, Model.zeros(1, 1, 1))[0])
    assert text.startswith("objective 0.693147, duality gap ")
    assert "(relative " in text


@pytest.mark.parametrize("form", [f for f in CONVEX if f.loss.smooth], ids=str)
@pytest.mark.parametrize("shift", [0.3, -0.3, -3.0])
def test_a_fixed_bias_is_part_of_the_bound(form: Form, shift: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, D))
    y = np.where(rng.random(200) < 0.98, form.classes - 1, 0)
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(0.0, 1.0), bias=False)
    start = Model(np.zeros((D, 1, form.outputs)), np.full((1, form.outputs), shift))
    start.b[0, :-1] *= -0.5
    stop = Stop(epochs=((500,),), tol=np.array([1e-10]))
    [[best]] = run(LBFGS(), objective, start, stop)
    assert best.stop_reason == "tol"
    assert dual_values(objective, start)[0] <= best.certificate.primal


@pytest.mark.slow
@pytest.mark.parametrize("C", [1e4, 1e8, 1e12, 1e15, 1e17, 1e100, 1e200])
def test_the_bound_holds_to_the_last_digits_of_losses_far_below_one(C: float) -> None:
    """Rows with tiny losses: the conjugates of their duals are far below the rounding of 1."""
    model = LogisticRegression(C=C, tol=1e-7).fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])

    def slope(w: Decimal) -> Decimal:  # of the objective, the boundary being at 3
        return -((1 / (1 + w.exp())) + 2 / (1 + (2 * w).exp())) / 2 + w / (4 * Decimal(C))

    with localcontext() as context:
        context.prec = 260  # a loss is the logarithm of 1 plus a tiny number
        context.Emin, context.Emax = -(10**6), 10**6
        low, high = Decimal(0), Decimal(10000)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        losses = [(1 + (-m * low).exp()).ln() for m in (1, 2)]
        optimum = float(sum(losses) / 2 + low**2 / (8 * Decimal(C)))
    found = model.certificate_
    assert model.stop_reason_ == "tol"
    assert found.dual is not None
    assert found.dual <= optimum * (1.0 + 1e-15)
    assert optimum * (1.0 - 1e-15) <= found.primal <= optimum * (1.0 + 1e-7)


def test_a_bound_above_the_objective_does_not_prove_a_gap_of_zero() -> None:
    found = certify(*_tiny())[0]
    above = found.raised_to(found.primal + 3e-6)
    assert above.gap == pytest.approx(3e-6)
    assert above.dual == pytest.approx(found.primal - 3e-6)


def _tiny() -> tuple[Objective, Model]:
    data = Dataset.of(np.eye(2), [0, 1])
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    return objective, Model(np.array([[[-0.2]], [[0.2]]]), np.zeros((1, 1)))


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e6])
def test_the_certificate_of_float32_data_is_for_the_returned_weights(offset: float) -> None:
    rng = np.random.default_rng(0)
    X = (offset + 10.0 * rng.standard_normal((300, 3))).astype(np.float32)
    wide = X.astype(np.float64)
    y = (wide[:, 0] - offset + 10.0 * rng.standard_normal(300) > 0).astype(int)
    model = LinearSVC(loss="hinge", tol=1e-6).fit(X, y)
    margins = np.where(y == 1, 1.0, -1.0) * (wide @ model.coef_[0] + model.intercept_[0])
    value = np.maximum(1.0 - margins, 0.0).mean() + (model.coef_**2).sum() / (2 * len(y))
    assert value == pytest.approx(model.certificate_.primal, rel=1e-7)
    assert model.certificate_.relative_gap <= 1e-6
