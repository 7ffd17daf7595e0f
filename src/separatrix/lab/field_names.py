"""Translation of parameter names in the library's messages into the labels of the lab's fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.errors import Message, Named, Parameter

FIELDS = {
    "learning_rate": "learning rate",
    "momentum": "momentum",
    "batch_size": "batch size",
    "epochs": "epochs",
    "l1": "L1 penalty",
    "l2": "L2 penalty",
    "l1_ratio": "share of L1",
    "C": "C",
    "loss": "loss",
    "rule": "rule",
    "seeds": "repeats",
}


def name_fields(message: str) -> str:
    """Replace the parameters that a message names by the labels of their fields.

    >>> name_fields(Message("{rate:subject} must be > 0.", rate=Parameter("learning_rate")))
    'The learning rate must be > 0.'
    >>> name_fields("Column 'learning_rate' is empty.")
    "Column 'learning_rate' is empty."
    """
    if not isinstance(message, Message):
        return message
    words = message.render(_as_field)
    return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class _Field:
    label: str
    value: str = ""

    def __format__(self, form: str) -> str:
        if form == "subject":
            return f"The {self.label}"
        return f"{self.label}{self.value}"


def _as_field(named: Named) -> Any:
    if not isinstance(named, Parameter) or named.name not in FIELDS:
        return named
    # The text of a field is in the field, and most messages repeat it at their end.
    shown = named.has_value and not isinstance(named.value, str)
    return _Field(FIELDS[named.name], f" {named.value}" if shown else "")
