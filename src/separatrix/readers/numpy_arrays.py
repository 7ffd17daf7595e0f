"""Read arrays from memory, from npy and npz files, and from folders of npy files.

An npz file or a folder of npy files holds X and y, or X and y for every part: X_train, y_train,
X_test, y_test, or train_x, val_x, tst_x and so on. Nothing is unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.columns import Columns
from separatrix.readers.compression.size_limits import UnpackLimitError, require_room
from separatrix.readers.data_frames import is_frame
from separatrix.readers.label_column import Label
from separatrix.readers.source import LoadedTable
from separatrix.readers.splits import PARTS

_X = {"x", "data", "features", "images", "inputs"}
_Y = {"y", "labels", "label", "target", "targets"}
_PART = {
    "train": ("train", "training", "tr"),
    "validation": ("val", "valid", "validation", "dev"),
    "test": ("test", "tst", "t10k", "te"),
}


def read_npy(path: Path | str, *, label: Label = None) -> LoadedTable:
    """Read one array. `label` is the position of the label column, if the array contains one."""
    path = Path(path)
    X = _matrix(str(path), _open(path))
    place, notes = label_place(path, X, label)
    if place is None:
        return LoadedTable(X, None, [], notes)
    y = np.ascontiguousarray(X[:, place])
    return LoadedTable(np.delete(X, place, axis=1), y, [], notes)


def label_place(path: Path, X: Array, label: Label) -> tuple[int | None, list[str]]:
    """Return the position of the label column of an array, or None, and a sentence about it."""
    if label is None or label is False:
        note = Message(
            "Read without labels. Give {label} if the last column holds them.",
            label=Parameter("label", -1),
        )
        return None, [note] if label is None else []
    d = X.shape[1]
    if isinstance(label, str | bool) or not -d <= label < d or d < 2:
        raise ValueError(
            f"{path}: the label must be a column from {-d} to {d - 1}, and not the only column. "
            f"Got {label!r} instead."
        )
    return label % d, [f"The label is column {label % d + 1} of {d}."]


def map_npy(path: Path) -> Array:
    """Return an array that is read from its file when it is used."""
    X: Array = _matrix(
        str(path), _attempt(path, lambda: np.load(path, mmap_mode="r", allow_pickle=False))
    )
    return X


def map_npy_folder(path: Path) -> tuple[list[Array], list[Array | None], dict[str, Array] | None]:
    """Return X, mapped, and y of every part of a folder, and the rows of the parts."""
    files = {file.stem: file for file in _arrays_in(path)}
    tables: list[Array] = []
    labels: list[Array | None] = []
    own = {}
    for part, x, y in _parts_in(str(path), files):
        tables.append(map_npy(files[x]))
        labels.append(None if y is None else _labels(f"{path}, {y}", _open(files[y])))
        first = sum(map(len, tables[:-1]))
        own[part] = np.arange(first, first + len(tables[-1]))
    _require_alike(str(path), tables, [y for y in labels if y is not None])
    return tables, labels, own if "" not in own else None


def read_npz(path: Path | str) -> LoadedTable:
    """Read X and y, or X and y for every part, from an npz file; also a file of scipy's save_npz.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.npz"
    >>> np.savez(path, X=np.eye(2), y=["a", "b"])
    >>> read_npz(path).y.tolist()
    ['a', 'b']
    """
    path = Path(path)
    found = _open(path)
    if "format" in found and "indptr" in found:
        X = _attempt(path, lambda: sp.load_npz(path).tocsr())
        _attempt(path, lambda: X.check_format(full_check=True))
        return LoadedTable(X, None, [], ["Read a sparse matrix without labels."])
    return _assembled(str(path), found)


def read_npy_folder(path: Path | str) -> LoadedTable:
    """Read a folder of files such as train_x.npy, train_y.npy, val_x.npy, tst_x.npy."""
    path = Path(path)
    return _assembled(str(path), {file.stem: _open(file) for file in _arrays_in(path)})


def is_npy_folder(path: Path) -> bool:
    """Return whether a folder contains npy files, at least one of them an X."""
    return any(_meaning(file.stem)[1] == "x" for file in _arrays_in(path))


def read_memory(X: Any, y: Any = None) -> LoadedTable:
    """Wrap arrays in memory: X is a matrix, a data frame or a list of documents.

    >>> read_memory(["a film", "a bad film"], [1, 0]).table
    Columns of 2 rows: text (text)
    """
    if is_frame(X):
        table: Any = Columns.of_frame(X)
        names = table.names
    elif isinstance(X, Columns):
        table, names = X, X.names
    else:
        table, names = _matrix_or_text(X), []
    return LoadedTable(table, None if y is None else _labels("y", y), names, [])


def _matrix_or_text(X: Any) -> Any:
    if sp.issparse(X):
        return _matrix("X", X)
    array = np.asarray(X)
    if array.ndim == 1 and array.dtype.kind in "UO" and all(isinstance(x, str) for x in X):
        return Columns({"text": array.astype(object)}, text=["text"])
    return _matrix("X", array)


def _arrays_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix == ".npy")


def _meaning(name: str) -> tuple[str, str]:
    """Return the part ('' for all rows) and the role ('x', 'y' or '') that a name stands for."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    role = next((r for r, known in (("x", _X), ("y", _Y)) if known & set(words)), "")
    part = next((p for p in PARTS if set(_PART[p]) & set(words)), "")
    return (part, role) if len(words) == bool(part) + 1 else ("", "")


def _assembled(where: str, found: Mapping[str, Any]) -> LoadedTable:
    """Concatenate the X and the y of all parts."""
    parts = _parts_in(where, found)
    tables = [_matrix(f"{where}, {x}", found[x]) for _, x, _ in parts]
    labels = [_labels(f"{where}, {y}", found[y]) for _, _, y in parts if y is not None]
    _require_alike(where, tables, labels)
    y = np.concatenate(labels) if labels else None
    ends = np.cumsum([0, *map(len, tables)])
    own = {part: np.arange(a, b) for (part, _, _), a, b in zip(parts, ends[:-1], ends[1:])}
    own_splits = own if "" not in own else None
    return LoadedTable(np.concatenate(tables), y, [], [], own_splits=own_splits)


def _parts_in(where: str, names: Collection[str]) -> list[tuple[str, str, str | None]]:
    """Return every part ("" for all rows), the name of its X, and that of its y or None."""
    roles = {_meaning(name): name for name in names}
    parts = [part for part in ("", *PARTS) if (part, "x") in roles]
    if not parts or (parts[0] == "" and len(parts) > 1):
        raise ValueError(
            f"{where} must contain X and y, or X_train, y_train, X_test and y_test. Got "
            f"{', '.join(names) or 'nothing'} instead."
        )
    return [(part, roles[part, "x"], roles.get((part, "y"))) for part in parts]


def _require_alike(where: str, tables: Sequence[Any], labels: Sequence[Array]) -> None:
    if len({table.shape[1] for table in tables}) > 1:
        raise ValueError(
            f"{where}: all parts must have the same number of columns. "
            f"Got {[table.shape[1] for table in tables]} instead."
        )
    sizes = [len(table) for table in tables]
    if labels and [len(y) for y in labels] != sizes:
        raise ValueError(
            f"{where}: every part must have one label per row. Got {sizes} rows and "
            f"{[len(y) for y in labels]} labels instead."
        )


def _open(path: Path) -> Any:
    def read() -> Any:
        with path.open("rb") as file:
            opened = np.load(file, allow_pickle=False)
            if isinstance(opened, np.ndarray):
                return opened
            with opened:
                sizes = (member.file_size for member in opened.zip.infolist())
                require_room(path, path.stat().st_size, sum(sizes))
                return {name: opened[name] for name in opened.files}

    return _attempt(path, read)


def _attempt(path: Path, read: Any) -> Any:
    try:
        return read()
    except (FileNotFoundError, PermissionError, IsADirectoryError, UnpackLimitError):
        raise
    except Exception as error:  # numpy, zipfile and tokenize raise many types for damaged headers
        reason = str(error).rstrip(".") or type(error).__name__
        raise ValueError(f"{path} is not a readable npy or npz file: {reason}.") from error


def _matrix(where: str, X: Any) -> Any:
    """Return X as a matrix of numbers with one row per sample; images are flattened."""
    if isinstance(X, Mapping):
        raise ValueError(f"{where} contains several arrays. Rename it to end in .npz.")
    if X.ndim > 2:
        X = X.reshape(len(X), -1)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{where} must be a matrix of real numbers with one row per sample. "
            f"Got shape {X.shape} of type {X.dtype} instead."
        )
    if 0 in X.shape:
        raise ValueError(f"{where} is empty (shape {X.shape}).")
    return X.tocsr() if sp.issparse(X) else X


def _labels(where: str, y: Any) -> Array:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{where} must have one label per row. Got shape {y.shape} instead.")
    if y.dtype.kind == "O":
        return y if all(isinstance(label, str) for label in y) else np.array(y.tolist())
    return y
