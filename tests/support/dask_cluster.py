"""Worker processes of Dask on this machine."""

from __future__ import annotations

import logging
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
