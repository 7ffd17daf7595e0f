"""Choose the stream for a source: a reader that streams, or one that loads everything."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.readers.data_sets import registry
from separatrix.readers.formats import ALIASES, format_of, options_of
from separatrix.readers.loading import load
from separatrix.readers.source import Source
from separatrix.readers.splits import Split
from separatrix.readers.streams.npy_stream import NpyStream
from separatrix.readers.streams.stream import CHUNK_BYTES, LoadedStream, RowStream
from separatrix.readers.streams.svmlight_stream import SvmlightStream
from separatrix.readers.streams.table_stream import CsvStream, ParquetStream
from separatrix.readers.streams.text_chunks import can_be_cut
from separatrix.readers.tables import parquet_files

# Options with which all rows must be known before the first one can be used.
_LOADED_WITH = ("group", "time", "validation", "test")
_ROLES = ("weight", "id")


def open_stream(
    source: Any,
    options: dict[str, Any],
    *,
    split: Split,
    seed: int,
    size: int = CHUNK_BYTES,
) -> RowStream:
    """Return the rows of a source, read `size` bytes at a time; options are those of `load`."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, str | os.PathLike) and source not in registry.names():
        path = Path(source).expanduser()
        if path.exists() and not any(name in given for name in _LOADED_WITH):
            stream = _stream_of(path, given, size)
            if stream is not None:
                return stream
    if isinstance(source, Source):
        return LoadedStream(source, size)
    loaded = load(source, split=split, seed=seed, **given)
    if isinstance(source, str | os.PathLike):
        note = "All rows were read into memory: this source cannot be read in parts."
        loaded = replace(loaded, notes=[*loaded.notes, note])
    return LoadedStream(loaded, size)


def _stream_of(path: Path, given: dict[str, Any], size: int) -> RowStream | None:
    """Return the stream of a file or folder; None if it must be loaded."""
    files = parquet_files(path)
    format = "parquet" if files else given.get("format") or format_of(path)
    format = ALIASES.get(format, format)
    given = {name: value for name, value in given.items() if name != "format"}
    known = {*options_of(format), *_ROLES} if format in _FORMATS else set()
    if not set(given) <= known:
        return None  # the reader raises its error
    if format in ("table", "parquet"):
        roles = {role: given.pop(role) for role in _ROLES if role in given}
        given |= {"roles": roles} if roles else {}
        if format == "parquet":
            return ParquetStream(path, files or [path], size=size, **given)
        return CsvStream(path, size=size, **given) if can_be_cut(path) else None
    if set(given) & set(_ROLES):
        return None
    if format == "svmlight":
        labelled = given.pop("label", None) is None
        return SvmlightStream(path, size=size, **given) if labelled and can_be_cut(path) else None
    return NpyStream(path, size=size, **given) if format in ("npy", "arrays") else None


_FORMATS = ("table", "parquet", "svmlight", "npy", "arrays")


def source_key(source: Any) -> dict[str, Any]:
    """Return plain values by which an unfinished conversion knows its source again."""
    if isinstance(source, str | os.PathLike) and Path(source).expanduser().exists():
        path = Path(source).expanduser().resolve()
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        state = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return {"files": repr(state)}
    if isinstance(source, str):
        return {"name": source}
    loaded = source if isinstance(source, Source) else load(source)
    return {"fingerprint": loaded.fingerprint}
