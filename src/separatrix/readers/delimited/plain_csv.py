"""Split CSV text into rows with the csv module of the standard library.

It is slower than pyarrow. It reads the beginning of a file, from which the delimiter and the header
are detected, and files with unusual quotation marks. It also knows the line of a row, for messages.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from separatrix.matrix import Array
from separatrix.text import counted

Quoting: TypeAlias = Literal[0, 3]

NAMES = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "vertical bar"}
_LINE_END = re.compile(rb"\r\n|\n|\r")
_field_limit = threading.Lock()


def first_rows(content: Array, delimiter: str, most: int, quoting: Quoting) -> list[list[str]]:
    """Return the first rows of a file that are not blank."""
    with _fields_of_any_length(len(content)):
        rows = list(islice(_reader(content, delimiter, quoting), most))
    width = max(map(len, rows), default=0)
    return [row for row in rows if not is_blank(row, width)]


def end_of_row(content: Array, delimiter: str, quoting: Quoting) -> int:
    """Return the number of bytes up to the end of the first row that is not blank."""
    with _fields_of_any_length(len(content)):
        reader = _reader(content, delimiter, quoting)
        next((row for row in reader if "".join(row).strip()), None)
    position, piece = 0, memoryview(content.data)
    for _ in range(reader.line_num):
        end = _LINE_END.search(piece, position)
        position = end.end() if end else len(content)
    return position


def all_rows(content: Array, delimiter: str) -> tuple[list[list[str]], int] | None:
    """Return all rows and the number of blank lines; None if the quotation marks are not balanced
    or the rows have different lengths.
    """
    try:
        with _fields_of_any_length(len(content)):
            rows = list(_reader(content, delimiter, csv.QUOTE_MINIMAL, strict=True))
    except csv.Error:
        return None
    width = max(map(len, rows), default=0)
    kept = [row for row in rows if not is_blank(row, width)]
    return (kept, len(rows) - len(kept)) if len(set(map(len, kept))) <= 1 else None


def line_numbers(content: Array, delimiter: str, quoting: Quoting) -> Array:
    """Return the line on which each row that is not blank begins. Lines count from 1."""
    lines, begins, width = [], 1, 0
    with _fields_of_any_length(len(content)):
        reader = _reader(content, delimiter, quoting)
        for row in reader:
            width = width or len(row)
            if not is_blank(row, width):
                lines.append(begins)
            begins = reader.line_num + 1
    return np.array(lines, dtype=np.int64)


def uneven_rows_error(
    path: Path, content: Array, delimiter: str, lines_before: int = 0
) -> ValueError:
    """Return the error for the first row of a different length, with its line number."""
    begins, width, trouble = 1, 0, ""
    with _fields_of_any_length(len(content)):
        reader = _reader(content, delimiter, csv.QUOTE_MINIMAL, strict=True)
        try:
            for row in reader:
                width = width or len(row)
                if not is_blank(row, width) and len(row) != width:
                    between = NAMES.get(delimiter, repr(delimiter))
                    line = lines_before + begins
                    title = " If the first lines are a title, delete them." if width == 1 else ""
                    return ValueError(
                        f"{path}, line {line}: expected {counted(width, 'field')} separated by a "
                        f"{between}, as in the first line. Got {len(row)} instead.{title} Nothing "
                        "was read."
                    )
                begins = reader.line_num + 1
        except csv.Error as error:
            trouble = str(error)
    return ValueError(
        f"{path}, line {lines_before + begins}: {trouble}. Is a closing quotation mark missing? "
        "Nothing was read."
    )


def is_blank(row: list[str], width: int) -> bool:
    """Return whether a row is a blank line.

    In a file of one column, an empty field in quotes is a missing value and not a blank line.
    """
    return not row or (width > 1 and row in ([""], [" "]))


def _reader(content: Array, delimiter: str, quoting: Quoting, *, strict: bool = False) -> Any:
    stream = pa.BufferReader(pa.py_buffer(content))
    lines: Iterator[str] = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    return csv.reader(
        lines, delimiter=delimiter, quoting=quoting, strict=strict, skipinitialspace=True
    )


@contextmanager
def _fields_of_any_length(length: int) -> Iterator[None]:
    """Raise the field size limit, which the csv module shares among all readers, and restore it."""
    with _field_limit:
        before = csv.field_size_limit(max(length, csv.field_size_limit()))
        try:
            yield
        finally:
            csv.field_size_limit(before)
