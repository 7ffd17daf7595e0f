"""Write files atomically: an error leaves no partial file and does not change an existing one."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path


def is_protected(path: Path) -> bool:
    """Return whether a file, or the folder of a new file, has no write permission for anyone.

    This also protects files from root, who could write them.
    """
    there = path if path.exists() else path.absolute().parent
    return there.exists() and not stat.S_IMODE(there.stat().st_mode) & 0o222


def link_refusal(path: Path) -> str:
    """Return why a symbolic link is not written to, or "" if the path is not a symbolic link.

    Writing through a link would change a file that the user did not name, and replacing the link
    would disconnect it from its target. Links to a device or a pipe, such as /dev/stdout, are
    allowed.
    """
    if not path.is_symlink() or _is_stream(path):
        return ""
    return (
        f"{path} is a symbolic link to {os.readlink(path)}. Nothing was written. Name the file "
        "itself, or remove the link."
    )


def replace_file(path: Path, data: bytes) -> None:
    """Write data to a temporary file in the same folder, flush it to disk, and rename it.

    After an error, the temporary file is removed and an existing file is unchanged. A symbolic link
    raises an error. A device or a pipe cannot be replaced, so the data is written to it directly.
    """
    refusal = link_refusal(path)
    if refusal:
        raise FileExistsError(refusal)
    if _is_stream(path):
        _write_stream(path, data)
        return
    if is_protected(path):
        raise PermissionError(f"{path} is read-only and was not written. Choose another file.")
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
            f"{path} was not written: {error.strerror}. Nothing was written, and an existing file "
            f"is unchanged. {_remedy(error, path.parent)}",
        ) from None


def _remedy(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space, or choose another folder."
    if not folder.exists():
        return f"Create the folder {folder}, or choose another one."
    return "Choose another folder."


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a socket, or a link to one."""
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
            f"{path} was not written: {error.strerror}. No other file was written.",
        ) from None


def _sync_folder(folder: Path) -> None:
    """Flush the rename to disk if the system supports it. The file is complete in either case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
