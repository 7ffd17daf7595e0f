"""Files of the registered data sets: found on this machine, or fetched and checked.

Looked for in the folder SEPARATRIX_DATA, then in the cache (SEPARATRIX_CACHE, or separatrix in
XDG_CACHE_HOME, or ~/.cache/separatrix), then at their public home.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from separatrix.files import replace_file
from separatrix.readers.compression.decompression import read_bytes
from separatrix.readers.compression.size_limits import require_room

# Called with the file's name, the bytes that have come, and the bytes to come (0: not known).
OnDownload: TypeAlias = Callable[[str, int, int], None]

_PIECE = 1 << 18
_MOST_BYTES = 1 << 28  # no file here is as large
_SECONDS = 30.0  # without a byte


@dataclass(frozen=True)
class File:
    """A file of a data set.

    Attributes
    ----------
    path : in the data folder and in the cache
    sha256 : of its content, unpacked if it is packed
    address : of its public home; "" if there is none that gives these very bytes
    member : of the archive at the address that is the file; "" if the address is the file's own
    skip_lines : at the top of what is at the address
    """

    path: str
    sha256: str
    address: str = ""
    member: str = ""
    skip_lines: int = 0


def cache_folder() -> Path:
    """The folder in which fetched files are kept."""
    own = os.environ.get("SEPARATRIX_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "separatrix"


def places(file: File) -> list[Path]:
    """Where a file is looked for, in this order."""
    given = os.environ.get("SEPARATRIX_DATA")
    folders = [Path(given).expanduser()] if given else []
    return [folder / file.path for folder in [*folders, cache_folder()]]


def find(file: File) -> Path | None:
    """The file on this machine, checked; None if it is not there."""
    path = next((path for path in places(file) if path.exists()), None)
    if path is not None:
        _check(file, path)
    return path


def obtain(file: File, progress: OnDownload | None = None) -> Path:
    """The file on this machine, fetched if need be."""
    return obtain_all([file], progress)[0]


def obtain_all(files: Sequence[File], progress: OnDownload | None = None) -> list[Path]:
    """The files on this machine, fetched if need be; all that cannot be are told at once."""
    lacking = [file for file in files if find(file) is None]
    for_hand = [file for file in lacking if not file.address]
    if for_hand:
        these = "is not here and has" if len(for_hand) == 1 else "are not here and have"
        names = ", ".join(file.path for file in for_hand)
        raise FileNotFoundError(f"{names} {these} no public address. {_advice(for_hand)}")
    return [find(file) or _obtained(file, progress, lacking) for file in files]


def _advice(files: Sequence[File]) -> str:
    what = "the file" if len(files) == 1 else "each file"
    where = "; ".join(
        f"at {places(file)[0]} (sha256 of its content: {file.sha256})" for file in files
    )
    return f"Put {what} {where}."


def _obtained(file: File, progress: OnDownload | None, lacking: Sequence[File]) -> Path:
    """A file from its public home; where that cannot be reached, all that are lacking are told."""
    advice = _advice([other for other in lacking if find(other) is None])
    try:
        content = _fetched(file, progress)
    except OSError as error:
        raise FileNotFoundError(
            f"{file.path} is not here, and {file.address} cannot be reached: "
            f"{getattr(error, 'reason', error)}. {advice}"
        ) from error
    target = cache_folder() / file.path
    _write(target, _extracted(file, content))
    try:
        _check(file, target)
    except ValueError as error:
        target.unlink()
        raise ValueError(
            f"What came from {file.address} is another file. {_advice([file])}"
        ) from error
    return target


def _check(file: File, path: Path) -> None:
    state = path.stat()
    found = _sha256(path, state.st_mtime_ns, state.st_size)
    if found != file.sha256:
        raise ValueError(
            f"{path} is not the file that is known by this name: the sha256 of its content is "
            f"{found} and should be {file.sha256}. Remove it, or load it by its path."
        )


@lru_cache(maxsize=256)
def _sha256(path: Path, _changed: int, _size: int) -> str:
    return hashlib.sha256(read_bytes(path).data).hexdigest()


def _fetched(file: File, progress: OnDownload | None) -> bytes:
    """The bytes at a file's address; every way to fail is an OSError."""
    import http.client
    import urllib.request

    content = bytearray()
    try:
        with urllib.request.urlopen(file.address, timeout=_SECONDS) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            while piece := answer.read(_PIECE):
                content += piece
                if progress is not None:
                    progress(file.path, len(content), total)
                if len(content) > _MOST_BYTES:
                    raise OSError(f"it sends more than {_MOST_BYTES >> 20} MiB")
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(str(error) or type(error).__name__) from error
    if len(content) < total:
        raise OSError(f"it sent {len(content):,} bytes of {total:,}")
    return bytes(content)


def _extracted(file: File, content: bytes) -> bytes:
    """The file in what came: a member of an archive, its line ends those of the file known."""
    if file.member:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = archive.getinfo(file.member).file_size
                require_room(Path(file.address), len(content), size)
                content = archive.read(file.member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ValueError(
                f"{file.address} is no archive with {file.member}: {error}."
            ) from error
        if hashlib.sha256(content).hexdigest() != file.sha256:
            content = content.replace(b"\r\n", b"\n")
    for _ in range(file.skip_lines):
        content = content.partition(b"\n")[2]
    return content


def _write(target: Path, content: bytes) -> None:
    """Write a file of the cache, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, content)
