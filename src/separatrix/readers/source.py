"""Loaded data: the raw table, its labels, names and splits, and a fingerprint of the content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import TableCounts
from separatrix.readers.columns import Columns
from separatrix.readers.label_column import class_labels, place_by_row
from separatrix.readers.rows.row_columns import RowColumns
from separatrix.readers.rows.row_order import draw_split
from separatrix.readers.splits import SHARES, Split, Splits, given_rows, own_splits

_ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """The result of a reader, before it is split into parts.

    Attributes
    ----------
    table, y, feature_names, notes, reading, row_columns : as in `Source`
    own_splits : row numbers of "train" and other parts, if the data set comes with a split
    counts : what was counted in the columns of a table; `notes` include its sentences
    place : where a row is, in words

    >>> table, y, names, notes = LoadedTable(np.eye(2), None, ["a", "b"], [])
    """

    table: Any
    y: Array | None
    feature_names: list[str]
    notes: list[str]
    reading: dict[str, Any] = field(default_factory=dict)
    own_splits: Mapping[str, Any] | None = None
    row_columns: RowColumns = field(default_factory=RowColumns)
    counts: TableCounts = field(default_factory=lambda: TableCounts({}))
    place: Callable[[int], str] = place_by_row

    def __iter__(self) -> Iterator[Any]:
        return iter((self.table, self.y, self.feature_names, self.notes))


@dataclass(frozen=True, eq=False)
class Source:
    """A raw table with its labels and splits.

    Attributes
    ----------
    name : name of the file, folder or data set
    table : (n, d) numpy array, scipy CSR matrix, or `Columns`
    y : (n,) labels as given, numbers or strings; None if there are none
    feature_names : d names, or None if the source has no names
    notes : sentences about the decisions of the reader
    splits : row numbers for "train", "validation" and "test"
    reading : options, as plain values, with which the reader reads new rows in the same way
    row_columns : columns that describe the rows: weights, groups, times and identifiers

    >>> source = Source.of(np.eye(10), np.arange(10) % 2, name="ten rows")
    >>> source
    Source 'ten rows': 10 rows, 10 features; train 8, validation 1, test 1
    >>> source.part("train").table.shape
    (8, 10)
    """

    name: str
    table: Any
    y: Array | None
    feature_names: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    splits: Splits = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    row_columns: RowColumns = field(default_factory=RowColumns)

    @classmethod
    def of(
        cls,
        table: Any,
        y: Array | None = None,
        *,
        name: str,
        feature_names: list[str] | None = None,
        notes: list[str] | None = None,
        splits: Splits | None = None,
        split: Split = None,
        seed: int = 0,
        reading: dict[str, Any] | None = None,
        row_columns: RowColumns | None = None,
    ) -> Source:
        """Make a source and split its rows.

        `split` is the request of the caller: three proportions, or row numbers by part. Without it
        the source gets `splits`, which come with the data set, or else an 80/10/10 split.
        """
        n = _n_rows(table)
        if y is not None and len(y) != n:
            raise ValueError(
                f"{name} must have one label per row. Got {n:,} rows and {len(y):,} labels instead."
            )
        notes = list(notes or [])
        y = y if y is None else class_labels(y, notes)
        if isinstance(split, Mapping):
            splits = given_rows(split, n)
        elif split is not None or splits is None:
            shares = SHARES if split is None else split
            splits, note = draw_split(y, n, seed, shares, row_columns)
            notes.append(note)
        columns = RowColumns() if row_columns is None else row_columns
        return cls(name, table, y, feature_names or None, notes, splits, reading or {}, columns)

    @classmethod
    def of_loaded(
        cls, loaded: LoadedTable, *, name: str, split: Split = None, seed: int = 0
    ) -> Source:
        """Make a source from the result of a reader. `split` overrides its own splits."""
        notes, own, splits = list(loaded.notes), loaded.own_splits, None
        if own is not None and split is None:
            splits = own_splits(own, loaded.y, seed, notes)
        return cls.of(
            loaded.table,
            loaded.y,
            name=name,
            feature_names=loaded.feature_names,
            notes=notes,
            splits=splits,
            split=split,
            seed=seed,
            reading=loaded.reading,
            row_columns=loaded.row_columns,
        )

    def __len__(self) -> int:
        return _n_rows(self.table)

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {len(rows):,}" for part, rows in self.splits.items())
        shape = f"{len(self):,} rows, {self.table.shape[1]:,} features"
        return f"Source {self.name!r}: {shape}" + (f"; {parts}" if parts else "")

    def rows(self, numbers: Any) -> Source:
        """Return a source of the selected rows (numbers, a mask or a slice), without splits."""
        numbers = np.arange(len(self))[numbers]
        by_name = isinstance(self.table, Columns)
        table = self.table.take(numbers) if by_name else self.table[numbers]
        y = None if self.y is None else self.y[numbers]
        columns = self.row_columns.take(numbers)
        return Source(self.name, table, y, self.feature_names, self.notes, row_columns=columns)

    @property
    def weights(self) -> Array | None:
        """The sample weights (n,), or None."""
        return self.row_columns["weight"]

    def part(self, part: str) -> Source:
        """Return the rows of one part: "train", "validation" or "test"."""
        if part not in self.splits:
            parts = ", ".join(self.splits) or "none"
            raise ValueError(f"{self.name} has no part {part!r}. Its parts are: {parts}.")
        return self.rows(self.splits[part])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of values and labels, independent of file name, compression and number type.

        >>> dense = Source.of(np.eye(3), name="a").fingerprint
        >>> dense == Source.of(np.eye(3, dtype=np.uint8), name="b").fingerprint
        True
        """
        digest = hashlib.sha256()
        for piece in _content(self.table):
            digest.update(piece)
        for piece in _labels(self.y):
            digest.update(piece)
        return digest.hexdigest()


def _n_rows(table: Any) -> int:
    return int(table.shape[0])


def _content(table: Any) -> Iterator[bytes]:
    """Yield the bytes to hash for a table. A sparse and a dense matrix have different bytes."""
    if isinstance(table, Columns):
        yield f"columns {table.shape} ".encode()
        for name in table:
            yield from _words([name, table.kind(name)])
            yield from _labels(table[name])
    elif sp.issparse(table):
        yield f"sparse {table.shape} ".encode()
        yield from _whole(table.indptr)
        yield from _whole(table.indices)
        yield from _floats(table.data)
    else:
        yield f"dense {table.shape} ".encode()
        step = max(_ENTRIES_AT_ONCE // max(table.shape[1], 1), 1)
        for start in range(0, len(table), step):
            yield from _floats(table[start : start + step].ravel())


def _labels(y: Array | None) -> Iterator[bytes]:
    if y is None:
        yield b"none"
    elif y.dtype.kind in "biuf":
        yield b"numbers"
        yield from _floats(y)
    else:
        yield b"words"
        yield from _words(y.tolist())


def _floats(a: Array) -> Iterator[bytes]:
    for start in range(0, len(a), _ENTRIES_AT_ONCE):
        piece = a[start : start + _ENTRIES_AT_ONCE].astype("<f8")
        piece[np.isnan(piece)] = np.nan  # NaN has many bit patterns
        yield piece.tobytes()


def _whole(a: Array) -> Iterator[bytes]:
    for start in range(0, len(a), _ENTRIES_AT_ONCE):
        yield a[start : start + _ENTRIES_AT_ONCE].astype("<i8").tobytes()


def _words(words: list[Any]) -> Iterator[bytes]:
    """Yield the lengths (-1 if missing), then the text: different lists give different bytes."""
    texts = [None if word is None else str(word).encode("utf-8", "surrogatepass") for word in words]
    yield np.array([-1 if text is None else len(text) for text in texts], "<i8").tobytes()
    yield b"".join(text for text in texts if text is not None)
