"""Find the files of the registered data sets on this machine, or download them, and check them.

The folder SEPARATRIX_DATA is searched first, then the cache (SEPARATRIX_CACHE, or separatrix in
XDG_CACHE_HOME, or ~/.cache/separatrix). Other files are downloaded from their public address.
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

# Called with the name of the file, the bytes received, and the total bytes (0 if unknown).
OnDownload: TypeAlias = Callable[[str, int, int], None]

_PIECE = 1 << 18
_MOST_BYTES = 1 << 28  # larger than all files in the catalogue
_SECONDS = 30.0  # timeout of a connection that sends nothing


@dataclass(frozen=True)
class File:
    """A file of a data set.

    Attributes
    ----------
    path : path in the data folder and in the cache
    sha256 : SHA-256 of its content after decompression
    address : public address; "" if no address serves exactly this content
    member : name of the file in the archive at the address; "" if there is no archive
    skip_lines : number of lines to remove from the top of the downloaded file
    """

    path: str
    sha256: str
    address: str = ""
    member: str = ""
    skip_lines: int = 0


def cache_folder() -> Path:
    """Return the folder for downloaded files."""
    own = os.environ.get("SEPARATRIX_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "separatrix"


def places(file: File) -> list[Path]:
    """Return the paths at which a file is searched, in order."""
    given = os.environ.get("SEPARATRIX_DATA")
    folders = [Path(given).expanduser()] if given else []
    return [folder / file.path for folder in [*folders, cache_folder()]]


def find(file: File) -> Path | None:
    """Return the checked path of a file on this machine, or None if there is no such file."""
    path = next((path for path in places(file) if path.exists()), None)
    if path is not None:
        _check(file, path)
    return path


def obtain(file: File, progress: OnDownload | None = None) -> Path:
    """Return the path of a file, which is downloaded if necessary."""
    return obtain_all([file], progress)[0]


def obtain_all(files: Sequence[File], progress: OnDownload | None = None) -> list[Path]:
    """Return the paths of files, which are downloaded if necessary.

    If some files cannot be downloaded, the error names all of them.
    """
    lacking = [file for file in files if find(file) is None]
    for_hand = [file for file in lacking if not file.address]
    if for_hand:
        verbs = "was not found and has" if len(for_hand) == 1 else "were not found and have"
        names = ", ".join(file.path for file in for_hand)
        raise FileNotFoundError(f"{names} {verbs} no public address. {_advice(for_hand)}")
    return [find(file) or _obtained(file, progress, lacking) for file in files]


def _advice(files: Sequence[File]) -> str:
    what = "the file" if len(files) == 1 else "each file"
    where = "; ".join(
        f"at {places(file)[0]} (SHA-256 of its content: {file.sha256})" for file in files
    )
    return f"Put {what} {where}."


def _obtained(file: File, progress: OnDownload | None, lacking: Sequence[File]) -> Path:
    """Download a file. If that fails, the error names all missing files."""
    advice = _advice([other for other in lacking if find(other) is None])
    try:
        content = _fetched(file, progress)
    except OSError as error:
        raise FileNotFoundError(
            f"{file.path} was not found, and {file.address} cannot be reached: "
            f"{getattr(error, 'reason', error)}. {advice}"
        ) from error
    target = cache_folder() / file.path
    _write(target, _extracted(file, content))
    try:
        _check(file, target)
    except ValueError as error:
        target.unlink()
        raise ValueError(
            f"{file.address} now serves a different file. {_advice([file])}"
        ) from error
    return target


def _check(file: File, path: Path) -> None:
    state = path.stat()
    found = _sha256(path, state.st_mtime_ns, state.st_size)
    if found != file.sha256:
        raise ValueError(
            f"{path} is not the file of this data set: the SHA-256 of its content is {found} and "
            f"should be {file.sha256}. Remove the file, or load it by its path."
        )


@lru_cache(maxsize=256)
def _sha256(path: Path, _changed: int, _size: int) -> str:
    return hashlib.sha256(read_bytes(path).data).hexdigest()


def _fetched(file: File, progress: OnDownload | None) -> bytes:
    """Return the bytes at the address of a file. Every failure raises an OSError."""
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
                    raise OSError(f"the server sends more than {_MOST_BYTES >> 20} MiB")
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(str(error) or type(error).__name__) from error
    if len(content) < total:
        raise OSError(f"the server sent {len(content):,} of {total:,} bytes")
    return bytes(content)


def _extracted(file: File, content: bytes) -> bytes:
    """Extract the file from the downloaded bytes, with the line endings of the registered file."""
    if file.member:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = archive.getinfo(file.member).file_size
                require_room(Path(file.address), len(content), size)
                content = archive.read(file.member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ValueError(
                f"{file.address} is not an archive that contains {file.member}: {error}."
            ) from error
        if hashlib.sha256(content).hexdigest() != file.sha256:
            content = content.replace(b"\r\n", b"\n")
    for _ in range(file.skip_lines):
        content = content.partition(b"\n")[2]
    return content


def _write(target: Path, content: bytes) -> None:
    """Write a file to the cache. After an error there is no partial file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, content)
