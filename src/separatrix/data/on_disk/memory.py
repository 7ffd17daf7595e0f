"""Amounts of memory: how they are written, how much there is, and how large blocks may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from separatrix.errors import Message, Parameter, ParameterError

# The block in use, one that waits and one that is being read, and the system's copy of the last.
BLOCKS_IN_MEMORY = 4
BLOCKS_IN_ALL = 16  # the others are room for scores, gradients and the model
LARGEST_BLOCK = 1 << 26  # larger blocks do not make passes faster
MOST_ROWS = 1 << 16  # so that the scores of many models of a block stay small
CHUNKS_IN_ALL, LARGEST_CHUNK = 64, 1 << 25  # a table takes several times its bytes in memory
LEAST_MEMORY = 16 * 10**6  # for a conversion; less would make thousands of small files
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_CGROUPS = {"memory": "memory.limit_in_bytes", "": "memory.max"}  # versions 1 and 2


def as_bytes(memory: int | str) -> int:
    """Return an amount of memory in bytes.

    >>> as_bytes("1.5 GB"), as_bytes("500MiB"), as_bytes(1000)
    (1500000000, 524288000, 1000)
    """
    found = _WRITTEN.fullmatch(str(memory))
    count = 0
    if found is not None and not isinstance(memory, bool):
        unit = _UNITS[found[2].lower()]
        if found[3]:
            unit = 1024 ** list(_UNITS.values()).index(unit)
        count = int(float(found[1]) * unit)
    if count < 1:
        raise ParameterError(
            Message(
                "{memory:subject} must be a number of bytes, as in '500MB' or '2GB'. Got {given!r} "
                "instead.",
                memory=Parameter("memory"),
                given=memory,
            )
        )
    return count


def memory_of_conversion(memory: int | str) -> int:
    """Return an amount of memory for a conversion in bytes; raise if it is too small.

    >>> memory_of_conversion("1GB")
    1000000000
    """
    count = as_bytes(memory)
    if count < LEAST_MEMORY:
        raise ParameterError(
            Message(
                "{memory:subject} must be at least {least}: less would make thousands of small "
                "files. Got {given!r} instead.",
                memory=Parameter("memory"),
                least=bytes_in_words(LEAST_MEMORY),
                given=memory,
            )
        )
    return count


def bytes_in_words(count: int) -> str:
    """Return a number of bytes for people.

    >>> bytes_in_words(1_500_000), bytes_in_words(12)
    ('1.5 MB', '12 bytes')
    """
    for unit, words in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {words}"
    return f"{count} bytes"


def usual_memory() -> int:
    """Return half of the memory that is available to this process."""
    try:
        text = Path("/proc/meminfo").read_text()
        available = int(re.findall(r"MemAvailable:\s+(\d+)", text)[0]) << 10
    except (OSError, IndexError):  # not Linux
        available = 4 << 30
    return max(min([available, *_limits()]) // 2, 1)


def _limits() -> Iterator[int]:
    """Yield the memory limits of the control groups of this process."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, kind, group in (line.split(":", 2) for line in lines):
        if kind not in _CGROUPS:
            continue
        place = Path("/sys/fs/cgroup") / kind / group.lstrip("/")
        for folder in (place, *place.parents):
            try:
                yield int((folder / _CGROUPS[kind]).read_text())
            except (OSError, ValueError):  # no such group in this container, or no limit
                continue


def chunk_bytes(memory: int) -> int:
    """Return how much of a source a conversion reads at a time.

    >>> chunk_bytes(10**9), chunk_bytes(10**10)
    (15625000, 33554432)
    """
    return max(min(memory // CHUNKS_IN_ALL, LARGEST_CHUNK), 1 << 16)


def rows_of_blocks(row_bytes: float, memory: int) -> int:
    """Return the number of rows of a block, so that training fits into some memory.

    >>> rows_of_blocks(8000.0, 10**9), rows_of_blocks(8.0, 10**9)
    (7812, 65536)
    """
    size = min(memory / BLOCKS_IN_ALL, LARGEST_BLOCK)
    return max(min(int(size / max(row_bytes, 1.0)), MOST_ROWS), 1)
