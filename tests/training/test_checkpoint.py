"""A fit resumed from a checkpoint has the same bits as an uninterrupted fit."""

import io
import re

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.losses import LOSSES, make_loss
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES, Gradient, PerceptronRule
from separatrix.training import Stop, run
from support.training import RECORDED, X_VAL, Y_VAL, X, Y


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
        on_progress=lambda p: taken.append((p.epoch, reload(p.checkpoint()))),
    )  # fmt: skip
    assert [epoch for epoch, _ in taken] == list(range(1, len(taken) + 1))
    for _, arrays in taken:
        found = run(
            solver, objective, model, stop, validation=validation, keep_state=True, resume=arrays
        )
        assert_same_results(found, expected)
    return expected


@pytest.mark.slow
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
    run(*a_run(), on_progress=lambda p: taken.append(reload(p.checkpoint())))
    return taken[2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate": 0.2}, "gradient's learning_rate differs (checkpoint: [0.3], this run: [0.2])"),
        ({"rule": "adam"}, "gradient's rule differs (checkpoint: plain, this run: adam)"),
        (
            {"solver": PerceptronRule()},
            "solver differs (checkpoint: gradient, this run: perceptron)",
        ),
        (
            {"loss": "perceptron", "margin": 0.0},
            "loss differs (checkpoint: hinge, this run: perceptron)",
        ),
        ({"margin": 2.0}, "margin differs (checkpoint: 1.0, this run: 2.0)"),
        ({"l2": 0.2}, "l2 differs (checkpoint: [0.1], this run: [0.2])"),
        ({"bias": False}, "bias differs (checkpoint: True, this run: False)"),
        ({"rows": 39}, "number of rows differs (checkpoint: 40, this run: 39)"),
        ({"columns": 2}, "number of features differs (checkpoint: 3, this run: 2)"),
        ({"models": 30}, "gradient's learning_rate differs. Resume with"),
        ({"dtype": np.float32}, "type of numbers differs (checkpoint: float64, this run: float32)"),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_the_checkpoint_of_another_run_is_refused(checkpoint, changes, words):
    with pytest.raises(ValueError, match=re.escape(f"another run: {words}")):
        run(*a_run(**changes), resume=checkpoint)


def test_arrays_that_are_not_a_checkpoint_are_refused(checkpoint):
    del (arrays := dict(checkpoint))["fingerprint"]
    with pytest.raises(ValueError, match="no fingerprint"):
        run(*a_run(), resume=arrays)


def test_a_checkpoint_may_be_resumed_with_more_epochs(checkpoint):
    solver, objective, start, _ = a_run()
    longer = Stop(epochs=((9,),))
    found = run(solver, objective, start, longer, resume=checkpoint)
    assert_same_results(found, run(solver, objective, start, longer))


def test_a_state_that_was_not_kept_cannot_be_resumed():
    solver, objective, start, _ = a_run(models=2)
    stop, taken = Stop(epochs=((2,), (5,))), []
    run(solver, objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint()))
    run(solver, objective, start, stop, keep_state=True, resume=taken[0])
    with pytest.raises(ValueError, match=r"Model 0 was finished .* Resume with keep_state=False"):
        run(solver, objective, start, stop, keep_state=True, resume=taken[2])


def test_a_diverged_run_keeps_no_state_to_continue_from():
    objective = Objective(Dataset.of(X, Y), LOSSES["squared"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.1, 30.0]), np.zeros(2), np.zeros(2))
    stop = Stop(epochs=((30,), (30,)))
    found = run(solver, objective, Model.zeros(3, 2, 3), stop, keep_state=True)
    assert [row[0].stop_reason for row in found] == ["epochs", "diverged"]
    assert [row[0].state is None for row in found] == [False, True]


def test_a_checkpoint_is_not_changed_when_the_run_continues():
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.0))
    solver = Gradient(np.array([0.3]), np.array([0.9]), np.zeros(1))
    taken = []

    def remember(progress):
        taken.append(progress.checkpoint())
        taken.append(reload(taken[-1]))

    run(solver, objective, Model.zeros(3, 1, 3), Stop(epochs=((5,),)), on_progress=remember)
    for name, array in taken[0].items():
        np.testing.assert_array_equal(array, taken[1][name], err_msg=name)
