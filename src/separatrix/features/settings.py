"""The settings of a preparation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.features.text_columns import LONGEST_NGRAM, MOST_HASHES, WAYS

Missing = Literal["mean", "median", "refuse"]


@dataclass(frozen=True)
class Settings:
    """How a table is converted to a feature matrix.

    - `standardise`: subtract the mean of every numeric column and divide by its standard deviation
    - `missing`: fill missing numbers with the 'mean' or 'median', missing categories with the most
      frequent one, and read missing texts as empty; 'refuse' raises an error instead
    - `categories`: columns of numbers that are codes, and are read as categories
    - `text`: 'tfidf', 'counts' or 'hashing'; with 'none', text is used by `word_lists` only
    - `word_lists`: lists of words by name; a feature is 1 if the text contains a word of the list
    - `ngrams`: lengths of the shortest and longest sequence of words that becomes a feature
    - `min_documents`: minimum number of training documents that contain a word
    - `most_words`: maximum number of words (the most frequent are kept); None for no limit
    - `n_hashes`: number of features with 'hashing'
    - `constant`: whether to add a first column that is always 1 (models here already have a bias)
    - `divide`: divisor of the entries of a matrix; None means 255 for bytes, as in images, and 1
      for other types
    """

    standardise: bool = False
    missing: Missing = "mean"
    categories: Collection[str] = ()
    text: str = "tfidf"
    word_lists: Mapping[str, Collection[str]] = field(default_factory=dict)
    ngrams: tuple[int, int] = (1, 1)
    min_documents: int = 1
    most_words: int | None = None
    n_hashes: int = 1 << 18
    constant: bool = False
    divide: float | None = None

    def __post_init__(self) -> None:
        low, high = self.ngrams
        _require("missing", self.missing, self.missing in get_args(Missing), get_args(Missing))
        _require("text", self.text, self.text in (*WAYS, "none"), (*WAYS, "none"))
        good = 1 <= low <= high <= LONGEST_NGRAM
        _require("ngrams", self.ngrams, good, f"1 <= low <= high <= {LONGEST_NGRAM}")
        _require("min_documents", self.min_documents, self.min_documents >= 1, ">= 1")
        good = self.most_words is None or self.most_words >= 1
        _require("most_words", self.most_words, good, ">= 1 or None")
        good = 1 <= self.n_hashes <= MOST_HASHES
        _require("n_hashes", self.n_hashes, good, f"from 1 to {MOST_HASHES}")
        good = self.divide is None or 0 < self.divide < np.inf
        _require("divide", self.divide, good, "> 0 and finite, or None")


def _require(name: str, value: Any, good: bool, allowed: Any) -> None:
    if not good:
        allowed = allowed if isinstance(allowed, str) else "one of " + ", ".join(allowed)
        raise ParameterError(
            Message(
                "The setting {setting:quoted} must be {allowed}. Got {given!r} instead.",
                setting=Parameter(name, of="Settings"),
                allowed=allowed,
                given=value,
            )
        )
