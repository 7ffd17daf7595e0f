"""Checks of values that come from a file: the right kind, or a ValueError that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.matrix import Array


class Stored:
    """A dictionary of plain values and one of arrays, read with checks.

    >>> state = Stored({"kind": "text", "size": 3}, {})
    >>> state.choice("kind", ("text", "numbers"))
    'text'
    >>> state.integer("size", low=4, high=9)
    Traceback (most recent call last):
        ...
    ValueError: The preparation is damaged: 'size' must be an integer from 4 to 9. Got 3 instead.
    """

    def __init__(self, values: Any, arrays: Any) -> None:
        if not isinstance(values, Mapping) or not isinstance(arrays, Mapping):
            raise refusal("its state must be two dictionaries", type(values).__name__)
        self.values, self.arrays = values, arrays

    def _get(self, key: str) -> Any:
        if key not in self.values:
            raise ValueError(f"The preparation is damaged: {key!r} is missing.")
        return self.values[key]

    def truth(self, key: str) -> bool:
        """A boolean."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise refusal(f"{key!r} must be true or false", value)
        return value

    def integer(self, key: str, *, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise refusal(f"{key!r} must be an integer from {low} to {high}", value)
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of the allowed words."""
        value = self._get(key)
        if not isinstance(value, str) or value not in allowed:
            raise refusal(f"{key!r} must be one of {', '.join(allowed)}", value)
        return value

    def word(self, key: str) -> str:
        """A string."""
        value = self._get(key)
        if not isinstance(value, str):
            raise refusal(f"{key!r} must be a word", value)
        return value

    def words(self, key: str, *, different: bool = True) -> list[str]:
        """A list of strings, all of them different unless said otherwise."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise refusal(f"{key!r} must be a list of words", value)
        if different and len(set(value)) < len(value):
            raise refusal(f"{key!r} must be a list of different words", value)
        return value

    def parts(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self._get(key)
        if not isinstance(value, list):
            raise refusal(f"{key!r} must be a list", value)
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A dictionary."""
        value = self._get(key)
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise refusal(f"{key!r} must be a dictionary", value)
        return value

    def vector(self, key: str, length: int) -> Array | None:
        """Finite numbers (length,) in float64, or None where there are none of that name."""
        value = self.arrays.get(key)
        if value is None:
            return None
        good = isinstance(value, np.ndarray) and value.dtype == np.float64
        if not good or value.shape != (length,) or not np.isfinite(value).all():
            shape = getattr(value, "shape", None)
            raise refusal(f"{key!r} must be {length} finite float64 numbers", f"shape {shape}")
        return value


def refusal(demand: str, got: Any) -> ValueError:
    """The words for a state that cannot be used."""
    shown = got if isinstance(got, str) else repr(got)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return ValueError(f"The preparation is damaged: {demand}. Got {shown} instead.")
