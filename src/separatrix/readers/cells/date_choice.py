"""Choose the order of day, month and year that fits the cells of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import DATE_ORDERS, CellFormat
from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.cells.date_cells import (
    ORDER_NAMES,
    has_short_years,
    in_unit,
    seconds_of,
    seconds_of_word,
    unit_of,
)
from separatrix.readers.cells.inferred import Inferred

_EXCLUDED = {"day-first": "mdy", "month-first": "dmy"}  # by the order that the user gives
_RIVALS = {"dmy": "mdy", "mdy": "dmy"}


def choose_dates(present: CodedCells, *, given: bool, how: str) -> Inferred | None:
    """Read cells as the dates or times of day that fit most; None if few are.

    `given` says that the user gave this type, and `how` is "day-first", "month-first" or empty. If
    two orders fit as well, the result has the doubt "order".
    """
    sample = present.sample()
    found = []
    for order in DATE_ORDERS:
        if order == _EXCLUDED.get(how):
            continue
        if not given and seconds_of(sample, order)[1].mean() > 0.5:
            continue
        seconds, others = seconds_of(present.words, order)
        if (count := present.count(others)) < present.n_present:
            found.append((count, order, seconds, others))
        if not count and order == "ymd":  # the year comes first in every order
            break
    if not found:
        return None
    count, order, seconds, others = min(found, key=lambda each: each[0])
    rivals = [each[2] for each in found if each[0] == count and each[1] != order]
    ambiguous = any(not np.array_equal(rival, seconds, equal_nan=True) for rival in rivals)
    reason = ""
    if order in _RIVALS and how:
        reason = "the order that was given"
    elif ambiguous and pc.all(pc.match_substring_regex(present.words, r"^\d+\.")).as_py():
        ambiguous = False
        reason = "with full stops the day comes first"
    elif order in _RIVALS and not ambiguous:
        reason = _evidence(present.words, order, others)
    if order in _RIVALS and has_short_years(present.words):
        century = "years of two digits are 1969 to 2068"
        reason = f"{reason}; {century}" if reason else century
    unit = unit_of(seconds, order)
    return Inferred(
        CellFormat(date=order, unit=unit),
        in_unit(seconds, unit),
        others,
        doubt="order" if ambiguous else "",
        reason=reason,
    )


def _evidence(words: Any, order: str, others: Array) -> str:
    """Name a date that is possible only in this order, and if dates are mixed, the other ones."""
    rival = _RIVALS[order]
    shown = _first(words, order, lambda cell: seconds_of_word(cell, rival) is None)
    if not shown:
        return ""
    odd = _first(words.filter(pa.array(others)), rival, lambda _: True)
    if not odd:
        return f"{shown!r} shows the order"
    either = _first(words, order, lambda cell: seconds_of_word(cell, rival) is not None)
    unclear = f"; {either!r}, which could be either, is read in this order" if either else ""
    return f"most, such as {shown!r}, are; {odd!r} is {ORDER_NAMES[rival]}{unclear}"


def _first(words: Any, order: str, test: Callable[[str], bool]) -> str:
    """Return the first date in an order that passes a test; "" if there is none."""
    cells = (cell for word in words if (cell := word.as_py()))
    dates = (cell for cell in cells if seconds_of_word(cell, order) is not None)
    return next(filter(test, dates), "")
