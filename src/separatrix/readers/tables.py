"""Read tables with one row per sample: CSV, TSV, Parquet and data frames.

    read_table(path)      text, plain or compressed
    read_parquet(path)    Parquet
    read_frame(frame)     a data frame in memory

All of them have the options of `TableOptions`. With `columns` and `formats`, every column is read
as it was in training, and the labels may be missing or incomplete. With `layout`, the columns of a
file without a header can be identified.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.readers.cells.coded_cells import CodedCells, word_at
from separatrix.readers.compression.size_limits import require_room
from separatrix.readers.compression.text_encoding import read_utf8
from separatrix.readers.data_frames import named_columns
from separatrix.readers.delimited.dialect import DELIMITERS
from separatrix.readers.delimited.fields import Fields, split_fields
from separatrix.readers.delimited.headerless import name_columns, require_no_other_header
from separatrix.readers.label_column import place_by_row
from separatrix.readers.separation import Origin, TableOptions, split_label
from separatrix.readers.source import LoadedTable

_PARQUET = (".parquet", ".pq")


def read_table(
    path: Path | str,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> LoadedTable:
    """Read a CSV or TSV file.

    `header` says whether the first line holds the column names, and `delimiter` is one character;
    by default both are detected. The other options are those of `TableOptions`.

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
    Column 'column 2': 1 cell is read as missing ('?', line 2).
    1 value is missing: 'column 2' 1.
    """
    path = Path(path)
    given = TableOptions(**options)
    content, notes = read_utf8(path)
    fields = split_fields(
        path,
        content,
        header=header,
        delimiter=delimiter,
        expected=given.columns or (),
        strings=[*given.text_names, *(given.types or ())],
    )
    parts = separate_fields(path, fields, given, header)
    written = fields.has_header, fields.delimiter

    def find_cell(row: int, name: str) -> tuple[str, str]:
        return _find_cell(path, *written, row, name)

    return replace(parts, notes=[*notes, *parts.notes], find_cell=find_cell)


def _find_cell(path: Path, header: bool, delimiter: str, row: int, name: str) -> tuple[str, str]:
    """Read a file again, and return the place of a cell and its text."""
    content, _ = read_utf8(path)
    fields = split_fields(path, content, header=header, delimiter=delimiter, strings=[name])
    cells = CodedCells.of(fields.columns[fields.names.index(name)])
    return f"{path}, line {fields.line_of(row)}", word_at(cells, row)


def separate_fields(
    path: Path, fields: Fields, given: TableOptions, header: bool | None
) -> LoadedTable:
    """Separate the columns of a file, or of a part of it."""
    names, columns = fields.names, given.columns
    if columns and not fields.has_header:
        names, label = name_columns(names, fields.sample, columns, given.layout, given.label)
        given = replace(given, label=label)
        of_table = given.formats is not None  # images have columns, but no header to compare with
        if header is None and (of_table or any(name in columns for name in names)):
            require_no_other_header(path, names, fields.sample, columns)
    named = dict(zip(names, fields.columns))
    if not columns:
        _drop_empty_end(named, fields)

    def place(row: int) -> str:
        return f"line {fields.line_of(row)}"

    parts = split_label(Origin(str(path), place, fields.delimiter != ","), named, given)
    reading = parts.reading
    if fields.delimiter not in DELIMITERS:  # these are detected
        reading = {**reading, "delimiter": fields.delimiter}
    parts.counts.lines = lines = fields.skipped_lines
    notes = [*fields.notes, *lines.sentences(), *parts.notes]
    return replace(parts, notes=notes, reading=reading)


def read_parquet(path: Path | str, **options: Any) -> LoadedTable:
    """Read a Parquet file, or a folder of Parquet files with the same columns.

    Columns hold numbers, booleans, dates, strings and dictionaries of strings.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = parquet_files(Path(path)) or [Path(path)]
    try:
        for file in files:
            _require_room(file, pq.read_metadata(file))
        table = pa.concat_tables([pq.read_table(file) for file in files])
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    return read_frame(table, str(path), **options)


def parquet_files(path: Path) -> list[Path]:
    """Return the files of a folder in which all files are Parquet files; [] for other paths."""
    if not path.is_dir():
        return []
    files = sorted(file for file in path.iterdir() if not file.name.startswith(("_", ".")))
    return files if all(file.suffix in _PARQUET for file in files) else []


def read_frame(
    frame: Any, where: str = "The data frame", rows_before: int = 0, **options: Any
) -> LoadedTable:
    """Separate a data frame into features and labels; `rows_before` are counted in messages."""
    origin = Origin(where, lambda row: place_by_row(rows_before + row))
    return split_label(origin, named_columns(where, frame), TableOptions(**options))


def _require_room(path: Path, metadata: Any) -> None:
    """Raise if a Parquet file exceeds the limits, by its declared size or at 8 bytes per value."""
    groups = (metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    cells = metadata.num_rows * metadata.num_columns
    require_room(path, path.stat().st_size, max(sum(groups), 8 * cells))


def _drop_empty_end(named: dict[str, Any], fields: Fields) -> None:
    """Leave out a last column without a name and without values: lines end with a delimiter."""
    last = fields.names[-1]
    empty = len(named) > 1 and last == f"column {len(fields.names)}"
    if empty and not fields.n_present(-1):
        del named[last]
        fields.notes.append(f"Left out {last}: it is empty, because lines end in a delimiter.")
