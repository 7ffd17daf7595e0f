"""Preparation of a source: settings, checks, the matrices of its parts and a description."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.features.categorical_columns import Categories
from separatrix.features.numeric_columns import Numbers
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.features.text_columns import Vectoriser
from separatrix.features.value_checks import require_values
from separatrix.features.word_lists import WordLists
from separatrix.matrix import Array
from separatrix.readers import Columns, Source
from separatrix.readers.compression.size_limits import most_bytes
from separatrix.readers.label_column import NO_LABELS, ONE_COLUMN, is_quantity
from separatrix.readers.streams.stored_source import StoredSource
from separatrix.text import counted, listed
from separatrix.workflow.stored_preparation import preparation_of

_FILLED = re.compile(r"(Column ['\"].*['\"]): filled ([\d,]+) missing values?")

_NAMED = 5  # number of columns in a sentence
_BYTES_OF_FEATURE = 80  # measured, including the name
_BYTES_OF_WEIGHT = 48  # including copies made by the solver
_WAYS = {"tfidf": "TF-IDF weights", "counts": "counts", "hashing": "hashed counts"}


@dataclass(frozen=True, eq=False)
class PreparedSource:
    """The matrices, labels and weights of all parts that have rows, and their preparation.

    `weights` is empty if the rows have no weights.
    """

    source: Source
    preparation: Preparation
    notes: list[str]
    X: dict[str, Any]
    y: dict[str, Array]
    weights: dict[str, Array] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """The number of classes of the training rows."""
        return len(np.unique(self.y["train"]))


def choose_settings(table: Any, *, standardise: bool | None = None, **given: Any) -> Settings:
    """Return the settings for a table; sparse matrices and images are not standardised by default.

    For entries of `given` that are None, `Settings` has defaults.

    >>> choose_settings(np.ones((2, 2))).standardise
    True
    >>> choose_settings(np.ones((2, 2), np.uint8)).standardise
    False
    """
    if standardise is None:
        is_image = isinstance(table, np.ndarray) and table.dtype == np.uint8
        standardise = isinstance(table, Columns) or not (sp.issparse(table) or is_image)
    chosen = {name: value for name, value in given.items() if value is not None}
    return Settings(standardise=standardise, **chosen)


def prepare_source(source: Source, settings: Settings | None = None) -> PreparedSource:
    """Fit the preparation to the training rows, and apply it to all parts.

    >>> from separatrix import load
    >>> prepared = prepare_source(load("iris"))
    >>> prepared.X["test"].shape, prepared.n_classes
    ((25, 4), 3)
    """
    if isinstance(source, StoredSource):
        return _stored(source)
    require_labelled(source)
    settings = choose_settings(source.table) if settings is None else settings
    require_learnable(source, settings)
    parts = {part: source.part(part) for part, rows in source.splits.items() if len(rows)}
    if "train" not in parts:
        raise ValueError(f"{source.name} has no rows for training.")
    preparation = Preparation.fit(
        parts["train"].table, settings, feature_names=_feature_names(source, parts["train"].table)
    )
    X, others = {}, {}
    for name, part in parts.items():
        notes_of_part: list[str] = []
        X[name] = preparation.transform(part.table, notes_of_part)
        if name != "train":
            others[name] = notes_of_part
    described = describe_preparation(preparation, settings)
    notes = [*source.notes, *_with_other_parts(described, others)]
    y = {name: _labels(part) for name, part in parts.items()}
    weights = {name: part.weights for name, part in parts.items() if part.weights is not None}
    return PreparedSource(source, preparation, notes, X, y, weights)


def _stored(source: StoredSource) -> PreparedSource:
    """Return rows on disk, which were prepared when they were stored."""
    parts = {part: source.part(part) for part in source.splits}
    if "train" not in parts:
        raise ValueError(f"{source.name} has no rows for training.")
    X = {name: part.table for name, part in parts.items()}
    y = {name: part.y for name, part in parts.items()}
    weights = {name: part.weights for name, part in parts.items() if part.weights is not None}
    preparation = preparation_of(source.table)
    return PreparedSource(source, preparation, list(source.notes), X, y, weights)


def require_labelled(source: Source) -> None:
    """Raise unless the rows have labels."""
    if source.y is None:
        why = "".join(f" {note}" for note in source.notes if note.startswith(NO_LABELS))
        if ONE_COLUMN in source.notes:
            why = Message(
                " There is only one column: if its fields are separated by another character, name "
                "it with {delimiter:=}.",
                delimiter=Parameter("delimiter"),
            )
        raise ValueError(
            Message(
                "{name} has no labels.{why} Name the label column with {label:=}, or use a source "
                "with labels.",
                name=source.name,
                why=why,
                label=Parameter("label"),
            )
        )
    if is_quantity(source.y):
        odd = source.y[source.y != np.floor(source.y)]
        raise ValueError(
            Message(
                "The labels of {name} are numbers and not classes: they have {count:,} different "
                "values, such as {odd:g}. Name the label column with {label:=}, or group the "
                "values into classes.",
                name=source.name,
                count=len(np.unique(source.y)),
                odd=odd[0],
                label=Parameter("label"),
            )
        )


def _require_two_classes(source: Source) -> None:
    if source.y is None or not len(source.y) or (source.y != source.y[0]).any():
        return
    column = source.reading.get("layout", {}).get("label")
    labels = "all labels" if column is None else f"all values of the label column {column!r}"
    raise ValueError(
        Message(
            "{name}: {labels} are {label!r}. A classifier needs rows of at least two classes. "
            "Add rows of another class, or name another label column with {option:=}.",
            name=source.name,
            labels=labels,
            label=str(source.y[0]),
            option=Parameter("label"),
        )
    )


def require_learnable(source: Source, settings: Settings) -> None:
    """Raise if a source has a single class, invalid values, or too many features for the memory.

    Messages name the line of a file, or count the rows of the source before the split.
    """
    _require_two_classes(source)
    d = source.table.shape[1]
    outputs = 1 if source.y is None else len(np.unique(source.y))
    needed = d * (_BYTES_OF_FEATURE + _BYTES_OF_WEIGHT * outputs)
    if needed > most_bytes():
        raise ValueError(
            f"{source.name} has {d:,} features: its model needs about {needed / 2**30:,.0f} GiB, "
            f"and half of this machine's memory is {most_bytes() / 2**30:.1f} GiB. If an index in "
            "the file is wrong, correct it; otherwise use fewer features, or renumber the features "
            "that occur."
        )
    names = None if isinstance(source.table, Columns) else source.feature_names
    refuse = settings.missing == "refuse"
    require_values(
        source.table, names, refuse=refuse, where=source.name, find_cell=source.find_cell
    )


def describe_preparation(preparation: Preparation, settings: Settings) -> list[str]:
    """Return sentences about what a preparation does and what it decided.

    >>> table = Columns({"age": [39, 50], "job": ["clerk", "smith"]})
    >>> settings = choose_settings(table)
    >>> describe_preparation(Preparation.fit(table, settings), settings)
    ["Made 3 features from 2 columns: 1 numeric (standardised), 1 categorical (one-hot: 'job')."]
    """
    if preparation.columns is None:
        scaled = "Standardised the features (mean 0, standard deviation 1)."
        return [*([scaled] if settings.standardise else []), *preparation.notes]
    parts = []
    numbers = sum(len(step.columns) for step in preparation.steps if isinstance(step, Numbers))
    if numbers:
        how = "standardised" if settings.standardise else "not scaled"
        parts.append(f"{numbers} numeric ({how})")
    categories = [step.column for step in preparation.steps if isinstance(step, Categories)]
    if categories:
        names = listed(map(repr, categories), _NAMED)
        parts.append(f"{len(categories)} categorical (one-hot: {names})")
    for step in preparation.steps:
        if isinstance(step, Vectoriser):
            parts.append(f"text ({len(step.names):,} {_WAYS[settings.text]} of words)")
        elif isinstance(step, WordLists):
            parts.append(counted(len(step.names), "word list"))
    columns = counted(len(preparation.columns), "column")
    features = counted(len(preparation.feature_names_out), "feature")
    return [f"Made {features} from {columns}: {', '.join(parts)}.", *preparation.notes]


def _with_other_parts(notes: list[str], others: dict[str, list[str]]) -> list[str]:
    """Add the notes on parts other than the training rows.

    If a column was filled in the training rows, their note says how many values were filled in the
    other parts.
    """
    filled = {match[1] for note in notes if (match := _FILLED.match(note))}
    elsewhere: dict[str, list[str]] = {column: [] for column in filled}
    added = []
    for part, found in others.items():
        for note in found:
            match = _FILLED.match(note)
            if match and match[1] in filled:
                elsewhere[match[1]].append(f"{match[2]} in {part}")
            else:
                added.append(f"In {part}: {note}")
    return [*(_with_counts(note, elsewhere) for note in notes), *added]


def _with_counts(note: str, elsewhere: dict[str, list[str]]) -> str:
    match = _FILLED.match(note)
    counts = elsewhere[match[1]] if match else []
    return f"{note.removesuffix('.')} (and {', '.join(counts)})." if counts else note


def _labels(part: Source) -> Array:
    assert part.y is not None
    return part.y


def _feature_names(source: Source, table: Any) -> list[str] | None:
    """Return the feature names of a matrix; None for a table, whose columns have names."""
    return None if hasattr(table, "kinds") else source.feature_names
