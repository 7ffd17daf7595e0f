"""Read documents from lines of a file, from one file per class, or from one folder per class.

    read_documents(path)        detects which of the following applies
    read_lines(path)            one document per line, without labels
    read_class_files(paths)     one document per line, one file per class: reviews.pos, reviews.neg
    read_class_folders(path)    one document per file, one folder per class
    read_whole_files(path)      one document per file, without labels

The table has one column, 'text'. `tables.read_table` reads documents from a column of a CSV or TSV
file, including files with lines of the form "label TAB text".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from separatrix.readers.cells.cell_format import Kind
from separatrix.readers.columns import Columns
from separatrix.readers.compression.text_encoding import read_text, stem_of
from separatrix.readers.label_column import Label, Layout
from separatrix.readers.rows.row_columns import file_names
from separatrix.readers.source import LoadedTable
from separatrix.readers.tables import read_table
from separatrix.text import counted

COLUMN = "text"


def read_documents(
    path: Path | str,
    *,
    label: Label = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
    whole_files: bool = False,
) -> LoadedTable:
    """Read documents from a file, from a folder of files, or from a folder of folders.

    With `whole_files`, every file is one document. Otherwise a folder of files has a file per
    class. `columns` and `layout` describe the columns of a trained model, as in `read_table`. If
    they are given, the text column gets the name it has in the model, and every line of a file is a
    document, even if it is blank.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "ham.txt").write_text("are we on for lunch?\\nsee you\\n")
    >>> _ = (folder / "spam.txt").write_text("win a free phone\\n")
    >>> table, y, names, notes = read_documents(folder)
    >>> table[COLUMN].tolist()
    ['are we on for lunch?', 'see you', 'win a free phone']
    >>> y.tolist(), notes
    (['ham', 'ham', 'spam'], ['Read one document per line, one file per class: ham 2, spam 1.'])
    """
    path = Path(path)
    if whole_files and (path.is_file() or not any(entry.is_dir() for entry in visible(path))):
        return _renamed(read_whole_files(path), columns)
    if not path.is_dir():
        return read_lines(path, label=label, columns=columns, layout=layout)
    inside = visible(path)
    if any(entry.is_dir() for entry in inside):
        return _renamed(read_class_folders(path), columns)
    return _renamed(read_class_files(inside), columns)


def read_lines(
    path: Path | str,
    *,
    label: Label = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
) -> LoadedTable:
    """Read one document per line. If every line has exactly one tab, read "label TAB text"."""
    path = Path(path)
    # Predictions must correspond line by line to the file, so blank lines are kept for a model.
    lines, notes = _lines(path, keep_blanks=columns is not None)
    if all(line.count("\t") == 1 for line in lines if line):
        return read_table(path, label=label, delimiter="\t", columns=columns, layout=layout)
    notes.append("Read one document per line, without labels.")
    return _renamed(LoadedTable(_table(lines), None, [COLUMN], notes), columns)


def read_class_files(paths: Iterable[Path | str]) -> LoadedTable:
    """Read one file per class, named after the file, or its extension if only that differs."""
    files = [Path(path) for path in paths]
    stems = [stem_of(path) for path in files]
    endings = [path.suffix.removeprefix(".") for path in files]
    classes = endings if len(set(stems)) == 1 and all(endings) else stems
    if len(set(classes)) < len(files) or len(files) < 2:
        raise ValueError(
            "One file per class needs two or more files with different names. "
            f"Got {', '.join(path.name for path in files) or 'no file'} instead."
        )
    documents, notes = {}, []
    for name, path in zip(classes, files):
        documents[name], remarks = _lines(path)
        notes += remarks
    return _labelled(documents, notes, "Read one document per line, one file per class")


def read_class_folders(path: Path | str) -> LoadedTable:
    """Read one folder per class, with one document per file."""
    path = Path(path)
    notes: list[str] = []
    folders = class_folders(path)
    every = [file for files in folders.values() for file in files]
    texts = iter(_whole(every, notes))
    documents = {name: [next(texts) for _ in files] for name, files in folders.items()}
    loaded = _labelled(documents, notes, "Read one document per file, one folder per class")
    names = file_names(path, every)
    return replace(loaded, reading={"whole_files": True}, row_columns=names)


def read_whole_files(path: Path | str) -> LoadedTable:
    """Read one document per file, from a file or a folder of files, without labels."""
    path = Path(path)
    files = [path]
    if path.is_dir():
        files = [entry for entry in visible(path) if entry.is_file()]
    notes: list[str] = []
    table = _table(_whole(files, notes))
    notes.append("Read one document per file, without labels.")
    reading = {"whole_files": True}
    names = file_names(path, files)
    return LoadedTable(table, None, [COLUMN], notes, reading, row_columns=names)


def _whole(files: Sequence[Path], notes: list[str]) -> list[str]:
    """Return the text of every file; append a note if some files are not in UTF-8."""
    texts, old = [], 0
    for file in files:
        text, remarks = read_text(file)
        texts.append(text.strip())
        old += bool(remarks)
    if old:
        notes.append(f"Read {counted(old, 'file')} as latin-1 or UTF-16 instead of UTF-8.")
    return texts


def visible(folder: Path) -> list[Path]:
    """Return the contents of a folder, sorted by name, without hidden files."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if not entries:
        raise ValueError(f"{folder} is an empty folder.")
    return entries


def class_folders(path: Path) -> dict[str, list[Path]]:
    """Return the files of every class folder. There must be two or more folders and no files."""
    inside = visible(path)
    beside = [entry.name for entry in inside if not entry.is_dir()]
    if beside or len(inside) < 2:
        found = f"the file {beside[0]!r}" if beside else f"only the folder {inside[0].name!r}"
        raise ValueError(
            f"{path} must contain two or more folders, one per class, and nothing else. "
            f"Got {found} instead."
        )
    return {folder.name: [file for file in visible(folder) if file.is_file()] for folder in inside}


def _lines(path: Path, *, keep_blanks: bool = False) -> tuple[list[str], list[str]]:
    """Return the lines of a file.

    Only line feeds separate lines, because latin-1 text may contain other line separators.
    """
    text, notes = read_text(path)
    lines = [line.strip() for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n")]
    if not any(lines):
        raise ValueError(f"{path} is empty.")
    while not keep_blanks and not lines[-1]:
        lines.pop()
    blank = lines.count("")
    if blank:
        lines_of_note = counted(blank, "blank line")
        as_what = "an empty document" if blank == 1 else "empty documents"
        notes.append(
            f"{path.name}: read {lines_of_note} as {as_what}."
            if keep_blanks
            else f"{path.name}: skipped {lines_of_note}."
        )
    return [line for line in lines if line or keep_blanks], notes


def _labelled(documents: dict[str, list[str]], notes: list[str], found: str) -> LoadedTable:
    y = np.repeat(list(documents), [len(texts) for texts in documents.values()])
    counts = ", ".join(f"{name} {len(texts):,}" for name, texts in documents.items())
    table = _table([text for texts in documents.values() for text in texts])
    return LoadedTable(table, y, [COLUMN], [*notes, f"{found}: {counts}."])


def _renamed(parts: LoadedTable, columns: Mapping[str, Kind] | None) -> LoadedTable:
    """Give the text column the name it has in a model whose only column is text."""
    if not columns or list(columns.values()) != ["text"]:
        return parts
    name = next(iter(columns))
    table = Columns({name: parts.table[COLUMN]}, text=[name])
    return replace(parts, table=table, feature_names=[name])


def _table(documents: Sequence[str]) -> Columns:
    return Columns({COLUMN: np.array(documents, dtype=object)}, text=[COLUMN])
