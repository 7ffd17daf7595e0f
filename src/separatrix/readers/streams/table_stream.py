"""Rows of a CSV, TSV or Parquet file, some at a time.

The first rows decide how the columns are read. All rows are then read as new rows of a trained
model are: with the same columns, in the same format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.readers.delimited.fields import split_fields
from separatrix.readers.label_column import NO_LABELS
from separatrix.readers.separation import TableOptions
from separatrix.readers.source import LoadedTable
from separatrix.readers.streams.stream import CHUNK_BYTES, Chunk, StreamFacts
from separatrix.readers.streams.text_chunks import QUOTE, TextChunk, TextChunks
from separatrix.readers.tables import read_frame, separate_fields


def decided(first: LoadedTable, given: TableOptions) -> TableOptions:
    """Return the options that read other rows as the first ones were read."""
    reading, table = first.reading, first.table
    label = reading["layout"]["label"]
    types = {**(given.types or {}), **dict.fromkeys(given.text_names, "text")}
    if first.y is not None and first.y.dtype.kind == "U":
        types[label] = "category"  # the next rows may have labels that look like numbers
    return replace(
        given,
        label=label if first.y is not None else False,
        columns=table.kinds,
        formats=table.formats,
        layout=reading["layout"],
        drop=reading.get("drop"),
        text=None,
        types=types,
    )


def facts_of(path: Path, first: LoadedTable, whole: bool) -> StreamFacts:
    """Return the facts of a stream whose first rows were read. What is counted is left out."""
    n, counted = first.table.shape[0], first.counts.sentences()
    notes = [note for note in first.notes if note not in counted]
    if not whole:
        notes.insert(0, f"The first {n:,} rows decided how the columns are read.")
    return StreamFacts(path.resolve().name, notes, first.feature_names, first.reading, n_first=n)


def as_chunk(first: int, loaded: LoadedTable, needs_weights: bool) -> Chunk:
    """Return a chunk; raise if labels or weights are missing, which new rows of a model may be."""
    refusal = next((note for note in loaded.notes if note.startswith(NO_LABELS)), None)
    if loaded.y is None and refusal is not None:
        raise ValueError(refusal.removeprefix(f"{NO_LABELS}: "))
    weights = loaded.row_columns["weight"]
    if needs_weights and weights is None:
        raise ValueError(
            f"The weights of the rows from row {first + 1:,} on cannot be used: all weights must "
            "be numbers >= 0, and none may be missing."
        )
    return Chunk(first, loaded.table, loaded.y, weights, loaded)


class CsvStream:
    """The rows of a CSV or TSV file."""

    def __init__(
        self,
        path: Path,
        *,
        header: bool | None = None,
        delimiter: str | None = None,
        size: int = CHUNK_BYTES,
        **options: Any,
    ) -> None:
        given = TableOptions(**options, is_part=True)
        self._path, self._text = path, TextChunks(path, quotes=True, size=size)
        _, start = next(self._text.read())
        strings = [*given.text_names, *(given.types or ())]
        fields = split_fields(
            path, start.content, header=header, delimiter=delimiter, strings=strings
        )
        first = separate_fields(path, fields, given, header)
        self.facts = facts_of(path, first, len(start.content) == path.stat().st_size)
        self._options, self._delimiter = decided(first, given), fields.delimiter
        self._needs_weights = "weight" in first.row_columns.names
        self._quoting = fields.quoting
        self._header = start.content[: fields.header_bytes].copy()
        kinds = first.table.kinds
        self._strings = [name for name in fields.names if kinds.get(name) != "numbers"]

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        first = -1
        for start, text in self._text.read(first_row):
            first = start if first < 0 else first
            self._text.note_rows(first, text)
            chunk = as_chunk(first, self._read(text), self._needs_weights)
            yield chunk
            first += len(chunk)

    def _read(self, text: TextChunk) -> LoadedTable:
        at_start = text.line == 1
        content, n_before = text.content, text.line - 1
        if not at_start and len(self._header):
            content = np.concatenate([self._header, content])
            n_before -= int(np.count_nonzero(self._header == ord("\n")))
        fields = split_fields(
            self._path,
            content,
            header=bool(len(self._header)),
            delimiter=self._delimiter,
            strings=self._strings,
            lines_before=n_before,
        )
        if fields.quoting != self._quoting and (text.content == QUOTE).any():
            raise ValueError(
                f"{self._path}: after line {text.line - 1:,}, quotation marks are balanced in some "
                "rows and not in others. Close or remove those that are not."
            )
        return separate_fields(self._path, fields, self._options, None)


class ParquetStream:
    """The rows of one Parquet file, or of several with the same columns."""

    def __init__(
        self, path: Path, files: Sequence[Path], size: int = CHUNK_BYTES, **options: Any
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path, self._given = path, TableOptions(**options, is_part=True)
        try:
            self._files = [pq.ParquetFile(file) for file in files]
            self._size = max(size // (8 * self._files[0].metadata.num_columns), 1)  # in rows
            batch = next(self._files[0].iter_batches(self._size))
        except pa.ArrowException as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
        except StopIteration:
            raise ValueError(f"{path} has no rows.") from None
        first = read_frame(pa.Table.from_batches([batch]), str(path), **vars(self._given))
        rows = sum(file.metadata.num_rows for file in self._files)
        self.facts = facts_of(path, first, len(first.table) == rows)
        self._options = decided(first, self._given)
        self._needs_weights = "weight" in first.row_columns.names

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        import pyarrow as pa

        first = 0
        for file in self._files:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if first + rows <= first_row:
                    first += rows
                    continue
                for batch in file.iter_batches(self._size, row_groups=[group]):
                    table = pa.Table.from_batches([batch])
                    loaded = read_frame(table, str(self._path), first, **vars(self._options))
                    yield as_chunk(first, loaded, self._needs_weights)
                    first += batch.num_rows
