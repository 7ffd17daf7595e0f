"""When a fit stops (epochs, tolerances, time, patience), and which weights it keeps."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, LogisticRegression, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Gradient
from separatrix.training import Stop, run
from support.training import X_VAL, Y_VAL, X, Y, bits


def test_epochs_stop_a_run():
    model = GradientDescentClassifier(epochs=7).fit(X, Y)
    assert (model.stop_reason_, model.n_iter_, model.best_epoch_) == ("epochs", 7, 7)


def test_a_small_gradient_stops_a_run_at_the_first_such_epoch():
    model = GradientDescentClassifier(
        l2=0.1, learning_rate=0.3, gradient_tol=1e-3, epochs=5000
    ).fit(X, Y)
    norms = model.history_["gradient_norm"]
    assert model.stop_reason_ == "gradient_tol"
    assert norms[-1] <= 1e-3 < norms[:-1].min()


def test_a_small_step_stops_a_run_at_the_first_such_epoch():
    options = {"l2": 0.1, "learning_rate": 0.3}
    model = GradientDescentClassifier(step_tol=1e-3, epochs=5000, **options).fit(X, Y)
    assert model.stop_reason_ == "step_tol"
    n = model.n_iter_
    states = fit_many(
        [GradientDescentClassifier(epochs=e, **options) for e in (n - 2, n - 1, n)], X, Y
    )
    flat = [np.r_[m.coef_.ravel(), m.intercept_] for m in states]
    assert np.abs(flat[2] - flat[1]).max() <= 1e-3 < np.abs(flat[1] - flat[0]).max()


def test_a_moving_bias_is_a_step():
    y = np.arange(40) % 10 == 0
    model = GradientDescentClassifier(l1=10.0, learning_rate=1.0, step_tol=1e-8, epochs=1000)
    model.fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_[0] == pytest.approx(np.log(0.1 / 0.9), rel=1e-6)


def test_a_time_limit_stops_a_run():
    model = GradientDescentClassifier(epochs=10**7, time_limit=0.05).fit(X, Y)
    assert model.stop_reason_ == "time_limit"
    assert model.history_["seconds"][-1] >= 0.05
    assert (model.history_["seconds"][:-1] < 0.05).all()


def scripted(scores, **options):
    """A run whose validation losses (and negative accuracies) are the given scores."""

    class Script:
        def __init__(self):
            self.at, self.data = 0, data.data

        def loss_and_accuracy(self, model):
            value = scores[min(self.at, len(scores) - 1)]
            self.at += 1
            B = model.n_models
            return np.full(B, value), np.full(B, -value)

        def select(self, models):
            return self

    data = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.1]), np.array([0.0]), np.array([0.0]))
    patience = np.array([options.pop("patience")])
    stop = Stop(epochs=((20,),), patience=patience, **options)
    return run(solver, data, Model.zeros(3, 1, 3), stop, validation=Script())[0][0]


@pytest.mark.parametrize("monitor", ["loss", "accuracy"])
@pytest.mark.parametrize(
    ("rule", "patience", "scores", "epochs", "best"),
    [
        # no improvement over the best, P times in a row
        ("best", 1, [3, 2, 4, 1], 3, 2),
        ("best", 2, [3, 2, 4, 1, 5, 6], 6, 4),
        ("best", 2, [3, 2, 2, 2], 4, 2),
        ("best", 3, [5, 6, 5.5, 5.2, 5.1], 4, 1),
        ("best", 0, [3, 2, 4], 3, 2),  # the same as 1
        # more than P rises in a row; any fall, even above the best, restarts the count
        ("consecutive", 0, [3, 2, 4, 1], 3, 2),
        ("consecutive", 1, [3, 2, 4, 1, 2, 3], 6, 4),
        ("consecutive", 2, [1, 2, 3, 2.5, 3, 4, 5], 7, 1),
        ("consecutive", 1, [1, 2, 2, 3, 3.5], 5, 1),
        ("consecutive", 3, [5, 6, 7, 8, 9], 5, 1),
    ],
)
def test_patience_waits_as_its_rule_says(rule, patience, scores, epochs, best, monitor):
    found = scripted(scores, patience=patience, patience_rule=rule, monitor=monitor)
    assert (found.stop_reason, found.history.epochs, found.best_epoch) == ("patience", epochs, best)


@pytest.mark.parametrize("rule", ["best", "consecutive"])
def test_patience_counts_measurements_and_not_epochs(rule):
    found = scripted([3, 2, 4, 5, 6], patience=1, patience_rule=rule, validate_every=3)
    measured = {"best": 3, "consecutive": 4}[rule]
    assert found.history.epochs == 3 * measured
    assert found.best_epoch == 6
    at = np.flatnonzero(~np.isnan(found.history["val_loss"])) + 1
    np.testing.assert_array_equal(at, 3 * np.arange(1, measured + 1))
    np.testing.assert_array_equal(
        np.isnan(found.history["val_accuracy"]), np.isnan(found.history["val_loss"])
    )


@pytest.mark.parametrize("monitor", ["loss", "accuracy"])
@pytest.mark.parametrize("rule", ["best", "consecutive"])
def test_the_best_weights_are_restored(rule, monitor):
    options = {"learning_rate": 1.0, "momentum": 0.9}
    patience = 3 if rule == "best" else 0
    model = GradientDescentClassifier(
        patience=patience, patience_rule=rule, monitor=monitor, epochs=300, **options
    ).fit(X, Y, None, X_VAL, Y_VAL)
    assert model.stop_reason_ == "patience"
    assert model.best_epoch_ < model.n_iter_ < 300
    watched = model.history_[f"val_{monitor}"]
    best = np.argmin(watched) if monitor == "loss" else np.argmax(watched)
    assert model.best_epoch_ == best + 1
    plain = GradientDescentClassifier(epochs=model.best_epoch_, **options).fit(X, Y)
    assert bits(model) == bits(plain)


def test_patience_restores_the_best_weights_at_the_last_epoch_too():
    model = GradientDescentClassifier(learning_rate=1.0, patience=500, epochs=400, momentum=0.9)
    model.fit(X, Y, None, X_VAL, Y_VAL)
    assert model.stop_reason_ == "epochs"
    assert model.best_epoch_ == 1 + np.argmin(model.history_["val_loss"]) < 400


def test_a_validation_set_without_patience_does_not_stop_a_run():
    model = GradientDescentClassifier(learning_rate=1.0, momentum=0.9).fit(X, Y, None, X_VAL, Y_VAL)
    blind = GradientDescentClassifier(learning_rate=1.0, momentum=0.9).fit(X, Y)
    assert bits(model) == bits(blind)
    assert model.best_epoch_ == 100


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7, 1e8])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_without_a_penalty_only_converged_runs_are_reported_as_converged(offset, solver):
    """A shift of the features only reduces their remaining digits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X @ [1.0, 2.0, -1.0] + rng.logistic(size=200) > 0).astype(int)
    best = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y).certificate_.primal
    model = LogisticRegression(C=np.inf, tol=1e-3, solver=solver, max_iter=50).fit(X + offset, y)
    if model.stop_reason_ == "tol":
        assert model.certificate_.primal <= best * (1.0 + 1e-4)
    else:
        assert any(found.kind == "not_converged" for found in model.diagnoses_)


def test_a_start_at_the_optimum_without_a_penalty_has_converged():
    X = np.repeat(np.random.default_rng(0).standard_normal((5, 5)), 4, axis=0)
    model = LogisticRegression(C=np.inf).fit(X, np.arange(20) % 2)
    assert (model.stop_reason_, model.n_iter_) == ("tol", 1)


def test_the_end_of_a_model_without_a_penalty_does_not_depend_on_other_models():
    """The gradient is scaled by the model's own rows; rows without weight may have any values."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3)) + np.array([0.0, 50.0, -9.0])
    y = (X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    s = (np.arange(60)[:, None] % 3 != np.arange(3)).astype(float)
    X[::3] *= 1e3
    models = [LogisticRegression(C=np.inf, tol=tol) for tol in (1e-2, 1e-4, 1e-8)]
    for k, model in enumerate(fit_many(models, X, y, s)):
        alone = LogisticRegression(C=np.inf, tol=model.tol).fit(X, y, s[:, k])
        assert bits(model) == bits(alone)
        assert model.n_iter_ == alone.n_iter_
