"""What may be given to an estimator, and the words for what may not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.arrays import Array, first_not_finite


def require_number(
    name: str,
    value: Any,
    *,
    low: float = 0.0,
    high: float = math.inf,
    open_low: bool = False,
    optional: bool = False,
) -> None:
    """Raise unless `value` is a finite number in [low, high), or (low, high) if `open_low`."""
    if optional and value is None:
        return
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    good = good and math.isfinite(value) and value < high
    good = good and (value > low if open_low else value >= low)
    if not good:
        bound = f"{'>' if open_low else '>='} {low:g}" + (
            f" and < {high:g}" if high < math.inf else ""
        )
        _refuse(name, f"a finite number {bound}" + (" or None" if optional else ""), value)


def require_count(name: str, value: Any, *, low: int = 1, optional: bool = False) -> None:
    """Raise unless `value` is a whole number >= low."""
    if optional and value is None:
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        _refuse(name, f"a whole number >= {low}" + (" or None" if optional else ""), value)


def require_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless `value` is one of some words."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        _refuse(name, f"one of {', '.join(map(repr, allowed))}", value)


def require_finite(name: str, X: Any) -> None:
    """Raise if X has a NaN or an infinity, naming its place."""
    bad = first_not_finite(X)
    if bad is not None:
        row, column, value = bad
        what = "NaN" if math.isnan(value) else f"infinity ({value})"
        raise ValueError(
            f"{name} has {what} at row {row}, column {column}; all entries must be finite. "
            "Remove the row, or fill the gap, for example with scikit-learn's SimpleImputer."
        )


def require_numbers(name: str, X: Any) -> None:
    """Raise if an array holds text that is no number, naming its place."""
    if sp.issparse(X) or not hasattr(X, "__len__"):
        return
    array = np.asarray(X) if not hasattr(X, "to_numpy") else X.to_numpy()
    if array.dtype.kind not in "OSU" or array.ndim != 2:
        return
    for row, column in np.ndindex(array.shape):
        entry = array[row, column]
        if isinstance(entry, (str, bytes)) and not _is_number(entry):
            raise ValueError(
                f"{name} must hold numbers. Row {row}, column {column} holds {str(entry)!r}. "
                "Encode text and categories as numbers first, for example with scikit-learn's "
                "OneHotEncoder."
            )


def require_equal_lengths(X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> None:
    """Raise if two arrays have different numbers of rows."""
    if X is None or y is None or not (hasattr(X, "shape") or hasattr(X, "__len__")):
        return
    rows, labels = (a.shape[0] if getattr(a, "shape", ()) else _length(a) for a in (X, y))
    if rows is not None and labels is not None and rows != labels:
        raise ValueError(
            f"{names[0]} has {rows} rows and {names[1]} has {labels}: there must be one label for "
            "every row (inconsistent numbers of samples)."
        )


def require_two_classes(classes: Array) -> None:
    """Raise if there is only one class to learn."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}: a classifier needs samples of at least two "
            "classes. Give rows of another class."
        )


def require_known_classes(y_val: Array, classes: Array) -> None:
    """Raise if the validation set has a class that training never saw."""
    unseen = np.setdiff1d(y_val, classes)
    if len(unseen):
        known = ", ".join(str(c) for c in classes)
        raise ValueError(
            f"y_val has the class {unseen[0]!s}, which y does not have. Classes of y: {known}. "
            "Remove its rows from the validation set, or add some to the training set."
        )


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _length(a: Any) -> int | None:
    return len(a) if hasattr(a, "__len__") else None


def _refuse(name: str, allowed: str, value: Any) -> None:
    raise ValueError(f"The '{name}' parameter must be {allowed}. Got {value!r} instead.")
