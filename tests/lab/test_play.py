"""A play trains what the estimators train, and judges it as they do."""

import numpy as np
import pytest
from sklearn.base import clone

from separatrix import load
from separatrix.errors import ParameterError
from separatrix.lab.details import Axis, explained_point, loss_surface, step_numbers, verdicts
from separatrix.lab.play import Play, diverged_at
from separatrix.lab.plays import LabState, describe_play, grid_features
from separatrix.lab.settings import read_settings

EPOCHS = 30


def make_play(**given):
    return Play(read_settings(given, lambda key: load("iris")))


@pytest.mark.parametrize("features", ["linear", "cubes", "rbf"])
@pytest.mark.parametrize(
    "models",
    [
        [{"learning_rate": r, "momentum": m} for r in (0.01, 0.3) for m in (0.0, 0.9)],
        [{"loss": "softmax"}, {"loss": "hinge", "l2": 0.1}, {"loss": "squared", "rule": "adam"}],
        [{"batch_size": 5, "l1": 0.01}, {"batch_size": 1}, {"rule": "nesterov", "momentum": 0.5}],
    ],
)
def test_every_epoch_has_the_weights_of_the_estimators_fit(models, features):
    play = make_play(
        data={"kind": "blobs", "classes": 3, "count": 60}, models=models, features=features
    )
    points = play.settings.points
    X, y = play.features[points.train], points.y[points.train]
    play.epochs(0, EPOCHS + 1)
    for k, model in enumerate(play.settings.models):
        fitted = clone(model).set_params(epochs=EPOCHS).fit(X, y)
        found = play.weights(k, EPOCHS)
        np.testing.assert_allclose(found.W[:, 0].T, fitted.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.b[0], fitted.intercept_, rtol=1e-5, atol=1e-6)
        measures = play.measures(k, EPOCHS)
        np.testing.assert_allclose(
            measures["objective"][1:], fitted.history_["objective"], rtol=1e-5
        )


def test_epochs_are_the_same_in_whatever_pieces_they_are_asked_for():
    models = [{"learning_rate": 0.3}, {"loss": "hinge"}]
    whole = make_play(models=models).epochs(0, 21)
    play = make_play(models=models)
    later = play.epochs(15, 6)
    np.testing.assert_array_equal(later, whole[15:])
    np.testing.assert_array_equal(play.epochs(0, 15), whole[:15])


def test_diverged_models_are_judged_where_they_diverged():
    play = make_play(
        data={"kind": "moons", "count": 80},
        models=[{"loss": "squared", "learning_rate": 20.0}, {"learning_rate": 0.1}],
    )
    bad, good = verdicts(play, 200)
    assert [d["kind"] for d in bad["diagnoses"]][:1] == ["diverged"]
    assert "diverged" not in [d["kind"] for d in good["diagnoses"]]
    assert np.isfinite(bad["objective"])
    assert not step_numbers(play, 0, 200)["rows"]


def test_a_divergence_is_noticed_by_the_rule_of_the_training_loop():
    assert diverged_at(np.array([1.0, 0.5, 2.0, 20.0, 0.3])) is None
    assert diverged_at(np.array([1.0, *[20.0] * 10])) == 10
    assert diverged_at(np.array([1.0, np.nan, 1.0])) == 1
    assert diverged_at(np.array([1.0, *[20.0] * 20]), descends=False) is None


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_perceptron_whose_loss_starts_at_zero_has_not_diverged(batch_size):
    play = make_play(
        data={"kind": "blobs", "count": 100, "noise": 0.5, "classes": 2},
        models=[{"loss": "perceptron", "batch_size": batch_size}],
    )
    assert play.measures(0, 0)["objective"][0] == 0.0
    assert "diverged" not in [one["kind"] for one in verdicts(play, 300)[0]["diagnoses"]]


def test_the_step_and_the_curves_have_the_same_gradient_up_to_its_rounding_errors():
    play = make_play(
        models=[{"l2": 0.1, "learning_rate": 1.0}], data={"kind": "moons", "count": 60}
    )
    for epoch in (0, 10, 100, 800):
        slopes = [row["gradient"] for row in step_numbers(play, 0, epoch)["rows"]]
        norm = play.measures(0, epoch)["gradient_norm"][-1]
        assert np.linalg.norm(slopes) == pytest.approx(norm, rel=1e-6, abs=1e-15)
    assert norm < 1e-12


def test_a_verdict_has_the_names_of_the_classes_and_axes_of_the_file():
    play = make_play(data={"kind": "file", "file": "key"}, models=[{"learning_rate": 1.0}])
    (found,) = verdicts(play, 50)
    assert "class setosa is separated" in " ".join(d["message"] for d in found["diagnoses"])
    assert [row["name"] for row in step_numbers(play, 0, 0)["rows"]][:3] == ["PC1", "PC2", "bias"]
    assert 0.0 < found["safe_rate"] < 10.0


def test_the_step_of_mini_batches_is_told_from_the_change_of_an_epoch():
    models = [{"batch_size": 1}, {}, {"batch_size": 60, "l1": 0.5}]
    play = make_play(data={"kind": "moons"}, models=models)
    single, whole, large = (step_numbers(play, m, 3)["formula"] for m in range(3))
    assert single.endswith("the change is that of an epoch: 140 such steps.")
    assert whole == "w = w - 0.1 g, with g the gradient."
    assert large.startswith("w = w - 0.1 g, and then 0.05 towards 0 (not past it)")
    assert large.endswith("an epoch: 3 such steps.")
    rates = [found["safe_rate"] for found in verdicts(play, 3)]
    assert [rate is None for rate in rates] == [True, False, True]


def has_overfitted(play, epoch):
    return [
        any(one["kind"] == "overfitting" for one in found["diagnoses"])
        for found in verdicts(play, epoch)
    ]


def test_the_noise_of_mini_batches_is_not_overfitting():
    # The validation loss rises, but the training loss only swings.
    model = {"batch_size": 1, "learning_rate": 0.3}
    play = make_play(data={"kind": "moons"}, features="squares", models=[model])
    assert has_overfitted(play, 500) == [False]


def test_a_rise_on_a_few_validation_points_is_no_evidence_of_overfitting():
    models = [{"learning_rate": 0.1, "momentum": 0.9}, {"learning_rate": 0.3}]
    play = make_play(
        data={"kind": "moons", "count": 30, "noise": 0.3}, features="cubes", seed=3, models=models
    )
    assert (~play.settings.points.train).sum() == 10
    assert has_overfitted(play, 300) == [True, False]


def test_the_gap_of_a_penalised_model_bounds_its_distance_from_the_optimum():
    play = make_play(
        models=[{"l2": 0.1, "learning_rate": 1.0}], data={"kind": "moons", "count": 60}
    )
    early, late = verdicts(play, 5)[0], verdicts(play, 2000)[0]
    assert late["gap"] < 1e-6
    assert early["objective"] - late["objective"] <= early["gap"]


def test_the_surface_has_the_objective_at_the_weights():
    play = make_play(models=[{"l2": 0.01}], data={"kind": "moons", "count": 40})
    found = loss_surface(play, 0, 10, [Axis(0, 0), Axis(2, 0)])
    rows, columns = found["shape"]
    values = np.array(found["values"]).reshape(rows, columns)
    xs, ys = np.linspace(*found["x"], columns), np.linspace(*found["y"], rows)
    model, objective = play.weights(0, 10), play.objective(0)
    for r, c in ((0, 0), (rows - 1, 3), (7, columns - 1)):
        model.W[0, 0, 0], model.b[0, 0] = xs[c], ys[r]
        assert values[r, c] == pytest.approx(objective.value(model)[0], rel=1e-10)
    assert found["names"] == ["weight of x", "bias"]


def test_the_explanation_of_a_point_has_its_loss():
    play = make_play(models=[{}], data={"kind": "moons", "count": 40})
    found = explained_point(play, 0, 10, (0.5, -1.0), 1)
    model = play.weights(0, 10)
    z = 0.5 * model.W[0, 0, 0] - model.W[1, 0, 0] + model.b[0, 0]
    assert found["scores"] == [pytest.approx(z)]
    assert found["graph"]["nodes"][-1]["value"] == pytest.approx(np.logaddexp(0.0, -z))


def test_pixels_go_from_the_top_left_to_the_bottom_right():
    play = make_play(models=[{}], data={"kind": "moons", "count": 40})
    grid = grid_features(play, 2.0, 4)
    np.testing.assert_allclose(grid[0], [-1.5, 1.5])
    np.testing.assert_allclose(grid[-1], [1.5, -1.5])
    np.testing.assert_allclose(grid[1], [-0.5, 1.5])


def test_a_file_is_shown_in_two_columns_or_two_components():
    data = {"kind": "file", "file": "key"}
    plain = make_play(data=data)
    assert describe_play(plain)["axes"] == ["PC1", "PC2"]
    names = ["petal length (cm)", "petal width (cm)"]
    two = make_play(data=data | {"columns": names}).settings.points
    assert list(two.axes) == names
    np.testing.assert_allclose(two.X[two.train].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(two.X[two.train].std(axis=0), 1.0)
    source = load("iris")
    original = two.X * two.scale + two.centre
    assert {tuple(row) for row in original.round(6)} <= {
        tuple(row) for row in source.table[:, 2:].round(6)
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "must be a JSON object"),
        ({"models": []}, "1 to 100 models"),
        ({"models": [{}] * 101}, "1 to 100 models"),
        ({"models": [{"learning_rate": "fast"}]}, "learning_rate"),
        ({"models": [{"loss": "cauchy"}]}, "'loss'"),
        ({"models": [{"epochs": 3}]}, "cannot have 'epochs'"),
        ({"models": [{"momentum": 2.0}]}, "momentum"),
        ({"models": [{"init": [[1.0], [2.0]]}]}, "init"),
        ({"data": {"kind": "moon"}}, "'kind'"),
        ({"data": {"kind": "moons", "count": 1e9}}, "'count'"),
        ({"data": {"kind": "moons", "path": "/etc/passwd"}}, "cannot have 'path'"),
        ({"data": {"kind": "drawn"}}, "list of at most"),
        ({"data": {"kind": "drawn", "points": [[0, 0, 0]]}}, "at least two classes"),
        ({"data": {"kind": "drawn", "points": [[0, 0, 0.5], [1, 1, 1]]}}, "whole class numbers"),
        ({"data": {"kind": "drawn", "points": [[1e9, 0, 0], [1, 1, 1]]}}, "coordinates"),
        ({"data": {"kind": "file", "file": "k", "columns": ["a", "b"]}}, "no column 'a'"),
        ({"features": "sin"}, "'features'"),
        ({"gamma": -1.0}, "'gamma'"),
        ({"seed": -1}, "'seed'"),
    ],
)
def test_wrong_settings_are_refused_in_words(given, words):
    with pytest.raises((ParameterError, ValueError), match=words):
        Play(read_settings(given, lambda key: load("iris")))


def test_a_lab_forgets_the_oldest_plays():
    state = LabState()
    keys = [state.start({"data": {"kind": "moons", "count": 20}})["id"] for _ in range(10)]
    with pytest.raises(KeyError):
        state.play(keys[0])
    assert state.play(keys[-1])
