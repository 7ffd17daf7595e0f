"""The number of threads that the kernels use.

The first of these that is given decides:

1. `set_threads`
2. the environment variable SEPARATRIX_THREADS
3. a limit of threadpoolctl
4. the environment variable OMP_NUM_THREADS, which joblib sets in its worker processes
5. 1 in a process that multiprocessing has started, such as a worker of a Pool, a
   ProcessPoolExecutor or Dask, because workers share the cores
6. the number of available cores

The variables and the cores are read at import, and again in a new process.
"""

from __future__ import annotations

import multiprocessing
import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.util import register_after_fork
from threading import Lock

from threadpoolctl import LibController, register

import separatrix._core as _core
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix.available_cores import available_cores

MOST_THREADS = 1024


@dataclass
class _Source:
    """What has decided the number of threads: the user, a limit, or neither of them."""

    by_user: bool = False
    by_limit: bool = False


_source = _Source()


def set_threads(threads: int | None = None) -> None:
    """Set how many threads the kernels may use; by default one per available core.

    Results do not depend on it. It takes precedence over the environment variables
    SEPARATRIX_THREADS and OMP_NUM_THREADS, and over limits of threadpoolctl.
    """
    if threads is None:
        threads = available_cores()
    whole = isinstance(threads, numbers.Integral) and not isinstance(threads, bool)
    if not whole or not 1 <= threads <= MOST_THREADS:
        raise ParameterError(
            Message(
                "{threads:subject} must be a whole number from 1 to {most}. Got {given!r} instead.",
                threads=Parameter("threads"),
                most=MOST_THREADS,
                given=threads,
            )
        )
    _source.by_user = True
    _core.set_threads(int(threads))


def get_threads() -> int:
    """Return how many threads the kernels may use."""
    return _core.threads()


_lock, _users = Lock(), 0
_before = 1


@contextmanager
def kernel_threads(threads: int) -> Iterator[None]:
    """Use this many threads for a while, unless the user has set their number.

    Several threads of a process may enter it, all with the same number. The last one to leave
    restores the number that was there before.
    """
    global _users, _before
    if _source.by_user:
        yield
        return
    with _lock:
        if not _users:
            _before = get_threads()
            _core.set_threads(max(1, min(threads, MOST_THREADS)))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _core.set_threads(_before)


class KernelThreads(LibController):  # type: ignore[misc]
    """Lets threadpoolctl limit the threads of the kernels."""

    user_api = internal_api = "separatrix"
    filename_prefixes = ("_core",)
    check_symbols = ("separatrix_threads",)

    def get_num_threads(self) -> int:
        return get_threads()

    def set_num_threads(self, num_threads: int) -> None:
        """Limit the threads, unless the user has set their number."""
        if not _source.by_user:
            # At the end of a limit, threadpoolctl sets the number that was there before.
            _source.by_limit = num_threads != _default_threads()
            _core.set_threads(max(1, min(int(num_threads), MOST_THREADS)))

    def get_version(self) -> None:
        """Return None: the kernels have no version of their own."""


def _default_threads() -> int:
    """Return the number of threads if neither the user nor threadpoolctl sets it."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    given = int(first) if first.isdecimal() else 0  # OpenMP ignores other texts, too
    if not given and _is_worker():
        return 1
    return min(given or available_cores(), MOST_THREADS)


def _is_worker() -> bool:
    """Return whether multiprocessing has started this process.

    A spawned process imports the main script before it has a parent process. It is inheriting then.
    """
    inheriting = getattr(multiprocessing.current_process(), "_inheriting", False)
    return inheriting or multiprocessing.parent_process() is not None


def _threads_from_environment() -> int | None:
    text = os.environ.get("SEPARATRIX_THREADS", "")
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(
            "The environment variable SEPARATRIX_THREADS must be a whole number >= 1. "
            f"Got {text!r} instead."
        )
    return int(text)


def _use_default() -> None:
    """Use the default number of threads, unless the user or threadpoolctl has set another."""
    if not (_source.by_user or _source.by_limit):
        _core.set_threads(_default_threads())


if (_given := _threads_from_environment()) is not None:
    set_threads(_given)
_use_default()
register(KernelThreads)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_use_default)
# A forked child of multiprocessing knows its parent process only later.
register_after_fork(_source, lambda _: _use_default())
