"""Scan the bytes of a CSV file for line ends, quotation marks and leading zeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.matrix import Array

_QUOTE, _LF, _CR, _SPACE, _ZERO = b'"\n\r 0'
_PIECE = 1 << 22  # bytes at a time
_SMALL_PIECE = 1 << 18  # bytes that fit into the processor's cache with their masks


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
            n_ends += len(_outside(quotes, n_quotes, np.flatnonzero(is_end)))
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


def columns_with_leading_zeros(content: Array, delimiter: str, *, quotes: bool) -> set[int]:
    """Return the places of the columns in which a cell begins with a zero and another digit.

    Columns in which such digits follow a space, or a delimiter or line end of a cell in quotation
    marks, are also returned. `quotes` says whether there are such cells.

    >>> content = np.frombuffer(b'0.5,7,x,"1,5"\\n1,007,y,2\\n', np.uint8)
    >>> columns_with_leading_zeros(content, ",", quotes=True)
    {1}
    """
    mark = delimiter.encode()[-1]
    zeros = _leading_zeros(content, mark)
    columns: set[int] = set()
    place = n_quotes = 0  # delimiters in the row, and quotation marks, before a piece
    for start in range(0, len(content) if len(zeros) else 0, _SMALL_PIECE):
        piece = content[start : start + _SMALL_PIECE]
        at_quotes = np.flatnonzero(piece == _QUOTE) if quotes else np.empty(0, np.intp)
        marks = _outside(at_quotes, n_quotes, np.flatnonzero(piece == mark))
        ends = _outside(at_quotes, n_quotes, np.flatnonzero((piece == _LF) | (piece == _CR)))
        first, last = np.searchsorted(zeros, (start, start + len(piece)))
        at = np.append(zeros[first:last] - start, len(piece))
        marks_before_row = np.concatenate(([-place], np.searchsorted(marks, ends)))
        places = np.searchsorted(marks, at) - marks_before_row[np.searchsorted(ends, at)]
        columns.update(places[:-1].tolist())
        place = int(places[-1])
        n_quotes += len(at_quotes)
    return columns


def _leading_zeros(content: Array, mark: int) -> Array:
    """Return where a zero begins a cell or a word of it and another digit follows."""
    found = [np.empty(0, np.intp)]
    for start in range(0, len(content), _SMALL_PIECE):
        piece = content[start : start + _SMALL_PIECE + 2]
        before = piece[:-2]
        begins = before == mark
        for byte in (_LF, _CR, _QUOTE, _SPACE):
            begins |= before == byte
        begins &= piece[1:-1] == _ZERO
        if begins.any():
            zeros = np.flatnonzero(begins) + 1
            digits = piece[zeros + 1] - np.uint8(_ZERO) < 10
            found.append(zeros[digits] + start)
    return np.concatenate(found)


def _outside(quotes: Array, n_before: int, places: Array) -> Array:
    """Return those of some places in a piece that are not between quotation marks."""
    if not len(quotes) and not n_before % 2:
        return places
    return places[(np.searchsorted(quotes, places) + n_before) % 2 == 0]


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
