"""Check for values that cannot be used: infinity, and missing values if they are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.columns import Columns
from separatrix.readers.source import FindCell

_ENTRIES_AT_ONCE = 1 << 20
_SHOWN = 40  # characters of a cell


def require_values(
    table: Any,
    names: Sequence[str] | None = None,
    *,
    refuse: bool = False,
    where: str = "",
    find_cell: FindCell | None = None,
) -> None:
    """Raise if a number is infinite; with `refuse`, also if a value is missing.

    `names` are the names of the columns of a matrix, and `where` is the name of the source.
    `find_cell` returns where a cell is in its file, and its text; without it, the message counts
    rows from 1, so check a whole file to get the row of the file. Missing values in a sparse matrix
    always raise.

    >>> require_values(Columns({"age": [39, np.inf]}), where="people.csv")
    Traceback (most recent call last):
        ...
    ValueError: people.csv, row 2: column 'age' is inf. Numbers must be finite. Correct the value,
    or remove the row.
    """
    if isinstance(table, Columns):
        for name in table:
            values = table[name]
            if values.dtype != object:
                _require(values[:, None], [name], refuse, where, find_cell)
            elif refuse and None in values:
                raise missing_value(values.tolist().index(None), name, where, find_cell)
    elif sp.issparse(table):
        _require_sparse(sp.csr_array(table), names, where)
    elif table.dtype.kind == "f":
        _require(table, names, refuse, where)


def missing_value(
    row: int, name: str, where: str = "", find_cell: FindCell | None = None
) -> ValueError:
    """Return the error for a missing value. `row` counts from 0."""
    return ValueError(
        Message(
            "{place}: column {name!r} has no value, and missing values are refused. Remove the "
            "row, fill in the value, or have it filled with {missing}.",
            place=_place(row, where) if find_cell is None else find_cell(row, name)[0],
            name=name,
            missing=Parameter("missing", "mean"),
        )
    )


def _require(
    X: Array,
    names: Sequence[str] | None,
    refuse: bool,
    where: str,
    find_cell: FindCell | None = None,
) -> None:
    step = max(_ENTRIES_AT_ONCE // max(X.shape[1], 1), 1)
    for start in range(0, len(X), step):
        piece = X[start : start + step]
        bad = ~np.isfinite(piece) if refuse else np.isinf(piece)
        if bad.any():
            row, j = (int(place) for place in np.argwhere(bad)[0])
            if np.isnan(piece[row, j]):
                raise missing_value(start + row, _name(names, j), where, find_cell)
            raise _infinite(start + row, _name(names, j), piece[row, j], where, find_cell)


def _require_sparse(X: Any, names: Sequence[str] | None, where: str) -> None:
    bad = np.flatnonzero(~np.isfinite(X.data)) if X.data.dtype.kind == "f" else np.arange(0)
    if not len(bad):
        return
    row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
    name, value = _name(names, int(X.indices[bad[0]])), X.data[bad[0]]
    if not np.isnan(value):
        raise _infinite(row, name, value, where)
    raise ValueError(
        f"{_place(row, where)}: column {name!r} has no value. Missing values in a sparse matrix "
        "are not filled. Remove the row, or fill in the value."
    )


def _infinite(
    row: int, name: str, value: float, where: str, find_cell: FindCell | None = None
) -> ValueError:
    place, shown = _place(row, where), f"{value:g}"
    if find_cell is not None:
        place, text = find_cell(row, name)
        is_word = text.lower().lstrip("+-").startswith("inf")
        shown = repr(text) if is_word else f"{text[:_SHOWN]!r}, which is {shown}"
    return ValueError(
        f"{place}: column {name!r} is {shown}. Numbers must be finite. Correct the value, or "
        "remove the row."
    )


def _place(row: int, where: str) -> str:
    return f"{where}, row {row + 1}" if where else f"Row {row + 1}"


def _name(names: Sequence[str] | None, j: int) -> str:
    return f"feature {j + 1}" if names is None or j >= len(names) else names[j]
