"""One-hot encoding of categorical columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
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
        counts = Counter(value for value in to_words(table[column]) if value is not None)
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
        words = to_words(table[self.column])
        places: dict[str | None, int] = {value: k for k, value in enumerate(self.values)}
        gaps = sum(value is None for value in words)
        if gaps:
            self._handle_missing(words, gaps, notes)
            places[None] = -1 if self.fill is None else self.fill
        codes = np.array([places.get(value, -1) for value in words], dtype=np.int32)
        unseen = Counter(value for value in words[codes < 0] if value is not None)
        if unseen:
            shown = listed((repr(value[:40]) for value, _ in unseen.most_common()), _SHOWN)
            notes.append(
                f"Column {self.column!r}: ignored {counted(unseen.total(), 'value')} not seen in "
                f"training ({shown})."
            )
        indptr = np.concatenate([[0], np.cumsum(codes >= 0)]).astype(np.int32)
        indices = codes[codes >= 0]
        shape = (len(words), len(self.values))
        return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)

    def _handle_missing(self, words: Array, gaps: int, notes: list[str]) -> None:
        if self.refuse:
            raise missing_value([value is None for value in words].index(True), self.column)
        missing = counted(gaps, "missing value")
        notes.append(
            f"Column {self.column!r}: ignored {missing}."
            if self.fill is None
            else f"Column {self.column!r}: filled {missing} with {self.values[self.fill]!r}."
        )
