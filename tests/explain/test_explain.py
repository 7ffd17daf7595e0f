"""Predictions and training steps taken apart, and the expressions of the course."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix import (
    Bundle,
    GradientDescentClassifier,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    charts,
    explain,
    load,
)
from separatrix.explain.computation_graph.expressions import FUNCTIONS
from separatrix.explain.computation_graph.finite_differences import slope
from separatrix.explain.loss_nodes import loss_node
from separatrix.losses import LOSSES
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.readers import Columns, Source
from separatrix.workflow.fitting import fit_source
from support.command import call, facts
from support.forms import FORMS, Form
from support.plain import is_plain

numbers = st.floats(-3, 3).map(lambda v: round(v, 2))


# The worked examples of the course.


def test_the_stochastic_step_of_the_course_has_its_printed_numbers() -> None:
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
def test_softmax_quizzes_come_out_of_the_graph_of_scores(
    scores: tuple, printed: tuple, unit: float
) -> None:
    found = explain.scores(scores, 0)
    np.testing.assert_allclose(found["a"].value, printed, rtol=0, atol=unit)
    one_hot = np.eye(len(scores))[0]
    np.testing.assert_allclose(found["z"].derivative, found["a"].value - one_hot, atol=1e-15)
    np.testing.assert_allclose(found["z"].numeric, found["z"].derivative, atol=1e-9)


def test_lion_tiger_and_leopard_have_their_printed_losses() -> None:
    cats = [[5.6, 6.4, -4.6], [-1.8, 10.2, 3.5], [2.0, 5.4, -8.6]]
    found = explain.scores(cats, [0, 1, 2], loss="perceptron")
    np.testing.assert_allclose(found["loss"].value, [0.8, 0.0, 24.6], atol=1e-12)
    assert round(found.output.value, 2) == 8.47
    assert found.agrees


def test_the_four_feature_quiz_is_explained_with_its_scores_probabilities_and_class() -> None:
    theta = [[0.45, -0.12, 0.14, 1.3], [-0.7, 0.9, 0.68, -0.31], [-0.26, 0.05, 0.12, 0.51]]
    found = explain.prediction(explain.weights(theta, classes=(1, 2, 3)), [1, 1, 1, 0])
    np.testing.assert_allclose(found.scores, [0.47, 0.88, -0.09], atol=1e-12)
    np.testing.assert_allclose(found.probabilities, [0.3249, 0.4895, 0.1856], atol=5.1e-5)
    assert found.decision == 2
    assert found.runner_up == 1
    assert found.margin == pytest.approx(0.41)


def test_of_the_four_documents_only_the_first_is_positive() -> None:
    model = explain.weights([-1, 2, -3])
    documents = [(1, 1, 0), (1, 0, 1), (1, 1, 1), (1, 0, 0)]
    found = [explain.prediction(model, row) for row in documents]
    assert [each.decision for each in found] == [1, 0, 0, 0]
    assert round(found[2].probabilities[1], 2) == 0.12


def test_a_bias_as_a_last_column_of_the_weights_gives_the_same_scores() -> None:
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


def test_sensitivity_example_has_value_seven_and_gradient_four() -> None:
    found = explain.graph("w^2 + 3", w=2)
    assert (found.output.value, found["w"].derivative) == (7.0, 4.0)


def test_descent_example_has_twice_the_distances_for_a_gradient() -> None:
    found = explain.graph("(w1 - 2)^2 + (w2 + 3)^2", w1=5, w2=1)
    assert (found["w1"].derivative, found["w2"].derivative) == (6.0, 8.0)  # not 3 (w2 + 3)


def test_the_sigmoids_graph_has_the_gradient_of_the_chapter() -> None:
    w, x = np.array([0.3, -1.2]), np.array([2.0, 0.5])
    found = explain.graph("1/(1+exp(-(w1*x1+w2*x2)))", w1=w[0], w2=w[1], x1=x[0], x2=x[1])
    e = math.exp(-(w @ x))
    slopes = [found[name].derivative for name in ("w1", "w2")]
    np.testing.assert_allclose(slopes, e / (1 + e) ** 2 * x, rtol=1e-14)
    assert found.agrees
    assert found.checked == 4


# Steps of every loss.


def problem(form: Form, n: int = 4, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(0, form.classes, n)
    return X, y, rng.standard_normal((form.outputs, 3)), rng.standard_normal(form.outputs)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_loss_has_a_step_whose_gradient_finite_differences_confirm(form: Form) -> None:
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
def test_a_step_is_the_step_that_the_library_takes(loss: str) -> None:
    form = next(form for form in FORMS if form.loss.name == loss)
    X, y, W, b = problem(form, n=12)
    y[: form.classes] = np.arange(form.classes)
    given = {"l1": 0.05, "l2": 0.2, "learning_rate": 0.1}
    found = explain.step(X, y, W, b, loss=loss, **given)
    model = GradientDescentClassifier(loss, epochs=1, init=(W, b), **given).fit(X, y)
    np.testing.assert_allclose(found.weights, model.coef_, atol=1e-14)
    np.testing.assert_allclose(found.bias, model.intercept_, atol=1e-14)
    assert found.after == pytest.approx(model.history_["objective"][-1])


def test_a_wrong_gradient_is_found_on_the_spot() -> None:
    class Wrong(type(LOSSES["logistic"])):
        def gradient(self, y, Z):
            return 1.01 * super().gradient(y, Z)

    wrong = Wrong("wrong", 3, "cross-entropy", outputs="one")
    found = explain.step([1.0, 2.0], 1, [0.1, 0.2], loss=wrong)
    assert not found.graph.agrees
    assert "do not agree" in found.to_text()


def test_at_a_kink_any_slope_between_those_on_its_sides_is_right() -> None:
    found = explain.step([1.0, -2.0], 1, [0.0, 0.0], loss="perceptron")
    assert found.graph.agrees
    assert not slope(abs, 0.0).agrees(1.5)
    assert slope(abs, 0.0).agrees(-0.3)
    assert slope(math.exp, 0.0).kink is None


def test_text_of_a_step_fits_its_width_and_data_is_plain() -> None:
    X, y, W, b = problem(FORMS[-1])
    found = explain.step(X, y, W, b, loss=FORMS[-1].loss)
    for width in (50, 80):
        assert max(map(len, found.to_text(width).splitlines())) <= width
    assert is_plain(found.to_dict())
    assert ("z", "a") in explain.step([1.0], 0, [1.0]).graph.edges


def test_what_is_no_finite_number_is_none_in_every_dictionary() -> None:
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
def test_differences_find_the_scale_of_a_function(expression: str, w: float) -> None:
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
def test_a_step_that_cannot_be_is_refused_in_a_sentence(change: dict, words: str) -> None:
    given = {"X": [1.0, 2.0], "y": 1, "weights": [0.1, 0.2]} | change
    with pytest.raises(ValueError, match=words):
        explain.step(**given)


# Expressions.


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-w^2", -4.0),
        ("2^3^w", 2.0**9),
        ("2-3-w", -3.0),
        ("12/3/w", 2.0),
        ("6/-w*3", -9.0),
        ("-w*3+1", -5.0),
        ("2^-w", 0.25),
        ("--w", 2.0),
        (" ( w ) ", 2.0),
        ("1e-1*w + .5", 0.7),
        ("max(w, 3)", 3.0),
        ("w", 2.0),
    ],
)
def test_expressions_mean_what_they_mean_in_mathematics(expression: str, value: float) -> None:
    assert explain.graph(expression, w=2).output.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("expression", "given", "words"),
    [
        ("", {}, "ends where a number"),
        ("w +", {"w": 1}, "ends where"),
        ("w w", {"w": 1}, "where an operator"),
        ("(w", {"w": 1}, r"ends where '\)'"),
        ("__import__('os')", {}, 'has "\'" at character 12'),
        ("w.real", {"w": 1}, r"has '\.' at character 2"),
        ("eval(w)", {"w": 1}, "no function 'eval'"),
        ("exp w", {"w": 1}, r"where '\(' should"),
        ("max(w)", {"w": 1}, "where ',' should"),
        ("w + v", {"w": 1}, "Give a value for v"),
        ("w", {"w": 1, "v": 2}, "no variable v"),
        ("w", {"w": "x"}, "finite number"),
        ("w", {"w": math.inf}, "finite number"),
        ("log(w)", {"w": -1}, "no finite value"),
        ("1/w", {"w": 0}, "no finite value"),
        ("sqrt(w)", {"w": 0}, "no finite derivative"),
        ("exp(exp(exp(w)))", {"w": 9}, "no finite value"),
        ("1e999 + w", {"w": 1}, "too large"),
        ("(" * 41 + "w" + ")" * 41, {"w": 1}, "nested more than 40"),
        ("w" + "+w" * 300, {"w": 1}, "at most 500 characters"),
        ("w + ١", {"w": 1}, "has '١' at character 5"),
    ],
)
def test_what_is_no_expression_is_refused_in_a_sentence(
    expression: str, given: dict, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        explain.graph(expression, **given)


@given(st.text(max_size=60) | st.text("wx0123456789.+-*/^(), eE" + "explogsqrtmax", max_size=40))
def test_any_text_gives_a_graph_or_a_sentence(text: str) -> None:
    found = outcome(text)
    if isinstance(found, str):
        assert found.endswith(".")
    else:
        assert math.isfinite(found.output.value)


def outcome(text: str) -> explain.Graph | str:
    """A graph, or why there is none."""
    given = {name: value for name, value in (("w", 0.7), ("x", -1.3)) if name in text}
    try:
        return explain.graph(text, **given)
    except ValueError as error:
        return str(error)


OF_ONE = sorted({*FUNCTIONS} - {"max"})
operands = st.sampled_from(["w", "x", "2", "0.5"])
expressions = st.recursive(
    operands,
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})")
        | st.tuples(st.sampled_from(sorted({*FUNCTIONS} - {"max"})), inner).map(
            "{0[0]}({0[1]})".format
        )
        | inner.map("-{}".format)
        | inner.map("({})^2".format)
    ),
    max_leaves=8,
)


@given(expressions, numbers, numbers)
def test_reverse_mode_agrees_with_finite_differences(expression: str, w: float, x: float) -> None:
    both = f"0*w + 0*x + {expression}"
    try:
        found = explain.graph(both, w=w, x=x)
    except ValueError:
        return
    assert found.agrees, (both, found.to_text())


# Predictions.


def models() -> list:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    two, three = (X[:, 0] > 0.3).astype(int), np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    words = np.array(["ant", "bee", "cat"])
    return [
        (model.fit(X, words[y]), X, words[y])
        for model, y in [
            (LogisticRegression(), two),
            (LogisticRegression(), three),
            (LogisticRegression(multiclass="reference"), three),
            (LogisticRegression(multiclass="ovr"), three),
            (LinearSVC(), three),
            (LinearSVC(probability=3), two),
            (LinearSVC(loss="hinge", multiclass="weston_watkins"), three),
            (Perceptron(epochs=5), two),
            (GradientDescentClassifier("squared"), three),
        ]
    ]


@pytest.mark.parametrize("k", range(9))
def test_an_explained_prediction_is_the_models_prediction(k: int) -> None:
    model, X, y = models()[k]
    for row, label in zip(X[:12], y[:12]):
        found = explain.prediction(model, row, label=label)
        assert found.decision == model.predict(row[None])[0]
        assert found.right == (found.decision == label)
        total = found.bias_towards + sum(each.towards for each in found.contributions)
        assert total == pytest.approx(found.margin)
        assert found.margin >= 0
        if len(model.classes_) == 2:
            assert abs(model.decision_function(row[None])[0]) == pytest.approx(found.margin)
        else:
            np.testing.assert_allclose(found.scores, model.decision_function(row[None])[0])
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found.probabilities, model.predict_proba(row[None])[0])
        else:
            assert found.probabilities is None
        sizes = [abs(each.towards) for each in found.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert is_plain(found.to_dict())


def test_loss_of_an_explained_row_is_the_mean_loss_of_that_row_alone() -> None:
    model, X, y = models()[1]
    P = model.predict_proba(X)
    for i in range(5):
        found = explain.prediction(model, X[i], label=y[i])
        own = P[i, model.classes_.tolist().index(y[i])]
        assert found.loss == pytest.approx(-math.log(own))


def test_a_threshold_moves_decision_and_margin() -> None:
    model, X, _ = models()[0]
    z = model.decision_function(X[:1])[0]
    for shift in (-0.5, 0.5):
        model.threshold_ = z + shift
        found = explain.prediction(model, X[0])
        assert found.decision == model.predict(X[:1])[0]
        assert found.margin == pytest.approx(0.5)
        assert "threshold" in found.verdict
        *parts, total = (row[-1] for row in found.contribution_rows())
        assert sum(parts) == pytest.approx(total) == pytest.approx(0.5)


def test_the_distance_is_how_far_the_row_must_move_to_the_plane() -> None:
    model, X, _ = models()[1]
    found = explain.prediction(model, X[0])
    names = model.classes_.tolist()
    w = model.coef_[names.index(found.decision)] - model.coef_[names.index(found.runner_up)]
    moved = X[0] - found.distance * w / np.linalg.norm(w)
    scores = model.decision_function(moved[None])[0]
    assert scores[names.index(found.decision)] == pytest.approx(
        scores[names.index(found.runner_up)]
    )


def test_a_sparse_row_is_explained_as_the_dense_one_and_top_leaves_out_the_rest() -> None:
    model, X, _ = models()[1]
    whole = explain.prediction(model, X[0])
    assert explain.prediction(model, sp.csr_array(X[:1])) == whole
    part = explain.prediction(model, X[0], top=1)
    assert part.contributions == whole.contributions[:1]
    assert part.hidden == 3


def test_a_row_of_a_frame_is_explained_by_its_columns_and_others_are_refused() -> None:
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["a", "b"])
    y = (X["a"] > 0).to_numpy()
    model = LogisticRegression().fit(X, y)
    whole = explain.prediction(model, X.iloc[[3]])
    assert explain.prediction(model, X.iloc[3]) == whole
    assert explain.prediction(model, X.to_numpy()[3]) == whole
    assert {part.feature for part in whole.contributions} == {"a", "b"}
    dense, sparse = (explain.likelihood(model, rows, y) for rows in (X, sp.csr_array(X)))
    assert dense.log_likelihood == pytest.approx(sparse.log_likelihood)
    with pytest.raises(ValueError, match="columns must be those of training, a, b"):
        explain.prediction(model, X[["b", "a"]].iloc[[3]])


def test_words_of_a_text_are_named_and_the_text_is_shown() -> None:
    texts = ["free money now", "lunch at noon", "free phone offer", "see you at lunch"] * 5
    y = np.array(["spam", "ham"] * 10)
    source = Source.of(Columns({"text": texts}, text=["text"]), y, name="mail")
    bundle = fit_source(source).bundle
    found = explain.prediction(bundle, source.rows([0]))
    assert found.decision == found.label == "spam"
    assert {"word:free", "word:money", "word:now"} >= {c.feature for c in found.contributions}
    assert found.contributions[0].feature == "word:free"
    assert found.row == {"text": "free money now"}
    assert "word:free" in found.to_text()


def test_an_image_has_a_template_whose_pixels_sum_to_the_margin() -> None:
    digits = load("digits")
    bundle = fit_source(digits).bundle
    found = explain.prediction(bundle, digits.rows([3]))
    assert found.template is not None
    products = np.array(found.template.products)
    assert products.shape == (8, 8)
    assert products.sum() + found.bias_towards == pytest.approx(found.margin)
    first = next(c for c in found.contributions if c.feature == "pixel_2_3")
    assert products[2, 3] == pytest.approx(first.towards)
    assert len(found.template.to_text().splitlines()) == 8


def test_a_row_that_is_none_is_refused_in_a_sentence() -> None:
    model, X, _ = models()[0]
    with pytest.raises(ValueError, match="One row is explained"):
        explain.prediction(model, X[:2])
    with pytest.raises(ValueError, match="has 4 features"):
        explain.prediction(model, X[0, :3])
    with pytest.raises(ValueError, match="finite"):
        explain.prediction(model, [1, 2, 3, np.nan])
    with pytest.raises(TypeError, match="fitted classifier"):
        explain.prediction("model.sx", X[0])
    bent = KernelClassifier(kernel="linear").fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="no weights of features"):
        explain.prediction(bent, X[0])
    assert "none of the classes" in explain.prediction(model, X[0], label="dog").notes[0]


# The command.


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    return tmp_path


def test_the_command_explains_a_row_as_the_library_does(iris) -> None:
    found = facts("explain", "iris.sx", "iris", "--row", 17)
    from separatrix import load_model

    expected = explain.prediction(load_model("iris.sx"), load("iris").rows([16]), top=10)
    assert found["decision"] == expected.decision
    assert found["scores"] == list(expected.scores)
    assert found["contributions"][0]["feature"] == expected.contributions[0].feature
    shown = call("explain", "iris.sx", "iris", "--row", 17).output
    assert expected.contributions[0].feature in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("row", [0, -3, 151, 10**12])
def test_the_command_refuses_rows_that_are_not_there(iris, row: int) -> None:
    said = call("explain", "iris.sx", "iris", "--row", row, code=2).output
    assert "iris has the rows 1 to" in said
    assert f"--row {row}" in said


def test_a_bundle_without_preparation_is_explained_by_its_numbers() -> None:
    model, X, _ = models()[1]
    assert explain.prediction(Bundle(model), X[:1]) == explain.prediction(model, X[0])


def test_values_are_shown_in_the_units_of_the_data_and_shown_parts_add_up() -> None:
    iris = load("iris")
    bundle = fit_source(iris).bundle
    row = iris.rows([2])
    raw = dict(zip(iris.feature_names, row.table[0].tolist()))
    found = explain.prediction(bundle, row, top=2)
    assert found.header[1:4] == ("value", "prepared", "weight")
    for part, cells in zip(found.contributions, found.contribution_rows()):
        assert part.raw == cells[1] == raw[part.feature]
        assert part.value == cells[2] != part.raw
    rows = found.contribution_rows()
    assert rows[2][0] == "2 smaller ones"
    assert rows[-1][0] == "sum"
    assert sum(cells[-1] for cells in rows[:-1]) == pytest.approx(rows[-1][-1], rel=1e-12)
    assert "smaller ones" in found.to_text()
    assert found.to_dict()["contributions"][0]["raw"] == found.contributions[0].raw
    chart = json.dumps(charts.contributions(found).to_dict())
    assert all(f"{part.feature} = {part.raw:g}" in chart for part in found.contributions)


def test_the_pixels_of_an_image_are_those_of_the_data() -> None:
    digits = load("digits")
    bundle = fit_source(digits).bundle
    found = explain.prediction(bundle, digits.rows([0]))
    np.testing.assert_allclose(np.ravel(found.template.pixels), digits.table[0], atol=1e-9)


def test_a_table_with_the_columns_of_a_matrix_is_explained(tmp_path) -> None:
    iris = load("iris")
    bundle = fit_source(iris).bundle
    bundle.save(tmp_path / "iris.sx")
    header = ",".join(reversed(iris.feature_names))
    (tmp_path / "rows.csv").write_text(f"{header}\n0.2,1.3,3.2,4.7\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    found = facts("explain", tmp_path / "iris.sx", tmp_path / "rows.csv")
    same = explain.prediction(bundle, iris.rows([2]))
    assert found["scores"] == pytest.approx(same.scores, rel=1e-12)
    refused = call("explain", tmp_path / "iris.sx", tmp_path / "other.csv", code=1)
    assert "a table with these names" in " ".join(refused.output.split())


def test_control_characters_of_the_data_do_not_reach_the_terminal(tmp_path) -> None:
    lines = ["ham\thi there \x1b[31mfriend", "spam\twin \x1b[2Jprize"] * 10
    (tmp_path / "mail.tsv").write_text("\n".join(lines))
    mail = load(tmp_path / "mail.tsv", header=False)
    bundle = fit_source(mail).bundle
    bundle.save(tmp_path / "mail.sx")
    said = call("explain", tmp_path / "mail.sx", tmp_path / "mail.tsv").stdout
    assert "\x1b" not in said
    assert "\\x1b[31m" in said
    assert "\x1b" not in explain.prediction(bundle, mail.rows([0])).to_text()


@pytest.mark.parametrize(
    ("call_it", "words"),
    [
        (lambda: explain.step([1, 2], "a", [1, 2]), r"class numbers 0 to 1. Got \['a'\] instead"),
        (lambda: explain.step([1, 2], 0.5, [1, 2]), r"class numbers 0 to 1. Got \[0.5\] instead"),
        (
            lambda: explain.step([1, "b"], 1, [1, 2]),
            r"X must hold numbers.* Got \[1, 'b'\] instead",
        ),
        (
            lambda: explain.step([1, 2], 1, [1, 2], learning_rate="a"),
            "'learning_rate' parameter must be a finite number > 0. Got 'a' instead",
        ),
        (lambda: explain.step([1, 2], 1, [1, 2], l2=-1), "'l2' parameter must be a finite number"),
        (lambda: explain.scores([1, 2], "a"), "class numbers 0 to 1"),
        (
            lambda: explain.check_gradient(3),
            r"one of perceptron.*Got 3, which has no n_outputs\(\)",
        ),
        (lambda: explain.check_gradient(CrossEntropy), "which is a class: make one of it"),
        (lambda: explain.check_gradient("logistic", 1), "'n_classes' parameter must be a whole"),
        (lambda: explain.curvature_along("logistic", [[1]], ["a"], [0], [1]), "class numbers 0 to"),
        (
            lambda: explain.weights([1, 2], [1, 2, 3]),
            r"or \(1,\) as W has rows. Got \(3,\) instead",
        ),
        (
            lambda: explain.prediction(explain.weights([1.0]), [2.0], top=-1),
            "'top' parameter must be a whole number >= 0 or None. Got -1 instead",
        ),
        (
            lambda: explain.prediction(LogisticRegression(), [2.0]),
            "LogisticRegression instance is not fitted yet",
        ),
    ],
)
def test_what_is_given_wrongly_is_named(call_it, words) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call_it()


def test_a_variable_may_be_called_expression() -> None:
    assert explain.graph("2 * expression", expression=3)["expression"].derivative == 2.0
