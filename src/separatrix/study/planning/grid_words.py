"""The values of a grid as words: "0.1,0.01", "1e-3..1/7", or "1e-3..1" to draw from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from separatrix.errors import Message, Parameter, ParameterError

_RANGE = re.compile(r"(?P<low>[^/]+?)\.\.(?P<high>[^/]+?)(?:/(?P<count>\d+))?")


def read_values(name: str, given: str, *, drawn: bool = False) -> Any:
    """Return the values of a parameter: a list, or a range to draw from if they are `drawn`.

    >>> read_values("learning_rate", "0.1, 1e-2"), read_values("batch_size", "20,all")
    ([0.1, 0.01], [20, None])
    >>> read_values("l2", "1e-3..1/4")
    [0.001, 0.01, 0.1, 1.0]
    """
    from separatrix.study.planning.grid import Between, log_range  # slow to import

    read = READERS[name]
    found = _RANGE.fullmatch(given.strip())
    try:
        if found is None:
            return [read(word.strip()) for word in given.split(",")]
        low, high = float(found["low"]), float(found["high"])
    except (ValueError, OverflowError):
        raise _refusal(name, given, read) from None
    if read is not float:
        raise _refusal(name, given, read)
    if found["count"] is None and not drawn:
        raise ParameterError(
            Message(
                "{option} is a range: add the number of values, as in {given}/5, or draw from it "
                "with {draws}.",
                option=Parameter(name, given),
                given=given.strip(),
                draws=Parameter("draws"),
            ),
            parameter=name,
        )
    try:
        if found["count"] is not None:
            return log_range(low, high, int(found["count"]))
        return Between(low, high)
    except ValueError as error:
        message = Message("{option}: {why}", option=Parameter(name, given), why=str(error))
        raise ParameterError(message, parameter=name) from None


def write_values(name: str, values: Any) -> str:
    """Return the words for the values of a parameter.

    >>> write_values("batch_size", [20, None]), write_values("l2", [0.001, 0.0])
    ('20,all', '0.001,0')
    """
    listed = values if isinstance(values, list) else [values]
    return ",".join(_word(name, value) for value in listed)


def _word(name: str, value: Any) -> str:
    if value is None:
        return "all" if name == "batch_size" else "none"
    if hasattr(value, "low"):
        return f"{_digits(value.low)}..{_digits(value.high)}"
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float) -> str:
    """Return the shortest word that is read as the same number."""
    return repr(value).removesuffix(".0")


def _whole(word: str) -> int:
    number = float(word)
    if number != int(number):
        raise ValueError
    return int(number)


def _whole_or(none: str) -> Callable[[str], int | None]:
    return lambda word: None if word == none else _whole(word)


# How a value of each parameter is read from a word.
READERS: dict[str, Callable[[str], Any]] = {
    "loss": str,
    "rule": str,
    "schedule": str,
    "learning_rate": float,
    "momentum": float,
    "batch_size": _whole_or("all"),
    "C": float,
    "l1": float,
    "l2": float,
    "patience": _whole_or("none"),
    "epochs": _whole,
}


def _refusal(name: str, given: str, read: Callable[[str], Any]) -> ParameterError:
    example = {"batch_size": "1,32,all", "patience": "5,none", "epochs": "100,500"}.get(name)
    message = Message(
        "{option} takes {what} separated by commas, such as {example}. Got '{given}' instead.",
        option=Parameter(name),
        what="words" if read is str else "numbers",
        example=example or ("hinge,logistic" if read is str else "0.1,0.01 or 1e-4..1e-1/4"),
        given=given[:100],
    )
    return ParameterError(message, parameter=name)
