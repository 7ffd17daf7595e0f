"""Detect the delimiter and the header of a CSV or TSV file from its first rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.missing_words import MISSING_WORDS, is_missing_word
from separatrix.readers.delimited.plain_csv import first_rows

# In order of preference: a tab is least likely to occur by accident.
DELIMITERS = ("\t", ";", ",", "|")
_DELIMITER_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "vertical bars (|)"}
LABEL_NAMES = ("label", "target", "class", "y")

_USUAL_NAMES = frozenset([*LABEL_NAMES, "id", "text", "message", "document", "sentence"])
_LOOKED_AT = 200  # number of rows that are examined to detect the delimiter and the header
_MOST_OTHERS = 0.1  # share of the values below a name that may be no numbers
_NO_NAMES = frozenset(["", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"])
# A number or a date in any form: digits, and the signs that are used between and around them.
_VALUE = re.compile(
    r"[-+]?\s?[$€£¥]?\s?[-+]?[.,]?\d[\d.,' \u00a0\u2009\u202f:/TZ+-]*([eE][-+]?\d+)?\s?[%$€£¥]?"
)


def find_delimiter(content: Array) -> str:
    """Return the delimiter that splits most of the first rows into the same number of fields."""
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        rows = first_rows(content, delimiter, _LOOKED_AT, csv.QUOTE_MINIMAL)
        if not rows:
            continue
        width, times = Counter(map(len, rows)).most_common(1)[0]
        share = times / len(rows)
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    return best


def describe_delimiter(path: Path, delimiter: str) -> list[str]:
    """Return a sentence about a delimiter that was detected, unless the name of the file shows it.

    >>> describe_delimiter(Path("a.csv"), ";"), describe_delimiter(Path("a.tsv"), "\\t")
    (['The fields are separated by semicolons.'], [])
    """
    expected = "\t" if {".tsv", ".tab"} & set(path.suffixes) else ","
    if delimiter == expected:
        return []
    return [f"The fields are separated by {_DELIMITER_NAMES[delimiter]}."]


def is_value(field: str) -> bool:
    """Return whether a field is a number or a date. Python's notation 1_000 does not count as one.

    >>> [is_value(field) for field in ("-1.5e3", "1 000,5", "31/1/2024", "inf", "1_000", "x1")]
    [True, True, True, True, False, False]
    """
    return _VALUE.fullmatch(field) is not None or field.lower().lstrip("+-") in ("inf", "infinity")


def find_header(
    path: Path, first: list[str], rows: Sequence[Sequence[str]], expected: Collection[str]
) -> tuple[bool, str]:
    """Return whether the first row holds column names, and a note with the reason."""
    if expected:
        known = [name for name in first if name in expected]
        if known:
            return True, f"The first line is the header: it contains the column name {known[0]!r}."
        return False, "There is no header: the first line contains no column name of the model."
    if not rows and not any(field in _NO_NAMES or is_value(field) for field in first):
        raise ValueError(
            Message(
                "{path} has only one line, which looks like a header, and no rows. "
                "If the line is data, give {header}.",
                path=path,
                header=Parameter("header", False),
            )
        )
    below = [
        {row[j].strip() for row in rows if not is_missing_word(row[j], MISSING_WORDS)}
        for j in range(len(first))
    ]
    above_numbers = [
        name
        for name, fields in zip(first, below)
        if fields and name not in _NO_NAMES and not is_value(name) and _are_values(fields)
    ]
    # 'inf' may be a name.
    values = [f for f in first if f not in ("", "inf") and (f in _NO_NAMES or is_value(f))]
    if len(above_numbers) > len(values):
        name = above_numbers[0]
        return True, f"The first line is the header: {name!r} is above a column of numbers."
    if values:
        return False, f"There is no header: the first line contains the value {values[0]!r}."
    return _find_header_of_words(first, below, len(rows))


def _are_values(fields: Collection[str]) -> bool:
    """Return whether almost all fields are numbers or dates."""
    others = sum(not is_value(field) for field in fields)
    return others <= _MOST_OTHERS * len(fields)


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
