"""Tables with one row per sample: CSV, TSV and Parquet.

    read_table(path)      text, plain or packed
    read_parquet(path)    Parquet (needs pyarrow, the extra 'parquet')

Both take `label` (a name, or a position counted from 0, from the end if negative; False: there is
none) and `text` (the name of a column, or several). `columns` is what a model was trained on
(`Preparation.columns`: names and kinds); a file to be predicted is read with it, so that a column
has the kind it had then, and the label may be there or not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from separatrix.arrays import Array
from separatrix.sources.columns import (
    MISSING,
    Columns,
    Kind,
    Parts,
    column_of,
    count_missing,
    looks_like_text,
)
from separatrix.sources.decoding import read_text
from separatrix.sources.delimited import is_number, split_fields
from separatrix.sources.labels import Label, find_label, labels_of

Text: TypeAlias = str | Collection[str] | None

_NAMED = 5  # columns in a note


def read_table(
    path: Path | str,
    *,
    label: Label = None,
    text: Text = None,
    header: bool | None = None,
    delimiter: str | None = None,
    columns: Mapping[str, Kind] | None = None,
) -> Parts:
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
    if columns and not fields.has_header and not set(columns) <= set(names):
        names = _names_by_place(names, fields.columns, list(columns), label)
    kinds = dict(columns or {}) | dict.fromkeys(_names(text), "text")
    point = "." if fields.delimiter == "," else ","
    named = {
        name: _column(str(path), name, values, kinds.get(name), point)
        for name, values in zip(names, fields.columns)
    }
    parts = split_label(str(path), named, label=label, text=text, columns=columns)
    return parts._replace(notes=[*notes, *fields.notes, *parts.notes])


def read_parquet(
    path: Path | str,
    *,
    label: Label = None,
    text: Text = None,
    columns: Mapping[str, Kind] | None = None,
) -> Parts:
    """Read a Parquet file: numbers, booleans, words and dictionaries of words."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: reading Parquet needs pyarrow: pip install 'separatrix[parquet]'."
        ) from error
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from error
    for name, times in Counter(table.column_names).items():
        if times > 1:
            raise ValueError(f"{path}: {times} columns have the name {name!r}. Rename them.")
    named = {name: _of_arrow(str(path), name, table[name]) for name in table.column_names}
    return split_label(str(path), named, label=label, text=text, columns=columns)


def split_label(
    where: str,
    named: Mapping[str, Any],
    *,
    label: Label = None,
    text: Text = None,
    columns: Mapping[str, Kind] | None = None,
) -> Parts:
    """Part named columns, of a Parquet file or a frame, into features and labels.

    >>> parts = split_label("frame", {"size": [1, 2], "y": ["a", "b"], "kind": ["u", None]})
    >>> parts.table, parts.y.tolist()
    (Columns of 2 rows: size (numbers), kind (categories), ['a', 'b'])
    """
    notes: list[str] = []
    found = {str(name): column_of(str(name), values) for name, values in named.items()}
    if not found or not len(next(iter(found.values()))):
        raise ValueError(f"{where} has no rows: there is nothing to read.")
    texts = _names(text)
    if columns:
        texts += [name for name, kind in columns.items() if kind == "text" and name in found]
    table = Columns(found, text=texts if columns or texts else None)
    chosen = find_label(where, table, label, columns, notes)
    y = None if chosen is None else labels_of(where, chosen, found[chosen], notes)
    table = table.select(name for name in found if name != chosen)
    _note_text(table, texts, notes)
    _note_missing(table, notes)
    return Parts(table, y, table.names, notes)


def _of_arrow(where: str, name: str, column: Any) -> Array:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not (pa.types.is_floating(kind) or pa.types.is_string(kind) or kind == pa.large_string()):
        raise ValueError(
            f"{where}: column {name!r} must hold numbers or words. Got {kind} instead: "
            "convert it, or write the file without it."
        )
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _names_by_place(
    names: list[str], values: Sequence[Sequence[str]], known: list[str], label: Label
) -> list[str]:
    """The names that a model knows, for a file without a header; one column more is the label.

    That is the one given, or the last, or the first that is not text where the last is.
    """
    if len(names) == len(known):
        return known
    if len(names) != len(known) + 1 or isinstance(label, str | bool):
        return names
    places = range(len(names))
    if label is None:
        words = [looks_like_text(np.array(column, dtype=object)) for column in values]
        label = words.index(False) if words[-1] and not all(words) else -1
    if not -len(names) <= label < len(names):
        return names
    at = places[label]
    return [*known[:at], names[at], *known[at:]]


def _names(text: Text) -> list[str]:
    return [text] if isinstance(text, str) else list(text or ())


def _column(where: str, name: str, values: Sequence[str], kind: Kind | None, point: str) -> Array:
    """A column of the fields of a file; `point` parts the digits of numbers, besides '.'."""
    missing = frozenset([""]) if kind == "text" else MISSING
    words = {raw: word for raw in set(values) if (word := raw.strip()) not in missing}
    if kind in (None, "numbers"):
        numbers = {raw: word.replace(point, ".") for raw, word in words.items()}
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
