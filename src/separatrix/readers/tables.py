"""Read tables with one row per sample: CSV, TSV and Parquet.

    read_table(path)      text, plain or compressed
    read_parquet(path)    Parquet

Both have these options:

    label           label column: a name, a position (0 is first, -1 is last), or False for none
    text            names of the columns that hold documents
    drop            names of the columns to leave out
    missing_values  words for missing values, instead of `cells.missing_words.MISSING_WORDS`
    types           types of columns by name: number, category, text, date or drop
    columns         names and kinds of the columns of a trained model (`Preparation.columns`)
    formats         how the cells of a trained model were written (`Preparation.formats`)
    layout          order of the columns in the training data
    roles           columns that describe the rows and are not features, by role: weight, ...

With `columns` and `formats`, every column is read as it was in training, and the labels may be
missing or incomplete. With `layout`, the columns of a file without a header can be identified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat, Formats, Kind
from separatrix.readers.cells.decisions import describe_decisions, describe_identifiers
from separatrix.readers.cells.inference import Inferred, labels_of
from separatrix.readers.columns import Columns, count_missing, require_column
from separatrix.readers.compression.size_limits import require_room
from separatrix.readers.compression.text_encoding import read_utf8
from separatrix.readers.data_frames import named_columns, truths_to_words
from separatrix.readers.delimited.dialect import DELIMITERS
from separatrix.readers.delimited.fields import Fields, split_fields
from separatrix.readers.delimited.headerless import name_columns, require_no_other_header
from separatrix.readers.label_column import (
    NO_LABELS,
    Label,
    LabelError,
    Layout,
    find_label,
    rivals_of,
    to_labels,
)
from separatrix.readers.rows.row_columns import read_row_columns
from separatrix.readers.source import LoadedTable
from separatrix.readers.typed_columns import (
    as_cells,
    checked_types,
    infer_columns,
    missing_words,
    read_trained,
)

Names: TypeAlias = str | Collection[str] | None

_NAMED = 5  # number of columns in a note


@dataclass(frozen=True)
class _Origin:
    """Where the columns come from: a name, the place of a row, and whether commas are decimal."""

    where: str
    place: Callable[[int], str] = field(default=lambda row: f"row {row + 1}")
    comma_first: bool = False


def read_table(
    path: Path | str,
    *,
    label: Label = None,
    text: Names = None,
    header: bool | None = None,
    delimiter: str | None = None,
    drop: Names = None,
    missing_values: Names = None,
    types: Mapping[str, str] | None = None,
    columns: Mapping[str, Kind] | None = None,
    formats: Formats | None = None,
    layout: Layout | None = None,
    roles: Mapping[str, str] | None = None,
) -> LoadedTable:
    """Read a CSV or TSV file.

    Spaces around a field are removed. Empty fields and words such as NA and ? are missing values;
    in a text column only empty fields are.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "adults.csv"
    >>> _ = path.write_text("39, clerk, low\\n50, ?, high\\n38, smith, low\\n")
    >>> table, y, names, notes = read_table(path)
    >>> table
    Columns of 3 rows: column 1 (numbers), column 2 (categories)
    >>> y
    array(['low', 'high', 'low'], dtype='<U4')
    >>> for note in notes:
    ...     print(note)
    There is no header: the first line contains the value '39'.
    The label is the last column, 'column 3'.
    1 value is missing: 'column 2' 1.
    """
    path = Path(path)
    content, notes = read_utf8(path)
    fields = split_fields(
        path,
        content,
        header=header,
        delimiter=delimiter,
        expected=columns or (),
        strings=[*_names(text), *(types or ())],
    )
    names = fields.names
    if columns and not fields.has_header:
        names, label = name_columns(names, fields.sample, columns, layout, label)
        if header is None:
            require_no_other_header(path, names, fields.sample, columns)
    named = dict(zip(names, fields.columns))
    if not columns:
        _drop_empty_end(named, fields)
    origin = _Origin(str(path), lambda row: f"line {fields.line_of(row)}", fields.delimiter != ",")
    parts = split_label(
        origin,
        named,
        label=label,
        text=text,
        drop=drop,
        missing_values=missing_values,
        types=types,
        columns=columns,
        formats=formats,
        layout=layout,
        roles=roles,
    )
    reading = parts.reading
    if fields.delimiter not in DELIMITERS:  # these are detected
        reading = {**reading, "delimiter": fields.delimiter}
    return replace(parts, notes=[*notes, *fields.notes, *parts.notes], reading=reading)


def _drop_empty_end(named: dict[str, Any], fields: Fields) -> None:
    """Leave out a last column without a name and without values: lines end with a delimiter."""
    last = fields.names[-1]
    empty = len(named) > 1 and last == f"column {len(fields.names)}"
    if empty and not fields.n_present(-1):
        del named[last]
        fields.notes.append(f"Left out {last}: it is empty, because lines end in a delimiter.")


def read_parquet(
    path: Path | str,
    *,
    label: Label = None,
    text: Names = None,
    drop: Names = None,
    missing_values: Names = None,
    types: Mapping[str, str] | None = None,
    columns: Mapping[str, Kind] | None = None,
    formats: Formats | None = None,
    layout: Layout | None = None,
    roles: Mapping[str, str] | None = None,
) -> LoadedTable:
    """Read a Parquet file with numbers, booleans, dates, strings and dictionaries of strings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _require_room(Path(path), pq.read_metadata(path))
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    return read_frame(
        table,
        str(path),
        label=label,
        text=text,
        drop=drop,
        missing_values=missing_values,
        types=types,
        columns=columns,
        formats=formats,
        layout=layout,
        roles=roles,
    )


def _require_room(path: Path, metadata: Any) -> None:
    """Raise if a Parquet file exceeds the limits, by its declared size or at 8 bytes per value."""
    groups = (metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    cells = metadata.num_rows * metadata.num_columns
    require_room(path, path.stat().st_size, max(sum(groups), 8 * cells))


def read_frame(frame: Any, where: str = "The data frame", **options: Any) -> LoadedTable:
    """Separate a data frame into features and labels. The options are those of `read_parquet`."""
    return split_label(where, named_columns(where, frame), **options)


def split_label(
    where: str | _Origin,
    named: Mapping[str, Any],
    *,
    label: Label = None,
    text: Names = None,
    drop: Names = None,
    missing_values: Names = None,
    types: Mapping[str, str] | None = None,
    columns: Mapping[str, Kind] | None = None,
    formats: Formats | None = None,
    layout: Layout | None = None,
    roles: Mapping[str, str] | None = None,
) -> LoadedTable:
    """Separate the named columns of a file or data frame into features and labels.

    >>> parts = split_label("frame", {"size": [1, 2], "y": ["a", "b"], "kind": ["u", None]})
    >>> parts.table, parts.y.tolist()
    (Columns of 2 rows: size (numbers), kind (categories), ['a', 'b'])
    """
    origin = where if isinstance(where, _Origin) else _Origin(where)
    where = origin.where
    notes: list[str] = []
    wanted = checked_types(where, types, named, trained=bool(columns))
    for name in _names(text):
        require_column(name, named, "to read as text")
        wanted[name] = "text"
    dropped = _dropped(where, named, drop, columns, notes)
    dropped |= {name: None for name, kind in wanted.items() if kind == "drop" and name in named}
    described = [name for name in (roles or {}).values() if name in named]
    dropped |= {name: None for name in described if name not in (columns or ())}
    cells = {name: as_cells(where, name, named[name]) for name in named if name not in dropped}
    if not cells or not len(next(iter(cells.values()))):
        raise ValueError(f"{where} has no rows.")
    missing = missing_words(missing_values)
    if missing_values is None and formats is not None:
        missing = formats.missing
    row_columns = read_row_columns(
        where, roles or {}, named, missing, wanted, origin.place, trained=bool(columns)
    )
    notes += [] if columns else row_columns.notes()
    trained = {name: kind for name, kind in (columns or {}).items() if name in cells}
    new = {name: each for name, each in cells.items() if name not in trained}
    found = infer_columns(where, new, wanted, missing, comma_first=origin.comma_first)
    for name, kind in trained.items():
        found[name] = read_trained(where, name, cells[name], named[name], kind, formats)
    found = {name: found[name] for name in cells}
    kinds = {name: each.format.kind for name, each in found.items()}
    chosen = find_label(where, kinds, label, columns, layout, notes)
    y = None
    if chosen is not None:
        words = _label_values(named[chosen], cells[chosen], found[chosen], missing)
        y = _labels(where, chosen, words, columns, notes)
        copies = [] if columns else rivals_of(found, chosen, words, notes)
        found = {name: each for name, each in found.items() if name not in (chosen, *copies)}
    if not columns:
        identifiers = _identifiers(found, wanted)
        notes += describe_identifiers(identifiers)
        dropped |= dict.fromkeys(identifiers)
        found = {name: each for name, each in found.items() if name not in identifiers}
    if not found:
        raise ValueError(
            f"{where} has only one column, {chosen!r}, which is the label, and so no features. "
            "Give a table with more columns, or choose another label."
        )
    table = _table(found, missing, formats)
    strings = {name: each for name, each in cells.items() if not isinstance(each, np.ndarray)}
    decided = {  # for a model, only what differs from training
        name: each
        for name, each in found.items()
        if name not in trained or each.example or each.others is not None
    }
    notes += describe_decisions(decided, strings, origin.place)
    _note_text(table, [*_names(text), *wanted, *(columns or ())], notes)
    _note_missing(table, notes)
    reading: dict[str, Any] = {"layout": {"names": list(named), "label": chosen}}
    if dropped:
        reading["drop"] = list(dropped)
    kept = {role: name for role, name in row_columns.names.items() if role in ("weight", "id")}
    if kept:
        reading["roles"] = kept
    return LoadedTable(table, y, table.names, notes, reading, row_columns=row_columns)


def _table(
    found: Mapping[str, Inferred], missing: tuple[str, ...], formats: Formats | None
) -> Columns:
    """Return the features, with the formats that new rows are to be read with."""
    texts = [name for name, each in found.items() if each.format.kind == "text"]
    unusual = {
        name: each.format
        for name, each in found.items()
        if each.format != CellFormat(each.format.kind)
    }
    kept = formats if formats is not None else Formats(missing, unusual)
    return Columns({name: each.values for name, each in found.items()}, text=texts, formats=kept)


def _identifiers(found: Mapping[str, Inferred], wanted: Mapping[str, str]) -> dict[str, Inferred]:
    """Return the columns that only identify rows; none of them if there are no other columns."""
    identifiers = {
        name: each for name, each in found.items() if each.different and name not in wanted
    }
    return identifiers if len(identifiers) < len(found) else {}


def _label_values(original: Any, cells: Any, found: Inferred, missing: tuple[str, ...]) -> Array:
    """Return the values of the label column; booleans as the strings that a CSV file has."""
    if not isinstance(cells, np.ndarray):
        return labels_of(cells, found, missing)
    words = truths_to_words(original)
    return cells if words is None else words


def _dropped(
    where: str,
    named: Mapping[str, Any],
    drop: Names,
    columns: Mapping[str, Kind] | None,
    notes: list[str],
) -> dict[str, None]:
    """Return the columns to leave out. When reading for a trained model, they may be missing."""
    wanted = dict.fromkeys(_names(drop))
    if not columns:
        for name in wanted:
            require_column(name, named, f"to drop from {where}")
    dropped = {name: None for name in wanted if name in named}
    if dropped and not columns:
        columns_of_note = "column" if len(dropped) == 1 else "columns"
        notes.append(f"Dropped the {columns_of_note} {', '.join(map(repr, dropped))}.")
    return dropped


def _labels(
    where: str,
    name: str,
    values: Array,
    columns: Mapping[str, Kind] | None,
    notes: list[str],
) -> Array | None:
    """Return the labels. Unusable labels raise an error, or add a note if a trained model reads."""
    try:
        return to_labels(where, name, values, notes)
    except LabelError as error:
        if not columns:
            raise
        notes.append(f"{NO_LABELS}: {error.what}.")
        return None


def _names(text: Names) -> list[str]:
    return [text] if isinstance(text, str) else list(text or ())


def _note_text(table: Columns, given: list[str], notes: list[str]) -> None:
    found = [name for name in table if table.kind(name) == "text" and name not in given]
    if found:
        more = f" and {len(found) - _NAMED} more columns" if len(found) > _NAMED else ""
        shown = ", ".join(map(repr, found[:_NAMED]))
        notes.append(f"Read as text (many words, few repeated values): {shown}{more}.")


def _note_missing(table: Columns, notes: list[str]) -> None:
    counts = Counter({name: count for name in table if (count := count_missing(table[name]))})
    total = counts.total()
    if total:
        shown = ", ".join(f"{name!r} {count:,}" for name, count in counts.most_common(_NAMED))
        more = f" and {len(counts) - _NAMED} more columns" if len(counts) > _NAMED else ""
        notes.append(f"{total:,} value{'s are' if total > 1 else ' is'} missing: {shown}{more}.")
