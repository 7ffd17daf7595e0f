"""Logs of every epoch: callbacks, CSV files and MLflow."""

import csv
import os
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, LogisticRegression, Perceptron, Study
from separatrix.study import CsvLog, LogWarning, MlflowLog, Store, StoreError
from separatrix.training import Interrupted
from support.command import call
from support.studies import assert_same, facts_of, iris, run_in_process, study_of

QUICK = {"learning_rate": [0.1, 0.01], "epochs": [5, 12]}
RUNS = [(0, 5), (1, 12), (2, 5), (3, 12)]  # the configurations of QUICK, and their epochs
WORDS = ("study", "iris", "--learning-rate", "0.1,0.01", "--momentum", "0", "--epochs", "5,12")


class EnoughError(Exception):
    """Raised by callbacks."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A temporary working folder for stores and logs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path


def quick(name="a", **options):
    return Study(name, GradientDescentClassifier(init="random"), QUICK, seeds=2, **options)


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def end_at(epoch):
    """Return a callback that stops a study after the given number of epochs."""

    def on_epoch(epochs):
        if epochs[0].epoch >= epoch:
            raise EnoughError

    return on_epoch


# callbacks


def test_callbacks_of_a_study_get_every_epoch_of_every_run(folder):
    told = []
    study = quick().run(*iris(), on_epoch=told.append)
    histories = study.histories()
    assert Counter((e.number, e.seed) for epochs in told for e in epochs) == {
        (number, seed): epochs for number, epochs in RUNS for seed in (0, 1)
    }
    for e in (e for epochs in told for e in epochs):
        assert e.parameters == study.plan.configurations[e.number]
        history = histories[e.number][e.seed]
        for name in ("train_loss", "val_accuracy", "gradient_norm"):
            assert e.measures[name] == history[name][e.epoch - 1]


def test_a_callback_gets_one_epoch_of_all_runs_in_training(folder):
    told = []
    quick().run(*iris(), on_epoch=told.append)
    assert [epochs[0].epoch for epochs in told] == list(range(1, 13))
    assert [len(epochs) for epochs in told] == [8] * 5 + [4] * 7


@pytest.mark.parametrize(
    "estimator",
    [GradientDescentClassifier(epochs=7), Perceptron(epochs=7), LogisticRegression()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_callback_of_an_estimator_gets_every_epoch(estimator):
    X, y, _, _ = iris()
    told = []
    estimator.fit(X, y, on_epoch=told.append)
    losses = [epochs[0].measures["train_loss"] for epochs in told]
    assert losses == estimator.history_["train_loss"].tolist()
    assert all(type(loss) is float for loss in losses)


def test_a_callback_can_stop_a_fit_and_keep_the_model():
    X, y, _, _ = iris()

    def enough(epochs):
        if epochs[0].epoch == 3:
            raise Interrupted

    model = GradientDescentClassifier(epochs=100).fit(X, y, on_epoch=enough)
    assert (model.n_iter_, model.stop_reason_) == (3, "interrupted")


def test_a_study_stopped_by_a_callback_can_be_resumed(folder):
    with pytest.raises(EnoughError):
        quick().run(*iris(), on_epoch=end_at(8))
    told = []
    quick().run(*iris(), resume=True, on_epoch=told.append)
    assert [epochs[0].epoch for epochs in told] == [9, 10, 11, 12]


def test_runs_of_an_interrupted_study_are_not_finished(folder):
    """Unlike a single fit, a study must not keep models that were stopped early."""

    def enough(epochs):
        if epochs[0].epoch == 8:
            raise Interrupted

    with pytest.raises(Interrupted):
        quick().run(*iris(), on_epoch=enough)
    assert not quick().facts().finished
    quick(store="whole.db").run(*iris())
    quick().run(*iris(), resume=True)
    assert_same(facts_of("whole.db", "a"), facts_of("separatrix.db", "a"))


# CSV


def test_a_csv_log_has_a_line_for_every_epoch_of_every_run(folder):
    study = quick().run(*iris(), logs=[CsvLog("a.csv")])
    found = lines("a.csv")
    assert len(found) == 2 * sum(epochs for _, epochs in RUNS)
    for row in found:
        number, seed, epoch = (int(row[name]) for name in ("configuration", "seed", "epoch"))
        assert float(row["learning_rate"]) == study.plan.configurations[number]["learning_rate"]
        history = study.histories()[number][seed]
        assert float(row["val_loss"]) == history["val_loss"][epoch - 1]


def test_missing_measures_are_empty(folder):
    X, y, _, _ = iris()
    quick().run(X, y, logs=[CsvLog("a.csv")])
    assert {row["val_loss"] for row in lines("a.csv")} == {""}


@pytest.mark.parametrize("cut", [0, 1, 30])
def test_the_log_of_a_resumed_study_has_every_line_once(folder, cut):
    """This holds even if the last line is incomplete, or the log is ahead of the checkpoint."""
    quick("whole", store="whole.db").run(*iris(), logs=[CsvLog("whole.csv")])
    with pytest.raises(EnoughError):
        quick("whole").run(*iris(), logs=[CsvLog("a.csv")], on_epoch=end_at(8))
    text = (folder / "a.csv").read_bytes()
    ahead = text + b"".join(
        line.encode()
        for line in (folder / "whole.csv").read_text().splitlines(keepends=True)
        if line.split(",")[3] in ("9", "10")
    )
    (folder / "a.csv").write_bytes(ahead[: len(ahead) - cut])
    quick("whole").run(*iris(), resume=True, logs=[CsvLog("a.csv")])

    def without_seconds(path):
        return sorted(sorted((k, v) for k, v in r.items() if k != "seconds") for r in lines(path))

    assert without_seconds("a.csv") == without_seconds("whole.csv")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "mlflow"])
def test_a_log_that_is_ahead_of_the_store_has_every_epoch_once(tracking, folder, kind):
    """After a crash, the store can be at epoch 4 and the log at epoch 8."""
    log = (lambda: CsvLog("a.csv")) if kind == "csv" else (lambda: MlflowLog(tracking))
    for epoch in (4, 8):
        with pytest.raises(EnoughError):
            quick().run(*iris(), resume=True, logs=[log()], on_epoch=end_at(epoch))
        if epoch == 4:
            shutil.copy("separatrix.db", "then.db")
    shutil.copy("then.db", "separatrix.db")
    told = []
    study = quick().run(*iris(), resume=True, logs=[log()], on_epoch=told.append)
    assert told[0][0].epoch == 5
    if kind == "mlflow":
        assert_logged(tracking, study)
    else:
        epochs = Counter((r["configuration"], r["seed"], r["epoch"]) for r in lines("a.csv"))
        assert (len(epochs), set(epochs.values())) == (68, {1})


class Buffering:
    """A log that keeps epochs only in flush, and compares them with the store."""

    place = "memory"

    def __init__(self):
        self.pending, self.kept = [], []

    def begin(self, about):
        pass

    def tell(self, epochs):
        self.pending += [(e.number, e.seed, e.epoch) for e in epochs]

    def flush(self):
        with Store() as store:
            found = store.rows("SELECT configuration, seed FROM runs WHERE found IS NOT NULL")
            there = store.rows("SELECT max(epoch) AS epoch FROM checkpoints")[0]["epoch"] or 0
        done = {(row["configuration"], row["seed"]) for row in found}
        for number, seed, epoch in self.pending:
            assert (number, seed) not in done
            assert epoch > there
        self.kept += self.pending
        self.pending = []

    def end(self, finished):
        pass


@pytest.mark.parametrize("memory", [1, 1 << 30], ids=["many batches", "one batch"])
def test_logs_are_flushed_before_every_checkpoint(folder, memory):
    """Epochs that a resumed study does not repeat must be in the log."""
    log = Buffering()
    quick(memory=memory).run(*iris(), logs=[log], every=0.0)
    assert log.pending == []
    assert Counter((number, seed) for number, seed, _ in log.kept) == {
        (number, seed): epochs for number, epochs in RUNS for seed in (0, 1)
    }


@pytest.mark.slow
def test_killed_studies_have_complete_logs(tmp_path):
    """The log is on the disk before the checkpoint of the same epoch."""
    store, log = tmp_path / "a.db", tmp_path / "a.csv"
    for size in (1_000_000, 3_000_000):  # of 6 million bytes
        child = run_in_process(make_logged, store, log)
        while child.is_alive() and not (log.exists() and log.stat().st_size >= size):
            time.sleep(0.001)
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    child = run_in_process(make_logged, store, log)
    child.join()
    assert child.exitcode == 0
    facts = facts_of(store)
    assert facts.finished
    found = Counter((int(r["configuration"]), int(r["seed"])) for r in lines(log))
    assert found == {
        (number, seed): history.epochs
        for number, runs in facts.histories.items()
        for seed, history in zip(facts.seeds, runs)
    }
    epochs = {(r["configuration"], r["seed"], r["epoch"]) for r in lines(log)}
    assert len(epochs) == sum(found.values())


def make_logged(store, log):
    """Run a logged study in another process."""
    study_of(store).run(*iris(), resume=True, every=0.01, logs=[CsvLog(log)])


def test_two_studies_can_share_a_log_unless_they_have_the_same_name(folder):
    for name in ("a", "b"):
        quick(name).run(*iris(), logs=[CsvLog("a.csv")])
    assert Counter(row["study"] for row in lines("a.csv")) == {"a": 68, "b": 68}
    with pytest.raises(ValueError, match="has lines of an earlier study 'a'"):
        quick("a", store="other.db").run(*iris(), logs=[CsvLog("a.csv")])
    with pytest.raises(OSError, match="no study"):
        quick("a", store="other.db").facts()


def test_other_files_are_refused_as_logs_and_not_changed(folder):
    for text in ("my,own,table\n1,2,3\nno end", "one line without an end", "x" * 100_000 + "\n"):
        (folder / "a.csv").write_text(text)
        with pytest.raises(ValueError, match="is not a log of a study") as refused:
            quick().run(*iris(), logs=[CsvLog("a.csv")])
        assert len(str(refused.value)) < 600  # long lines are cut
        assert (folder / "a.csv").read_text() == text


def test_a_batch_of_all_rows_is_written_as_all(folder):
    grid = {"batch_size": [None, 20], "epochs": 1}
    Study("a", GradientDescentClassifier(), grid).run(*iris(), logs=[CsvLog("a.csv")])
    assert [row["batch_size"] for row in lines("a.csv")] == ["all", "20"]


# logs that fail


class Failing:
    """A log with one method that fails."""

    place = "nowhere"

    def __init__(self, duty):
        self.duty = duty

    def __getattr__(self, verb):
        def do(*given):
            if verb == self.duty:
                raise RuntimeError("gone")

        return do


@pytest.mark.parametrize("duty", ["tell", "flush", "end"])
def test_a_log_that_fails_is_dropped_and_the_study_continues(folder, duty):
    quick(store="whole.db").run(*iris())
    with pytest.warns(LogWarning, match=r"The log nowhere failed: gone\. The study continues"):
        quick().run(*iris(), logs=[Failing(duty), CsvLog("a.csv")])
    assert_same(facts_of("whole.db", "a"), facts_of("separatrix.db", "a"))
    assert len(lines("a.csv")) == 68


def test_invalid_logs_are_refused_before_training(folder):
    with pytest.raises(TypeError, match=r"such as \[CsvLog\('log.csv'\)\]. Got 'a.csv' of"):
        quick().run(*iris(), logs=["a.csv"])
    with pytest.raises(OSError, match="no study"):
        quick().facts()


# MLflow


@pytest.fixture
def tracking(folder, monkeypatch):
    """The address of an MLflow tracking store in files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return (folder / "mlruns").as_uri()


def runs_of(uri):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    (where,) = (e.experiment_id for e in client.search_experiments() if e.name == "separatrix")
    runs = client.search_runs([where])
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    parents = [run for run in runs if run not in children]
    return client, parents, children


def assert_logged(uri, study):
    """Check that MLflow has a run for the study, and a child run with every epoch for each run."""
    client, [parent], children = runs_of(uri)
    assert parent.info.run_name == study.name
    assert parent.data.params["estimator"] == "GradientDescentClassifier"
    assert len(children) == 8
    histories = study.histories()
    for child in children:
        tags, params = child.data.tags, child.data.params
        number, seed = int(tags["separatrix.configuration"]), int(params["seed"])
        assert tags["mlflow.parentRunId"] == parent.info.run_id
        assert tags["separatrix.fingerprint"] == study.data.fingerprint
        assert tags["version.numpy"] == np.__version__
        for name, value in study.plan.configurations[number].items():
            assert params[name] == str(value)
        for name in ("train_loss", "val_accuracy"):
            points = client.get_metric_history(child.info.run_id, name)
            assert [point.step for point in points] == list(range(1, len(points) + 1))
            assert [point.value for point in points] == histories[number][seed][name].tolist()
        assert child.info.status == "FINISHED"


@pytest.mark.slow
def test_mlflow_has_a_run_for_the_study_and_a_child_run_for_every_run(tracking):
    assert_logged(tracking, quick().run(*iris(), logs=[MlflowLog(tracking)]))


def test_mlflow_continues_the_same_runs(tracking):
    with pytest.raises(EnoughError):
        quick().run(*iris(), logs=[MlflowLog(tracking)], on_epoch=end_at(8))
    assert {run.info.status for run in runs_of(tracking)[2]} == {"KILLED"}
    assert_logged(tracking, quick().run(*iris(), resume=True, logs=[MlflowLog(tracking)]))


def test_mlflow_logs_more_metrics_than_fit_into_one_request(tracking):
    grid = {"learning_rate": [0.1], "epochs": [400]}
    study = Study("long", GradientDescentClassifier(), grid).run(
        *iris(), logs=[MlflowLog(tracking)]
    )
    client, _, [child] = runs_of(tracking)
    points = client.get_metric_history(child.info.run_id, "val_loss")
    assert [point.value for point in points] == study.histories()[0][0]["val_loss"].tolist()


def test_an_unavailable_server_is_a_warning(folder):
    before = dict(os.environ)
    with pytest.warns(LogWarning, match=r"MLflow cannot be used at http://127\.0\.0\.1:9: "):
        quick().run(*iris(), logs=[MlflowLog("http://127.0.0.1:9")])
    assert dict(os.environ) == before
    assert facts_of("separatrix.db", "a").finished


def test_a_missing_package_is_a_warning_with_the_package_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.warns(LogWarning, match=r"pip install mlflow\. The study continues"):
        quick().run(*iris(), logs=[MlflowLog("sqlite:///mlflow.db")])
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.warns(LogWarning, match=r"pip install mlflow-skinny\. The study continues"):
        quick("b").run(*iris(), logs=[MlflowLog("http://127.0.0.1:9")])


# the command


@pytest.mark.slow
def test_the_command_writes_logs(tracking, folder):
    call(*WORDS, "--log", "a.csv", "--mlflow", tracking)
    assert len(lines("a.csv")) == 2 * (5 + 12)
    assert len(runs_of(tracking)[2]) == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("default::separatrix.study.LogWarning")
def test_the_command_warns_about_logs_that_fail(folder):
    found = call(*WORDS, "--mlflow", "http://127.0.0.1:9", "--json")
    assert found.stderr.startswith("Warning: MLflow cannot be used at http://127.0.0.1:9: ")
    assert found.stdout.startswith("{")
    (folder / "a.csv").write_text("other\n")
    assert "is not a log" in call(*WORDS, "--log", "a.csv", code=1).stderr


def test_a_second_writer_does_not_change_the_log_of_the_first(folder):
    before = []

    def meddle(_):
        if before:
            return
        before.append(Path("a.csv").read_bytes())
        with pytest.raises(StoreError, match="is being written"):
            quick("a").run(*iris(), resume=True, logs=[CsvLog("a.csv")])
        assert Path("a.csv").read_bytes() == before[0]

    quick("a").run(*iris(), logs=[CsvLog("a.csv")], on_epoch=meddle)
    assert before
    assert Counter(row["study"] for row in lines("a.csv")) == {"a": 68}
