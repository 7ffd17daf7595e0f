"""Configurations in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_words(configuration: Mapping[str, Any]) -> str:
    """A configuration as people read it.

    >>> in_words({"learning_rate": 0.1, "batch_size": None})
    'learning rate 0.1, batch size None'
    """
    return ", ".join(
        f"{name.replace('_', ' ')} {value_words(value)}" for name, value in configuration.items()
    )


def value_words(value: Any) -> str:
    """A value of a parameter as people write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
