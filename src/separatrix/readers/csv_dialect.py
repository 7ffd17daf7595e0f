"""Fields of a CSV or TSV file: delimiter, quotation marks and header found, not asked for.

A file is taken apart by the csv module of the standard library. What a file means is decided once,
here, and every decision is a sentence in the notes.
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

DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}  # the rarest by accident come first
LABEL_NAMES = ("label", "target", "class", "y")

_USUAL_NAMES = frozenset([*LABEL_NAMES, "id", "text", "message", "document", "sentence"])
_LOOKED_AT = 200  # rows, to find the delimiter and the header
_field_limit = threading.Lock()


class Fields(NamedTuple):
    """The fields of a file, column by column, as they are written."""

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
    """Take a text apart into columns.

    `header` says whether the first line has the names of the columns; None looks for itself. With
    `expected`, the names that a model was trained on, a first line with none of them is no header.

    >>> fields = split_fields(Path("a.csv"), "size;kind\\n1;x\\n2;y\\n")
    >>> fields.names, fields.columns
    (['size', 'kind'], [('1', '2'), ('x', 'y')])
    >>> fields.notes
    ["The first line is the header: 'size' is a word above a column of numbers."]
    """
    with _fields_of_any_length(len(text)):
        delimiter = delimiter or _find_delimiter(text)
        rows, notes = _even_rows(path, text, delimiter)
    if not rows:
        raise ValueError(f"{path} is empty: there is nothing to read.")
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
                    "{path} has a header and no rows. If its only line is data, give {header}.",
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
    """Say whether a field is a number as files write it: Python's 1_000 is a word.

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("x")
    (True, False, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def _find_delimiter(text: str) -> str:
    """The delimiter that cuts most of the first rows into equally many fields, two or more."""
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
    """All rows, which must have equally many fields; quotation marks count if they add up."""
    try:
        rows, notes = _without_blanks(_reader(text, delimiter, strict=True))
        if _are_even(rows):
            return rows, notes
    except csv.Error:
        pass
    if '"' in text:
        rows, notes = _without_blanks(_reader(text, delimiter, quoting=csv.QUOTE_NONE))
        if _are_even(rows):
            return rows, [*notes, "Quotation marks do not pair up: they were read as characters."]
    raise _uneven_rows_error(path, _reader(text, delimiter, strict=True), delimiter)


def _uneven_rows_error(path: Path, reader: Any, delimiter: str) -> ValueError:
    """The words for the first row that differs, with the line that it begins at."""
    begins, width, trouble = 1, 0, ""
    try:
        for row in reader:
            width = width or len(row)
            if not _is_blank(row, width) and len(row) != width:
                between = DELIMITERS.get(delimiter, repr(delimiter))
                return ValueError(
                    f"{path}, line {begins}: expected {width} fields with a {between} between "
                    f"them, as in the first line, got {len(row)}. Nothing was read."
                )
            begins = reader.line_num + 1
    except csv.Error as error:
        trouble = str(error)
    return ValueError(
        f"{path}, line {begins}: {trouble}. Is a quotation mark left open? Nothing was read."
    )


def _reader(
    text: str, delimiter: str, *, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL, strict: bool = False
) -> Any:
    lines = io.StringIO(text, newline="")
    return csv.reader(
        lines, delimiter=delimiter, quoting=quoting, strict=strict, skipinitialspace=True
    )


def _without_blanks(reader: Any) -> tuple[list[list[str]], list[str]]:
    """The rows without blank lines; those before the last row are counted in a note."""
    rows = list(reader)
    width = max(map(len, rows), default=0)
    while rows and _is_blank(rows[-1], width):
        rows.pop()
    kept = [row for row in rows if not _is_blank(row, width)]
    blank = len(rows) - len(kept)
    what = "blank line was" if blank == 1 else "blank lines were"
    return kept, [f"{blank:,} {what} skipped."] if blank else []


def _is_blank(row: list[str], width: int) -> bool:
    """A row of nothing; in a file of one column, an empty field in quotes is a missing value."""
    return not row or (width > 1 and row in ([""], [" "]))


def _are_even(rows: list[list[str]]) -> bool:
    return len(set(map(len, rows))) <= 1


@contextmanager
def _fields_of_any_length(length: int) -> Iterator[None]:
    """The csv module has one limit for all its readers: lift it, and put it back."""
    with _field_limit:
        before = csv.field_size_limit(max(length, csv.field_size_limit()))
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _find_header(
    path: Path, first: list[str], rows: list[list[str]], expected: Collection[str]
) -> tuple[bool, str]:
    """Say whether the first row has names, and by which sign."""
    if expected:
        known = [name for name in first if name in expected]
        if known:
            return True, f"The first line is the header: it has the name {known[0]!r}."
        return False, "There is no header: the first line has none of the names of the model."
    if not rows and not any(field in MISSING or is_number(field) for field in first):
        raise ValueError(
            Message(
                "{path} has one line, which reads like a header: there are no rows. "
                "If it is data, give {header}.",
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
        return True, f"The first line is the header: {name!r} is a word above a column of numbers."
    if values:
        return False, f"There is no header: the first line has the value {values[0]!r}."
    return _find_header_of_words(first, below, min(len(rows), _LOOKED_AT))


def _find_header_of_words(first: list[str], below: list[set[str]], n_rows: int) -> tuple[bool, str]:
    """Tell a name from a value where all columns hold words: a value comes again."""
    usual = [name for name in first if name.lower() in _USUAL_NAMES]
    if usual:
        return True, f"The first line is the header: it has the name {usual[0]!r}."
    repeating = [(name, fields) for name, fields in zip(first, below) if 2 * len(fields) <= n_rows]
    again = [name for name, fields in repeating if name in fields]
    if again:
        return False, f"There is no header: {again[0]!r} comes again below the first line."
    if repeating:
        name = repeating[0][0]
        return True, f"The first line is the header: {name!r} never comes again below it."
    return False, "There is no header: the first line is like the others."
