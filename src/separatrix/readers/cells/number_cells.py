"""Read cells as numbers: 1234.5, 1234,5, 1,234.5, 1.234,5, 1 234,5, 12 %, $5.

A number in the usual form is the same float64 as Python's `float(text)`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import SIGNS, CellFormat
from separatrix.readers.cells.coded_cells import CodedCells

PLAIN = CellFormat()
_BLANKS = r"[ \x{00A0}\x{2009}\x{202F}]"


def plain_numbers(cells: Any) -> Array | None:
    """Return cells as numbers if all are in the usual form, and None otherwise."""
    if isinstance(cells, CodedCells):
        values = plain_numbers(cells.words)
        return None if values is None else cells.expand(values)
    try:
        numbers = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    found: Array = (
        numbers.to_numpy()
        if isinstance(numbers, pa.ChunkedArray)
        else numbers.to_numpy(zero_copy_only=False)
    )
    return found.astype(np.float64, copy=False)


def numbers_of(words: Any, written: CellFormat) -> tuple[Array, Array]:
    """Return trimmed cells as numbers, and a mask of the cells that are not numbers.

    >>> numbers_of(pa.array(["1.234,5", None, "x"]), CellFormat(decimal=",", group="."))
    (array([1234.5,    nan,    nan]), array([False, False,  True]))
    """
    pattern = _pattern(written.decimal, written.group, written.sign)
    good = pc.match_substring_regex(words, pattern=pattern)
    text = pc.if_else(good, words, None)
    if written.sign:
        text = pc.utf8_trim_whitespace(pc.replace_substring(text, written.sign, ""))
        text = pc.replace_substring_regex(text, pattern=r"^([+-])\s+", replacement=r"\1")
    if written.group:
        group = _BLANKS if written.group == " " else re.escape(written.group)
        text = pc.replace_substring_regex(text, pattern=group, replacement="")
    if written.decimal != ".":
        text = pc.replace_substring(text, written.decimal, ".")
    values = plain_numbers(text)
    if values is None:  # other versions of pyarrow know fewer forms
        values = np.array([np.nan if x is None else float(x) for x in text.to_pylist()])
    others: Array = pc.fill_null(pc.invert(good), False).to_numpy(zero_copy_only=False)
    return values, others


def has_thousands(words: Any, group: str) -> bool:
    """Return whether the cells show that a comma or a point stands between thousands.

    All cells with this sign must have groups of three digits. In addition, a cell has two groups,
    or there are integers below 1000 and no larger integer is written without the sign.

    >>> has_thousands(pa.array(["1,709", "734"]), ","), has_thousands(pa.array(["1,709"]), ",")
    (True, False)
    """
    if not may_be_thousands(words, group):
        return False
    words = _without_marks(words)
    if _any(words, rf"(?:{re.escape(group)}\d{{3}}){{2}}$"):
        return True
    return _any(words, r"^[+-]?\d{1,3}$") and not _any(words, r"^[+-]?\d{4,}$")


def may_be_thousands(words: Any, group: str) -> bool:
    """Return whether a comma or a point occurs, always before three digits as in 1,234.

    >>> may_be_thousands(pa.array(["1,709", "5"]), ","), may_be_thousands(pa.array(["0,709"]), ",")
    (True, False)
    """
    words = pc.drop_null(_without_marks(words))
    with_sign = words.filter(pc.match_substring(words, group))
    pattern = rf"^[+-]?[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+$"
    good = pc.match_substring_regex(with_sign, pattern)
    return len(with_sign) > 0 and bool(pc.all(good).as_py())


def numeric_words(missing: tuple[str, ...]) -> list[float]:
    """Return the words for missing values that are numbers.

    >>> numeric_words(("-999", "n/a", "nan"))
    [-999.0]
    """
    values = numbers_of(pa.array(missing, pa.string()), PLAIN)[0]
    return values[~np.isnan(values)].tolist() if missing else []


def without_numbers(values: Array, missing: tuple[str, ...]) -> Array:
    """Return numbers in which those that are words for missing values, such as -999, are NaN."""
    absent = numeric_words(missing)
    return np.where(np.isin(values, absent), np.nan, values) if absent else values


def _without_marks(words: Any) -> Any:
    """Return cells without currency and percent signs."""
    marks = "".join(SIGNS)
    return pc.replace_substring_regex(words, pattern=rf"\s*[{marks}]\s*", replacement="")


def _any(words: Any, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


@cache
def _pattern(decimal: str, group: str, sign: str) -> str:
    """Return the regular expression of a number, in the syntax of RE2."""
    point = re.escape(decimal)
    body = rf"(?:\d+(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    if group:
        between = _BLANKS if group == " " else re.escape(group)
        body = rf"(?:[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{point}\d*)?|{body})"
    if not sign:
        return rf"^[+-]?(?:{body}|(?i:inf|infinity|nan))$"
    mark = re.escape(sign)
    return rf"^(?:[+-]?\s*{mark}\s*{body}|[+-]?{body}\s*{mark}|{mark}\s*[+-]{body})$"
