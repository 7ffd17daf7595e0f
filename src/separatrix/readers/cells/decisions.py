"""Describe in sentences how the columns of a table were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import MIXED, CellFormat
from separatrix.readers.cells.coded_cells import equal_rows, matching_rows, word_at
from separatrix.readers.cells.date_cells import ORDER_NAMES, date_note, date_words
from separatrix.readers.cells.inferred import Inferred
from separatrix.text import counted, listed

MOST_OTHERS = 0.1  # larger shares of cells that are treated as missing come with a remedy
_COLUMNS = 20  # number of columns in a sentence
_REMARKS = 50  # number of columns with sentences of their own
_REASONS = 3  # number of columns in an error
_WORDS = 12  # number of different cells in a sentence
_SHOWN = 40  # characters of a cell
_POINT, _COMMA = r"\d\.\d+\D*$", r"\d,\d+\D*$"
_LEADING_ZERO = r"^\s*0\d[\d.]*\s*$"

Place = Callable[[int], str]


def describe_decisions(
    found: Mapping[str, Inferred], cells: Mapping[str, Any], place: Place
) -> list[str]:
    """Return a sentence for every decision about columns. `place` says where a row is."""
    notes = [*_number_notes(found), *_date_notes(found)]
    several = []
    for name, each in found.items():
        if name in cells and (remarks := [*_remarks(_Cells(name, each, cells[name], place))]):
            several.append((name, remarks))
    for _, remarks in several[:_REMARKS]:
        notes += remarks
    if len(several) > _REMARKS:
        more = listed(repr(name) for name, _ in several[_REMARKS:])
        notes.append(f"Other columns were read with decisions of these kinds: {more}.")
    return notes


def describe_others(name: str, found: Inferred, cells: Any, place: Place) -> str:
    """Describe the cells of a column of numbers that are treated as missing."""
    assert found.others is not None
    count = int(found.others.sum())
    named = f" in {found.format.sign!r}" if found.format.sign else ""
    thing = f"numbers{named}"
    if found.format.date:
        thing = date_words(found.format).partition(" (")[0]
    if found.format.date in ("dmy", "mdy"):
        thing += f" in the order {ORDER_NAMES[found.format.date]}"
    if count == 1:
        thing = "a " + thing.replace("times", "time").replace("numbers", "number").replace(
            "dates", "date"
        )
    are = "cell is not" if count == 1 else "cells are not"
    examples = _Cells(name, found, cells, place).examples(found.others)
    sentence = f"Column {name!r}: {count:,} {are} {thing} ({examples}); treated as missing."
    if found.share <= MOST_OTHERS:
        return sentence
    category = Parameter("types", {name: "category"})
    return Message(
        "{sentence} To read the column as categories, give {category}.",
        sentence=sentence,
        category=category,
    )


def describe_identifiers(
    found: Mapping[str, Inferred], cells: Mapping[str, Any], place: Place
) -> list[str]:
    """Describe the columns that are left out because they identify rows."""
    notes: list[str] = []
    for name, each in [*found.items()][:_REMARKS]:
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
    if len(found) > _REMARKS:
        more = listed(map(repr, [*found][_REMARKS:]))
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

    def first(self, mask: Array) -> str:
        """Return the first cell of a mask with its place."""
        row = int(np.argmax(mask))
        return f"{word_at(self.cells, row)[:_SHOWN]!r}, {self.place(row)}"

    def first_matching(self, pattern: str) -> str:
        """Return the first cell that matches a pattern, with its place."""
        return self.first(matching_rows(self.cells, pattern))

    def examples(self, mask: Array) -> str:
        """Return the different cells of a mask, each with the place where it occurs first."""
        rows: dict[str, int] = {}
        for row in np.flatnonzero(mask).tolist():
            rows.setdefault(word_at(self.cells, row), row)
            if len(rows) > _WORDS:
                break
        shown = [f"{word[:_SHOWN]!r}, {self.place(row)}" for word, row in [*rows.items()][:_WORDS]]
        return "; ".join(shown) + ("; and others" if len(rows) > _WORDS else "")


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
    found = cells.found
    if found.doubt:
        yield _doubt(cells)
    elif found.others is not None:
        yield describe_others(cells.name, found, cells.cells, cells.place)
    if found.format.decimal == MIXED:
        yield (
            f"Column {cells.name!r}: some numbers have a decimal point "
            f"({cells.first_matching(_POINT)}) and others a decimal comma "
            f"({cells.first_matching(_COMMA)}); both are read as decimal signs."
        )
    if found.zeros:
        yield Message(
            "Column {name!r}: some numbers have leading zeros ({example}), which are lost. If they "
            "are codes, give {types}.",
            name=cells.name,
            example=cells.first_matching(_LEADING_ZERO),
            types=Parameter("types", {cells.name: "category"}),
        )
    if found.kept:
        words = ", ".join(
            f"{word!r} ({counted(n, 'cell')})" for word, n in found.kept.most_common()
        )
        yield f"Column {cells.name!r}: {words} is read as a category, not as a missing value."
    if found.missing:
        yield _missing_words(cells)


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
            values["example"] = cells.first_matching(_LEADING_ZERO)
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
                "examples": cells.examples(found.others),
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


def _missing_words(cells: _Cells) -> str:
    """Describe the words of a column that are read as missing values."""
    words = cells.found.missing.most_common()
    total = sum(count for _, count in words)
    shown = []
    for word, count in words[:_WORDS]:
        first = int(np.argmax(equal_rows(cells.cells, word)))
        where = cells.place(first)
        shown.append(
            f"{word!r}, {where}" if count == 1 else f"{word!r}, {count:,} cells, first on {where}"
        )
    if len(words) > _WORDS:
        shown.append(f"and {counted(len(words) - _WORDS, 'other word')}")
    are = "1 cell is" if total == 1 else f"{total:,} cells are"
    return f"Column {cells.name!r}: {are} read as missing ({'; '.join(shown)})."
