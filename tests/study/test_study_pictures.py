"""What a study stores for its report: a sample, predictions, weights of epochs, failed steps."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import GradientDescentClassifier, Study
from separatrix.data import Dataset
from separatrix.study.running import failed_steps
from separatrix.workflow.pictures.data_sample import FEATURES, ROWS, draw_sample
from support.studies import facts_of, iris

START = {"softmax": np.log(3), "squared": 0.5}  # the objective at zero weights, three classes
GOLDEN = Path(__file__).parents[1] / "golden"


def two_features(seed=0, n=90):
    """Rows of three classes with two features, for training and validation."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y] + rng.standard_normal((n, 2))
    return X[::2], y[::2], X[1::2], y[1::2]


def run(store, grid, rows, name="study", **options):
    study = Study(name, GradientDescentClassifier(), grid, store=store)
    return study.run(*rows, **options).facts()


def same_arrays(one, other):
    """Require that two parts of the pictures are equal bit for bit."""
    assert vars(one).keys() == vars(other).keys()
    for name, value in vars(one).items():
        assert np.array_equal(value, vars(other)[name]), name


def test_frames_are_the_weights_of_models_trained_to_their_epochs(tmp_path):
    rows = two_features()
    grid = {"learning_rate": [0.01, 0.5], "epochs": [20, 60]}
    facts = run(tmp_path / "a.db", grid, rows)
    best = facts.rows[facts.verdict.best]
    frames = facts.pictures.frames
    assert frames.epochs[:3].tolist() == [1, 2, 3]
    assert frames.epochs[-1] <= best.epochs
    for k in (0, 5, len(frames.epochs) - 1):
        parameters = {**best.parameters, "epochs": int(frames.epochs[k])}
        alone = GradientDescentClassifier(**parameters).fit(*rows[:2])
        expected = np.column_stack([alone.coef_, alone.intercept_]).astype(np.float32)
        assert np.array_equal(frames.weights[k], expected)


def test_a_resumed_study_has_the_same_pictures(tmp_path):
    rows, grid = two_features(), {"learning_rate": [0.1, 50.0], "epochs": [80]}
    whole = run(tmp_path / "a.db", grid, rows)

    def stop(epochs):
        if epochs[0].epoch == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b.db", grid, rows, on_epoch=stop)
    resumed = run(tmp_path / "b.db", grid, rows, resume=True)
    for part in ("sample", "failure", "frames"):
        found = getattr(whole.pictures, part)
        assert found is not None, part
        same_arrays(found, getattr(resumed.pictures, part))


def test_only_data_of_two_features_keeps_frames(tmp_path):
    assert run(tmp_path / "a.db", {"learning_rate": [0.1]}, iris()).pictures.frames is None


def test_confusion_and_calibration_count_every_validation_row(tmp_path):
    facts = run(tmp_path / "a.db", {"learning_rate": [0.1], "epochs": [50]}, two_features())
    confusion, calibration = facts.pictures.confusion, facts.pictures.calibration
    n = facts.data.rows["validation"]
    assert confusion.sum() == calibration[:, 2].sum() == n
    assert np.trace(confusion) / n == facts.rows[0].last["val_accuracy"]
    assert facts.pictures.link == "softmax"
    assert (
        (calibration[:, 3] <= calibration[:, 1]) & (calibration[:, 1] <= calibration[:, 4])
    ).all()


def test_a_study_without_validation_rows_has_no_predictions(tmp_path):
    facts = run(tmp_path / "a.db", {"learning_rate": [0.1]}, iris()[:2])
    assert facts.pictures.confusion is None
    assert facts.pictures.calibration is None
    assert facts.pictures.sample is not None


@pytest.mark.parametrize("loss", ["softmax", "squared"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_failed_steps_join_the_objectives_of_the_history(tmp_path, loss, momentum):
    study = Study(
        "failing",
        GradientDescentClassifier(loss, momentum=momentum, epochs=40),
        {"learning_rate": [0.01, 10.0, 1e6]},
        store=tmp_path / "a.db",
    )
    facts = study.run(*iris()).facts()
    failure = facts.pictures.failure
    assert facts.rows[failure.number].parameters == {"learning_rate": 10.0}  # the mildest
    history = facts.histories[failure.number][0]["objective"]
    assert np.allclose(failure.objectives[:, -1], history[failure.epochs[1:] - 1])
    assert np.allclose(failure.objectives[1:, 0], failure.objectives[:-1, -1])
    inside = failure.objectives[:, 1:-1]
    largest = np.maximum(failure.objectives[:, 0], failure.objectives[:, -1])
    assert (inside <= largest[:, None] * (1 + 1e-9)).all()  # the objective is convex
    assert failure.objectives.max() > 2 * START[loss]
    assert (failure.unit, failure.rate) == ("step", 10.0)


def test_steps_that_take_too_long_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(failed_steps, "SMALL", 0)
    grid = {"learning_rate": [10.0], "epochs": [40]}
    facts = run(tmp_path / "a.db", grid, iris())
    assert facts.rows[0].diverged
    assert facts.pictures.failure is None


def test_the_sample_is_bounded_and_has_the_features_that_separate_the_classes():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    X = rng.standard_normal((1000, 50))
    X[:, [7, 30]] += 5.0 * y[:, None]
    dense = draw_sample(Dataset.of(X, y), None)
    assert dense.rows.shape == (ROWS, FEATURES)
    assert {7, 30} <= set(dense.columns.tolist())
    assert dense.class_rows.tolist() == [500, 500]
    same_arrays(dense, draw_sample(Dataset.of(sp.csr_array(X), y), None))


def test_a_store_of_the_first_version_has_no_pictures(tmp_path):
    path = tmp_path / "v1.db"
    shutil.copy(GOLDEN / "study-v1.db", path)
    pictures = facts_of(path, "golden").pictures
    assert all(not value for value in vars(pictures).values() if not isinstance(value, np.ndarray))
    assert pictures.confusion is None
