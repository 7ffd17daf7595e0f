"""How a table becomes a matrix unless the user says otherwise, and what was done in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.features.categorical_columns import Categories
from separatrix.features.numeric_columns import Numbers
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.features.text_columns import Vectoriser
from separatrix.features.value_checks import require_values
from separatrix.features.word_lists import WordLists
from separatrix.readers import Columns, Source
from separatrix.readers.compression.size_limits import most_bytes

_BYTES_OF_FEATURE = 80  # measured, with its name
_BYTES_OF_WEIGHT = 48  # and its copies while it is fitted
_WAYS = {"tfidf": "TF-IDF weights", "counts": "counts", "hashing": "hashed counts"}


def settings_for(table: Any, *, standardise: bool | None = None, **given: Any) -> Settings:
    """The settings of a table: numbers are standardised, except in sparse matrices and images.

    Entries of `given` that are None are left to the defaults of `Settings`.

    >>> settings_for(np.ones((2, 2))).standardise
    True
    >>> settings_for(np.ones((2, 2), np.uint8)).standardise
    False
    """
    if standardise is None:
        is_image = isinstance(table, np.ndarray) and table.dtype == np.uint8
        standardise = isinstance(table, Columns) or not (sp.issparse(table) or is_image)
    said = {name: value for name, value in given.items() if value is not None}
    return Settings(standardise=standardise, **said)


def require_usable(source: Source, settings: Settings) -> None:
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


def in_words(preparation: Preparation, settings: Settings) -> list[str]:
    """Sentences about what a preparation does, and what it had to decide.

    >>> table = Columns({"age": [39, 50], "job": ["clerk", "smith"]})
    >>> settings = settings_for(table)
    >>> in_words(Preparation.fit(table, settings), settings)
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
