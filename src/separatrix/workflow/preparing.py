"""From a source to the matrices of its parts: settings, checks, and what was done in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
from separatrix.readers.label_column import NO_LABELS, is_quantity

_FILLED = re.compile(r"(Column '.*'): filled [\d,]+ missing values?")

_BYTES_OF_FEATURE = 80  # measured, with its name
_BYTES_OF_WEIGHT = 48  # and its copies while it is fitted
_WAYS = {"tfidf": "TF-IDF weights", "counts": "counts", "hashing": "hashed counts"}


@dataclass(frozen=True, eq=False)
class PreparedSource:
    """The matrices and labels of the parts that have rows, and how they were made."""

    source: Source
    preparation: Preparation
    notes: list[str]
    X: dict[str, Any]
    y: dict[str, Array]

    @property
    def n_classes(self) -> int:
        """The number of classes of the training rows."""
        return len(np.unique(self.y["train"]))


def choose_settings(table: Any, *, standardise: bool | None = None, **given: Any) -> Settings:
    """The settings of a table: numbers are standardised, except in sparse matrices and images.

    Entries of `given` that are None are left to the defaults of `Settings`.

    >>> choose_settings(np.ones((2, 2))).standardise
    True
    >>> choose_settings(np.ones((2, 2), np.uint8)).standardise
    False
    """
    if standardise is None:
        is_image = isinstance(table, np.ndarray) and table.dtype == np.uint8
        standardise = isinstance(table, Columns) or not (sp.issparse(table) or is_image)
    said = {name: value for name, value in given.items() if value is not None}
    return Settings(standardise=standardise, **said)


def prepare_source(source: Source, settings: Settings | None = None) -> PreparedSource:
    """Fit the preparation to the training rows, and apply it to all.

    >>> from separatrix import load
    >>> prepared = prepare_source(load("iris"))
    >>> prepared.X["test"].shape, prepared.n_classes
    ((25, 4), 3)
    """
    require_labelled(source)
    settings = choose_settings(source.table) if settings is None else settings
    require_learnable(source, settings)
    parts = {part: source.part(part) for part, rows in source.splits.items() if len(rows)}
    if "train" not in parts:
        raise ValueError(f"{source.name} has no rows for training.")
    preparation = Preparation.fit(
        parts["train"].table, settings, feature_names=_feature_names(source, parts["train"].table)
    )
    told: list[str] = []
    X = {}
    for name, part in parts.items():
        news: list[str] = []
        X[name] = preparation.transform(part.table, news)
        told += [] if name == "train" else _new_notes(name, news, preparation.notes)
    notes = [*source.notes, *describe_preparation(preparation, settings), *told]
    return PreparedSource(
        source, preparation, notes, X, {name: _labels(part) for name, part in parts.items()}
    )


def require_labelled(source: Source) -> None:
    """Raise unless the rows have labels."""
    if source.y is None:
        why = "".join(f" {note}" for note in source.notes if note.startswith(NO_LABELS))
        raise ValueError(
            Message(
                "{name} has no labels.{why} Name the column that holds them with {label:=}, or "
                "give a source that has some.",
                name=source.name,
                why=why,
                label=Parameter("label"),
            )
        )
    if is_quantity(source.y):
        odd = source.y[source.y != np.floor(source.y)]
        raise ValueError(
            Message(
                "The labels of {name} are a quantity, not classes: they have {count:,} different "
                "values, such as {odd:g}. Name the column of the labels with {label:=}, or make "
                "classes of the values.",
                name=source.name,
                count=len(np.unique(source.y)),
                odd=odd[0],
                label=Parameter("label"),
            )
        )


def require_learnable(source: Source, settings: Settings) -> None:
    """Raise where the rows of a source cannot be learnt from, or their model has no room.

    Rows are told as they are counted in the source, before it is split.
    """
    d = source.table.shape[1]
    outputs = 1 if source.y is None else len(np.unique(source.y))
    needed = d * (_BYTES_OF_FEATURE + _BYTES_OF_WEIGHT * outputs)
    if needed > most_bytes():
        raise ValueError(
            f"{source.name} has {d:,} features: a model of them needs about "
            f"{needed / 2**30:,.0f} GiB, and half of this machine's memory is "
            f"{most_bytes() / 2**30:.1f}. Is an index in the file wrong? Leave features out, or "
            "number those that occur anew."
        )
    names = None if isinstance(source.table, Columns) else source.feature_names
    refuse = settings.missing == "refuse"
    require_values(source.table, names, refuse=refuse, where=source.name)


def describe_preparation(preparation: Preparation, settings: Settings) -> list[str]:
    """Sentences about what a preparation does, and what it had to decide.

    >>> table = Columns({"age": [39, 50], "job": ["clerk", "smith"]})
    >>> settings = choose_settings(table)
    >>> describe_preparation(Preparation.fit(table, settings), settings)
    ['2 columns became 3 features: 1 of numbers, standardised; 1 of categories, one-hot.']
    """
    if preparation.columns is None:
        did = ["Features were standardised."] if settings.standardise else []
        return [*did, *preparation.notes]
    parts = []
    numbers = sum(len(step.columns) for step in preparation.steps if isinstance(step, Numbers))
    if numbers:
        how = "standardised" if settings.standardise else "as they are"
        parts.append(f"{numbers} of numbers, {how}")
    categories = sum(isinstance(step, Categories) for step in preparation.steps)
    if categories:
        parts.append(f"{categories} of categories, one-hot")
    for step in preparation.steps:
        if isinstance(step, Vectoriser):
            parts.append(f"{len(step.names):,} {_WAYS[settings.text]} of words")
        elif isinstance(step, WordLists):
            parts.append(f"{len(step.names)} word lists")
    n, d = len(preparation.columns), len(preparation.feature_names_out)
    columns = f"{n} column{'s' if n > 1 else ''}"
    sentence = f"{columns} became {d:,} feature{'s' if d > 1 else ''}: {'; '.join(parts)}."
    return [sentence, *preparation.notes]


def _new_notes(part: str, notes: list[str], known: list[str]) -> list[str]:
    """The notes of a part, without gaps of columns whose filling the training rows have told."""
    told = {match[1] for note in known if (match := _FILLED.match(note))}
    gaps = {note: match[1] for note in notes if (match := _FILLED.match(note))}
    return [f"In {part}: {note}" for note in notes if gaps.get(note) not in told]


def _labels(part: Source) -> Array:
    assert part.y is not None
    return part.y


def _feature_names(source: Source, table: Any) -> list[str] | None:
    """Feature names for a matrix; those of a table are its own."""
    return None if hasattr(table, "kinds") else source.feature_names
