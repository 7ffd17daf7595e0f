"""Columns to numbers, step by step: numbers, categories, word lists, a constant.

Every step is fitted on training rows and is plain data afterwards:

    transform(table, notes)    (n, its columns), dense or CSR; what was odd is told in the notes
    names                      the names of its columns
    to_state(), from_state()   JSON-able values and arrays
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from separatrix.features.stored import Stored, refusal
from separatrix.features.values import missing_value
from separatrix.matrix import Array, Matrix, column_moments
from separatrix.readers.columns import Columns, words_of
from separatrix.readers.delimited import is_number

State: TypeAlias = tuple[dict[str, Any], dict[str, Array]]

_TOKEN = re.compile(r"\w+")
_SHOWN = 3


class Step(Protocol):
    """One part of a preparation."""

    kind: ClassVar[str]

    @property
    def names(self) -> list[str]: ...
    def transform(self, table: Any, notes: list[str]) -> Any: ...
    def to_state(self) -> State: ...
    @classmethod
    def from_state(cls, stored: Stored) -> Self: ...


@dataclass(frozen=True)
class Constant:
    """A column that is always 1."""

    kind: ClassVar[str] = "constant"

    @property
    def names(self) -> list[str]:
        return ["always 1"]

    def transform(self, table: Any, notes: list[str]) -> Array:
        return np.ones((len(table) if isinstance(table, Columns) else table.shape[0], 1))

    def to_state(self) -> State:
        return {}, {}

    @classmethod
    def from_state(cls, stored: Stored) -> Self:
        return cls()


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers, or a whole matrix: (x - shift) / scale, gaps filled before.

    `fill`, `shift` and `scale` are (d,), or None: without `fill`, missing values are refused.
    """

    columns: list[str]
    fill: Array | None
    shift: Array | None
    scale: Array | None
    kind: ClassVar[str] = "numbers"

    @classmethod
    def fit(
        cls, table: Any, columns: list[str], missing: str, standardise: bool, notes: list[str]
    ) -> Self:
        """`missing` is 'mean', 'median' or 'refuse'. Sparse matrices are not filled or shifted."""
        X = _block(table, columns)
        fill = shift = scale = None
        if not sp.issparse(X):
            gaps = _gaps(X)
            fill = None if missing == "refuse" else _typical(X, gaps, columns, missing, notes)
            X = _filled(X, gaps, columns, fill, notes)
        if standardise:
            mean, deviation = column_moments(Matrix(X))
            shift = None if sp.issparse(X) else mean
            scale = np.where(deviation > 0, deviation, 1.0)
        return cls(columns, fill, shift, scale)

    @property
    def names(self) -> list[str]:
        return self.columns

    def transform(self, table: Any, notes: list[str]) -> Any:
        X = _block(table, self.columns)
        if sp.issparse(X):
            return self._transform_sparse(X)
        X = _filled(X, _gaps(X), self.columns, self.fill, notes)
        if self.shift is not None:
            X = X - self.shift
        return X if self.scale is None else X / self.scale

    def _transform_sparse(self, X: Any) -> Any:
        if self.shift is not None:
            raise ValueError(
                "The model was trained on a dense matrix with its means taken off. "
                "Got a sparse matrix instead: make it dense with X.toarray()."
            )
        if self.scale is None:
            return X
        return sp.csr_array((X.data / self.scale[X.indices], X.indices, X.indptr), shape=X.shape)

    def to_state(self) -> State:
        named = {"fill": self.fill, "shift": self.shift, "scale": self.scale}
        arrays = {name: array for name, array in named.items() if array is not None}
        return {"columns": self.columns}, arrays

    @classmethod
    def from_state(cls, stored: Stored) -> Self:
        columns = stored.words("columns")
        fill, shift, scale = (
            stored.vector(key, len(columns)) for key in ("fill", "shift", "scale")
        )
        if scale is not None and not (scale > 0).all():
            raise refusal("'scale' must be > 0", float(scale.min()))
        return cls(columns, fill, shift, scale)


@dataclass(frozen=True)
class Categories:
    """One column of categories: a column of 0 and 1 for each of `values`.

    A missing value counts as the one at `fill`, or is refused without it; a value that is not one
    of `values` gives zeros everywhere.
    """

    column: str
    values: list[str]
    fill: int | None
    refuse: bool
    kind: ClassVar[str] = "categories"

    @classmethod
    def fit(cls, table: Columns, column: str, missing: str, notes: list[str]) -> Self:
        counts = Counter(value for value in words_of(table[column]) if value is not None)
        values = sorted(counts)
        fill = None
        if missing != "refuse" and values:
            fill = max(range(len(values)), key=lambda k: counts[values[k]])
        step = cls(column, values, fill, missing == "refuse")
        step.transform(table, notes)
        return step

    @property
    def names(self) -> list[str]:
        return [f"{self.column}={value}" for value in self.values]

    def transform(self, table: Columns, notes: list[str]) -> Any:
        words = words_of(table[self.column])
        places: dict[str | None, int] = {value: k for k, value in enumerate(self.values)}
        gaps = sum(value is None for value in words)
        if gaps:
            self._tell_gaps(words, gaps, notes)
            places[None] = -1 if self.fill is None else self.fill
        codes = np.array([places.get(value, -1) for value in words], dtype=np.int32)
        unseen = Counter(value for value in words[codes < 0] if value is not None)
        if unseen:
            shown = ", ".join(repr(value[:40]) for value, _ in unseen.most_common(_SHOWN))
            notes.append(
                f"Column {self.column!r}: {_values(unseen.total())} not seen in training "
                f"({shown}{', ...' if len(unseen) > _SHOWN else ''}), taken as none of the known."
            )
        indptr = np.concatenate([[0], np.cumsum(codes >= 0)]).astype(np.int32)
        indices = codes[codes >= 0]
        shape = (len(words), len(self.values))
        return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)

    def _tell_gaps(self, words: Array, gaps: int, notes: list[str]) -> None:
        if self.refuse:
            raise missing_value([value is None for value in words].index(True), self.column)
        filled = "taken as no category" if self.fill is None else repr(self.values[self.fill])
        notes.append(f"Column {self.column!r}: {_values(gaps)} missing, filled: {filled}.")

    def to_state(self) -> State:
        plain = {"column": self.column, "values": self.values}
        return plain | {"fill": self.fill, "refuse": self.refuse}, {}

    @classmethod
    def from_state(cls, stored: Stored) -> Self:
        values = stored.words("values")
        fill = None
        if stored.values.get("fill") is not None:
            fill = stored.integer("fill", low=0, high=len(values) - 1)
        return cls(stored.word("column"), values, fill, stored.truth("refuse"))


@dataclass(frozen=True)
class WordLists:
    """For a column of text, whether a document contains a word of each list.

    >>> step = WordLists("text", {"positive": ["good", "great"], "negative": ["bad"]})
    >>> step.names
    ['contains:positive', 'contains:negative']
    >>> step.transform(Columns({"text": ["Great, not bad!"]}), [])
    array([[1., 1.]])
    """

    column: str
    lists: dict[str, list[str]]
    prefix: str = "contains"
    kind: ClassVar[str] = "word lists"

    @classmethod
    def fit(cls, column: str, lists: Mapping[str, Any], prefix: str = "contains") -> Self:
        plain = {}
        for name, words in lists.items():
            if isinstance(words, str):
                raise ValueError(f"The word list {name!r} must be a list. Got {words!r} instead.")
            plain[str(name)] = sorted({str(word).lower() for word in words})
            for word in plain[str(name)]:
                if not _TOKEN.fullmatch(word):
                    raise ValueError(
                        f"The word list {name!r} must hold single words. Got {word!r} instead."
                    )
        return cls(column, plain, prefix)

    @property
    def names(self) -> list[str]:
        return [f"{self.prefix}:{name}" for name in self.lists]

    def transform(self, table: Columns, notes: list[str]) -> Array:
        sets = [frozenset(words) for words in self.lists.values()]
        found = np.zeros((len(table), len(sets)))
        for row, text in enumerate(words_of(table[self.column])):
            tokens = _TOKEN.findall((text or "").lower())
            found[row] = [not words.isdisjoint(tokens) for words in sets]
        return found

    def to_state(self) -> State:
        return {"column": self.column, "lists": self.lists, "prefix": self.prefix}, {}

    @classmethod
    def from_state(cls, stored: Stored) -> Self:
        lists = stored.mapping("lists")
        plain = {name: Stored(lists, {}).words(name) for name in lists}
        return cls(stored.word("column"), plain, stored.word("prefix"))


def _block(table: Any, columns: list[str]) -> Any:
    """The matrix of these columns: float64 of a table, or the matrix itself."""
    if not isinstance(table, Columns):
        if table.shape[1] != len(columns):
            raise ValueError(
                f"The matrix must have {len(columns):,} columns, as in training. "
                f"Got {table.shape[1]:,} instead."
            )
        return sp.csr_array(table) if sp.issparse(table) else table
    if not columns:
        return np.empty((len(table), 0))
    return np.column_stack([_numbers(name, table[name]) for name in columns])


def _numbers(name: str, values: Array) -> Array:
    if values.dtype != object:
        return values
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        if value is not None and not is_number(value):
            raise ValueError(
                f"Column {name!r} held numbers when the model was trained. "
                f"Got {value[:40]!r} in row {row + 1} instead."
            )
        numbers[row] = np.nan if value is None else float(value)
    return numbers


def _gaps(X: Array) -> Array:
    return np.isnan(X) if X.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)


def _filled(
    X: Array, gaps: Array, columns: list[str], fill: Array | None, notes: list[str]
) -> Array:
    """X with its gaps filled, told column by column; refused without `fill`."""
    if not gaps.any():
        return X
    if fill is None:
        row, column = (int(place) for place in np.argwhere(gaps)[0])
        raise missing_value(row, columns[column])
    for j in np.flatnonzero(gaps.any(axis=0)):
        count = _values(int(gaps[:, j].sum()))
        notes.append(f"Column {columns[j]!r}: {count} missing, filled: {fill[j]:.6g}.")
    return np.where(gaps, fill, X)


def _typical(X: Array, gaps: Array, columns: list[str], how: str, notes: list[str]) -> Array:
    """The mean or the median of what is there, column by column."""
    fill = np.zeros(len(columns))
    some = gaps.any()
    for j, name in enumerate(columns):
        present = X[~gaps[:, j], j] if some else X[:, j]
        if len(present):
            fill[j] = np.mean(present) if how == "mean" else np.median(present)
        else:
            notes.append(f"Column {name!r} has no values in the training rows: 0 stands for them.")
    return fill


def _values(count: int) -> str:
    return f"{count:,} value{'s' if count > 1 else ''}"
