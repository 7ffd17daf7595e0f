"""Formatting of numbers, counts, lists and configurations, and escaping of unsafe text."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context
from itertools import islice
from typing import Any

# Characters that a terminal interprets or that are invisible: control characters except tab and
# newline, marks that change the direction of writing, invisible characters, and surrogates, which
# cannot be encoded. The joiners U+200C and U+200D are kept because Persian and Hindi need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

# Short names for narrow columns and lines.
SHORT = {
    "learning_rate": "rate",
    "momentum": "mom.",
    "batch_size": "batch",
    "multiclass": "multi",
}
_NONE_MEANS = {"batch_size": "all"}  # None means "none" for the other parameters


def describe_configuration(configuration: Mapping[str, Any], *, short: bool = False) -> str:
    """Return a configuration in words.

    >>> describe_configuration({"learning_rate": 0.1, "batch_size": None})
    'learning rate 0.1, batch size all'
    >>> describe_configuration({"learning_rate": 0.1, "batch_size": None}, short=True)
    'rate 0.1, batch all'
    """
    return ", ".join(
        f"{short_name(name) if short else name.replace('_', ' ')} {value_words(name, value)}"
        for name, value in configuration.items()
    )


def short_name(name: str) -> str:
    """Return the short name of a parameter.

    >>> short_name("learning_rate"), short_name("l2")
    ('rate', 'l2')
    """
    return SHORT.get(name, name.replace("_", " "))


def value_words(name: str, value: Any) -> str:
    """Return the value of a parameter in words.

    >>> value_words("batch_size", None), value_words("patience", None), value_words("l2", 1e-4)
    ('all', 'none', '0.0001')
    """
    return f"{value:g}" if isinstance(value, float) else str(value_cell(name, value))


def value_cell(name: str, value: Any) -> Any:
    """Return the value of a parameter for a cell of a file; numbers keep all their digits.

    >>> value_cell("batch_size", None), value_cell("l2", 1 / 3)
    ('all', 0.3333333333333333)
    """
    return _NONE_MEANS.get(name, "none") if value is None else value


def counted(count: int, thing: str, things: str = "") -> str:
    """Return a count with its noun.

    >>> counted(1, "class", "classes"), counted(1234, "row")
    ('1 class', '1,234 rows')
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def listed(names: Iterable[Any], most: int | None = None) -> str:
    """Return names separated by commas, at most the first `most` of them.

    >>> listed(["age", "job"]), listed(map(repr, "abc"), 2)
    ('age, job', "'a', 'b', ...")
    """
    words = list(map(str, names if most is None else islice(names, most + 1)))
    return ", ".join(words[:most]) + (", ..." if most is not None and len(words) > most else "")


def percent(share: float, digits: int = 1) -> str:
    """Return a fraction in per cent; only 0 and 1 are written as 0 % and 100 %.

    >>> percent(0.98765), percent(1.0), percent(0.99997), percent(3e-5, 2)
    ('98.8 %', '100.0 %', '> 99.9 %', '< 0.01 %')
    """
    rounded, least = f"{100.0 * share:.{digits}f}", 10.0**-digits
    if share < 1.0 and float(rounded) == 100.0:
        return f"> {100.0 - least:.{digits}f} %"
    if share > 0.0 and float(rounded) == 0.0:
        return f"< {least:.{digits}f} %"
    return f"{rounded} %"


def number(value: float, digits: int = 4) -> str:
    """Return a number with a few significant digits; those below ten million are written out.

    >>> number(0.123456), number(56473.2, 3), number(1.656e-5), number(2.5e9)
    ('0.1235', '56,500', '1.656e-05', '2.5e+09')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 10.0**digits <= abs(rounded) < 1e7 else f"{value:.{digits}g}"


def seconds(value: float) -> str:
    """Return a time in seconds.

    >>> seconds(0.123), seconds(75.2)
    ('0.12 s', '75 s')
    """
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def named_class(label: Any) -> str:
    """Return a class for use in a sentence; numbers and booleans get the word "class".

    >>> named_class("ham"), named_class(6), named_class(1.0), named_class("6"), named_class(True)
    ('ham', 'class 6', 'class 1', 'class 6', 'class True')
    """
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    is_number = re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", str(label)) is not None
    return f"class {label}" if is_number or isinstance(label, bool) else str(label)


def shell_command(*words: str) -> str:
    """Return a command that can be copied into a terminal; names with spaces are quoted.

    >>> shell_command("studies", "show", "two rates")
    "separatrix studies show 'two rates'"
    """
    return shlex.join(["separatrix", *words])


def printable(text: str) -> str:
    """Escape the characters that a terminal would interpret or not show.

    Names and texts can come from untrusted files. Newlines and tabs are kept for layouts; use
    `one_line` to escape them as well.

    >>> printable("\x1b[31mfree")
    '\\\\x1b[31mfree'
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Escape newlines and tabs too, for names within a line or a table.

    >>> one_line("two\\nlines")
    'two\\\\nlines'
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def printable_json(text: str) -> str:
    """Escape the same characters in JSON without changing its meaning.

    >>> print(printable_json('"\\x9b"'))
    "\\u009b"
    """
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def quoted(value: Any, most: int = 60) -> str:
    """Return the `repr` of a value, shortened if it is long.

    >>> quoted("a, b"), quoted(list(range(100)), 12)
    ("'a, b'", '[0, 1, 2, 3…')
    """
    return clipped(" ".join(repr(value).split()), most)


def clipped(text: str, most: int) -> str:
    """Return text shortened to at most `most` characters.

    >>> clipped("separatrix", 6)
    'separ…'
    """
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def certain_digits(value: float, radius: float, most: int = 4) -> str:
    """Format a number with the digits that it has everywhere within a radius.

    If it has none, the radius is added, rounded up.

    >>> certain_digits(0.123456, 1e-9), certain_digits(0.123456, 1e-3), certain_digits(0.14, 0.304)
    ('0.1235', '0.12', '0.14 ± 0.31')
    """
    for digits in range(most, 0, -1):
        low, high = (f"{value + side * radius:.{digits}g}" for side in (-1.0, 1.0))
        if low == high:
            return low
    shown = round(value, 1 - math.floor(math.log10(radius)))
    up = Context(prec=2, rounding=ROUND_CEILING)
    wide = float(up.create_decimal_from_float(radius + abs(value - shown)))
    return f"{shown:g} ± {wide:g}"
