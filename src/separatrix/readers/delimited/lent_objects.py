"""Lend Python objects to the threads of pyarrow."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 10.0  # seconds
_PAUSE = 1e-4


@contextmanager
def lend(*objects: Any) -> Iterator[None]:
    """Return only when no other thread holds a reference to the objects.

    A call of pyarrow can return shortly before its threads release the objects that they were
    given. For this they need the lock of the interpreter. If the interpreter is already ending,
    the attempt aborts the process ("terminate called without an active exception").

    The objects must not be shared with other calls.

    >>> cells = memoryview(b"1,2")
    >>> with lend(cells):
    ...     _ = cells.tobytes()
    """
    before = _references(objects)
    try:
        yield
    finally:
        end = time.monotonic() + _PATIENCE
        while _references(objects) > before and time.monotonic() < end:
            time.sleep(_PAUSE)


def _references(objects: tuple[Any, ...]) -> int:
    return sum(map(sys.getrefcount, objects))
