"""How the cells of a column are written. A model keeps the formats of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from separatrix.packing.schemas import (
    TRUTH,
    Schema,
    choice,
    dict_of,
    is_text,
    optional,
    record,
    validated,
)
from separatrix.readers.cells.missing_words import MISSING_WORDS

Kind: TypeAlias = Literal["numbers", "categories", "text"]

DATE_ORDERS = ("ymd", "dmy", "mdy", "24h", "12h")
MIXED = ".,"  # both a point and a comma are decimal signs
DECIMALS = (".", ",", MIXED)
GROUPS = ("", ",", ".", " ", "'")
LONGEST_UNIT = 24  # characters


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a column are written.

    Attributes
    ----------
    kind : numbers, categories or text; dates are numbers
    decimal, group : the decimal sign, and the sign between groups of three digits
    sign : a unit, currency or percent sign that is removed from every number
    date : order of day, month and year ("ymd", "dmy", "mdy"), or times of day ("24h", "12h");
        empty if the cells are neither
    unit : dates become "days" or "seconds" since 1970-01-01; times become "seconds" since midnight
    needs_sign : a number without the sign is a missing value, as in the training rows
    skips_others : cells that are not numbers or dates are missing values; otherwise an error
    categories : words for missing values that are categories in this column
    """

    kind: Kind = "numbers"
    decimal: str = "."
    group: str = ""
    sign: str = ""
    date: str = ""
    unit: str = "days"
    needs_sign: bool = False
    skips_others: bool = False
    categories: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as in Python."""
        return not self.date and (self.decimal, self.group, self.sign) == (".", "", "")


@dataclass(frozen=True)
class Formats:
    """The words for missing values, and the formats of the columns that have an unusual one.

    >>> formats = Formats(columns={"price": CellFormat(decimal=",")})
    >>> formats.of("price").decimal, formats.of("size").decimal
    (',', '.')
    """

    missing: tuple[str, ...] = MISSING_WORDS
    columns: Mapping[str, CellFormat] = field(default_factory=dict)

    def of(self, name: str, kind: Kind = "numbers") -> CellFormat:
        """Return the format of a column."""
        found = self.columns.get(name)
        return found if found is not None and found.kind == kind else CellFormat(kind)


_WORDS = Schema(
    list,
    lambda value, where: tuple(
        validated(
            "a list of text", lambda words: isinstance(words, list) and all(map(is_text, words))
        ).unpack(value, where)
    ),
)
_FORMAT = record(
    CellFormat,
    {
        "kind": choice("numbers", "categories", "text"),
        "decimal": choice(*DECIMALS),
        "group": choice(*GROUPS),
        "sign": validated(
            f"at most {LONGEST_UNIT} characters",
            lambda sign: is_text(sign) and len(sign) <= LONGEST_UNIT,
        ),
        "date": choice("", *DATE_ORDERS),
        "unit": choice("days", "seconds"),
        "needs_sign": TRUTH,
        "skips_others": TRUTH,
        "categories": _WORDS,
    },
    added=["needs_sign"],
).such_that(lambda found: found.group != found.decimal, "have different signs for its parts")
FORMATS: Schema = optional(record(Formats, {"missing": _WORDS, "columns": dict_of(_FORMAT)}))
