"""Read arrays from memory, from npy and npz files, and from folders of npy files.

An npz file or a folder of npy files holds X and y, or X and y for every part: X_train, y_train,
X_test, y_test, or train_x, val_x, tst_x and so on. Nothing is unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    if label is None or label is False:
        note = Message(
            "Read without labels. Give {label} if the last column holds them.",
            label=Parameter("label", -1),
        )
        return LoadedTable(X, None, [], [note] if label is None else [])
    d = X.shape[1]
    if isinstance(label, str | bool) or not -d <= label < d or d < 2:
        raise ValueError(
            f"{path}: the label must be a column from {-d} to {d - 1}, and not the only column. "
            f"Got {label!r} instead."
        )
    y = np.ascontiguousarray(X[:, label])
    table = np.delete(X, label, axis=1)
    return LoadedTable(table, y, [], [f"The label is column {label % d + 1} of {d}."])


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
    roles = {_meaning(name): name for name in found}
    parts = [part for part in ("", *PARTS) if (part, "x") in roles]
    if not parts or (parts[0] == "" and len(parts) > 1):
        names = ", ".join(found) or "nothing"
        raise ValueError(
            f"{where} must contain X and y, or X_train, y_train, X_test and y_test. Got {names} "
            "instead."
        )
    tables = [_matrix(f"{where}, {roles[p, 'x']}", found[roles[p, "x"]]) for p in parts]
    if len({table.shape[1] for table in tables}) > 1:
        raise ValueError(
            f"{where}: all parts must have the same number of columns. "
            f"Got {[table.shape[1] for table in tables]} instead."
        )
    sizes = [len(table) for table in tables]
    labels = [
        _labels(f"{where}, {roles[p, 'y']}", found[roles[p, "y"]])
        for p in parts
        if (p, "y") in roles
    ]
    if labels and [len(y) for y in labels] != sizes:
        raise ValueError(
            f"{where}: every part must have one label per row. Got {sizes} rows and "
            f"{[len(y) for y in labels]} labels instead."
        )
    y = np.concatenate(labels) if labels else None
    ends = np.cumsum([0, *sizes])
    own = {part: np.arange(a, b) for part, a, b in zip(parts, ends[:-1], ends[1:])}
    own_splits = own if parts != [""] else None
    return LoadedTable(np.concatenate(tables), y, [], [], own_splits=own_splits)


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
