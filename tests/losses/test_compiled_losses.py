"""The compiled losses and the pass over X equal numpy, on every instruction set."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import _core
from separatrix.losses import LOSSES, Loss, OneVsRest, make_loss
from separatrix.losses.margin import Margin
from separatrix.matrix import Matrix, set_threads
from support.forms import COMPILED, Form
from support.looped import looped

every_form = pytest.mark.parametrize("form", COMPILED, ids=str)
every_type = looped("dtype", [np.float64, np.float32])
EXTREME = {np.float64: 1e300, np.float32: 1e30}


def compiled(
    loss: Loss, y: np.ndarray, s: np.ndarray | None, scale: np.ndarray, Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s loss (n, B), s correct (n, B) and s scale dloss/dz (n, B, K)."""
    U = Z.copy()
    value, hits = np.full(Z.shape[:2], np.nan), np.full(Z.shape[:2], np.nan)
    _core.loss_values(loss.native_code, loss.margin, y, s, scale, U, value, hits)
    return value, hits, U


def reference(
    loss: Loss, y: np.ndarray, s: np.ndarray | None, scale: np.ndarray, Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same arrays from the losses in numpy, in float64, without rows that have no weight."""
    weights = np.ones(len(y)) if s is None else s
    weights = np.broadcast_to(weights if weights.ndim == 2 else weights[:, None], Z.shape[:2])
    labels = y if y.ndim == 2 else y[:, None]
    Z = np.where(weights[:, :, None] > 0.0, Z, 0.0).astype(np.float64)
    return (
        weights * loss.value(y, Z),
        weights * (loss.predict(Z) == labels),
        (weights * scale)[:, :, None] * loss.gradient(y, Z),
    )


def assert_same(
    found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], dtype: type
) -> None:
    value, hits, U = found
    rtol = 1e-12 if dtype == np.float64 else 2e-5
    size = np.abs(expected[2]).max(initial=0.0)
    np.testing.assert_allclose(value, expected[0], rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(hits, expected[1])
    np.testing.assert_allclose(U, expected[2], rtol=rtol, atol=0.01 * rtol * size)


def draw(
    rng: np.random.Generator, form: Form, n: int, B: int, dtype: type, y_each: bool, s_each: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    y = rng.integers(0, form.classes, (n, B) if y_each else n).astype(np.int32)
    s = rng.uniform(0.0, 3.0, (n, B) if s_each else n) * (rng.random((n, B) if s_each else n) > 0.2)
    Z = (3.0 * rng.standard_normal((n, B, form.outputs))).astype(dtype)
    return y, s, rng.uniform(0.5, 2.0, B), Z


@pytest.mark.slow
@every_form
@every_type
def test_compiled_loss_equals_the_reference(form: Form, dtype: type, instruction_set: str) -> None:
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (65, 1), (3, 2), (7, 19), (41, 5), (64, 64)]
    for (n, B), y_each, s_each in product(shapes, (False, True), (False, True)):
        y, s, scale, Z = draw(rng, form, n, B, dtype, y_each, s_each)
        for weights in (s, None):
            assert_same(
                compiled(form.loss, y, weights, scale, Z),
                reference(form.loss, y, weights, scale, Z),
                dtype,
            )


@every_form
@every_type
def test_compiled_loss_equals_the_reference_at_ties(
    form: Form, dtype: type, instruction_set: str
) -> None:
    """Scores with few different values: ties, zeros, and terms exactly at the margin."""
    rng = np.random.default_rng(1)
    y, s, scale, Z = draw(rng, form, 300, 3, dtype, True, True)
    Z = rng.integers(-1, 2, Z.shape).astype(dtype)
    Z[:5] = 0
    assert_same(compiled(form.loss, y, s, scale, Z), reference(form.loss, y, s, scale, Z), dtype)


@every_form
@every_type
def test_extreme_scores_give_no_nan_and_the_limits_of_the_reference(
    form: Form, dtype: type, instruction_set: str
) -> None:
    rng = np.random.default_rng(2)
    big = EXTREME[dtype]
    y, _, scale, Z = draw(rng, form, 400, 3, dtype, True, False)
    Z = rng.choice(np.array([-big, -800, -90, -1, 0, 1, 90, 800, big], dtype), Z.shape)
    value, hits, U = compiled(form.loss, y, None, scale, Z)
    for found in (value, hits, U):
        assert not np.isnan(found).any()
    # Numbers below the normal range may be flushed to zero.
    close = {"rtol": 2e-5 if dtype == np.float32 else 1e-12, "atol": np.finfo(dtype).tiny}
    np.testing.assert_allclose(value, form.loss.value(y, Z).astype(np.float64), **close)
    np.testing.assert_array_equal(hits, form.loss.predict(Z) == y)
    slope = form.loss.gradient(y, Z.astype(np.float64)) * scale[:, None]
    np.testing.assert_allclose(U, slope, **close)


@every_form
@every_type
def test_rows_without_weight_have_no_effect(form: Form, dtype: type, instruction_set: str) -> None:
    rng = np.random.default_rng(3)
    y, s, scale, Z = draw(rng, form, 70, 3, dtype, False, True)
    bad = rng.choice(np.array([np.inf, -np.inf, np.nan, EXTREME[dtype]], dtype), Z.shape)
    Z = np.where((s == 0.0)[:, :, None], bad, Z)
    value, hits, U = compiled(form.loss, y, s, scale, Z)
    clean = np.where((s > 0.0)[:, :, None], Z, 0).astype(dtype)
    for found, expected in zip((value, hits, U), compiled(form.loss, y, s, scale, clean)):
        np.testing.assert_array_equal(found, expected)
        assert not found[s == 0.0].any()


@every_form
@every_type
def test_nan_scores_of_weighted_rows_reach_the_loss(
    form: Form, dtype: type, instruction_set: str
) -> None:
    """A model that diverged must show it in its loss."""
    y, _, scale, Z = draw(np.random.default_rng(4), form, 40, 2, dtype, False, False)
    Z[7, 1, -1] = np.nan
    value, _, _ = compiled(form.loss, y, None, scale, Z)
    assert np.isnan(value[7, 1])
    assert np.isnan(value).sum() == 1


@every_type
@pytest.mark.parametrize("margin", [0.25, 3.0])
@pytest.mark.parametrize(
    "name", [n for n, loss in LOSSES.items() if isinstance(loss, Margin) and loss.margin > 0.0]
)
def test_compiled_margins_equal_the_reference(
    name: str, margin: float, dtype: type, instruction_set: str
) -> None:
    rng = np.random.default_rng(5)
    loss = make_loss(name, margin)
    forms = [Form(loss, 4, 4)]
    if loss.n_outputs(2) == 1:
        forms += [Form(loss, 2, 1), Form(OneVsRest(loss), 3, 3)]
    for form in forms:
        y, s, scale, Z = draw(rng, form, 90, 3, dtype, True, True)
        assert_same(
            compiled(form.loss, y, s, scale, Z), reference(form.loss, y, s, scale, Z), dtype
        )


@every_form
@every_type
def test_the_bits_of_a_lane_depend_on_neither_its_position_nor_its_neighbours(
    form: Form, dtype: type, instruction_set: str
) -> None:
    rng = np.random.default_rng(6)
    y, s, scale, Z = draw(rng, form, 67, 7, dtype, True, True)
    together = compiled(form.loss, y, s, scale, Z)
    rows = rng.permutation(67)[:30]
    for m in (0, 3, 6):
        one = np.array([m])
        alone = compiled(
            form.loss,
            np.ascontiguousarray(y[rows][:, one]),
            np.ascontiguousarray(s[rows][:, one]),
            scale[one],
            np.ascontiguousarray(Z[rows][:, one]),
        )
        for a, b in zip(alone, together):
            np.testing.assert_array_equal(a[:, 0], b[rows, m])


# --- the pass over X ---


def one_pass(
    X: Matrix,
    loss: Loss,
    y: np.ndarray,
    s: np.ndarray | None,
    scale: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    gradient: bool = True,
) -> tuple[np.ndarray, ...]:
    """Sums of s loss (B,) and s correct (B,), and the gradients G (d, B, K) and gb (B, K)."""
    B = len(b)
    value, hits, gb = np.zeros(B), np.zeros(B), np.zeros(b.shape)
    G = np.zeros_like(W) if gradient else None
    native = X.by_both() if gradient else X.by_sample()
    _core.value_gradient(
        native, y, s, scale, loss.native_code, loss.margin, W, b, value, hits, G, gb
    )
    return (value, hits) if G is None else (value, hits, G, gb)


def problem(
    form: Form, n: int, d: int, B: int, dtype: type, *, seed: int = 0, density: float = 1.0
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y, s, scale, _ = draw(rng, form, n, B, dtype, True, True)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    return {
        "X": X.astype(dtype),
        "y": y,
        "s": s,
        "scale": scale / n,
        "W": rng.standard_normal((d, B, form.outputs)).astype(dtype) / np.sqrt(d).astype(dtype),
        "b": rng.standard_normal((B, form.outputs)).astype(dtype),
    }


def assert_pass_is_right(form: Form, p: dict[str, Any], X: Matrix) -> None:
    dtype, wide = p["W"].dtype.type, p["X"].astype(np.float64)
    W, b = p["W"].astype(np.float64), p["b"].astype(np.float64)
    Z = np.tensordot(wide, W, 1) + b
    value, hits, U = reference(form.loss, p["y"], p["s"], p["scale"], Z)
    found = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"])
    rtol = 1e-10 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(found[0], value.sum(axis=0), rtol=rtol)
    if dtype == np.float64:
        np.testing.assert_allclose(found[1], hits.sum(axis=0), rtol=1e-12)
    G = np.tensordot(wide.T, U, 1)
    np.testing.assert_allclose(found[2], G, rtol=rtol, atol=rtol * np.abs(G).max(initial=1e-30))
    gb = U.sum(axis=0)
    np.testing.assert_allclose(found[3], gb, rtol=rtol, atol=rtol * np.abs(gb).max())
    without = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"], gradient=False)
    np.testing.assert_array_equal(without, found[:2])


@every_form
@every_type
@looped("sparse", [False, True])
def test_one_pass_equals_the_reference(
    form: Form, dtype: type, sparse: bool, instruction_set: str
) -> None:
    p = problem(form, 83, 11, 3, dtype, density=0.4 if sparse else 1.0)
    assert_pass_is_right(form, p, Matrix(sp.csr_array(p["X"]) if sparse else p["X"]))


SHAPES = [
    (1, 1, 1),
    (1, 5, 2),
    (5, 40, 3),
    (30, 0, 2),
    (2100, 1030, 2),  # more rows than a chunk of wide data, more columns than a block
    (16500, 3, 4),  # more rows than a chunk of narrow data
    (300, 800, 17),
    (70, 20, 70),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@every_type
def test_one_pass_is_correct_across_chunks_and_blocks(
    shape: tuple[int, int, int], sparse: bool, dtype: type
) -> None:
    n, d, B = shape
    form = Form(LOSSES["softmax"], 3, 3)
    p = problem(form, n, d, B, dtype, density=0.02 if sparse and d > 100 else 0.5)
    assert_pass_is_right(form, p, Matrix(sp.csr_array(p["X"]) if sparse else p["X"]))


@given(
    n=st.integers(1, 90),
    d=st.integers(0, 30),
    B=st.integers(1, 12),
    form=st.sampled_from(COMPILED),
    dtype=st.sampled_from([np.float64, np.float32]),
    density=st.sampled_from([0.0, 0.1, 1.0]),
    sparse=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150)
def test_one_pass_is_correct_for_any_shape(
    n: int, d: int, B: int, form: Form, dtype: type, density: float, sparse: bool, seed: int
) -> None:
    p = problem(form, n, d, B, dtype, seed=seed, density=density)
    if dtype == np.float32 and not form.loss.smooth:
        p["W"] = np.round(p["W"], 1)  # rounding must not decide on which side of a kink z falls
    X = Matrix(sp.csr_array(p["X"]) if sparse else p["X"])
    kinked = dtype == np.float32 and not form.loss.smooth
    if kinked:
        found = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"])
        assert all(np.isfinite(a).all() for a in found)
    else:
        assert_pass_is_right(form, p, X)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@every_type
def test_one_pass_adds_to_existing_sums(sparse: bool, dtype: type) -> None:
    form = Form(LOSSES["logistic"], 2, 1)
    p = problem(form, 60, 7, 2, dtype)
    X = Matrix(sp.csr_array(p["X"]) if sparse else p["X"])
    value, hits, G, gb = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"])
    more = (np.ones(2), np.ones(2), np.ones_like(G), np.ones_like(gb))
    _core.value_gradient(
        X.by_both(), p["y"], p["s"], p["scale"], form.loss.native_code, 0.0, p["W"], p["b"], *more
    )
    for found, one in zip(more, (value, hits, G, gb)):
        np.testing.assert_allclose(found, 1 + one, rtol=1e-6)


# --- the same bits ---


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@every_type
@pytest.mark.parametrize("shape", [(20000, 20, 5), (2500, 600, 7), (3000, 900, 1)], ids=str)
def test_one_pass_has_the_same_bits_for_1_2_and_8_threads(
    shape: tuple[int, int, int], sparse: bool, dtype: type, instruction_set: str, threads: None
) -> None:
    n, d, B = shape
    form = Form(LOSSES["softmax"], 3, 3)
    p = problem(form, n, d, B, dtype, density=0.1)
    X = Matrix(sp.csr_array(p["X"]) if sparse else p["X"])
    U = np.random.default_rng(1).standard_normal((n, B, 3)).astype(dtype)
    results = []
    for count in (1, 2, 8):
        set_threads(count)
        found = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"])
        results.append((*found, X.scores(p["W"], p["b"]), X.transpose_times(U)))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@every_type
@pytest.mark.parametrize("form", [COMPILED[0], Form(LOSSES["softmax"], 3, 3)], ids=str)
def test_a_model_has_the_same_bits_alone_and_at_any_position_in_a_batch(
    form: Form, sparse: bool, dtype: type, instruction_set: str
) -> None:
    n, d, B = 2100, 410, 37
    p = problem(form, n, d, B, dtype, density=0.1)
    X = Matrix(sp.csr_array(p["X"]) if sparse else p["X"])
    together = one_pass(X, form.loss, p["y"], p["s"], p["scale"], p["W"], p["b"])
    Z = X.scores(p["W"], p["b"])
    U = np.random.default_rng(2).standard_normal(Z.shape).astype(dtype)
    V = X.transpose_times(U)
    for models in ([0], [36], [17], [5, 30], list(range(11, 28))):
        part = {k: np.ascontiguousarray(p[k][:, models]) for k in ("y", "s", "W")}
        b, scale = p["b"][models], p["scale"][models]
        value, hits, G, gb = one_pass(X, form.loss, part["y"], part["s"], scale, part["W"], b)
        np.testing.assert_array_equal(value, together[0][models])
        np.testing.assert_array_equal(hits, together[1][models])
        np.testing.assert_array_equal(G, together[2][:, models])
        np.testing.assert_array_equal(gb, together[3][models])
        np.testing.assert_array_equal(X.scores(part["W"], b), Z[:, models])
        np.testing.assert_array_equal(X.transpose_times(U[:, models]), V[:, models])


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot run the instruction set 'abacus'"):
        _core.use_instruction_set("abacus")
    assert _core.instruction_set() in _core.instruction_sets()
    assert _core.instruction_sets()[-1] == "baseline"


def test_arrays_of_another_type_are_refused_instead_of_writing_to_a_copy() -> None:
    X = _core.Matrix.dense(np.ones((4, 2)))
    W, b, Z = np.ones((2, 1)), np.zeros(1), np.zeros((4, 1))
    _core.scores(X, W, b, Z)
    assert (Z == 2.0).all()
    for wrong in (W.astype(int), W.astype(np.float32), np.asfortranarray(np.ones((2, 3)))):
        with pytest.raises(TypeError):
            _core.scores(X, wrong, b, Z)
    with pytest.raises(TypeError):
        _core.scores(X, W, b, Z.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_perceptron_does_not_repeat_an_empty_example_endlessly(dtype: type) -> None:
    X = np.array([[0, 0], [1, 0], [0, 1]], dtype)
    W, b = np.zeros((2, 1), dtype), np.zeros((1, 1), dtype)
    y, s = np.array([0, 1, 0], np.int32), np.array([1e12, 1.0, 1.0])
    mistakes = np.zeros(1, np.int64)
    _core.perceptron_epoch(
        _core.Matrix.dense(X), y, s, np.ones(1), np.arange(3), W, b, False, mistakes
    )
    assert mistakes[0] == 2  # the empty example once, the third once
    np.testing.assert_array_equal(W, [[0], [-1]])
