"""Read the bytes of a file: memory-map a plain file, decompress a compressed one."""

from __future__ import annotations

import bz2
import gzip
import mmap
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.compression.size_limits import require_room

ENDINGS = (".gz", ".bz2", ".zst")

_PIECE = 1 << 20
_ZSTD_PIECE = 1 << 10


def read_bytes(path: Path) -> Array:
    """Return the bytes of a file as a read-only array; gzip, bzip2 and zstd are decompressed.

    The compression is recognised by the first bytes of the file, not by its name. A plain file is
    memory-mapped, so it must not be truncated while the array is in use.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two-lines"
    >>> _ = path.write_bytes(gzip.compress(b"one\\ntwo\\n"))
    >>> read_bytes(path).tobytes()
    b'one\\ntwo\\n'
    """
    with _opened(path) as (file, unpacked):
        if unpacked is not None:
            return np.frombuffer(_bounded(path, file, unpacked), np.uint8)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return np.frombuffer(_bounded(path, file, file), np.uint8)
        if not os.fstat(file.fileno()).st_size:
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def read_start(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of a file, decompressed; fewer if the file is shorter."""
    with _opened(path) as (file, unpacked):
        stream = file if unpacked is None else unpacked
        content = b""
        while len(content) < size and (piece := stream.read(size - len(content))):
            content += piece
        return content[:size]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file, and a stream of its decompressed bytes if it is compressed.

    A damaged file raises a ValueError.
    """
    with path.open("rb") as file, ExitStack() as open_streams:
        try:
            unpacked = _unpacking(path, file, file.peek(4)[:4])
            yield file, unpacked and open_streams.enter_context(unpacked)
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{path} is compressed and damaged: {error}.") from error
        except OSError as error:
            if error.errno is not None:  # a system error; gzip and bz2 raise OSError without errno
                raise
            raise ValueError(f"{path} is compressed and damaged: {error}.") from error


def _unpacking(path: Path, file: IO[bytes], start: bytes) -> Any:
    """Return a stream of the decompressed bytes, or None for a plain file."""
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start == b"\x28\xb5\x2f\xfd":
        try:
            import zstandard
        except ImportError as error:
            raise ValueError(
                f"{path} is compressed with zstd, which needs the package zstandard. Install it "
                "with pip install 'separatrix[zstd]', or decompress the file with 'zstd -d'."
            ) from error
        return _Zstd(zstandard, file)
    return None


class _Zstd:
    """Read all frames of a zstd file. Damage raises an EOFError, as in gzip.

    The stream reader of the package is not used, because it does not report a truncated file.
    """

    def __init__(self, zstandard: Any, file: IO[bytes]) -> None:
        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor()
        self._file = file
        self._frame: Any = None
        self._rest = b""

    def read(self, _: int) -> bytes:
        """Return the next piece, of any size.

        Only a few bytes are decompressed at a time, because they may expand to very many.
        """
        while packed := self._rest or self._file.read(_ZSTD_PIECE):
            try:
                self._frame = self._frame or self._decompressor.decompressobj()
                piece: bytes = self._frame.decompress(packed)
            except self._error as error:
                raise EOFError(str(error)) from error
            self._rest = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
            if piece:
                return piece
        if self._frame is not None:
            raise EOFError("the file ends within a frame")
        return b""

    def __enter__(self) -> _Zstd:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _bounded(path: Path, file: Any, stream: Any) -> bytearray:
    """Read a stream to its end, and raise as soon as its content exceeds the size limits."""
    content = bytearray()
    state = os.fstat(file.fileno())
    packed = state.st_size if stat.S_ISREG(state.st_mode) else 0
    while piece := stream.read(_PIECE):
        content += piece
        require_room(path, packed, len(content))
    return content
