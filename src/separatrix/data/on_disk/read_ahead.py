"""Compute items in a background thread, one ahead of their use."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
_WAIT = 0.2  # seconds between looks at whether the items are still wanted


def read_ahead(makers: Sequence[Callable[[], T]]) -> Generator[T]:
    """Yield maker() of each maker, in their order, while a thread computes the next item.

    At most three items exist at a time: one in use, one waiting and one being made.

    >>> list(read_ahead([lambda: "a", lambda: "b"]))
    ['a', 'b']
    """
    if len(makers) < 2:
        yield from (make() for make in makers)
        return
    waiting: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(1)
    abandoned = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> bool:
        while not abandoned.is_set():
            try:
                waiting.put((item, error), timeout=_WAIT)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for make in makers:
                if not put(make()):
                    return
        except BaseException as error:  # which the reader raises
            put(None, error)

    thread = threading.Thread(target=work, name="separatrix-read-ahead", daemon=True)
    thread.start()
    try:
        for _ in makers:
            item, error = waiting.get()
            if error is not None:
                raise error
            yield item
            del item  # before the next one is waited for
    finally:
        abandoned.set()
        thread.join()
