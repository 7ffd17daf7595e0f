"""Format numbers, sentences and tables as plain text, and results as JSON values."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from separatrix.text import one_line, printable

DIGITS = 5
_GAP = "  "
_LEAST = 8  # columns are not cut to fewer characters


def number(value: Any) -> str:
    """Format a number, or nested tuples of numbers, with five significant digits.

    >>> number(-0.3949271), number((1.0, 0.82)), number(None)
    ('-0.39493', '(1, 0.82)', '')
    """
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(number, value))})"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value + 0.0:.{DIGITS}g}"  # -0 becomes 0
    return one_line(str(value))


def change(before: float, after: float, digits: int = DIGITS) -> tuple[str, str]:
    """Format two numbers, with more digits if different numbers would look the same.

    >>> change(0.00010812345, 0.00010812344)
    ('0.00010812345', '0.00010812344')
    """
    written = f"{before:.{digits}g}", f"{after:.{digits}g}"
    if written[0] == written[1] and before != after and digits < 17:
        return change(before, after, digits + 1)
    return written


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], width: int) -> list[str]:
    """Return the lines of a table, with numbers aligned right. Wide columns are cut to fit."""
    given = [list(row) for row in rows]
    cells = [[number(cell) for cell in row] for row in given]
    sizes = [max(map(len, column)) for column in zip(header, *cells)]
    while sum(sizes) + len(_GAP) * (len(sizes) - 1) > width and max(sizes) > _LEAST:
        sizes[sizes.index(max(sizes))] -= 1
    right = [all(not isinstance(row[j], str) for row in given) for j in range(len(header))]
    lines = [list(map(one_line, header)), *cells]
    return [
        _GAP.join(
            cut(cell, size).rjust(size) if aside else cut(cell, size).ljust(size)
            for cell, size, aside in zip(line, sizes, right)
        ).rstrip()
        for line in lines
    ]


def cut(text: str, size: int) -> str:
    """Cut text to `size` characters."""
    text = one_line(text)
    return text if len(text) <= size else text[: max(size - 1, 0)] + "…"


def wrapped(sentence: str, width: int) -> list[str]:
    """Wrap a sentence into lines of at most `width` characters."""
    return textwrap.wrap(printable(sentence), max(width, 20)) or [""]


def to_builtin(value: Any) -> Any:
    """Convert numpy arrays and numbers to Python tuples and numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(to_builtin(item) for item in value)
    return value


def facts(value: Any) -> Any:
    """Convert a dataclass and its contents to JSON values. NaN and infinity become None.

    >>> facts({"loss": math.inf, "rows": (1, 0.5)})
    {'loss': None, 'rows': (1, 0.5)}
    """
    value = to_builtin(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: facts(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): facts(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(facts(item) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
