"""Make configurations from a grid: all combinations of its values, or random draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from separatrix.errors import ParameterError
from separatrix.text import quoted

LARGEST = 100_000  # largest number of configurations


@dataclass(frozen=True)
class Between:
    """A range to draw numbers from, uniformly in the logarithm (`log`) or in the number."""

    low: float
    high: float
    log: bool = True

    def __post_init__(self) -> None:
        if not (self.low < self.high and (self.low > 0 or not self.log)):
            sign = "0 < low < high" if self.log else "low < high"
            raise ValueError(f"A range needs {sign}. Got low={self.low:g}, high={self.high:g}.")

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a number with three significant digits, which are enough for a parameter."""
        if self.log:
            number = np.exp(rng.uniform(np.log(self.low), np.log(self.high)))
        else:
            number = rng.uniform(self.low, self.high)
        return min(max(float(f"{number:.3g}"), self.low), self.high)


Grid: TypeAlias = Mapping[str, Any]
Configuration: TypeAlias = dict[str, Any]


def log_range(low: float, high: float, count: int) -> list[float]:
    """Return `count` numbers from low to high, evenly spaced in powers of ten.

    >>> log_range(1e-4, 1e-1, 4)
    [0.0001, 0.001, 0.01, 0.1]
    """
    if count < 2:
        raise ValueError(f"A range needs at least 2 values. Got {count} instead.")
    Between(low, high)
    spaced = [float(f"{number:.6g}") for number in np.geomspace(low, high, count)]
    return [float(low), *spaced[1:-1], float(high)]


def list_configurations(grid: Grid | Sequence[Grid]) -> list[Configuration]:
    """Return all combinations of the values. The last parameter varies fastest.

    Several values are given as a list, an array or a range. A string, a number or a mapping is one
    value. A tuple is refused, because it could be one value or several. Several grids are listed
    one after the other, without duplicates.

    >>> list_configurations({"learning_rate": [0.1, 0.01], "momentum": 0.9})
    [{'learning_rate': 0.1, 'momentum': 0.9}, {'learning_rate': 0.01, 'momentum': 0.9}]
    """
    grids = [grid] if isinstance(grid, Mapping) else list(grid)
    out: dict[str, Configuration] = {}
    for each in grids:
        values = {name: _values(name, given) for name, given in each.items()}
        count = int(np.prod([len(v) for v in values.values()], dtype=float))
        if count > LARGEST:
            raise ValueError(
                f"The grid has {count:,} configurations. At most {LARGEST:,} are allowed."
            )
        for combination in product(*values.values()):
            configuration = dict(zip(values, combination))
            out.setdefault(repr(sorted(configuration.items())), configuration)
    if not out:
        raise ValueError("A study needs at least one grid. Got an empty list instead.")
    return list(out.values())


def draw_configurations(grid: Grid, count: int, seed: int = 0) -> list[Configuration]:
    """Draw `count` configurations at random: a value of every list, a number of every range.

    >>> grid = {"learning_rate": Between(1e-4, 1.0), "momentum": [0.0, 0.9]}
    >>> chosen = draw_configurations(grid, 3)
    >>> len(chosen), all(1e-4 <= c["learning_rate"] <= 1.0 for c in chosen)
    (3, True)
    """
    if count < 1:
        raise ParameterError(
            f"The 'draws' parameter must be a whole number >= 1. Got {count} instead.",
            parameter="draws",
        )
    rng = np.random.default_rng(seed)
    out: dict[str, Configuration] = {}
    for _ in range(100 * count):  # a small grid can have too few different ones
        configuration = {name: _draw(name, given, rng) for name, given in grid.items()}
        out.setdefault(repr(sorted(configuration.items())), configuration)
        if len(out) == count:
            break
    return list(out.values())


def values_by_name(configurations: Sequence[Configuration]) -> dict[str, list[Any]]:
    """Return the values of every parameter, in the order in which they appear."""
    names = list(dict.fromkeys(name for one in configurations for name in one))
    return {
        name: list({repr(one[name]): one[name] for one in configurations if name in one}.values())
        for name in names
    }


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, Between):
        raise ParameterError(
            f"The range of {name!r} in the grid has no number of values. Use log_range, or draw "
            "configurations at random with draws=N.",
            parameter=name,
        )
    if isinstance(given, tuple | set | frozenset):
        raise ParameterError(
            f"The values of {name!r} in the grid are a {type(given).__name__}, {quoted(given)}. "
            f"Use a list for several values, {quoted(list(given))}, or a list with the tuple for "
            "one value.",
            parameter=name,
        )
    listed = _listed(given)
    if not listed:
        raise ParameterError(f"The grid has no values for {name!r}. Give at least one.", name)
    return [_to_builtin(value) for value in listed]


def _draw(name: str, given: Any, rng: np.random.Generator) -> Any:
    if isinstance(given, Between):
        return given.draw(rng)
    values = _values(name, given)
    return values[int(rng.integers(len(values)))]


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | np.ndarray | range) else [given]


def _to_builtin(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
