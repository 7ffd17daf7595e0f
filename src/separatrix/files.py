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


def link_refusal(path: Path) -> str:
    """Why a path that is a symbolic link is not written to; "" for any other.

    Writing through a link changes a file that was not named, and replacing the link cuts it off
    from its target. A link to a device or a pipe, such as /dev/stdout, has no file to lose.
    """
    if not path.is_symlink() or _is_stream(path):
        return ""
    return (
        f"{path} is a symbolic link to {os.readlink(path)}, and nothing was written. Name the file "
        "itself, or remove the link."
    )


def replace_file(path: Path, data: bytes) -> None:
    """Put data at a path: into a file beside it, to the disk, and then into its place.

    On any error nothing is left behind, and a file that was there is unchanged. A symbolic link is
    refused. A device or a pipe cannot be replaced: it gets the data directly.
    """
    refusal = link_refusal(path)
    if refusal:
        raise FileExistsError(refusal)
    if _is_stream(path):
        _write_stream(path, data)
        return
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
            f"{path} was not written: {error.strerror}. Nothing was written; a file that was there "
            "is there still, unchanged. Make room, or choose another folder.",
        ) from None


def _is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or a socket, through a link or not."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_stream(path: Path, data: bytes) -> None:
    try:
        with open(path, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(
            error.errno,
            f"{path} was not written: {error.strerror}. Nothing was written to any other file.",
        ) from None


def _sync_folder(folder: Path) -> None:
    """Make the new name last, on systems that can; the file is whole with or without it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
