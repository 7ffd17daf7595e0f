"""Read cells as categories or text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.cells.missing_words import (
    AMBIGUOUS_WORDS,
    CATEGORY_SHARE,
    MISSING_WORDS,
    is_missing_word,
)

_WORDS_OF_TEXT = 4  # average per cell; names and addresses have fewer
_LOOKED_AT = 2000  # number of cells that are examined to recognise text


def count_words(cells: CodedCells, wanted: Collection[str]) -> Counter[str]:
    """Count how often each of the wanted words occurs, as it is written."""
    counts: Counter[str] = Counter()
    for place in np.flatnonzero(cells.is_missing(tuple(wanted)) & ~cells.is_missing(())):
        if cells.counts[place]:
            counts[cells.words[int(place)].as_py()] += int(cells.counts[place])
    return counts


def count_trimmed(cells: CodedCells) -> Counter[str]:
    """Count the cells that are equal to others without the spaces around them, as written."""
    counts: Counter[str] = Counter()
    for place in np.flatnonzero(cells.merged_by_trimming()).tolist():
        counts[cells.written[place].as_py()] += int(cells.counts[place])
    return counts


def frequent_words(cells: CodedCells, missing: tuple[str, ...]) -> Counter[str]:
    """Count the words for missing values that are categories of their own in a column."""
    if missing != MISSING_WORDS:  # the user has decided
        return Counter()
    counts: Counter[str] = Counter()
    for word, n in count_words(cells, AMBIGUOUS_WORDS).items():
        counts[word.lower()] += n
    least = CATEGORY_SHARE * len(cells.codes)
    return Counter({word: n for word, n in counts.items() if n >= least})


def looks_like_text(values: Array) -> bool:
    """Return whether strings are documents: mostly different, with several words."""
    some = [text for text in values[:_LOOKED_AT] if text is not None]
    present = [text for text in some if not is_missing_word(text, MISSING_WORDS)]
    n_words = sum(len(text.split()) for text in present)
    return 2 * len(set(present)) > len(present) and n_words >= _WORDS_OF_TEXT * len(present)
