"""Features of text columns: whether a document contains a word of a list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.columns import Columns, to_words

_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class WordLists:
    """One feature per word list: 1 if the document contains a word of the list, else 0.

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
                raise ValueError(
                    f"The word list {name!r} must be a list of words. Got {words!r} instead."
                )
            plain[str(name)] = sorted({str(word).lower() for word in words})
            for word in plain[str(name)]:
                if not _TOKEN.fullmatch(word):
                    raise ValueError(
                        f"The word list {name!r} must contain single words. Got {word!r} instead."
                    )
        return cls(column, plain, prefix)

    @property
    def names(self) -> list[str]:
        return [f"{self.prefix}:{name}" for name in self.lists]

    def transform(self, table: Columns, notes: list[str]) -> Array:
        sets = [frozenset(words) for words in self.lists.values()]
        found = np.zeros((len(table), len(sets)))
        for row, text in enumerate(to_words(table[self.column])):
            tokens = _TOKEN.findall((text or "").lower())
            found[row] = [not words.isdisjoint(tokens) for words in sets]
        return found
