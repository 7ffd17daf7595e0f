"""Load data from any source: a name, a path, arrays or a data frame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from separatrix.data.on_disk import is_block_folder
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.readers.data_frames import is_frame
from separatrix.readers.data_sets import registry
from separatrix.readers.formats import ALIASES, READERS, format_of, options_of, read_path
from separatrix.readers.numpy_arrays import read_memory
from separatrix.readers.rows.part_files import source_of_files
from separatrix.readers.rows.row_columns import check_roles
from separatrix.readers.source import LoadedTable, Source
from separatrix.readers.splits import Split
from separatrix.readers.streams.stored_source import open_source
from separatrix.readers.tables import read_frame


def load(
    source: Any,
    *,
    label: str | int | bool | None = None,
    text: str | list[str] | None = None,
    drop: str | list[str] | None = None,
    missing_values: list[str] | None = None,
    types: dict[str, str] | None = None,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    id: str | None = None,
    validation: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    features: int | None = None,
    format: str | None = None,
    seed: int = 0,
    split: Split = None,
    memory: int | str | None = None,
    **options: Any,
) -> Source:
    """Load data by name, from a file or a folder, or from memory.

    Parameters
    ----------
    source : one of

        - the name of a data set (see `separatrix.readers.names()`): "iris", "a9a", "mnist", ...
        - a file: svmlight, CSV, TSV, Parquet, npy, npz, IDX, or one document per line. Text and
          IDX files may be compressed.
        - a folder: one folder of images or documents per class, IDX files, or npy files
        - a folder of blocks that `separatrix.convert` has made, whose rows stay on disk
        - a pair (X, y), X alone, or a data frame
    label : label column of a table or data frame: its name, its position (0 is the first), or
        False if there are no labels. The default is a column named label, target, class or y, else
        the last one.
    text : columns of a table or data frame that hold documents
    drop : columns of a table or data frame to leave out
    missing_values : words for missing values in a table or data frame. Empty cells are always
        missing. The default list is `separatrix.readers.cells.missing_words.MISSING_WORDS`.
    types : types of columns by name, where the detected type is wrong: "number", "category",
        "text", "date" or "drop". "number:decimal-point", "number:decimal-comma", "date:day-first"
        and "date:month-first" say how ambiguous cells are read.
    weight : column of sample weights of a table or data frame. It is not a feature.
    group : column of groups. The rows of a group are all training, all validation or all test rows.
    time : column of times. The oldest rows are training rows, and the newest are test rows.
    id : column that identifies the rows of predictions. It is not a feature.
    validation, test : files with the validation rows and the test rows, which are read in the same
        way as the training rows. Parts without a file are split off from the source.
    features : number of features of an svmlight file
    format : format of the file, one of `separatrix.readers.READERS`. By default it is detected from
        the file extension or the content.
    seed : random seed for the choice of validation and test rows
    split : three proportions, or row numbers for "train", "validation" and "test". The default is
        the split that comes with the data set, else 80/10/10, stratified.
    memory : memory for a folder of blocks, in bytes or as in "500MB", as in `separatrix.open`
    **options : other options of the format's reader, such as `header` or `zero_based`

    The name of a data set takes precedence over a file of that name. Write "./a9a" for the file.

    >>> source = load("iris")
    >>> source
    Source 'iris': 150 rows, 4 features; train 100, validation 25, test 25
    >>> source.part("train").table.shape, source.feature_names[0], str(source.y[0])
    ((100, 4), 'sepal length (cm)', 'setosa')
    """
    given: dict[str, Any] = {"label": label, "text": text, "drop": drop, "features": features}
    given |= {"missing_values": missing_values, "types": types}
    options |= {name: value for name, value in given.items() if value is not None}
    parts = {"validation": validation, "test": test}
    files = {part: file for part, file in parts.items() if file is not None}
    columns = {"weight": weight, "group": group, "time": time, "id": id}
    roles = {role: name for role, name in columns.items() if name is not None}
    if isinstance(source, Source):
        return source
    is_named = isinstance(source, str) and source in registry.names()
    is_stored = isinstance(source, str | os.PathLike) and not is_named and is_block_folder(source)
    if memory is not None and not is_stored:
        raise ParameterError(
            Message(
                "{memory:quoted} is for folders of blocks, which are read in parts. Convert the "
                "source with 'separatrix convert' first.",
                memory=Parameter("memory"),
            )
        )
    if isinstance(source, str) and is_named:
        _refuse(roles | files, f"The data set {source!r} takes")
        _refuse(options | ({"format": format} if format else {}), f"The data set {source!r} takes")
        return registry.read(source, seed=seed, split=split)
    if roles and not is_stored:
        check_roles(roles, label, text)
        _require_named_columns(source, format, roles)
        options["roles"] = options.get("roles", {}) | roles
    if isinstance(source, str | os.PathLike):
        path = _existing(source)
        if is_stored:
            given = options | roles | files | {"split": split, "format": format}
            return open_source(path, given, memory)
        loaded, name = read_path(path, format, options), path.resolve().name
        if files:
            paths = {part: _existing(file) for part, file in files.items()}
            given = options | ({} if format is None else {"format": format})
            return source_of_files(loaded, path, paths, given, split=_shares(split), seed=seed)
    else:
        _refuse(files, "A source in memory takes")
        loaded, name = _from_memory(source, options)
    return Source.of_loaded(loaded, name=name, split=split, seed=seed)


def _shares(split: Split) -> Sequence[float] | None:
    """Return the proportions of a split; row numbers are refused."""
    if isinstance(split, Mapping):
        raise ParameterError(
            "'split' must be three proportions if 'validation' or 'test' names a file.",
            parameter="split",
        )
    return split


def _require_named_columns(source: Any, format: str | None, roles: Mapping[str, str]) -> None:
    """Raise if a source has no named columns, which the roles of columns need."""
    if isinstance(source, str | os.PathLike):
        path = _existing(source)
        chosen = format_of(path) if format is None else format
        if chosen not in (*READERS, *ALIASES) or "roles" in options_of(chosen):
            return
        what = f"{path} is read as {chosen}, which has no named columns"
    elif is_frame(source):
        return
    else:
        what = "Arrays have no named columns"
    raise ParameterError(
        Message(
            "{what}. {role:quoted} needs a CSV, TSV or Parquet file, or a data frame.",
            what=what,
            role=Parameter(next(iter(roles))),
        )
    )


def _existing(source: str | os.PathLike[str]) -> Path:
    path = Path(source).expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file, folder or data set {str(source)!r}."
            f"{registry.suggestion(str(source))} Data sets: {', '.join(registry.names())}."
        )
    return path


def _from_memory(source: Any, options: dict[str, Any]) -> tuple[LoadedTable, str]:
    if source is None:
        raise ValueError(
            "The source must be a name, a path, arrays or a data frame. Got None instead."
        )
    if is_frame(source):
        unknown = {name: value for name, value in options.items() if name not in _OF_FRAMES}
        _refuse(unknown, "A data frame takes label, text, drop, missing_values and types, but")
        return read_frame(source, **options), "data frame"
    _refuse(options, "Arrays in memory take")
    if isinstance(source, tuple):
        if len(source) != 2:
            raise ValueError(f"A tuple must be (X, y). Got {len(source)} elements instead.")
        return read_memory(*source), "arrays"
    return read_memory(source), "array"


_OF_FRAMES = (
    *("label", "text", "drop", "missing_values", "types"),
    *("columns", "formats", "layout", "roles"),
)


def _refuse(options: dict[str, Any], who: str) -> None:
    if options:
        name = Parameter(next(iter(options)))
        raise ParameterError(Message("{who} no option {name:quoted}.", who=who, name=name))
