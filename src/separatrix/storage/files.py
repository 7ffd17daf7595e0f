"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Put data at a path: into a file beside it, to the disk, and then into its place."""
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
