"""A cluster of two worker processes, shared by all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.dask_cluster import workers


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="distributed is not installed (extra dask)")
    with workers(2) as client:
        yield client
