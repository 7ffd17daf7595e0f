"""Rates that change from step to step, averages of the weights, and plateaus."""

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES, Gradient
from separatrix.solvers.protocol import epoch_order
from separatrix.training import Stop, run
from solvers.test_gradient import Plain, loss_gradient, make_data

EPOCHS = 4


def train(solver, X, y, l1=0.0, l2=0.1, epochs=EPOCHS, **options):
    models = len(solver.learning_rate)
    data = Dataset.of(X, y)
    objective = Objective(data, LOSSES["softmax"], ElasticNet([l1] * models, [l2] * models))
    start = Model.zeros(X.shape[1], models, 3, data.dtype)
    return [
        r[0] for r in run(solver, objective, start, Stop(epochs=((epochs,),) * models), **options)
    ]


def transcribe(rule, X, y, batch, rate, shift, power, average_from, l1=0.0, l2=0.1):
    """Weights of all steps in plain numpy, and their averages."""
    n, d = X.shape
    weights, biases = Plain(rule, np.zeros((d, 3)), 0.5), Plain(rule, np.zeros(3), 0.5)
    seen, t = [], 0
    for epoch in range(1, EPOCHS + 1):
        order = np.arange(n) if batch is None else epoch_order(0, epoch, 0, n)
        for first in range(0, n, batch or n):
            rows = order[first : first + (batch or n)]
            t += 1
            now = rate / (shift + t) ** power
            GW, gb = loss_gradient(
                X[rows], y[rows], np.ones(len(rows)), 1 / len(rows), weights.w, biases.w
            )
            weights.step(GW + l2 * weights.w, now, l1)
            biases.step(gb, now, 0.0)
            seen.append(np.vstack([weights.w, biases.w]))
    tail = seen[average_from - 1 :] if 0 < average_from <= t else seen[-1:]
    return np.mean(tail, axis=0)


@pytest.mark.parametrize("batch", [None, 5, 1])
@pytest.mark.parametrize("rule", RULES)
def test_steps_follow_power_and_average(rule, batch):
    X, y = make_data(3)
    rates, shift, power = np.array([0.1, 0.4]), np.array([0.0, 3.0]), np.array([0.5, 1.0])
    for average_from in ([-1, -1], [1, 3], [-1, 10**6]):
        solver = Gradient(
            rates, np.full(2, 0.5), np.zeros(2), rule=rule, batch_size=batch,
            shift=shift, power=power, average_from=np.array(average_from),
        )  # fmt: skip
        for m, result in enumerate(train(solver, X, y, l1=0.01)):
            expected = transcribe(
                rule, X, y, batch, rates[m], shift[m], power[m], average_from[m], l1=0.01
            )
            found = np.vstack([result.model.W[:, 0], result.model.b])
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_a_model_alone_equals_the_same_model_in_a_batch():
    X, y = make_data(3)
    options = {"batch_size": 2, "rule": "plain"}
    both = Gradient(
        np.array([0.1, 0.4]), np.zeros(2), np.zeros(2), shift=np.array([1.0, 2.0]),
        power=np.array([0.5, 1.0]), average_from=np.array([1, 4]), **options,
    )  # fmt: skip
    together = train(both, X, y)
    for m in range(2):
        alone = train(both.select(np.array([m])), X, y)[0].model
        np.testing.assert_array_equal(alone.W, together[m].model.W)
        np.testing.assert_array_equal(alone.b, together[m].model.b)


def test_without_a_seed_rows_keep_their_order():
    X, y = make_data(3)
    solver = Gradient(np.array([0.2]), np.zeros(1), np.zeros(1), batch_size=1, seed=None)
    one = train(solver, X, y, l2=0.0, epochs=1)[0].model
    W, b = np.zeros((4, 3)), np.zeros(3)
    for i in range(len(y)):
        GW, gb = loss_gradient(X[[i]], y[[i]], np.ones(1), 1.0, W, b)
        W, b = W - 0.2 * GW, b - 0.2 * gb
    np.testing.assert_allclose(one.W[:, 0], W, rtol=1e-10)
    np.testing.assert_allclose(one.b[0], b, rtol=1e-10)


def plateau(rate, epochs, tol, divides=False):
    return Gradient(
        np.array(rate), np.zeros(len(rate)), np.zeros(len(rate)), plateau_epochs=np.array(epochs),
        plateau_tol=np.array(tol), divides=divides,
    )  # fmt: skip


def test_a_run_stops_after_epochs_without_improvement():
    X, y = make_data(3)
    stopping, going = train(plateau([0.3, 0.3], [4, -1], [1e-3, 1e-3]), X, y, epochs=500)
    assert stopping.stop_reason == "no improvement"
    assert going.stop_reason == "epochs"
    loss, objective = stopping.history["train_loss"], stopping.history["objective"]
    before = np.concatenate(([np.log(3.0)], loss[:-1]))  # the losses before the steps
    penalty = np.concatenate(([0.0], objective - loss))
    progress = before + 0.5 * (penalty[1:] + penalty[:-1])
    lowest = np.minimum.accumulate(progress)
    worse = progress[1:] > lowest[:-1] - 1e-3
    assert worse[-4:].all()
    assert not any(worse[k : k + 4].all() for k in range(len(worse) - 4))


def test_at_a_plateau_the_rate_is_divided_by_five_until_it_is_tiny():
    X, y = make_data(3)
    result = train(plateau([1e-5], [2], [1.0], divides=True), X, y, epochs=50)[0]
    # 1e-5 and 2e-6 are divided; at 4e-7 the run stops. The first epoch has nothing to improve on.
    assert result.stop_reason == "no improvement"
    assert result.history.epochs == 1 + 2 * 3
    steps = np.diff(result.history["objective"])
    np.testing.assert_allclose(steps[2:4] / steps[0], 1 / 5, rtol=1e-3)
    np.testing.assert_allclose(steps[4:6] / steps[0], 1 / 25, rtol=1e-3)


def test_a_run_with_averages_and_plateaus_resumes_from_its_checkpoint():
    X, y = make_data(3)
    solver = Gradient(
        np.array([0.3, 0.1]), np.full(2, 0.5), np.zeros(2), batch_size=5,
        average_from=np.array([3, -1]), plateau_epochs=np.array([3, 3]),
        plateau_tol=np.array([1e-2, 1e-2]), divides=True,
    )  # fmt: skip
    saved = []
    whole = train(
        solver, X, y, epochs=20,
        on_progress=lambda p: saved.append(p.checkpoint()) if p.epoch == 7 else None,
    )  # fmt: skip
    resumed = train(solver, X, y, epochs=20, resume=saved[0])
    for a, b in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(a.model.W, b.model.W)
        np.testing.assert_array_equal(a.history["objective"], b.history["objective"])
