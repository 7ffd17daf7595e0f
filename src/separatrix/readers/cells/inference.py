"""Decide how a column of cells is read, from all its cells.

1. If all cells are numbers in the usual form, they are numbers.
2. Otherwise the way of writing numbers or dates that fits most cells is tried. The other cells are
   missing values if they are at most 10 %; at most half, if they are at most three different words;
   at most 1 %, if there are at most 20 different numbers, which may be codes.
3. Otherwise the cells are text, an identifier that is left out, or categories.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import DATE_ORDERS, SIGNS, CellFormat
from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.cells.date_cells import in_unit, seconds_of, unit_of
from separatrix.readers.cells.missing_words import ABSENT, MISSING_WORDS
from separatrix.readers.cells.number_cells import (
    PLAIN,
    has_thousands,
    numbers_of,
    plain_numbers,
    without_numbers,
)
from separatrix.readers.cells.word_cells import count_words, frequent_words, looks_like_text

TYPES = ("number", "category", "text", "date", "drop")

MOST_OTHERS = 0.1  # share of cells that may be no numbers
MOST_OTHERS_OF_FEW_WORDS = 0.5  # the same if they are a few words that are repeated
FEW_WORDS = 3
MOST_OTHERS_OF_CODES = 0.01  # the same if the numbers may be codes
CODES = 20  # largest number of different values in a column that may hold codes
LEAST_DIFFERENT = 0.95  # share of different values in an identifier
LEAST_ROWS = 20  # shorter columns are never identifiers
_LOOKED_AT = 2000  # different cells that are examined to find the form of numbers and dates


@dataclass(frozen=True, eq=False)
class Inferred:
    """A column, and what was decided about it.

    Attributes
    ----------
    format, values : how the cells are read, and the result
    others : mask of the cells that are not numbers or dates; None if there are none
    share : share of the cells that `others` are
    as_words : whether a column of numbers with many other cells is read as categories
    ambiguous : whether the dates can be day-month-year and month-day-year
    different, present : how many different values and how many values an identifier has; 0, 0 for
        other columns
    kept : words for missing values that are categories in this column, and how often they occur
    missing : words for missing values that were found, and how often
    example : how a number in an unusual form is read
    """

    format: CellFormat
    values: Array
    others: Array | None = None
    share: float = 0.0
    as_words: bool = False
    ambiguous: bool = False
    different: int = 0
    present: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    example: str = ""


def infer(
    cells: Any,
    missing: tuple[str, ...] = MISSING_WORDS,
    *,
    wanted: str | None = None,
    comma_first: bool = True,
) -> Inferred:
    """Decide how cells are read, and read them.

    `wanted` is the type that the user gave: "number", "category", "text" or "date". `comma_first`
    says which of two readings of 1,500 is preferred if the other cells do not show it: 1.5 or 1500.

    >>> import pyarrow as pa
    >>> found = infer(pa.array(["1,5", "n/a", "20"]))
    >>> found.format.decimal, found.values
    (',', array([ 1.5,  nan, 20. ]))
    """
    if wanted in (None, "number"):
        values = plain_numbers(cells)
        if values is not None:
            return Inferred(PLAIN, without_numbers(values, missing))
    coded = CodedCells.of(cells)
    found = _infer(coded, missing, wanted, comma_first)
    others = None if found.others is None else coded.expand(found.others)
    return replace(found, values=coded.expand(found.values), others=others)


def _infer(
    cells: CodedCells, missing: tuple[str, ...], wanted: str | None, comma_first: bool
) -> Inferred:
    """Decide how cells are read. Values and others are those of the different cells."""
    if wanted == "text":
        return Inferred(CellFormat("text"), _objects(cells))
    if wanted == "category":
        return _categories(cells, missing)
    present = cells.without(cells.is_missing(missing))
    n_present = present.n_present
    if not n_present:
        values = np.full(len(cells.words), np.nan)
        return Inferred(PLAIN, values, missing=_found(cells, missing))
    quantity = None
    if wanted in (None, "number"):
        quantity = _numbers(present, wanted is not None, comma_first)
    if wanted == "date" or (wanted is None and quantity is None):
        quantity = _dates(present, wanted is not None)
    if quantity is None:
        return _words(cells, missing)
    if wanted is None and quantity.ambiguous:
        return replace(_words(cells, missing), ambiguous=True)
    assert quantity.others is not None
    n_others = cells.count(quantity.others)
    share = n_others / n_present
    if wanted is None and share > _most_others(quantity):
        words = _words(cells, missing)
        return replace(words, as_words=True, others=quantity.others, share=share)
    return replace(
        quantity,
        format=replace(quantity.format, skips_others=n_others > 0),
        others=quantity.others if n_others else None,
        share=share,
        missing=_found(cells, missing),
    )


def read_as(
    cells: Any, written: CellFormat, missing: tuple[str, ...]
) -> tuple[Array, Array | None]:
    """Read cells in a known format. Return the values, and a mask of the cells that do not fit.

    The currency or percent sign of the format may be missing.

    >>> import pyarrow as pa
    >>> read_as(pa.array(["20,000", "$1,000.5"]), CellFormat(group=",", sign="$"), ())
    (array([20000. ,  1000.5]), None)
    """
    if written.kind == "numbers" and written.is_plain:
        values = plain_numbers(cells)
        if values is not None:
            return without_numbers(values, missing), None
    coded = CodedCells.of(cells)
    if written.kind == "text":
        return coded.objects(), None
    words = tuple(word for word in missing if word not in written.categories)
    present = coded.without(coded.is_missing(words))
    if written.kind == "categories":
        return present.objects(), None
    if written.date:
        seconds, others = seconds_of(present.words, written.date)
        values = in_unit(seconds, written.unit)
    else:
        values, others = numbers_of(present.words, written)
        if written.sign and others.any():
            unsigned, no_numbers = numbers_of(present.words, replace(written, sign=""))
            values = np.where(others, unsigned, values)
            others = others & no_numbers
    return coded.expand(values), coded.expand(others) if others.any() else None


def labels_of(cells: Any, found: Inferred, missing: tuple[str, ...]) -> Array:
    """Read the cells of the label column. Words such as 'none' and '-' are classes."""
    if found.format.kind == "numbers" and not found.format.date and found.others is None:
        return found.values
    always = ABSENT if missing == MISSING_WORDS else missing
    return read_as(cells, CellFormat("categories"), always)[0]


def number_formats(sample: Any, comma_first: bool) -> Iterator[CellFormat]:
    """Yield the ways of writing numbers that may fit, in order of preference."""
    signs = [""]
    for sign in SIGNS[1:]:
        if pc.any(pc.match_substring(sample, sign)).as_py():
            signs.append(sign)
    commas = [CellFormat(decimal=","), CellFormat(group=",")]
    plain = [PLAIN, *(commas if comma_first else commas[::-1])]
    grouped = [
        CellFormat(decimal=",", group="."),
        CellFormat(group=" "),
        CellFormat(decimal=",", group=" "),
        CellFormat(group="'"),
    ]
    for sign in signs:
        for written in [*plain, *grouped]:
            yield replace(written, sign=sign)


def _numbers(present: CodedCells, given: bool, comma_first: bool) -> Inferred | None:
    """Read cells in the way of writing numbers that fits most; None if it fits less than half."""
    sample = _sample(present)
    best: Inferred | None = None
    fewest = present.n_present if given else present.n_present // 2 + 1
    comma_first = comma_first and not has_thousands(present.words, ",")
    for written in number_formats(sample, comma_first):
        if not given and numbers_of(sample, written)[1].mean() > 0.5:
            continue
        values, others = numbers_of(present.words, written)
        count = present.count(others)
        if count < fewest:
            best, fewest = Inferred(written, values, others), count
            best = replace(best, example=_example(present.words, best))
        if not count:
            break
    return best


def _example(words: Any, found: Inferred) -> str:
    """Describe how the first number in an unusual form is read."""
    written = found.format
    decimal = written.decimal.replace(".", "")  # not unusual
    for sign in filter(None, (written.group, decimal, written.sign)):
        pattern = r"\d\s\d" if sign == " " else re.escape(sign)
        has = pc.fill_null(pc.match_substring_regex(words, pattern), False).to_numpy(
            zero_copy_only=False
        )
        places = np.flatnonzero(has & ~np.isnan(found.values))
        if len(places):
            place = int(places[0])
            return f"{words[place].as_py()!r} is read as {found.values[place]:.15g}"
    return ""


def _dates(present: CodedCells, given: bool) -> Inferred | None:
    """Read cells in the order of day, month and year that fits most; None if few are dates."""
    sample = _sample(present)
    found = []
    for order in DATE_ORDERS:
        if not given and seconds_of(sample, order)[1].mean() > 0.5:
            continue
        seconds, others = seconds_of(present.words, order)
        if (count := present.count(others)) < present.n_present:
            found.append((count, order, seconds, others))
    if not found:
        return None
    count, order, seconds, others = min(found, key=lambda each: each[0])
    rivals = [each[2] for each in found if each[0] == count and each[1] != order]
    ambiguous = any(not np.array_equal(rival, seconds, equal_nan=True) for rival in rivals)
    if ambiguous and pc.all(pc.match_substring_regex(present.words, r"^\d+\.")).as_py():
        ambiguous = False  # with full stops, the day comes first
    unit = unit_of(seconds)
    written = CellFormat(date=order, unit=unit)
    return Inferred(written, in_unit(seconds, unit), others, ambiguous=ambiguous)


def _words(cells: CodedCells, missing: tuple[str, ...]) -> Inferred:
    """Read cells as text, as an identifier or as categories."""
    present = cells.without(cells.is_missing(missing))
    if looks_like_text(present.expand(_objects(present))[:_LOOKED_AT]):
        return Inferred(CellFormat("text"), _objects(cells))  # a document may be the word 'null'
    found = _categories(cells, missing)
    n_present = present.n_present
    different = int((present.counts[present.words.is_valid().to_numpy(False)] > 0).sum())
    if n_present < LEAST_ROWS or different < LEAST_DIFFERENT * n_present:
        return found
    return replace(found, different=different, present=n_present)


def _categories(cells: CodedCells, missing: tuple[str, ...]) -> Inferred:
    kept = frequent_words(cells, missing)
    written = CellFormat("categories", categories=tuple(sorted(kept)))
    others = tuple(word for word in missing if word not in kept)
    values = _objects(cells.without(cells.is_missing(others)))
    return Inferred(written, values, kept=kept, missing=_found(cells, others))


def _objects(cells: CodedCells) -> Array:
    words = cells.words.to_pylist()
    return np.fromiter(words, dtype=object, count=len(words))


def _found(cells: CodedCells, missing: tuple[str, ...]) -> Counter[str]:
    """Count the words for missing values that a reader may not expect."""
    return count_words(cells, [word for word in missing if word not in ABSENT])


def _sample(present: CodedCells) -> Any:
    """Return different cells that are not missing, taken from everywhere in a column."""
    cells = pc.drop_null(present.words)
    if len(cells) <= _LOOKED_AT:
        return cells
    return pc.take(cells, np.linspace(0, len(cells) - 1, _LOOKED_AT).astype(np.int64))


def _most_others(found: Inferred) -> float:
    """Return the share of cells that may be no numbers."""
    different = len(np.unique(found.values[~np.isnan(found.values)]))
    if not found.format.date and different <= CODES:
        return MOST_OTHERS_OF_CODES
    assert found.others is not None
    return MOST_OTHERS_OF_FEW_WORDS if found.others.sum() <= FEW_WORDS else MOST_OTHERS
