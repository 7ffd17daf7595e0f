"""The history of a fit."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier
from separatrix.matrix import rows_read
from separatrix.solvers import RULES
from separatrix.training.recording.history import FIELDS
from support.training import X_VAL, Y_VAL, X, Y


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("rule", RULES)
def test_history_records_the_state_after_every_epoch(rule, batch_size):
    options = {"rule": rule, "momentum": 0.5, "l1": 0.01, "l2": 0.1, "batch_size": batch_size}
    options |= {"learning_rate": 0.2}
    history = GradientDescentClassifier(epochs=4, **options).fit(X, Y, None, X_VAL, Y_VAL).history_
    for epoch in range(4):
        model = GradientDescentClassifier(epochs=epoch + 1, **options).fit(X, Y)
        W, b = model.coef_.T, model.intercept_
        penalty = 0.01 * np.abs(W).sum() + 0.05 * (W**2).sum()
        for name, (A, y) in {"train": (X, Y), "val": (X_VAL, Y_VAL)}.items():
            loss = -np.log(model.predict_proba(A)[np.arange(len(y)), y]).mean()
            assert history[f"{name}_loss"][epoch] == pytest.approx(loss, rel=1e-12)
            assert history[f"{name}_accuracy"][epoch] == pytest.approx(model.score(A, y))
        assert history["objective"][epoch] == pytest.approx(
            history["train_loss"][epoch] + penalty, rel=1e-12
        )
        U = (model.predict_proba(X) - np.eye(3)[Y]) / len(Y)
        g = X.T @ U + 0.1 * W
        g = np.where(W == 0, np.maximum(np.abs(g) - 0.01, 0), g + 0.01 * np.sign(W))
        norm = np.sqrt((g**2).sum() + (U.sum(axis=0) ** 2).sum())
        assert history["gradient_norm"][epoch] == pytest.approx(norm, rel=1e-9)
        assert np.isfinite(b).all()


def test_history_has_one_value_per_epoch_and_increasing_seconds():
    history = GradientDescentClassifier(epochs=30).fit(X, Y).history_
    assert list(history) == list(FIELDS)
    assert all(len(history[name]) == 30 for name in FIELDS)
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["seconds"][-1] > history["seconds"][0] > 0
    assert np.isnan(history["val_loss"]).all()
    assert np.isnan(history["val_accuracy"]).all()


def test_history_becomes_a_frame_indexed_by_epoch():
    model = GradientDescentClassifier(epochs=3).fit(X, Y)
    frame = model.history_.to_frame()
    assert list(frame.index) == [1, 2, 3]
    assert frame.loc[3, "train_loss"] == model.history_["train_loss"][-1]
    assert frame.index.name == "epoch"


def test_a_history_longer_than_the_first_allocation_is_complete():
    long = GradientDescentClassifier(epochs=2500, learning_rate=1e-4).fit(X, Y)
    assert np.isfinite(long.history_["train_loss"]).all()
    assert long.history_.epochs == 2500
    short = GradientDescentClassifier(epochs=1500, learning_rate=1e-4).fit(X, Y)
    np.testing.assert_array_equal(long.history_["objective"][:1500], short.history_["objective"])


def test_recording_costs_no_extra_pass():
    def passes(epochs):
        before = np.array(rows_read())
        GradientDescentClassifier(epochs=epochs, gradient_tol=0.0).fit(X, Y)
        return np.array(rows_read()) - before

    np.testing.assert_array_equal(passes(30) - passes(20), [10 * len(Y), 10 * len(Y)])
