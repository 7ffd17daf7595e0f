"""Errors about parameters, and messages that know which of their words name parameters.

A message is written once, with the parameters as data. As text it uses the words of Python ("give
header=False"). The command line writes its options instead ("give --no-header").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NAMING_FORMS = ("=", "quoted", "subject")  # forms that name a parameter without its value
_NO_VALUE: Any = object()


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message, with or without a value.

    The format specification selects the form: nothing, "=", "quoted", "subject", or a format for
    the value. `of` names the owner of the parameter if two parameters have the same name.

    >>> C = Parameter("C", 0.25)
    >>> f"{Parameter('C')}, {C}, {C:.1g}, {C:=}, {C:quoted}, {C:subject}"
    "C, C=0.25, C=0.2, C=, 'C', The 'C' parameter"
    """

    name: str
    value: Any = _NO_VALUE
    of: str = ""

    @property
    def has_value(self) -> bool:
        return self.value is not _NO_VALUE

    def __format__(self, form: str) -> str:
        named = {"=": f"{self.name}=", "quoted": repr(self.name)}
        named["subject"] = f"The {self.name!r} parameter"
        if form in named or not self.has_value:
            return named.get(form, self.name)
        return f"{self.name}={format(Value(self.value), form)}"

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class ParameterNames:
    """Several parameters as a message lists them.

    >>> str(ParameterNames(["C", "tol"])), str(ParameterNames([]))
    ('C, tol', 'none')
    """

    names: Sequence[str]

    def __str__(self) -> str:
        return ", ".join(self.names) or "none"


@dataclass(frozen=True)
class Value:
    """The value of a parameter, written as in Python.

    >>> str(Value("hinge")), str(Value(math.inf))
    ("'hinge'", 'np.inf')
    """

    value: Any

    def __format__(self, form: str) -> str:
        if form:
            return format(self.value, form)
        infinite = isinstance(self.value, float) and self.value == math.inf
        return "np.inf" if infinite else repr(self.value)

    def __str__(self) -> str:
        return format(self)


Named = Parameter | ParameterNames | Value


class Message(str):
    """A sentence whose {placeholders} are values, some of them parameters.

    As a string it uses the words of Python.

    >>> message = Message("{path}: if it is data, give {header}.", path="a.csv",
    ...                   header=Parameter("header", False))
    >>> message
    'a.csv: if it is data, give header=False.'
    >>> message.render(lambda named: f"<{named}>")
    'a.csv: if it is data, give <header=False>.'
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> Message:
        self = super().__new__(cls, template.format(**values))
        self.template, self.values = template, values
        return self

    def render(self, write: Callable[[Named], Any]) -> str:
        """Return the text, calling `write` for each parameter."""
        rendered = {
            name: value.render(write)
            if isinstance(value, Message)
            else write(value)
            if isinstance(value, Named)
            else value
            for name, value in self.values.items()
        }
        return self.template.format(**rendered)

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters that the message names, in order."""
        for value in self.values.values():
            if isinstance(value, Message):
                yield from value.parameters()
            elif isinstance(value, Parameter):
                yield value

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.template, self.values)


def _restore(template: str, values: dict[str, Any]) -> Message:
    return Message(template, **values)


def message_of(error: BaseException) -> str:
    """Return the message of an error or a warning, as a Message if it was raised with one."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else str(error)


class ParameterError(ValueError):
    """A parameter has a value that is not allowed, or that does not fit the other parameters.

    `parameter` is its name: by default the first one in the message, None if there is none.

    >>> ParameterError(Message("{C:subject} must be > 0.", C=Parameter("C"))).parameter
    'C'
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        named = message.parameters() if isinstance(message, Message) else iter(())
        self.parameter = parameter or next((each.name for each in named), None)


class OptionError(ParameterError):
    """An option that a model family does not have, or that does not fit the other options."""


class ClusterError(RuntimeError):
    """Something is missing or has failed on a cluster of Dask workers."""
