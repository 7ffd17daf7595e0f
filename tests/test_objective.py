"""The objective: value, gradient and Hessian; weights, blocks and models of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from separatrix.data import Block, Dataset
from separatrix.matrix import rows_read
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.certificate import certify
from support.forms import BINARY, SMOOTH, Form
from support.looped import looped
from support.objectives import KINDS, B, D, every_form, random_model, rows
from support.uncompiled import Uncompiled

smooth_form = pytest.mark.parametrize("form", SMOOTH, ids=str)


every_kind = pytest.mark.parametrize("kind", KINDS)


FACTORS = {
    "no factors": None,
    "factors per feature": np.linspace(0.5, 2.0, D),
    "factors per model": np.random.default_rng(9).uniform(0.5, 2.0, (D, B)),
}


def moved(model: Model, V: Model, h: float) -> Model:
    return Model(model.W + h * V.W, model.b + h * V.b)


def dot(G: tuple[np.ndarray, np.ndarray], V: Model) -> np.ndarray:
    return (G[0] * V.W).sum(axis=(0, 2)) + (G[1] * V.b).sum(axis=1)


@every_form
@looped("factors", FACTORS)
@looped("each", [False, True])
def test_gradient_is_the_derivative_of_the_value(form: Form, factors: str, each: bool) -> None:
    X, y, s = rows(form, each=each)
    penalty = ElasticNet(0.0, [0.0, 0.3, 1.0], FACTORS[factors])
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty)
    model, V = random_model(form, 1), random_model(form, 2)
    h = 1e-6
    slope = (objective.value(moved(model, V, h)) - objective.value(moved(model, V, -h))) / (2 * h)
    np.testing.assert_allclose(dot(objective.gradient(model), V), slope, rtol=1e-5, atol=1e-6)


@smooth_form
@looped("factors", FACTORS)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_hessian_times_is_the_derivative_of_the_gradient(
    form: Form, factors: str, bias: bool
) -> None:
    X, y, s = rows(form, each=True)
    penalty = ElasticNet(0.0, [0.0, 0.3, 1.0], FACTORS[factors])
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty, bias=bias)
    model, V = random_model(form, 1), random_model(form, 2)
    V.b *= bias
    h = 1e-6
    ahead, behind = (objective.gradient(moved(model, V, k)) for k in (h, -h))
    found = objective.hessian_times(model, V)
    for mine, up, down in zip((found.W, found.b), ahead, behind):
        np.testing.assert_allclose(mine, (up - down) / (2 * h), rtol=1e-5, atol=1e-5)
    if not bias:
        assert not found.b.any()


@every_form
@looped("factors", FACTORS)
def test_evaluate_agrees_with_the_formulas_in_one_pass(form: Form, factors: str) -> None:
    X, y, s = rows(form, each=True)
    penalty = ElasticNet([0.0, 0.2, 0.1], [0.5, 0.0, 1.0], FACTORS[factors])
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty)
    model = random_model(form)
    model.W[1] = 0.0
    Z = np.tensordot(X, model.W, 1) + model.b
    S = s.sum(axis=0)
    before = rows_read()
    found = objective.evaluate(model)
    assert rows_read() == (before[0] + len(X), before[1] + len(X))
    np.testing.assert_allclose(found.loss, (s * form.loss.value(y, Z)).sum(axis=0) / S)
    np.testing.assert_allclose(found.accuracy, (s * (form.loss.predict(Z) == y)).sum(axis=0) / S)
    np.testing.assert_allclose(found.penalty, penalty.value(model.W))
    np.testing.assert_allclose(found.value, objective.value(model))
    np.testing.assert_array_equal(found.loss, objective.loss_and_accuracy(model)[0])
    GW, gb = objective.gradient(model)
    f = np.ones((D, B)) if FACTORS[factors] is None else FACTORS[factors].reshape(D, -1)
    steep = (penalty.l1 * f)[:, :, None]
    smallest = np.where(
        model.W != 0, GW + steep * np.sign(model.W), np.sign(GW) * np.maximum(abs(GW) - steep, 0)
    )
    norm = np.sqrt((smallest**2).sum(axis=(0, 2)) + (gb**2).sum(axis=1))
    np.testing.assert_allclose(found.gradient_norm, norm, rtol=1e-10)


@looped("dtype", [np.float64, np.float32])
@every_kind
@every_form
def test_requested_scores_are_the_scores_of_the_model(form: Form, kind: str, dtype: type) -> None:
    X, y, s = rows(form, n=700)
    model = random_model(form, dtype=dtype)
    data = Dataset.of(KINDS[kind](X), y, s, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(0.0, 0.1))
    found = objective.evaluate(model, scores=True)
    assert objective.evaluate(model).scores is None
    assert found.scores.tobytes() == model.scores(data.only_block().X).tobytes()
    assert found.GW.tobytes() == objective.evaluate(model).GW.tobytes()


def test_without_a_bias_its_gradient_is_zero() -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, 0.1), bias=False)
    found = objective.evaluate(random_model(form))
    assert not found.gb.any()
    assert found.GW.any()


# --- weights, folds, blocks ---


@every_form
def test_weights_equal_repetition(form: Form) -> None:
    X, y, _ = rows(form)
    s = np.random.default_rng(3).integers(0, 4, len(y))
    model = random_model(form)
    penalty = ElasticNet(0.1, 0.2)
    weighted = Objective(Dataset.of(X, y, s), form.loss, penalty).evaluate(model)
    again = Dataset.of(np.repeat(X, s, axis=0), np.repeat(y, s))
    repeated = Objective(again, form.loss, penalty).evaluate(model)
    for name in ("value", "accuracy", "gradient_norm", "GW", "gb"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-10, atol=1e-14
        )


@every_form
@every_kind
def test_weights_of_a_model_equal_separate_data(form: Form, kind: str) -> None:
    """Each model sees its columns of y and s; a weight of zero removes a row."""
    X, y, s = rows(form, each=True)
    model, penalty = random_model(form), ElasticNet([0.0, 0.1, 0.0], [0.1, 0.0, 0.0])
    together = Objective(Dataset.of(KINDS[kind](X), y, s), form.loss, penalty)
    found = together.evaluate(model)
    certificates = certify(together, model) if form.loss.convex else None
    for m in range(B):
        kept, one = s[:, m] > 0, np.array([m])
        own = Dataset.of(KINDS[kind](X[kept]), y[kept, m], s[kept, m])
        alone = Objective(own, form.loss, penalty.select(one))
        expected = alone.evaluate(model.select(one))
        for name in ("value", "accuracy", "gradient_norm", "gb"):
            np.testing.assert_allclose(
                getattr(found, name)[m], getattr(expected, name)[0], rtol=1e-10, atol=1e-13
            )
        np.testing.assert_allclose(found.GW[:, m], expected.GW[:, 0], rtol=1e-9, atol=1e-13)
        if certificates is not None:
            proof = certify(alone, model.select(one))[0]
            assert certificates[m].kind == proof.kind
            if proof.dual is not None:
                assert certificates[m].dual == pytest.approx(proof.dual, rel=1e-9, abs=1e-12)


@every_form
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "own loss"])
@looped("dtype", [np.float64, np.float32])
def test_rows_without_weight_have_no_effect_however_large(
    form: Form, compiled: bool, dtype: type
) -> None:
    X, y, _ = rows(form)
    X = X.astype(dtype)
    X[:5] = 1e300 if dtype == np.float64 else 1e30
    s = np.ones(len(y))
    s[:5] = 0.0
    loss: Any = form.loss if compiled else Uncompiled(form.loss)
    model = random_model(form, dtype=dtype)
    model.W *= 1e12
    model.W[:] = np.abs(model.W)
    penalty = ElasticNet(0.0, 0.0)
    found = Objective(Dataset.of(X, y, s), loss, penalty).evaluate(model)
    expected = Objective(Dataset.of(X[5:], y[5:]), loss, penalty).evaluate(model)
    for name in ("loss", "accuracy", "GW", "gb"):
        a, b = getattr(found, name), getattr(expected, name)
        rtol = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-3 * rtol * np.abs(b).max())


@every_form
@every_kind
def test_several_blocks_give_the_same_as_one_block(form: Form, kind: str) -> None:
    X, y, s = rows(form, each=True)
    cuts = [slice(0, 7), slice(7, 8), slice(8, 50)]
    parts = [Block.of(KINDS[kind](X[c]), y[c], s[c]) for c in cuts]
    penalty = ElasticNet([0.0, 0.1, 0.2], [0.1, 0.0, 0.3], FACTORS["factors per model"])
    model, V = random_model(form), random_model(form, 5)
    for bias in (True, False):
        one = Objective(Dataset.of(KINDS[kind](X), y, s), form.loss, penalty, bias=bias)
        many = Objective(Dataset(parts, np.arange(form.classes)), form.loss, penalty, bias=bias)
        assert many.data.n_samples == 50
        a, b = one.evaluate(model), many.evaluate(model)
        for name in ("value", "accuracy", "gradient_norm", "GW", "gb"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(one.value(model), many.value(model), rtol=1e-12)
        if form.loss.smooth:
            p, q = one.hessian_times(model, V), many.hessian_times(model, V)
            np.testing.assert_allclose(p.W, q.W, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(p.b, q.b, rtol=1e-9, atol=1e-13)
        for first, second in zip(certify(one, model), certify(many, model)):
            assert first.kind == second.kind
            if first.dual is not None:
                assert first.dual == pytest.approx(second.dual, rel=1e-9, abs=1e-12)


def test_a_model_without_any_weight_has_loss_zero() -> None:
    form = BINARY[0]
    X, y, s = rows(form, each=True)
    s[:, 1] = 0.0
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, 1.0))
    found = objective.evaluate(random_model(form))
    assert found.loss[1] == 0.0
    assert not found.GW[:, 1].any()
    assert np.isfinite(found.value).all()


# --- weights of any size ---


@pytest.mark.slow
@every_form
@looped("factor", [1e-320, 1e-200, 1e-30, 1e30, 1e200, 1e307])
@pytest.mark.parametrize("each", [False, True], ids=["shared rows", "own rows"])
@pytest.mark.filterwarnings("error")
def test_only_the_ratios_of_the_weights_matter(form: Form, factor: float, each: bool) -> None:
    X, y, s = rows(form, each=each)
    s = np.where(s > 0.0, np.ceil(4 * s), 0.0)  # integers, because 1e-320 has few digits
    penalty = ElasticNet(0.1, 0.2)
    model = random_model(form)
    usual = Objective(Dataset.of(X, y, s), form.loss, penalty)
    for other in (factor, np.where(np.arange(B) == 1, factor, 1.0) if each else factor):
        objective = Objective(Dataset.of(X, y, s * other), form.loss, penalty)
        a, b = objective.evaluate(model), usual.evaluate(model)
        rtol = 1e-3 if factor == 1e-320 else 1e-12
        for name in ("loss", "accuracy", "gradient_norm", "GW", "gb"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol, rtol)
        if form.loss.convex:
            for p, q in zip(certify(objective, model), certify(usual, model)):
                assert p.dual == pytest.approx(q.dual, rel=rtol, abs=rtol)


def test_a_single_column_of_labels_or_weights_stands_for_every_model() -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    model = random_model(form)
    flat, column = (
        Objective(data, form.loss, ElasticNet(0.0, 0.1)).evaluate(model)
        for data in (Dataset.of(X, y, s), Dataset.of(X, y[:, None], s[:, None]))
    )
    np.testing.assert_array_equal(flat.GW, column.GW)
    np.testing.assert_array_equal(flat.value, column.value)


# --- custom losses ---


@every_form
@looped("dtype", [np.float64, np.float32])
def test_a_loss_without_a_kernel_gives_the_same_evaluation(form: Form, dtype: type) -> None:
    X, y, s = rows(form, each=True)
    model = random_model(form, dtype=dtype)
    data = Dataset.of(X.astype(dtype), y, s)
    penalty = ElasticNet(0.1, 0.2, FACTORS["factors per model"])
    compiled = Objective(data, form.loss, penalty).evaluate(model)
    own = Objective(data, Uncompiled(form.loss), penalty).evaluate(model)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    for name in ("loss", "accuracy", "penalty", "gradient_norm", "GW", "gb"):
        a, b = getattr(compiled, name), getattr(own, name)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
