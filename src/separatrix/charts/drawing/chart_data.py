"""Plain data for charts: rows of values, thinned lines and column names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from separatrix.matrix import Array

_DIGITS = 6  # significant digits in a file: more than a picture can show


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Return rows of plain values for a chart.

    Numbers are rounded to six digits, and values that are not finite become null.
    """
    return alt.InlineData(
        values=[{name: chart_value(value) for name, value in row.items()} for row in rows]
    )


def chart_value(value: Any) -> Any:
    """Convert a value to a JSON value.

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
    """Write a number with few digits.

    >>> short(0.123456), short(1234567.0), short(2e-9)
    ('0.123', '1,230,000', '2e-09')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1e3 <= abs(rounded) < 1e9 else f"{rounded:g}"


def significant(value: float, digits: int = 3) -> str:
    """Write a number with this number of digits, also if the last ones are 0.

    >>> significant(0.0069), significant(0.00676), significant(1.5), significant(2e-9)
    ('0.00690', '0.00676', '1.50', '2.00e-09')
    """
    return f"{value:#.{digits}g}" if abs(value) < 100 else short(value, digits)


def thinned(values: Array, points: int, *, log: bool = False, keep: Sequence[int] = ()) -> Array:
    """Return the positions of about `points` finite values (T,) that draw the same line.

    The values are cut into intervals, and the minimum and maximum of each interval are kept, so
    that oscillations stay visible. The first value, the last value and the positions in `keep`
    are kept too. The intervals are equally long, or equally long on a logarithmic axis with `log`.

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
    """Return the names of the features: `names`, else the column names of X, else x0, x1, ..."""
    found = getattr(X, "columns", None) if names is None else names
    d = X.shape[1] if hasattr(X, "shape") else len(X[0])
    out = [f"x{j}" for j in range(d)] if found is None else [str(name) for name in found]
    if len(out) != d:
        raise ValueError(f"X has {d} features, so {d} names are needed. Got {len(out)} instead.")
    return out
