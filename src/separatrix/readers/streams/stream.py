"""The protocol of streams of rows, and the stream of rows that are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.source import LoadedTable, Source
from separatrix.readers.splits import Splits

CHUNK_BYTES = 1 << 25  # of a source, read at a time


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a source.

    Attributes
    ----------
    first : the number of the first row
    table : the features, as in `Source`
    y, weights : labels and sample weights, or None
    loaded : what else was read of a table
    """

    first: int
    table: Any
    y: Array | None
    weights: Array | None = None
    loaded: LoadedTable | None = None

    def __len__(self) -> int:
        return int(self.table.shape[0])


@dataclass(frozen=True, eq=False)
class StreamFacts:
    """What is known about a source before all of it was read.

    Attributes
    ----------
    name : the name of the source
    notes : sentences about the decisions of the reader
    feature_names : d names, or None
    reading : options with which the reader reads new rows in the same way
    splits : the rows of every part, if the source was split already
    own_splits : row numbers of "train" and other parts, if the source comes with a split
    n_first : the number of rows that decided how the columns of a table are read; None for other
        sources. The labels of a table are as they are written, and its cells are not counted yet
    """

    name: str
    notes: list[str] = field(default_factory=list)
    feature_names: list[str] | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    splits: Splits | None = None
    own_splits: Mapping[str, Any] | None = None
    n_first: int | None = None


class RowStream(Protocol):
    """Rows that can be read several times from the beginning, or from any row."""

    @property
    def facts(self) -> StreamFacts: ...

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        """Yield all rows in chunks, from the chunk with `first_row` on."""
        ...


class LoadedStream:
    """The rows of a source that was read into memory."""

    def __init__(self, source: Source, size: int = CHUNK_BYTES) -> None:
        self._source, self._size = source, size
        self.facts = StreamFacts(
            source.name,
            list(source.notes),
            source.feature_names,
            source.reading,
            source.splits,
        )

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        n, d = self._source.table.shape
        step = max(self._size // (8 * max(d, 1)), 1)
        for first in range(first_row - first_row % step, n, step):
            part = self._source.rows(np.arange(first, min(first + step, n)))
            yield Chunk(first, part.table, part.y, part.weights)
