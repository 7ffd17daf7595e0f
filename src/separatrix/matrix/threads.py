"""The number of threads that the kernels use."""

from __future__ import annotations

import numbers
import os

import separatrix._core as _core
from separatrix.errors import Message, Parameter, ParameterError

MOST_THREADS = 1024


def set_threads(threads: int | None = None) -> None:
    """Set how many threads the kernels may use; by default one per available core.

    Results do not depend on it. The environment variable SEPARATRIX_THREADS sets it at import.
    """
    if threads is None:
        threads = _available_cores()
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
    _core.set_threads(int(threads))


def get_threads() -> int:
    """Return how many threads the kernels may use."""
    return _core.threads()


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


set_threads(_threads_from_environment())
