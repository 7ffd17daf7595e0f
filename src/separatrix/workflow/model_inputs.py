"""New rows for a saved model, read in the same way as its training rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.on_disk import is_block_folder
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle, load_model
from separatrix.readers import Columns, Source, load, names
from separatrix.readers.columns import require_column
from separatrix.readers.data_frames import is_frame
from separatrix.readers.formats import format_of, has_known_ending
from separatrix.readers.label_column import to_labels
from separatrix.readers.rows.part_files import reading_options
from separatrix.readers.rows.row_columns import ROLES
from separatrix.readers.streams.stored_source import StoredSource
from separatrix.workflow.stored_preparation import require_same_preparation

_WIDEST = 1 << 16  # largest width and height of an image, in pixels


def open_model(path: str | os.PathLike[str]) -> Bundle:
    """Load a model file as a Bundle."""
    found = load_model(path)
    bundle = found if isinstance(found, Bundle) else Bundle(found)
    if not isinstance(bundle.estimator, LinearClassifier):
        raise ValueError(
            f"{os.fspath(path)} contains a {type(bundle.estimator).__name__}. The commands use "
            "classifiers, such as those that 'separatrix fit' saves. Use this file in Python, with "
            "separatrix.load_model."
        )
    return bundle


def load_for_model(bundle: Bundle, source: Any, **options: Any) -> Source:
    """Load rows in the same way as the training rows of a model.

    The model knows the names, kinds and order of its columns, or the number of features and the
    index of the first one, and the size and colour of images. Options are those of `load`; None
    means that an option is not given. A column that the model does not know and that contains only
    classes of the model is the label, whatever its name is.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if _is_path(source) and not is_block_folder(source):
        path = Path(source).expanduser()
        if "format" not in given and _is_column_of_model(bundle, path):
            given["format"] = "table"
        elif "format" not in given and _is_document(bundle, path):
            given["format"] = "text"
        given = _known_to(bundle, path, given) | given
    elif is_frame(source) and (columns := _columns_of(bundle)) is not None:
        formats = getattr(bundle.preparation, "formats", None)
        given = {"columns": columns, "formats": formats} | given
    loaded = load(source, **given)
    if isinstance(loaded, StoredSource):
        require_same_preparation(bundle, loaded.table)
        return loaded
    for role in ROLES:
        if role in given and role not in loaded.row_columns.names:
            columns = loaded.reading.get("layout", {}).get("names", [])
            require_column(given[role], columns, f"in {loaded.name}")
            raise ValueError(
                f"Column {given[role]!r} of {loaded.name} must hold a finite number >= 0 in every "
                "row to be used for sample weights."
            )
    _require_same_features(bundle, loaded)
    found = None if "label" in given else _label_of(bundle, loaded)
    if found is None:
        return loaded
    name, y = found
    note = f"The label is the column {name!r}: it contains the classes of the model."
    table = loaded.table.select(column for column in loaded.table if column != name)
    notes = [*loaded.notes, note]
    return replace(loaded, table=table, y=y, feature_names=table.names, notes=notes)


def held_out_rows(bundle: Bundle, source: Source, part: str = "test") -> Source | None:
    """Return the rows of a part that was held out from training; None if the data is different.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> iris = load("iris")
    >>> bundle = fit_source(iris).bundle
    >>> len(held_out_rows(bundle, iris)), held_out_rows(bundle, load("wine"))
    (25, None)
    """
    training = (bundle.metrics or {}).get("training")
    if bundle.fingerprint != source.fingerprint or training is None:
        return None
    if isinstance(source, StoredSource):
        return source.part(part) if part in source.splits else None
    rows = training["held_out"].get(part, ())
    return source.rows(np.asarray(rows, np.int64)) if len(rows) else None


def _is_path(source: Any) -> bool:
    if isinstance(source, str) and source in names():
        return False
    return isinstance(source, str | os.PathLike) and Path(source).expanduser().exists()


def _is_column_of_model(bundle: Bundle, path: Path) -> bool:
    """Return whether a file that looks like documents is a table with a single column."""
    columns = _columns_of(bundle)
    return (
        columns is not None
        and "text" not in columns.values()
        and path.is_file()
        and format_of(path) == "text"
    )


def _is_document(bundle: Bundle, path: Path) -> bool:
    """Return whether a file is one document of a model that was trained on one file per row."""
    whole = bool(reading_of(bundle).get("whole_files"))
    return whole and path.is_file() and not has_known_ending(path)


def _known_to(bundle: Bundle, path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the reading options that follow from the model."""
    of_matrix = getattr(bundle.preparation, "columns", None) is None
    known = reading_options(
        path,
        reading_of(bundle),
        columns=_columns_of(bundle),
        formats=getattr(bundle.preparation, "formats", None),
        n_features=int(bundle.estimator.n_features_in_) if of_matrix else None,
        format=given.get("format"),
    )
    if "zero_based" in known and given.get("zero_based") not in (None, known["zero_based"]):
        first, other = (0, 1) if known["zero_based"] else (1, 0)
        raise ParameterError(
            Message(
                "The features of the training rows are numbered from {first}: rows with features "
                "numbered from {other} would be shifted by one feature. Leave {zero_based} out, or "
                "number the features from {first} in the file.",
                first=first,
                other=other,
                zero_based=Parameter("zero_based", given["zero_based"]),
            )
        )
    if "size" in known and "size" in given:
        _require_size(known["size"], given["size"])
        known["resize"] = True
    return known


def _columns_of(bundle: Bundle) -> Mapping[str, Any] | None:
    """Return the model's columns with their kinds; the columns of a matrix are numbers."""
    columns: Mapping[str, Any] | None = getattr(bundle.preparation, "columns", None)
    names = getattr(bundle.preparation, "matrix_names", None)
    return columns if columns is not None or names is None else dict.fromkeys(names, "numbers")


def reading_of(bundle: Bundle) -> dict[str, Any]:
    """Return the reading options of the training rows, without those that are invalid."""
    training = (bundle.metrics or {}).get("training")
    reading = training.get("reading") if isinstance(training, Mapping) else None
    if not isinstance(reading, Mapping):
        return {}
    return {name: value for name, value in reading.items() if _is_sound(name, value)}


def _is_sound(name: Any, value: Any) -> bool:
    match name:
        case "zero_based" | "colour" | "resize" | "whole_files":
            return isinstance(value, bool)
        case "size":
            pair = isinstance(value, list) and len(value) == 2
            return pair and all(type(x) is int and 1 <= x <= _WIDEST for x in value)
        case "delimiter":
            return isinstance(value, str) and len(value) == 1
        case "drop":
            return _are_words(value)
        case "roles":
            return isinstance(value, Mapping) and _are_words([*value, *value.values()])
        case "layout":
            if not isinstance(value, Mapping) or not _are_words(value.get("names")):
                return False
            return "label" in value and (value["label"] is None or isinstance(value["label"], str))
    return False


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _require_size(trained: list[int], given: tuple[int, int]) -> None:
    if list(given) != trained:
        (w, h), (other_w, other_h) = trained, given
        raise ValueError(
            Message(
                "The model was trained on images of {w} x {h} pixels and cannot use images of "
                "{other_w} x {other_h} pixels: give {size}.",
                w=w,
                h=h,
                other_w=other_w,
                other_h=other_h,
                size=Parameter("size", (w, h)),
            )
        )


def _require_same_features(bundle: Bundle, source: Source) -> None:
    """Raise if the features have other names than in training, even if their number is the same.

    For example, images of 8 x 6 and of 12 x 4 pixels have the same number of features.
    """
    if isinstance(source.table, Columns):
        _require_pixels(bundle, source)
        return
    if bundle.preparation is None:
        return
    trained = getattr(bundle.preparation, "feature_names_out", None)
    found = source.feature_names
    if not trained or not found or len(trained) != len(found) or trained == found:
        return
    if trained[0].startswith("feature "):  # a placeholder for features without names
        return
    at = next(j for j, (a, b) in enumerate(zip(trained, found)) if a != b)
    raise ValueError(
        f"The features must be the same as in training. Feature {at + 1} was {trained[at]!r}. Got "
        f"{found[at]!r} instead."
    )


def _require_pixels(bundle: Bundle, source: Source) -> None:
    """Raise if a model of images gets a table without columns of pixels."""
    size, columns = reading_of(bundle).get("size"), _columns_of(bundle)
    if size is not None and columns and not set(columns) & set(source.table.names):
        raise ValueError(
            f"The model was trained on images of {size[0]} x {size[1]} pixels, and "
            f"{source.name} is not an image. Give an image, or a folder of images."
        )


def _label_of(bundle: Bundle, source: Source) -> tuple[str, Array] | None:
    columns = _columns_of(bundle)
    if source.y is not None or columns is None or not isinstance(source.table, Columns):
        return None
    classes = set(bundle.classes_.tolist())
    for name in source.table:
        if name in columns:
            continue
        try:
            y = to_labels(source.name, name, source.table[name], [])
        except ValueError:  # missing values or texts
            continue
        if set(y.tolist()) <= classes:
            return name, y
    return None
