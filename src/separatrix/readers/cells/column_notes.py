"""Describe in sentences what is particular about the values of the columns of a table."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import first_names
from separatrix.readers.cells.inference import LEAST_ROWS
from separatrix.readers.columns import Columns

_DIGITS = 7  # shorter numbers are often quantities
_LOOKED_AT = 1000  # values that are examined first, because they decide about most columns


def describe_columns(table: Columns, given: Collection[str]) -> list[str]:
    """Return a sentence for everything that a user should know about the values of the columns.

    The types of the columns in `given` were not detected. What is counted is in `TableCounts`.

    >>> describe_columns(Columns({"id": list(range(30))}), given=[])[0]
    "Column 'id' counts the rows, and is read as numbers. If it identifies the rows, leave it out \
with types={'id': 'drop'}."
    """
    known = set(given)
    detected = [name for name in table if name not in known]
    notes = []
    if texts := [name for name in detected if table.kind(name) == "text"]:
        notes.append(f"Read as text (many words, few repeated values): {first_names(texts)}.")
    for name in detected:
        if table.formats is not None and table.formats.of(name).date:
            continue
        if why := _why_identifier(table[name]):
            notes.append(_describe_identifier(name, why))
    return notes


def _describe_identifier(name: str, why: str) -> str:
    return Message(
        "Column {name!r} {why}, and is read as numbers. If it identifies the rows, leave it out "
        "with {types}.",
        name=name,
        why=why,
        types=Parameter("types", {name: "drop"}),
    )


def _why_identifier(values: Array) -> str:
    """Say why whole numbers may identify the rows; "" for other values."""
    if values.dtype == object or len(values) < LEAST_ROWS:
        return ""
    if not (_are_whole(values[:_LOOKED_AT]) and _are_whole(values)):
        return ""
    if (np.diff(values) == 1).all():
        return "counts the rows"
    smallest, largest = values.min(), values.max()
    n_digits = len(str(int(largest)))
    same_length = smallest > 0 and len(str(int(smallest))) == n_digits
    if n_digits < _DIGITS or not same_length or len(np.unique(values)) < len(values):
        return ""
    return f"holds different whole numbers of {n_digits} digits"


def _are_whole(values: Array) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())
