"""Checkpoints that are damaged or of another version are refused with a clear message."""

import json

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Gradient
from separatrix.training import Stop, run
from separatrix.training.checkpoint import if_readable

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3


def a_run(**options):
    objective = Objective(Dataset.of(X, Y), LOSSES["softmax"], ElasticNet(0.0, 0.1))
    solver = Gradient(np.array([0.3, 0.2]), np.array([0.9, 0.9]), np.zeros(2))
    stop = Stop(epochs=((2,), (6,)))
    return run(solver, objective, Model.zeros(3, 2, 3), stop, keep_state=True, **options)


@pytest.fixture(scope="module")
def checkpoint():
    taken = []
    a_run(on_progress=lambda progress: taken.append(progress.checkpoint()))
    return taken[3]


def test_a_checkpoint_is_a_text_and_arrays_of_numbers(checkpoint):
    tree = json.loads(str(checkpoint["values"]))
    assert tree["finished"][0]["reason"] == "epochs"
    assert all(a.dtype.kind in "bif" for n, a in checkpoint.items() if n.startswith("state"))


def with_values(checkpoint, change):
    tree = json.loads(str(checkpoint["values"]))
    change(tree)
    return {**checkpoint, "values": np.array(json.dumps(tree))}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: {**c, "values": np.array("{")}, "damaged or of another version"),
        (lambda c: {**c, "running": np.array([7])}, "must have parts for one batch"),
        (lambda c: {**c, "state.weights.0.W": np.zeros((3, 2, 3))}, "run.state.weights.0 must be"),
        (lambda c: {k: c[k] for k in c if k != "history"}, "history has no array"),
        (lambda c: with_values(c, lambda tree: tree.pop("watch")), "must have exactly the parts"),
        (lambda c: with_values(c, lambda t: t["finished"][0].update(reason=1)), "0.reason must be"),
        (
            lambda c: with_values(c, lambda t: t["state"].update(epoch=-1)),
            "state.epoch must be",
        ),
    ],
)
def test_the_error_about_a_damaged_checkpoint_names_the_wrong_part(checkpoint, change, sentence):
    with pytest.raises(ValueError, match=r"Start again without resume\.$") as error:
        a_run(resume=change(checkpoint))
    assert sentence in str(error.value)


def test_a_checkpoint_of_an_earlier_version_is_not_readable(checkpoint):
    old = {"fingerprint": checkpoint["fingerprint"], "counters": np.zeros(3, int)}
    assert if_readable(old) is None
    assert if_readable(None) is None
    assert if_readable(checkpoint) is checkpoint
    with pytest.raises(ValueError, match="of another version"):
        a_run(resume=old)
