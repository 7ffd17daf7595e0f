"""The objective and whole fits: derivatives, weights, folds, blocks, batches and passes over X."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import GradientDescentClassifier, fit_many
from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import Matrix, rows_read, set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES
from separatrix.verdict.certificate import certify
from support.forms import BINARY, FORMS, MULTICLASS, ONE_VS_REST, SMOOTH, Form
from support.uncompiled import Uncompiled

B, D = 3, 6
every_form = pytest.mark.parametrize("form", FORMS, ids=str)
smooth_form = pytest.mark.parametrize("form", SMOOTH, ids=str)
KINDS = {"dense": np.asarray, "CSR": sp.csr_array, "CSC": sp.csc_array}
every_kind = pytest.mark.parametrize("kind", KINDS)
FACTORS = {
    "no factors": None,
    "factors per feature": np.linspace(0.5, 2.0, D),
    "factors per model": np.random.default_rng(9).uniform(0.5, 2.0, (D, B)),
}


def rows(form: Form, n: int = 50, *, seed: int = 0, each: bool = False) -> tuple[np.ndarray, ...]:
    """X (n, d), y and s, with a class's rows shifted so that there is something to learn."""
    rng = np.random.default_rng(seed)
    size = (n, B) if each else n
    y = rng.integers(0, form.classes, size).astype(np.int32)
    shift = y if y.ndim == 1 else y[:, 0]
    X = rng.standard_normal((n, D)) + 0.4 * shift[:, None] * np.eye(D)[shift % D]
    s = rng.uniform(0.2, 2.0, size) * (rng.random(size) > 0.2)
    return X, y, s


def random_model(form: Form, seed: int = 1, dtype: type = np.float64) -> Model:
    rng = np.random.default_rng(seed)
    return Model(
        rng.standard_normal((D, B, form.outputs)).astype(dtype),
        rng.standard_normal((B, form.outputs)).astype(dtype),
    )


def moved(model: Model, V: Model, h: float) -> Model:
    return Model(model.W + h * V.W, model.b + h * V.b)


def dot(G: tuple[np.ndarray, np.ndarray], V: Model) -> np.ndarray:
    return (G[0] * V.W).sum(axis=(0, 2)) + (G[1] * V.b).sum(axis=1)


# --- derivatives ---


@every_form
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("each", [False, True], ids=["shared rows", "own rows"])
def test_gradient_is_the_derivative_of_the_value(form: Form, factors: str, each: bool) -> None:
    X, y, s = rows(form, each=each)
    penalty = ElasticNet(0.0, [0.0, 0.3, 1.0], FACTORS[factors])
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty)
    model, V = random_model(form, 1), random_model(form, 2)
    h = 1e-6
    slope = (objective.value(moved(model, V, h)) - objective.value(moved(model, V, -h))) / (2 * h)
    np.testing.assert_allclose(dot(objective.gradient(model), V), slope, rtol=1e-5, atol=1e-6)


@smooth_form
@pytest.mark.parametrize("factors", FACTORS)
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
@pytest.mark.parametrize("factors", FACTORS)
def test_evaluate_says_in_one_pass_what_the_formulas_say(form: Form, factors: str) -> None:
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_kind
@every_form
def test_scores_that_are_asked_for_are_those_of_the_model(
    form: Form, kind: str, dtype: type
) -> None:
    X, y, s = rows(form, n=700)
    model = random_model(form, dtype=dtype)
    halves = (slice(400), slice(400, None))
    parts = [Block.of(KINDS[kind](X[half]), y[half], s[half]) for half in halves]
    objective = Objective(Dataset(parts, np.arange(form.classes)), form.loss, ElasticNet(0.0, 0.1))
    found = objective.evaluate(model, scores=True)
    assert not objective.evaluate(model).scores
    assert len(found.scores) == 2
    for part, Z in zip(parts, found.scores, strict=True):
        assert Z.tobytes() == model.scores(part.X).tobytes()
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
def test_weights_of_a_model_equal_the_data_of_its_own(form: Form, kind: str) -> None:
    """Columns of y and s are what each model would see alone, zeros being rows it does not have."""
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
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_rows_without_weight_leave_no_trace_however_large(
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
def test_blocks_give_what_one_block_gives(form: Form, kind: str) -> None:
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


@every_form
@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e-30, 1e30, 1e200, 1e307])
@pytest.mark.parametrize("each", [False, True], ids=["shared rows", "own rows"])
@pytest.mark.filterwarnings("error")
def test_only_the_ratios_of_the_weights_matter(form: Form, factor: float, each: bool) -> None:
    X, y, s = rows(form, each=each)
    s = np.where(s > 0.0, np.ceil(4 * s), 0.0)  # whole numbers: 1e-320 has few digits
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


def test_ordinary_weights_are_not_touched() -> None:
    X, y, _ = rows(BINARY[0])
    for s in (np.linspace(0.0, 1e19, 50), np.linspace(0.0, 1e-19, 50)):
        (block,) = Dataset.of(X, y, s).blocks()
        np.testing.assert_array_equal(block.s, s)


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200, 1e308])
@pytest.mark.filterwarnings("error")
def test_a_fit_does_not_depend_on_the_unit_of_the_weights(factor: float) -> None:
    form = BINARY[0]
    X, y, _ = flat_rows(form)
    usual = estimator(form).fit(X, y)
    scaled = estimator(form).fit(X, y, sample_weight=np.full(len(y), factor))
    np.testing.assert_allclose(scaled.coef_, usual.coef_, rtol=1e-10)
    assert scaled.certificate_.dual == pytest.approx(usual.certificate_.dual, rel=1e-10)


def test_blocks_share_the_unit_of_their_weights() -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    cuts = [slice(0, 20), slice(20, 30), slice(30, 50)]
    s[cuts[0]], s[cuts[2]] = 1e-200, 1e200
    one = Objective(Dataset.of(X, y, np.where(s > 1.0, s, 0.0)), form.loss, ElasticNet(0.0, 0.0))
    parts = [Block.of(X[c], y[c], None if c == cuts[1] else s[c]) for c in cuts]
    many = Objective(Dataset(parts, np.arange(2)), form.loss, ElasticNet(0.0, 0.0))
    model = random_model(form)
    np.testing.assert_allclose(many.value(model), one.value(model), rtol=1e-12)


def test_taken_rows_keep_their_weights_and_a_given_scale_is_used() -> None:
    form = MULTICLASS[-1]
    X, y, s = rows(form, each=True)
    s[:10] = 1e-300
    whole = Dataset.of(X, y, s)
    (block,) = whole.blocks()
    few = np.array([9, 2, 5])
    part = whole.take(block, few)
    assert part.n_samples == 3
    (taken,) = part.blocks()
    np.testing.assert_array_equal(taken.s, s[few])
    np.testing.assert_array_equal(taken.X.X, X[few])
    scale = np.array([1.0, 2.0, 3.0])
    objective = Objective(part, form.loss, ElasticNet(0.0, 0.0), scale=scale)
    np.testing.assert_array_equal(objective.scale(B), scale)
    np.testing.assert_array_equal(objective.select(np.array([2, 0])).scale(2), [3.0, 1.0])


# --- what does not fit together ---


def refused(words: str) -> Any:
    return pytest.raises(ValueError, match=words)


@pytest.mark.parametrize("shape", [(10,), (60,), (10, 2), (50, 2, 2), ()])
def test_labels_and_weights_that_do_not_go_with_the_rows_are_refused(shape: Any) -> None:
    X, y, _ = rows(BINARY[0])
    for make in (Block.of, Dataset.of):
        with refused(r"X has 50 rows: y must be of shape \(50,\), or \(50, B\) .*Got \("):
            make(X, np.zeros(shape, int))
        with refused(r"X has 50 rows: s must be of shape \(50,\), or \(50, B\) .*Got \("):
            make(X, y, np.ones(shape))


@pytest.mark.parametrize("wrong", [0.5, -1, np.nan, np.inf, 2**31, 1e300])
def test_labels_that_are_no_class_numbers_are_refused(wrong: float) -> None:
    for labels in ([0, 1, wrong], [[0, 1], [1, wrong], [0, 0]]):
        with refused(r"y must hold whole class numbers >= 0\. Row [12] has .*Number the classes"):
            Dataset.of(np.ones((3, 2)), labels)
    with refused(r"y must hold class numbers 0, 1, \.\.\.\. Got type <U3.*Number the classes"):
        Dataset.of(np.ones((2, 2)), ["yes", "no"])


@pytest.mark.parametrize("kind", [float, np.uint8, np.int64, bool])
def test_labels_of_any_type_are_taken_if_they_are_whole(kind: type) -> None:
    (block,) = Dataset.of(np.ones((3, 2)), np.array([1, 0, 1], kind)).blocks()
    assert block.y.dtype == np.int32
    np.testing.assert_array_equal(block.y, [1, 0, 1])


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_weights_below_zero_or_not_finite_are_refused(wrong: float) -> None:
    with refused(r"s must be finite and >= 0\. Row 1 has .*weight of 0\."):
        Dataset.of(np.ones((3, 2)), [0, 1, 1], [1.0, wrong, 1.0])
    with refused(r"s must hold numbers\. Got type object instead"):
        Dataset.of(np.ones((2, 2)), [0, 1], np.array([1, None]))


def test_labels_beyond_the_classes_are_refused() -> None:
    X, y, _ = rows(BINARY[0])
    y[7] = 10**7
    words = r"numbers of the 3 classes, 0 to 2\. Row 7 has 10000000\. Name every class in 'classes'"
    with refused(words):
        Dataset.of(X, y, classes=[0, 1, 2])
    with refused(words):
        Dataset([Block.of(X, y)], np.arange(3))
    y[7] = -1
    with refused(r"Row 7 has -1"):
        Dataset([Block(Matrix(X), y)], np.arange(3))


def test_blocks_with_different_features_are_refused() -> None:
    parts = [Block.of(np.ones((2, d)), [0, 1]) for d in (3, 5)]
    with refused(r"the same features\. Got blocks of 3 and 5 columns instead"):
        Dataset(parts, np.arange(2))
    with refused(r"Got no blocks instead"):
        Dataset([], np.arange(2))


def test_a_block_made_by_hand_has_the_types_of_the_kernels() -> None:
    X = Matrix(np.ones((3, 2)))
    with refused(r"y must be int32 in C order\. Got int64 instead\. Use Block\.of"):
        Block(X, np.zeros(3, np.int64))
    with refused(r"s must be float64 in C order"):
        Block(X, np.zeros(3, np.int32), np.ones((3, 4))[:, ::2])


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


MISFITS = {
    "W of other features": (Model.zeros(2, B, 1), r"6 features: a model must have W of shape \(6,"),
    "b of other models": (Model(np.zeros((D, 1, 1)), np.zeros((300, 1))), r"Got \(6, 1, 1\) and"),
    "W flat": (Model(np.zeros((D, B)), np.zeros((B, 1))), r"Got \(6, 3\) and \(3, 1\) instead"),
    "no models": (Model.zeros(D, 0, 1), r"Got \(6, 0, 1\) and \(0, 1\) instead"),
    "integers": (Model.zeros(D, B, 1, np.int64), r"float32 or both float64\. Got int64 and int64"),
    "half": (Model.zeros(D, B, 1, np.float16), r"Got float16 and float16.*Model\.astype"),
    "two types": (Model(np.zeros((D, B, 1)), np.zeros((B, 1), "f")), r"Got float64 and float32"),
    "Fortran order": (Model(np.zeros((D, B, 1), order="F"), np.zeros((B, 1))), r"C order.*copy"),
}


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "own loss"])
def test_a_model_that_does_not_fit_the_data_is_refused(misfit: str, compiled: bool) -> None:
    form = BINARY[0]
    loss: Any = form.loss if compiled else Uncompiled(form.loss)
    data = Dataset.of(*rows(form))
    objective = Objective(data, loss, ElasticNet(0.0, 0.1))
    model, words = MISFITS[misfit]
    for look in (
        objective.evaluate,
        objective.loss_and_accuracy,
        lambda m: objective.loss_gradient(next(data.blocks()), m),
        lambda m: objective.hessian_times(m, m),
    ):
        with refused(words):
            look(model)


def test_a_direction_unlike_the_model_is_refused() -> None:
    form = SMOOTH[0]
    objective = Objective(Dataset.of(*rows(form)), form.loss, ElasticNet(0.0, 0.1))
    with refused(r"direction must have the shapes of the model, W \(6, 3, 1\)"):
        objective.hessian_times(random_model(form), Model.zeros(D, 2, 1))


@pytest.mark.parametrize("what", ["labels", "weights"])
def test_data_of_other_models_is_refused(what: str) -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    if what == "labels":
        y = np.tile(y[:, None], 2)
    else:
        s = np.tile(s[:, None], 2)
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, 0.1))
    with refused(rf"The {what} of the data must have .* one for each of 1000\. Got 2 instead"):
        objective.evaluate(Model.zeros(D, 1000, 1))


@every_form
def test_labels_beyond_what_the_outputs_tell_apart_are_refused(form: Form) -> None:
    X, y, _ = rows(form)
    y[3] = form.classes
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(0.0, 0.1))
    words = rf"tells {form.classes} classes apart\. The data has the class number {form.classes}\."
    with refused(words):
        objective.evaluate(random_model(form))
    legal = Dataset.of(X, np.minimum(y, form.classes - 1), classes=np.arange(9))
    objective = Objective(legal, form.loss, ElasticNet(0.0, 0.1))
    assert np.isfinite(objective.value(random_model(form))).all()
    with refused(words):
        objective.loss_gradient(Block.of(X, y), random_model(form))


def test_a_penalty_of_other_models_or_features_is_refused() -> None:
    form = BINARY[0]
    data, model = Dataset.of(*rows(form)), random_model(form)
    with refused(r"The l1 and l2 of the penalty must be .* one for each of 3\. Got 2 instead"):
        Objective(data, form.loss, ElasticNet(0.0, [0.1, 0.2])).strengths(B)
    for factors in (np.ones(D - 1), np.ones((D, 2))):
        objective = Objective(data, form.loss, ElasticNet(0.0, 0.1, factors))
        with refused(r"The 'factors' of the penalty must be of shape \(6,\) or \(6, 3\)\. Got"):
            objective.evaluate(model)


# --- a loss of one's own ---


@every_form
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
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


def flat_rows(form: Form, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, s = rows(form, 60, seed=seed)
    y[: form.classes] = np.arange(form.classes)
    return X, y, np.maximum(s, 0.1)


def estimator(form: Form, **parameters: Any) -> GradientDescentClassifier:
    """A classifier of this form; one-vs-rest is asked for by its base."""
    loss: Any = getattr(form.loss, "base", form.loss)
    defaults = {"learning_rate": 0.05, "epochs": 12, "l2": 0.01}
    multiclass = "ovr" if hasattr(form.loss, "base") else "auto"
    return GradientDescentClassifier(loss, multiclass=multiclass, **{**defaults, **parameters})


@every_form
@pytest.mark.parametrize("batch_size", [None, 7], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize("kind", ["dense", "CSC"])
def test_a_loss_without_a_kernel_gives_the_same_fit(
    form: Form, batch_size: int | None, kind: str
) -> None:
    X, y, s = flat_rows(form)
    compiled = estimator(form, batch_size=batch_size, epochs=4)
    own = estimator(form, batch_size=batch_size, epochs=4)
    own.set_params(loss=Uncompiled(own.loss))
    for model in (compiled, own):
        model.fit(KINDS[kind](X), y, sample_weight=s)
    np.testing.assert_allclose(own.coef_, compiled.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(own.intercept_, compiled.intercept_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(own.history_["objective"], compiled.history_["objective"])
    np.testing.assert_array_equal(own.predict(X), compiled.predict(X))


# --- whole fits ---


@every_form
def test_a_fold_as_zero_weights_equals_the_fit_on_the_subset(form: Form) -> None:
    X, y, s = flat_rows(form)
    kept = np.arange(len(y)) % 4 != 3
    kept[: form.classes] = True
    fold = estimator(form, momentum=0.5).fit(X, y, sample_weight=np.where(kept, s, 0.0))
    subset = estimator(form, momentum=0.5).fit(X[kept], y[kept], sample_weight=s[kept])
    np.testing.assert_allclose(fold.coef_, subset.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fold.intercept_, subset.intercept_, rtol=1e-9, atol=1e-12)
    for name in ("objective", "train_loss", "train_accuracy", "gradient_norm"):
        np.testing.assert_allclose(fold.history_[name], subset.history_[name], rtol=1e-9)
    assert fold.certificate_.primal == pytest.approx(subset.certificate_.primal, rel=1e-9)


@every_form
def test_a_fit_with_weights_equals_the_fit_of_repeated_rows(form: Form) -> None:
    X, y, _ = flat_rows(form)
    s = 1 + np.random.default_rng(4).integers(0, 3, len(y))
    weighted = estimator(form).fit(X, y, sample_weight=s)
    repeated = estimator(form).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-12)


REPRESENTATIVE = [BINARY[0], *MULTICLASS[-1:], Form(LOSSES["softmax"], 3, 3), ONE_VS_REST[2]]


def assert_same_bits(a: GradientDescentClassifier, b: GradientDescentClassifier) -> None:
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    for name in a.history_:
        if name != "seconds":
            np.testing.assert_array_equal(a.history_[name], b.history_[name])
    assert a.certificate_ == b.certificate_


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("batch_size", [None, 500], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize(
    ("kind", "dtype"), [("dense", np.float32), ("dense", np.float64), ("CSR", np.float64)]
)
def test_a_fit_has_the_same_bits_for_1_2_and_8_threads(
    form: Form, batch_size: int | None, kind: str, dtype: type, threads: None
) -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((2500, 120)) * (rng.random((2500, 120)) < 0.4)).astype(dtype)
    y = rng.integers(0, form.classes, 2500)
    fits = []
    for count in (1, 2, 8):
        set_threads(count)
        fits.append(
            estimator(form, batch_size=batch_size, epochs=3, momentum=0.9).fit(KINDS[kind](X), y)
        )
    assert_same_bits(fits[0], fits[1])
    assert_same_bits(fits[0], fits[2])


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("batch_size", [None, 16], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize(("kind", "dtype"), [("dense", np.float32), ("CSR", np.float64)])
@pytest.mark.parametrize("rule", RULES)
def test_a_fit_has_the_same_bits_alone_and_in_a_batch(
    form: Form, batch_size: int | None, kind: str, rule: str, dtype: type
) -> None:
    X, y, _ = flat_rows(form)
    data = KINDS[kind](X.astype(dtype))
    settings = [
        {"learning_rate": rate, "l2": l2, "l1": l1, "momentum": mu}
        for rate in (0.3, 0.01, 0.05)
        for l2, l1 in ((0.0, 0.0), (0.1, 0.02))
        for mu in (0.0, 0.5)
    ]
    same = {"batch_size": batch_size, "rule": rule, "epochs": 4}
    batch = fit_many([estimator(form, **same, **each) for each in settings], data, y)
    for number in (0, 7):
        alone = estimator(form, **same, **settings[number]).fit(data, y)
        assert_same_bits(batch[number], alone)


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_a_fit_with_its_own_weights_has_the_same_bits_in_a_batch(form: Form, kind: str) -> None:
    X, y, _ = flat_rows(form)
    s = np.random.default_rng(1).integers(0, 3, (len(y), 5)).astype(float)
    batch = fit_many([estimator(form) for _ in range(5)], KINDS[kind](X), y, sample_weight=s)
    for m in (0, 4):
        assert_same_bits(batch[m], estimator(form).fit(KINDS[kind](X), y, sample_weight=s[:, m]))


# --- passes over X ---


def rows_of(fit: Any) -> tuple[int, int]:
    before = rows_read()
    fit()
    after = rows_read()
    return after[0] - before[0], after[1] - before[1]


SWEEP = [
    {"learning_rate": rate, "l2": l2, "momentum": mu}
    for rate in (0.02, 0.01, 0.005)
    for l2 in (0.1, 0.01)
    for mu in (0.0, 0.5)
]


@pytest.mark.parametrize("kind", ["dense", "CSC"])
@pytest.mark.parametrize("batch_size", [None, 20], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
def test_a_sweep_reads_as_many_rows_as_its_slowest_model(
    form: Form, batch_size: int | None, kind: str
) -> None:
    X, y, _ = flat_rows(form)
    data = KINDS[kind](X)
    same = {"batch_size": batch_size, "epochs": 20}
    alone = [
        rows_of(lambda each=each: estimator(form, **same, **each).fit(data, y)) for each in SWEEP
    ]
    many = [estimator(form, **same, **each) for each in SWEEP]
    together = rows_of(lambda: fit_many(many, data, y))
    assert together in alone
    assert together[0] == max(forward for forward, _ in alone)


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
def test_a_batch_of_weights_reads_as_many_rows_as_one_model(form: Form) -> None:
    X, y, _ = flat_rows(form)
    s = np.random.default_rng(2).integers(1, 4, (len(y), 8)).astype(float)
    many = [estimator(form, epochs=20) for _ in range(8)]
    together = rows_of(lambda: fit_many(many, X, y, sample_weight=s))
    one = [
        rows_of(lambda m=m: estimator(form, epochs=20).fit(X, y, sample_weight=s[:, m]))
        for m in range(8)
    ]
    assert together in one


def test_one_vs_rest_reads_as_many_rows_as_one_binary_model() -> None:
    X, y, _ = flat_rows(Form(LOSSES["softmax"], 5, 5))
    together = rows_of(
        lambda: GradientDescentClassifier("logistic", multiclass="ovr", epochs=30, l2=0.1).fit(X, y)
    )
    binary = rows_of(
        lambda: GradientDescentClassifier("logistic", epochs=30, l2=0.1).fit(X, y == 1)
    )
    assert together == binary


@pytest.mark.parametrize("copies", [1, 20])
@pytest.mark.parametrize(("batch_size", "times"), [(None, 1), (7, 2)])
def test_an_epoch_reads_every_row_once_and_a_mini_batch_epoch_twice(
    copies: int, batch_size: int | None, times: int
) -> None:
    """Mini-batches look where the models stand after the epoch: that is the second time."""
    form = Form(LOSSES["softmax"], 3, 3)
    X, y, _ = flat_rows(form)
    many = [estimator(form, batch_size=batch_size, l2=0.01 * k) for k in range(copies)]
    seen: list[tuple[int, int]] = []
    fit_many(many, X, y, on_record=lambda progress: seen.append(rows_read()))
    assert len(seen) == 12
    assert (np.diff(seen, axis=0) == times * len(X)).all()
