"""Read tables with one row per sample: CSV, TSV and Parquet.

    read_table(path)      text, plain or compressed
    read_parquet(path)    Parquet (needs pyarrow, the extra 'parquet')

Both have these options:

    label      label column: a name, a position from 0 (-1 is the last), or False for none
    text       names of the columns that hold documents
    drop       names of the columns to leave out
    columns    names and kinds of the columns of a trained model (`Preparation.columns`)
    layout     order of the columns in the training data

With `columns`, every column keeps the kind it had in training, and the labels may be missing or
incomplete. With `layout`, the columns of a file without a header can be identified.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.columns import (
    MISSING,
    Columns,
    Kind,
    count_missing,
    looks_like_text,
    require_column,
    to_column,
)
from separatrix.readers.compression.size_limits import require_room
from separatrix.readers.compression.text_encoding import read_text
from separatrix.readers.csv_dialect import DELIMITERS, is_number, split_fields
from separatrix.readers.data_frames import named_columns, truths_to_words
from separatrix.readers.headerless import name_columns, require_no_other_header
from separatrix.readers.label_column import (
    NO_LABELS,
    Label,
    LabelError,
    Layout,
    find_label,
    rivals_of,
    to_labels,
)
from separatrix.readers.source import LoadedTable

Names: TypeAlias = str | Collection[str] | None

_NAMED = 5  # number of columns in a note
_TRUTH = {"True": "1", "False": "0", "true": "1", "false": "0"}


def read_table(
    path: Path | str,
    *,
    label: Label = None,
    text: Names = None,
    header: bool | None = None,
    delimiter: str | None = None,
    drop: Names = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
) -> LoadedTable:
    """Read a CSV or TSV file.

    Spaces around a field are removed. Empty fields, ?, NA, N/A, NaN and NULL are missing values; in
    a text column only empty fields are.

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
    content, notes = read_text(path)
    fields = split_fields(path, content, header=header, delimiter=delimiter, expected=columns or ())
    names = fields.names
    if columns and not fields.has_header:
        names, label = name_columns(names, fields.columns, columns, layout, label)
        if header is None:
            require_no_other_header(path, names, fields.columns, columns)
    kinds = dict(columns or {}) | dict.fromkeys(_names(text), "text")
    point = "." if fields.delimiter == "," else ","
    named = {
        name: _column(str(path), name, values, kinds.get(name), point)
        for name, values in zip(names, fields.columns)
    }
    parts = split_label(
        str(path), named, label=label, text=text, drop=drop, columns=columns, layout=layout
    )
    reading = parts.reading
    if fields.delimiter not in DELIMITERS:  # these are detected
        reading = {**reading, "delimiter": fields.delimiter}
    return replace(parts, notes=[*notes, *fields.notes, *parts.notes], reading=reading)


def read_parquet(
    path: Path | str,
    *,
    label: Label = None,
    text: Names = None,
    drop: Names = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
) -> LoadedTable:
    """Read a Parquet file with numbers, booleans, dates, strings and dictionaries of strings."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: reading Parquet needs pyarrow. Install it with pip install "
            "'separatrix[parquet]'."
        ) from error
    try:
        _require_room(Path(path), pq.read_metadata(path))
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    return read_frame(
        table, str(path), label=label, text=text, drop=drop, columns=columns, layout=layout
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
    where: str,
    named: Mapping[str, Any],
    *,
    label: Label = None,
    text: Names = None,
    drop: Names = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
) -> LoadedTable:
    """Separate the named columns of a file or data frame into features and labels.

    >>> parts = split_label("frame", {"size": [1, 2], "y": ["a", "b"], "kind": ["u", None]})
    >>> parts.table, parts.y.tolist()
    (Columns of 2 rows: size (numbers), kind (categories), ['a', 'b'])
    """
    notes: list[str] = []
    dropped = _dropped(where, named, drop, columns, notes)
    found = {name: _converted(where, name, named[name]) for name in named if name not in dropped}
    if not found or not len(next(iter(found.values()))):
        raise ValueError(f"{where} has no rows.")
    for name, kind in (columns or {}).items():
        if kind == "categories" and name in found:
            found[name] = _as_words(named[name], found[name])
    texts = _names(text)
    if columns:
        texts += [name for name, kind in columns.items() if kind == "text" and name in found]
    table = Columns(found, text=texts if columns or texts else None)
    chosen = find_label(where, table, label, columns, layout, notes)
    y = None
    if chosen is not None:
        y = _labels(where, chosen, _as_words(named[chosen], found[chosen]), columns, notes)
        copies = [] if columns else rivals_of(table, chosen, notes)
        table = table.select(name for name in found if name != chosen and name not in copies)
    if not table.names:
        raise ValueError(
            f"{where} has only one column, {chosen!r}, which is the label, and so no features. "
            "Give a table with more columns, or choose another label."
        )
    _note_text(table, texts, notes)
    _note_missing(table, notes)
    reading: dict[str, Any] = {"layout": {"names": list(named), "label": chosen}}
    if dropped:
        reading["drop"] = list(dropped)
    return LoadedTable(table, y, table.names, notes, reading)


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


def _converted(where: str, name: str, values: Any) -> Array:
    try:
        return to_column(name, values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _as_words(values: Any, column: Array) -> Array:
    """Return a column, with booleans as the strings that a CSV file has for them."""
    words = truths_to_words(values)
    return column if words is None else words


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


def _column(where: str, name: str, values: Sequence[str], kind: Kind | None, point: str) -> Array:
    """Convert the fields of a column. `point` is a decimal separator in addition to '.'."""
    missing = frozenset([""]) if kind == "text" else MISSING
    words = {raw: word for raw in set(values) if (word := raw.strip()) not in missing}
    if kind in (None, "numbers"):
        numbers = {raw: word.replace(point, ".") for raw, word in words.items()}
        if kind == "numbers":  # in training, booleans of a data frame were numbers
            numbers = {raw: _TRUTH.get(word, word) for raw, word in numbers.items()}
        if all(map(is_number, numbers.values())):
            parsed = {raw: float(word) for raw, word in numbers.items()}
            return np.array([parsed.get(raw, math.nan) for raw in values])
        if kind == "numbers":
            row = next(
                row for row, raw in enumerate(values) if not is_number(numbers.get(raw, "0"))
            )
            raise ValueError(
                f"{where}, row {row + 1}: column {name!r} must hold numbers, as in training. "
                f"Got {words[values[row]]!r} instead."
            )
    column = np.fromiter(map(words.get, values), dtype=object, count=len(values))
    if kind is None and looks_like_text(column):
        return _column(where, name, values, "text", point)  # a document may be the word 'null'
    return column


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
