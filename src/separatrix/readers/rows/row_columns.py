"""Columns of a table that describe its rows and are not features.

weight   sample weights, used in training and in metrics
group    rows of a group are never divided between training, validation and test rows
time     rows are split in the order of this column
id       identifies the rows of a prediction
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.readers.cells.decisions import describe_decisions
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.columns import require_column
from separatrix.readers.delimited.dialect import is_value
from separatrix.readers.typed_columns import ambiguous_dates, as_cells, infer_columns

ROLES = ("weight", "group", "time", "id")
_WORDS = {"weight": "sample weights", "group": "groups", "time": "times", "id": "identifiers"}


@dataclass(frozen=True, eq=False)
class RowColumns:
    """The columns that describe rows.

    Attributes
    ----------
    names : name of the column of each role in ROLES that is used
    values : values (n,) of each role: numbers for "weight" and "time", strings for the others
    remarks : sentences about how numbers and dates are written

    >>> RowColumns({"id": "name"}, {"id": np.array(["a", "b"], dtype=object)}).take([1])["id"]
    array(['b'], dtype=object)
    """

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __getitem__(self, role: str) -> Array | None:
        return self.values.get(role)

    def take(self, rows: Any) -> RowColumns:
        """Return the values of the selected rows."""
        return RowColumns(self.names, {role: v[rows] for role, v in self.values.items()})

    def notes(self) -> list[str]:
        """Return sentences about the columns, except for the split."""
        notes = []
        for role in ("group", "time"):
            if role in self.names:
                notes.append(
                    f"Column {self.names[role]!r} is used only to split the rows and is not a "
                    "feature."
                )
        if "weight" in self.names:
            notes.append(
                f"Column {self.names['weight']!r} holds sample weights, which are used in training "
                "and in all metrics. Counts of rows are not weighted."
            )
        if "id" in self.names:
            notes.append(f"Column {self.names['id']!r} identifies the rows and is not a feature.")
        return [*notes, *self.remarks]


def file_names(path: Path, files: Sequence[Path]) -> RowColumns:
    """Return the names of files, one per row, as identifiers; within a folder if `path` is one.

    >>> file_names(Path("pets"), [Path("pets/cats/a.png")])["id"]
    array(['cats/a.png'], dtype=object)
    """
    names = [file.name if file == path else file.relative_to(path).as_posix() for file in files]
    return RowColumns({"id": "file"}, {"id": np.array(names, dtype=object)})


def check_roles(roles: Mapping[str, str], label: Any, text: Any) -> None:
    """Raise if the label or a text column is also used in another role, or times with groups."""
    texts = [text] if isinstance(text, str) else list(text or ())
    for role, name in roles.items():
        for other, names in (("label", [label]), ("text", texts)):
            if name in names:
                raise ParameterError(
                    Message(
                        "Column {name!r} cannot be used for both {role:quoted} and {other:quoted}.",
                        name=name,
                        role=Parameter(role),
                        other=Parameter(other),
                    )
                )
    if "group" in roles and "time" in roles:
        raise ParameterError(
            Message(
                "{group:quoted} and {time:quoted} cannot be combined. Leave one of them out.",
                group=Parameter("group"),
                time=Parameter("time"),
            )
        )


def read_row_columns(
    where: str,
    roles: Mapping[str, str],
    named: Mapping[str, Any],
    missing: tuple[str, ...],
    types: Mapping[str, str],
    place: Callable[[int], str],
    *,
    trained: bool,
) -> RowColumns:
    """Read the columns of these roles.

    For a trained model, columns that are missing or have unusable values are left out.

    >>> named = {"w": np.array([1.0, 2.0])}
    >>> read_row_columns("a.csv", {"weight": "w"}, named, (), {}, str, trained=False)["weight"]
    array([1., 2.])
    """
    names, values, remarks = {}, {}, list[str]()
    for role, name in roles.items():
        if trained and name not in named:
            continue
        require_column(name, named, f"of {where} with {_WORDS[role]}")
        try:
            found = _read(where, role, name, named[name], missing, types.get(name), place)
        except ValueError:
            if not trained:
                raise
            continue  # new rows need no weights
        names[role], values[role] = name, found.values
        remarks += describe_decisions({name: found}, {}, place)
    return RowColumns(names, values, tuple(remarks))


def _read(
    where: str,
    role: str,
    name: str,
    given: Any,
    missing: tuple[str, ...],
    wanted: str | None,
    place: Callable[[int], str],
) -> Inferred:
    """Read a column as numbers for weights and times, and as strings for other roles."""
    wanted = wanted if role in ("weight", "time") else "text"
    cells = as_cells(where, name, given)
    types = {} if wanted is None else {name: wanted}
    found = infer_columns(where, {name: cells}, types, missing, comma_first=False)[name]
    if role in ("weight", "time") and found.format.kind != "numbers":
        if role == "time" and found.doubt == "order":
            raise ambiguous_dates(where, name)
        words = [isinstance(value, str) and not is_value(value) for value in found.values]
        row = int(np.argmax(words))
        raise _error(where, place, row, role, name, found.values[row])
    if found.others is not None and found.others.any():
        row = int(np.argmax(found.others))
        raise _error(where, place, row, role, name, cells[row])
    _require_values(where, place, role, name, found.values)
    return found


def _require_values(
    where: str, place: Callable[[int], str], role: str, name: str, values: Array
) -> None:
    """Raise if a value is missing, or if a weight is negative or infinite."""
    if role == "id":
        return
    if values.dtype == object:
        bad = np.array([value is None or value == "" for value in values])
    elif role == "time":
        bad = np.isnan(values)
    else:
        bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise _error(where, place, row, role, name, values[row])
    if role == "weight" and not values.any():
        raise ValueError(f"{where}: all weights (column {name!r}) are 0.")


def _error(
    where: str, place: Callable[[int], str], row: int, role: str, name: str, value: Any
) -> ValueError:
    rule = {
        "weight": "the weight (column {!r}) must be a finite number >= 0",
        "time": "the time (column {!r}) must be a number or a date",
        "group": "the group (column {!r}) is missing",
    }[role].format(name)
    value = value.as_py() if hasattr(value, "as_py") else value
    absent = value is None or value == "" or value != value
    got = "It is missing." if absent else f"Got {str(value)[:40]!r} instead."
    if role == "group":
        got = "Add it, or remove the row."
    return ValueError(f"{where}, {place(row)}: {rule}. {got}")
