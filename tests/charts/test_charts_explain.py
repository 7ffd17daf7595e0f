"""The charts of explanations show the numbers of the explanations."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits, load_iris

from separatrix import LinearSVC, LogisticRegression, charts, explain
from separatrix.charts.drawing.graph_layout import layered
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.readers import load
from separatrix.text import percent
from separatrix.workflow.model_inputs import open_model
from support.charting import channels, drawn, of, pixels_of, rows_of
from support.command import MAIL, call, facts

TUMOURS, KINDS = [[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1]
CATS = [[5.6, 6.4, -4.6], [-1.8, 10.2, 3.5], [2.0, 5.4, -8.6]]


def words_of(chart):
    return chart.to_dict()["description"]


# Curvature


@pytest.mark.slow
def test_the_shaded_region_has_negative_curvature(tmp_path):
    losses = ("sigmoid_mse", "logistic")
    found = [explain.curvature_along(each, [[1.0]], [0], [0.0], [1.0]) for each in losses]
    chart = charts.curvature(*found)
    drawn(chart, tmp_path)
    regions = [row for row in rows_of(chart) if "end" in row]
    assert {(row["t"], row["end"]) for row in regions} == {(0.693147, 8)}
    row = of(chart, loss="logistic", t=0)[0]
    assert (row["value"], row["curvature"]) == (pytest.approx(np.log(2), rel=1e-5), 0.25)
    assert words_of(chart) == f"{found[0].verdict} {found[1].verdict}"
    assert not [row for row in rows_of(charts.curvature(found[1])) if "end" in row]
    with pytest.raises(ValueError, match="nothing to draw"):
        charts.curvature()


# Likelihood

DOCUMENTS = [[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]]


@pytest.mark.slow
def test_the_likelihood_is_greatest_where_the_cross_entropy_is_least(tmp_path):
    found = explain.likelihood(explain.weights([-1, 2, -3]), DOCUMENTS, [1, 0, 0, 1])
    chart = charts.likelihood(found)
    drawn(chart, tmp_path)
    lines = {
        name: {row["t"]: row["value"] for row in of(chart, view=name)}
        for name in ("likelihood", "log-likelihood", "cross-entropy")
    }
    tops = [max(lines[name], key=lines[name].get) for name in ("likelihood", "log-likelihood")]
    bottom = min(lines["cross-entropy"], key=lines["cross-entropy"].get)
    assert tops == [bottom, bottom]
    assert bottom == pytest.approx(found.line.best, abs=0.042)
    for name, value in zip(lines, (found.likelihood, found.log_likelihood, found.cross_entropy)):
        assert lines[name][1.0] == pytest.approx(value, rel=1e-5)
        assert of(chart, mark="the model", value=pytest.approx(value, rel=1e-5))
        assert lines[name][0.0] == pytest.approx(
            {"likelihood": 2.0**-4, "log-likelihood": -4 * np.log(2)}.get(name, np.log(2)), rel=1e-5
        )
    bars = [row for row in rows_of(chart) if "row" in row]
    chances = np.array([row["p"] for row in bars])
    np.testing.assert_allclose(np.prod(chances), found.likelihood, rtol=1e-4)
    np.testing.assert_allclose([row["loss"] for row in bars], -np.log(chances), rtol=1e-3)
    assert found.line.verdict in words_of(chart)


def test_the_likelihood_of_separable_rows_has_no_maximum():
    chart = charts.likelihood(
        found := explain.likelihood(explain.weights([-1, 2, -3]), DOCUMENTS, [1, 0, 0, 0])
    )
    assert found.line.best is None
    assert "still rises at 64 times" in words_of(chart)
    assert not of(chart, mark="best on the line")


@pytest.mark.slow
def test_a_likelihood_that_underflows_is_drawn_per_row(tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = np.tile(X[50:, :2], (30, 1)), np.tile(y[50:], 30)
    logistic = explain.likelihood(LogisticRegression().fit(X, y), X, y)
    chart = charts.likelihood(logistic)
    drawn(chart, tmp_path)
    (model,) = [row for row in of(chart, mark="the model") if 0 < row["value"] < 0.6][:1]
    assert of(chart, view="likelihood per row")
    assert model["value"] == pytest.approx(np.exp(-logistic.cross_entropy), rel=1e-5)
    bars = [row["p"] for row in rows_of(chart) if "row" in row]
    np.testing.assert_allclose(bars, sorted(logistic.probabilities)[:12], rtol=1e-5)
    calibrated = explain.likelihood(LinearSVC(probability=5).fit(X, y), X, y)
    chart = charts.likelihood(calibrated)
    drawn(chart, tmp_path)
    assert calibrated.line is None
    assert not of(chart, mark="the model")


# Gradient checks


class Wrong(CrossEntropy):
    """A cross-entropy whose gradient is wrong in one output."""

    def gradient(self, y, Z):
        return super().gradient(y, Z) * [1.0, 1.001, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["softmax", "hinge", Wrong("mine", 4, "mine", outputs="all")])
def test_wrong_derivatives_are_above_the_line_of_a_gradient_check(loss, tmp_path):
    found = explain.check_gradient(loss, 3)
    chart = charts.gradient_check(found)
    drawn(chart, tmp_path)
    rows = [row for row in rows_of(chart) if "worst" in row]
    assert len(rows) == found.checked
    above = [row for row in rows if row["difference"] > row["allowed"]]
    assert len(above) == found.wrong == (0 if isinstance(loss, str) else 80)
    assert all(row["kind"] == "wrong" for row in above)
    (worst,) = [row for row in rows if row["worst"]]
    assert (worst["row"], worst["output"]) == (found.worst.row + 1, found.worst.output + 1)
    assert worst["difference"] == max(row["difference"] for row in above or rows)
    assert (worst["analytic"], worst["numeric"]) == pytest.approx(
        (found.worst.analytic, found.worst.numeric), rel=1e-5
    )
    assert [row["allowed"] for row in rows] == sorted(row["allowed"] for row in rows)
    assert found.verdict in words_of(chart)


# Mistakes in training


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one_at_a_time", "zero_start"])
def test_paths_of_weights_are_those_of_the_demonstration(name, tmp_path):
    found = getattr(explain, name)()
    chart = getattr(charts, name)(found)
    drawn(chart, tmp_path)
    for way, path in found.series["paths"].items():
        shown = [[row["w1"], row["w2"]] for row in of(chart, way=way)]
        if np.any(path):
            np.testing.assert_allclose(shown[: len(path)], path, rtol=1e-5)
        else:
            (still,) = [row for row in of(chart, w1=0, w2=0) if "text" in row]
            assert still["text"].startswith(way)
    assert all(sentence in words_of(chart) for sentence in found.sentences)


@pytest.mark.slow
def test_the_outlier_moves_one_boundary_of_two(tmp_path):
    found = explain.outlier(60.0)
    chart = charts.outlier(found)
    drawn(chart, tmp_path)
    bounds = [row["x"] for row in rows_of(chart) if "p" not in row]
    expected = [value for row in found.rows for value in row[1:3]]
    np.testing.assert_allclose(sorted(bounds), sorted(expected), rtol=1e-5)
    titles = [panel["title"]["text"] for panel in chart.to_dict()["hconcat"]]
    assert titles == [
        f"{row[0]} loss: {10 - row[-1]} of 10 rows wrong with the outlier" for row in found.rows
    ]
    nearer = charts.outlier(explain.outlier(11.0)).to_dict()["hconcat"][0]
    assert nearer["title"]["text"] == "squared loss: 0 of 10 rows wrong with the outlier"


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.1, 0.9, 1.1), (0.5, 40.0)])
def test_rates_above_the_limit_are_red_and_within_the_axes(shares, tmp_path):
    chart = charts.large_rate(explain.large_rate(shares=shares))
    drawn(chart, tmp_path)
    assert {row["rate"] for row in of(chart, fate="diverges")} == {f"{shares[-1]:g}"}
    low, high = channels(chart, "y")[0]["scale"]["domain"]
    values = [row["loss"] for row in rows_of(chart)]
    assert low <= min(values)
    assert max(values) <= high


def test_a_chart_of_another_demonstration_is_refused():
    with pytest.raises(ValueError, match=r"needs the result of explain.outlier\(\)"):
        charts.outlier(explain.zero_start())


# The perceptron


@pytest.fixture(scope="module")
def ended():
    return explain.perceptron(TUMOURS, KINDS)


@pytest.fixture(scope="module")
def endless():
    X, y = load_iris(return_X_y=True)
    return explain.perceptron(X[50:, 2:], y[50:], epochs=30, others=1), X[50:, 2:], y[50:]


@pytest.mark.slow
def test_mistakes_are_drawn_below_their_bound(ended, endless, tmp_path):
    chart = charts.perceptron_mistakes(ended)
    drawn(chart, tmp_path)
    bars = [row["mistakes"] for row in rows_of(chart) if "right" in row]
    assert bars == list(ended.mistakes)
    (bound,) = [row for row in rows_of(chart) if "text" in row]
    assert bound["mistakes"] == pytest.approx(ended.bound, rel=1e-5)
    assert bound["text"].endswith("(R / margin)² = 740")
    without = charts.perceptron_mistakes(endless[0])
    drawn(without, tmp_path)
    assert not [row for row in rows_of(without) if "text" in row]
    assert without.to_dict()["title"]["text"] == "The perceptron is still making mistakes"


@pytest.mark.slow
def test_the_normal_vector_is_orthogonal_to_the_boundary(ended, tmp_path):
    chart = charts.perceptron_path(ended, TUMOURS, KINDS, ["size", "age"])
    drawn(chart, tmp_path)
    arrow = of(chart, text="w")[0]
    (line,) = [row for row in rows_of(chart) if "right" in row and "text" not in row]
    along, normal = (
        np.array([row["right"] - row["left"], row["top"] - row["bottom"]]) for row in (line, arrow)
    )
    # The scales are equal, so right angles look right in the chart.
    x, y = (channels(chart, name)[0]["scale"]["domain"] for name in "xy")
    assert x[1] - x[0] == pytest.approx(y[1] - y[0])
    assert abs(along @ normal) < 1e-4 * np.linalg.norm(along) * np.linalg.norm(normal)
    assert normal @ ended.weights > 0.0
    path = [[row["w1"], row["w2"]] for row in rows_of(chart) if "w1" in row and "text" not in row]
    np.testing.assert_allclose(path, np.array(ended.path)[:, :2])
    assert "45 size - 5 age + 1 = 0" in words_of(chart)


@pytest.mark.slow
def test_features_of_different_magnitudes_have_different_scales(tmp_path):
    X, y = [[1e-3, 500.0], [2e-3, 700.0], [3e-3, 100.0], [5e-3, 200.0]], [0, 0, 1, 1]
    chart = charts.perceptron_path(explain.perceptron(X, y), X, y)
    drawn(chart, tmp_path)
    assert "different scales" in chart.to_dict()["title"]["subtitle"][1]


@pytest.mark.slow
def test_boundaries_are_compared_by_margin_or_by_accuracy(ended, endless, tmp_path):
    chart = charts.perceptron_planes(ended, TUMOURS, KINDS)
    drawn(chart, tmp_path)
    bars = {row["plane"]: row["value"] for row in rows_of(chart) if "value" in row}
    assert bars == {plane.name: pytest.approx(plane.margin, rel=1e-5) for plane in ended.planes}
    for row in rows_of(chart):
        if "right" in row and "plane" in row:
            (plane,) = [each for each in ended.planes if each.name == row["plane"]]
            ends = np.array([[row["left"], row["bottom"]], [row["right"], row["top"]]])
            length = np.linalg.norm(plane.weights)
            assert np.abs(ends @ plane.weights + plane.bias).max() < 1e-3 * length
    story, X, y = endless
    chart = charts.perceptron_planes(story, X, y)
    drawn(chart, tmp_path)
    bars = {row["plane"]: row["value"] for row in rows_of(chart) if "value" in row}
    assert bars == {plane.name: plane.accuracy for plane in story.planes}
    assert {"logistic regression", "support vector machine"} <= set(bars)
    drawn(charts.perceptron_planes(story), tmp_path)


@pytest.mark.slow
def test_angles_are_red_on_the_wrong_side(ended, endless, tmp_path):
    for story in (ended, endless[0]):
        chart = charts.perceptron_angles(story)
        drawn(chart, tmp_path)
        rows = [row for row in rows_of(chart) if "class" in row]
        np.testing.assert_allclose([row["angle"] for row in rows], story.angles, rtol=1e-5)
        own = next(p for p in story.planes if p.name == "perceptron")
        wrong = sum(row["side"] == "wrong" for row in rows)
        assert wrong == round(len(rows) * (1.0 - own.accuracy))


def test_charts_of_boundaries_need_two_features_and_a_label_for_every_row(ended):
    with pytest.raises(ValueError, match=r"two features. Got X of shape \(4, 3\)"):
        charts.perceptron_path(ended, np.ones((4, 3)), KINDS)
    with pytest.raises(ValueError, match="Got 4 rows and y of shape"):
        charts.perceptron_planes(ended, TUMOURS, KINDS[:2])


# Computation graphs


def texts(chart, kind):
    return [row["text"] for row in of(chart, kind=kind)]


@pytest.mark.slow
def test_a_graph_has_values_above_and_derivatives_below(tmp_path):
    found = explain.graph("1/(1+exp(-w*x))", w=0.5, x=2.0)
    chart = charts.graph(found)
    svg = drawn(chart, tmp_path)
    assert "exp(z2)" in svg
    values, slopes = of(chart, kind="value"), of(chart, kind="slope")
    names = of(chart, kind="name")
    assert [row["text"] for row in names] == [node.name for node in found]
    for node, name, value, slope in zip(found, names, values, slopes):
        assert value["y"] < name["y"] < slope["y"]
        assert value["x"] == name["x"] == slope["x"]
        assert float(value["text"].replace("−", "-")) == pytest.approx(node.value, rel=1e-3)
        assert float(slope["text"].replace("−", "-")) == pytest.approx(node.derivative, rel=1e-3)


def test_derivatives_of_nodes_follow_from_the_derivatives_on_arrows():
    found = explain.graph("w*w + exp(w)", w=1.5)
    square = found["z1"]
    assert (square.inputs, square.partials) == (("w", "w"), (1.5, 1.5))
    for node in found:
        ways = [
            partial * other.derivative
            for other in found
            for name, partial in zip(other.inputs, other.partials)
            if name == node.name
        ]
        assert node.derivative == pytest.approx(sum(ways) if ways else 1.0)
    labels = [row["text"] for row in rows_of(charts.graph(found)) if "mid" in row]
    assert sorted(labels) == ["1", "1", "3", "4.482"]  # 3 is the sum of both arrows w -> z1


@pytest.mark.slow
def test_steps_and_scores_are_graphs_of_vectors(tmp_path):
    chart = charts.graph(explain.scores(CATS, [0, 1, 2], loss="softmax"))
    drawn(chart, tmp_path)
    assert "(5.6, 6.4, −4.6)" in texts(chart, "value")
    step = explain.step([1, 0.82], 1, [0.04, 0.5], loss="logistic", learning_rate=0.01)
    chart = charts.graph(step)
    drawn(chart, tmp_path)
    assert "(−0.3894, −0.3193)" in texts(chart, "slope")
    assert "objective fell from 0.4932 to 0.4907." in words_of(chart)


@pytest.mark.slow
def test_large_nodes_are_cut_and_large_graphs_are_refused(tmp_path):
    X, y = load_digits(return_X_y=True)
    chart = charts.graph(explain.step(X[:30], y[:30], np.zeros((10, 64)), loss="softmax"))
    drawn(chart, tmp_path)
    assert "and 25 more" in texts(chart, "value")
    chart = charts.graph(explain.step(np.arange(61.0), 1, np.zeros(61)))
    assert "and 41 more" in texts(chart, "value")  # 61 numbers, 20 of them in five lines of four
    with pytest.raises(ValueError, match="A graph of 80 nodes"):
        charts.graph(explain.graph("+".join(["w*w"] * 40), w=1.0))


def test_nodes_are_right_of_their_inputs_and_do_not_overlap():
    found = explain.graph("(a-2)^2 + (c+3)^2 + a*c*log(a+max(c,0)) - exp(a/c)", a=5.0, c=1.0)
    sizes = {node.name: (60.0, 60.0) for node in found}
    placed = layered(sizes, found.edges, 40.0)
    for start, end in found.edges:
        assert placed.places[start][0] + 60.0 < placed.places[end][0]
    spots = list(placed.places.values())
    for k, (x, y) in enumerate(spots):
        assert 0.0 <= x - 30.0 <= x + 30.0 <= placed.width
        assert -1e-9 <= y - 30.0 <= y + 30.0 <= placed.height + 1e-9
        for other, height in spots[:k]:
            assert abs(x - other) > 60.0 or abs(y - height) > 60.0


# Predictions


@pytest.mark.slow
def test_bars_of_contributions_add_up_to_the_margin(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"word{k}" for k in range(60)]
    model = explain.weights(rng.normal(size=60), 0.3, names=names, classes=["ham", "spam"])
    for top in (5, None):
        found = explain.prediction(model, rng.poisson(1.0, 60), "spam", top=top)
        chart = charts.contributions(found)
        drawn(chart, tmp_path)
        rows = [row for row in rows_of(chart) if "towards" in row]
        margin = of(chart, kind="sum")[0]["towards"]
        assert margin == pytest.approx(found.margin, rel=1e-5)
        parts = [row["towards"] for row in rows if row["kind"] != "sum"]
        assert sum(parts) == pytest.approx(margin, rel=1e-4)
        assert rows[0]["feature"] == found.contributions[0].feature
        assert len(rows) == (5 if top else 20) + 3
        assert words_of(chart).startswith(found.verdict)


def test_an_image_is_drawn_as_its_pixels_times_the_weights(tmp_path):
    images, digits = load_digits(return_X_y=True)
    fitted = LogisticRegression(C=1e-3).fit(images, digits)
    names = [f"pixel_{i}_{j}" for i in range(8) for j in range(8)]
    model = explain.weights(fitted.coef_, fitted.intercept_, names=names, classes=list(range(10)))
    found = explain.prediction(model, images[8], 8)
    chart = charts.contributions(found)
    drawn(chart, tmp_path)
    first, _, last = rows_of(chart)
    np.testing.assert_allclose(
        pixels_of(first)[..., 3] / 255, images[8].reshape(8, 8) / 16, atol=0.01
    )
    products = np.array(found.template.products)
    seen = pixels_of(last)
    strong = np.abs(products) > 0.1 * np.abs(products).max()
    bluer = seen[..., 2].astype(int) > seen[..., 0]
    np.testing.assert_array_equal(bluer[strong], (products > 0)[strong])


def test_the_command_saves_a_picture_of_the_explanation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    assert "why.png" in call("explain", "iris.sx", "iris", "--out", "why.png").output
    with Image.open("why.png") as picture:
        assert min(picture.size) > 100
    assert facts("explain", "iris.sx", "iris", "--out", "why.svg")["out"] == "why.svg"
    assert "petal" in (tmp_path / "why.svg").read_text()
    said = call("explain", "iris.sx", "iris", "--out", "why.gif", code=2).output
    assert "Got 'why.gif'" in said
    assert facts("explain", "iris.sx", "iris")["out"] is None


def test_the_command_shows_a_gradient_step_for_a_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    asked = ("explain", "iris.sx", "iris", "--row", "71", "--step", "--learning-rate", "0.5")
    said = call(*asked, "--out", "step.svg").output
    assert "z_1 for setosa" in said
    assert "15 derivatives" in said
    assert "step.svg" in said
    assert "softmax(z)" in (tmp_path / "step.svg").read_text()
    found = facts(*asked)
    bundle = open_model("iris.sx")
    source = load("iris").rows([70])
    own = explain.step_of(bundle, source, learning_rate=0.5)
    assert found["weights"] == [list(row) for row in own.weights]
    assert found["names"][0] == "sepal length (cm)"
    # The gradient of the loss of the row, computed by hand: (a - e_y) x'.
    x = bundle.transform(source, [])[0]
    a = np.exp(bundle.estimator.decision_function([x])[0])
    error = a / a.sum() - [0.0, 1.0, 0.0]
    np.testing.assert_allclose(found["gradient"], np.outer(error, x), rtol=1e-9)
    np.testing.assert_allclose(
        found["weights"], bundle.estimator.coef_ - 0.5 * np.outer(error, x), rtol=1e-12
    )
    assert found["after"] < found["before"]
    said = call("explain", "iris.sx", "iris", "--learning-rate", "1", code=2).output
    assert "Add --step" in said
    said = call(*asked[:-1], "-1", code=2).output
    assert "--learning-rate must be finite and > 0. Got -1 instead." in said


def test_a_step_of_a_text_uses_only_the_words_of_the_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mail.tsv").write_text(MAIL)
    call("fit", "mail.tsv", "--out", "mail.sx", "--quiet")
    found = facts("explain", "mail.sx", "mail.tsv", "--row", "2", "--step")
    assert any("lunch" in name for name in found["names"])
    assert not any("phone" in name for name in found["names"])
    assert "left out" in found["legend"]
    assert found["graph"]["agrees"] is True
    (tmp_path / "unlabelled.tsv").write_text("text\nare we on for lunch\n")
    said = call("explain", "mail.sx", "unlabelled.tsv", "--step", code=2).output
    assert "--step needs the true class of the row" in said
    with pytest.raises(ValueError, match="A step needs the true class of the row"):
        explain.step_of(explain.weights([1.0]), [2.0])


def test_the_command_draws_the_graph_of_an_expression(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = call("graph", "1/(1+exp(-w*x))", "w=2", "x=-1", "--out", "graph.png").output
    assert "2 derivatives" in said
    assert (tmp_path / "graph.png").stat().st_size > 1000
    found = facts("graph", "w^2 + 5*log(w) + 6", "w=2")
    assert found["nodes"][0]["derivative"] == 6.5
    assert "Got 'w' instead" in call("graph", "w*w", "w", code=2).output
    assert "two values" in call("graph", "w*w", "w=1", "w=2", code=2).output
    assert ".png, .svg" in call("graph", "w", "w=1", "--out", "a.gif", code=2).output


def test_a_probability_is_not_rounded_to_certainty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    said = call("explain", "iris.sx", "iris", "--row", "17").output
    assert facts("explain", "iris.sx", "iris", "--row", "17")["probabilities"][2] > 0.0
    assert "< 0.01 %" in said
    assert " 0.00 %" not in said


@given(st.floats(0.0, 1.0), st.integers(0, 3))
@example(0.005, 0)
@example(0.995, 0)
def test_only_exact_shares_are_written_as_0_or_100_per_cent(share, digits):
    said = percent(share, digits)
    number = float(said.strip("<> %"))
    assert (number == 100.0) == (share == 1.0)
    assert (number == 0.0) == (share == 0.0)
    assert number == pytest.approx(100.0 * share, abs=1.01 * 10.0**-digits)
