"""Detect the format of a file or folder, and call its reader.

The file extension decides if it is known; otherwise the content does. `READERS` lists all formats.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from separatrix.errors import Message, Parameter, ParameterError, ParameterNames
from separatrix.readers.compression.decompression import ENDINGS as PACKED
from separatrix.readers.compression.decompression import read_start
from separatrix.readers.delimited.dialect import DELIMITERS
from separatrix.readers.documents import read_documents
from separatrix.readers.idx import is_idx_folder, looks_like_idx, read_idx_folder, read_idx_images
from separatrix.readers.images import ENDINGS as IMAGES
from separatrix.readers.images import read_images
from separatrix.readers.label_column import Label
from separatrix.readers.numpy_arrays import is_npy_folder, read_npy, read_npy_folder, read_npz
from separatrix.readers.separation import TableOptions
from separatrix.readers.source import LoadedTable
from separatrix.readers.svmlight import read_svmlight
from separatrix.readers.tables import parquet_files, read_parquet, read_table

_LOOKED_AT = 1 << 16  # number of bytes that are examined if the file extension is unknown
_SVMLIGHT = re.compile(rb"[-+0-9.eE]+(\s+qid:\d+)?((\s+\d+:[^\s:,]+)+)?\s*(#.*)?$")


def _svmlight(
    path: Path,
    *,
    features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    label: Label = None,
) -> LoadedTable:
    if label is not None and label is not False:
        raise ValueError(
            Message(
                "{path}: in an svmlight file the label is always the first field of a line. Only "
                "{label} is allowed, to ignore the labels. Got {given!r} instead.",
                path=path,
                label=Parameter("label", False),
                given=label,
            )
        )
    found = read_svmlight(path, features=features, zero_based=zero_based)
    note = f"The first feature has index {found.first_index}."
    if found.first_index and zero_based == "auto":
        note = "The first feature has index 1: index 0 does not occur."
    reading = {"zero_based": found.first_index == 0}
    return LoadedTable(found.X, found.y if label is None else None, [], [note], reading)


def _idx(path: Path) -> LoadedTable:
    return read_idx_folder(path) if path.is_dir() else read_idx_images(path)


READERS: dict[str, Callable[..., LoadedTable]] = {
    "svmlight": _svmlight,
    "table": read_table,
    "parquet": read_parquet,
    "text": read_documents,
    "images": read_images,
    "npz": read_npz,
    "npy": read_npy,
    "arrays": read_npy_folder,
    "idx": _idx,
}

ALIASES = {"csv": "table", "tsv": "table"}  # other names of formats

_BY_ENDING = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "table",
    ".tsv": "table",
    ".tab": "table",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".idx": "idx",
    **dict.fromkeys(IMAGES, "images"),
}

_BY_START = {
    b"\x93NUMPY": "npy",
    b"PK": "npz",
    b"PAR1": "parquet",
    b"\x89PNG": "images",
    b"\xff\xd8\xff": "images",
}

# Extensions of files that are not documents, although many of them contain text.
_NO_DOCUMENTS = frozenset([*_BY_ENDING, ".json", ".jsonl", ".sx", ".xls", ".xlsx", ".zip"])


def read_path(path: Path, format: str | None, options: dict[str, Any]) -> LoadedTable:
    """Read a file or a folder with the reader of its format."""
    format = format_of(path) if format is None else ALIASES.get(format, format)
    if format not in READERS:
        raise ParameterError(
            Message(
                "{format:subject} must be one of {formats}. Got {given!r} instead.",
                format=Parameter("format"),
                formats=", ".join([*READERS, *ALIASES]),
                given=format,
            )
        )
    known = options_of(format)
    for name in options:
        if name not in known:
            others = ", ".join(other for other in READERS if name in options_of(other))
            raise ParameterError(
                Message(
                    "{path} is read as {format}, which has no option {name:quoted}. Its options "
                    "are {known}. Formats with this option: {others}.",
                    path=path,
                    format=format,
                    name=Parameter(name),
                    known=ParameterNames(known),
                    others=others or "none",
                )
            )
    return READERS[format](path, **options)


def options_of(format: str) -> tuple[str, ...]:
    """Return the names of the options of a format's reader.

    >>> options_of("svmlight")
    ('features', 'zero_based', 'label')
    """
    reader = READERS[ALIASES.get(format, format)]
    found = [*inspect.signature(reader).parameters.values()][1:]
    names = [each.name for each in found if each.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(names) < len(found):  # the reader of a table takes its other options as keywords
        names += [each.name for each in fields(TableOptions)]
    return tuple(names)


def format_of(path: Path) -> str:
    """Detect the format of a file or a folder.

    >>> format_of(Path("rows.libsvm.gz"))
    'svmlight'
    """
    if path.is_dir():
        return _format_of_folder(path)
    ending = _ending(path)
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if path.exists() and not path.is_file():
        raise ParameterError(
            Message(
                "{path} is a pipe, which can be read only once, so its format cannot be detected. "
                "Give {format} (or another format), or write the data to a file first.",
                path=path,
                format=Parameter("format", "svmlight"),
            )
        )
    return _format_of_content(read_start(path, _LOOKED_AT), is_text=ending == ".txt")


def _format_of_folder(path: Path) -> str:
    if is_idx_folder(path):
        return "idx"
    if is_npy_folder(path):
        return "arrays"
    if parquet_files(path):
        return "parquet"
    folders = [path, *sorted(entry for entry in path.iterdir() if entry.is_dir())]
    files = [file for folder in folders for file in sorted(folder.iterdir())]
    if any(file.suffix.lower() in IMAGES for file in files):
        return "images"
    strange = next((file for file in files if _ending(file) in _NO_DOCUMENTS), None)
    if strange is not None:
        raise ValueError(
            Message(
                "{path} is a folder with {strange}, which is not a text document. Give the file "
                "itself, or {format} if all files in the folder are documents.",
                path=path,
                strange=strange.relative_to(path),
                format=Parameter("format", "text"),
            )
        )
    return "text"


def has_known_ending(path: Path) -> bool:
    """Return whether the file extension is that of a format.

    >>> has_known_ending(Path("rows.csv.gz")), has_known_ending(Path("mail.eml"))
    (True, False)
    """
    return _ending(path) in _BY_ENDING


def _ending(path: Path) -> str:
    """Return the file extension, without the extension of a compression: .csv for a.csv.gz."""
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def _format_of_content(start: bytes, *, is_text: bool) -> str:
    for magic, format in _BY_START.items():
        if start.startswith(magic):
            return format
    if looks_like_idx(start):
        return "idx"
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(start) == _LOOKED_AT and len(lines) > 1:
        lines.pop()  # may be incomplete
    lines = [line.strip() for line in lines if line.strip()]
    rows = [line for line in lines if not line.startswith(b"#")]
    if b":" in start and rows and all(map(_SVMLIGHT.match, rows)):
        return "svmlight"
    return "text" if is_text or not _looks_delimited(lines) else "table"


def _looks_delimited(lines: list[bytes]) -> bool:
    """Return whether at least 90 % of the lines have the same number of one delimiter."""
    for delimiter in DELIMITERS:
        counts = Counter(line.count(delimiter.encode()) for line in lines)
        count, times = counts.most_common(1)[0] if counts else (0, 0)
        if count and times >= 0.9 * len(lines):
            return True
    return False
