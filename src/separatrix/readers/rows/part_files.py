"""Files that hold the validation rows or the test rows of a source."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.readers.columns import Columns, require_column
from separatrix.readers.formats import format_of, options_of, read_path
from separatrix.readers.rows.row_columns import RowColumns
from separatrix.readers.rows.row_order import draw_split
from separatrix.readers.source import FindCell, LoadedTable, Source
from separatrix.readers.splits import PARTS, SHARES
from separatrix.text import listed

_SHOWN = 5  # number of groups in an error
_USUAL_NOTES = ("The first line is the header", "The label is column")


def source_of_files(
    first: LoadedTable,
    path: Path,
    files: Mapping[str, Path],
    options: Mapping[str, Any],
    *,
    split: Sequence[float] | None,
    seed: int,
) -> Source:
    """Make a source of a table and the files of its validation rows, test rows, or both.

    The files are read with the decisions of the table. A part without a file is split off the
    table. `options` are the format and the reading options that the user gave.
    """
    parts = {part: _read_part(first, path, part, file, options) for part, file in files.items()}
    n = first.table.shape[0]
    shares = _shares(files, split)
    remaining = [part for part in PARTS if part not in files]
    splits, note = draw_split(first.y, n, seed, shares, first.row_columns, remaining)
    notes = [*first.notes]
    if len(remaining) > 1:
        notes.append(note)
    for part, loaded in parts.items():
        start, n = n, n + loaded.table.shape[0]
        splits[part] = np.arange(start, n)
        notes.append(f"The {part} rows are the {n - start:,} rows of {files[part].name}.")
        notes += [
            f"In {files[part].name}: {note}"
            for note in loaded.notes
            if note not in first.notes and not note.startswith(_USUAL_NOTES)
        ]
    every = [first, *parts.values()]
    if "group" in first.row_columns.names:
        notes.append(_check_groups({path: first, **{files[part]: parts[part] for part in parts}}))
    return Source.of(
        _stacked([each.table for each in every]),
        None if first.y is None else np.concatenate([each.y for each in every]),
        name=path.resolve().name,
        feature_names=first.feature_names,
        notes=notes,
        splits=splits,
        reading=first.reading,
        row_columns=_stacked_columns(every),
        find_cell=_finder(every),
    )


def reading_options(
    path: Path,
    reading: Mapping[str, Any],
    *,
    columns: Mapping[str, Any] | None,
    formats: Any,
    n_features: int | None,
    format: str | None = None,
) -> dict[str, Any]:
    """Return the options with which a file is read in the same way as the training rows.

    `columns` are the columns of the training rows with their kinds, None for a matrix; `formats`
    describes their cells; `n_features` is the number of features of a matrix.
    """
    reads = options_of(format or format_of(path))
    known = {name: value for name, value in reading.items() if name in reads}
    if columns is None:
        known.pop("layout", None)
    elif "columns" in reads:
        known["columns"] = columns
        if "formats" in reads:
            known["formats"] = formats
        known.setdefault("layout", {"names": list(columns), "label": None})
    if n_features is not None and "features" in reads:
        known["features"] = n_features
    return known


def _shares(files: Mapping[str, Path], split: Sequence[float] | None) -> tuple[float, ...]:
    """Return the proportions for splitting the rows of the table."""
    if split is None:
        rest = {part: share for part, share in zip(PARTS, SHARES) if part not in files}
        rest["train"] = 1.0 - sum(share for part, share in rest.items() if part != "train")
        return tuple(rest.get(part, 0.0) for part in PARTS)
    for part, share in zip(PARTS, split):
        if part in files and share:
            raise ParameterError(
                Message(
                    "{split:quoted} must give no rows to the {part} part, because {given:quoted} "
                    "names a file for it.",
                    split=Parameter("split"),
                    part=part,
                    given=Parameter(part),
                )
            )
    return tuple(split)


def _read_part(
    first: LoadedTable, path: Path, part: str, file: Path, options: Mapping[str, Any]
) -> LoadedTable:
    """Read the file of a part, and check that its rows fit the training rows."""
    given = {name: value for name, value in options.items() if name not in ("types", "text")}
    format = given.pop("format", None)
    table = first.table
    columns = dict(table.kinds) if isinstance(table, Columns) else None
    known = reading_options(
        file,
        first.reading,
        columns=columns,
        formats=table.formats if isinstance(table, Columns) else None,
        n_features=None if columns is not None else int(table.shape[1]),
        format=format,
    )
    if "roles" in given:
        known["roles"] = given["roles"]
    if "size" in given:
        known["resize"] = True
    found = read_path(file, format, {**given, **known})
    if found.y is None and first.y is not None:
        raise ValueError(f"{file} has no labels, which {part} rows need.")
    if isinstance(table, Columns) and isinstance(found.table, Columns):
        for name in table:
            require_column(name, found.table.names, f"in {file}, as in {path.name}")
        found = replace(found, table=found.table.select(table.names))
    if type(found.table) is not type(table) or found.table.shape[1] != table.shape[1]:
        raise ValueError(
            f"{file} must have the same features as {path.name}: {table.shape[1]:,} features. "
            f"Got {found.table.shape[1]:,} features instead."
        )
    for role, name in first.row_columns.names.items():
        if role == "weight" or (role in ("group", "time") and part == "validation"):
            columns_of_file = found.reading["layout"]["names"]
            require_column(name, columns_of_file, f"in {file}, as in {path.name}")
            if role not in found.row_columns.names:
                raise ValueError(
                    f"{file}: column {name!r} has missing or invalid values, which cannot be used "
                    f"as the {role} of a row."
                )
    if first.y is not None and found.y is not None:
        _require_known_labels(first.y, found.y, path, file)
    return found


def _check_groups(tables: Mapping[Path, LoadedTable]) -> str:
    """Raise if two files have rows of the same group; say in a sentence what was checked."""
    first, *others = tables
    column = tables[first].row_columns.names["group"]
    groups = {
        path: set(table.row_columns["group"].tolist())
        for path, table in tables.items()
        if table.row_columns["group"] is not None
    }
    for path, other in itertools.combinations(groups, 2):
        shared = sorted(groups[path] & groups[other])
        if shared:
            raise ValueError(
                Message(
                    "{other}: {count:,} of its {total:,} groups (column {column!r}) {are} also in "
                    "{path} ({shown}), so rows of the same group would be in several parts. Remove "
                    "the rows of these groups from one of the files, or leave {group:quoted} out.",
                    other=other,
                    count=len(shared),
                    total=len(groups[other]),
                    column=column,
                    are="is" if len(shared) == 1 else "are",
                    path=path,
                    shown=listed(map(repr, shared), _SHOWN),
                    group=Parameter("group"),
                )
            )
    unknown = [path.name for path in others if path not in groups]
    if unknown:
        return (
            f"Groups were not checked in {', '.join(unknown)}, where column {column!r} is missing "
            "or has missing values."
        )
    return f"No group of column {column!r} is in more than one file."


def _require_known_labels(trained: Array, y: Array, path: Path, file: Path) -> None:
    classes = set(trained.tolist())
    odd = next((label for label in y.tolist() if label not in classes), None)
    if odd is not None:
        raise ValueError(f"{file} has the label {odd!r}, which does not occur in {path.name}.")


def _finder(tables: Sequence[LoadedTable]) -> FindCell | None:
    """Return a function that finds a cell of the rows of several files."""
    ends = np.cumsum([table.table.shape[0] for table in tables])

    def find_cell(row: int, name: str) -> tuple[str, str]:
        place = int(np.searchsorted(ends, row, side="right"))
        find = tables[place].find_cell
        assert find is not None
        return find(row - int(ends[place - 1] if place else 0), name)

    return find_cell if all(table.find_cell for table in tables) else None


def _stacked(tables: Sequence[Any]) -> Any:
    first = tables[0]
    if isinstance(first, Columns):
        texts = [name for name in first if first.kind(name) == "text"]
        values = {name: np.concatenate([table[name] for table in tables]) for name in first}
        return Columns(values, text=texts, formats=first.formats)
    return sp.vstack(tables, format="csr") if sp.issparse(first) else np.concatenate(tables)


def _stacked_columns(tables: Sequence[LoadedTable]) -> RowColumns:
    """Return the row columns of all tables; missing groups and times of test rows are unused."""
    first = tables[0].row_columns
    names = {role: name for role, name in first.names.items() if role != "id"}
    values = {}
    for role in names:
        empty: Any = "" if role == "group" else np.nan
        each = [(table.row_columns[role], table.table.shape[0]) for table in tables]
        values[role] = np.concatenate(
            [
                np.full(n, empty, object if role == "group" else float) if v is None else v
                for v, n in each
            ]
        )
    return RowColumns(names, values)
