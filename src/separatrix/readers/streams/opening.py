"""Choose the stream for a source: a reader that streams, or one that loads everything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from separatrix.readers.loading import load
from separatrix.readers.source import Source
from separatrix.readers.splits import Split
from separatrix.readers.streams.stream import LoadedStream, RowStream


def open_stream(source: Any, options: dict[str, Any], *, split: Split, seed: int) -> RowStream:
    """Return the rows of a source; options are those of `load`."""
    loaded = (
        source if isinstance(source, Source) else load(source, split=split, seed=seed, **options)
    )
    return LoadedStream(loaded)


def source_key(source: Any) -> dict[str, Any]:
    """Return plain values by which an unfinished conversion knows its source again."""
    if isinstance(source, str | os.PathLike) and Path(source).expanduser().exists():
        path = Path(source).expanduser().resolve()
        state = path.stat()
        return {"path": str(path), "size": state.st_size, "changed": state.st_mtime_ns}
    if isinstance(source, str):
        return {"name": source}
    loaded = source if isinstance(source, Source) else load(source)
    return {"fingerprint": loaded.fingerprint}
