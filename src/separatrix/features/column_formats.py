"""Read the strings of new rows as the columns of the training rows were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import ColumnCounts, describe_others
from separatrix.readers.cells.cell_format import Formats, Kind
from separatrix.readers.cells.coded_cells import cells_of
from separatrix.readers.cells.inference import read_as
from separatrix.readers.cells.number_cells import without_numbers
from separatrix.readers.columns import Columns
from separatrix.readers.label_column import place_by_row
from separatrix.readers.typed_columns import read_trained


def read_strings(
    table: Columns, kinds: Mapping[str, Kind], formats: Formats | None, notes: list[str]
) -> Columns:
    """Return the table with strings converted to numbers, dates and missing values.

    A table from a reader is in these formats already, except for columns of another kind.

    >>> formats = Formats()
    >>> table = Columns({"age": ["39", "n/a"]})
    >>> read_strings(table, {"age": "numbers"}, formats, [])["age"]
    array([39., nan])
    """
    changed: dict[str, Array] = {}
    for name, kind in kinds.items():
        if name not in table:
            continue
        if table[name].dtype != object:
            if formats is not None and table.formats is None:
                changed[name] = without_numbers(table[name], formats.missing)
        elif kind == "numbers":
            changed[name] = _numbers(name, table[name], formats, notes)
        elif kind == "categories" and formats is not None and table.formats is None:
            cells = cells_of(table[name])
            changed[name] = read_as(cells, formats.of(name, kind), formats.missing)[0]
    if not changed:
        return table
    columns: dict[str, Any] = {name: changed.get(name, table[name]) for name in table}
    text = [name for name in table if table.kind(name) == "text" and name not in changed]
    return Columns(columns, text=text, formats=table.formats)


def _numbers(name: str, values: Array, formats: Formats | None, notes: list[str]) -> Array:
    found = read_trained("", name, values, values, "numbers", formats)
    if found.others is not None:
        cells = cells_of(values)
        counts = ColumnCounts.of(found, cells, place_by_row, detected=False)
        notes.append(describe_others(name, counts))
    return found.values
