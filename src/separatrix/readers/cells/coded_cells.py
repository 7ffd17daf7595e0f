"""The cells of a column, with each different cell stored once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.matrix import Array

_LOOKED_AT = 2000  # different cells in a sample


@dataclass(frozen=True, eq=False)
class CodedCells:
    """The different cells of a column without spaces around them, and which row has which.

    Attributes
    ----------
    words : the different cells as a pyarrow array; the last one is missing
    counts : how many rows have each of them
    codes : position in `words` for every row
    written : `words` with the spaces around them; None if there are none
    """

    words: Any
    counts: Array
    codes: Array
    written: Any = None

    @classmethod
    def of(cls, cells: Any) -> CodedCells:
        """Encode a pyarrow array of strings, which may be encoded already.

        >>> coded = CodedCells.of(pa.array([" u", "v", None, "u"]))
        >>> coded.words.to_pylist(), coded.counts, coded.expand(coded.is_missing(()))
        (['u', 'v', 'u', None], array([1, 1, 1, 1]), array([False, False,  True, False]))
        """
        if isinstance(cells, CodedCells):
            return cells
        if isinstance(cells, pa.ChunkedArray):
            if pa.types.is_dictionary(cells.type):
                cells = cells.unify_dictionaries()
            cells = cells.combine_chunks() if cells.num_chunks != 1 else cells.chunk(0)
        if isinstance(cells, pa.ChunkedArray):  # some versions return one chunk
            cells = cells.chunk(0)
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        written = coded.dictionary.cast(pa.large_string())
        words = pc.utf8_trim_whitespace(written)
        is_trimmed = not words.equals(written)
        words = pc.if_else(pc.equal(words, ""), None, words)
        codes = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        words, written = (
            pa.concat_arrays([each, pa.nulls(1, each.type)]) for each in (words, written)
        )
        counts = np.bincount(codes, minlength=len(words))
        return cls(words, counts, codes, written if is_trimmed else None)

    def __len__(self) -> int:
        return len(self.codes)

    def filter(self, keep: Any) -> CodedCells:
        """Return the rows in which a pyarrow array of booleans is true."""
        codes = self.codes[keep.to_numpy(zero_copy_only=False)]
        counts = np.bincount(codes, minlength=len(self.words))
        return CodedCells(self.words, counts, codes, self.written)

    @property
    def n_present(self) -> int:
        """Number of rows with a cell that is not empty."""
        return self.count(~self.is_missing(()))

    def count(self, mask: Array) -> int:
        """Return how many rows have one of the masked cells."""
        return int(self.counts[mask].sum())

    def is_missing(self, missing: tuple[str, ...]) -> Array:
        """Return a mask of the cells that are empty or words for missing values."""
        empty = self.words.is_null().to_numpy(zero_copy_only=False)
        if not missing:
            return empty
        known = pa.array(missing, self.words.type)
        found = pc.is_in(pc.utf8_lower(self.words), value_set=known)
        return empty | found.to_numpy(zero_copy_only=False)

    def without(self, mask: Array) -> CodedCells:
        """Return the same cells, with the masked ones missing."""
        words = pc.if_else(pa.array(~mask), self.words, None)
        return CodedCells(words, self.counts, self.codes, self.written)

    def merged_by_trimming(self) -> Array:
        """Return a mask of the cells with spaces that are equal to other cells without the spaces.

        >>> coded = CodedCells.of(pa.array(["u", "v ", "u ", "u"]))
        >>> coded.words.to_pylist(), coded.merged_by_trimming()
        (['u', 'v', 'u', None], array([False, False,  True, False]))
        """
        none = np.zeros(len(self.words), dtype=bool)
        if self.written is None:
            return none
        words = pc.if_else(pa.array(self.counts > 0), self.words, None)
        times = pc.value_counts(pc.drop_null(words))
        values, counts = times.field("values"), times.field("counts")
        again = values.filter(pc.greater(counts, 1))
        if not len(again):
            return none
        merged = pc.and_(pc.is_in(words, value_set=again), pc.not_equal(words, self.written))
        found: Array = pc.fill_null(merged, False).to_numpy(zero_copy_only=False)
        return found

    def sample(self) -> Any:
        """Return different cells that are not missing, taken from everywhere in a column."""
        cells = pc.drop_null(self.words)
        if len(cells) <= _LOOKED_AT:
            return cells
        return pc.take(cells, np.linspace(0, len(cells) - 1, _LOOKED_AT).astype(np.int64))

    def expand(self, values: Array) -> Array:
        """Return values of the different cells as values of the rows."""
        found: Array = values[self.codes]
        return found

    def objects(self) -> Array:
        """Return the cells of the rows as strings, with None for a missing cell."""
        words = self.words.to_pylist()
        return self.expand(np.fromiter(words, dtype=object, count=len(words)))


def cells_of(values: Array) -> Any:
    """Return an object array of strings as cells."""
    return pa.array(values, pa.string(), from_pandas=True)


def word_at(cells: Any, row: int) -> str:
    """Return the cell of a row without spaces around it."""
    word = cells.words[int(cells.codes[row])] if isinstance(cells, CodedCells) else cells[row]
    return str(word.as_py()).strip()


def equal_rows(cells: Any, word: str) -> Array:
    """Return a mask of the rows whose cell is equal to a word."""
    return _rows(cells, lambda words: pc.equal(pc.utf8_trim_whitespace(words), word))


def rows_as_written(cells: Any, word: str) -> Array:
    """Return a mask of the rows whose cell is equal to a word, with the spaces around it."""
    if isinstance(cells, CodedCells):
        words = cells.words if cells.written is None else cells.written
        return cells.expand(_rows(words, lambda each: pc.equal(each, word)))
    return _rows(cells, lambda each: pc.equal(each, word))


def matching_rows(cells: Any, pattern: str) -> Array:
    """Return a mask of the rows whose cell matches a regular expression."""
    return _rows(cells, lambda words: pc.match_substring_regex(words, pattern))


def _rows(cells: Any, test: Callable[[Any], Any]) -> Array:
    if isinstance(cells, CodedCells):
        return cells.expand(_rows(cells.words, test))
    found = pc.fill_null(test(cells), False)
    if isinstance(found, pa.ChunkedArray):
        return np.asarray(found.to_numpy())
    return np.asarray(found.to_numpy(zero_copy_only=False))
