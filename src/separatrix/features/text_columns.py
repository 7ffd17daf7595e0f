"""Convert text columns to TF-IDF weights, counts or hashes with scikit-learn's vectorisers.

A fitted vectoriser is stored as plain data: vocabulary, weights and options. The scikit-learn
object is always rebuilt from this data, even after fitting, so a loaded model gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from separatrix.matrix import Array
from separatrix.readers.columns import Columns, count_missing, to_words
from separatrix.text import counted

WAYS = ("tfidf", "counts", "hashing")
MOST_HASHES = 1 << 24
LONGEST_NGRAM = 10

_TOKENS = r"(?u)\b\w\w+\b"


@dataclass(frozen=True)
class Vectoriser:
    """Convert one text column to features: 'tfidf', 'counts' or 'hashing'.

    >>> table = Columns({"text": ["free money", "free lunch today"]}, text=["text"])
    >>> step = Vectoriser.fit(table, "text", "counts")
    >>> step.names
    ['word:free', 'word:lunch', 'word:money', 'word:today']
    >>> step.transform(table, []).toarray()
    array([[1., 0., 1., 0.],
           [1., 1., 0., 1.]])
    """

    column: str
    way: str
    ngrams: tuple[int, int]
    vocabulary: list[str]  # empty for hashing
    idf: Array | None  # only for tfidf
    n_hashes: int  # 0 unless hashing
    prefix: str = "word"
    kind: ClassVar[str] = "text"
    _made: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_made", self._make())

    @classmethod
    def fit(
        cls,
        table: Columns,
        column: str,
        way: str,
        *,
        ngrams: tuple[int, int] = (1, 1),
        min_documents: int = 1,
        most_words: int | None = None,
        n_hashes: int = 1 << 18,
        prefix: str = "word",
    ) -> Self:
        """Learn the vocabulary of the documents, and the inverse document frequencies for tfidf."""
        if way == "hashing":
            return cls(column, way, ngrams, [], None, n_hashes, prefix)
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        make = TfidfVectorizer if way == "tfidf" else CountVectorizer
        learner = make(
            ngram_range=ngrams, min_df=min_documents, max_features=most_words, token_pattern=_TOKENS
        )
        try:
            learner.fit(_documents(table, column))
        except ValueError as error:
            raise ValueError(
                f"Column {column!r} has no word of two or more letters that occurs in at least "
                f"{min_documents} of the training documents. Choose another text column, or lower "
                "min_documents."
            ) from error
        vocabulary = learner.get_feature_names_out().tolist()
        idf = learner.idf_ if way == "tfidf" else None
        return cls(column, way, ngrams, vocabulary, idf, 0, prefix)

    def _make(self) -> Any:
        from sklearn.feature_extraction.text import (
            CountVectorizer,
            HashingVectorizer,
            TfidfVectorizer,
        )

        common = {"ngram_range": self.ngrams, "token_pattern": _TOKENS}
        if self.way == "hashing":
            return HashingVectorizer(n_features=self.n_hashes, **common)
        places = {word: place for place, word in enumerate(self.vocabulary)}
        if self.way == "counts":
            return CountVectorizer(vocabulary=places, dtype=np.float64, **common)
        made = TfidfVectorizer(vocabulary=places, **common)
        made.idf_ = self.idf
        return made

    @property
    def names(self) -> list[str]:
        if self.way == "hashing":
            return [f"{self.prefix}:hash {place}" for place in range(self.n_hashes)]
        return [f"{self.prefix}:{word}" for word in self.vocabulary]

    def transform(self, table: Columns, notes: list[str]) -> Any:
        return sp.csr_array(self._made.transform(_documents(table, self.column)))


@dataclass
class DocumentCounts:
    """Counts of the words of documents that come in several tables.

    Attributes
    ----------
    documents : the number of documents
    words : for every word, the number of documents that contain it, and how often it occurs
    """

    documents: int = 0
    words: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, table: Columns, column: str, ngrams: tuple[int, int]) -> None:
        """Count the words of more documents."""
        from sklearn.feature_extraction.text import CountVectorizer

        documents = _documents(table, column)
        self.documents += len(documents)
        counter = CountVectorizer(ngram_range=ngrams, token_pattern=_TOKENS)
        try:
            found = counter.fit_transform(documents)
        except ValueError:  # no words
            return
        within = np.bincount(found.indices, minlength=found.shape[1])
        times = np.asarray(found.sum(axis=0)).ravel()
        for word, n, all_times in zip(counter.get_feature_names_out(), within, times):
            before = self.words.get(word, (0, 0))
            self.words[word] = before[0] + int(n), before[1] + int(all_times)

    def vectoriser(self, like: Vectoriser, min_documents: int, most_words: int | None) -> Any:
        """Return a vectoriser with the vocabulary of all documents, as `Vectoriser.fit` learns."""
        kept = sorted(word for word, (n, _) in self.words.items() if n >= min_documents)
        if most_words is not None:
            times = np.array([self.words[word][1] for word in kept])
            kept = [kept[k] for k in np.sort((-times).argsort()[:most_words])]
        idf = None
        if like.way == "tfidf":
            within = np.array([self.words[word][0] for word in kept], np.float64)
            idf = np.log((self.documents + 1) / (within + 1.0)) + 1.0
        return replace(like, vocabulary=kept, idf=idf)


def note_missing_texts(table: Columns, column: str, notes: list[str]) -> None:
    """Add a note if documents are missing. They are read as empty."""
    gaps = count_missing(table[column])
    if gaps:
        notes.append(f"Column {column!r}: read {counted(gaps, 'missing text')} as empty.")


def _documents(table: Columns, column: str) -> list[str]:
    return ["" if text is None else text for text in to_words(table[column])]
