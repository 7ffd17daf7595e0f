"""Limits on the decompressed size of a file, as a protection against decompression bombs.

A compressed file may expand to half of this machine's memory, but not to more than 8 GiB. Above
256 MiB it may expand to 200 times its compressed size at most; tables of real data expand by a
factor of 10 to 50. SEPARATRIX_MAX_UNPACKED sets another limit and removes the limit on the ratio.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

VARIABLE = "SEPARATRIX_MAX_UNPACKED"
MOST_BYTES = 8 << 30
MOST_RATIO = 200
FREE_BYTES = 256 << 20  # up to this size, any ratio is allowed
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,18})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


class UnpackLimitError(ValueError):
    """Raised for a file that exceeds a limit on its decompressed size."""


def require_room(path: Path | str, packed: int, unpacked: int) -> None:
    """Raise if `unpacked` bytes, from `packed` bytes (0 if unknown), exceed the limits.

    >>> require_room("big.csv.gz", 1 << 20, 1 << 30)
    Traceback (most recent call last):
        ...
    separatrix.readers.compression.size_limits.UnpackLimitError: big.csv.gz unpacks to more than ...
    """
    user_limit = _user_limit()
    most = min(most_bytes(), MOST_BYTES) if user_limit is None else user_limit
    if unpacked > most:
        why = (
            f"set by {VARIABLE}"
            if user_limit is not None
            else "which is half of this machine's memory"
            if most < MOST_BYTES
            else "the limit for compressed files"
        )
        raise UnpackLimitError(
            f"{path} unpacks to more than {in_units(most)}, {why}. If you trust the file, set "
            f"{VARIABLE} to a larger size such as 32G, or decompress the file first."
        )
    if user_limit is None and packed and unpacked > max(FREE_BYTES, MOST_RATIO * packed):
        raise UnpackLimitError(
            f"{path} unpacks to more than {in_units(FREE_BYTES)} and to more than {MOST_RATIO} "
            f"times its size of {in_units(packed)}. It may be a decompression bomb. If you trust "
            f"the file, set {VARIABLE} to the size to allow, such as 4G, or decompress it first."
        )


def most_bytes() -> int:
    """Return half of the memory of this machine, or of the container the process runs in."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not available on this system
        memory = 1 << 33
    with contextlib.suppress(ValueError, OSError):  # the file says "max" or does not exist
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return memory // 2


def in_units(size: int) -> str:
    """Format a number of bytes for people.

    >>> in_units(3 << 29), in_units(1000)
    ('1.5 GiB', '1000 bytes')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def _user_limit() -> int | None:
    """Return the limit set by the environment variable in bytes, or None if it is not set."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return None
    found = _SIZE.fullmatch(given)
    if found is None or not int(found[1]):
        raise ValueError(
            f"{VARIABLE} must be a number of bytes, such as 2000000000, 500M or 4G. "
            f"Got {given!r} instead."
        )
    return int(found[1]) * _UNITS[found[2].upper()]
