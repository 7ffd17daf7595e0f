"""Gradient checks, curvature, likelihood, common mistakes, and the perceptron."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from separatrix import (
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    charts,
    explain,
)
from separatrix.explain.separating_planes import plane_or_none, strictly_apart
from separatrix.losses.cross_entropy import CrossEntropy
from support.forms import FORMS, SMOOTH, Form
from support.plain import is_plain

TUMOURS = np.array([[10.0, 52], [2, 73], [5, 55], [12, 49]]), np.array([1, 0, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_loss_passes_its_gradient_check(form: Form) -> None:
    if form.outputs != form.loss.n_outputs(form.classes):
        return  # two classes with two outputs
    found = explain.check_gradient(form.loss, form.classes)
    assert found.agrees, found.to_text()
    assert found.checked == 40 * form.outputs * (2 if form.loss.smooth else 1)


class Scaled(CrossEntropy):
    """A cross-entropy whose gradient is wrong in one output."""

    def gradient(self, y, Z):
        G = super().gradient(y, Z)
        G[:, :, 1] *= 1.001
        return G


def test_a_wrong_gradient_is_found_and_the_worst_entry_is_named() -> None:
    found = explain.check_gradient(Scaled("mine", 4, "mine", outputs="all"), 3)
    assert not found.agrees
    assert found.worst.what == "gradient"
    assert found.worst.output == 1
    assert found.worst.difference == pytest.approx(0.001 * abs(found.worst.numeric), rel=1e-3)
    assert "in output 2 of row" in found.to_text(200)
    assert is_plain(found.to_dict())


class Diagonal(CrossEntropy):
    """A cross-entropy with wrong mixed second derivatives."""

    def hessian_times(self, y, Z, V):
        P = self.probabilities(Z)
        return P * (1.0 - P) * V


def test_a_hessian_with_wrong_mixed_derivatives_is_found() -> None:
    found = explain.check_gradient(Diagonal("mine", 4, "mine", outputs="all"), 3)
    assert not found.agrees
    assert found.worst.what == "second derivative"


class Flat(CrossEntropy):
    """A cross-entropy whose second derivative is wrong."""

    def hessian_times(self, y, Z, V):
        return 0.5 * super().hessian_times(y, Z, V)


def test_a_wrong_second_derivative_is_found() -> None:
    found = explain.check_gradient(Flat("mine", 3, "mine", outputs="one"))
    assert not found.agrees
    assert found.worst.what == "second derivative"


@pytest.mark.parametrize(("label", "region"), [(0, (math.log(2), 8.0)), (1, (-8.0, -math.log(2)))])
def test_squared_error_on_a_sigmoid_is_concave_beyond_two_thirds(label: int, region: tuple) -> None:
    """The curvature is negative for y = 0 and yhat > 2/3, and for y = 1 and yhat < 1/3."""
    found = explain.curvature_along("sigmoid_mse", [[1.0]], [label], [0.0], [1.0])
    np.testing.assert_allclose(found.negative, [region], atol=1e-12)
    assert explain.curvature_along("logistic", [[1.0]], [label], [0.0], [1.0]).negative == ()


@pytest.mark.slow
@pytest.mark.parametrize("form", SMOOTH, ids=str)
def test_curvature_along_a_line_equals_second_differences_of_the_values(form: Form) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((6, 2)), rng.integers(0, form.classes, 6)
    W, V = rng.standard_normal((2, form.outputs, 2))
    found = explain.curvature_along(form.loss, X, y, W, V, span=(-1.0, 1.0), points=2001)
    t, value, bend = (np.array(a) for a in (found.positions, found.values, found.curvatures))
    second = np.diff(value, 2) / (t[1] - t[0]) ** 2
    # The second derivative of a squared hinge has jumps, which affect a few differences.
    off = np.abs(second - bend[1:-1]) > 1e-3 * np.abs(bend).max()
    assert off.mean() < (0.02 if form.loss.margin else 1e-9)
    if form.loss.convex:
        assert found.negative == ()


def test_curvature_needs_a_smooth_loss_and_matching_shapes() -> None:
    with pytest.raises(ValueError, match="has kinks"):
        explain.curvature_along("hinge", [[1.0]], [0], [0.0], [1.0])
    with pytest.raises(ValueError, match="start and direction"):
        explain.curvature_along("logistic", [[1.0]], [0], [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="class numbers 0 to 1"):
        explain.curvature_along("logistic", [[1.0]], [2], [0.0], [1.0])
    with pytest.raises(ValueError, match="two increasing numbers"):
        explain.curvature_along("logistic", [[1.0]], [1], [0.0], [1.0], span=(1.0, 1.0))


@pytest.mark.parametrize("multiclass", ["auto", "reference", "ovr"])
def test_likelihood_log_likelihood_and_cross_entropy_agree(multiclass: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = LogisticRegression(multiclass=multiclass).fit(X, y)
    found = explain.likelihood(model, X, y)
    own = model.predict_proba(X)[np.arange(50), np.searchsorted(model.classes_, y)]
    assert found.agree
    assert found.likelihood == pytest.approx(np.prod(own))
    assert math.exp(-50 * found.cross_entropy) == pytest.approx(found.likelihood)
    if multiclass == "auto":
        assert found.cross_entropy == pytest.approx(model.history_["train_loss"][-1], rel=1e-6)


def test_a_likelihood_that_underflows_keeps_its_logarithm() -> None:
    X, y = np.zeros((3000, 1)), np.zeros(3000, int)
    found = explain.likelihood(explain.weights([1.0]), X, y)
    assert found.likelihood == 0.0
    assert found.agree
    assert found.log10 == pytest.approx(3000 * math.log10(0.5))
    assert "10^-903.09" in found.to_text()
    assert is_plain(found.to_dict())


def test_only_a_model_with_cross_entropy_maximises_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int)
    three = y + (X[:, 1] > 0.5)
    squared = GradientDescentClassifier("sigmoid_mse", learning_rate=1.0, epochs=20)
    others = [(squared, y), (LinearSVC(probability=5), y)]
    others.append((LogisticRegression(multiclass="ovr"), three))
    for model, labels in others:
        found = explain.likelihood(model.fit(X, labels), X, labels)
        own = model.predict_proba(X)[np.arange(60), labels]
        assert found.cross_entropy == pytest.approx(-np.log(own).mean(), rel=1e-12)
        text = " ".join(found.to_text().split())
        assert "mean loss" not in text
        assert "mean of -log p" in text
        assert "need not have" in text
        assert "smallest loss" not in text
    text = " ".join(
        explain.likelihood(LogisticRegression().fit(X, three), X, three).to_text().split()
    )
    assert "mean loss" in text
    assert "smallest loss" in text


def test_a_probability_that_underflows_is_not_said_to_agree_with_its_loss() -> None:
    found = explain.likelihood(explain.weights([1000.0]), [[1.0]], [0])
    assert found.cross_entropy == 1000.0
    assert not found.agree
    assert "agree" not in found.to_text()
    assert "too small for a number" in found.to_text()


def test_a_model_without_probabilities_has_no_likelihood() -> None:
    X, y = TUMOURS
    with pytest.raises(ValueError, match="no probabilities"):
        explain.likelihood(LinearSVC().fit(X, y), X, y)


# Common mistakes.


def test_updates_one_at_a_time_depend_on_the_order_of_features() -> None:
    found = explain.one_at_a_time()
    paths = {way: np.array(path) for way, path in found.series["paths"].items()}
    X, y = np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, 1.0]]), [1, 0, 0]
    own = explain.one_at_a_time(X, y, steps=1, learning_rate=0.5)
    first = explain.step(X, y, [0.0, 0.0], learning_rate=0.5)
    np.testing.assert_allclose(own.series["paths"]["simultaneous"][1], first.weights, atol=1e-15)
    swapped = explain.one_at_a_time(X[:, ::-1], y, steps=1, learning_rate=0.5)
    one, other = "one at a time", "one at a time, other order"
    np.testing.assert_allclose(
        swapped.series["paths"][one][1], own.series["paths"][other][1][::-1], atol=1e-15
    )
    assert found.series["angles"]["simultaneous"] < 1e-6
    assert found.series["angles"][one] > 1
    assert np.abs(paths[one] - paths[other]).max() > 0.1


def test_an_outlier_on_its_correct_side_affects_only_least_squares() -> None:
    squared, logistic = explain.outlier(60.0).rows
    assert squared[3] == logistic[3] == logistic[4] == 10
    assert squared[4] < 10
    assert logistic[1] == pytest.approx(logistic[2], abs=1e-6)
    assert explain.outlier(200.0).rows[0][2] > squared[2]
    with pytest.raises(ValueError, match=r"'distance'.*> 10"):
        explain.outlier(5.0)


def test_the_perceptron_loss_leaves_zero_only_if_a_tie_is_a_mistake() -> None:
    found = explain.zero_start()
    paths = found.series["paths"]
    assert not np.any(paths["a tie is right"])
    assert np.any(paths["a tie is a mistake"][1])
    assert found.rows[1][3] == found.rows[1][4]


def test_the_loss_falls_below_the_limit_of_the_rate_and_diverges_above_it() -> None:
    found = explain.large_rate(shares=(0.5, 0.99, 1.05), epochs=60)
    curves = list(found.series["losses"].values())
    for curve in curves[:2]:
        assert (np.diff(curve) <= 1e-15).all()
    assert curves[2][-1] > curves[2][0]
    assert any("diverged" in sentence for sentence in found.sentences)


@pytest.mark.parametrize("name", ["one_at_a_time", "outlier", "zero_start", "large_rate"])
def test_demonstrations_are_plain_data_and_fit_the_width(name: str) -> None:
    found = getattr(explain, name)()
    assert is_plain(found.to_dict())
    for width in (60, 80):
        assert max(map(len, found.to_text(width).splitlines())) <= width


# The perceptron.


@st.composite
def separable_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    seed = draw(st.integers(0, 10_000))
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d + 1)
    z = X @ w[:-1] + w[-1]
    assume(np.abs(z).min() > 0.05)
    y = (z > 0).astype(int)
    assume(0 < y.sum() < n)
    return X, y


@pytest.mark.slow
@given(separable_rows())
def test_mistakes_stay_below_the_bound_and_equal_those_of_the_estimator(rows: tuple) -> None:
    X, y = rows
    story = explain.perceptron(X, y, epochs=1000, others=0)
    assert story.separable
    assert story.bound is not None
    assert story.total <= story.bound
    model = Perceptron(epochs=1000).fit(X, y)
    assert story.weights == tuple(model.coef_[0])
    assert story.bias == model.intercept_[0]
    assert len(story.mistakes) == model.n_iter_
    assert len(story.path) == story.total + 1


def test_every_step_of_the_path_adds_or_subtracts_a_row() -> None:
    X, y = TUMOURS
    story = explain.perceptron(X, y)
    steps = np.diff(np.array(story.path), axis=0)
    examples = np.column_stack([X, np.ones(4)]) * (2 * y - 1)[:, None]
    assert all(any(np.array_equal(step, row) for row in examples) for step in steps)


def test_the_tumours_are_separable_with_angles_on_both_sides_of_ninety() -> None:
    X, y = TUMOURS
    story = explain.perceptron(X, y)
    assert story.ended
    assert story.separable
    angles = np.array(story.angles)
    assert (angles[y == 1] < 90).all()
    assert (angles[y == 0] > 90).all()
    assert "are linearly separable" in story.to_text(1000)
    assert is_plain(story.to_dict())


def test_no_hyperplane_has_a_wider_margin_than_the_widest_margin() -> None:
    X, y = np.array([[0.0, 0], [0, 1], [4, 0], [4, 3]]), np.array([0, 0, 1, 1])
    story = explain.perceptron(X, y)
    planes = {plane.name: plane for plane in story.planes}
    assert planes["widest margin"].margin == pytest.approx(2.0, rel=1e-3)
    assert max(plane.margin for plane in story.planes) <= 2.0 + 1e-9


def test_inseparable_rows_are_reported_as_inseparable() -> None:
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    story = explain.perceptron(X, y, epochs=30)
    assert story.separable is False
    assert story.bound is None
    assert not story.ended
    assert min(story.mistakes) > 0
    text = story.to_text(1000)
    assert "No hyperplane separates the classes" in text
    assert "logistic regression" in text
    assert "support vector machine" in text


def test_equal_rows_of_different_classes_are_not_separable() -> None:
    X, y = np.array([[1.0, 2], [1, 2], [5, 5], [-4, 0]]), np.array([0, 1, 1, 0])
    assert explain.perceptron(X, y, epochs=10).separable is False


def test_a_boundary_with_rows_on_it_does_not_hide_a_separating_one() -> None:
    """x1 = 1 has a row of each class on it; 20 x1 + x2 = 20.5 has none."""
    X, y = np.array([[0.0, 5], [1, 0], [1, 1], [2, -5]]), np.array([0, 0, 1, 1])
    story = explain.perceptron(X, y, epochs=1, others=0)
    assert not story.ended
    assert story.separable
    assert story.bound is not None


def test_boundaries_without_a_bias_go_through_zero() -> None:
    X, y = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0]]), np.array([1, 1, 0])
    story = explain.perceptron(X, y, fit_intercept=False)
    assert all(plane.bias == 0.0 for plane in story.planes)
    assert story.bound is not None
    assert story.radius == pytest.approx(math.sqrt(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "y", "margin"),
    [
        ([[1998], [1999], [2003], [2004]], [0, 0, 1, 1], 2.0 / math.hypot(1.0, 2001.0)),
        ([[1000], [1001], [1002], [1003]], [0, 0, 1, 1], 0.5 / math.hypot(1.0, 1001.5)),
        ([[0.0], [1e-6], [1.0], [-1.0]], [0, 1, 1, 0], 5e-7),
        ([[0.0], [1e-9], [1.0], [-1.0]], [0, 1, 1, 0], 5e-10),
    ],
)
def test_a_narrow_margin_is_reported_as_a_margin(X: list, y: list, margin: float) -> None:
    story = explain.perceptron(X, y, epochs=20, others=0)
    assert story.separable
    assert story.margin == pytest.approx(margin, rel=0.01)
    assert story.bound == pytest.approx((story.radius / margin) ** 2, rel=0.02)
    assert any(plane.margin > 0.0 for plane in story.planes)
    subtitle = charts.perceptron_mistakes(story).to_dict()["title"]["subtitle"]
    for text in (story.to_text(1000), " ".join(subtitle)):
        assert "are linearly separable" in text
        assert "No hyperplane" not in text


def test_separability_is_not_claimed_without_a_proof() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((26_000, 20)), rng.integers(0, 2, 26_000)  # too large for a proof
    story = explain.perceptron(X, y, epochs=2, others=0)
    assert story.separable is None
    assert "is not known" in story.sentences[1]
    assert "No hyperplane separates" not in story.to_text(1000)
    title = charts.perceptron_planes(story).to_dict()["title"]["text"]
    assert title == "No hyperplane with a margin was found"


@pytest.mark.slow
def test_rows_very_close_to_a_hyperplane_are_separable() -> None:
    rng = np.random.default_rng(0)
    a = np.round(rng.uniform(-1, 1, 40) * 1024) / 1024
    u = np.round(rng.uniform(0.01, 1, 40) * 1024) / 1024
    y = rng.integers(0, 2, 40)
    y[:4], u[:4] = [0, 1, 0, 1], 2.0**-20
    r = np.zeros(40)
    r[np.flatnonzero(y)[5:10]] = 1
    X = np.column_stack([a, -a + np.where(y == 1, u, -u), r])
    story = explain.perceptron(X, y, epochs=3, others=0)
    assert story.separable
    assert story.bound is not None


@pytest.mark.slow
@pytest.mark.parametrize("separable", [True, False])
def test_separability_of_three_thousand_rows_is_decided(separable: bool) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((3000, 20)), rng.standard_normal(20)
    y = (X @ w > 0.0).astype(int) if separable else rng.integers(0, 2, 3000)
    assert explain.perceptron(X, y, epochs=2, others=0).separable is separable


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3), st.booleans())
def test_separability_of_small_integer_rows_is_decided_correctly(
    seed: int, n: int, d: int, bias: bool
) -> None:
    """Scaling makes the margin of integer rows at least 1, so a linear programme decides, too."""
    rng = np.random.default_rng(seed)
    X, t = rng.integers(-2, 3, (n, d)).astype(float), rng.choice([-1.0, 1.0], n)
    A = t[:, None] * (np.column_stack([X, np.ones(n)]) if bias else X)
    separable = linprog(np.zeros(A.shape[1]), -A, -np.ones(n), bounds=(None, None)).status == 0
    plane, none = plane_or_none(X, X, t, bias)
    assert none is not separable
    assert (plane is not None and strictly_apart(plane, X, t)) is separable


def test_a_gap_in_the_last_digit_is_not_overlooked() -> None:
    def separable(gap: float) -> bool | None:
        X = np.array([[0.0], [1.0], [1.0 + gap], [3.0]])
        return explain.perceptron(X, [0, 0, 1, 1], epochs=2, others=0).separable

    assert separable(0.0) is False
    assert separable(2.0**-52) is not False
    assert separable(2.0**-40) is True


def test_the_sentences_of_a_perceptron_match_its_numbers() -> None:
    story = explain.perceptron([[1], [2]], [0, 1])
    assert story.bound >= 65.0
    assert story.most == "65"
    assert "bias" in story.sentences[1]
    bare = explain.perceptron([[1.0, 2.0], [-1.0, -1.0]], [1, 0], fit_intercept=False)
    assert bare.bound is not None
    assert "bias" not in bare.sentences[1]
    limits = explain.perceptron([[0], [1], [2]], [0, 1, 0], epochs=1, others=0).sentences[1]
    assert re.search(r" \d+ mistakes? in every epoch", limits)


def test_only_separating_hyperplanes_have_a_margin_in_the_summary() -> None:
    story = explain.perceptron([[0.0], [1.0]], [0, 1])
    assert min(plane.margin for plane in story.planes) <= 0.0
    assert "margins of the separating hyperplanes" in story.sentences[2]


def test_a_perceptron_that_stops_at_a_tie_is_not_said_to_run_forever() -> None:
    story = explain.perceptron([[0, 0], [1, 1], [-1, 0]], [1, 1, 0], fit_intercept=False)
    assert story.ended
    assert story.bound is None
    text = story.to_text(1000)
    assert "1 mistake." in text
    assert "lie on the decision boundary" in text
    assert "never converges" not in text


def test_a_long_path_is_cut_and_training_continues() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    y = (X[:, 0] + rng.standard_normal(400) > 0).astype(int)
    story = explain.perceptron(X, y, epochs=40, others=0)
    model = Perceptron(epochs=40).fit(X, y)
    assert story.total > len(story.path) == 2000
    assert story.weights == tuple(model.coef_[0])
    assert story.bias == model.intercept_[0]
    steps = np.abs(np.diff(np.array(story.path)[:, -1]))
    assert (steps == 1.0).all()


def test_the_perceptron_needs_two_classes_and_finite_rows() -> None:
    with pytest.raises(ValueError, match="two classes"):
        explain.perceptron(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="rows"):
        explain.perceptron([1.0, 2.0], [0, 1])
    with pytest.raises(ValueError, match="finite"):
        explain.perceptron([[np.inf], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"'epochs'.*whole number >= 1"):
        explain.perceptron([[0.0], [1.0]], [0, 1], epochs=0)


def test_the_sentences_of_demonstrations_match_their_results() -> None:
    apart = ([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 0, 0])
    assert "the steps are the same" in explain.one_at_a_time(*apart).to_text(400)
    assert "the weights are the same" in explain.one_at_a_time(*apart).to_text(400)
    assert "No row is misclassified yet" in explain.outlier(11).to_text(400)
    assert "misclassifies 2 more of the ten rows" in explain.outlier().to_text(400)
    assert "the mean is 0" in explain.zero_start([[1, 1], [1, 1]], [1, 0]).to_text(400)
    assert explain.large_rate(shares=(1.001,)).rows[0][-1] == "falls at first"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: explain.one_at_a_time(steps=0), "'steps'.*whole number >= 1"),
        (lambda: explain.one_at_a_time(learning_rate=-1), "'learning_rate'.*> 0"),
        (lambda: explain.one_at_a_time(learning_rate=math.nan), "'learning_rate'.*finite"),
        (lambda: explain.one_at_a_time([[1, 1], [1, 1]], [1, 0]), "gradient at zero weights is 0"),
        (lambda: explain.zero_start(steps=0), "'steps'.*whole number >= 1"),
        (lambda: explain.large_rate(shares=(-1.0,)), "'shares'.*> 0"),
        (lambda: explain.large_rate(shares=0.5), "'shares' must be a list"),
        (lambda: explain.one_at_a_time(X="a"), "X must be numbers"),
        (lambda: explain.outlier("a"), "'distance' parameter"),
    ],
)
def test_demonstrations_refuse_invalid_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


_ROWS, _LABELS = [[0.0], [1.0]], [0, 1]
_LINE = ("logistic", [[1.0]], [0], [0.0], [1.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: explain.perceptron(_ROWS, _LABELS, epochs="a"), "'epochs'.*whole number"),
        (lambda: explain.perceptron(_ROWS, _LABELS, epochs=2.5), "'epochs'.*whole number"),
        (lambda: explain.perceptron(_ROWS, _LABELS, seed=None), "'seed'.*whole number >= 0"),
        (lambda: explain.perceptron(_ROWS, _LABELS, others=-1), "'others'.*whole number >= 0"),
        (lambda: explain.perceptron(_ROWS, [0, None]), "labels of different types"),
        (lambda: explain.perceptron(sp.csr_array(_ROWS), _LABELS), "X must be dense"),
        (lambda: explain.perceptron([["a"], ["b"]], _LABELS), "X must be numbers"),
        (lambda: explain.curvature_along(*_LINE, span=3), "two increasing numbers"),
        (lambda: explain.curvature_along(*_LINE, points="a"), "'points'.*whole number >= 2"),
        (lambda: explain.likelihood(explain.weights([1.0]), _ROWS, None), "one of the classes"),
        (lambda: explain.graph("w*w", w=10**400), "finite"),
        (lambda: explain.weights([1, math.nan]), "must be finite"),
        (lambda: explain.weights([1], math.inf), "must be finite"),
    ],
)
def test_invalid_arguments_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


class _Bare:
    """A loss without a name, whose gradient lacks the axis of the models."""

    def n_outputs(self, n_classes: int) -> int:
        return 1

    def value(self, y: Any, Z: Any) -> Any:
        return 0.5 * (Z[:, :, 0] - y[:, None]) ** 2

    def gradient(self, y: Any, Z: Any) -> Any:
        return Z[:, 0] - y[:, None]


class _Right(_Bare):
    def gradient(self, y: Any, Z: Any) -> Any:
        return Z - y[:, None, None]


def test_a_gradient_of_a_wrong_shape_is_reported() -> None:
    with pytest.raises(ValueError, match=r"gradient\(\) of loss '_Bare'.*1, 1, 1\). Got \(1, 1\)"):
        explain.check_gradient(_Bare())
    assert explain.check_gradient(_Right()).agrees


def test_the_table_of_rates_has_the_epoch_of_the_last_loss() -> None:
    found = explain.large_rate()
    epochs = found.columns.index("epochs")
    for row, curve in zip(found.rows, found.series["losses"].values()):
        assert row[epochs] == len(curve)
        assert row[epochs - 1] == curve[-1]
    assert found.rows[-1][epochs] < 40


def test_a_tiny_curvature_has_the_correct_sign() -> None:
    found = explain.curvature_along("sigmoid_mse", [[1.0]], [0], [0.0], [1.0], span=(-8, 60))
    assert found.negative == ((pytest.approx(math.log(2.0)), 60.0),)


def test_printed_numbers_have_enough_digits() -> None:
    step = explain.step(np.ones((1, 70)), [1], np.full(70, 0.1), learning_rate=1e-9)
    assert "agree with 60 of 70 derivatives" in step.graph.verdict
    before, after = re.findall(r"fell from (\S+) to (\S+)\.", step.to_text(1000))[0]
    assert before != after
    lost = explain.likelihood(explain.weights([1e4]), [[1.0]], [0])
    assert "inf" not in lost.to_text().splitlines()[1]
    flat = explain.likelihood(explain.weights([0.0]), _ROWS, _LABELS)
    assert "best on the line" not in str(charts.likelihood(flat).to_dict())
