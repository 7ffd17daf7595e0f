"""Commands with --dask give the results of the same commands without it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix import load_model
from separatrix.cluster import Cluster, passes_sent
from support.command import MAIL, call, facts
from support.dask_cluster import own_scheduler, workers

TIGHT = "--tol", "1e-12"


@pytest.fixture
def dask(client: Any, tmp_path: Any, monkeypatch: Any) -> tuple[str, str]:
    """The option for the cluster, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return "--dask", client.scheduler.address


def fit(*words: Any) -> Any:
    """Return the facts of a fit, which need not converge."""
    code = 3 if "gradient" in words else 0
    return facts("fit", *words, *TIGHT, code=code)


def coef(name: str) -> np.ndarray:
    model = load_model(name).estimator
    return np.column_stack([model.coef_, model.intercept_])


FITS = {
    "newton": ("wine",),
    "svm": ("breast-cancer", "--model", "svm"),
    "L1": ("breast-cancer", "--l1", "1"),
    "gradient": ("wine", "--solver", "gradient", "--epochs", "30", "--patience", "20"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_a_fit_on_a_cluster_is_the_fit_on_this_machine(dask: Any, name: str) -> None:
    here = fit(*FITS[name], "--out", "here.sx")
    before = passes_sent()
    there = fit(*FITS[name], "--out", "there.sx", *dask)
    assert passes_sent() > before + there["verdict"]["iterations"]
    np.testing.assert_allclose(coef("there.sx"), coef("here.sx"), rtol=0, atol=1e-8)
    for part, found in here["metrics"].items():
        assert there["metrics"][part]["confusion"] == found["confusion"]
    primal = [each["verdict"]["certificate"]["primal"] for each in (here, there)]
    assert primal[0] == pytest.approx(primal[1], rel=1e-10)
    assert f"Trained on 2 workers of the Dask cluster at {dask[1]}." in there["notes"]


@pytest.mark.slow
def test_sparse_rows_and_weights_are_sent(dask: Any) -> None:
    rng = np.random.default_rng(0)
    lines = ["a,b,s,label"]
    for a, b in rng.standard_normal((80, 2)):
        lines.append(f"{a:.6f},{b:.6f},{rng.integers(1, 4)},{'yes' if a + b > 0.3 else 'no'}")
    with open("rows.csv", "w") as file:
        file.write("\n".join(lines))
    with open("mail.tsv", "w") as file:
        file.write(MAIL)
    for words in (("rows.csv", "--weight", "s", "--C", "0.1"), ("mail.tsv", "--solver", "newton")):
        call("fit", *words, *TIGHT, "--out", "here.sx")
        call("fit", *words, *TIGHT, "--out", "there.sx", *dask)
        np.testing.assert_allclose(coef("there.sx"), coef("here.sx"), rtol=0, atol=1e-8)
    words = "rows.csv", "--weight", "s", "--folds", "3", "--C", "0.1,1", *TIGHT
    scores = [
        [each["scores"] for each in facts("search", *words, *more)["candidates"]]
        for more in ((), dask)
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-12)


@pytest.mark.slow
def test_a_search_on_a_cluster_is_the_search_on_this_machine(dask: Any) -> None:
    words = "search", "wine", "--folds", "3", "--C", "0.1,1", *TIGHT
    here, there = facts(*words, "--out", "here.sx"), facts(*words, "--out", "there.sx", *dask)
    assert [c["scores"] for c in there["candidates"]] == [c["scores"] for c in here["candidates"]]
    assert there["batches"] == 1
    assert there["passes"] > 10
    np.testing.assert_allclose(coef("there.sx"), coef("here.sx"), rtol=0, atol=1e-8)


@pytest.mark.slow
def test_a_study_on_a_cluster_is_the_study_on_this_machine(dask: Any) -> None:
    words = "study", "wine", "--learning-rate", "0.1,0.5", "--epochs", "9", "--no-report"
    here, there = facts(*words, "--name", "here"), facts(*words, "--name", "there", *dask)
    for one, other in zip(here["rows"], there["rows"], strict=True):
        assert other["val_loss"] == pytest.approx(one["val_loss"], rel=1e-10)
    assert f"--dask {dask[1]}" in there["command"]
    assert facts(*words, "--name", "there", "--resume", *dask)["rows"] == there["rows"]


@pytest.mark.slow
def test_workers_read_the_blocks_of_a_folder_themselves(dask: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Cluster, "_send", None)
    call("convert", "wine", "blocks", "--rows-per-block", "30")
    here = facts("fit", "blocks", *TIGHT, "--out", "here.sx")
    there = facts("fit", "blocks", *TIGHT, "--out", "there.sx", *dask)
    np.testing.assert_allclose(coef("there.sx"), coef("here.sx"), rtol=0, atol=1e-8)
    assert there["metrics"]["test"]["confusion"] == here["metrics"]["test"]["confusion"]
    words = "search", "blocks", "--folds", "3", "--C", "0.1,1"
    scores = [[c["scores"] for c in facts(*words, *m)["candidates"]] for m in ((), dask)]
    assert scores[0] == scores[1]


def refusal(*words: Any, code: int = 2) -> str:
    """Return what a command that must fail says."""
    found = call(*words, code=code)
    assert "Traceback" not in found.output
    return " ".join(found.stderr.split())


def test_what_cannot_be_trained_on_a_cluster_is_refused(dask: Any) -> None:
    said = refusal("fit", "breast-cancer", "--model", "svm", "--loss", "hinge", *dask)
    assert "Use loss 'squared_hinge'" in said
    said = refusal("search", "wine", "--certify", "0.1", *dask)
    assert "--certify needs all rows in memory, and --dask divides them" in said
    with open("mail.tsv", "w") as file:
        file.write(MAIL)
    assert "'separatrix convert'" in refusal("search", "mail.tsv", *dask)


def test_a_folder_with_other_data_on_a_worker_is_refused(folder: Any) -> None:
    from separatrix.cluster import connection

    call("convert", "wine", "blocks")
    with pytest.raises(connection.ClusterError, match="holds other data"):
        connection.read_part("blocks", "0" * 64, "train", 0)
    shutil.rmtree("blocks")
    with pytest.raises(connection.ClusterError, match="same folder of blocks at the same path"):
        connection.read_part("blocks", "0" * 64, "train", 0)


def test_addresses_without_a_scheduler_are_refused(client: Any, monkeypatch: Any) -> None:
    from separatrix.cluster import library

    monkeypatch.setattr(library, "CONNECTING", 0.5)
    worker = next(iter(client.scheduler_info()["workers"]))
    for address, why in {
        "tcp://127.0.0.1:9": "no answer within 0.5 s",
        "tpc://127.0.0.1:9": "unknown address scheme",
        "here": "missing port",
        worker: "the address of a Worker",
    }.items():
        said = refusal("fit", "iris", "--dask", address)
        assert why in said
        assert "'dask scheduler' prints" in said


def test_a_scheduler_that_is_gone_is_an_error_in_the_words_of_the_command_line(
    tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    spread = Cluster.spread

    def kill_first(self: Any, X: Any) -> Any:
        scheduler.kill()
        return spread(self, X)

    with own_scheduler(tmp_path) as (scheduler, file):
        address = json.loads(Path(file).read_text())["address"]
        with distributed.Client(address) as client:
            client.wait_for_workers(1)
        monkeypatch.setattr(Cluster, "spread", kill_first)
        said = refusal("fit", "iris", "--dask", address, code=1)
    assert f"The connection to the scheduler at {address} was lost" in said
    assert "continue it with --resume." in said


def test_without_dask_the_extra_is_named(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refusal("fit", "iris", "--dask", "tcp://127.0.0.1:9")
    assert "pip install 'separatrix[dask]'" in said


def test_a_scheduler_without_workers_is_refused() -> None:
    with workers(0) as empty:
        said = refusal("fit", "iris", "--dask", empty.scheduler.address)
    assert "has no workers. Start some with: dask worker tcp://" in said
