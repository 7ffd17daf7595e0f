"""The tables of the course's report on learning rates, epochs and momentum, recomputed."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, fit_many
from separatrix.matrix import rows_read
from support.course_tables import BINARY, BINARY_FILES, IRIS, IRIS_FILES


def load(folder):
    parts = [np.load(folder / f"{name}.npy") for name in ("train_x", "train_y", "val_x", "val_y")]
    X, y, X_val, y_val = parts
    return X, y.ravel(), X_val, y_val.ravel()


def compute(table, X, y, X_val, y_val):
    """All rows of a table as one call: their last train and validation losses and accuracies."""
    models = [
        GradientDescentClassifier(learning_rate=rate, epochs=epochs, momentum=momentum)
        for rate, epochs, momentum in table
    ]
    fit_many(models, X, y, None, X_val, y_val)
    names = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
    return {row: [m.history_[name][-1] for name in names] for row, m in zip(table, models)}


def assert_table(found, table):
    for row, expected in table.items():
        loss, accuracy, val_loss, val_accuracy = found[row]
        assert abs(loss - expected[0]) < 6e-5, row
        assert abs(val_loss - expected[2]) < 6e-5, row
        assert abs(100 * accuracy - expected[1]) < 0.005, row
        assert abs(100 * val_accuracy - expected[3]) < 0.005, row


@pytest.mark.data(*BINARY_FILES)
def test_the_binary_table_is_reproduced_in_one_call(data_dir):
    found = compute(BINARY, *load(data_dir / "cs725" / "binary"))
    assert_table(found, BINARY)


@pytest.mark.data(*IRIS_FILES)
def test_the_iris_table_is_reproduced_in_one_call(data_dir):
    assert_table(compute(IRIS, *load(data_dir / "cs725" / "iris")), IRIS)


@pytest.mark.data(*BINARY_FILES)
def test_the_binary_losses_of_the_report_are_in_base_ten(data_dir):
    published = {
        (1e-2, 100, 0.0): 0.19,
        (1e-2, 250, 0.0): 0.13,
        (1e-2, 500, 0.0): 0.10,
        (1e-2, 1000, 0.0): 0.08,
        (1e-1, 500, 0.0): 0.05,
        (1e-2, 1000, 0.9): 0.05,
    }
    found = compute(published, *load(data_dir / "cs725" / "binary"))
    for row, printed in published.items():
        assert round(found[row][0] / np.log(10), 2) == printed, row
    assert found[1e-2, 100, 0.0][0] / np.log(10) == pytest.approx(0.187, abs=5e-4)


@pytest.mark.data(*IRIS_FILES)
def test_the_last_iris_table_of_the_report_is_of_500_epochs(data_dir):
    data = load(data_dir / "cs725" / "iris")
    found = compute([(1e-4, 500, 0.9), (1e-4, 1000, 0.9)], *data)
    assert round(found[1e-4, 500, 0.9][0], 2) == 0.85  # as printed, under a caption of 1000
    assert abs(found[1e-4, 1000, 0.9][0] - 0.85) > 0.1


@pytest.mark.data(*IRIS_FILES)
def test_the_whole_table_reads_the_data_as_often_as_its_longest_run(data_dir):
    X, y, X_val, y_val = load(data_dir / "cs725" / "iris")

    def rows(table):
        before = rows_read()[1]
        compute(table, X, y, X_val, y_val)
        return rows_read()[1] - before

    # What is not training (certificates, limits of the rate) is shared too.
    assert rows(IRIS) <= rows([(1e-2, 1000, 0.0)]) + 100 * len(y)


@pytest.mark.data(*IRIS_FILES)
def test_one_against_the_rest_beside_softmax_on_iris(data_dir):
    X, y, X_val, y_val = load(data_dir / "cs725" / "iris")
    options = {"learning_rate": 0.1, "epochs": 1000}
    softmax, ovr = fit_many(
        [GradientDescentClassifier(**options),
         GradientDescentClassifier("logistic", multiclass="ovr", **options)],
        X, y,
    )  # fmt: skip
    assert softmax.score(X_val, y_val) >= 0.96
    assert ovr.score(X_val, y_val) >= 0.92
    assert ovr.coef_.shape == softmax.coef_.shape == (3, 4)


def test_small_rates_leave_the_loss_at_that_of_a_guess():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    slow = GradientDescentClassifier(learning_rate=1e-6, epochs=250).fit(X, y)
    assert slow.history_["train_loss"][-1] == pytest.approx(np.log(3), abs=1e-3)
