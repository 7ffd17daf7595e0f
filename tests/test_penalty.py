"""The elastic net: value, proximal steps, conjugate and refusals."""

from __future__ import annotations

import multiprocessing
import re
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.model import Model
from separatrix.penalty import ElasticNet
from separatrix.recentring import Recentring

D, B, K = 4, 3, 2
L1, L2 = [0.0, 0.3, 0.2], [0.5, 0.0, 0.7]
FACTORS = {
    "none": None,
    "per feature": np.array([0.5, 1.0, 2.0, 3.0]),
    "per model": np.random.default_rng(0).uniform(0.3, 3, (D, B)),
}
seeds = st.integers(0, 2**32 - 1)
with_factors = pytest.mark.parametrize("factors", FACTORS.values(), ids=FACTORS)


def draw(seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((D, B, K))


def full(factors: np.ndarray | None) -> np.ndarray:
    if factors is None:
        return np.ones((D, B))
    return np.broadcast_to(factors[:, None] if factors.ndim == 1 else factors, (D, B))


@with_factors
def test_value_is_the_formula_of_each_model(factors: np.ndarray | None) -> None:
    _, W = draw(0)
    value = ElasticNet(L1, L2, factors).value(W)
    for b in range(B):
        f = full(factors)[:, b, None]
        expected = L1[b] * np.sum(f * abs(W[:, b])) + L2[b] / 2 * np.sum((f * W[:, b]) ** 2)
        assert value[b] == pytest.approx(expected, rel=1e-14)


@with_factors
def test_gradient_is_the_derivative_of_the_l2_part(factors: np.ndarray | None) -> None:
    rng, W = draw(1)
    V = rng.standard_normal(W.shape)
    smooth = ElasticNet(0.0, L2, factors)
    h = 1e-5
    slope = (smooth.value(W + h * V) - smooth.value(W - h * V)) / (2 * h)
    gradient = ElasticNet(L1, L2, factors).gradient(W)
    np.testing.assert_allclose((gradient * V).sum(axis=(0, 2)), slope, rtol=1e-8, atol=1e-10)


@with_factors
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_prox_beats_every_other_point(factors: np.ndarray | None, seed: int) -> None:
    rng, W = draw(seed)
    penalty = ElasticNet(L1, L2, factors)
    step = rng.uniform(0.1, 3, B)

    def cost(V: np.ndarray) -> np.ndarray:
        return 0.5 * ((V - W) ** 2).sum(axis=(0, 2)) + step * penalty.value(V)

    best = penalty.prox(W, step)
    for size in (1e-3, 0.1, 1.0):
        other = best + size * rng.standard_normal(W.shape)
        assert (cost(best) <= cost(other)).all()
    assert (cost(best) <= cost(np.zeros_like(W))).all()


def test_prox_is_the_soft_threshold_and_then_the_shrinkage() -> None:
    W = np.array([3.0, -0.5, -2.0]).reshape(3, 1, 1)
    penalty = ElasticNet(1.0, 0.5)
    assert penalty.shrink_l1(W, 1.0).ravel().tolist() == [2.0, 0.0, -1.0]
    np.testing.assert_allclose(penalty.prox(W, 2.0).ravel(), [0.5, 0, 0])


def test_a_step_per_model_or_per_weight_is_the_same_as_a_number() -> None:
    _, W = draw(2)
    penalty = ElasticNet(L1, L2)
    expected = penalty.prox(W, 0.7)
    for shape in ((B,), (D, B), (D, B, 1), (D, B, K)):
        np.testing.assert_array_equal(penalty.prox(W, np.full(shape, 0.7)), expected)


@with_factors
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_conjugate_is_attained(factors: np.ndarray | None, seed: int) -> None:
    rng, W = draw(seed)
    penalty = ElasticNet(0.0, np.array(L2) + 0.1, factors)
    V = rng.standard_normal(W.shape)
    expected = penalty.conjugate(V)
    room = V.copy()
    best, high = penalty.attain(room)
    assert best is room
    np.testing.assert_allclose(high, expected, rtol=1e-13)
    np.testing.assert_allclose((V * best).sum(axis=(0, 2)) - penalty.value(best), high, rtol=1e-12)


@with_factors
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_fenchel_young_holds_and_is_tight_at_a_subgradient(
    factors: np.ndarray | None, seed: int
) -> None:
    rng, W = draw(seed)
    penalty = ElasticNet(L1, L2, factors)
    V = rng.standard_normal(W.shape)
    V *= penalty.dual_scale(V)[None, :, None]
    conjugate = penalty.conjugate(V)
    assert np.isfinite(conjugate).all()
    assert (penalty.value(W) + conjugate >= (V * W).sum(axis=(0, 2)) - 1e-12).all()
    f = full(factors)[:, :, None]
    subgradient = np.array(L1)[:, None] * f * np.sign(W) + penalty.gradient(W)
    np.testing.assert_allclose(
        penalty.value(W) + penalty.conjugate(subgradient), (subgradient * W).sum(axis=(0, 2))
    )


@with_factors
def test_without_l2_the_conjugate_is_zero_inside_the_box_and_inf_outside(
    factors: np.ndarray | None,
) -> None:
    penalty = ElasticNet(0.3, 0.0, factors)
    edge = 0.3 * np.repeat(full(factors)[:, :, None], K, axis=2)
    assert (penalty.conjugate(edge) == 0).all()
    assert (penalty.conjugate(edge * (1 + 1e-9)) == np.inf).all()
    np.testing.assert_allclose(penalty.dual_scale(4 * edge), np.full(B, 0.25), rtol=1e-15)
    assert (penalty.dual_scale(0.5 * edge) == 1).all()


def test_without_any_penalty_only_the_zero_dual_is_allowed() -> None:
    penalty = ElasticNet(0.0, 0.0)
    _, V = draw(3)
    assert (penalty.conjugate(V) == np.inf).all()
    assert (penalty.conjugate(0 * V) == 0).all()
    assert (penalty.dual_scale(V) == 0).all()
    assert (penalty.dual_scale(0 * V) == 1).all()


def test_dual_scale_does_not_change_models_with_l2() -> None:
    _, V = draw(4)
    scale = ElasticNet([0.1, 0.1, 0.1], [0.0, 1.0, 0.0]).dual_scale(100 * V)
    assert scale[1] == 1
    assert scale[0] == pytest.approx(0.1 / np.abs(100 * V[:, 0]).max())


def test_an_unpenalised_model_that_diverged_has_penalty_zero() -> None:
    W = np.full((D, 1, K), np.inf)
    assert ElasticNet(0.0, 0.0).value(W).tolist() == [0.0]
    assert ElasticNet(0.0, 1.0).value(W).tolist() == [np.inf]


@with_factors
def test_float32_weights_stay_float32_and_values_are_float64(factors: np.ndarray | None) -> None:
    W = np.full((D, B, K), 1e25, dtype=np.float32)
    penalty = ElasticNet(L1, L2, factors)
    for result in (penalty.gradient(W), penalty.prox(W, np.ones(B)), penalty.shrink_l1(W, 1.0)):
        assert result.dtype == np.float32
    assert penalty.value(W).dtype == np.float64
    assert np.isfinite(penalty.value(W)).all()


@with_factors
@pytest.mark.parametrize("models", [[2, 0], np.array([True, False, True]), [1]])
def test_select_keeps_the_chosen_models_to_the_bit(
    factors: np.ndarray | None, models: list[int] | np.ndarray
) -> None:
    _, W = draw(5)
    penalty = ElasticNet(L1, L2, factors)
    np.testing.assert_array_equal(
        penalty.select(models).value(W[:, models]), penalty.value(W)[models]
    )


def test_one_number_applies_to_every_model() -> None:
    _, W = draw(6)
    one, many = ElasticNet(0.1, 0.2), ElasticNet([0.1] * B, [0.2] * B)
    np.testing.assert_array_equal(one.value(W), many.value(W))
    np.testing.assert_array_equal(one.select([2, 1]).value(W[:, 1:]), many.value(W)[1:])
    assert ElasticNet(0.1, [0.2] * B).l1.tolist() == [0.1] * B
    assert ElasticNet(0.1, 0.2, FACTORS["per model"]).l2.shape == (B,)


def test_words_read_as_the_formula() -> None:
    penalty = ElasticNet([0.001, 0.0, 0.5, 0.0], [0.01, 2.0, 0.0, 0.0])
    assert [penalty.words(b) for b in range(4)] == [
        "0.001 * |W|_1 + 0.01/2 * |W|^2",
        "2/2 * |W|^2",
        "0.5 * |W|_1",
        "no penalty",
    ]
    assert ElasticNet(0.0, 1.0, [2.0]).words() == "1/2 * |f W|^2"


def test_an_elastic_net_cannot_be_changed() -> None:
    given_l1 = np.array([0.1])
    penalty = ElasticNet(given_l1, 0.0)
    given_l1[0] = 5.0
    assert penalty.l1[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        penalty.l1[0] = 2.0
    with pytest.raises(AttributeError):
        penalty.l1 = np.ones(1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1, 0), "The 'l1' parameter of ElasticNet must be >= 0. Got -0.1 instead."),
        ((0, [1, -2]), "The 'l2' parameter of ElasticNet must be >= 0. Got -2.0 instead."),
        ((np.nan, 0), "The 'l1' parameter of ElasticNet must be finite. Got nan instead."),
        ((0, np.inf), "The 'l2' parameter of ElasticNet must be finite. Got inf instead."),
        (
            (0, 0, [1.0, 0.0]),
            "The 'factors' parameter of ElasticNet must be > 0. Got 0.0 instead.",
        ),
        (
            (np.zeros((2, 3)), 0),
            "The 'l1' parameter of ElasticNet must be a number or one number per model. "
            "Got an array of shape (2, 3) instead.",
        ),
        (
            (0, 0, 2.0),
            "The 'factors' parameter of ElasticNet must be None or of shape (d,) or (d, B). "
            "Got shape () instead.",
        ),
        (
            ([1, 2], [1, 2, 3]),
            "The parameters of ElasticNet must hold one value, or one per model. "
            "Got 2 for 'l1', 3 for 'l2' instead.",
        ),
    ],
)
def test_invalid_parameters_are_refused_with_an_explanation(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ElasticNet(*arguments)


@pytest.mark.parametrize("K", [1, 3])
def test_a_model_has_the_same_penalty_alone_and_in_a_batch(K):
    rng = np.random.default_rng(0)
    W = rng.standard_normal((300, 5, K))
    penalty = ElasticNet([0.0, 0.1, 0.0, 1.0, 0.3], 0.7)
    together = penalty.value(W), penalty.conjugate(W)
    for m in range(5):
        one = np.array([m])
        alone = penalty.select(one)
        assert alone.value(W[:, one])[0] == together[0][m]
        assert alone.conjugate(W[:, one])[0] == together[1][m]


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_while_other_threads_compute_does_not_wait_for_them() -> None:
    """Cached values must not need a lock that another thread may hold when the child is forked."""

    def compute() -> None:
        penalty = ElasticNet(0.0, 0.5, np.ones(400), 1.0)
        penalty.gradient(np.ones((400, 1, 1)))
        penalty.bias_value(np.ones((1, 1)))
        Recentring(np.ones(4), np.ones(1, bool)).apply(Model.zeros(4, 1, 1))

    def on() -> None:
        while not over.is_set():
            compute()

    over, before = threading.Event(), sys.getswitchinterval()
    threads = [threading.Thread(target=on) for _ in range(3)]
    context = multiprocessing.get_context("fork")
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(30):
            child = context.Process(target=compute)
            child.start()
            child.join(30.0)
            ended = child.exitcode
            child.kill()
            child.join()
            assert ended == 0
    finally:
        over.set()
        sys.setswitchinterval(before)
        for thread in threads:
            thread.join()
