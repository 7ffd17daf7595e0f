"""Fit a preparation to rows that come in several tables.

What the steps learn are means, standard deviations, counts of categories and counts of documents.
All of them are computed for each table and pooled, so only one table is in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.features.categorical_columns import Categories
from separatrix.features.numeric_columns import Numbers
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.features.step import PreparationStep
from separatrix.features.text_columns import DocumentCounts, Vectoriser
from separatrix.features.value_checks import require_values
from separatrix.matrix import Matrix, column_moments
from separatrix.readers.columns import Columns, count_missing, to_words


def fit_preparation(
    tables: Iterable[Any], settings: Settings, feature_names: Sequence[str] | None = None
) -> Preparation:
    """Return the preparation of all rows of the tables together.

    With a single table, it has the same bits as `Preparation.fit`; with several, the means and
    standard deviations differ by rounding.

    >>> tables = [Columns({"job": ["clerk"]}), Columns({"job": ["smith"]})]
    >>> fit_preparation(tables, Settings()).feature_names_out
    ['job=clerk', 'job=smith']
    """
    parts = iter(tables)
    first = next(parts)
    is_table = isinstance(first, Columns)
    names = None if is_table else feature_names
    preparation = Preparation.fit(first, settings, feature_names=names)
    second = next(parts, None)
    if second is None or (sp.issparse(first) and not settings.standardise):
        return preparation  # nothing more to learn
    if settings.missing == "median":
        raise ValueError(
            Message(
                "{missing} needs all rows in memory, and this source is read in parts. Give "
                "{mean}.",
                missing=Parameter("missing", "median"),
                mean=Parameter("missing", "mean"),
            )
        )
    learnt = [_learner_of(step, preparation, settings) for step in preparation.steps]
    for table in chain([first, second], parts):
        require_values(table, names, refuse=settings.missing == "refuse")
        for learner in learnt:
            learner.add(table)
    notes: list[str] = []
    steps = [learner.finish(notes) for learner in learnt]
    return Preparation(
        preparation.columns,
        steps,
        preparation.sparse,
        preparation.refuse,
        [*_other_notes(preparation), *notes],
        preparation.formats,
    )


def _other_notes(preparation: Preparation) -> list[str]:
    """Return the notes that are not about the columns of single steps, which are pooled."""
    return [note for note in preparation.notes if not note.startswith("Column ")]


def _learner_of(step: PreparationStep, fitted: Preparation, settings: Settings) -> Any:
    if isinstance(step, Numbers):
        return _Numbers(step.columns, settings)
    if isinstance(step, Categories):
        return _Categories(step.column, settings.missing)
    if isinstance(step, Vectoriser) and step.way != "hashing":
        return _Words(step, settings)
    return _Unchanged(step)


@dataclass
class _Unchanged:
    """A step that learns nothing from the rows."""

    step: PreparationStep

    def add(self, table: Any) -> None:
        """Ignore the rows."""

    def finish(self, notes: list[str]) -> PreparationStep:
        return self.step


@dataclass
class _Numbers:
    """Counts, means and sums of squared deviations of numeric columns, pooled over tables."""

    columns: list[str]
    settings: Settings
    n: int = 0
    count: Any = 0.0
    mean: Any = 0.0
    squares: Any = 0.0
    sparse: bool = False

    def add(self, table: Any) -> None:
        X = Numbers.matrix_of(table, self.columns)
        n = X.shape[0]
        count = np.full(X.shape[1], float(n))
        if sp.issparse(X):
            self.sparse = True
        elif X.dtype.kind == "f":
            gaps = np.isnan(X)
            count -= gaps.sum(axis=0)
            if gaps.any():
                mean = np.where(gaps, 0.0, X).sum(axis=0) / np.maximum(count, 1.0)
                X = np.where(gaps, mean, X)
        mean, deviation = column_moments(Matrix(X))
        total = self.count + count
        step = mean - self.mean
        share = count / np.maximum(total, 1.0)
        self.squares = self.squares + n * deviation**2 + self.count * share * step**2
        self.mean = self.mean + share * step
        self.count, self.n = total, self.n + n

    def finish(self, notes: list[str]) -> Numbers:
        settings, fill, shift, scale = self.settings, None, None, None
        if not self.sparse and settings.missing != "refuse":
            fill = np.where(self.count > 0, self.mean, 0.0)
            Numbers.note_fills(self.columns, self.n - self.count, fill, notes)
        if settings.standardise:
            deviation = np.sqrt(self.squares / self.n)
            shift = None if self.sparse else np.asarray(self.mean)
            scale = np.where(deviation > 0, deviation, 1.0)
        return Numbers(self.columns, fill, shift, scale)


@dataclass
class _Categories:
    """How often each value of a categorical column occurs."""

    column: str
    missing: str
    counts: Counter[str] = field(default_factory=Counter)
    gaps: int = 0

    def add(self, table: Columns) -> None:
        values = to_words(table[self.column])
        self.counts.update(Categories.count(values))
        self.gaps += count_missing(values)

    def finish(self, notes: list[str]) -> Categories:
        step = Categories.of_counts(self.column, self.counts, self.missing)
        if self.gaps:
            notes.append(step.note_of_missing(self.gaps))
        return step


@dataclass
class _Words:
    """In how many documents each word of a text column occurs, and how often."""

    step: Vectoriser
    settings: Settings
    counts: DocumentCounts = field(default_factory=DocumentCounts)

    def add(self, table: Columns) -> None:
        self.counts.add(table, self.step.column, self.settings.ngrams)

    def finish(self, notes: list[str]) -> Vectoriser:
        return self.counts.vectoriser(
            self.step, self.settings.min_documents, self.settings.most_words
        )
