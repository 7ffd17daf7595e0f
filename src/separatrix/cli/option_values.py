"""Parsing of option values: numbers, columns, sizes, proportions and word lists."""

import math
import re
from pathlib import Path

from separatrix.cli.command_decorator import UsageError


def numbers(name: str, given: str) -> list[float]:
    """Parse numbers separated by commas; drop duplicates.

    >>> numbers("C", "0.1, 1,inf,1.0")
    [0.1, 1.0, inf]
    """
    try:
        return list(dict.fromkeys(float(part) for part in given.split(",")))
    except ValueError:
        raise UsageError(
            f"--{name} takes numbers separated by commas, such as 0.1,1,10. Got '{given}' instead."
        ) from None


def label_column(given: str | None) -> str | int | bool | None:
    """Parse a label column: a name or a position; False for 'none'."""
    if given is None or given.lower() == "none":
        return None if given is None else False
    return int(given) if re.fullmatch(r"-?\d+", given) else given


def delimiter(given: str) -> str:
    """Parse a delimiter: one character, or its name."""
    character = {"tab": "\t", "\\t": "\t", "space": " "}.get(given, given)
    if len(character) != 1 or character in '\r\n"':
        raise UsageError(f"--delimiter takes one character, or 'tab'. Got '{given}' instead.")
    return character


def column_type(given: str) -> tuple[str, str]:
    """Parse the type of a column.

    >>> column_type("a=b=number")
    ('a=b', 'number')
    """
    name, mark, kind = given.rpartition("=")
    if not (name and mark and kind):
        raise UsageError(f"--type takes COLUMN=TYPE, such as age=number. Got '{given}' instead.")
    return name, kind


def image_size(given: str) -> tuple[int, int]:
    """Parse a width and a height.

    >>> image_size("28x20")
    (28, 20)
    """
    found = re.fullmatch(r"0*([1-9]\d*)x0*([1-9]\d*)", given)
    if found is None:
        raise UsageError(f"--size takes width and height, such as 28x28. Got '{given}' instead.")
    return int(found[1]), int(found[2])


def proportions(given: str) -> tuple[float, ...]:
    """Parse three proportions, and divide them by their sum.

    >>> proportions("80/10/10")
    (0.8, 0.1, 0.1)
    """
    try:
        parts = [float(part) for part in re.split("[/,:]", given)]
    except ValueError:
        parts = []
    total = sum(parts)
    if len(parts) != 3 or min(parts) < 0 or parts[0] == 0 or not 0 < total < math.inf:
        raise UsageError(
            "--split takes three proportions (of training, validation and test rows), such as "
            f"80/10/10. Got '{given}' instead."
        )
    return tuple(part / total for part in parts)


def word_list(given: str) -> tuple[str, list[str]]:
    """Parse a named word list; its words may come from a file."""
    name, mark, words = given.partition("=")
    if not (name and mark and words):
        raise UsageError(f"--word-list takes NAME=WORD,WORD or NAME=@FILE. Got '{given}' instead.")
    if words.startswith("@"):
        lines = Path(words[1:]).read_text(encoding="utf-8").splitlines()
        return name, [line.strip() for line in lines if line.strip()]
    return name, [word.strip() for word in words.split(",") if word.strip()]
