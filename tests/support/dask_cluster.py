"""Worker processes of Dask on this machine."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def workers(count: int, **options: Any) -> Iterator[Any]:
    """Start worker processes with one thread each, and yield a client."""
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # faults are made on purpose
    cluster = distributed.LocalCluster(
        n_workers=count,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        **{"threads_per_worker": 1, "memory_limit": 0, **options},
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def own_scheduler(folder: Any) -> Iterator[tuple[Any, str]]:
    """Start a scheduler and a worker as processes of their own."""
    file = folder / "scheduler.json"
    module, where = "distributed.cli.dask_", ["--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--port", "0", "--no-dashboard", *where]
    scheduler = subprocess.Popen([sys.executable, "-m", f"{module}scheduler", *options], **quiet)
    worker = subprocess.Popen(
        [sys.executable, "-m", f"{module}worker", *where, "--no-dashboard", "--no-nanny"], **quiet
    )
    try:
        while not file.exists():
            time.sleep(0.05)
        yield scheduler, str(file)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
