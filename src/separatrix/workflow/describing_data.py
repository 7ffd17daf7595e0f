"""Description of a source as it is read: its size, the decisions of the reader, and its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.readers import Source
from separatrix.readers.columns import Columns, count_missing, to_words

_TYPES = {"numbers": "number", "categories": "category", "text": "text"}


def describe_source(source: Source) -> dict[str, Any]:
    """Return the size, the classes, the notes and the columns of a source as plain values.

    >>> frame = {"size": [1.0, 2.5, None], "kind": ["u", "v", "u"]}
    >>> source = Source.of(Columns(frame), np.array([0, 1, 0]), name="frame")
    >>> for column in describe_source(source)["columns"]:
    ...     print(*column.values())
    size number 2 1 1
    kind category 2 0 u
    """
    table = source.table
    return {
        "name": source.name,
        "rows": int(table.shape[0]),
        "features": int(table.shape[1]),
        "classes": [] if source.y is None else np.unique(source.y).tolist(),
        "notes": list(source.notes),
        "columns": _columns(table) if isinstance(table, Columns) else [],
    }


def _columns(table: Columns) -> list[dict[str, Any]]:
    return [
        {
            "column": name,
            "type": _type(table, name),
            "different": _count_different(table[name]),
            "missing": count_missing(table[name]),
            "first": next((word for word in to_words(table[name][:100]) if word is not None), None),
        }
        for name in table
    ]


def _type(table: Columns, name: str) -> str:
    """Return the type of a column as the option for types names it."""
    kind = table.kind(name)
    is_date = table.formats is not None and table.formats.of(name, kind).date
    return "date" if is_date else _TYPES[kind]


def _count_different(values: Array) -> int:
    if values.dtype == object:
        return len(set(values.tolist()) - {None})
    return len(np.unique(values[~np.isnan(values)]))
