"""The numbers that the course prints about losses, scores and probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.losses import LOSSES


def as_scores(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, dtype=float)[:, None, :]


# Two entries are printed one unit of the last digit off: 0.0674 is cut off from 0.06745 and
# 0.5647 stands for 0.56457. `rounded` is what the numbers round to.
@pytest.mark.parametrize(
    ("scores", "printed", "rounded", "unit"),
    [
        (
            (1, 2, 3, 2, 1),
            (0.0674, 0.183, 0.498, 0.183, 0.0674),
            (0.0675, 0.1834, 0.4984, 0.1834, 0.0675),
            5e-4,
        ),
        (
            (1.45, 0.33, -0.12, 0.01),
            (0.5647, 0.1842, 0.1175, 0.1338),
            (0.5646, 0.1842, 0.1175, 0.1338),
            1.3e-4,
        ),
        ((5.6, 6.4, -4.6), (0.31, 0.69, 0.00), (0.3100, 0.6900, 0.0000), 5e-3),
        ((0.47, 0.88, -0.09), (0.3249, 0.4895, 0.1856), (0.3249, 0.4895, 0.1856), 5e-5),
    ],
)
def test_softmax_quizzes(scores: tuple, printed: tuple, rounded: tuple, unit: float) -> None:
    P = LOSSES["softmax"].probabilities(as_scores(scores))[0, 0]
    np.testing.assert_allclose(P, printed, rtol=0, atol=unit)
    np.testing.assert_allclose(P, rounded, rtol=0, atol=5.0001e-5)


def test_derivative_of_softmax_is_y_i_times_delta_minus_y_j() -> None:
    softmax = LOSSES["softmax"]
    Z = as_scores((1, 2, 3, 2, 1))
    P = softmax.probabilities(Z)[0, 0]
    h = 1e-6
    for j in range(5):
        step = h * np.eye(5)[j]
        slope = (softmax.probabilities(Z + step) - softmax.probabilities(Z - step))[0, 0] / (2 * h)
        np.testing.assert_allclose(slope, P * (np.eye(5)[j] - P[j]), atol=1e-9)
        row = softmax.hessian_times(np.array([0]), Z, np.eye(5)[j].reshape(1, 1, 5))
        np.testing.assert_allclose(row[0, 0], P * (np.eye(5)[j] - P[j]), atol=1e-15)


def test_four_feature_example_has_the_printed_scores_probabilities_and_class() -> None:
    theta = np.array(
        [[0.45, -0.12, 0.14, 1.3], [-0.7, 0.9, 0.68, -0.31], [-0.26, 0.05, 0.12, 0.51]]
    )
    Z = (theta @ np.array([1.0, 1, 1, 0]))[None, None, :]
    np.testing.assert_allclose(Z[0, 0], [0.47, 0.88, -0.09], atol=1e-12)
    softmax = LOSSES["softmax"]
    np.testing.assert_allclose(
        softmax.probabilities(Z)[0, 0], [0.3249, 0.4895, 0.1856], atol=5.1e-5
    )
    assert softmax.predict(Z).item() + 1 == 2  # the course counts from 1


def test_cats_have_the_printed_perceptron_losses() -> None:
    Z = as_scores((5.6, 6.4, -4.6), (-1.8, 10.2, 3.5), (2.0, 5.4, -8.6))
    y = np.array([0, 1, 2])  # lion, tiger, leopard
    values = LOSSES["perceptron"].value(y, Z)[:, 0]
    np.testing.assert_allclose(values, [0.8, 0.0, 24.6], atol=1e-12)
    assert round(values.mean(), 2) == 8.47


@pytest.mark.parametrize("difference", [-2.0, -1.0, -0.5, 0.0, 0.7, 3.0])
def test_margin_losses_of_one_score_difference_have_the_formulas_of_the_chapter(
    difference: float,
) -> None:
    Z, y = as_scores((0.0, difference)), np.array([0])
    hinge = max(0.0, 1 + difference)
    assert LOSSES["perceptron"].value(y, Z).item() == max(0.0, difference)
    assert LOSSES["hinge"].value(y, Z).item() == hinge
    assert LOSSES["squared_hinge"].value(y, Z).item() == pytest.approx(hinge**2)


DOCUMENTS = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])


def test_film_documents_only_the_first_is_positive() -> None:
    Z = (DOCUMENTS @ np.array([-1.0, 2, -3]))[:, None, None]
    logistic = LOSSES["logistic"]
    P = logistic.probabilities(Z)[:, 0, 1]
    assert round(P[2], 2) == 0.12
    assert (P > 0.5).tolist() == [True, False, False, False]
    assert logistic.predict(Z).ravel().tolist() == [1, 0, 0, 0]


def test_one_stochastic_step_has_the_printed_gradient_and_weights() -> None:
    x, theta, rate = np.array([1, 0.82]), np.array([0.04, 0.5]), 0.01
    score = np.array([x @ theta]).reshape(1, 1, 1)
    gradient = LOSSES["logistic"].gradient(np.array([1]), score).item() * x
    np.testing.assert_allclose(gradient, [-0.39, -0.32], atol=0.005)
    np.testing.assert_allclose(theta - rate * gradient, [0.0439, 0.5032], atol=5.1e-5)


def test_gradient_of_the_whole_softmax_loss_is_probabilities_minus_one_hot_times_x() -> None:
    rng = np.random.default_rng(0)
    X, y, W = rng.standard_normal((7, 4)), rng.integers(0, 3, 7), rng.standard_normal((4, 3))
    softmax = LOSSES["softmax"]

    def mean_loss(W: np.ndarray) -> float:
        return float(softmax.value(y, (X @ W)[:, None, :]).mean())

    P = softmax.probabilities((X @ W)[:, None, :])[:, 0]
    expected = X.T @ (P - np.eye(3)[y]) / 7
    ours = X.T @ softmax.gradient(y, (X @ W)[:, None, :])[:, 0] / 7
    np.testing.assert_allclose(ours, expected, atol=1e-14)
    h = 1e-6
    for index in np.ndindex(4, 3):
        step = np.zeros((4, 3))
        step[index] = h
        slope = (mean_loss(W + step) - mean_loss(W - step)) / (2 * h)
        assert slope == pytest.approx(expected[index], abs=1e-8)


def test_sigmoid_on_a_graph_has_gradient_exp_over_one_plus_exp_squared_times_x() -> None:
    w, x = np.array([0.3, -1.2]), np.array([2.0, 0.5])
    e = np.exp(-(w @ x))
    h = 1e-6
    sigma = [
        LOSSES["logistic"].probabilities(np.reshape(t, (1, 1, 1)))[0, 0, 1]
        for t in (w @ x - h, w @ x + h)
    ]
    np.testing.assert_allclose((sigma[1] - sigma[0]) / (2 * h) * x, e / (1 + e) ** 2 * x, atol=1e-9)


def test_reference_class_has_probability_one_over_one_plus_sum() -> None:
    Z = as_scores((0.4, -1.1, 2.0))
    P = LOSSES["softmax_reference"].probabilities(Z)[0, 0]
    assert P[0] == pytest.approx(1 / (1 + np.exp(Z).sum()))


def test_two_class_softmax_is_logistic_regression_with_the_difference_of_weights() -> None:
    rng = np.random.default_rng(1)
    x, w0, w1 = rng.standard_normal((3, 4))
    both = LOSSES["softmax"].probabilities(as_scores((x @ w0, x @ w1)))
    one = LOSSES["logistic"].probabilities(as_scores((x @ (w1 - w0),)))
    np.testing.assert_allclose(both, one, rtol=1e-13)


def test_perceptron_gradient_is_rosenblatts_rule_with_ties_counted_wrong() -> None:
    perceptron = LOSSES["perceptron"]
    y = np.array([1, 1, 0, 0, 1, 0])
    Z = np.array([-0.5, 0.5, 0.5, -0.5, 0.0, 0.0]).reshape(-1, 1, 1)
    move = -perceptron.gradient(y, Z).ravel()  # what multiplies x in the update
    assert move.tolist() == [1, 0, -1, 0, 1, -1]
