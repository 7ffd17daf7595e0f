"""A column of cells, and what was decided about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat

# Why a column that looks like numbers or dates is read as words.
Doubt: TypeAlias = Literal["", "others", "order", "units", "decimals", "zeros"]


@dataclass(frozen=True, eq=False)
class Inferred:
    """A column, and what was decided about it.

    Attributes
    ----------
    format, values : how the cells are read, and the result
    others : mask of the cells that are not numbers or dates; None if there are none
    share : share of the cells that `others` are, if the type was detected; otherwise 0
    doubt : why a column of numbers or dates is read as words

        - "others": too many cells are something else
        - "order": the dates can be day-month-year and month-day-year
        - "units": the numbers have different units
        - "decimals": some numbers have a decimal point and others a decimal comma
        - "zeros": codes of one length, some with a leading zero
    units : the units of the numbers, if they are different, and how often each occurs
    different, present : how many different values and how many values a column that is left out
        has; 0, 0 for other columns
    kept : words for missing values that are categories in this column, and how often they occur
    missing : words for missing values that were found, as they are written, and how often
    trimmed : categories that are equal to others without the spaces around them, as they are
        written, and how often they occur
    zeros : whether some numbers have leading zeros, which are lost
    example : how a number in an unusual form is read
    reason : why dates are read in this order; with a doubt, the type of most cells
    """

    format: CellFormat
    values: Array
    others: Array | None = None
    share: float = 0.0
    doubt: Doubt = ""
    units: Counter[str] = field(default_factory=Counter)
    different: int = 0
    present: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    trimmed: Counter[str] = field(default_factory=Counter)
    zeros: bool = False
    example: str = ""
    reason: str = ""
