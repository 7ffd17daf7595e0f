"""Scan the bytes of a CSV file for line ends and quotation marks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.matrix import Array

_QUOTE, _LF, _CR, _SPACE = b'"\n\r '
_PIECE = 1 << 22  # bytes at a time


class Scan(NamedTuple):
    """What a scan of a file found.

    - `has_quotes`: whether there are quotation marks
    - `is_regular`: whether every quotation mark begins or ends a field, or is doubled within one
    - `line_ends`: number of line ends outside quotation marks
    """

    has_quotes: bool
    is_regular: bool
    line_ends: int


def scan(content: Array, delimiter: str) -> Scan:
    """Scan the bytes of a file.

    >>> scan(np.frombuffer(b'a,b\\n1,"x\\ny"\\n', np.uint8), ",")
    Scan(has_quotes=True, is_regular=True, line_ends=2)
    """
    mark = delimiter.encode()
    before, after = set(b"\n\r" + mark[-1:]), set(b"\n\r" + mark[:1])
    n_quotes = n_ends = 0
    is_regular = True
    for start in range(0, len(content), _PIECE):
        piece = content[start : start + _PIECE]
        is_end = piece == _LF
        if _CR in piece[:1] or (piece == _CR).any():
            following = content[start + 1 : start + len(piece) + 1]
            lone = piece == _CR
            lone[: len(following)] &= following != _LF
            is_end |= lone
        quotes = np.flatnonzero(piece == _QUOTE)
        if len(quotes) or n_quotes % 2:
            ends = np.flatnonzero(is_end)
            outside = (np.searchsorted(quotes, ends) + n_quotes) % 2 == 0
            n_ends += int(np.count_nonzero(outside))
        else:
            n_ends += int(np.count_nonzero(is_end))
        is_regular = is_regular and _are_regular(content, quotes + start, n_quotes, before, after)
        n_quotes += len(quotes)
    return Scan(n_quotes > 0, is_regular and n_quotes % 2 == 0, n_ends)


def _are_regular(
    content: Array, quotes: Array, n_before: int, before: set[int], after: set[int]
) -> bool:
    """Return whether quotation marks alternately begin and end a field.

    A doubled quotation mark ends a field and begins it again.
    """
    if not len(quotes):
        return True
    opening = quotes[n_before % 2 :: 2]
    closing = quotes[1 - n_before % 2 :: 2]
    left = content[np.maximum(opening - 1, 0)]
    good = np.isin(left, [*before]) | (opening == 0)
    again = ~good & (left == _QUOTE)  # the quotation mark before it ended the field
    closing_right = content[np.minimum(closing + 1, len(content) - 1)]
    ends = np.isin(closing_right, [*after, _QUOTE]) | (closing == len(content) - 1)
    return bool((good | again).all() and ends.all())


def without_blank_end(content: Array, *, spaces: bool) -> Array:
    """Return the bytes without blank lines at the end. With `spaces`, lines of spaces are blank."""
    end = len(content)
    while end:
        line = end
        while line and content[line - 1] not in (_LF, _CR):
            line -= 1
            if content[line] != _SPACE or not spaces:
                return content[:end]
        end = line - 1 if line else 0
    return content[:0]
