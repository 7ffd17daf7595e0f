"""A finding about a fit, with its cause and a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from separatrix.errors import Message
from separatrix.matrix import Array


@dataclass(frozen=True)
class Column:
    """A feature in a message: by its name if that is known, else by its number from 0.

    >>> str(Column(3)), str(Column(3, "alcohol")), str(Column(3, "feature 4"))
    ('column 3', "feature 'alcohol'", 'feature 4')
    """

    number: int
    name: str | None = None

    def __str__(self) -> str:
        if self.name is None:
            return f"column {self.number}"
        return self.name if self.name.startswith("feature ") else f"feature {self.name!r}"

    def __format__(self, form: str) -> str:
        return format(str(self), form)


@dataclass(frozen=True)
class Diagnosis:
    """A finding: its `kind`, what happened and why (`message`), and what to do (`remedy`).

    `direction` is the proof of a "separable" finding: weights and biases, shaped like coef_ and
    intercept_, along which the loss of no row rises and that of some rows falls without end. It
    is `complete` if it separates all classes.
    """

    kind: str
    message: str
    remedy: str
    direction: tuple[Array, Array] | None = field(default=None, compare=False, repr=False)
    complete: bool = field(default=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} {self.remedy}"

    def with_names(self, names: Sequence[Any] | None) -> Diagnosis:
        """Return this finding with the names (d,) of its features in place of their numbers.

        >>> message = Message("Look at {one}.", one=Column(1))
        >>> Diagnosis("scales", message, "").with_names(["age", "job=clerk"]).message
        "Look at feature 'job=clerk'."
        """
        return self if names is None else replace(self, message=_named(self.message, names))


def _named(value: Any, names: Sequence[Any]) -> Any:
    if isinstance(value, Message):
        values = {key: _named(each, names) for key, each in value.values.items()}
        return Message(value.template, **values)
    if isinstance(value, Column) and value.number < len(names):
        return Column(value.number, str(names[value.number]))
    return value
