"""Describe in sentences how the columns of a table were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.readers.cells.cell_counts import (
    LEADING_ZERO,
    REMARKS,
    Place,
    examples_of,
    limited,
    quoted,
)
from separatrix.readers.cells.cell_format import MIXED, CellFormat
from separatrix.readers.cells.coded_cells import matching_rows
from separatrix.readers.cells.date_cells import date_note
from separatrix.readers.cells.inferred import Inferred
from separatrix.text import counted, listed

_COLUMNS = 20  # number of columns in a sentence
_REASONS = 3  # number of columns in an error
_POINT, _COMMA = r"\d\.\d+\D*$", r"\d,\d+\D*$"


def describe_decisions(
    found: Mapping[str, Inferred], cells: Mapping[str, Any], place: Place
) -> list[str]:
    """Return a sentence for every decision about columns. `place` says where a row is.

    What happened to single cells is in `TableCounts`.
    """
    remarks = {
        name: [*_remarks(_Cells(name, each, cells[name], place))]
        for name, each in found.items()
        if name in cells
    }
    return [*_number_notes(found), *_date_notes(found), *limited(remarks)]


def describe_identifiers(
    found: Mapping[str, Inferred], cells: Mapping[str, Any], place: Place
) -> list[str]:
    """Describe the columns that are left out because they identify rows."""
    notes: list[str] = []
    for name, each in [*found.items()][:REMARKS]:
        if each.doubt and name in cells:
            notes.append(_doubt(_Cells(name, each, cells[name], place)))
            continue
        notes.append(
            Message(
                "Left out the column {name!r}: {different:,} of its {present:,} values are "
                "different, as in an identifier. To keep it, give {types}.",
                name=name,
                different=each.different,
                present=each.present,
                types=Parameter("types", {name: "category"}),
            )
        )
    if len(found) > REMARKS:
        more = listed(map(repr, [*found][REMARKS:]))
        notes.append(f"Left out other columns for the same reason: {more}.")
    return notes


def no_features(where: str, left_out: list[str]) -> Message:
    """Return the error for a table whose columns are all left out, for the given reasons."""
    shown = {f"reason{k}": sentence for k, sentence in enumerate(left_out[:_REASONS])}
    more = len(left_out) - len(shown)
    rest = f" {counted(more, 'more column')} cannot be read either." if more else ""
    template = " ".join(["{where} has no features.", *(f"{{{name}}}" for name in shown)])
    return Message(f"{template}{rest}", where=where, **shown)


@dataclass(frozen=True)
class _Cells:
    """The cells of a column as they are written, with what was decided about them."""

    name: str
    found: Inferred
    cells: Any
    place: Place

    def first_matching(self, pattern: str) -> str:
        """Return the first cell that matches a pattern, with its place."""
        return quoted(self.cells, int(np.argmax(matching_rows(self.cells, pattern))), self.place)


def _number_notes(found: Mapping[str, Inferred]) -> list[str]:
    """Describe unusual ways of writing numbers, one sentence each."""
    groups: dict[tuple[CellFormat, bool], list[str]] = {}
    for name, each in found.items():
        written = each.format
        if each.example:
            form = CellFormat(decimal=written.decimal, group=written.group, sign=written.sign)
            groups.setdefault((form, " and " in each.example), []).append(name)
    return [f"{_columns(names)}: {found[names[0]].example}." for names in groups.values()]


def _date_notes(found: Mapping[str, Inferred]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name, each in found.items():
        if each.format.date:
            why = f" ({each.reason})" if each.reason else ""
            groups.setdefault(f"{date_note(each.format)}{why}", []).append(name)
    return [f"{_columns(names)}: {how}." for how, names in groups.items()]


def _columns(names: list[str]) -> str:
    return f"Column{'s' if len(names) > 1 else ''} {listed(map(repr, names), _COLUMNS)}"


def _remarks(cells: _Cells) -> Iterable[str]:
    """Describe what is particular about one column."""
    if cells.found.doubt:
        yield _doubt(cells)
    if cells.found.format.decimal == MIXED:
        yield (
            f"Column {cells.name!r}: some numbers have a decimal point "
            f"({cells.first_matching(_POINT)}) and others a decimal comma "
            f"({cells.first_matching(_COMMA)}); both are read as decimal signs."
        )


def _doubt(cells: _Cells) -> str:
    """Describe why a column that looks like numbers or dates is not read as such."""
    found, name = cells.found, cells.name
    kind = "text" if found.format.kind == "text" else "categories"
    outcome = f"read as {kind}"
    if found.different:
        outcome = f"left out ({found.different:,} of its {found.present:,} values are different)"
    values: dict[str, Any] = {"name": name, "outcome": outcome}
    match found.doubt:
        case "order":
            values["example"] = cells.first_matching(r"\d")
            sentence = (
                "Column {name!r}: the dates can be day-month-year or month-day-year ({example}), "
                "so the column is {outcome}. To read them as dates, give {one} or {other}."
            )
            remedies = ("date:day-first", "date:month-first")
        case "units":
            values["units"] = ", ".join(
                f"{unit!r} {count:,}" if unit else f"none {count:,}"
                for unit, count in found.units.most_common()
            )
            sentence = (
                "Column {name!r}: the numbers have different units ({units}), so the column is "
                "{outcome}. Write all of them in one unit, or give {one}: cells without a unit are "
                "then in the most frequent unit, and cells in other units are missing values."
            )
            remedies = ("number", "")
        case "decimals":
            values["point"] = cells.first_matching(_POINT)
            values["comma"] = cells.first_matching(_COMMA)
            sentence = (
                "Column {name!r}: some numbers have a point ({point}) and others a comma "
                "({comma}) before their last digits, so the column is {outcome}. Write all of them "
                "in one way, or give {one} or {other}: the others are then missing values."
            )
            remedies = ("number:decimal-point", "number:decimal-comma")
        case "zeros":
            values["example"] = cells.first_matching(LEADING_ZERO)
            sentence = (
                "Column {name!r}: all numbers have the same number of digits, some with a leading "
                "zero ({example}), so they are codes and not numbers, and the column is {outcome}. "
                "To read them as numbers, give {one}."
            )
            remedies = ("number", "")
        case _:
            assert found.others is not None
            count = int(found.others.sum())
            values |= {
                "count": count,
                "total": round(count / found.share),
                "examples": examples_of(cells.cells, found.others, cells.place),
                "things": f"{found.reason}s",
            }
            sentence = (
                "Column {name!r}: {count:,} of {total:,} cells are not {things} ({examples}), so "
                "the column is {outcome}. To treat them as missing, give {one}."
            )
            remedies = (found.reason, "")
    if found.different and found.format.kind == "categories":
        sentence += " To keep it as categories, give {kept}."
        values["kept"] = Parameter("types", {name: "category"})
    values["one"], values["other"] = (Parameter("types", {name: each}) for each in remedies)
    return Message(sentence, **values)
