"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def is_protected(path: Path) -> bool:
    """Whether a file, or the folder it would be made in, is marked as not to be written.

    The marks count for everybody, also for a user whom the system would let write.
    """
    there = path if path.exists() else path.absolute().parent
    return there.exists() and not stat.S_IMODE(there.stat().st_mode) & 0o222


def replace_file(path: Path, data: bytes) -> None:
    """Put data at a path: into a file beside it, to the disk, and then into its place."""
    if is_protected(path):
        raise PermissionError(f"{path} is read-only, and was not written. Name another file.")
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with open(beside, "xb") as file:
                if path.exists():
                    os.chmod(beside, stat.S_IMODE(path.stat().st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{path} was not written: {error.strerror}. A file that was there is there still, "
            "unchanged. Choose another folder, or make room.",
        ) from None


def _sync_folder(folder: Path) -> None:
    """Make the new name last, on systems that can; the file is whole with or without it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
