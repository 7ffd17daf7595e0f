"""Split a CSV or TSV file into fields, and detect its delimiter, quotation marks and header.

The csv module of the standard library does the parsing. Every decision is reported in the notes.
"""

from __future__ import annotations

import csv
import io
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from separatrix.errors import Message, Parameter
from separatrix.readers.columns import MISSING
from separatrix.text import counted

# In order of preference: a tab is least likely to occur by accident.
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}
LABEL_NAMES = ("label", "target", "class", "y")

_USUAL_NAMES = frozenset([*LABEL_NAMES, "id", "text", "message", "document", "sentence"])
_LOOKED_AT = 200  # number of rows that are examined to detect the delimiter and the header
_field_limit = threading.Lock()


class Fields(NamedTuple):
    """The fields of a file by column, as strings."""

    names: list[str]
    columns: list[tuple[str, ...]]
    has_header: bool
    delimiter: str
    notes: list[str]


def split_fields(
    path: Path,
    text: str,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    expected: Collection[str] = (),
) -> Fields:
    """Split a text into columns.

    `header` says whether the first line holds the column names; None detects it. `expected` are
    the column names of a trained model: a first line that contains none of them is not a header.

    >>> fields = split_fields(Path("a.csv"), "size;kind\\n1;x\\n2;y\\n")
    >>> fields.names, fields.columns
    (['size', 'kind'], [('1', '2'), ('x', 'y')])
    >>> fields.notes
    ["The first line is the header: 'size' is above a column of numbers."]
    """
    with _fields_of_any_length(len(text)):
        delimiter = delimiter or _find_delimiter(text)
        rows, notes = _even_rows(path, text, delimiter)
    if not rows:
        raise ValueError(f"{path} is empty.")
    first = [field.strip() for field in rows[0]]
    if header is None:
        header, note = _find_header(path, first, rows[1:], expected)
        notes.append(note)
    names = [f"column {place}" for place in range(1, len(first) + 1)]
    if header:
        names = [name or generated for name, generated in zip(first, names)]
        del rows[0]
        if not rows:
            raise ValueError(
                Message(
                    "{path} has a header but no rows. If its only line is data, give {header}.",
                    path=path,
                    header=Parameter("header", False),
                )
            )
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
    return Fields(names, list(zip(*rows)), header, delimiter, notes)


def is_number(field: str) -> bool:
    """Return whether a field is a number. Python's notation 1_000 does not count as one.

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("x")
    (True, False, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def _find_delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first rows into the same number of fields."""
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        rows = _without_blanks(islice(_reader(text, delimiter), _LOOKED_AT))[0]
        if not rows:
            continue
        width, times = Counter(map(len, rows)).most_common(1)[0]
        share = times / len(rows)
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    return best


def _even_rows(path: Path, text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """Return all rows, which must have the same number of fields.

    If quotation marks are not balanced, they are read as ordinary characters.
    """
    try:
        rows, notes = _without_blanks(_reader(text, delimiter, strict=True))
        if _are_even(rows):
            return rows, notes
    except csv.Error:
        pass
    if '"' in text:
        rows, notes = _without_blanks(_reader(text, delimiter, quoting=csv.QUOTE_NONE))
        if _are_even(rows):
            note = "The quotation marks are not balanced; they were read as ordinary characters."
            return rows, [*notes, note]
    raise _uneven_rows_error(path, _reader(text, delimiter, strict=True), delimiter)


def _uneven_rows_error(path: Path, reader: Any, delimiter: str) -> ValueError:
    """Return the error for the first row of a different length, with its line number."""
    begins, width, trouble = 1, 0, ""
    try:
        for row in reader:
            width = width or len(row)
            if not _is_blank(row, width) and len(row) != width:
                between = DELIMITERS.get(delimiter, repr(delimiter))
                return ValueError(
                    f"{path}, line {begins}: expected {width} fields separated by a {between}, as "
                    f"in the first line. Got {len(row)} instead. Nothing was read."
                )
            begins = reader.line_num + 1
    except csv.Error as error:
        trouble = str(error)
    return ValueError(
        f"{path}, line {begins}: {trouble}. Is a closing quotation mark missing? Nothing was read."
    )


def _reader(
    text: str, delimiter: str, *, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL, strict: bool = False
) -> Any:
    lines = io.StringIO(text, newline="")
    return csv.reader(
        lines, delimiter=delimiter, quoting=quoting, strict=strict, skipinitialspace=True
    )


def _without_blanks(reader: Any) -> tuple[list[list[str]], list[str]]:
    """Return the rows that are not blank, and a note on the blank lines before the last row."""
    rows = list(reader)
    width = max(map(len, rows), default=0)
    while rows and _is_blank(rows[-1], width):
        rows.pop()
    kept = [row for row in rows if not _is_blank(row, width)]
    blank = len(rows) - len(kept)
    return kept, [f"Skipped {counted(blank, 'blank line')}."] if blank else []


def _is_blank(row: list[str], width: int) -> bool:
    """Return whether a row is a blank line.

    In a file of one column, an empty field in quotes is a missing value and not a blank line.
    """
    return not row or (width > 1 and row in ([""], [" "]))


def _are_even(rows: list[list[str]]) -> bool:
    return len(set(map(len, rows))) <= 1


@contextmanager
def _fields_of_any_length(length: int) -> Iterator[None]:
    """Raise the field size limit, which the csv module shares among all readers, and restore it."""
    with _field_limit:
        before = csv.field_size_limit(max(length, csv.field_size_limit()))
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _find_header(
    path: Path, first: list[str], rows: list[list[str]], expected: Collection[str]
) -> tuple[bool, str]:
    """Return whether the first row holds column names, and a note with the reason."""
    if expected:
        known = [name for name in first if name in expected]
        if known:
            return True, f"The first line is the header: it contains the column name {known[0]!r}."
        return False, "There is no header: the first line contains no column name of the model."
    if not rows and not any(field in MISSING or is_number(field) for field in first):
        raise ValueError(
            Message(
                "{path} has only one line, which looks like a header, and no rows. "
                "If the line is data, give {header}.",
                path=path,
                header=Parameter("header", False),
            )
        )
    below = [
        {field for row in rows[:_LOOKED_AT] if (field := row[j].strip()) not in MISSING}
        for j in range(len(first))
    ]
    above_numbers = [
        name
        for name, fields in zip(first, below)
        if fields and name not in MISSING and not is_number(name) and all(map(is_number, fields))
    ]
    values = [field for field in first if field and (field in MISSING or is_number(field))]
    if len(above_numbers) > len(values):
        name = above_numbers[0]
        return True, f"The first line is the header: {name!r} is above a column of numbers."
    if values:
        return False, f"There is no header: the first line contains the value {values[0]!r}."
    return _find_header_of_words(first, below, min(len(rows), _LOOKED_AT))


def _find_header_of_words(first: list[str], below: list[set[str]], n_rows: int) -> tuple[bool, str]:
    """Detect a header where all columns hold strings: values are repeated, names are not."""
    usual = [name for name in first if name.lower() in _USUAL_NAMES]
    if usual:
        return True, f"The first line is the header: {usual[0]!r} is a common column name."
    repeating = [(name, fields) for name, fields in zip(first, below) if 2 * len(fields) <= n_rows]
    again = [name for name, fields in repeating if name in fields]
    if again:
        return False, f"There is no header: {again[0]!r} also occurs below the first line."
    if repeating:
        name = repeating[0][0]
        return True, f"The first line is the header: {name!r} does not occur below it."
    return False, "There is no header: the first line looks like the others."
