"""The one loop: what it records, when it stops, what it keeps, and how it goes on."""

import io
import re
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import GradientDescentClassifier, LogisticRegression, Perceptron, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES, make_loss
from separatrix.matrix import rows_read
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES, SOLVERS, Gradient, PerceptronRule
from separatrix.state import State
from separatrix.training import Interrupted, Stop, run
from separatrix.training.history import FIELDS

RECORDED = [name for name in FIELDS if name != "seconds"]


def make_data(n=40, d=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


X, Y = make_data()
X_VAL, Y_VAL = make_data(seed=1)


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes()


def assert_same_run(a, b):
    assert bits(a) == bits(b)
    assert a.stop_reason_ == b.stop_reason_
    assert (a.n_iter_, a.best_epoch_) == (b.n_iter_, b.best_epoch_)
    for name in RECORDED:
        np.testing.assert_array_equal(a.history_[name], b.history_[name], err_msg=name)
    assert a.certificate_ == b.certificate_
    assert a.diagnoses_ == b.diagnoses_


# What is recorded


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("rule", RULES)
def test_history_holds_the_state_after_every_epoch(rule, batch_size):
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


def test_history_has_one_value_an_epoch_and_rising_seconds():
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


def test_a_history_longer_than_the_first_allocation_is_whole():
    long = GradientDescentClassifier(epochs=2500, learning_rate=1e-4).fit(X, Y)
    assert np.isfinite(long.history_["train_loss"]).all()
    assert long.history_.epochs == 2500
    short = GradientDescentClassifier(epochs=1500, learning_rate=1e-4).fit(X, Y)
    np.testing.assert_array_equal(long.history_["objective"][:1500], short.history_["objective"])


def test_recording_costs_no_pass_of_its_own():
    def passes(epochs):
        before = np.array(rows_read())
        GradientDescentClassifier(epochs=epochs, gradient_tol=0.0).fit(X, Y)
        return np.array(rows_read()) - before

    np.testing.assert_array_equal(passes(30) - passes(20), [10 * len(Y), 10 * len(Y)])


# When it stops


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
    """A run whose validation losses (and minus its accuracies) are the given scores."""

    class Script:
        def __init__(self):
            self.at = 0

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
        # no improvement over the best, P times running
        ("best", 1, [3, 2, 4, 1], 3, 2),
        ("best", 2, [3, 2, 4, 1, 5, 6], 6, 4),
        ("best", 2, [3, 2, 2, 2], 4, 2),
        ("best", 3, [5, 6, 5.5, 5.2, 5.1], 4, 1),
        ("best", 0, [3, 2, 4], 3, 2),  # the same as 1
        # risen more than P times running: falls, even above the best, begin anew
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


def test_a_validation_set_without_patience_only_watches():
    model = GradientDescentClassifier(learning_rate=1.0, momentum=0.9).fit(X, Y, None, X_VAL, Y_VAL)
    blind = GradientDescentClassifier(learning_rate=1.0, momentum=0.9).fit(X, Y)
    assert bits(model) == bits(blind)
    assert model.best_epoch_ == 100


# Reading one run off at several epochs


@pytest.mark.parametrize("rule", RULES)
def test_runs_that_differ_only_in_epochs_are_one_run(rule):
    options = {"rule": rule, "momentum": 0.5, "batch_size": 9, "schedule": "inverse", "decay": 0.1}

    def make():
        return [GradientDescentClassifier(epochs=e, **options) for e in (10, 3, 25, 3)]

    before = np.array(rows_read())
    longest = GradientDescentClassifier(epochs=25, **options).fit(X, Y)
    alone = np.array(rows_read()) - before
    before = np.array(rows_read())
    running = []
    together = fit_many(make(), X, Y, on_record=lambda p: running.append(p.running.tolist()))
    assert running == [[0]] * 25
    read = np.array(rows_read()) - before
    separate = [model.fit(X, Y) for model in make()]
    for one, other in zip(together, separate):
        assert_same_run(one, other)
    assert_same_run(together[2], longest)
    # One certificate for all is the only thing besides the longest run.
    assert (read <= alone + 2 * len(Y)).all()


@pytest.mark.parametrize("patience_rule", ["best", "consecutive"])
def test_runs_read_off_keep_their_own_best_weights(patience_rule):
    options = {"learning_rate": 1.0, "momentum": 0.9, "patience": 4, "patience_rule": patience_rule}

    def make():
        return [GradientDescentClassifier(epochs=e, **options) for e in (2, 8, 30, 100, 300)]

    separate = [model.fit(X, Y, None, X_VAL, Y_VAL) for model in make()]
    together = fit_many(make(), X, Y, None, X_VAL, Y_VAL)
    for one, other in zip(together, separate):
        assert_same_run(one, other)
    assert {model.stop_reason_ for model in together} == {"epochs", "patience"}


def test_models_that_stop_leave_the_batch_and_the_others_keep_their_bits():
    X, y = make_data(200, n_classes=2)

    def make():
        return [
            GradientDescentClassifier(l2=0.5, learning_rate=r, gradient_tol=t, epochs=60)
            for r, t in [(0.5, 0.02), (0.2, None), (0.4, 1e-3), (0.01, 1e-9)]
        ]

    seen = []
    before = np.array(rows_read())
    together = fit_many(make(), X, y, on_record=lambda p: seen.append(p.running.tolist()))
    read = np.array(rows_read()) - before
    for one, other in zip(together, make()):
        assert_same_run(one, other.fit(X, y))
    ends = [model.n_iter_ for model in together]
    assert ends[0] < ends[2] < 60
    assert ends[1] == ends[3] == 60
    for epoch, running in enumerate(seen, start=1):
        assert running == [m for m in range(4) if ends[m] >= epoch]
    assert read[0] < (60 + 8) * len(y)


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_reads_the_rows_as_often_as_one_model(rule):
    def passes(rates):
        models = [GradientDescentClassifier(rule=rule, learning_rate=r, l2=0.1) for r in rates]
        before = np.array(rows_read())
        fit_many(models, X, Y)
        return np.array(rows_read()) - before

    np.testing.assert_array_equal(passes(np.geomspace(1e-3, 1e-2, 12)), passes([1e-3]))


# Divergence


def test_a_run_that_is_not_finite_has_diverged_and_keeps_sane_weights():
    options = {"loss": "squared", "learning_rate": 5.0}
    model = GradientDescentClassifier(epochs=2000, **options).fit(100 * X, Y)
    assert model.stop_reason_ == "diverged"
    assert model.n_iter_ < 2000
    assert np.isfinite(model.coef_).all()
    kept = model.best_epoch_
    start = GradientDescentClassifier(epochs=1, learning_rate=1e-12, loss="squared").fit(X, Y)
    limit = 10 * start.history_["objective"][0]
    assert kept == 0
    assert not model.coef_.any()
    assert model.history_["objective"][0] > limit
    assert [d.kind for d in model.diagnoses_].count("diverged") == 1


def test_an_objective_far_above_its_start_has_diverged_although_it_is_finite():
    model = GradientDescentClassifier("hinge", learning_rate=1e4, l2=1e-4, epochs=500)
    model.fit(X, (Y > 0).astype(int))
    objective = model.history_["objective"]
    assert model.stop_reason_ == "diverged"
    assert np.isfinite(objective).all()
    above = objective > 10.0  # a zero start has a hinge loss of 1
    assert above[-10:].all()
    assert model.n_iter_ == 10 or not above[-11]
    assert model.history_.epochs < 500
    assert "diverged" in [d.kind for d in model.diagnoses_]


@pytest.mark.parametrize("epochs", [1, 3, 9])
def test_an_objective_far_above_its_start_at_the_end_has_diverged(epochs):
    model = GradientDescentClassifier("hinge", learning_rate=1e4, epochs=epochs)
    model.fit(X, (Y > 0).astype(int))
    assert (model.stop_reason_, model.n_iter_) == ("diverged", epochs)


def test_the_last_sane_weights_are_those_of_the_epoch_before():
    # Momentum lets the objective fall for some epochs before it explodes.
    options = {"loss": "squared", "rule": "momentum", "momentum": 0.9, "l2": 0.0}
    Xb = np.column_stack([X, np.ones(len(Y))])
    top = np.linalg.eigvalsh(Xb.T @ Xb / len(Y))[-1]
    options |= {"learning_rate": 1.05 * 2 * 1.9 / top}
    model = GradientDescentClassifier(epochs=3000, **options).fit(X, Y)
    assert model.stop_reason_ == "diverged"
    kept = model.best_epoch_
    assert kept > 0
    plain = GradientDescentClassifier(epochs=kept, **options).fit(X, Y)
    assert plain.stop_reason_ == "epochs"
    assert bits(model) == bits(plain)
    start = 0.5  # one-hot targets, all scores 0
    assert (model.history_["objective"][kept:] > 10 * start).all()
    assert model.history_["objective"][kept - 1] <= 10 * start


def test_a_model_that_diverges_does_not_disturb_its_neighbours():
    def make():
        return [
            GradientDescentClassifier("squared", learning_rate=r, epochs=300)
            for r in (0.1, 50.0, 0.2)
        ]

    together = fit_many(make(), X, Y)
    assert [m.stop_reason_ for m in together] == ["epochs", "diverged", "epochs"]
    for one, other in zip(together, make()):
        assert_same_run(one, other.fit(X, Y))


class Scripted:
    """A solver whose objective follows a script."""

    name, needs, done_reason = "scripted", frozenset(), "never"

    def __init__(self, values, descends=True):
        self.values, self.descends = values, descends

    def state(self, model, epoch):
        value = np.array([float(self.values[epoch])])
        found = Evaluation(value, value, np.zeros(1), value, model.W, model.b)
        model.W[:] = epoch
        return State(model, (), found, np.zeros(1, bool), epoch)

    def start(self, objective, model):
        return self.state(model, 0)

    def step(self, objective, state):
        return self.state(state.model, state.epoch + 1)

    def select(self, models):
        return self

    def step_size(self, model, epoch):
        return None


SPIKES = [1, *[11] * 9, 1, *[11] * 9, 1, 1]


@pytest.mark.parametrize(
    ("values", "reason", "epochs", "kept"),
    [
        ([1, *[10] * 20], "epochs", 20, 20),  # not above 10 times the start
        (SPIKES, "epochs", 21, 21),  # far above, but never 10 epochs running
        ([1, 2, *[11] * 20], "diverged", 11, 1),
        ([1, 2, 3, 11], "diverged", 3, 2),  # far above at the end
        ([1, 2, np.nan, 1, 1], "diverged", 2, 1),
        ([1, 2, np.inf, 1, 1], "diverged", 2, 1),
        ([0, 0, 2, *[19] * 20], "epochs", 22, 22),  # measured against the first above 0
        ([0, 0, 2, *[21] * 20], "diverged", 12, 2),
    ],
)
def test_divergence_is_ten_times_the_start_for_ten_epochs_or_at_the_end(
    values, reason, epochs, kept
):
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    stop = Stop(epochs=((len(values) - 1,),))
    found = run(Scripted(values), objective, Model.zeros(3, 1, 3), stop)[0][0]
    assert (found.stop_reason, found.history.epochs, found.best_epoch) == (reason, epochs, kept)
    np.testing.assert_array_equal(found.model.W, np.full((3, 1, 3), float(kept)))
    told = [d.message for d in found.diagnoses if d.kind == "diverged"]
    assert len(told) == (reason == "diverged")
    assert all(f"too high since epoch {kept + 1}." in message for message in told)


def test_a_rule_that_does_not_descend_diverges_only_to_infinity():
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    for values, reason in [([0, 1e-3, *[1] * 20], "epochs"), ([0, 1, np.inf, 1], "diverged")]:
        stop = Stop(epochs=((len(values) - 1,),))
        found = run(Scripted(values, False), objective, Model.zeros(3, 1, 3), stop)[0][0]
        assert found.stop_reason == reason


def test_the_perceptron_does_not_diverge():
    rng = np.random.default_rng(0)
    for _ in range(20):  # in some the first epoch happens to end near a loss of 0
        A = rng.normal(size=(30, 1))
        y = (A[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)
        assert Perceptron(epochs=60).fit(A, y).stop_reason_ != "diverged"


# Checkpoints and callbacks


def reload(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def assert_same_results(found, expected):
    for row, other in zip(found, expected, strict=True):
        for a, b in zip(row, other, strict=True):
            assert a.model.W.tobytes() == b.model.W.tobytes()
            assert a.model.b.tobytes() == b.model.b.tobytes()
            for name in RECORDED:
                np.testing.assert_array_equal(a.history[name], b.history[name], err_msg=name)
            assert a.stop_reason == b.stop_reason
            assert a.best_epoch == b.best_epoch
            assert a.certificate == b.certificate
            assert a.diagnoses == b.diagnoses
            assert a.objective == b.objective
            assert_same_state(a.state, b.state)


def assert_same_state(a, b):
    assert (a is None) == (b is None)
    if a is None:
        return
    assert (a.epoch, a.steps) == (b.epoch, b.steps)
    np.testing.assert_array_equal(a.done, b.done)
    for one, other in zip((a.model, *a.slots), (b.model, *b.slots), strict=True):
        assert one.W.tobytes() == other.W.tobytes()
        assert one.b.tobytes() == other.b.tobytes()
    for name, array in vars(a.found).items():
        np.testing.assert_array_equal(array, getattr(b.found, name), err_msg=name)


def resume_everywhere(solver, objective, model, stop, validation=None):
    taken = []
    expected = run(
        solver, objective, model, stop, validation=validation, keep_state=True,
        on_record=lambda p: taken.append((p.epoch, reload(p.checkpoint()))),
    )  # fmt: skip
    assert [epoch for epoch, _ in taken] == list(range(1, len(taken) + 1))
    for _, arrays in taken:
        found = run(
            solver, objective, model, stop, validation=validation, keep_state=True, resume=arrays
        )
        assert_same_results(found, expected)
    return expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("rule", RULES)
def test_a_run_resumes_bit_for_bit_at_every_epoch(rule, batch_size, dtype):
    data = Dataset.of(X.astype(dtype), Y)
    objective = Objective(data, LOSSES["softmax"], ElasticNet([0.0, 0.01, 0.0, 0.0], 0.1))
    held_out = Objective(
        Dataset.of(X_VAL.astype(dtype), Y_VAL), LOSSES["softmax"], ElasticNet(0.0, 0.0)
    )
    solver = Gradient(
        np.array([0.3, 0.1, 1.0, 0.2]), np.array([0.0, 0.9, 0.9, 0.5]), np.full(4, 0.05),
        rule=rule, batch_size=batch_size, schedule="exponential",
    )  # fmt: skip
    stop = Stop(
        epochs=((4, 12), (12,), (2, 5, 9), (3,)),
        gradient_tol=np.array([np.nan, 0.05, np.nan, np.nan]),
        step_tol=np.array([0.01, np.nan, np.nan, np.nan]),
        patience=np.array([-1, -1, 2, 1]),
        validate_every=2,
    )
    start = Model(np.random.default_rng(0).normal(size=(3, 4, 3)).astype(dtype),
                  np.zeros((4, 3), dtype))  # fmt: skip
    found = resume_everywhere(solver, objective, start, stop, held_out)
    assert [len(row) for row in found] == [2, 1, 3, 1]


def test_a_run_with_a_diverging_model_resumes():
    objective = Objective(Dataset.of(X, Y), LOSSES["squared"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.1, 30.0]), np.zeros(2), np.zeros(2))
    stop = Stop(epochs=((30,), (30,)))
    found = resume_everywhere(solver, objective, Model.zeros(3, 2, 3), stop)
    assert [row[0].stop_reason for row in found] == ["epochs", "diverged"]


def test_the_perceptron_resumes():
    objective = Objective(Dataset.of(X, Y), LOSSES["perceptron"], ElasticNet(0.0, 0.0))
    stop = Stop(epochs=((15,),))
    resume_everywhere(PerceptronRule(seed=1), objective, Model.zeros(3, 1, 3), stop)


def a_run(**changes):
    """The parts of a small run, some of them changed, and a stop after five epochs."""
    parts = {"rate": 0.3, "rule": "plain", "loss": "hinge", "margin": 1.0, "l2": 0.1, "bias": True}
    parts |= {"rows": 40, "columns": 3, "models": 1, "dtype": np.float64, "solver": None} | changes
    A = X[: parts["rows"], : parts["columns"]].astype(parts["dtype"])
    B, loss = parts["models"], make_loss(parts["loss"], parts["margin"])
    objective = Objective(
        Dataset.of(A, Y[: parts["rows"]]), loss, ElasticNet(0.0, parts["l2"]), bias=parts["bias"]
    )
    solver = Gradient(np.full(B, parts["rate"]), np.zeros(B), np.zeros(B), rule=parts["rule"])
    start = Model.zeros(parts["columns"], B, 3, parts["dtype"])
    return parts["solver"] or solver, objective, start, Stop(epochs=((5,),) * B)


@pytest.fixture(scope="module")
def checkpoint():
    taken = []
    run(*a_run(), on_record=lambda p: taken.append(reload(p.checkpoint())))
    return taken[2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate": 0.2}, "another gradient's learning_rate: [0.3] there, [0.2] here"),
        ({"rule": "adam"}, "another gradient's rule: plain there, adam here"),
        ({"solver": PerceptronRule()}, "another solver: gradient there, perceptron here"),
        ({"loss": "perceptron", "margin": 0.0}, "another loss: hinge there, perceptron here"),
        ({"margin": 2.0}, "another margin: 1.0 there, 2.0 here"),
        ({"l2": 0.2}, "another l2: [0.1] there, [0.2] here"),
        ({"bias": False}, "another bias: True there, False here"),
        ({"rows": 39}, "another number of rows: 40 there, 39 here"),
        ({"columns": 2}, "another number of features: 3 there, 2 here"),
        ({"models": 30}, "another gradient's learning_rate. Resume with the solver, objective"),
        ({"dtype": np.float32}, "another type of numbers: float64 there, float32 here"),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_the_checkpoint_of_another_run_is_refused(checkpoint, changes, words):
    with pytest.raises(ValueError, match=re.escape(f"is of another run, with {words}")):
        run(*a_run(**changes), resume=checkpoint)


def test_arrays_that_are_no_checkpoint_are_refused(checkpoint):
    del (arrays := dict(checkpoint))["fingerprint"]
    with pytest.raises(ValueError, match="no checkpoint: they have no fingerprint"):
        run(*a_run(), resume=arrays)


def test_a_checkpoint_may_be_resumed_with_more_epochs(checkpoint):
    solver, objective, start, _ = a_run()
    longer = Stop(epochs=((9,),))
    found = run(solver, objective, start, longer, resume=checkpoint)
    assert_same_results(found, run(solver, objective, start, longer))


def test_a_state_that_was_not_kept_cannot_be_resumed():
    solver, objective, start, _ = a_run(models=2)
    stop, taken = Stop(epochs=((2,), (5,))), []
    run(solver, objective, start, stop, on_record=lambda p: taken.append(p.checkpoint()))
    run(solver, objective, start, stop, keep_state=True, resume=taken[0])
    with pytest.raises(ValueError, match=r"Model 0 had ended .* Resume with keep_state=False"):
        run(solver, objective, start, stop, keep_state=True, resume=taken[2])


def test_a_diverged_run_leaves_no_state_to_go_on_from():
    objective = Objective(Dataset.of(X, Y), LOSSES["squared"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.1, 30.0]), np.zeros(2), np.zeros(2))
    stop = Stop(epochs=((30,), (30,)))
    found = run(solver, objective, Model.zeros(3, 2, 3), stop, keep_state=True)
    assert [row[0].stop_reason for row in found] == ["epochs", "diverged"]
    assert [row[0].state is None for row in found] == [False, True]


def test_a_checkpoint_is_not_changed_by_the_run_that_goes_on():
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.3]), np.array([0.9]), np.zeros(1))
    taken = []

    def remember(progress):
        taken.append(progress.checkpoint())
        taken.append(reload(taken[-1]))

    run(solver, objective, Model.zeros(3, 1, 3), Stop(epochs=((5,),)), on_record=remember)
    for name, array in taken[0].items():
        np.testing.assert_array_equal(array, taken[1][name], err_msg=name)


def test_callbacks_see_every_epoch():
    seen = []
    model = GradientDescentClassifier(epochs=5)
    fit_many([model], X, Y, on_record=seen.append)
    assert [p.epoch for p in seen] == [1, 2, 3, 4, 5]
    assert {p.epochs for p in seen} == {5}
    assert all(p.running.tolist() == [0] for p in seen)
    for p in seen:
        assert set(p.records) == set(FIELDS)
        assert p.records["train_loss"][0] == model.history_["train_loss"][p.epoch - 1]


def test_the_state_given_is_not_changed():
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.3]), np.array([0.9]), np.zeros(1))
    stop = Stop(epochs=((5,),))
    state = run(solver, objective, Model.zeros(3, 1, 3), stop, keep_state=True)[0][0].state
    before = state.model.copy(), state.slots[0].copy()
    first, second = (run(solver, objective, state.model, stop, state=state)[0][0] for _ in range(2))
    assert first.model.W.tobytes() == second.model.W.tobytes()
    np.testing.assert_array_equal(state.model.W, before[0].W)
    np.testing.assert_array_equal(state.slots[0].W, before[1].W)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_model_given_is_not_changed(name):
    loss = {"perceptron": "perceptron", "interior": "hinge"}.get(name, "logistic")
    objective = Objective(Dataset.of(X, Y > 0), LOSSES[loss], ElasticNet(0.0, 0.1))
    solver = SOLVERS[name]
    if name == "gradient":
        solver = partial(solver, np.array([0.3]), np.array([0.9]), np.zeros(1), rule="nesterov")
    start = Model(np.full((3, 1, 1), 0.25), np.full((1, 1), 0.5))
    [[result]] = run(solver(), objective, start, Stop(epochs=((5,),)))
    assert (result.model.W != 0.25).any()
    assert (start.W == 0.25).all()
    assert start.b == 0.5


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7, 1e8])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_without_a_penalty_nothing_is_called_converged_that_is_not(offset, solver):
    """A shift of the features changes nothing but the digits that are left of them."""
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


# Ending a run from outside


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "coordinate", "dual"])
def test_a_callback_sees_the_gap_that_every_epoch_has_proven(solver):
    gaps = []
    model = LogisticRegression(tol=1e-9, solver=solver, C=0.1)
    fit_many([model], X, Y, on_record=lambda p: gaps.append(float(p.gap[0])))
    assert gaps[-1] == model.certificate_.relative_gap <= 1e-9
    assert len(gaps) == model.n_iter_
    assert all(gap > 1e-9 for gap in gaps[:-1])


def test_without_a_tolerance_no_gap_is_looked_for():
    gaps = []
    fit_many([GradientDescentClassifier(epochs=3)], X, Y, on_record=lambda p: gaps.append(p.gap[0]))
    assert np.isnan(gaps).all()


def test_an_interrupted_run_keeps_every_model_as_it_stands():
    def interrupt(progress):
        if progress.epoch == 7:
            raise Interrupted

    lengths = (3, 7, 20, 50)
    together = fit_many(
        [GradientDescentClassifier(epochs=epochs) for epochs in lengths], X, Y, on_record=interrupt
    )
    reasons = [model.stop_reason_ for model in together]
    assert reasons == ["epochs", "epochs", "interrupted", "interrupted"]
    for model, epochs in zip(together, (3, 7, 7, 7)):
        assert bits(model) == bits(GradientDescentClassifier(epochs=epochs).fit(X, Y))
        assert model.n_iter_ == epochs


def test_an_interrupted_optimiser_says_so_and_what_it_has_proven():
    def interrupt(progress):
        raise Interrupted

    model = LogisticRegression(tol=1e-12, solver="lbfgs")
    with pytest.warns(
        ConvergenceWarning, match="was interrupted after iteration 1 with a relative"
    ):
        fit_many([model], X, Y, on_record=interrupt)
    assert model.stop_reason_ == "interrupted"
    assert model.certificate_.relative_gap > 1e-12


def test_when_a_model_without_a_penalty_ends_does_not_depend_on_those_beside_it():
    """Its features are standardised by its own rows; what it leaves out may be anything."""
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
