"""Documents: one a line, a file of lines for every class, or a folder of files for every class.

    read_documents(path)        whatever of the following it is
    read_lines(path)            one document a line, without labels
    read_class_files(paths)     one document a line, one file a class: reviews.pos, reviews.neg
    read_class_folders(path)    one file a document, one folder a class

The table has one column, 'text'. Documents in a column of a CSV or TSV file, also "label TAB text",
are read by `tables.read_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from separatrix.readers.columns import Columns, Kind
from separatrix.readers.compression.text_encoding import read_text, stem_of
from separatrix.readers.label_column import Label, Layout
from separatrix.readers.source import LoadedTable
from separatrix.readers.tables import read_table

COLUMN = "text"


def read_documents(
    path: Path | str,
    *,
    label: Label = None,
    columns: Mapping[str, Kind] | None = None,
    layout: Layout | None = None,
) -> LoadedTable:
    """Read documents from a file of lines, or from a folder of files or of folders.

    `columns` and `layout` are those of a model, as in `read_table`; its column of text has its
    name, and every line of a file of lines is a document, blank ones too.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "ham.txt").write_text("are we on for lunch?\\nsee you\\n")
    >>> _ = (folder / "spam.txt").write_text("win a free phone\\n")
    >>> table, y, names, notes = read_documents(folder)
    >>> table[COLUMN].tolist()
    ['are we on for lunch?', 'see you', 'win a free phone']
    >>> y.tolist(), notes
    (['ham', 'ham', 'spam'], ['One document a line, one file a class: ham 2, spam 1.'])
    """
    path = Path(path)
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
    """Read a file of one document a line; where every line has one tab, of label TAB text."""
    path = Path(path)
    # The answers of a model are to stand line by line beside its questions.
    lines, notes = _lines(path, keep_blanks=columns is not None)
    if all(line.count("\t") == 1 for line in lines if line):
        return read_table(path, label=label, delimiter="\t", columns=columns, layout=layout)
    notes.append("One document a line, without labels.")
    return _renamed(LoadedTable(_table(lines), None, [COLUMN], notes), columns)


def read_class_files(paths: Iterable[Path | str]) -> LoadedTable:
    """Read one file for every class, named by the file, or by its ending if only that differs."""
    files = [Path(path) for path in paths]
    stems = [stem_of(path) for path in files]
    endings = [path.suffix.removeprefix(".") for path in files]
    classes = endings if len(set(stems)) == 1 and all(endings) else stems
    if len(set(classes)) < len(files) or len(files) < 2:
        raise ValueError(
            "One file a class needs two files or more, of different names. "
            f"Got {', '.join(path.name for path in files) or 'no file'} instead."
        )
    documents, notes = {}, []
    for name, path in zip(classes, files):
        documents[name], remarks = _lines(path)
        notes += remarks
    return _labelled(documents, notes, "One document a line, one file a class")


def read_class_folders(path: Path | str) -> LoadedTable:
    """Read one folder for every class, with one file for every document."""
    documents: dict[str, list[str]] = {}
    old = 0
    for name, files in class_folders(Path(path)).items():
        documents[name] = []
        for file in files:
            text, remarks = read_text(file)
            documents[name].append(text.strip())
            old += bool(remarks)
    notes = [f"{old:,} files are not UTF-8: they were read as latin-1 or UTF-16."] if old else []
    return _labelled(documents, notes, "One file a document, one folder a class")


def visible(folder: Path) -> list[Path]:
    """What is in a folder, by name, without hidden files."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if not entries:
        raise ValueError(f"{folder} is an empty folder: there is nothing to read.")
    return entries


def class_folders(path: Path) -> dict[str, list[Path]]:
    """The files of every folder in a folder; there must be two folders, and no file beside them."""
    inside = visible(path)
    beside = [entry.name for entry in inside if not entry.is_dir()]
    if beside or len(inside) < 2:
        found = f"the file {beside[0]!r}" if beside else f"one folder, {inside[0].name!r},"
        raise ValueError(
            f"{path} must hold two folders or more, one for every class, and nothing else. "
            f"Got {found} instead."
        )
    return {folder.name: [file for file in visible(folder) if file.is_file()] for folder in inside}


def _lines(path: Path, *, keep_blanks: bool = False) -> tuple[list[str], list[str]]:
    """The lines of a file. Only line feeds end a line: latin-1 has others."""
    text, notes = read_text(path)
    lines = [line.strip() for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n")]
    if not any(lines):
        raise ValueError(f"{path} is empty: there is nothing to read.")
    while not keep_blanks and not lines[-1]:
        lines.pop()
    blank = lines.count("")
    if blank:
        what = "blank line was" if blank == 1 else "blank lines were"
        done = "taken as empty documents" if keep_blanks else "skipped"
        notes.append(f"{path.name}: {blank:,} {what} {done}.")
    return [line for line in lines if line or keep_blanks], notes


def _labelled(documents: dict[str, list[str]], notes: list[str], found: str) -> LoadedTable:
    y = np.repeat(list(documents), [len(texts) for texts in documents.values()])
    counts = ", ".join(f"{name} {len(texts):,}" for name, texts in documents.items())
    table = _table([text for texts in documents.values() for text in texts])
    return LoadedTable(table, y, [COLUMN], [*notes, f"{found}: {counts}."])


def _renamed(parts: LoadedTable, columns: Mapping[str, Kind] | None) -> LoadedTable:
    """The documents under the name of the only column that a model knows."""
    if not columns or list(columns.values()) != ["text"]:
        return parts
    name = next(iter(columns))
    table = Columns({name: parts.table[COLUMN]}, text=[name])
    return replace(parts, table=table, feature_names=[name])


def _table(documents: Sequence[str]) -> Columns:
    return Columns({COLUMN: np.array(documents, dtype=object)}, text=[COLUMN])
