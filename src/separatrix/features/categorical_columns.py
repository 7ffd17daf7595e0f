"""One-hot encoding of categorical columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from separatrix.features.value_checks import missing_value
from separatrix.matrix import Array
from separatrix.readers.columns import Columns, to_words
from separatrix.text import counted, listed

_SHOWN = 3


@dataclass(frozen=True)
class Categories:
    """One-hot encode a categorical column: one feature, 0 or 1, for each of `values`.

    A missing value is replaced by the value at position `fill`. With refuse=True it raises an
    error. If a value is not one of `values`, all features are 0.
    """

    column: str
    values: list[str]
    fill: int | None
    refuse: bool
    kind: ClassVar[str] = "categories"

    @classmethod
    def fit(cls, table: Columns, column: str, missing: str, notes: list[str]) -> Self:
        step = cls.of_counts(column, cls.count(to_words(table[column])), missing)
        step.transform(table, notes)
        return step

    @classmethod
    def of_counts(cls, column: str, counts: Counter[str], missing: str) -> Self:
        """Return the step for values that occur so often."""
        values = sorted(counts)
        fill = None
        if missing != "refuse" and values:
            fill = max(range(len(values)), key=lambda k: counts[values[k]])
        return cls(column, values, fill, missing == "refuse")

    @staticmethod
    def count(values: Array) -> Counter[str]:
        """Return how often each of these strings occurs; None stands for a missing value."""
        return _count(*_encode(values))

    @property
    def names(self) -> list[str]:
        return [f"{self.column}={value}" for value in self.values]

    def transform(self, table: Columns, notes: list[str]) -> Any:
        words, codes_of_rows = _encode(to_words(table[self.column]))
        places: dict[str | None, int] = {value: k for k, value in enumerate(self.values)}
        is_missing = codes_of_rows == len(words)
        if is_missing.any():
            self._handle_missing(is_missing, notes)
            places[None] = -1 if self.fill is None else self.fill
        places_of_words = np.array([places.get(word, -1) for word in [*words, None]], np.int32)
        codes = places_of_words[codes_of_rows]
        unseen = _count(words, codes_of_rows[(codes < 0) & ~is_missing])
        if unseen:
            shown = listed((repr(value[:40]) for value, _ in unseen.most_common()), _SHOWN)
            notes.append(
                f"Column {self.column!r}: ignored {counted(unseen.total(), 'value')} not seen in "
                f"training ({shown})."
            )
        indptr = np.concatenate([[0], np.cumsum(codes >= 0)]).astype(np.int32)
        indices = codes[codes >= 0]
        shape = (len(codes), len(self.values))
        return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)

    def _handle_missing(self, is_missing: Array, notes: list[str]) -> None:
        if self.refuse:
            raise missing_value(int(np.argmax(is_missing)), self.column)
        notes.append(self.note_of_missing(int(np.count_nonzero(is_missing))))

    def note_of_missing(self, count: int) -> str:
        """Return a sentence on what was done with missing values."""
        missing = counted(count, "missing value")
        if self.fill is None:
            return f"Column {self.column!r}: ignored {missing}."
        return f"Column {self.column!r}: filled {missing} with {self.values[self.fill]!r}."


def _encode(values: Array) -> tuple[list[str], Array]:
    """Return the different strings, and the position of every value among them.

    The position of a missing value is the number of strings.
    """
    try:
        coded = pa.array(values, pa.string(), from_pandas=True).dictionary_encode()
    except UnicodeEncodeError:  # lone surrogates
        known = {value: None for value in values if value is not None}
        places = {value: place for place, value in enumerate(known)}
        return list(known), np.array([places.get(value, len(known)) for value in values], int)
    words: list[str] = coded.dictionary.to_pylist()
    return words, coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)


def _count(words: list[str], codes: Array) -> Counter[str]:
    """Count how often each string occurs."""
    counts = np.bincount(codes, minlength=len(words) + 1)
    return Counter({word: n for word, n in zip(words, counts.tolist()) if n})
