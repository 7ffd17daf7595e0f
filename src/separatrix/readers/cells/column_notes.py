"""Describe in sentences what is particular about the values of the columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.inference import CODES, LEAST_ROWS
from separatrix.readers.columns import Columns, count_missing

_NAMED = 5  # number of columns in a sentence
_DIGITS = 7  # shorter numbers are often quantities
_LOOKED_AT = 1000  # values that are examined first, because they decide about most columns


def describe_columns(table: Columns, given: Collection[str]) -> list[str]:
    """Return a sentence for everything that a user should know about the values of the columns.

    The types of the columns in `given` were not detected.

    >>> describe_columns(Columns({"a": [1, 1, 1], "b": [1, 2, None]}), given=[])
    ["Only one value: 'a'.", "1 value is missing: 'b' 1."]
    """
    known = set(given)
    detected = [name for name in table if name not in known]
    notes = []
    if texts := [name for name in detected if table.kind(name) == "text"]:
        notes.append(f"Read as text (many words, few repeated values): {_first(texts)}.")
    several = {
        name: count
        for name in detected
        if table.kind(name) == "categories" and (count := len(_different(table[name]))) > CODES
    }
    if several:
        shown = _first([*several], several)
        notes.append(f"Read as categories, with many different values: {shown}.")
    words = (name for name in detected if table.kind(name) == "categories")
    notes += [note for name in words if (note := _describe_case(name, table[name]))]
    if same := [name for name in detected if _is_constant(table[name])]:
        notes.append(f"Only one value: {_first(same)}.")
    for name in detected:
        if table.formats is not None and table.formats.of(name).date:
            continue
        if why := _why_identifier(table[name]):
            notes.append(_describe_identifier(name, why))
    return [*notes, *_describe_missing(table)]


def _describe_missing(table: Columns) -> list[str]:
    counts = Counter({name: count for name in table if (count := count_missing(table[name]))})
    total = counts.total()
    if not total:
        return []
    shown = _first([name for name, _ in counts.most_common()], counts)
    return [f"{total:,} value{'s are' if total > 1 else ' is'} missing: {shown}."]


def _describe_case(name: str, values: Array) -> str:
    """Say which categories of a column differ only in upper and lower case; "" if none do."""
    words = _different(values)
    counts = Counter(word.casefold() for word in words)
    alike = sorted(word for word in words if counts[word.casefold()] > 1)
    if not alike or len(words) > CODES:
        return ""
    return f"Column {name!r}: categories differ only in upper and lower case: {_first(alike)}."


def _describe_identifier(name: str, why: str) -> str:
    return Message(
        "Column {name!r} {why}, and is read as numbers. If it identifies the rows, leave it out "
        "with {types}.",
        name=name,
        why=why,
        types=Parameter("types", {name: "drop"}),
    )


def _first(names: list[str], counts: dict[str, int] | None = None) -> str:
    """List the first names, each with its count."""
    shown = [f"{name!r} {counts[name]:,}" if counts else repr(name) for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED} more columns" if len(names) > _NAMED else ""
    return ", ".join(shown) + more


def _is_constant(values: Array) -> bool:
    """Return whether all values that are present are equal, and there are several."""
    if len(_different(values[:_LOOKED_AT])) > 1:
        return False
    n_present = len(values) - count_missing(values)
    return n_present > 1 and len(_different(values)) == 1


def _different(values: Array) -> set[Any]:
    if values.dtype == object:
        return set(values.tolist()) - {None}
    return set(np.unique(values[~np.isnan(values)]).tolist())


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
