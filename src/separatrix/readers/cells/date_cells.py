"""Read cells as dates (ISO 8601, or day, month and year in one of two orders) or times of day.

A month may be an English name, and is read as its first day in a cell such as 2024-05. Years of two
digits are those from 1969 to 2068.

Dates become days since 1970-01-01; if some have a time, all become seconds since then (UTC). Times
of day, with 24 or with 12 hours (am and pm), become seconds since midnight.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat

ORIGIN = "1970-01-01"
ORDER_NAMES = {
    "ymd": "year-month-day",
    "dmy": "day-month-year",
    "mdy": "month-day-year",
    "24h": "24 hours",
    "12h": "12 hours, am and pm",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400.0
_TIME = (
    r"(?:[T ]\s?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<part>\.\d{1,9})?)?"
    r"\s?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?:(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
    + _TIME
    + r"|-(?P<only_month>\d{2}))",
    re.ASCII,
)
_YEAR_LAST = re.compile(
    r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4})" + _TIME, re.ASCII
)
_SHORT_YEAR = re.compile(
    r"(?P<start>\d{1,2}/\d{1,2}/|\d{2}\.\d{2}\.|\d{1,2}[- /.]*[a-z]{3,9}[- /.]+)"
    r"(?P<year>\d{2})(?![\d.])",
    re.ASCII | re.IGNORECASE,
)
_LATEST_YEAR = 68  # of this century, as in POSIX
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH_NUMBERS = {
    name: month for month, full in enumerate(_MONTHS, 1) for name in (full, full[:3])
} | {"sept": 9}
_NAMED_MONTH = {
    "dmy": re.compile(r"(?P<day>\d{1,2})[- /.]*(?P<month>[a-z]{3,9})[- /.,]+(?P<year>\d{4})", re.I),
    "mdy": re.compile(r"(?P<month>[a-z]{3,9})[- /.]*(?P<day>\d{1,2})[- /.,]+(?P<year>\d{4})", re.I),
}
_TIMES = {
    "24h": re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?()", re.ASCII),
    "12h": re.compile(
        r"(\d{1,2})(?::(\d{2})(?::(\d{2})(\.\d{1,9})?)?)?\s?([ap])\.?m\.?",
        re.ASCII | re.IGNORECASE,
    ),
}
_NAME = rf"(?i:{'|'.join(name[:3] for name in _MONTHS)})"
_SHAPES = {  # quick: most columns have no such cell
    "dmy": rf"^(?:\d{{1,2}}|\d{{4}})[-/.]\d|^\d{{1,2}}[- /.]*{_NAME}",
    "mdy": rf"^(?:\d{{1,2}}|\d{{4}})[-/.]\d|^{_NAME}[a-zA-Z]*[- /.]*\d",
    "24h": r"^\d{1,2}:",
    "12h": r"^\d.*[mM]\.?$",
}


def seconds_of(words: Any, order: str) -> tuple[Array, Array]:
    """Return trimmed cells as seconds since the origin, and a mask of those that are not dates.

    Times of day are seconds since midnight.

    >>> seconds_of(pa.array(["2/1/1970", None, "soon"]), "dmy")
    (array([86400.,    nan,    nan]), array([False, False,  True]))
    >>> seconds_of(pa.array(["7:35 pm"]), "12h")
    (array([70500.]), array([False]))
    """
    if order == "ymd":
        try:
            ticks = pc.cast(pc.cast(words, pa.timestamp("us")), pa.int64())
            values = pc.cast(ticks, pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6
            return values, np.zeros(len(values), dtype=bool)
        except pa.ArrowInvalid:  # dates of another form are among them
            pass
    shape = _SHAPES.get(order)
    if shape and not pc.any(pc.match_substring_regex(words, shape)).as_py():
        return np.full(len(words), np.nan), words.is_valid().to_numpy(zero_copy_only=False)
    found = [None if word is None else seconds_of_word(word, order) for word in words.to_pylist()]
    values = np.array([np.nan if value is None else value for value in found])
    return values, np.isnan(values) & words.is_valid().to_numpy(zero_copy_only=False)


def in_unit(seconds: Array, unit: str) -> Array:
    """Return seconds as seconds or days."""
    return seconds / _DAY if unit == "days" else seconds


def unit_of(seconds: Array, order: str) -> str:
    """Return "days" if all dates are without a time, else "seconds"."""
    if is_time(order):
        return "seconds"
    present = seconds[~np.isnan(seconds)]
    return "days" if (present % _DAY == 0).all() else "seconds"


def is_time(order: str) -> bool:
    """Return whether cells in this order are times of day."""
    return order in _TIMES


def date_words(written: CellFormat) -> str:
    """Name the cells in a format: dates or times of day, with their order.

    >>> date_words(CellFormat(date="dmy")), date_words(CellFormat(date="24h"))
    ('dates (day-month-year)', 'times of day (24 hours)')
    """
    things = "times of day" if is_time(written.date) else "dates"
    return f"{things} ({ORDER_NAMES[written.date]})"


def date_note(written: CellFormat) -> str:
    """Describe how dates are read."""
    since = "midnight" if is_time(written.date) else ORIGIN
    return f"{date_words(written)}, read as {written.unit} since {since}"


def seconds_of_word(word: str, order: str) -> float | None:
    """Return one date as seconds since the origin; None if it is not a date."""
    if is_time(order):
        return _seconds_since_midnight(word, order)
    found = _YEAR_FIRST.fullmatch(word)  # can be among dates in the other orders
    year_first = found is not None
    if order != "ymd" and not year_first:
        found = _YEAR_LAST.fullmatch(_in_digits(word, order))
    if found is None:
        return None
    parts = found.groupdict()
    if year_first:
        month, day = parts["month"] or parts["only_month"], parts["day"] or "1"
    else:
        day, month = (parts["a"], parts["b"]) if order == "dmy" else (parts["b"], parts["a"])
    zone, offset = parts["zone"], timedelta()
    if zone and zone != "Z":
        minutes = 60 * int(zone[1:3]) + int(zone[-2:])
        offset = timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    try:
        when = datetime(
            int(parts["year"]),
            int(month),
            int(day),
            int(parts["hour"] or 0),
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            tzinfo=UTC,
        )
        return (when - offset - _EPOCH).total_seconds() + float(parts["part"] or 0)
    except (ValueError, OverflowError):
        return None


def has_short_years(words: Any) -> bool:
    """Return whether the years of some dates have two digits only."""
    return any(_SHORT_YEAR.match(word) for word in words.to_pylist() if word is not None)


def _in_digits(word: str, order: str) -> str:
    """Return a date with the number of its month and a year of four digits.

    >>> _in_digits("5 Jan 99", "dmy"), _in_digits("March 1, 2024 7:30", "mdy")
    ('5/1/1999', '3/1/2024 7:30')
    """
    if short := _SHORT_YEAR.match(word):
        century = 2000 if int(short["year"]) <= _LATEST_YEAR else 1900
        word = f"{short['start']}{century + int(short['year'])}{word[short.end() :]}"
    named = _NAMED_MONTH[order].match(word)
    month = named and _MONTH_NUMBERS.get(named["month"].lower())
    if not (named and month):
        return word
    day_and_month = (named["day"], month) if order == "dmy" else (month, named["day"])
    return "/".join(map(str, (*day_and_month, named["year"]))) + word[named.end() :]


def _seconds_since_midnight(word: str, order: str) -> float | None:
    """Return a time of day in seconds; None if it is not one."""
    found = _TIMES[order].fullmatch(word)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    low, high = (0, 23) if order == "24h" else (1, 12)
    if not low <= hour <= high or minute > 59 or second > 59:
        return None
    if order == "12h":
        hour = hour % 12 + 12 * (found[5].lower() == "p")
    return 3600.0 * hour + 60.0 * minute + second + float(found[4] or 0)
