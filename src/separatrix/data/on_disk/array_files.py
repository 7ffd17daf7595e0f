"""Files of one array each, in numpy's format, with checksums. Nothing is unpickled."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.on_disk.manifest import StoredFile
from separatrix.matrix import Array

_PIECE = 1 << 23  # bytes that are written, read or hashed at a time
_AHEAD = 1 << 20  # the kernel reads at most about this much for one request
_LONGEST_HEADER = 10_000


class BlockFileError(ValueError):
    """A file of a block is damaged, missing, or has changed."""


@dataclass(frozen=True)
class Stamp:
    """What a file looked like when its folder was opened."""

    size: int
    changed: int  # in nanoseconds
    inode: int

    @classmethod
    def of(cls, state: os.stat_result) -> Stamp:
        """Return the stamp of a file."""
        return cls(state.st_size, state.st_mtime_ns, state.st_ino)


def write_array(path: Path, array: Array) -> StoredFile:
    """Write an array to a new file, under a temporary name until it is on disk."""
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    beside = path.with_name(f".{path.name}.tmp")
    digest, size = hashlib.sha256(), 0
    try:
        with open(beside, "wb") as file:
            for piece in _pieces(header.getvalue(), array):
                digest.update(piece)
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    return StoredFile(path.name, size, digest.hexdigest())


def _pieces(header: bytes, array: Array) -> Iterator[memoryview]:
    yield memoryview(header)
    content = _bytes_of(array.reshape(-1).view(np.uint8))
    for first in range(0, len(content), _PIECE):
        yield content[first : first + _PIECE]


def _bytes_of(array: Array) -> memoryview:
    content: Any = array  # an array has the buffer protocol, which its stub does not say
    return memoryview(content)


def stamp_of(path: Path, file: StoredFile) -> Stamp:
    """Return the stamp of a file; raise if it is missing or does not have its size."""
    try:
        stamp = Stamp.of(os.stat(path))
    except FileNotFoundError:
        raise BlockFileError(f"{path} is missing. {_REMEDY}") from None
    if stamp.size != file.size:
        how = "truncated" if stamp.size < file.size else "changed"
        raise BlockFileError(
            f"{path} is {how}: it has {stamp.size:,} bytes and must have {file.size:,}. {_REMEDY}"
        )
    return stamp


def require_checksum(path: Path, file: StoredFile) -> None:
    """Raise unless a file has the checksum of the manifest."""
    stamp_of(path, file)
    digest = hashlib.sha256()
    with open(path, "rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    if digest.hexdigest() != file.sha256:
        raise BlockFileError(
            f"{path} is damaged: its SHA-256 checksum is {digest.hexdigest()[:16]}..., and the "
            f"manifest has {file.sha256[:16]}.... {_REMEDY}"
        )


def read_array(
    path: Path, stamp: Stamp, dtype: Any, shape: tuple[int, ...], *, keep_cached: bool = True
) -> Array:
    """Read the array of a file that has not changed since it got its stamp.

    The file is read and not mapped, because a map of a file that somebody truncates ends the
    process. Without `keep_cached`, the system drops its own copy of the content.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise BlockFileError(f"{path} was removed while its data was in use. {_REMEDY}") from None
    try:
        _require_unchanged(path, handle, stamp)
        content = np.empty(stamp.size, np.uint8)
        _read_ahead(handle, stamp.size)
        _fill(path, handle, content)
        _require_unchanged(path, handle, stamp)
        if not keep_cached:
            _advise(handle, 0, 0, "POSIX_FADV_DONTNEED")
    finally:
        os.close(handle)
    return _array_in(path, content, dtype, shape)


def load_array(path: Path, file: StoredFile) -> Array:
    """Read a small array of any type and shape, after a comparison of its checksum."""
    require_checksum(path, file)
    try:
        array: Array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise BlockFileError(f"{path} is not a readable npy file: {error}. {_REMEDY}") from None
    return array


def _require_unchanged(path: Path, handle: int, stamp: Stamp) -> None:
    if Stamp.of(os.fstat(handle)) != stamp:
        raise BlockFileError(f"{path} has changed since it was opened. {_REMEDY}")


def _read_ahead(handle: int, size: int) -> None:
    """Ask the system for the whole file, so that the disk always has several requests."""
    for first in range(0, size, _AHEAD):
        _advise(handle, first, _AHEAD, "POSIX_FADV_WILLNEED")


def _advise(handle: int, first: int, length: int, advice: str) -> None:
    if hasattr(os, "posix_fadvise"):  # not on macOS and Windows
        with suppress(OSError):
            os.posix_fadvise(handle, first, length, getattr(os, advice))


def _fill(path: Path, handle: int, content: Array) -> None:
    left = _bytes_of(content)
    with open(handle, "rb", buffering=0, closefd=False) as file:
        while left:
            count = file.readinto(left[:_PIECE])
            if not count:
                raise BlockFileError(f"{path} was truncated while it was read. {_REMEDY}")
            left = left[count:]


def _array_in(path: Path, content: Array, dtype: Any, shape: tuple[int, ...]) -> Array:
    header = io.BytesIO(content[: _LONGEST_HEADER + 12].tobytes())
    try:
        if np.lib.format.read_magic(header) != (1, 0):
            raise ValueError("not version 1.0 of the format")
        found = np.lib.format.read_array_header_1_0(header, max_header_size=_LONGEST_HEADER)
    except ValueError as error:
        raise BlockFileError(f"{path} is not a readable npy file: {error}. {_REMEDY}") from None
    body = content[header.tell() :]
    wanted = np.dtype(dtype)
    if found != (shape, False, wanted) or body.nbytes != wanted.itemsize * int(np.prod(shape)):
        raise BlockFileError(
            f"{path} must hold an array of shape {shape} and type {wanted} in C order. Got shape "
            f"{found[0]} and type {found[2]} instead. {_REMEDY}"
        )
    return body.view(wanted).reshape(shape)


_REMEDY = "Convert the source again, or restore the file."
