"""Rows of an svmlight file, some lines at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.readers.streams.stream import CHUNK_BYTES, Chunk, StreamFacts
from separatrix.readers.streams.text_chunks import TextChunks
from separatrix.readers.svmlight import SvmlightRows, parse_svmlight


class SvmlightStream:
    """The rows of a file; a first pass finds the smallest and the largest index."""

    def __init__(
        self,
        path: Path,
        features: int | None = None,
        zero_based: bool | str = "auto",
        size: int = CHUNK_BYTES,
    ) -> None:
        self._path, self._text = path, TextChunks(path, quotes=False, size=size)
        self._zero_based = zero_based
        smallest, largest, first = np.iinfo(np.int64).max, -1, 0
        for _, chunk in self._text.read():
            rows = self._parse(chunk)
            self._text.note_rows(first, chunk)
            first += len(rows.labels)
            smallest, largest = min(smallest, rows.smallest), max(largest, rows.largest)
        auto = zero_based == "auto"
        self._first_index = int(largest >= 0 and smallest > 0) if auto else int(not zero_based)
        width = max(largest, self._first_index) - self._first_index + 1
        if features is not None and features < width:
            raise ValueError(
                Message(
                    "{path}: found feature {width:,}, but {given} was given. Raise {features}, or "
                    "leave it out.",
                    path=path,
                    width=width,
                    given=Parameter("features", features),
                    features=Parameter("features"),
                )
            )
        self._width = features or width
        note = f"The first feature has index {self._first_index}."
        reading = {"zero_based": self._first_index == 0}
        self.facts = StreamFacts(path.resolve().name, [note], None, reading)

    def _parse(self, chunk: Any) -> SvmlightRows:
        return parse_svmlight(
            self._path, chunk.content, self._zero_based, lines_before=chunk.line - 1
        )

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        first = -1
        for start, chunk in self._text.read(first_row):
            rows = self._parse(chunk)
            first = start if first < 0 else first
            indices = rows.indices + (rows.base - self._first_index)
            shape = len(rows.labels), self._width
            X = sp.csr_array((rows.values, indices, rows.starts), shape=shape)
            X.has_canonical_format = True  # the parser accepts only increasing indices
            yield Chunk(first, X, rows.labels)
            first += len(rows.labels)
