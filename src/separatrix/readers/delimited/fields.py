"""Split a CSV or TSV file into columns of cells, with pyarrow where possible."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import SkippedLines
from separatrix.readers.cells.coded_cells import CodedCells, equal_rows
from separatrix.readers.cells.number_cells import have_leading_zeros, plain_numbers
from separatrix.readers.delimited.dialect import describe_delimiter, find_delimiter, find_header
from separatrix.readers.delimited.lent_objects import lend
from separatrix.readers.delimited.plain_csv import (
    Quoting,
    all_rows,
    end_of_row,
    first_rows,
    line_numbers,
    uneven_rows_error,
)
from separatrix.readers.delimited.scanning import (
    columns_with_leading_zeros,
    scan,
    without_blank_end,
)

LOOKED_AT = 201  # rows that are examined to detect the header
_BLOCK = 1 << 20  # bytes that pyarrow parses at a time


@dataclass(eq=False)
class Fields:
    """The cells of a file by column.

    Attributes
    ----------
    columns : arrays of numbers, or pyarrow arrays or `CodedCells` with strings
    sample : the first cells below the header, by column
    rows_are_lines : whether every row is one line and every line is a row
    """

    names: list[str]
    columns: list[Any]
    has_header: bool
    delimiter: str
    notes: list[str]
    sample: list[tuple[str, ...]]
    content: Array
    quoting: Quoting
    rows_are_lines: bool = False
    blank_lines: int | None = None
    lines_before: int = 0  # in the file, if `content` is a part of it
    skipped: list[int] = field(default_factory=list)  # rows of the file that are not in `columns`

    @property
    def header_bytes(self) -> int:
        """The number of bytes of the header, with its line end; 0 without a header."""
        return end_of_row(self.content, self.delimiter, self.quoting) if self.has_header else 0

    def line_of(self, row: int) -> int:
        """Return the line of the file on which a row begins. Lines count from 1."""
        row += self.has_header
        for skipped in self.skipped:
            row += skipped <= row
        return self._line_of_all(row)

    def _line_of_all(self, row: int) -> int:
        """Return the line of a row, where the header and skipped rows count, too."""
        line = row + 1 if self.rows_are_lines else int(self._lines[row])
        return self.lines_before + line

    @property
    def skipped_lines(self) -> SkippedLines:
        """The lines that are not rows."""
        first = self._line_of_all(self.skipped[0]) if self.skipped else 0
        return SkippedLines(self.blank_lines or 0, len(self.skipped), first)

    def n_present(self, place: int) -> int:
        """Return the number of cells of a column that are not empty."""
        column = self.columns[place]
        if isinstance(column, np.ndarray):
            return int(np.count_nonzero(~np.isnan(column)))
        is_coded = isinstance(column, CodedCells)
        return column.n_present if is_coded else len(column) - column.null_count

    @cached_property
    def _lines(self) -> Array:
        return line_numbers(self.content, self.delimiter, self.quoting)

    def skip_repeated_headers(self) -> None:
        """Leave out rows that repeat the header, as in files that were joined."""
        same = np.ones(len(self.columns[0]), dtype=bool)
        for name, column in zip(self.names, self.columns):
            if isinstance(column, np.ndarray):  # of numbers
                return
            same &= equal_rows(column, name)
            if not same.any():
                return
        self.columns = [column.filter(pa.array(~same)) for column in self.columns]
        self.skipped = (np.flatnonzero(same) + 1).tolist()


def split_fields(
    path: Path,
    content: Array,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    expected: Collection[str] = (),
    strings: Collection[str] = (),
    lines_before: int = 0,
) -> Fields:
    """Split the bytes of a file, UTF-8, into columns.

    `header` says whether the first line holds the column names; None detects it. `expected` are
    the column names of a trained model: a first line that contains none of them is not a header.
    `lines_before` of the file come before `content`, for messages.
    Other columns than `strings` are arrays of numbers if all their cells are numbers.

    >>> content = np.frombuffer(b"size;kind\\n1;x\\n2;y\\n", np.uint8)
    >>> fields = split_fields(Path("a.csv"), content, strings=["size"])
    >>> fields.names, [column.to_pylist() for column in fields.columns], fields.line_of(0)
    (['size', 'kind'], [['1', '2'], ['x', 'y']], 2)
    >>> fields.notes
    ['The fields are separated by semicolons.', "The first line is the header: 'size' is above \
a column of numbers."]
    """
    _require_no_excel_line(path, content)
    given, delimiter = delimiter, delimiter or find_delimiter(content)
    first = first_rows(content, delimiter, LOOKED_AT, csv.QUOTE_MINIMAL)
    if not first:
        raise ValueError(f"{path} is empty.")
    content = without_blank_end(content, spaces=len(first[0]) > 1)
    found = scan(content, delimiter)
    file = _File(path, content, delimiter, header, expected, strings)
    fields = file.split(csv.QUOTE_MINIMAL, quotes=found.has_quotes) if found.is_regular else None
    if fields is None and found.has_quotes:
        fields = file.split_slowly()
    if fields is None and found.has_quotes:
        fields = file.split(csv.QUOTE_NONE, quotes=False)
        found = scan(content[content != ord('"')], delimiter)
    if fields is None:
        raise uneven_rows_error(path, content, delimiter, lines_before)
    if fields.quoting == csv.QUOTE_NONE:
        note = "The quotation marks are not balanced; they were read as ordinary characters."
        fields.notes.insert(0, note)
    if not (given or expected):
        fields.notes[:0] = describe_delimiter(path, delimiter)
    fields.lines_before = lines_before
    blank = found.line_ends + 1 - len(fields.columns[0]) - fields.has_header
    if fields.blank_lines is None:
        fields.blank_lines = blank
    fields.rows_are_lines = not (found.has_quotes or fields.blank_lines)
    if not len(fields.columns[0]):
        raise ValueError(
            Message(
                "{path} has a header but no rows. If its only line is data, give {header}.",
                path=path,
                header=Parameter("header", False),
            )
        )
    _require_different(path, fields.names)
    if fields.has_header and len(fields.names) > 1:
        fields.skip_repeated_headers()
    return fields


@dataclass(frozen=True)
class _File:
    """The bytes of a file, and how they are to be split."""

    path: Path
    content: Array
    delimiter: str
    header: bool | None
    expected: Collection[str]
    strings: Collection[str]

    def split(self, quoting: Quoting, *, quotes: bool) -> Fields | None:
        """Split the file with pyarrow; return None if the rows are uneven."""
        rows = first_rows(self.content, self.delimiter, LOOKED_AT, quoting)
        if rows[1:] and all(len(row) == len(rows[0]) + 1 and not row[-1] for row in rows[1:]):
            rows[0].append("")  # all lines except the header end in a delimiter
        if len(set(map(len, rows))) > 1:
            return None
        fields = self._named(rows, quoting)
        body = self.content
        if fields.has_header:
            body = body[end_of_row(body, self.delimiter, quoting) :]
        if not len(body):
            fields.columns = [pa.array([], pa.string()) for _ in fields.names]
            return fields
        types = {
            str(place): self._type_of(name, cells)
            for place, (name, cells) in enumerate(zip(fields.names, fields.sample))
        }
        if pa.float64() in types.values():
            zeros = columns_with_leading_zeros(body, self.delimiter, quotes=quotes)
            for place in zeros.intersection(range(len(types))):  # uneven rows have more
                types[str(place)] = _type_of_words(fields.sample[place])
        columns = parse(body, self.delimiter, types, quotes=quotes)
        if columns is None:
            return None
        fields.columns = columns
        return fields

    def split_slowly(self) -> Fields | None:
        """Split the file with the csv module, which reads unusual quotation marks."""
        found = all_rows(self.content, self.delimiter)
        if found is None:
            return None
        rows, blank = found
        fields = self._named(rows[:LOOKED_AT], csv.QUOTE_MINIMAL)
        cells = zip(*rows[fields.has_header :])
        fields.columns = [
            pa.array([word or None for word in column], pa.string()) for column in cells
        ]
        fields.columns = fields.columns or [pa.array([], pa.string()) for _ in fields.names]
        fields.blank_lines = blank
        return fields

    def _named(self, rows: list[list[str]], quoting: Quoting) -> Fields:
        """Return fields with the names of the columns and a sample, without the columns."""
        first, header, notes = [field.strip() for field in rows[0]], self.header, []
        if header is None:
            header, note = find_header(self.path, first, rows[1:], self.expected)
            notes.append(note)
        names = [f"column {place}" for place in range(1, len(first) + 1)]
        if header:
            names = [name or generated for name, generated in zip(first, names)]
        sample = list(zip(*rows[header:])) or [()] * len(names)
        return Fields(names, [], header, self.delimiter, notes, sample, self.content, quoting)

    def _type_of(self, name: str, cells: tuple[str, ...]) -> Any:
        """Return the type with which a column is read at first, from its first cells."""
        words = pa.array([cell.strip() or None for cell in cells], pa.string())
        if not self.expected and name not in self.strings and _are_numbers(words, self.delimiter):
            return pa.float64()
        return _type_of_words(cells)


def _type_of_words(cells: tuple[str, ...]) -> Any:
    """Return the type with which a column of words is read, from its first cells."""
    few = 2 * len(set(cells)) <= len(cells)
    return pa.dictionary(pa.int32(), pa.string()) if few else pa.string()


def _are_numbers(words: Any, delimiter: str) -> bool:
    """Return whether the first cells of a column can be parsed as numbers without losing anything.

    1.234 may be 1234 if the decimal sign is a comma, numbers with equally many digits may be codes
    of which others have a leading zero, and leading zeros and the word 'nan' are to be reported.
    """
    values = plain_numbers(words)
    if values is None or np.isnan(values).sum() > words.null_count:
        return False
    if delimiter != "," and _any(words, r"^[+-]?\d{1,3}(?:\.\d{3})+$"):
        return False
    if have_leading_zeros(words):
        return False
    lengths = pc.min_max(pc.utf8_length(words)).as_py()
    may_be_codes = lengths["min"] == lengths["max"] and (lengths["max"] or 0) > 1
    return not may_be_codes or _any(words, r"\D")


def _any(words: Any, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


def parse(
    content: Array, delimiter: str, types: dict[str, Any], *, quotes: bool
) -> list[Any] | None:
    """Return the columns of cells as pyarrow reads them; None if the rows are uneven.

    A column whose cells do not have the type in `types` is read as strings.
    """
    block = _BLOCK
    for _ in range(5):
        try:
            table = _read_csv(content, delimiter, types, block, quotes)
        except pa.ArrowInvalid as error:
            found = re.search(r"CSV column #(\d+)", str(error))
            if found:
                types = _with_strings(types, int(found[1]))
            elif block > len(content):
                return None
            else:
                block = len(content) + 1  # a row can be longer than a block
            continue
        place = next((k for k, each in enumerate(table.columns) if _has_nan(each)), None)
        if place is not None:
            types = _with_strings(types, place)
            continue
        columns = table.columns[::-1]
        del table
        return [_column(columns.pop()) for _ in types]  # frees the memory of each in turn
    return None


def _read_csv(
    content: Array, delimiter: str, types: dict[str, Any], block: int, quotes: bool
) -> Any:
    """Return the table that pyarrow reads. `block` is the number of bytes parsed at a time."""
    lines, skip_blank = content.data, partial(_skip_blank)
    with lend(lines, skip_blank):
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(lines)),
            read_options=arrow_csv.ReadOptions(
                column_names=list(types),
                block_size=block,
                use_threads=len(content) > block,  # a single block is no work to share
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quotes else False,
                newlines_in_values=quotes,
                invalid_row_handler=skip_blank,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )


def _has_nan(cells: Any) -> bool:
    """Return whether a column of numbers has cells with the word 'nan'."""
    if not pa.types.is_floating(cells.type) or not math.isnan(pc.sum(cells).as_py() or 0.0):
        return False  # the sum is quicker to compute
    return bool(pc.any(pc.is_nan(cells)).as_py())


def _with_strings(types: dict[str, Any], place: int) -> dict[str, Any]:
    """Read a column as strings; if one was before already, read all columns so."""
    name = list(types)[place]
    again = any(pa.types.is_large_string(kind) for kind in types.values())
    return {
        each: pa.large_string() if each == name or (again and pa.types.is_floating(kind)) else kind
        for each, kind in types.items()
    }


def _column(cells: Any) -> Any:
    if pa.types.is_floating(cells.type):
        return cells.to_numpy()
    return CodedCells.of(cells) if pa.types.is_dictionary(cells.type) else cells


def _skip_blank(row: Any) -> str:
    """Skip a line of spaces; refuse another row of the wrong length."""
    return "skip" if row.actual_columns == 1 and not row.text.strip(" ") else "error"


def _require_different(path: Path, names: list[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(
                Message(
                    "{path}, line 1: {times} columns have the name {name!r}. Rename them, also "
                    "to leave one out with {drop:=}, or give {header} if the first line is data.",
                    path=path,
                    times=times,
                    name=name,
                    drop=Parameter("drop"),
                    header=Parameter("header", False),
                )
            )


def _require_no_excel_line(path: Path, content: Array) -> None:
    """Raise if the first line names the delimiter, as files for Excel do."""
    found = re.match(rb"sep=(.)\r?\n", content[:8].tobytes())
    if found:
        raise ValueError(
            Message(
                "{path}, line 1: this line, 'sep={sign}', tells Excel the delimiter and belongs to "
                "no row. Remove it; if the delimiter is then not detected, give {delimiter}.",
                path=path,
                sign=found[1].decode("latin-1"),
                delimiter=Parameter("delimiter", found[1].decode("latin-1")),
            )
        )
