"""The words for a missing value in a table.

    ABSENT            always a missing value, except in a text column
    AMBIGUOUS_WORDS   a missing value in a column of numbers or dates; in a column of categories,
                      a category of its own if at least 1 % of the cells contain it

Capital letters and spaces around a word do not matter. Empty cells are always missing.
"""

from __future__ import annotations

from collections.abc import Collection

ABSENT = ("na", "n/a", "#n/a", "<na>", "nan", "null", "?")
AMBIGUOUS_WORDS = (
    *("-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", ".", "none", "nil", "unknown", "missing"),
)
MISSING_WORDS = (*ABSENT, *AMBIGUOUS_WORDS)

CATEGORY_SHARE = 0.01  # an ambiguous word is a category if it has at least this share of the cells


def is_missing_word(cell: str, words: Collection[str] = ABSENT) -> bool:
    """Return whether a cell is empty or one of the words for a missing value.

    >>> is_missing_word(" #N/A "), is_missing_word("none"), is_missing_word("none", MISSING_WORDS)
    (True, False, True)
    """
    word = cell.strip().lower()
    return not word or word in words
