"""Plain data for a chart: rows of values, lines with fewer points, names of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from separatrix.matrix import Array

_DIGITS = 6  # of a number in a file: more than a picture shows


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Rows of plain values for a chart, numbers at six digits, what is not finite as null."""
    return alt.InlineData(
        values=[{name: chart_value(value) for name, value in row.items()} for row in rows]
    )


def chart_value(value: Any) -> Any:
    """A value as JSON has it.

    >>> chart_value([np.float64(1 / 3), np.inf, np.int64(3), "word"])
    [0.333333, None, 3, 'word']
    """
    if isinstance(value, list | tuple | np.ndarray):
        return [chart_value(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def short(value: float, digits: int = 3) -> str:
    """A number with few digits.

    >>> short(0.123456), short(1234567.0), short(2e-9)
    ('0.123', '1,230,000', '2e-09')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1e3 <= abs(rounded) < 1e9 else f"{rounded:g}"


def thinned(values: Array, points: int, *, log: bool = False, keep: Sequence[int] = ()) -> Array:
    """Positions of some `points` finite values (T,) that show the same line.

    Of every stretch its lowest and its highest value stay, so that a line that swings still swings;
    so do the first, the last and those in `keep`. Stretches are even, or in powers with `log`.

    >>> at = thinned(np.sin(np.arange(1000.0)), 20)
    >>> len(at) <= 24, at[0], at[-1]
    (True, np.int64(0), np.int64(999))
    """
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) <= points:
        return finite
    n, stretches = len(finite), max(points // 2, 1)
    edges = np.geomspace(1, n, stretches + 1) - 1 if log else np.linspace(0, n, stretches + 1)
    starts = np.unique(np.append(edges.astype(int), n))
    chosen = {0, n - 1, *np.flatnonzero(np.isin(finite, keep)).tolist()}
    for low, high in pairwise(starts):
        piece = values[finite[low:high]]
        chosen |= {int(low + piece.argmin()), int(low + piece.argmax())}
    return finite[sorted(chosen)]


def column_names(X: Any, names: Sequence[str] | None) -> list[str]:
    """The names of the features: those given, those of the columns, or x0, x1, ..."""
    found = getattr(X, "columns", None) if names is None else names
    d = X.shape[1] if hasattr(X, "shape") else len(X[0])
    out = [f"x{j}" for j in range(d)] if found is None else [str(name) for name in found]
    if len(out) != d:
        raise ValueError(f"X has {d} features, and there are {len(out)} names.")
    return out
