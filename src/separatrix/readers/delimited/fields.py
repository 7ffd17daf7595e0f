"""Split a CSV or TSV file into columns of cells, with pyarrow where possible."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.delimited.dialect import find_delimiter, find_header
from separatrix.readers.delimited.plain_csv import (
    Quoting,
    all_rows,
    first_rows,
    line_numbers,
    uneven_rows_error,
)
from separatrix.readers.delimited.scanning import Scan, scan, without_blank_end
from separatrix.text import counted

LOOKED_AT = 201  # rows that are examined to detect the header
_BLOCK = 1 << 22  # bytes that pyarrow parses at a time


@dataclass(eq=False)
class Fields:
    """The cells of a file by column.

    `sample` has the first rows below the header, by column.
    """

    names: list[str]
    columns: list[Any]
    has_header: bool
    delimiter: str
    notes: list[str]
    sample: list[tuple[str, ...]]
    _content: Array
    _quoting: Quoting
    _first_line: int | None  # None: rows are not lines
    _skipped: list[int]

    def line_of(self, row: int) -> int:
        """Return the line of the file on which a row begins; both count from 0 and 1."""
        row += self.has_header
        for skipped in self._skipped:
            row += skipped <= row
        return row + self._first_line if self._first_line is not None else int(self._lines[row])

    @cached_property
    def _lines(self) -> Array:
        return line_numbers(self._content, self.delimiter, self._quoting)


def split_fields(
    path: Path,
    content: Array,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    expected: Collection[str] = (),
) -> Fields:
    """Split the bytes of a file, UTF-8, into columns.

    `header` says whether the first line holds the column names; None detects it. `expected` are
    the column names of a trained model: a first line that contains none of them is not a header.

    >>> import numpy as np
    >>> content = np.frombuffer(b"size;kind\\n1;x\\n2;y\\n", np.uint8)
    >>> fields = split_fields(Path("a.csv"), content)
    >>> fields.names, [column.to_pylist() for column in fields.columns], fields.line_of(0)
    (['size', 'kind'], [['1', '2'], ['x', 'y']], 2)
    >>> fields.notes
    ["The first line is the header: 'size' is above a column of numbers."]
    """
    delimiter = delimiter or find_delimiter(content)
    sample = first_rows(content, delimiter, LOOKED_AT, csv.QUOTE_MINIMAL)
    if not sample:
        raise ValueError(f"{path} is empty.")
    content = without_blank_end(content, spaces=len(sample[0]) > 1)
    found = scan(content, delimiter)
    columns, blank, quoting, notes = _columns(path, content, delimiter, len(sample[0]), found)
    if quoting == csv.QUOTE_NONE:
        sample = first_rows(content, delimiter, LOOKED_AT, quoting)
    if blank:
        notes.insert(0, f"Skipped {counted(blank, 'blank line')}.")
    first = [field.strip() for field in sample[0]]
    if header is None:
        header, note = find_header(path, first, sample[1:], expected)
        notes.append(note)
    names = [f"column {place}" for place in range(1, len(first) + 1)]
    if header:
        names = [name or generated for name, generated in zip(first, names)]
        columns = [column.slice(1) for column in columns]
        del sample[0]
        if not len(columns[0]):
            raise ValueError(
                Message(
                    "{path} has a header but no rows. If its only line is data, give {header}.",
                    path=path,
                    header=Parameter("header", False),
                )
            )
    _require_different(path, names)
    numbered = not blank and (not found.has_quotes or quoting == csv.QUOTE_NONE)
    fields = Fields(
        names,
        columns,
        header,
        delimiter,
        notes,
        list(zip(*sample)),
        content,
        quoting,
        1 if numbered else None,
        [],
    )
    if header and len(first) > 1:
        _skip_repeated_headers(fields, first)
    return fields


def _columns(
    path: Path, content: Array, delimiter: str, width: int, found: Scan
) -> tuple[list[Any], int, Quoting, list[str]]:
    """Return the columns of cells, the number of blank lines, how quotes are read, and notes.

    If quotation marks are not balanced, they are read as ordinary characters.
    """
    if found.is_regular:
        columns = _parsed(content, delimiter, width, quotes=found.has_quotes)
        if columns is not None:
            blank = found.line_ends + 1 - len(columns[0])
            return columns, blank, csv.QUOTE_MINIMAL, []
    if found.has_quotes:
        plain = all_rows(content, delimiter)
        if plain is not None:
            rows, blank = plain
            columns = [
                pa.array([field or None for field in column], pa.large_string())
                for column in zip(*rows)
            ]
            return columns, blank, csv.QUOTE_MINIMAL, []
        rows = first_rows(content, delimiter, 1, csv.QUOTE_NONE)
        columns = _parsed(content, delimiter, len(rows[0]), quotes=False)
        if columns is not None:
            note = "The quotation marks are not balanced; they were read as ordinary characters."
            blank = scan(content[content != ord('"')], delimiter).line_ends + 1 - len(columns[0])
            return columns, blank, csv.QUOTE_NONE, [note]
    raise uneven_rows_error(path, content, delimiter)


def _parsed(content: Array, delimiter: str, width: int, *, quotes: bool) -> list[Any] | None:
    """Return the columns of cells as pyarrow reads them; None if the rows are uneven."""
    names = [str(place) for place in range(width)]
    options = {
        "parse_options": arrow_csv.ParseOptions(
            delimiter=delimiter,
            quote_char='"' if quotes else False,
            newlines_in_values=quotes,
            invalid_row_handler=_skip_blank,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,
        ),
    }
    for block in (_BLOCK, len(content) + 1):  # a row can be longer than a block
        reading = arrow_csv.ReadOptions(column_names=names, block_size=block)
        try:
            source = pa.BufferReader(pa.py_buffer(content))
            table = arrow_csv.read_csv(source, read_options=reading, **options)
            return [table.column(place) for place in range(width)]
        except pa.ArrowInvalid:
            if block > len(content):
                break
    return None


def _skip_blank(row: Any) -> str:
    """Skip a line of spaces; refuse another row of the wrong length."""
    return "skip" if row.actual_columns == 1 and not row.text.strip(" ") else "error"


def _require_different(path: Path, names: list[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(
                Message(
                    "{path}, line 1: {times} columns have the name {name!r}. Rename them, "
                    "or give {header} if the first line is data.",
                    path=path,
                    times=times,
                    name=name,
                    header=Parameter("header", False),
                )
            )


def _skip_repeated_headers(fields: Fields, first: list[str]) -> None:
    """Leave out rows that repeat the header, as in files that were joined."""
    same: Any = None
    for name, column in zip(first, fields.columns):
        if name:
            equal = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), name), False)
            same = equal if same is None else pc.and_(same, equal)
            if not pc.any(same).as_py():
                return
    rows = pc.indices_nonzero(same).to_pylist()
    line = fields.line_of(rows[0])
    keep = pc.invert(same)
    fields.columns = [column.filter(keep) for column in fields.columns]
    fields._skipped = [row + 1 for row in rows]
    fields.notes.append(f"Skipped {counted(len(rows), 'repetition')} of the header (line {line}).")
