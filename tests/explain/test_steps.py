"""Explanations of a training step confirm correct gradients and find wrong ones."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from separatrix import (
    GradientDescentClassifier,
    explain,
)
from separatrix.explain.computation_graph.finite_differences import slope
from separatrix.explain.loss_nodes import loss_node
from separatrix.losses import LOSSES
from separatrix.losses.cross_entropy import CrossEntropy
from support.forms import FORMS, Form
from support.plain import is_plain


def problem(form: Form, n: int = 4, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(0, form.classes, n)
    return X, y, rng.standard_normal((form.outputs, 3)), rng.standard_normal(form.outputs)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_finite_differences_confirm_the_gradient_of_every_loss(form: Form) -> None:
    X, y, W, b = problem(form)
    found = explain.step(X, y, W, b, loss=form.loss, l2=0.3)
    assert found.graph.agrees, found.to_text()
    assert found.graph.checked == W.size + b.size
    np.testing.assert_allclose(found.weights, W - 0.01 * np.asarray(found.gradient), atol=1e-15)
    Z = (X @ W.T + b)[:, None, :]
    losses = form.loss.value(y, Z)[:, 0]
    np.testing.assert_allclose(found.graph["loss"].value, losses)
    np.testing.assert_allclose(found.graph["z"].derivative, form.loss.gradient(y, Z)[:, 0] / 4)
    assert found.before == pytest.approx(losses.mean() + 0.15 * (W**2).sum())


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_chain_rule_holds_at_the_node_between_scores_and_loss(form: Form) -> None:
    """dL/dz_k is the sum over the node's entries of dL/da_j times da_j/dz_k."""
    X, y, W, b = problem(form, n=1)
    Z = (X @ W.T + b)[:, None, :]

    def node(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = loss_node(form.loss, y, Z, form.loss.gradient(y, Z))
        assert found is not None
        return np.nan_to_num(found.value), np.nan_to_num(found.derivative)

    slopes = node(Z)[1]
    h = 1e-6
    for k in range(form.outputs):
        move = h * (np.arange(form.outputs) == k)
        change = (node(Z + move)[0] - node(Z - move)[0]) / (2 * h)
        chained = float((slopes * change).sum())
        assert chained == pytest.approx(form.loss.gradient(y, Z)[0, 0, k], abs=1e-7)


@pytest.mark.parametrize("loss", [*LOSSES])
def test_the_explained_step_is_the_step_of_the_solver(loss: str) -> None:
    form = next(form for form in FORMS if form.loss.name == loss)
    X, y, W, b = problem(form, n=12)
    y[: form.classes] = np.arange(form.classes)
    given = {"l1": 0.05, "l2": 0.2, "learning_rate": 0.1}
    found = explain.step(X, y, W, b, loss=loss, **given)
    model = GradientDescentClassifier(loss, epochs=1, init=(W, b), **given).fit(X, y)
    np.testing.assert_allclose(found.weights, model.coef_, atol=1e-14)
    np.testing.assert_allclose(found.bias, model.intercept_, atol=1e-14)
    assert found.after == pytest.approx(model.history_["objective"][-1])


def test_a_wrong_gradient_of_a_step_is_found() -> None:
    class Wrong(type(LOSSES["logistic"])):
        def gradient(self, y, Z):
            return 1.01 * super().gradient(y, Z)

    wrong = Wrong("wrong", 3, "cross-entropy", outputs="one")
    found = explain.step([1.0, 2.0], 1, [0.1, 0.2], loss=wrong)
    assert not found.graph.agrees
    assert "do not agree" in found.to_text()


def test_any_slope_between_both_sides_of_a_kink_is_correct() -> None:
    found = explain.step([1.0, -2.0], 1, [0.0, 0.0], loss="perceptron")
    assert found.graph.agrees
    assert not slope(abs, 0.0).agrees(1.5)
    assert slope(abs, 0.0).agrees(-0.3)
    assert slope(math.exp, 0.0).kink is None


def test_the_text_of_a_step_fits_the_width_and_its_data_is_plain() -> None:
    X, y, W, b = problem(FORMS[-1])
    found = explain.step(X, y, W, b, loss=FORMS[-1].loss)
    for width in (50, 80):
        assert max(map(len, found.to_text(width).splitlines())) <= width
    assert is_plain(found.to_dict())
    assert ("z", "a") in explain.step([1.0], 0, [1.0]).graph.edges


def test_nan_and_infinity_become_none_in_every_dictionary() -> None:
    many = explain.step(np.ones((2, 40)), [0, 1], np.ones((2, 40)), loss="softmax")
    assert any(math.isnan(each) for row in many.graph["W"].numeric for each in row)
    flat = explain.prediction(explain.weights([0.0, 0.0]), [1, 1])
    assert flat.distance == math.inf
    lost = explain.likelihood(explain.weights([1000.0]), [[1.0]], [0])
    number = explain.graph("3")
    assert math.isnan(number.difference)
    for found in (many, flat, lost, number, explain.graph("max(0, w)", w=0)):
        assert is_plain(found.to_dict())
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("expression", "w"),
    [
        ("log(w)", 1e-6),
        ("1/w", 1e-6),
        ("sqrt(w)", 1e-9),
        ("log(w)", 1e-30),
        ("w^3", 1e9),
        ("exp(-1000000*w^2)", 1e-3),
        ("exp(1000*w)", 0.01),
        ("sigmoid(1000000*w)", 1e-6),
    ],
)
def test_finite_differences_adapt_to_the_scale_of_a_function(expression: str, w: float) -> None:
    found = explain.graph(expression, w=w)
    assert found.agrees, found.verdict
    assert found["w"].numeric == pytest.approx(found["w"].derivative, rel=1e-6)


class Halved(CrossEntropy):
    def gradient(self, y, Z):
        return 0.5 * super().gradient(y, Z)


@pytest.mark.parametrize("x", [1e-9, 1e-3, 1.0, 1e5, 1e7, 1e8])
def test_a_halved_gradient_is_found_at_every_scale_of_a_row(x: float) -> None:
    halved = Halved("mine", 3, "mine", outputs="one")
    assert not explain.step([x], 1, [0.0], loss=halved).graph.agrees
    assert explain.step([x], 1, [0.0]).graph.agrees
    assert explain.step([x, 1.0], 1, [1.0 / x, 0.0]).graph.agrees


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": 2}, "class numbers 0 to 1"),
        ({"y": 0.5}, "class numbers 0 to 1"),
        ({"X": [1.0]}, "have 1 features"),
        ({"X": [1.0, np.nan]}, "finite"),
        ({"loss": "hing"}, "must be one of"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"weights": np.ones((3, 2))}, "does not take 3 outputs"),
    ],
)
def test_invalid_steps_are_refused(change: dict, words: str) -> None:
    given = {"X": [1.0, 2.0], "y": 1, "weights": [0.1, 0.2]} | change
    with pytest.raises(ValueError, match=words):
        explain.step(**given)
