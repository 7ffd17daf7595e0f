"""New rows for a model that is there: read as it knows them, with labels or without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.arrays import Array
from separatrix.modelfile import Bundle, load_model
from separatrix.sources import Columns, Source, load, names
from separatrix.sources.formats import format_of, options_of
from separatrix.sources.labels import labels_of


def open_model(path: str | os.PathLike[str]) -> Bundle:
    """What was saved, as a Bundle."""
    found = load_model(path)
    return found if isinstance(found, Bundle) else Bundle(found)


def load_for(bundle: Bundle, source: Any, **options: Any) -> Source:
    """Load rows with what the model knows: its columns and their kinds, or how many features.

    Options are those of `load`; None is not given. A column that the model does not know and that
    holds nothing but its classes is the label, whatever its name.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if _is_path(source):
        given = _known_to(bundle, Path(source).expanduser(), given) | given
    loaded = load(source, **given)
    found = None if "label" in given else _label_of(bundle, loaded)
    if found is None:
        return loaded
    name, y = found
    note = f"The label is the column {name!r}: it holds the classes of the model."
    table = loaded.table.select(column for column in loaded.table if column != name)
    return Source(loaded.name, table, y, table.names, [*loaded.notes, note])


def held_out(bundle: Bundle, source: Source, part: str = "test") -> Source | None:
    """The rows of a part that the model has not learnt from; None if these are other data.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> iris = load("iris")
    >>> bundle = fit_source(iris).bundle
    >>> len(held_out(bundle, iris)), held_out(bundle, load("wine"))
    (25, None)
    """
    training = (bundle.metrics or {}).get("training")
    if bundle.fingerprint != source.fingerprint or training is None:
        return None
    rows = training["held_out"].get(part, ())
    return source.rows(np.asarray(rows, np.int64)) if len(rows) else None


def _is_path(source: Any) -> bool:
    if isinstance(source, str) and source in names():
        return False
    return isinstance(source, str | os.PathLike) and Path(source).expanduser().exists()


def _known_to(bundle: Bundle, path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What the reader of a path is told of the model."""
    reads = options_of(given.get("format") or format_of(path))
    columns = getattr(bundle.preparation, "columns", None)
    known: dict[str, Any] = {}
    if columns is not None and "columns" in reads:
        known["columns"] = columns
    if columns is None and "features" in reads:
        known["features"] = int(bundle.estimator.n_features_in_)
    return known


def _label_of(bundle: Bundle, source: Source) -> tuple[str, Array] | None:
    columns = getattr(bundle.preparation, "columns", None)
    if source.y is not None or columns is None or not isinstance(source.table, Columns):
        return None
    classes = set(bundle.classes_.tolist())
    for name in source.table:
        if name in columns:
            continue
        try:
            y = labels_of(source.name, name, source.table[name], [])
        except ValueError:  # gaps, or documents
            continue
        if set(y.tolist()) <= classes:
            return name, y
    return None
