"""Titles, axes, keys, labels and shades of charts say what is drawn."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    charts,
    explain,
    regularization_path,
)
from separatrix.charts.drawing.row_choice import separation
from separatrix.charts.drawing.saving import frame_durations
from separatrix.charts.drawing.sizes import resized
from separatrix.charts.drawing.theme import ORDERED
from separatrix.training.recording.history import History
from support.charting import channels, of, rows_of

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def subtitle(chart):
    return " ".join(chart.to_dict()["title"]["subtitle"])


def axis_titles(chart):
    found = [channel.get("title") for axis in ("x", "y") for channel in channels(chart, axis)]
    return {title for title in found if title}


def legends(chart):
    """The titles of all legends that are shown."""
    every = [c["legend"] for name in ("color", "opacity") for c in channels(chart, name)]
    return {legend["title"] for legend in every if legend and legend.get("title")}


# Decision boundaries


def test_a_boundary_of_many_features_holds_the_others_at_their_means(iris):
    X, y = iris
    model = LogisticRegression(C=10.0).fit(X, y)
    chart = charts.boundary(model, X, y, NAMES, features=(3, "petal length"))
    assert {"petal width", "petal length"} <= axis_titles(chart)
    assert "The 2 other features are held at their means" in subtitle(chart)
    for line in of(chart, kind="boundary"):
        rows = np.tile(X.mean(axis=0), (2, 1))
        rows[:, 3], rows[:, 2] = [line["left"], line["right"]], [line["bottom"], line["top"]]
        Z = np.sort(model.decision_function(rows), axis=1)
        np.testing.assert_allclose(Z[:, -1], Z[:, -2], atol=1e-3)
    with pytest.raises(ValueError, match="There is no feature 'leaf'"):
        charts.boundary(model, X, y, NAMES, features=("leaf", 0))
    with pytest.raises(ValueError, match="must be different"):
        charts.boundary(model, X, y, NAMES, features=(0, "sepal length"))


def test_a_boundary_of_sparse_rows_equals_that_of_dense_rows(iris):
    X, y = iris
    model = LogisticRegression().fit(X, y)
    dense, thin = (charts.boundary(model, rows, y, NAMES) for rows in (X, sp.csr_array(X)))
    lines = [[json.dumps(line) for line in of(chart, kind="boundary")] for chart in (dense, thin)]
    assert lines[0] == lines[1]


def test_the_features_that_separate_best_are_drawn(iris):
    X, y = iris
    assert set(np.argsort(-separation(X, y))[:2]) == {2, 3}
    np.testing.assert_allclose(separation(sp.csr_array(X), y), separation(X, y), rtol=1e-9)
    chart = charts.boundary(LogisticRegression().fit(X, y), X, y, NAMES)
    assert {"petal width", "petal length"} <= axis_titles(chart)


def test_a_boundary_names_its_model_and_explains_its_shades_and_lines(iris):
    X, y = iris[0][:, 2:], iris[1]
    chart = charts.boundary(LogisticRegression(C=10.0).fit(X, y), X, y)
    assert chart.to_dict()["title"]["text"] == "Decision boundary of LogisticRegression, C 10"
    assert "probability of the predicted class" in legends(chart)
    machine = charts.boundary(LinearSVC(loss="hinge").fit(X[50:], y[50:]), X[50:], y[50:])
    assert "Shades: predicted class." in subtitle(machine)
    shown = [c["legend"] for c in channels(machine, "strokeDash") if c.get("legend")]
    assert [c["scale"]["domain"] for c in channels(machine, "strokeDash")] == [
        ["boundary", "margin"]
    ]
    assert len(shown) == 1


def test_many_rows_are_thinned_and_counted():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X[:, :2], (6, 1)), np.tile(y, 6)
    chart = charts.boundary(LogisticRegression().fit(X, y), X, y)
    drawn = [row for row in rows_of(chart) if "class" in row]
    assert len(drawn) < 1510
    assert f"Drawn: {len(drawn):,} of 3,414 rows." in subtitle(chart)


def test_frames_of_a_pipeline_are_drawn_in_the_units_of_the_rows(iris):
    X, y = iris[0][:, 2:], iris[1]
    descent = GradientDescentClassifier(learning_rate=0.5, epochs=20)
    chart = charts.boundary_frames(make_pipeline(StandardScaler(), descent), X, y, [1, 20])
    model = make_pipeline(StandardScaler(), descent).fit(X, y)
    alone = of(charts.boundary(model, X, y), kind="boundary")
    same = [line | {"frame": 0} for line in of(chart, kind="boundary", frame=1)]
    assert same == alone
    assert subtitle(chart) == "GradientDescentClassifier, epochs 20, learning rate 0.5."
    texts = {row["text"].partition(",")[0] for row in rows_of(chart) if "text" in row}
    assert texts == {"epoch 1", "epoch 20"}


@pytest.mark.parametrize("frames", [1, 2, 3, 24, 60])
def test_an_animation_takes_its_time_and_shows_the_first_frames_longest(frames):
    *moving, last = frame_durations(frames, 8.0)
    assert last == 2000
    assert sorted(moving, reverse=True) == moving
    if frames > 1:
        assert sum(moving) == pytest.approx(8000, abs=frames)


# Weights


def test_the_axes_of_a_weight_path_name_the_weights_and_their_class(iris):
    X, y = iris
    model = GradientDescentClassifier(l2=0.1, learning_rate=0.1, epochs=5)
    chart = charts.weight_path(model, X, y, (2, "bias"), output=1, names=NAMES)
    assert axis_titles(chart) == {"weight of petal length, class 1", "bias, class 1"}
    assert subtitle(chart).startswith("GradientDescentClassifier, epochs 5, l2 0.1")
    assert "objective" in legends(chart)
    two = charts.weight_path(model, X[50:], y[50:], (2, "bias"), names=NAMES)
    assert axis_titles(two) == {"weight of petal length", "bias"}


def test_named_weights_of_a_coefficient_path_differ_in_colour(iris):
    X, y = iris
    path = regularization_path(X, y == 1, l1_ratio=1.0, Cs=5)
    chart = charts.coefficient_path(path, names=NAMES, top=2)
    labels = of(chart, layer="label")
    assert len({row["feature"] for row in labels}) == len(labels) == 2
    assert {row["feature"] for row in labels} <= set(NAMES)
    scale = channels(chart, "color")[0]["scale"]
    assert scale["domain"][1:] == [row["hue"] for row in labels]
    assert len(set(scale["range"])) == 3


# Training curves


def falling(length, start, rate):
    """A history whose training loss falls or grows by a constant factor."""
    names = ("objective", "train_loss", "val_loss", "train_accuracy", "val_accuracy")
    curve = start * rate ** np.arange(length)
    return History(dict.fromkeys((*names, "gradient_norm"), curve))


def test_many_curves_have_ordered_shades(iris):
    runs = {f"run {k}": falling(20, 1.0, 0.99 - 0.01 * k) for k in range(30)}
    chart = charts.curves(runs)
    shades = {}
    for row in of(chart, layer="line", part="training"):
        shades[int(row["run"].split()[0])] = row["colour"]
    ((domain, colours),) = {
        (tuple(c["scale"]["domain"]), tuple(c["scale"]["range"])) for c in channels(chart, "color")
    }
    hue = dict(zip(domain, colours))
    best = next(k for k, name in shades.items() if name == "training")
    order = [ORDERED.index(hue[name]) for k, name in sorted(shades.items()) if k != best]
    assert order == sorted(order)
    assert len(set(order)) == len(ORDERED)
    legend = channels(chart, "color")[0]["legend"]
    assert len([name for name in legend["values"] if name.startswith("run")]) == 3


def test_a_diverged_curve_ends_where_it_leaves_the_chart():
    gone = falling(30, 1.0, 2.0)
    gone = History({**gone, "train_loss": np.append(gone["train_loss"][:-1], np.inf)})
    chart = charts.curves({"good": falling(30, 1.0, 0.9), "bad": gone}, layout="overlaid")
    top = channels(chart, "y")[0]["scale"]["domain"][1]
    (line,) = [row for row in of(chart, layer="line", part="training") if row["words"] == "bad"]
    assert line["colour"] == "diverged"
    assert sum(value > top for value in line["value"]) == 1
    (mark,) = of(chart, layer="cross", part="training")
    assert mark["epoch"] == [line["epoch"][-1]]
    assert top < 2.0


def test_a_jump_of_a_small_batch_does_not_compress_the_other_curves():
    jumping = falling(50, 1.0, 0.9)
    jumping = History({**jumping, "train_loss": np.append([60.0], jumping["train_loss"][1:])})
    chart = charts.batches({None: falling(50, 1.0, 0.95), 1: jumping}, 100)
    assert channels(chart, "y")[0]["scale"]["domain"][1] < 2.0


# Themes and sizes


def colours_of(chart):
    found = json.dumps(
        {k: v for k, v in chart.to_dict().items() if k not in ("datasets", "config")}
    )
    return {part[:7] for part in found.split('"') if part.startswith("#")}


def test_a_dark_theme_lightens_the_colours_of_marks_and_back(tmp_path):
    light = charts.losses()
    charts.set_theme("dark")
    try:
        dark = charts.losses()
    finally:
        charts.set_theme("light")
    assert "#0072B2" in colours_of(light)
    assert "#0072B2" not in colours_of(dark)
    # The numbers of clip paths count the pictures drawn so far.
    saved = [
        re.sub(r"clip\d+", "clip", charts.save(chart, tmp_path / "a.svg", theme=theme).read_text())
        for chart, theme in ((light, "dark"), (dark, "dark"), (light, "light"), (dark, "light"))
    ]
    assert saved[0] == saved[1]
    assert saved[2] == saved[3]
    assert saved[0] != saved[2]


def test_resizing_keeps_the_proportions_of_panels_and_wraps_the_text():
    story = explain.perceptron([[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1])
    chart = charts.perceptron_mistakes(story)
    narrow = resized(chart, 100)
    assert [panel.width for panel in narrow.hconcat] == [100, 100]
    words = " ".join(narrow.title.subtitle)
    assert words == " ".join(chart.title.subtitle)
    assert max(map(len, narrow.title.subtitle)) < max(map(len, chart.title.subtitle))
    assert [panel.width for panel in chart.hconcat] == [300, 300]
