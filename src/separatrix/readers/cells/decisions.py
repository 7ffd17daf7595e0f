"""Describe in sentences how the columns of a table were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.readers.cells.cell_format import CellFormat
from separatrix.readers.cells.coded_cells import word_at
from separatrix.readers.cells.date_cells import date_note
from separatrix.readers.cells.inference import Inferred
from separatrix.text import counted, listed

_NAMED = 5  # number of columns in a sentence
_SHOWN = 40  # characters of a cell

Place = Callable[[int], str]


def describe_decisions(
    found: Mapping[str, Inferred], cells: Mapping[str, Any], place: Place
) -> list[str]:
    """Return a sentence for every decision about columns. `place` says where a row is."""
    notes = [*_number_notes(found), *_date_notes(found)]
    remarks = [
        (name, remark)
        for name, each in found.items()
        if (remark := _remark(name, each, cells.get(name), place))
    ]
    notes += [remark for _, remark in remarks[:_NAMED]]
    if len(remarks) > _NAMED:
        more = listed((repr(name) for name, _ in remarks[_NAMED:]), 20)
        notes.append(f"The same was decided about other columns: {more}.")
    notes += _missing_notes(found.values())
    return notes


def describe_others(name: str, found: Inferred, cells: Any, place: Place) -> str:
    """Describe the cells of a column of numbers that are treated as missing."""
    count, example = _others(found, cells, place)
    things = "dates" if found.format.date else "numbers"
    are = f"cell is not a {things[:-1]}" if count == 1 else f"cells are not {things}"
    return f"Column {name!r}: {count:,} {are} ({example}); treated as missing."


def describe_identifiers(found: Mapping[str, Inferred]) -> list[str]:
    """Describe the columns that are left out because they identify rows."""
    notes: list[str] = []
    for name, each in [*found.items()][:_NAMED]:
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
    if len(found) > _NAMED:
        more = listed(map(repr, [*found][_NAMED:]), 20)
        notes.append(f"Left out other columns for the same reason: {more}.")
    return notes


def _number_notes(found: Mapping[str, Inferred]) -> list[str]:
    """Describe unusual ways of writing numbers, one sentence each."""
    groups: dict[CellFormat, list[str]] = {}
    for name, each in found.items():
        written = each.format
        if written.kind == "numbers" and not written.date and not written.is_plain:
            key = CellFormat(decimal=written.decimal, group=written.group, sign=written.sign)
            groups.setdefault(key, []).append(name)
    return [
        f"Column{'s' if len(names) > 1 else ''} {listed(map(repr, names), _NAMED)}: "
        f"{found[names[0]].example}."
        for names in groups.values()
    ]


def _date_notes(found: Mapping[str, Inferred]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name, each in found.items():
        if each.format.date:
            groups.setdefault(date_note(each.format), []).append(name)
    return [
        f"Column{'s' if len(names) > 1 else ''} {listed(map(repr, names), _NAMED)}: {how}."
        for how, names in groups.items()
    ]


def _remark(name: str, found: Inferred, cells: Any, place: Place) -> str:
    """Describe what is particular about one column; return "" for an ordinary one."""
    if found.ambiguous and cells is not None:
        example = next(value for value in found.values if value is not None)
        return (
            f"Column {name!r}: the dates can be day-month-year or month-day-year ({example!r}), so "
            "they are read as categories. Write them as year-month-day."
        )
    if found.as_words and cells is not None:
        count, example = _others(found, cells, place)
        kind = "text" if found.format.kind == "text" else "categories"
        return Message(
            "Column {name!r}: {count:,} of {total:,} cells are not numbers ({example}), so the "
            "column is read as {kind}. To treat them as missing, give {types}.",
            name=name,
            count=count,
            total=round(count / found.share),
            example=example,
            kind=kind,
            types=Parameter("types", {name: "number"}),
        )
    if found.others is not None and cells is not None:
        return describe_others(name, found, cells, place)
    if found.kept:
        words = ", ".join(
            f"{word!r} ({counted(n, 'cell')})" for word, n in found.kept.most_common()
        )
        return f"Column {name!r}: {words} is read as a category, not as a missing value."
    return ""


def _others(found: Inferred, cells: Any, place: Place) -> tuple[int, str]:
    """Return the number of cells that are not numbers, and the first of them with its place."""
    assert found.others is not None
    row = int(np.argmax(found.others))
    return int(found.others.sum()), f"{word_at(cells, row)[:_SHOWN]!r}, {place(row)}"


def _missing_notes(found: Iterable[Inferred]) -> list[str]:
    """Describe the words for missing values that a reader may not expect."""
    counts: Counter[str] = Counter()
    for each in found:
        counts += each.missing
    if not counts:
        return []
    words = listed((f"{word!r} ({counted(n, 'cell')})" for word, n in counts.most_common()), _NAMED)
    return [f"Read as missing values: {words}."]
