"""Find the units and currency signs of numbers: 136 cm, 12kg, 5 %, $3, USD 40."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import LONGEST_UNIT

BLANKS = r" \x{00A0}\x{2009}\x{202F}"

_CODES = (
    *("AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "INR", "JPY"),
    *("KRW", "MXN", "NOK", "NZD", "PLN", "RUB", "SEK", "SGD", "TRY", "USD", "ZAR"),
)
CURRENCY = rf"(?:\p{{Sc}}|{'|'.join(_CODES)})"
_LETTER = r"\p{L}°%‰′″\p{Sc}"
_UNIT = (
    rf"(?:[{_LETTER}](?:[{_LETTER}\p{{M}}²³/^·*.' -]*[{_LETTER}\p{{M}}²³.])?"
    r"|(?:[cdkm]?m|ft|in|yd)\^?[23])"
)
_NUMBER = rf"(?:\d[\d.,'{BLANKS}]*|[.,]\d+)"
_WITH_UNIT = (
    rf"^[+-]?\s*(?P<before>{CURRENCY})?\s*[+-]?{_NUMBER}(?:[eE][+-]?\d+)?\s*(?P<after>{_UNIT})?$"
)
_LOOKS = (
    r"\d[^\d]*[^\d\s.,'+-][23]?$|^[+-]?[^\d\s]{1,3}\s?[\d(+-]"  # quick: most columns have no unit
)
_NO_UNITS = frozenset(["am", "pm", "a.m.", "p.m.", "st", "nd", "rd", "th"])  # times, ordinals
_MOST_UNITS = 5  # more different units are words


def units_of(words: Any) -> Array:
    """Return the unit of each cell: "" for a plain number, None for a cell that is no number.

    >>> units_of(pa.array(["136 cm", "$3", "-7", "about 5", None])).tolist()
    ['cm', '$', '', None, None]
    """
    found = pc.extract_regex(words, pattern=_WITH_UNIT)
    before, after = (pc.struct_field(found, name) for name in ("before", "after"))
    units = pc.if_else(pc.equal(before, ""), after, before)
    return np.array(units.to_pylist(), dtype=object)


def common_units(words: Any, most: int = 3) -> list[str]:
    """Return the units that occur with numbers, the most frequent first.

    >>> common_units(pa.array(["1 m", "20 cm", "30 cm", "7 pm"]))
    ['cm', 'm']
    """
    if not pc.any(pc.match_substring_regex(words, _LOOKS)).as_py():
        return []
    counts = Counter(unit for unit in units_of(words).tolist() if unit and _is_unit(unit))
    return [unit for unit, _ in counts.most_common(most)]


def count_units(words: Any, counts: Array) -> Counter[str]:
    """Count the rows with each unit, from the different cells and how many rows have each.

    The result is empty if the cells have many different units, as codes have.

    >>> count_units(pa.array(["1 m", "20 cm", "7"]), np.array([5, 2, 1]))
    Counter({'m': 5, 'cm': 2, '': 1})
    """
    found: Counter[str] = Counter()
    for unit, count in zip(units_of(words).tolist(), counts.tolist()):
        if unit is not None and count and (not unit or _is_unit(unit)):
            found[unit] += count
    return found if len(found) <= _MOST_UNITS else Counter()


def is_currency(sign: str) -> bool:
    """Return whether a sign is that of a currency, which may stand before a number.

    >>> is_currency("€"), is_currency("USD"), is_currency("cm")
    (True, True, False)
    """
    return bool(pc.match_substring_regex(pa.array([sign]), rf"^{CURRENCY}$")[0].as_py())


def _is_unit(unit: str) -> bool:
    return len(unit) <= LONGEST_UNIT and unit.lower() not in _NO_UNITS
