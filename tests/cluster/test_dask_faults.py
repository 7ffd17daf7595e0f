"""Lost workers cost time, not the result; every other fault is an error in words."""

from __future__ import annotations

import logging
import os
import signal
import time
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.cluster import Placement, partitions
from separatrix.errors import ClusterError
from support.dask_cluster import own_scheduler, workers

dask = pytest.importorskip("dask", reason="dask is not installed (extra dask)")
da = pytest.importorskip("dask.array", reason="dask is not installed (extra dask)")
distributed = pytest.importorskip("distributed", reason="distributed is not installed (extra dask)")
pytestmark = pytest.mark.slow

N, D, ROWS = 600, 4, 60
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = (X[:, 0] + RNG.standard_normal(N) > 0.0).astype(int)


def after(epochs: int, action: Any) -> Any:
    """Return a callback that acts once, after some epochs."""
    seen: list[Any] = []

    def on_epoch(epoch: Any) -> None:
        seen.append(epoch)
        if len(seen) == epochs:
            action()

    return on_epoch


def kill_a_worker(client: Any) -> None:
    pids = client.run(os.getpid)
    os.kill(min(pids.values()), signal.SIGKILL)


def parts() -> tuple[Any, Any]:
    return da.from_array(X, chunks=(ROWS, D)), da.from_array(Y, chunks=ROWS)


def test_a_killed_worker_does_not_change_the_result():
    model = sx.LogisticRegression(tol=1e-12)
    with sx.rows_per_block(ROWS):
        expected = sx.LogisticRegression(tol=1e-12).fit(X, Y)
    with workers(3) as client:
        killed = after(2, lambda: kill_a_worker(client))
        model.fit(*parts(), on_epoch=killed)
        assert np.array_equal(model.coef_, expected.coef_)
        assert model.certificate_.gap == expected.certificate_.gap


def test_a_worker_killed_within_a_pass_costs_only_that_pass(monkeypatch):
    monkeypatch.setattr(partitions, "PATIENCE", 0.1)
    model = sx.GradientDescentClassifier(epochs=6)
    with sx.rows_per_block(ROWS):
        expected = sx.GradientDescentClassifier(epochs=6).fit(X, Y)
    with workers(2) as client:
        submit, sent = partitions.Partitions.map, []

        def kill_after_sending(self: Any, *given: Any, **named: Any) -> Any:
            sent.append(submit(self, *given, **named))
            if len(sent) == 5:
                kill_a_worker(client)
            return sent[-1]

        monkeypatch.setattr(partitions.Partitions, "map", kill_after_sending)
        model.fit(*parts())
    assert np.array_equal(model.coef_, expected.coef_)


def test_rows_that_were_sent_from_this_process_and_lost_are_an_error():
    with workers(2) as client:
        sent = client.scatter([X[:300], X[300:]])
        rows = da.concatenate([da.from_delayed(part, (300, D), float) for part in sent])
        with pytest.raises(ClusterError, match=r"cannot compute them again.*scatter"):
            sx.LogisticRegression(tol=1e-12).fit(
                rows, Y, on_epoch=after(2, lambda: kill_a_worker(client))
            )


def fill_memory(block: Any) -> Any:
    held = [np.ones(10_000_000) for _ in range(3)]  # 240 MB
    time.sleep(5.0)
    return block + len(held)


def test_workers_without_enough_memory_are_an_error():
    config = {"distributed.scheduler.allowed-failures": 0}
    with dask.config.set(config), workers(1, memory_limit="300MB"):
        rows = da.from_array(X, chunks=(N, D)).map_blocks(fill_memory, dtype=float)
        with pytest.raises(ClusterError, match=r"Workers died .* memory was too small"):
            sx.LogisticRegression().fit(rows, Y)


def kill_this_worker(block: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pass_that_kills_its_workers_is_not_repeated_for_ever(monkeypatch):
    monkeypatch.setattr(partitions, "PATIENCE", 0.1)
    monkeypatch.setattr(partitions, "REPEATS", 1)
    with workers(1):
        source = Placement(*parts()).rows(np.arange(2)).source
        with pytest.raises(ClusterError, match=r"in 2 attempts.*smaller partitions"):
            source.sum(kill_this_worker)


def test_a_scheduler_that_is_gone_is_an_error(tmp_path):
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        own_scheduler(tmp_path) as (scheduler, file),
        distributed.Client(scheduler_file=file) as client,
    ):
        client.wait_for_workers(1)
        with pytest.raises(ClusterError, match=r"connection to the scheduler .* was lost"):
            sx.LogisticRegression(tol=1e-12).fit(*parts(), on_epoch=after(2, scheduler.kill))
