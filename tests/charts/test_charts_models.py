"""The charts of data and of classifiers show the computed numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from separatrix import (
    LOSSES,
    GradientDescentClassifier,
    KernelClassifier,
    KernelRidge,
    LinearSVC,
    LogisticRegression,
    charts,
    regularization_path,
)
from separatrix.metrics import curves as curve_points
from separatrix.metrics import measure
from support.charting import channels, drawn, of, pixels_of, rows_of


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# Data


@pytest.mark.slow
def test_a_scatter_matrix_has_the_rows(iris, tmp_path):
    X, y = iris
    chart = charts.scatter_matrix(X, y, ["a", "b", "c", "d"])
    drawn(chart, tmp_path)
    points = [row for row in rows_of(chart) if "class" in row]
    assert len(points) == 150
    assert [points[3][f"f{j}"] for j in range(4)] == X[3].tolist()
    with pytest.raises(ValueError, match="4 features, so 4 names are needed"):
        charts.scatter_matrix(X, y, ["a"])


@pytest.mark.slow
def test_a_scatter_matrix_of_many_rows_and_features_stays_small(tmp_path):
    X, y = load_digits(return_X_y=True)
    chart = charts.scatter_matrix(X, y)
    drawn(chart, tmp_path)
    assert len(rows_of(chart)) < 650
    assert "6 of 64 features" in chart.to_dict()["title"]["subtitle"][0]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 7), (1000, 300), (40_000, 200)])
def test_spy_counts_the_non_zero_entries(shape, tmp_path):
    X = sp.random(*shape, density=0.01, format="csr", random_state=0)
    X.data[:1] = 0.0  # a stored zero does not count
    chart = charts.spy(X)
    drawn(chart, tmp_path)
    assert f"{np.count_nonzero(X.data):,} non-zero entr" in chart.to_dict()["description"]


def test_the_pixels_of_spy_are_the_entries():
    X = np.triu(np.ones((8, 8)))
    (row,) = rows_of(charts.spy(X))
    np.testing.assert_array_equal(pixels_of(row)[..., 3] / 255, X)


# Predictions


def test_the_confusion_matrix_has_the_counts_of_the_metrics(iris, tmp_path):
    X, y = iris
    predicted = LogisticRegression(C=0.01).fit(X, y).predict(X)
    chart = charts.confusion(y, predicted)
    drawn(chart, tmp_path)
    counts = measure(y, predicted, np.unique(y))["confusion"]
    for row in rows_of(chart):
        assert row["rows"] == counts[int(row["true"])][int(row["predicted"])]


def test_the_confusion_matrix_names_every_class_even_if_the_names_are_long():
    names = [f"a class with a long name {k}" for k in range(8)]
    (axis,) = {str(one.get("axis")) for one in channels(charts.confusion(names, names), "x")}
    assert "'labelOverlap': False" in axis


@pytest.mark.slow
@pytest.mark.parametrize("picture", [charts.roc, charts.precision_recall, charts.calibration])
def test_curves_of_predictions_are_drawn_for_two_and_for_many_classes(picture, iris, tmp_path):
    X, y = iris
    model = LogisticRegression().fit(X, y)
    drawn(picture(y, model.predict_proba(X)), tmp_path)
    two = y == 2
    P = LogisticRegression().fit(X, two).predict_proba(X)
    drawn(picture(two, P), tmp_path)
    drawn(picture(two, {"this": P, "other": P[:, ::-1]}), tmp_path)
    with pytest.raises(ValueError, match="150 labels and 149 rows"):
        picture(two, P[1:])
    with pytest.raises(ValueError, match="3 classes, but there is one score"):
        picture(y, P[:, 1])
    with pytest.raises(ValueError, match="All rows are of one class"):
        picture(np.ones(150, int), P[:, 1], classes=[0, 1])


def test_the_points_of_the_roc_curve_come_from_the_metrics(iris):
    X, y = iris
    scores = LinearSVC().fit(X, y == 1).decision_function(X)
    found = curve_points(y == 1, scores)
    (line,) = of(charts.roc(y == 1, scores), line="class True")
    np.testing.assert_allclose(line["x"], found["roc"]["false_positive_rate"], rtol=1e-5)
    np.testing.assert_allclose(line["y"], found["roc"]["true_positive_rate"], rtol=1e-5)


def test_scores_that_do_not_match_the_classes_are_refused():
    with pytest.raises(ValueError, match="y has 1 class, but there is one score per row"):
        charts.roc([0, 0], [0.1, 0.2])
    with pytest.raises(ValueError, match="y has 2 classes, but a row has 3 scores"):
        charts.roc([0, 1], np.zeros((2, 3)))


# Decision boundaries


@pytest.mark.slow
def test_the_boundary_is_where_the_scores_are_equal(iris, tmp_path):
    X, y = iris[0][:, 2:], iris[1]
    model = LogisticRegression(C=10.0).fit(X, y)
    chart = charts.boundary(model, X, y)
    drawn(chart, tmp_path)
    lines = of(chart, kind="boundary")
    assert len(lines) == 2
    for line in lines:
        ends = np.array([[line["left"], line["bottom"]], [line["right"], line["top"]]])
        Z = np.sort(model.decision_function(ends), axis=1)
        np.testing.assert_allclose(Z[:, -1], Z[:, -2], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_and_support_vectors_are_drawn(iris, loss, tmp_path):
    X, y = iris[0][50:, 2:], iris[1][50:]
    model = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
    chart = charts.boundary(model, X, y)
    drawn(chart, tmp_path)
    for line, level in zip(of(chart, kind="margin"), (-1.0, 1.0)):
        ends = np.array([[line["left"], line["bottom"]], [line["right"], line["top"]]])
        np.testing.assert_allclose(model.decision_function(ends), level, atol=1e-3)
    inside = model.decision_function(X) * np.where(y == 2, 1, -1) <= 1 + 1e-3
    rings = [row for row in rows_of(chart) if "x" in row and "class" not in row]
    assert [[r["x"], r["y"]] for r in rings] == X[inside].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_curved_boundary_is_where_two_classes_tie(iris, classes, tmp_path):
    X, y = iris[0][:, :2], np.minimum(iris[1], classes - 1)
    curved = make_pipeline(PolynomialFeatures(3), StandardScaler(), LogisticRegression()).fit(X, y)
    for model in (curved, KernelClassifier("hinge", gamma=1.0, multiclass="ovr").fit(X, y)):
        chart = charts.boundary(model, X, y)
        drawn(chart, tmp_path)
        tables = chart.to_dict()["datasets"].values()
        lines = [row for table in tables for row in table if "kind" in row]
        ends = np.array([[s["left"], s["bottom"]] for s in lines if s["kind"] == "boundary"])
        assert len(ends) > 20
        Z = model.decision_function(ends)
        scores = np.sort(np.stack([0 * Z, Z], axis=1) if classes == 2 else Z, axis=1)
        scale = np.abs(model.decision_function(X)).max()
        # If three classes meet within a cell of the grid, one may be slightly higher.
        assert np.quantile(scores[:, -1] - scores[:, -2], 0.9) < 0.02 * scale
        margins = [s for s in lines if s["kind"] == "margin"]
        assert bool(margins) == (classes == 2 and model is not curved)


@pytest.mark.slow
def test_boundaries_of_pipelines_are_drawn_and_other_estimators_are_refused(iris, tmp_path):
    X, y = iris[0][:, :2], iris[1]
    scaled = make_pipeline(StandardScaler(), LinearSVC(loss="hinge")).fit(X, y)
    drawn(charts.boundary(scaled, X, y), tmp_path)
    with pytest.raises(ValueError, match="must have two features"):
        charts.boundary(scaled, X[:, :1], y)
    with pytest.raises(NotFittedError, match="LogisticRegression instance is not fitted yet"):
        charts.boundary(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="must be a fitted classifier"):
        charts.boundary(3, X, y)
    with pytest.raises(TypeError, match="KernelRidge has no classes_ or no decision_function"):
        charts.boundary(KernelRidge().fit(X, y == y[0]), X, y)


@pytest.mark.slow
def test_frames_are_the_models_of_their_epochs(iris, tmp_path):
    X, y = StandardScaler().fit_transform(iris[0][50:, 2:]), iris[1][50:]
    estimator = GradientDescentClassifier(learning_rate=0.1, epochs=40, init=([[1.0, -1.0]], [0.5]))
    chart = charts.boundary_frames(estimator, X, y, [1, 10, 40])
    drawn(chart, tmp_path)
    (param,) = chart.to_dict()["params"]
    assert (param["name"], param["value"], param["bind"]["max"]) == ("frame", 2, 2)
    model = clone(estimator).set_params(epochs=10).fit(X, y)
    alone = of(charts.boundary(model, X, y), kind="boundary")
    same = of(chart, kind="boundary", frame=1)
    assert [line | {"frame": 1} for line in alone] == same
    assert len(same) == 1
    path = charts.save(chart, tmp_path / "moves.gif", scale=1)
    with Image.open(path) as picture:
        assert picture.n_frames == 3
    with pytest.raises(ValueError, match="with the parameter 'epochs'"):
        charts.boundary_frames(LogisticRegression(), X, y)


# Weights and losses


def surface(chart):
    """Return the rows of a path, and the subtitle with its formula."""
    return [row for row in rows_of(chart) if "order" in row], chart.to_dict()["title"]["subtitle"]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge", "sigmoid_mse"])
def test_a_path_has_the_weights_and_objectives_of_its_epochs(iris, loss, tmp_path):
    X, y = iris[0][50:, 2:], iris[1][50:]
    estimator = GradientDescentClassifier(loss, l2=0.1, learning_rate=0.1, epochs=30)
    chart = charts.weight_path(estimator, X, y, (1, "bias"))
    drawn(chart, tmp_path)
    points, lines = surface(chart)
    model, subtitle = estimator.fit(X, y), " ".join(lines)
    assert f"Objective: {model.objective()}. All other weights have" in subtitle
    assert [points[0]["x"], points[0]["y"]] == [0.0, 0.0]
    last = [model.coef_[0, 1], model.intercept_[0]]
    np.testing.assert_allclose([points[-1]["x"], points[-1]["y"]], last, rtol=1e-5)
    values = [point["value"] for point in points[1:]]
    np.testing.assert_allclose(values, model.history_["objective"], rtol=1e-5)


def test_the_lowest_point_of_a_surface_is_the_optimum(iris):
    X, y = StandardScaler().fit_transform(iris[0][50:, 2:]), iris[1][50:]
    best = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(X, y)
    estimator = GradientDescentClassifier(
        l2=1 / len(y), learning_rate=5.0, momentum=0.9, epochs=300, fit_intercept=False
    )
    chart = charts.weight_path(estimator, X, y)
    (lowest,) = [row for row in rows_of(chart) if "words" in row]
    (box,) = [row for row in rows_of(chart) if "url" in row]
    cell = np.array([box["right"] - box["left"], box["top"] - box["bottom"]]) / 48
    assert (np.abs([lowest["x"], lowest["y"]] - best.coef_[0]) < cell).all()


def test_the_shading_of_a_surface_grows_with_the_objective(iris):
    X, y = 1.0 + StandardScaler().fit_transform(iris[0][50:, 2:]), iris[1][50:]
    estimator = GradientDescentClassifier(l2=0.1, learning_rate=0.5, epochs=50)
    chart = charts.weight_path(estimator, X, y, (1, "bias"))
    (box,) = [row for row in rows_of(chart) if "url" in row]
    shade = pixels_of(box)[::20, ::20, 3].astype(int)
    height, width = pixels_of(box).shape[:2]
    across = box["left"] + (box["right"] - box["left"]) * (np.arange(0, width, 20) + 0.5) / width
    up = box["top"] - (box["top"] - box["bottom"]) * (np.arange(0, height, 20) + 0.5) / height
    first, sign = estimator.fit(X, y).coef_[0, 0], np.where(y == 2, 1, -1)
    values = np.array(
        [
            [
                np.log1p(np.exp(-sign * (X @ [first, second] + bias))).mean() + 0.05 * second**2
                for second in across
            ]
            for bias in up
        ]
    )
    ordered = shade.ravel()[np.argsort(values.ravel())]
    one_band = 256 / 14
    assert (np.maximum.accumulate(ordered) - ordered).max() < one_band
    assert len(np.unique(ordered)) > 10


@pytest.mark.slow
def test_paths_are_compared_over_one_surface_only(iris, tmp_path):
    X, y = iris[0][50:, 2:], iris[1][50:]
    plain, fast = (GradientDescentClassifier(epochs=20, momentum=mu) for mu in (0.0, 0.9))
    drawn(charts.weight_path({"plain": plain, "momentum": fast}, X, y), tmp_path)
    other = GradientDescentClassifier(epochs=20, l2=0.1)
    with pytest.raises(ValueError, match="different objectives"):
        charts.weight_path({"plain": plain, "other": other}, X, y)
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        charts.weight_path(plain, X, y, (0, 2))
    with pytest.raises(ValueError, match="There is no feature 'x9'"):
        charts.weight_path(plain, X, y, ("x0", "x9"))
    with pytest.raises(ValueError, match="must be different"):
        charts.weight_path(plain, X, y, ("x0", 0))
    with pytest.raises(TypeError, match="Got LogisticRegression"):
        charts.weight_path(LogisticRegression(), X, y)


@pytest.mark.slow
def test_all_losses_are_drawn(tmp_path):
    chart = charts.losses()
    drawn(chart, tmp_path)
    lines = {row["loss"]: row for row in rows_of(chart) if "loss" in row and "margin" in row}
    assert sorted(name for names in lines for name in names.split(", ")) == sorted(LOSSES)
    margins = np.array(lines["squared_hinge"]["margin"])
    np.testing.assert_allclose(
        lines["squared_hinge"]["value"], np.maximum(1 - margins, 0) ** 2, rtol=1e-4
    )
    same = next(names for names in lines if "logistic" in names)
    assert same == "logistic, softmax, softmax_reference"
    np.testing.assert_allclose(lines[same]["value"], np.log1p(np.exp(-margins)), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("standardize", [False, True])
def test_a_coefficient_path_has_the_weights_of_the_path(iris, standardize, tmp_path):
    X, y = iris
    path = regularization_path(X, y == 1, l1_ratio=1.0, Cs=8, standardize=standardize)
    chart = charts.coefficient_path(path, chosen=path.Cs[3])
    drawn(chart, tmp_path)
    scale = X.std(axis=0) if standardize else np.ones(4)
    for j in range(4):
        (line,) = of(chart, layer="line", feature=f"x{j}")
        np.testing.assert_allclose(line["C"], path.Cs, rtol=1e-5)
        np.testing.assert_allclose(line["value"], path.coefs[:, 0, j] * scale[j], atol=1e-5)


def test_a_coefficient_path_of_many_classes_has_a_chart_for_each(iris, tmp_path):
    chart = charts.coefficient_path(regularization_path(*iris, Cs=5))
    drawn(chart, tmp_path)
    assert {row["panel"] for row in rows_of(chart)} == {"class 0", "class 1", "class 2"}


def test_templates_are_the_weights(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(C=1e-3).fit(X, y)
    chart = charts.templates(model.coef_, (8, 8), model.classes_)
    drawn(chart, tmp_path)
    rows = rows_of(chart)
    assert [row["panel"] for row in rows] == [f"class {k}" for k in range(10)]
    seen, weights = pixels_of(rows[3]), model.coef_[3].reshape(8, 8)
    largest = np.quantile(np.abs(model.coef_), 0.998)
    expected = np.clip(np.abs(weights) / largest, 0, 1)
    np.testing.assert_allclose(seen[..., 3] / 255, expected, atol=0.003)
    bluer = seen[..., 2].astype(int) > seen[..., 0]
    np.testing.assert_array_equal(bluer[weights != 0], (weights > 0)[weights != 0])
    with pytest.raises(ValueError, match="weights per class: 64"):
        charts.templates(model.coef_, (28, 28))


@pytest.mark.parametrize(
    ("true", "words"),
    [("aab", "66.7 %. Most common error: a predicted as b (1 row)."), ("aabb", "50.0 %.")],
)
def test_the_most_common_error_is_named_if_no_other_is_as_common(true, words):
    chart = charts.confusion(list(true), list("abba"[: len(true)]))
    assert chart.to_dict()["description"].endswith(f"Accuracy {words}")
