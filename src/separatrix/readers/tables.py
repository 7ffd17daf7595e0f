"""Tables with one row per sample: CSV, TSV and Parquet.

    read_table(path)      text, plain or packed
    read_parquet(path)    Parquet (needs pyarrow, the extra 'parquet')

Both take `label` (a name, or a position counted from 0, from the end if negative; False: there is
none), `text` and `drop` (the name of a column, or several: of documents, and to be left out).
`columns` is what a model was trained on (`Preparation.columns`: names and kinds); a file to be
predicted is read with it, so that a column has the kind it had then, and the label may be there or
not, whole or in part. `layout` says in which order the columns of the training data lay: so those
of a file without a header are known.
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

_NAMED = 5  # columns in a note
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

    Spaces around a field do not count. Missing are empty fields, ?, NA, N/A, NaN and NULL; in a
    column of text, empty ones only.

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
    There is no header: the first line has the value '39'.
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
    if fields.delimiter not in DELIMITERS:  # which are found
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
    """Read a Parquet file: numbers, booleans, dates, words and dictionaries of words."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: reading Parquet needs pyarrow: pip install 'separatrix[parquet]'."
        ) from error
    try:
        _require_room(Path(path), pq.read_metadata(path))
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from error
    return read_frame(
        table, str(path), label=label, text=text, drop=drop, columns=columns, layout=layout
    )


def _require_room(path: Path, metadata: Any) -> None:
    """Raise if a Parquet file says that it holds too much: by its bytes, or by its cells of 8."""
    groups = (metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    cells = metadata.num_rows * metadata.num_columns
    require_room(path, path.stat().st_size, max(sum(groups), 8 * cells))


def read_frame(frame: Any, where: str = "The data frame", **options: Any) -> LoadedTable:
    """Part a frame of pandas, polars or pyarrow into features and labels; options as above."""
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
    """Part named columns, of a file or a frame, into features and labels.

    >>> parts = split_label("frame", {"size": [1, 2], "y": ["a", "b"], "kind": ["u", None]})
    >>> parts.table, parts.y.tolist()
    (Columns of 2 rows: size (numbers), kind (categories), ['a', 'b'])
    """
    notes: list[str] = []
    dropped = _dropped(where, named, drop, columns, notes)
    found = {name: _converted(where, name, named[name]) for name in named if name not in dropped}
    if not found or not len(next(iter(found.values()))):
        raise ValueError(f"{where} has no rows: there is nothing to read.")
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
            f"{where} has one column, {chosen!r}, which is the label: there is nothing to learn "
            "from. Give a table with more columns, or name another label."
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
    """The columns to be left out; those that a model was trained without may be lacking."""
    wanted = dict.fromkeys(_names(drop))
    if not columns:
        for name in wanted:
            require_column(name, named, f"left out of {where}")
    dropped = {name: None for name in wanted if name in named}
    if dropped and not columns:
        notes.append(f"Left out, as asked: {', '.join(map(repr, dropped))}.")
    return dropped


def _converted(where: str, name: str, values: Any) -> Array:
    try:
        return to_column(name, values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _as_words(values: Any, column: Array) -> Array:
    """A column, but with the words of a CSV file where it holds truth values."""
    words = truths_to_words(values)
    return column if words is None else words


def _labels(
    where: str,
    name: str,
    values: Array,
    columns: Mapping[str, Kind] | None,
    notes: list[str],
) -> Array | None:
    """The labels; of rows for a model, which needs none, they may be of no use."""
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
    """A column of the fields of a file; `point` parts the digits of numbers, besides '.'."""
    missing = frozenset([""]) if kind == "text" else MISSING
    words = {raw: word for raw in set(values) if (word := raw.strip()) not in missing}
    if kind in (None, "numbers"):
        numbers = {raw: word.replace(point, ".") for raw, word in words.items()}
        if kind == "numbers":  # truth values of a frame are numbers
            numbers = {raw: _TRUTH.get(word, word) for raw, word in numbers.items()}
        if all(map(is_number, numbers.values())):
            parsed = {raw: float(word) for raw, word in numbers.items()}
            return np.array([parsed.get(raw, math.nan) for raw in values])
        if kind == "numbers":
            row = next(
                row for row, raw in enumerate(values) if not is_number(numbers.get(raw, "0"))
            )
            raise ValueError(
                f"{where}, row {row + 1}: column {name!r} held numbers when the model was trained. "
                f"Got {words[values[row]]!r} instead."
            )
    column = np.fromiter(map(words.get, values), dtype=object, count=len(values))
    if kind is None and looks_like_text(column):
        return _column(where, name, values, "text", point)  # a document may well be 'null'
    return column


def _note_text(table: Columns, given: list[str], notes: list[str]) -> None:
    found = [name for name in table if table.kind(name) == "text" and name not in given]
    if found:
        more = f" and {len(found) - _NAMED} columns more" if len(found) > _NAMED else ""
        shown = ", ".join(map(repr, found[:_NAMED]))
        notes.append(f"Read as text, by many words and few repetitions: {shown}{more}.")


def _note_missing(table: Columns, notes: list[str]) -> None:
    counts = Counter({name: count for name in table if (count := count_missing(table[name]))})
    total = counts.total()
    if total:
        shown = ", ".join(f"{name!r} {count:,}" for name, count in counts.most_common(_NAMED))
        more = f" and {len(counts) - _NAMED} columns more" if len(counts) > _NAMED else ""
        notes.append(f"{total:,} value{'s are' if total > 1 else ' is'} missing: {shown}{more}.")
