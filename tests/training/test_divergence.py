"""When a fit counts as diverged, and which weights it keeps."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, Perceptron, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Evaluation, Objective
from separatrix.penalty import ElasticNet
from separatrix.solver_state import State
from separatrix.training import Stop, run
from support.training import X, Y, assert_same_run, bits


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


def test_a_finite_objective_far_above_its_start_has_diverged():
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


def test_the_last_sane_weights_are_from_the_previous_epoch():
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


def test_a_model_that_diverges_does_not_affect_other_models():
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

    name, needs, done_reason = "scripted", (), "never"

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
        (SPIKES, "epochs", 21, 21),  # far above, but never for 10 epochs in a row
        ([1, 2, *[11] * 20], "diverged", 11, 1),
        ([1, 2, 3, 11], "diverged", 3, 2),  # far above since then, to the end
        ([1, 2, 11, 3, 11], "epochs", 4, 4),  # far above at the end, but it swings
        ([1, 2, np.nan, 1, 1], "diverged", 2, 1),
        ([1, 2, np.inf, 1, 1], "diverged", 2, 1),
        ([0, 0, 2, *[19] * 20], "epochs", 22, 22),  # measured against the first above 0
        ([0, 0, 2, *[21] * 20], "diverged", 12, 2),
    ],
)
def test_divergence_is_ten_times_the_start_for_ten_epochs_or_to_the_end(
    values, reason, epochs, kept
):
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    stop = Stop(epochs=((len(values) - 1,),))
    found = run(Scripted(values), objective, Model.zeros(3, 1, 3), stop)[0][0]
    assert (found.stop_reason, found.history.epochs, found.best_epoch) == (reason, epochs, kept)
    np.testing.assert_array_equal(found.model.W, np.full((3, 1, 3), float(kept)))
    told = [d.message for d in found.diagnoses if d.kind == "diverged"]
    assert len(told) == (reason == "diverged")
    assert all(f"diverging since epoch {kept + 1})" in message for message in told)


def test_runs_that_share_their_epochs_agree_on_when_they_diverged():
    """A run of 4 epochs ends far above its start, but it had recovered in between: it swings."""
    values = [1, 2, 11, 2, 12, 3, 13, *[14] * 20]
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    stop = Stop(epochs=((2, 4, 26),))
    found = run(Scripted(values), objective, Model.zeros(3, 1, 3), stop)[0]
    assert [one.stop_reason for one in found] == ["diverged", "epochs", "diverged"]
    first, last = (d.message for one in found for d in one.diagnoses if d.kind == "diverged")
    assert "diverging since epoch 2)" in first
    assert "above 10 times its start for the first time in epoch 2, and from epoch 6 to" in last
    assert [one.best_epoch for one in found] == [1, 4, 5]


def test_a_rule_that_does_not_descend_diverges_only_to_infinity():
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    for values, reason in [([0, 1e-3, *[1] * 20], "epochs"), ([0, 1, np.inf, 1], "diverged")]:
        stop = Stop(epochs=((len(values) - 1,),))
        found = run(Scripted(values, False), objective, Model.zeros(3, 1, 3), stop)[0][0]
        assert found.stop_reason == reason


def test_the_perceptron_does_not_diverge():
    rng = np.random.default_rng(0)
    for _ in range(20):  # sometimes the first epoch ends near a loss of 0
        A = rng.normal(size=(30, 1))
        y = (A[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)
        assert Perceptron(epochs=60).fit(A, y).stop_reason_ != "diverged"
