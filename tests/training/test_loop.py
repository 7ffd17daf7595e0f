"""The training loop: independent models, callbacks and interruptions."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import GradientDescentClassifier, LogisticRegression, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import rows_read
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES, SOLVERS, Gradient
from separatrix.training import Interrupted, Stop, run
from separatrix.training.recording.history import FIELDS
from support.training import X_VAL, Y_VAL, X, Y, assert_same_run, bits, make_data

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
    together = fit_many(make(), X, Y, on_progress=lambda p: running.append(p.running.tolist()))
    assert running == [[0]] * 25
    read = np.array(rows_read()) - before
    separate = [model.fit(X, Y) for model in make()]
    for one, other in zip(together, separate):
        assert_same_run(one, other)
    assert_same_run(together[2], longest)
    # Besides the longest run there is only one pass for all certificates.
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


def test_models_that_stop_leave_the_batch_without_changing_the_others():
    X, y = make_data(200, n_classes=2)

    def make():
        return [
            GradientDescentClassifier(l2=0.5, learning_rate=r, gradient_tol=t, epochs=60)
            for r, t in [(0.5, 0.02), (0.2, None), (0.4, 1e-3), (0.01, 1e-9)]
        ]

    seen = []
    before = np.array(rows_read())
    together = fit_many(make(), X, y, on_progress=lambda p: seen.append(p.running.tolist()))
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


def test_callbacks_are_called_after_every_epoch():
    seen = []
    model = GradientDescentClassifier(epochs=5)
    fit_many([model], X, Y, on_progress=seen.append)
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


# Interrupting a run


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "coordinate", "dual"])
def test_a_callback_receives_the_gap_proven_in_every_epoch(solver):
    gaps = []
    model = LogisticRegression(tol=1e-9, solver=solver, C=0.1)
    fit_many([model], X, Y, on_progress=lambda p: gaps.append(float(p.gap[0])))
    assert gaps[-1] == model.certificate_.relative_gap <= 1e-9
    assert len(gaps) == model.n_iter_
    assert all(gap > 1e-9 for gap in gaps[:-1])


def test_without_a_tolerance_no_gap_is_computed():
    gaps = []
    fit_many(
        [GradientDescentClassifier(epochs=3)], X, Y, on_progress=lambda p: gaps.append(p.gap[0])
    )
    assert np.isnan(gaps).all()


def test_an_interrupted_run_keeps_the_current_weights():
    def interrupt(progress):
        if progress.epoch == 7:
            raise Interrupted

    lengths = (3, 7, 20, 50)
    together = fit_many(
        [GradientDescentClassifier(epochs=epochs) for epochs in lengths],
        X,
        Y,
        on_progress=interrupt,
    )
    reasons = [model.stop_reason_ for model in together]
    assert reasons == ["epochs", "epochs", "interrupted", "interrupted"]
    for model, epochs in zip(together, (3, 7, 7, 7)):
        assert bits(model) == bits(GradientDescentClassifier(epochs=epochs).fit(X, Y))
        assert model.n_iter_ == epochs


def test_an_interrupted_optimiser_reports_the_interruption_and_its_gap():
    def interrupt(progress):
        raise Interrupted

    model = LogisticRegression(tol=1e-12, solver="lbfgs")
    with pytest.warns(
        ConvergenceWarning, match="was interrupted after iteration 1 with a relative"
    ):
        fit_many([model], X, Y, on_progress=interrupt)
    assert model.stop_reason_ == "interrupted"
    assert model.certificate_.relative_gap > 1e-12
