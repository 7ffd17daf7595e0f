"""Files without a header that are read for a model: which column is which.

A model knows its columns by name. Those of a file without names are told by their order and kinds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from separatrix.readers.columns import MISSING, Kind
from separatrix.readers.csv_dialect import is_number
from separatrix.readers.label_column import Label, Layout
from separatrix.text import listed

_NAMED = 5  # columns in a message
_LOOKED_AT = 200  # rows, to tell columns apart


def name_columns(
    names: list[str],
    values: Sequence[Sequence[str]],
    columns: Mapping[str, Kind],
    layout: Layout | None,
    label: Label,
) -> tuple[list[str], Label]:
    """The names of the columns of a file without a header, for a model, and which is the label.

    They lie as in training, with the label or without it. Else, if there is one column more than
    the model knows, the others must fit the kinds of its columns; without a `layout` that one is
    the label.
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
    """Raise if the first line looks like a header of other names than those of the model."""
    first = [column[0].strip() for column in values]
    numbers = [field for name, field in zip(names, first) if columns.get(name) == "numbers"]
    if not numbers or any(field in MISSING or is_number(field) for field in numbers):
        return
    given, known = (listed(map(repr, some), _NAMED) for some in (first, columns))
    raise ValueError(
        f"{path}, line 1: none of {given} is a column of the model, whose columns are {known}. "
        "Rename the columns to those of the model; or, if they are the same in the same order, "
        "delete the line."
    )


def _places_of_stranger(values: Sequence[Sequence[str]], kinds: Sequence[Kind]) -> list[int]:
    """The places at which the one column too many may lie.

    Without it, numbers lie where the model has numbers, and as many words as can be where it has
    text.
    """
    before = [_likeness(column, kind) for column, kind in zip(values, kinds)]
    after = [_likeness(column, kind) for column, kind in zip(values[1:], kinds)]
    head = list(accumulate(before, initial=0.0))
    tail = list(accumulate(reversed(after), initial=0.0))[::-1]
    likeness = [a + b for a, b in zip(head, tail)]
    best = max(likeness)
    return [at for at, found in enumerate(likeness) if found == best > -math.inf]


def _likeness(values: Sequence[str], kind: Kind) -> float:
    """How well a column fits a kind: the words of a text, minus infinity for what cannot be."""
    looked_at = [value.strip() for value in values[:_LOOKED_AT]]
    if kind == "numbers":
        fits = all(value in MISSING or is_number(value) for value in looked_at)
        return 0.0 if fits else -math.inf
    return sum(len(value.split()) for value in looked_at) if kind == "text" else 0.0
