"""Choose the way of writing numbers that fits the cells of a column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import MIXED, CellFormat
from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.cells.number_cells import PLAIN, has_thousands, numbers_of
from separatrix.readers.cells.unit_cells import common_units

_DECIMALS = {"decimal-point": ".", "decimal-comma": ","}  # as the user gives them
_NEGATIVE = r"^[^\d]*[(\x{2212}]"  # unusual ways of writing a minus sign


def choose_numbers(
    present: CodedCells, *, given: bool, how: str, comma_first: bool
) -> Inferred | None:
    """Read cells in the way of writing numbers that fits most; None if it fits less than half.

    With `given`, the user says that they are numbers: any share of numbers is enough, and a unit
    may be left out. `how` is "decimal-point", "decimal-comma" or empty.
    """
    sample = present.sample()
    read = numbers_with_or_without_unit if given else numbers_of
    best: Inferred | None = None
    fewest = present.n_present if given else present.n_present // 2 + 1
    comma_first = comma_first and not has_thousands(present.words, ",")
    for written in number_formats(sample, comma_first):
        if how and written.decimal != _DECIMALS[how]:
            continue
        if not given and numbers_of(sample, written)[1].mean() > 0.5:
            continue
        values, others = read(present.words, written)
        count = present.count(others)
        if count < fewest:
            best, fewest = Inferred(written, values, others), count
        if not count:
            break
    if best is None:
        return None
    return replace(best, example=example_of(present.words, best))


def number_formats(sample: Any, comma_first: bool) -> Iterator[CellFormat]:
    """Yield the ways of writing numbers that may fit, in order of preference."""
    commas = [CellFormat(decimal=","), CellFormat(group=",")]
    plain = [PLAIN, *(commas if comma_first else commas[::-1])]
    grouped = [
        CellFormat(decimal=",", group="."),
        CellFormat(group=" "),
        CellFormat(decimal=",", group=" "),
        CellFormat(group="'"),
        CellFormat(decimal=MIXED),
    ]
    for sign in ["", *common_units(sample)]:
        for written in [*plain, *grouped]:
            yield replace(written, sign=sign)


def numbers_with_or_without_unit(words: Any, written: CellFormat) -> tuple[Array, Array]:
    """Return trimmed cells as numbers, and a mask of the others; the unit may be missing."""
    values, others = numbers_of(words, written)
    if written.sign and others.any():
        unsigned, no_numbers = numbers_of(words, replace(written, sign=""))
        values = np.where(others, unsigned, values)
        others = others & no_numbers
    return values, others


def mixes_decimals(present: CodedCells) -> bool:
    """Return whether most cells are numbers, some with a decimal point and some with a comma."""
    sample = present.sample()
    numbers = pc.match_substring_regex(sample, r"^[^\d\s]{0,3}\s*\d[\d.,' ]*[^\d\s]{0,3}$")
    points = pc.match_substring_regex(sample, r"\.\d+\D*$")
    commas = pc.match_substring_regex(sample, r",\d+\D*$")
    whole = 2 * pc.sum(numbers).as_py() > len(sample) if len(sample) else False
    return whole and bool(pc.any(points).as_py()) and bool(pc.any(commas).as_py())


def example_of(words: Any, found: Inferred) -> str:
    """Describe how the first number in an unusual form is read; "" if there is none."""
    written = found.format
    decimal = "" if written.decimal in (".", MIXED) else written.decimal
    patterns = [
        r"\d\s\d" if sign == " " else re.escape(sign)
        for sign in (written.group, decimal, written.sign)
        if sign
    ]
    shown: list[str] = []
    for pattern in patterns:
        shown = _read_as(words, found.values, pattern, written.sign)
        if shown:
            break
    shown += [each for each in _read_as(words, found.values, _NEGATIVE, "") if each not in shown]
    return " and ".join(shown)


def _read_as(words: Any, values: Array, pattern: str, unit: str) -> list[str]:
    """Return how the first number that matches a pattern is read; [] if there is none."""
    has = pc.fill_null(pc.match_substring_regex(words, pattern), False)
    places = np.flatnonzero(has.to_numpy(zero_copy_only=False) & ~np.isnan(values))
    if not len(places):
        return []
    place = int(places[0])
    named = f", in {unit!r}" if unit[:1].isalpha() or unit[:1] == "°" else ""
    return [f"{words[place].as_py()!r} is read as {values[place]:.15g}{named}"]
