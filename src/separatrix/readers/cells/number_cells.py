"""Read cells as numbers: 1234.5, 1234,5, 1,234.5, 1.234,5, 1 234,5, 12 %, $5, 136 cm, (110).

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
from separatrix.readers.cells.cell_format import MIXED, CellFormat
from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.cells.unit_cells import BLANKS, CURRENCY, is_currency

PLAIN = CellFormat()
_MINUS = "\N{MINUS SIGN}"
_IN_PARENTHESES = rf"^({CURRENCY}?)\s*\(\s*([^-+()]*[^-+()\s])\s*\)([^()\d]*)$"


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
    words = with_minus_signs(words)
    good = pc.match_substring_regex(words, pattern=pattern)
    text = pc.if_else(good, words, None)
    if written.sign:
        mark = re.escape(written.sign)
        around = rf"^([+-]?)\s*{mark}\s*|\s*{mark}$"
        text = pc.replace_substring_regex(text, pattern=around, replacement=r"\1")
    if written.group:
        group = f"[{BLANKS}]" if written.group == " " else re.escape(written.group)
        text = pc.replace_substring_regex(text, pattern=group, replacement="")
    if written.decimal != ".":
        text = pc.replace_substring(text, ",", ".")
    values = plain_numbers(text)
    if values is None:  # other versions of pyarrow know fewer forms
        values = np.array([np.nan if x is None else float(x) for x in text.to_pylist()])
    others: Array = pc.fill_null(pc.invert(good), False).to_numpy(zero_copy_only=False)
    return values, others


def with_minus_signs(words: Any) -> Any:
    """Return cells with a hyphen before negative numbers, for a minus sign or parentheses.

    >>> with_minus_signs(pa.array(["(110)", "\N{MINUS SIGN}5", "7"])).to_pylist()
    ['-110', '-5', '7']
    """
    if not any(pc.any(pc.match_substring(words, sign)).as_py() for sign in ("(", _MINUS)):
        return words
    words = pc.replace_substring(words, _MINUS, "-")
    return pc.replace_substring_regex(words, pattern=_IN_PARENTHESES, replacement=r"-\1\2\3")


def have_leading_zeros(words: Any) -> bool:
    """Return whether a cell begins with a zero and another digit, as codes do.

    >>> have_leading_zeros(pa.array(["7", "007"])), have_leading_zeros(pa.array(["0", "0.5"]))
    (True, False)
    """
    return _any(words, r"^\s*0\d")


def are_codes(words: Any) -> bool:
    """Return whether cells are digits of one length, some of them with a leading zero.

    Spaces around a cell do not matter.

    >>> are_codes(pa.array(["01234", "90210"])), are_codes(pa.array(["0", "10"]))
    (True, False)
    """
    if not have_leading_zeros(words):
        return False
    present = pc.drop_null(pc.utf8_trim_whitespace(words))
    lengths = pc.min_max(pc.utf8_length(present)).as_py()
    digits = pc.all(pc.match_substring_regex(present, r"^\d+$")).as_py()
    return bool(digits) and lengths["min"] == lengths["max"]


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
    """Return cells without units, currency and percent signs."""
    words = with_minus_signs(words)
    return pc.replace_substring_regex(words, pattern=r"\s*[^\d\s.,'+-]+\s*", replacement="")


def _any(words: Any, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


@cache
def _pattern(decimal: str, group: str, sign: str) -> str:
    """Return the regular expression of a number, in the syntax of RE2."""
    point = re.escape(decimal)
    body = rf"(?:\d+(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    if decimal == MIXED:  # without 1,234 and 1.234, which can be 1234
        body = r"(?:\d+(?:[.,](?:\d{0,2}|\d{4,}))?|(?:0\d*|\d{4,})?[.,]\d+)"
    if group:
        between = f"[{BLANKS}]" if group == " " else re.escape(group)
        body = rf"(?:[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{point}\d*)?|{body})"
    if not sign:
        return rf"^[+-]?(?:{body}|(?i:inf|infinity|nan))$"
    mark = re.escape(sign)
    after = rf"[+-]?{body}\s*{mark}"
    before = rf"[+-]?\s*{mark}\s*{body}|{mark}\s*[+-]{body}"
    return rf"^(?:{before}|{after})$" if is_currency(sign) else rf"^(?:{after})$"
