"""Name the columns of a file without a header so that they match those of a trained model.

The columns are identified by their order and by the kinds of their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from separatrix.readers.cells.cell_format import Kind
from separatrix.readers.cells.missing_words import MISSING_WORDS, is_missing_word
from separatrix.readers.delimited.dialect import is_value
from separatrix.readers.label_column import Label, Layout
from separatrix.text import listed

_NAMED = 5  # number of columns in a message
_SHOWN = 40  # characters of a field
_LOOKED_AT = 200  # number of rows that are examined to identify columns


def name_columns(
    names: list[str],
    values: Sequence[Sequence[str]],
    columns: Mapping[str, Kind],
    layout: Layout | None,
    label: Label,
) -> tuple[list[str], Label]:
    """Return the column names of a file without a header, and its label column.

    The columns must have the same order as in training, with or without the label. If instead there
    is one column more than the model knows, the other columns must match the model's kinds. Without
    a `layout`, the additional column is the label.
    """
    known = list(columns)
    orders = [known]
    if layout is not None:
        orders = [layout["names"], [n for n in layout["names"] if n != layout["label"]], known]
    for order in orders:
        if len(order) == len(names) and columns.keys() <= set(order):
            return order, label
    if len(names) != len(known) + 1 or isinstance(label, str):
        return names, label
    if not columns.keys() <= set(names):
        if label is None or isinstance(label, bool):
            fitting = _places_of_stranger(values, list(columns.values()))
            if not fitting or (layout is not None and len(fitting) > 1):
                return names, label
            at = fitting[-1]
        elif -len(names) <= label < len(names):
            at = range(len(names))[label]
        else:
            return names, label
        names = [*known[:at], names[at], *known[at:]]
    stranger = next(name for name in names if name not in columns)
    return names, stranger if label is None and layout is None else label


def require_no_other_header(
    path: Path, names: list[str], values: Sequence[Sequence[str]], columns: Mapping[str, Kind]
) -> None:
    """Raise if the first line looks like a header that contains no column name of the model."""
    first = [column[0].strip() for column in values]
    if any(name in columns for name in names):
        looked_at = [field for name, field in zip(names, first) if columns.get(name) == "numbers"]
    else:
        looked_at = [field for field in first if field]
    if not looked_at or any(map(_is_number, looked_at)):
        return
    shown = [field[:_SHOWN] for field in first]
    given, known = (listed(map(repr, some), _NAMED) for some in (shown, columns))
    raise ValueError(
        f"{path}, line 1: none of {given} is a column of the model. The columns of the model are "
        f"{known}. Rename the columns, or delete the line if the columns are in the same order."
    )


def _places_of_stranger(values: Sequence[Sequence[str]], kinds: Sequence[Kind]) -> list[int]:
    """Return the possible positions of the additional column.

    Without this column, every column of numbers must match the model, and the columns that the
    model reads as text must contain as many words as possible.
    """
    before = [_likeness(column, kind) for column, kind in zip(values, kinds)]
    after = [_likeness(column, kind) for column, kind in zip(values[1:], kinds)]
    head = list(accumulate(before, initial=0.0))
    tail = list(accumulate(reversed(after), initial=0.0))[::-1]
    likeness = [a + b for a, b in zip(head, tail)]
    best = max(likeness)
    return [at for at, found in enumerate(likeness) if found == best > -math.inf]


def _likeness(values: Sequence[str], kind: Kind) -> float:
    """Rate how well a column matches a kind: the number of words for text, -inf for no match."""
    looked_at = [value.strip() for value in values[:_LOOKED_AT]]
    if kind == "numbers":
        fits = all(map(_is_number, looked_at))
        return 0.0 if fits else -math.inf
    return sum(len(value.split()) for value in looked_at) if kind == "text" else 0.0


def _is_number(field: str) -> bool:
    """Return whether a field can be in a column of numbers or dates."""
    return is_missing_word(field, MISSING_WORDS) or is_value(field)
