"""The worked examples of the course give the numbers printed there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from separatrix import (
    explain,
)


def test_the_gradient_step_of_the_course_has_the_printed_numbers() -> None:
    found = explain.step([1, 0.82], 1, [0.04, 0.5], learning_rate=0.01)
    np.testing.assert_allclose(found.gradient, [-0.39, -0.32], atol=0.005)
    np.testing.assert_allclose(found.weights, [0.0439, 0.5032], atol=5.1e-5)
    assert found.graph.agrees
    assert found.after < found.before


@pytest.mark.parametrize(
    ("scores", "printed", "unit"),
    [
        ((1, 2, 3, 2, 1), (0.0674, 0.183, 0.498, 0.183, 0.0674), 5e-4),
        ((1.45, 0.33, -0.12, 0.01), (0.5647, 0.1842, 0.1175, 0.1338), 1.3e-4),
        ((5.6, 6.4, -4.6), (0.31, 0.69, 0.00), 5e-3),
    ],
)
def test_the_graph_of_scores_solves_the_softmax_quizzes(
    scores: tuple, printed: tuple, unit: float
) -> None:
    found = explain.scores(scores, 0)
    np.testing.assert_allclose(found["a"].value, printed, rtol=0, atol=unit)
    one_hot = np.eye(len(scores))[0]
    np.testing.assert_allclose(found["z"].derivative, found["a"].value - one_hot, atol=1e-15)
    np.testing.assert_allclose(found["z"].numeric, found["z"].derivative, atol=1e-9)


def test_lion_tiger_and_leopard_have_the_printed_losses() -> None:
    cats = [[5.6, 6.4, -4.6], [-1.8, 10.2, 3.5], [2.0, 5.4, -8.6]]
    found = explain.scores(cats, [0, 1, 2], loss="perceptron")
    np.testing.assert_allclose(found["loss"].value, [0.8, 0.0, 24.6], atol=1e-12)
    assert round(found.output.value, 2) == 8.47
    assert found.agrees


def test_the_quiz_with_four_features_has_the_printed_scores_and_class() -> None:
    theta = [[0.45, -0.12, 0.14, 1.3], [-0.7, 0.9, 0.68, -0.31], [-0.26, 0.05, 0.12, 0.51]]
    found = explain.prediction(explain.weights(theta, classes=(1, 2, 3)), [1, 1, 1, 0])
    np.testing.assert_allclose(found.scores, [0.47, 0.88, -0.09], atol=1e-12)
    np.testing.assert_allclose(found.probabilities, [0.3249, 0.4895, 0.1856], atol=5.1e-5)
    assert found.decision == 2
    assert found.runner_up == 1
    assert found.margin == pytest.approx(0.41)


def test_only_the_first_of_four_documents_is_positive() -> None:
    model = explain.weights([-1, 2, -3])
    documents = [(1, 1, 0), (1, 0, 1), (1, 1, 1), (1, 0, 0)]
    found = [explain.prediction(model, row) for row in documents]
    assert [each.decision for each in found] == [1, 0, 0, 0]
    assert round(found[2].probabilities[1], 2) == 0.12


def test_a_bias_as_last_column_of_the_weights_gives_the_same_scores() -> None:
    W = np.array([[0.1, -0.1, 0, 0.5], [2.3, 0.8, 1.2, 0.5], [0, -1, 0.5, 1.0]])
    b, x = np.array([1.1, -0.3, 0.2]), np.array([0.56, 0.231, 0.24, 0.02])
    apart = explain.prediction(explain.weights(W, b), x)
    joined = explain.prediction(explain.weights(np.column_stack([W, b])), [*x, 1])
    np.testing.assert_allclose(joined.scores, apart.scores, atol=1e-15)


@pytest.mark.parametrize(
    ("expression", "derivative"),
    [
        ("3", 0.0),
        ("3*w", 3.0),
        ("w^2", 2 * 1.7),
        ("w**5", 5 * 1.7**4),
        ("exp(w)", math.exp(1.7)),
        ("exp(-w)", -math.exp(-1.7)),
        ("log(w)", 1 / 1.7),
        ("1/w", -1 / 1.7**2),
        ("w^2 + 5*log(w) + 6", 2 * 1.7 + 5 / 1.7),
        ("2^w", 2**1.7 * math.log(2)),
        ("sqrt(w)", 0.5 / math.sqrt(1.7)),
        ("max(0, 1 - w)", 0.0),
        ("max(0, 1 + w)", 1.0),
    ],
)
def test_elementary_functions_have_the_derivatives_of_the_course(
    expression: str, derivative: float
) -> None:
    if "w" not in expression:
        assert explain.graph(expression).output.value == 3.0
        return
    found = explain.graph(expression, w=1.7)
    assert found["w"].derivative == pytest.approx(derivative, rel=1e-14)
    assert found.agrees


def test_the_sensitivity_example_has_value_seven_and_gradient_four() -> None:
    found = explain.graph("w^2 + 3", w=2)
    assert (found.output.value, found["w"].derivative) == (7.0, 4.0)


def test_the_gradient_of_the_descent_example_is_twice_the_distances() -> None:
    found = explain.graph("(w1 - 2)^2 + (w2 + 3)^2", w1=5, w2=1)
    assert (found["w1"].derivative, found["w2"].derivative) == (6.0, 8.0)  # not 3 (w2 + 3)


def test_the_graph_of_the_sigmoid_has_the_gradient_of_the_chapter() -> None:
    w, x = np.array([0.3, -1.2]), np.array([2.0, 0.5])
    found = explain.graph("1/(1+exp(-(w1*x1+w2*x2)))", w1=w[0], w2=w[1], x1=x[0], x2=x[1])
    e = math.exp(-(w @ x))
    slopes = [found[name].derivative for name in ("w1", "w2")]
    np.testing.assert_allclose(slopes, e / (1 + e) ** 2 * x, rtol=1e-14)
    assert found.agrees
    assert found.checked == 4
