"""Decide how a column of cells is read, from all its cells.

1. If all cells are numbers in the usual form, they are numbers.
2. Otherwise the way of writing numbers or dates that fits most cells is tried. The other cells are
   missing values if they are at most 10 %; at most half, if they are at most three different words;
   at most 1 %, if there are at most 20 different numbers, which may be codes, and one of the other
   cells is repeated.
3. Numbers with different units, dates in an order that cannot be known, and codes with leading
   zeros are not read as numbers or dates. Columns that look like numbers or dates, but cannot be
   read as such, are categories if they have at most 20 different cells, and left out otherwise.
4. Otherwise the cells are text, an identifier that is left out, or categories.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat
from separatrix.readers.cells.coded_cells import CodedCells, word_at
from separatrix.readers.cells.date_cells import in_unit, seconds_of
from separatrix.readers.cells.date_choice import choose_dates
from separatrix.readers.cells.inferred import Doubt, Inferred
from separatrix.readers.cells.missing_words import ABSENT, MISSING_WORDS
from separatrix.readers.cells.number_cells import (
    PLAIN,
    are_codes,
    have_leading_zeros,
    numbers_of,
    plain_numbers,
    without_numbers,
)
from separatrix.readers.cells.number_choice import (
    choose_numbers,
    mixes_decimals,
    numbers_with_or_without_unit,
)
from separatrix.readers.cells.unit_cells import common_units, count_units
from separatrix.readers.cells.word_cells import (
    count_trimmed,
    count_words,
    frequent_words,
    looks_like_text,
)

TYPES = (
    *("number", "number:decimal-point", "number:decimal-comma", "category", "text"),
    *("date", "date:day-first", "date:month-first", "drop"),
)

MOST_OTHERS = 0.1  # share of cells that may be no numbers
MOST_OTHERS_OF_FEW_WORDS = 0.5  # the same if they are a few words that are repeated
FEW_WORDS = 3
MOST_OTHERS_OF_CODES = 0.01  # the same if the numbers may be codes
CODES = 20  # largest number of different values in a column that may hold codes; see also 3.
LEAST_DIFFERENT = 0.95  # share of different values in an identifier
LEAST_ROWS = 20  # shorter columns are never identifiers
MOST_OF_OTHER_UNIT = 0.01  # share of cells that may have another unit than the others
_LOOKED_AT = 2000  # cells that are examined to recognise text


def infer(
    cells: Any,
    missing: tuple[str, ...] = MISSING_WORDS,
    *,
    wanted: str | None = None,
    comma_first: bool = True,
) -> Inferred:
    """Decide how cells are read, and read them.

    `wanted` is the type that the user gave, one of TYPES except "drop". `comma_first` says which of
    two readings of 1,500 is preferred if the other cells do not show it: 1.5 or 1500.

    >>> found = infer(pa.array(["1,5", "n/a", "20"]))
    >>> found.format.decimal, found.values
    (',', array([ 1.5,  nan, 20. ]))
    """
    kind, _, how = (wanted or "").partition(":")
    if kind in ("", "number") and how != "decimal-comma":
        values = plain_numbers(cells)
        words = cells.words if isinstance(cells, CodedCells) else cells
        zeros = values is not None and not kind and have_leading_zeros(words)
        if values is not None and not (zeros and are_codes(words)):
            present = without_numbers(values, missing)
            return Inferred(PLAIN, present, missing=_no_words(cells, values), zeros=zeros)
    coded = CodedCells.of(cells)
    found = _infer(coded, missing, kind, how, comma_first)
    others = None if found.others is None else coded.expand(found.others)
    return replace(found, values=coded.expand(found.values), others=others)


def _infer(
    cells: CodedCells, missing: tuple[str, ...], kind: str, how: str, comma_first: bool
) -> Inferred:
    """Decide how cells are read. Values and others are those of the different cells."""
    if kind == "text":
        return Inferred(CellFormat("text"), _objects(cells))
    if kind == "category":
        return _categories(cells, missing)
    present = cells.without(cells.is_missing(missing))
    n_present = present.n_present
    if not n_present:
        values = np.full(len(cells.words), np.nan)
        return Inferred(PLAIN, values, missing=count_words(cells, missing))
    quantity = None
    if kind in ("", "number"):
        quantity = choose_numbers(present, given=bool(kind), how=how, comma_first=comma_first)
    if kind == "date" or (not kind and quantity is None):
        quantity = choose_dates(present, given=bool(kind), how=how)
    if not kind:
        doubt, units = _doubt(present, quantity)
        if doubt:
            others = quantity.others if quantity is not None else None
            share = 0.0 if others is None else cells.count(others) / n_present
            words = _words(cells, missing)
            if doubt != "zeros" and words.format.kind == "categories":
                words = _without_many(words, present)
            return replace(
                words, doubt=doubt, units=units, others=others, share=share, reason=_type(quantity)
            )
    if quantity is None:
        return _words(cells, missing)
    assert quantity.others is not None
    n_others = cells.count(quantity.others)
    numbers = present.without(quantity.others)
    return replace(
        quantity,
        format=replace(
            quantity.format,
            skips_others=n_others > 0,
            needs_sign=not kind and _has_number_without_sign(present.words, quantity),
        ),
        others=quantity.others if n_others else None,
        share=0.0 if kind else n_others / n_present,
        missing=count_words(cells, missing),
        zeros=not kind and quantity.format.is_plain and have_leading_zeros(numbers.words),
    )


def _has_number_without_sign(words: Any, quantity: Inferred) -> bool:
    """Return whether some of the other cells are numbers that only lack the unit of the column."""
    assert quantity.others is not None
    if not quantity.format.sign or not quantity.others.any():
        return False
    unsigned = numbers_of(
        words.filter(pa.array(quantity.others)), replace(quantity.format, sign="")
    )
    return not unsigned[1].all()


def _doubt(present: CodedCells, quantity: Inferred | None) -> tuple[Doubt, Counter[str]]:
    """Return why a column must not be read as numbers or dates, and its units if they differ."""
    none: Counter[str] = Counter()
    if quantity is not None:
        assert quantity.others is not None
        if quantity.format.date:
            return quantity.doubt or _doubt_about_share(present, quantity), none
        if quantity.format == PLAIN and are_codes(present.without(quantity.others).words):
            return "zeros", none
        if not present.count(quantity.others):
            return "", none
    if units := _different_units(present):
        return "units", units
    if quantity is not None and not _doubt_about_share(present, quantity):
        return "", none
    if mixes_decimals(present):
        return "decimals", none
    if units := _different_units(present, or_none=True):
        return "units", units
    return "others" if quantity is not None else "", none


def _doubt_about_share(present: CodedCells, quantity: Inferred) -> Doubt:
    assert quantity.others is not None
    counts = present.counts[quantity.others].tolist()
    return "" if _are_few(counts, present.n_present, _most_others(quantity)) else "others"


def _are_few(counts: list[int], n: int, share: float) -> bool:
    """Return whether there are few such cells among n: a share, or 10 % if none is repeated."""
    repeated = max(counts, default=0) > 1
    return sum(counts) <= (share if repeated else max(share, MOST_OTHERS)) * n


def _type(quantity: Inferred | None) -> str:
    return "date" if quantity is not None and quantity.format.date else "number"


def _different_units(present: CodedCells, *, or_none: bool = False) -> Counter[str]:
    """Count the units of a column of numbers with different units; empty for other columns.

    With `or_none`, no unit is different from a unit.
    """
    if not common_units(present.sample()):
        return Counter()
    counts = count_units(present.words, present.counts)
    named = sorted((n for unit, n in counts.items() if unit or or_none), reverse=True)
    differ = not _are_few(named[1:], present.n_present, MOST_OF_OTHER_UNIT)
    return counts if differ and 2 * counts.total() > present.n_present else Counter()


def _no_words(cells: Any, values: Array) -> Counter[str]:
    """Count the cells with the word 'nan', which is a number for a parser."""
    words = cells.words if isinstance(cells, CodedCells) else cells
    count = int(np.isnan(values).sum())
    absent = cells.count(cells.is_missing(())) if words is not cells else words.null_count
    if count == absent:
        return Counter()
    empty = cells.expand(cells.is_missing(())) if words is not cells else _is_null(cells)
    first = int(np.argmax(np.isnan(values) & ~empty))
    return Counter({word_at(cells, first): count - absent})


def _is_null(cells: Any) -> Array:
    mask = pc.is_null(cells)
    return np.asarray(mask.to_numpy() if isinstance(mask, pa.ChunkedArray) else mask)


def read_as(
    cells: Any, written: CellFormat, missing: tuple[str, ...]
) -> tuple[Array, Array | None]:
    """Read cells in a known format. Return the values, and a mask of the cells that do not fit.

    The unit or currency sign of the format may be missing, unless the format needs it.

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
        read = numbers_of if written.needs_sign else numbers_with_or_without_unit
        values, others = read(present.words, written)
    return coded.expand(values), coded.expand(others) if others.any() else None


def words_seen(cells: Any, written: CellFormat, missing: tuple[str, ...]) -> dict[str, Any]:
    """Return what else a column in a known format contains: values of fields of `Inferred`.

    >>> import pyarrow as pa
    >>> words_seen(pa.array(["7", "n/a"]), PLAIN, MISSING_WORDS)["missing"]
    Counter({'n/a': 1})
    """
    if written.kind == "text":
        return {}
    coded = CodedCells.of(cells)
    read = tuple(word for word in missing if word not in written.categories)
    found: dict[str, Any] = {"missing": count_words(coded, read)}
    if written.kind == "categories":
        found["trimmed"] = count_trimmed(coded.without(coded.is_missing(read)))
    if written.categories:
        words = count_words(coded, written.categories)
        found["kept"] = Counter[str]()
        for word, count in words.items():
            found["kept"][word.lower()] += count
    if written.kind == "numbers" and written.is_plain:
        found["zeros"] = have_leading_zeros(coded.words)
    return found


def labels_of(cells: Any, found: Inferred, missing: tuple[str, ...]) -> Array:
    """Read the cells of the label column. Words such as 'none' and '-' are classes."""
    if found.format.kind == "numbers" and not found.format.date and found.others is None:
        return found.values
    always = ABSENT if missing == MISSING_WORDS else missing
    return read_as(cells, CellFormat("categories"), always)[0]


def _words(cells: CodedCells, missing: tuple[str, ...]) -> Inferred:
    """Read cells as text, as an identifier or as categories."""
    present = cells.without(cells.is_missing(missing))
    if looks_like_text(present.expand(_objects(present))[:_LOOKED_AT]):
        return Inferred(CellFormat("text"), _objects(cells))  # a document may be the word 'null'
    found = _categories(cells, missing)
    n_present = present.n_present
    if n_present < LEAST_ROWS or _count_different(present) < LEAST_DIFFERENT * n_present:
        return found
    return _left_out(found, present)


def _without_many(found: Inferred, present: CodedCells) -> Inferred:
    """Leave a column that looks like numbers or dates out if it has too many categories.

    One-hot encoding would hide what such a column says.
    """
    return _left_out(found, present) if _count_different(present) > CODES else found


def _left_out(found: Inferred, present: CodedCells) -> Inferred:
    return replace(found, different=_count_different(present), present=present.n_present)


def _count_different(present: CodedCells) -> int:
    return int((present.counts[present.words.is_valid().to_numpy(False)] > 0).sum())


def _categories(cells: CodedCells, missing: tuple[str, ...]) -> Inferred:
    kept = frequent_words(cells, missing)
    written = CellFormat("categories", categories=tuple(sorted(kept)))
    others = tuple(word for word in missing if word not in kept)
    present = cells.without(cells.is_missing(others))
    missing_words = count_words(cells, others)
    trimmed = count_trimmed(present)
    return Inferred(written, _objects(present), kept=kept, missing=missing_words, trimmed=trimmed)


def _objects(cells: CodedCells) -> Array:
    words = cells.words.to_pylist()
    return np.fromiter(words, dtype=object, count=len(words))


def _most_others(found: Inferred) -> float:
    """Return the share of cells that may be no numbers."""
    different = len(np.unique(found.values[~np.isnan(found.values)]))
    if not found.format.date and different <= CODES:
        return MOST_OTHERS_OF_CODES
    assert found.others is not None
    return MOST_OTHERS_OF_FEW_WORDS if found.others.sum() <= FEW_WORDS else MOST_OTHERS
