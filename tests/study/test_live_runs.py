"""The runs in training are read from the checkpoint of their batch."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study import Store, read_facts


class StoppedError(Exception):
    """Raised in the middle of a study."""


def stop_at(epoch):
    def called(epochs):
        if epochs[0].epoch >= epoch:
            raise StoppedError

    return called


@pytest.fixture
def stopped(tmp_path):
    """A study that was stopped at epoch 12, with a run that had ended and one that diverged."""
    grid = {"learning_rate": [0.1, 1e9], "epochs": [5, 40]}
    study = Study("live", GradientDescentClassifier(), grid, store=tmp_path / "studies.db", seeds=2)
    study.estimator.set_params(init="random")
    with pytest.raises(StoppedError):
        study.run("iris", on_epoch=stop_at(12))
    return study


def facts_of(study, **options):
    with Store(study.store) as store:
        return read_facts(store, study.name, **options)


def test_runs_in_training_have_their_measures_and_curves(stopped):
    assert {row.state for row in facts_of(stopped).rows} == {"waiting"}
    facts = facts_of(stopped, live=True)
    short, long, *wild = facts.rows
    assert (short.state, short.epochs, short.stopped) == ("training", 5, "trained")
    assert (long.state, long.epochs, long.stopped) == ("training", 12, "in training")
    assert all(row.diverged == 2 and row.stopped.startswith("diverged at epoch") for row in wild)
    assert facts.verdict.best is None
    final = stopped.run("iris", resume=True).facts()
    assert all(row.state == "done" for row in final.rows)
    for number, runs in facts.histories.items():
        for live, whole in zip(runs, final.histories[number], strict=True):
            for name in ("train_loss", "val_loss", "objective"):
                assert live[name].tobytes() == whole[name][: live.epochs].tobytes()
    assert long.last["val_loss"] == pytest.approx(
        np.mean([run["val_loss"][11] for run in final.histories[1]])
    )


def test_a_finished_study_is_the_same_with_live_runs(stopped):
    stopped.run("iris", resume=True)
    assert facts_of(stopped, live=True).table() == facts_of(stopped).table()
