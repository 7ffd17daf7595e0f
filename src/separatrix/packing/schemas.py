"""Schemas convert objects to plain values, and restore them with every part checked.

A file may contain anything. So `unpack` of a schema either restores the object that was given to
`pack`, or raises a ValueError that names the part, what it must be and what it is.

    >>> from collections import namedtuple
    >>> Point = namedtuple("Point", "name x")
    >>> POINT = record(Point, {"name": TEXT, "x": optional(NUMBER)})
    >>> POINT.pack(Point("a", 0.5))
    {'name': 'a', 'x': 0.5}
    >>> POINT.unpack({"name": "a", "x": "half"}, "point")
    Traceback (most recent call last):
        ...
    ValueError: point.x must be a number. Got 'half' instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.text import quoted


@dataclass(frozen=True)
class Schema:
    """How a type of object is written and read.

    Attributes
    ----------
    pack : function that converts the object to plain values
    unpack : function that restores the object from a value, or raises a ValueError; its second
        argument is the name of the value for the message
    """

    pack: Callable[[Any], Any]
    unpack: Callable[[Any, str], Any]

    def such_that(self, good: Callable[[Any], Any], demand: str) -> Schema:
        """Return the same schema with a check. Its error reads "<name> must <demand>"."""

        def unpack(value: Any, where: str) -> Any:
            found = self.unpack(value, where)
            if not good(found):
                raise schema_error(where, demand, value)
            return found

        return replace(self, unpack=unpack)


def schema_error(where: str, demand: str, got: Any) -> ValueError:
    """Return the error for an invalid value.

    >>> schema_error("coef_", "be a matrix", np.zeros(3))
    ValueError('coef_ must be a matrix. Got an array of shape (3,) and type float64 instead.')
    """
    shown = quoted(got)
    if isinstance(got, np.ndarray):
        shown = f"an array of shape {got.shape} and type {got.dtype}"
    elif isinstance(got, dict):
        shown = f"a dict with the keys {quoted(list(got))}"
    return ValueError(f"{where} must {demand}. Got {shown} instead.")


ANYTHING = Schema(lambda value: value, lambda value, where: value)


def validated(what: str, good: Callable[[Any], bool]) -> Schema:
    """Return the schema of a value that is written as it is and must be `good`."""
    return ANYTHING.such_that(good, f"be {what}")


def is_array(value: Any, kinds: str, ndim: int, *, finite: bool = False) -> bool:
    """Return whether a value is an array with `ndim` axes and one of numpy's type kinds."""
    good = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == ndim
    return good and (not finite or bool(np.isfinite(value).all()))


def is_integer(value: Any, low: int, high: int) -> bool:
    """Return whether a value is an integer, of Python or numpy, from `low` to `high`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and bool(low <= value <= high)


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float (including NaN), of Python or numpy."""
    return isinstance(value, (float, np.floating, int)) and not isinstance(value, bool)


def is_text(value: Any) -> bool:
    """Return whether a value is text."""
    return isinstance(value, str)


# Subclasses of str, such as messages, are written as plain text.
TEXT = replace(validated("text", is_text), pack=lambda text: str(text) if is_text(text) else text)
TRUTH = validated("true or false", lambda value: isinstance(value, bool))
COUNT = validated("a whole number >= 0", lambda value: is_integer(value, 0, np.iinfo(np.int64).max))
NUMBER = validated("a number", lambda value: is_number(value) and not math.isnan(value))
FLOAT = validated("a number or NaN", is_number)


def integer(low: int, high: int) -> Schema:
    """Return the schema of an integer from `low` to `high`."""
    return validated(f"an integer from {low} to {high}", lambda value: is_integer(value, low, high))


def choice(*allowed: str) -> Schema:
    """Return the schema of one of the allowed texts."""
    return validated(
        f"one of {', '.join(allowed)}", lambda value: is_text(value) and value in allowed
    )


def array(kinds: str, ndim: int, *, finite: bool = False) -> Schema:
    """Return the schema of an array with `ndim` axes and one of numpy's type kinds ("f", "i")."""
    words = {"f": "numbers", "i": "whole numbers", "iu": "whole numbers", "b": "booleans"}
    what = f"{'finite ' if finite else ''}{words.get(kinds, 'numbers')}"
    axes = "axis" if ndim == 1 else "axes"
    return validated(
        f"an array of {what} with {ndim} {axes}",
        lambda value: is_array(value, kinds, ndim, finite=finite),
    )


def optional(schema: Schema) -> Schema:
    """Return the same schema, which also allows None."""
    return Schema(
        lambda value: None if value is None else schema.pack(value),
        lambda value, where: None if value is None else schema.unpack(value, where),
    )


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list of objects of one type. Tuples are also written as lists."""

    def unpack(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise schema_error(where, "be a list", value)
        return [schema.unpack(part, f"{where}.{k}") for k, part in enumerate(value)]

    return Schema(lambda value: [schema.pack(part) for part in value], unpack)


def dict_of(schema: Schema) -> Schema:
    """Return the schema of a dict from text to objects of one type."""

    def unpack(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not all(map(is_text, value)):
            raise schema_error(where, "be a dict with text keys", value)
        return {name: schema.unpack(part, f"{where}.{name}") for name, part in value.items()}

    return Schema(lambda value: {name: schema.pack(part) for name, part in value.items()}, unpack)


def record(
    make: Callable[..., Any],
    parts: Mapping[str, Schema],
    take: Callable[[Any], Mapping[str, Any]] | None = None,
    *,
    added: Sequence[str] = (),
) -> Schema:
    """Return the schema of an object with named parts, stored as a dict with exactly these keys.

    `take` returns the parts of an object; the default is its attributes. `make` makes the object
    from the parts, given as keyword arguments. Older files may lack the parts that are named in
    `added`, for which `make` has a default.
    """

    def pack(value: Any) -> dict[str, Any]:
        found = take(value) if take else {name: getattr(value, name) for name in parts}
        return {name: part.pack(found[name]) for name, part in parts.items()}

    def unpack(value: Any, where: str) -> Any:
        missing = {name for name in added if isinstance(value, dict) and name not in value}
        stored = {name: part for name, part in parts.items() if name not in missing}
        found = fields_of(value, where, *stored)
        return make(
            **{
                name: part.unpack(each, f"{where}.{name}")
                for (name, part), each in zip(stored.items(), found)
            }
        )

    return Schema(pack, unpack)


def fields_of(value: Any, where: str, *names: str) -> list[Any]:
    """Return the values of a dict that must have exactly these keys."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise schema_error(where, f"have exactly the parts {', '.join(names)}", value)
    return [value[name] for name in names]
