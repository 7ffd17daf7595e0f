"""Every loss satisfies the protocol; the list of losses drives the tests."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.losses import LOSSES, Loss, make_loss
from separatrix.losses.balance import balancing
from support.looped import looped

B = 3
# (loss, number of classes, number of outputs): the binary forms and C = 2, 3, 5.
BINARY = [n for n, loss in LOSSES.items() if loss.n_outputs(2) == 1]
MULTICLASS = [n for n in LOSSES if n not in ("logistic", "sigmoid_mse", "modified_huber")]
FORMS = [(n, 2, 1) for n in BINARY]
FORMS += [(n, C, C - (n == "softmax_reference")) for n in MULTICLASS for C in (2, 3, 5)]
FORMS = list(dict.fromkeys(FORMS))
SMOOTH = [form for form in FORMS if LOSSES[form[0]].smooth]
CONVEX = [form for form in FORMS if LOSSES[form[0]].convex]
seeds = st.integers(0, 2**32 - 1)


def draw(
    seed: int, C: int, K: int, n: int = 12, scale: float = 2.0, per_model: bool = False
) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, (n, B) if per_model else n).astype(np.int32)
    return rng, y, scale * rng.standard_normal((n, B, K))


def random_duals(
    loss: Loss, rng: np.random.Generator, y: np.ndarray, shape: tuple[int, int, int]
) -> np.ndarray:
    """Points of the conjugate's domain: averages of gradients at random scores, shrunk."""
    if loss.name == "squared":
        return rng.standard_normal(shape)
    gradients = [loss.gradient(y, 4 * rng.standard_normal(shape)) for _ in range(3)]
    return rng.uniform(0, 1, shape[:2])[:, :, None] * np.mean(gradients, axis=0)


def test_every_loss_implements_the_protocol_under_its_name() -> None:
    for name, loss in LOSSES.items():
        assert isinstance(loss, Loss)
        assert loss.name == name
        assert loss.words.startswith("mean ")
        assert (loss.curvature is not None) == loss.smooth
    kernels = {name: loss.native_code for name, loss in LOSSES.items() if loss.compiled}
    assert kernels == {
        "perceptron": 0,
        "hinge": 0,
        "squared_hinge": 1,
        "crammer_singer": 2,
        "logistic": 3,
        "softmax": 4,
        "softmax_reference": 5,
        "squared": 6,
        "sigmoid_mse": 7,
        "modified_huber": 8,
    }


@pytest.mark.parametrize(("name", "C", "K"), FORMS)
@looped("per_model", [False, True])
def test_gradient_is_the_derivative_of_value(name: str, C: int, K: int, per_model: bool) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(1, C, K, n=60, per_model=per_model)
    h = 1e-6
    for k in range(K):
        step = h * np.eye(K)[k]
        slope = (loss.value(y, Z + step) - loss.value(y, Z - step)) / (2 * h)
        np.testing.assert_allclose(loss.gradient(y, Z)[:, :, k], slope, rtol=2e-6, atol=2e-8)


@pytest.mark.parametrize(("name", "C", "K"), SMOOTH)
def test_hessian_times_is_the_derivative_of_gradient(name: str, C: int, K: int) -> None:
    loss = LOSSES[name]
    rng, y, Z = draw(2, C, K, n=60)
    V = rng.standard_normal(Z.shape)
    h = 1e-6
    slope = (loss.gradient(y, Z + h * V) - loss.gradient(y, Z - h * V)) / (2 * h)
    np.testing.assert_allclose(loss.hessian_times(y, Z, V), slope, rtol=2e-6, atol=2e-8)


@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_fenchel_young_inequality_holds_everywhere(name: str, C: int, K: int, seed: int) -> None:
    loss = LOSSES[name]
    rng, y, Z = draw(seed, C, K, per_model=bool(seed % 2))
    U = random_duals(loss, rng, y, Z.shape)
    cost = loss.conjugate(y, U)
    assert np.isfinite(cost).all()
    assert (loss.value(y, Z) + cost >= (U * Z).sum(axis=2) - 1e-9).all()


@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
@given(seed=seeds, scale=st.sampled_from([0.0, 0.1, 2.0, 30.0]))
@settings(max_examples=20, deadline=None)
def test_fenchel_young_is_an_equality_at_the_gradient(
    name: str, C: int, K: int, seed: int, scale: float
) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(seed, C, K, scale=scale, per_model=bool(seed % 2))
    U = loss.gradient(y, Z)
    left, right = loss.value(y, Z) + loss.conjugate(y, U), (U * Z).sum(axis=2)
    np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("name", "C", "K"), [f for f in CONVEX if f[0] != "squared"])
def test_conjugate_is_infinite_outside_its_domain(name: str, C: int, K: int) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(3, C, K, scale=0.1)
    U = loss.gradient(y, Z)
    outside = [-0.01 * U]  # the flows of a gradient are never negative
    if name != "squared_hinge":
        most = 4.0 if name == "modified_huber" else 1.0
        outside.append(most * U / np.maximum(np.abs(U).max(axis=2, keepdims=True), 1e-9) * 1.01 * C)
    if K == C:
        outside.append(U + 0.01)
    for point in outside:
        assert (loss.conjugate(y, point)[np.abs(U).sum(axis=2) > 0] == np.inf).all()


@looped("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "C", "K"), [f for f in CONVEX if f[0] != "squared"])
def test_conjugate_tolerates_only_rounding(name: str, C: int, K: int, dtype: type) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(3, C, K, scale=40.0)
    U = loss.gradient(y, Z.astype(dtype))
    eps = dtype(np.finfo(dtype).eps)
    nudged = U * (1 + 8 * eps)
    cost = loss.conjugate(y, nudged)
    assert np.isfinite(cost).all()
    np.testing.assert_allclose(cost, loss.conjugate(y, U), rtol=1e3 * eps, atol=1e3 * eps)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_balance_makes_the_weighted_sum_vanish_inside_the_domain(
    name: str, C: int, K: int, seed: int
) -> None:
    loss = LOSSES[name]
    rng, y, Z = draw(seed, C, K, n=20, per_model=bool(seed % 2))
    shape = (20, B) if seed % 3 else (20,)
    s = rng.exponential(size=shape) * rng.integers(0, 2, shape)
    U = random_duals(loss, rng, y, Z.shape)
    balanced = loss.balance(y, U, s)
    weights = s[:, None] if s.ndim == 1 else s
    total = (weights[:, :, None] * balanced).sum(axis=0)
    assert np.abs(total).max() <= 1e-12 * (1 + (weights.sum(axis=0).max()) * np.abs(U).max())
    assert np.isfinite(loss.conjugate(y, balanced)).all()
    assert balanced.shape == U.shape


@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
def test_balance_keeps_balanced_duals_and_never_removes_all_of_a_dual(
    name: str, C: int, K: int
) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(5, C, K, n=40, scale=0.3)
    once = loss.balance(y, loss.gradient(y, Z), np.ones(40))
    assert (np.abs(once).max(axis=(0, 2)) > 0.1).all()
    np.testing.assert_allclose(loss.balance(y, once, np.ones(40)), once, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
def test_balance_works_without_any_weight(name: str, C: int, K: int) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(6, C, K)
    balanced = loss.balance(y, loss.gradient(y, Z), np.zeros((12, B)))
    assert np.isfinite(balanced).all()
    assert np.isfinite(loss.conjugate(y, balanced)).all()


@pytest.mark.parametrize("name", ["hinge", "logistic", "squared_hinge", "perceptron"])
def test_balance_shrinks_the_heavier_sign_of_a_binary_loss(name: str) -> None:
    loss = LOSSES[name]
    y = np.array([1, 1, 0])
    U = np.array([-0.5, -0.25, 0.25]).reshape(3, 1, 1)
    balanced = loss.balance(y, U, np.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(balanced.ravel(), [-1 / 6, -1 / 12, 1 / 4], rtol=1e-14)


@pytest.mark.parametrize("name", ["softmax", "hinge", "crammer_singer", "squared_hinge"])
def test_balance_keeps_the_flows_between_present_classes_when_a_class_is_absent(name: str) -> None:
    loss = LOSSES[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 50)
    s = (y != 2).astype(float)
    Z = 0.5 * rng.standard_normal((50, 1, 4))
    balanced = loss.balance(y, loss.gradient(y, Z), s)
    np.testing.assert_allclose(np.einsum("i,ibk->bk", s, balanced), 0, atol=1e-13)
    assert np.abs(balanced[s > 0]).max() > 0.1


def test_balance_treats_closed_groups_of_classes_separately() -> None:
    # Classes 0, 1 trade with each other, 2, 3 with each other, and 0 also gives to 2.
    y = np.array([0, 1, 2, 3])
    U = np.zeros((4, 1, 4))
    for i, flows in enumerate([{1: 0.4, 2: 0.5}, {0: 0.1}, {3: 0.3}, {2: 0.9}]):
        for j, amount in flows.items():
            U[i, 0, j] = amount
        U[i, 0, i] = -sum(flows.values())
    balanced = LOSSES["hinge"].balance(y, U, np.ones(4))[:, 0]
    expected = np.array(
        [[-0.1, 0.1, 0, 0], [0.1, -0.1, 0, 0], [0, 0, -0.3, 0.3], [0, 0, 0.3, -0.3]]
    )
    np.testing.assert_allclose(balanced, expected, atol=1e-15)


def test_balance_is_exact_when_class_flows_span_hundreds_of_orders() -> None:
    y = np.array([0, 1, 2])
    a, b, c = 1e-150, 1.0, 1e-300
    U = np.array([[-a, a, 0], [0, -b, b], [c, 0, -c]])[:, None, :]
    balanced = LOSSES["hinge"].balance(y, U, np.ones(3))[:, 0]
    np.testing.assert_allclose(balanced, 1e-300 * np.array([[-1, 1, 0], [0, -1, 1], [1, 0, -1]]))


def test_balance_does_not_overflow_when_the_class_weights_span_400_orders() -> None:
    flows = [{1: 1.0}, {0: 1e-200, 2: 1.0}, {1: 1.0, 3: 1.0}, {4: 1.0}, {3: 1.0, 2: 1e-200}]
    U = np.zeros((5, 1, 5))
    for i, row in enumerate(flows):
        for j, amount in row.items():
            U[i, 0, j] = amount
        U[i, 0, i] = -sum(row.values())
    balanced = LOSSES["hinge"].balance(np.arange(5), U, np.ones(5))[:, 0]
    np.testing.assert_allclose(balanced.sum(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(balanced[3:, 3:], [[-1, 1], [1, -1]], rtol=1e-14)


@pytest.mark.parametrize(("name", "C", "K"), CONVEX)
def test_a_model_has_the_same_bits_alone_and_among_others(name: str, C: int, K: int) -> None:
    loss = LOSSES[name]
    rng, y, Z = draw(12, C, K, n=500, per_model=True)
    s = rng.exponential(size=(500, B))
    U = loss.gradient(y, Z)
    many = loss.value(y, Z), loss.conjugate(y, U), U, loss.balance(y, U, s)
    for b in range(B):
        one_y, one_Z = y[:, b], np.ascontiguousarray(Z[:, b : b + 1])
        one_U = loss.gradient(one_y, one_Z)
        balanced = loss.balance(one_y, one_U, s[:, b])
        one = loss.value(one_y, one_Z), loss.conjugate(one_y, one_U), one_U, balanced
        for alone, among in zip(one, many, strict=True):
            np.testing.assert_array_equal(alone[:, 0], among[:, b])


@pytest.mark.parametrize(("name", "C", "K"), SMOOTH)
@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_curvature_bounds_the_second_derivative(name: str, C: int, K: int, seed: int) -> None:
    loss = LOSSES[name]
    rng, y, Z = draw(seed, C, K, n=30)
    V = rng.standard_normal(Z.shape)
    V /= np.linalg.norm(V, axis=2, keepdims=True)
    second = (V * loss.hessian_times(y, Z, V)).sum(axis=2)
    bound = loss.curvature_of(K)
    assert bound is not None
    assert (np.abs(second) <= bound * (1 + 1e-12)).all()
    if loss.convex:
        assert (second >= -1e-15).all()


# The listed losses attain their bound at known points; a new loss must only stay below it.
@pytest.mark.parametrize(("name", "C", "K"), [f for f in SMOOTH if LOSSES[f[0]].compiled])
def test_curvature_is_attained(name: str, C: int, K: int) -> None:
    """For every loss there is a point and a direction at which the bound is an equality."""
    loss = LOSSES[name]
    y = np.zeros(1, dtype=np.int32)
    Z = np.zeros((1, 1, K))
    V = np.zeros((1, 1, K))
    V[0, 0, 0] = 1.0
    if name.startswith("softmax") and K > 1:  # half the probability on each of two classes
        Z[0, 0, :2], V[0, 0, :2] = 800.0, (1, -1)
    if name == "squared_hinge" and K > 1:  # the true class against all others
        V[0, 0] = -1.0
        V[0, 0, 0] = K - 1
    if name == "sigmoid_mse":
        r = (15 - np.sqrt(33)) / 24
        Z[0, 0, 0] = np.log(r / (1 - r))
    V /= np.linalg.norm(V)
    second = float((V * loss.hessian_times(y, Z, V)).sum())
    assert second == pytest.approx(loss.curvature_of(K), rel=1e-12)


@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1e300), (np.float32, 1e30)])
@pytest.mark.parametrize(("name", "C", "K"), FORMS)
def test_extreme_scores_give_no_nan_no_warning_and_keep_the_type(
    name: str, C: int, K: int, dtype: type, huge: float
) -> None:
    loss = LOSSES[name]
    corners = np.array(np.meshgrid(*[[-huge, 0.0, huge]] * K)).reshape(K, -1).T.astype(dtype)
    for c in range(C):
        y = np.full(len(corners), c, dtype=np.int32)
        Z = corners[:, None, :]
        with np.errstate(all="raise"):
            value, gradient = loss.value(y, Z), loss.gradient(y, Z)
            results = [value, gradient]
            if loss.smooth:
                results.append(loss.hessian_times(y, Z, np.ones_like(Z)))
            if loss.convex:
                results.append(loss.conjugate(y, gradient))
                results.append(loss.balance(y, gradient, np.ones(len(y))))
            probabilities = loss.probabilities(Z)
            if probabilities is not None:
                results.append(probabilities)
        assert all(r.dtype == dtype for r in results)
        assert not any(np.isnan(r).any() for r in results)
        assert np.isfinite(gradient).all()
        if name not in ("squared", "squared_hinge"):  # their squares overflow the type
            assert np.isfinite(value).all()


def test_a_tiny_cross_entropy_keeps_its_digits() -> None:
    Z, y = np.array([[[50.0]]]), np.array([1])
    logistic = LOSSES["logistic"]
    tiny = np.exp(-50)
    np.testing.assert_allclose(logistic.value(y, Z), tiny, rtol=1e-14, atol=0)
    np.testing.assert_allclose(logistic.gradient(y, Z), -tiny, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", ["perceptron", "hinge", "squared_hinge", "crammer_singer"])
def test_a_tie_counts_as_a_violation(name: str) -> None:
    loss = LOSSES[name]
    y = np.array([0])
    Z = np.array([[[loss.margin, 0.0, 0.0]]])
    assert loss.value(y, Z)[0, 0] == 0
    if loss.smooth:
        V = np.array([[[0.0, 1.0, 0.0]]])
        assert loss.hessian_times(y, Z, V)[0, 0].tolist() == [-2, 2, 0]
    else:
        flows = [-1, 1, 0] if name == "crammer_singer" else [-2, 1, 1]
        assert loss.gradient(y, Z)[0, 0].tolist() == flows
        if loss.n_outputs(2) == 1:
            tie = np.array([[[loss.margin]]])
            assert loss.gradient(np.array([1]), tie).item() == -1


def test_the_crammer_singer_gradient_is_on_the_first_worst_class_only() -> None:
    gradient = LOSSES["crammer_singer"].gradient(np.array([1]), np.array([[[2.0, 0, 3, 3]]]))
    assert gradient[0, 0].tolist() == [0, -1, 1, 0]


@pytest.mark.parametrize("C", [2, 3, 5])
def test_reference_class_equals_softmax_with_a_zero_column(C: int) -> None:
    reference, softmax = LOSSES["softmax_reference"], LOSSES["softmax"]
    rng, y, Z = draw(7, C, C - 1)
    V = rng.standard_normal(Z.shape)
    zero = np.zeros((12, B, 1))
    full, V_full = np.concatenate([zero, Z], 2), np.concatenate([zero, V], 2)
    gradient = softmax.gradient(y, full)
    pairs = [
        (reference.value(y, Z), softmax.value(y, full)),
        (reference.gradient(y, Z), gradient[:, :, 1:]),
        (reference.hessian_times(y, Z, V), softmax.hessian_times(y, full, V_full)[:, :, 1:]),
        (reference.conjugate(y, gradient[:, :, 1:]), softmax.conjugate(y, gradient)),
        (reference.predict(Z), softmax.predict(full)),
        (reference.probabilities(Z), softmax.probabilities(full)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


def test_two_class_softmax_is_logistic_in_the_difference_of_scores() -> None:
    _, y, Z = draw(8, 2, 2)
    difference = Z[:, :, 1:] - Z[:, :, :1]
    softmax, logistic = LOSSES["softmax"], LOSSES["logistic"]
    np.testing.assert_allclose(softmax.value(y, Z), logistic.value(y, difference), rtol=1e-13)
    np.testing.assert_allclose(
        softmax.gradient(y, Z)[:, :, 1:], logistic.gradient(y, difference), rtol=1e-12
    )
    np.testing.assert_allclose(softmax.probabilities(Z), logistic.probabilities(difference))


@pytest.mark.parametrize("name", ["perceptron", "hinge", "squared_hinge"])
def test_binary_margin_losses_are_functions_of_ty_times_z(name: str) -> None:
    loss = LOSSES[name]
    _, y, Z = draw(9, 2, 1)
    q = (2 * y - 1)[:, None] * Z[:, :, 0]
    power = 2 if name == "squared_hinge" else 1
    np.testing.assert_allclose(loss.value(y, Z), np.maximum(0, loss.margin - q) ** power)


@pytest.mark.parametrize(("name", "C", "K"), FORMS)
def test_probabilities_sum_to_one_and_agree_with_predictions(name: str, C: int, K: int) -> None:
    loss = LOSSES[name]
    _, _, Z = draw(10, C, K)
    P = loss.probabilities(Z)
    if name in ("logistic", "softmax", "softmax_reference", "sigmoid_mse", "modified_huber"):
        assert P is not None
        assert P.shape == (12, B, C)
        np.testing.assert_allclose(P.sum(axis=2), 1, rtol=1e-14)
        np.testing.assert_array_equal(P.argmax(axis=2), loss.predict(Z))
    else:
        assert P is None


@pytest.mark.parametrize(("name", "C", "K"), FORMS)
def test_at_equal_scores_the_first_class_is_predicted_but_the_perceptron_predicts_the_second(
    name: str, C: int, K: int
) -> None:
    loss = LOSSES[name]
    tied = 1 if name == "perceptron" and K == 1 else 0
    assert (loss.predict(np.zeros((4, B, K))) == tied).all()
    Z = np.zeros((1, 1, K))
    Z[0, 0, -1] = 1.0
    assert loss.predict(Z).item() == C - 1


def test_the_curvature_of_sigmoid_mse_is_negative_beyond_a_residual_of_two_thirds() -> None:
    loss = LOSSES["sigmoid_mse"]
    yhat = np.linspace(0.01, 0.99, 197)
    Z = np.log(yhat / (1 - yhat)).reshape(-1, 1, 1)
    for label, negative in ((0, yhat > 2 / 3), (1, yhat < 1 / 3)):
        second = loss.hessian_times(np.full(len(yhat), label), Z, np.ones_like(Z)).ravel()
        np.testing.assert_array_equal(second < 0, negative)
    assert not loss.convex


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("perceptron", (1, 3)),
        ("hinge", (1, 3)),
        ("squared_hinge", (1, 3)),
        ("squared", (1, 3)),
        ("crammer_singer", (2, 3)),
        ("softmax", (2, 3)),
        ("softmax_reference", (1, 2)),
    ],
)
def test_number_of_outputs_follows_the_table(name: str, outputs: tuple[int, int]) -> None:
    assert (LOSSES[name].n_outputs(2), LOSSES[name].n_outputs(3)) == outputs


@pytest.mark.parametrize("name", ["logistic", "sigmoid_mse"])
def test_binary_losses_refuse_three_classes_and_name_an_alternative(name: str) -> None:
    assert LOSSES[name].n_outputs(2) == 1
    message = f"Loss '{name}' needs two classes. Got 3."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        LOSSES[name].n_outputs(3)


@pytest.mark.parametrize("name", LOSSES)
def test_one_class_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="needs at least two classes"):
        LOSSES[name].n_outputs(1)


def test_losses_refuse_operations_that_they_do_not_support() -> None:
    y, Z = np.array([1]), np.zeros((1, 1, 1))
    for name in ("perceptron", "hinge", "crammer_singer"):
        with pytest.raises(ValueError, match=f"Loss '{name}' has no second derivative"):
            LOSSES[name].hessian_times(y, Z, Z)
    with pytest.raises(ValueError, match="'sigmoid_mse' has no conjugate"):
        LOSSES["sigmoid_mse"].conjugate(y, Z)
    with pytest.raises(ValueError, match="it is not convex"):
        LOSSES["sigmoid_mse"].balance(y, Z, np.ones(1))


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "crammer_singer"])
@pytest.mark.parametrize("C", [2, 4])
def test_the_margin_changes_value_conjugate_and_formula(name: str, C: int) -> None:
    loss = make_loss(name, margin=2.5)
    _, y, Z = draw(11, C, C)
    U = loss.gradient(y, Z)
    np.testing.assert_allclose(
        loss.value(y, Z) + loss.conjugate(y, U), (U * Z).sum(axis=2), atol=1e-12
    )
    assert loss.margin == 2.5
    assert "2.5" in loss.words
    assert LOSSES[name].margin == 1.0
    np.testing.assert_allclose(
        loss.value(y, 2.5 * Z), 2.5 ** (1 + loss.smooth) * LOSSES[name].value(y, Z), atol=1e-12
    )


def test_make_loss_explains_what_it_refuses() -> None:
    assert make_loss("perceptron", margin=0) == LOSSES["perceptron"]
    assert make_loss("softmax") is LOSSES["softmax"]
    with pytest.raises(ValueError, match=r"must be one of 'perceptron', .*Got 'hing' instead"):
        make_loss("hing")
    with pytest.raises(ValueError, match=r"'perceptron' must be 0\. Got 1\.0 instead"):
        make_loss("perceptron", margin=1.0)
    with pytest.raises(ValueError, match=r"Loss 'softmax' has no margin.*Losses with a margin"):
        make_loss("softmax", margin=1.0)
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"'hinge' must be finite and > 0\. Got"):
            make_loss("hinge", margin=bad)


def test_every_model_is_balanced_separately() -> None:
    """Chains with one group, with several, with transient states, and with very different rates."""
    rng = np.random.default_rng(0)
    A = rng.random((40, 5, 5)) * 10.0 ** rng.integers(-8, 8, (40, 5, 5))
    A *= rng.random((40, 5, 5)) < rng.choice([0.2, 0.5, 1.0], (40, 1, 1))
    A[:, range(5), range(5)] = 0.0
    together = balancing(A)
    for alone, a, F in zip((balancing(a[None])[0] for a in A), A, together):
        np.testing.assert_array_equal(F, alone)
        flows = F * a
        np.testing.assert_allclose(flows.sum(axis=0), flows.sum(axis=1), rtol=1e-12)
        assert F.min() >= 0.0
        assert F.max() <= 1.0
        back = np.linalg.matrix_power((a > 0.0).astype(int) + np.eye(5, dtype=int), 5).T > 0
        np.testing.assert_array_equal(flows > 0.0, back & (a > 0.0))  # only flows with a way back


def nearly_balanced(C: int, B: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and probabilities minus one-hot labels, which are unbalanced by some percent."""
    rng = np.random.default_rng(C)
    y = np.r_[np.arange(C), rng.integers(0, C, 20 * C)].astype(np.int32)
    Z = rng.standard_normal((len(y), B, C))
    Z[np.arange(len(y)), :, y] += 4.0
    return y, LOSSES["softmax"].gradient(y, Z)


def test_duals_of_many_classes_keep_their_size_when_they_are_balanced() -> None:
    """Shrinking alone would reduce all flows by what the most unbalanced class requires."""
    y, U = nearly_balanced(100, 1)
    balanced = LOSSES["softmax"].balance(y, U, np.ones(len(y)))
    assert np.abs(balanced.sum(axis=0)).max() < 1e-12
    assert np.isfinite(LOSSES["softmax"].conjugate(y, balanced)).all()
    assert abs(np.abs(balanced).sum() / np.abs(U).sum() - 1.0) < 0.03


def test_duals_of_many_classes_are_balanced_alike_in_every_batch() -> None:
    loss = LOSSES["softmax"]
    y, U = nearly_balanced(40, 3)
    s = np.random.default_rng(0).random((len(y), 3)) + 0.5
    together = loss.balance(y, U, s)
    for b in range(3):
        alone = loss.balance(y, np.ascontiguousarray(U[:, b : b + 1]), s[:, b])
        np.testing.assert_array_equal(alone[:, 0], together[:, b])
    np.testing.assert_allclose(np.einsum("ib,ibk->bk", s, together), 0.0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["softmax", "softmax_reference", "logistic"])
def test_probabilities_are_those_of_numpy_and_do_not_depend_on_other_rows(
    name: str, dtype: type
) -> None:
    loss, tolerance = LOSSES[name], 64 * float(np.finfo(dtype).eps)
    for n in (1, 63, 64, 65, 1500):
        for K in (1,) if name == "logistic" else (1, 2, 7, 8, 9, 40):
            Z = np.random.default_rng(n + K).normal(0.0, 9.0, (n, 2, K)).astype(dtype)
            lifted = name != "softmax" or K == 1
            scores = np.concatenate([np.zeros_like(Z[:, :, :1]), Z], axis=2) if lifted else Z
            E = np.exp(scores.astype(np.longdouble))
            P = loss.probabilities(Z)
            assert P.dtype == dtype
            np.testing.assert_allclose(P, E / E.sum(axis=2, keepdims=True), rtol=tolerance)
            np.testing.assert_array_equal(loss.probabilities(Z[n // 2 :, 1:]), P[n // 2 :, 1:])


def test_probabilities_of_extreme_scores_are_their_limits() -> None:
    Z = np.array([np.inf, -np.inf, 1e300, -1e300, np.nan])[:, None, None]
    expected = [[0, 1], [1, 0], [0, 1], [1, 0], [np.nan, np.nan]]
    np.testing.assert_array_equal(LOSSES["logistic"].probabilities(Z)[:, 0], expected)
