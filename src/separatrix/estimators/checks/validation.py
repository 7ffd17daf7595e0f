"""Checks of parameters and data, with their error messages."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from separatrix.errors import Message, Parameter, ParameterError, Value
from separatrix.losses import Loss
from separatrix.matrix import Array, first_not_finite

LARGEST_COUNT = 2**63 - 1
LONGEST = 200  # longest value, in characters, that an error message shows in full


def require_number(
    name: str,
    value: Any,
    *,
    low: float = 0.0,
    high: float = math.inf,
    open_low: bool = False,
    closed_high: bool = False,
    optional: bool = False,
) -> None:
    """Raise unless `value` is a finite number in [low, high).

    `open_low` excludes `low`, `closed_high` includes `high`, and `optional` allows None.
    """
    if optional and value is None:
        return
    number = as_float(value)
    good = math.isfinite(number) and (number <= high if closed_high else number < high)
    good = good and (number > low if open_low else number >= low)
    if not good:
        bound = f" {'>' if open_low else '>='} {low:g}" if low > -math.inf else ""
        if high < math.inf:
            bound += f" and {'<=' if closed_high else '<'} {high:g}"
        _refuse(name, f"a finite number{bound}" + (" or None" if optional else ""), value)


def require_strength(name: str, value: Any) -> None:
    """Raise unless `value` is a number > 0; infinity means no penalty."""
    number = as_float(value)
    if not number > 0.0 or (math.isinf(number) and value != number):
        allowed = Message("a number > 0, or {inf} for no penalty", inf=Value(math.inf))
        _refuse(name, allowed, value)


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """Return `value` as a float: infinity if it is too large, NaN if it is not a number."""
    if not is_number(value):
        return math.nan
    number: Any = value
    try:
        return float(number)
    except OverflowError:  # an int or a fraction
        return math.inf if number > 0 else -math.inf


def require_pair(name: str, value: Any, *, high: float) -> None:
    """Raise unless `value` is a pair of numbers in [0, high)."""
    try:
        first, second = value
        require_number(name, first, high=high)
        require_number(name, second, high=high)
    except (TypeError, ValueError):
        _refuse(name, f"a pair of numbers >= 0 and < {high:g}", value)


def require_count(name: str, value: Any, *, low: int = 1, optional: bool = False) -> None:
    """Raise unless `value` is a whole number >= low."""
    if optional and value is None:
        return
    good = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not good or value < low or value > LARGEST_COUNT:
        most = f" and <= {LARGEST_COUNT}" if good and value >= low else ""
        _refuse(name, f"a whole number >= {low}{most}" + (" or None" if optional else ""), value)


def as_list(name: str, values: Any, allowed: str = "a list of numbers") -> list[Any]:
    """Return the values of a parameter as a list, or raise unless it is a non-empty list."""
    known = has_length(values) and not isinstance(values, (str, bytes, Mapping))
    if not known or not len(values):
        _refuse(name, allowed, values)
    return list(values)


def has_length(values: Any) -> bool:
    """Return whether a parameter holds several values; a zero-dimensional array does not."""
    return hasattr(values, "__len__") and not (isinstance(values, np.ndarray) and not values.ndim)


def require_choice(
    name: str, value: Any, choices: Iterable[str], *, optional: bool = False
) -> None:
    """Raise unless `value` is one of `choices`; `optional` allows None."""
    if optional and value is None:
        return
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(map(repr, allowed)) + (" or None" if optional else "")
        _refuse(name, f"one of {names}", value)


def require_loss(value: Any, choices: Iterable[str]) -> None:
    """Raise unless `value` is the name of a loss or an object with everything a loss has."""
    if isinstance(value, (str, type)) or not hasattr(value, "gradient"):
        require_choice("loss", value, choices)
    parts = [name for name in dir(Loss) if not name.startswith("_")]
    missing = [name for name in parts if not hasattr(value, name)]
    if not isinstance(value, str) and missing:
        _refuse("loss", f"an object with {', '.join(missing)} (see separatrix.Loss)", value)


def require_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(name, "True or False", value)


def require_finite(name: str, X: Any) -> None:
    """Raise if X has a NaN or an infinity, and report its row and column."""
    bad = first_not_finite(X)
    if bad is not None:
        refuse_entry(name, *bad)


def refuse_entry(name: str, row: int, column: int, value: float) -> NoReturn:
    """Raise because an entry of X is not finite."""
    what = "NaN" if math.isnan(value) else f"infinity ({value})"
    raise ValueError(
        f"Input {name} contains {what} at row {row}, column {column}. All entries must be finite. "
        "Remove the row, or replace the value, for example with scikit-learn's SimpleImputer."
    )


def require_numbers(name: str, X: Any) -> None:
    """Raise if an array holds text, and report its row and column."""
    if sp.issparse(X) or not hasattr(X, "__len__"):
        return
    array = np.asarray(X) if not hasattr(X, "to_numpy") else X.to_numpy()
    if array.dtype.kind not in "OSU" or array.ndim != 2:
        return
    text = [at for at in np.ndindex(array.shape) if isinstance(array[at], (str, bytes))]
    if not text:
        return
    row, column = next((at for at in text if not _is_number(array[at])), text[0])
    entry = array[row, column]
    remedy = (
        f"Convert it first, for example with np.asarray({name}, float)."
        if _is_number(entry)
        else "Encode text and categories as numbers first, for example with scikit-learn's "
        "OneHotEncoder."
    )
    raise ValueError(
        f"{name} must hold numbers. Row {row}, column {column} holds {str(entry)!r}. {remedy}"
    )


def is_plain(X: Any) -> bool:
    """Return whether scikit-learn's checks would accept X and return it unchanged.

    For small data they take longer than everything else.
    """
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and X.size > 0


def require_equal_lengths(X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> None:
    """Raise if two arrays have different numbers of rows."""
    if X is None or y is None or not (hasattr(X, "shape") or hasattr(X, "__len__")):
        return
    rows, labels = (a.shape[0] if getattr(a, "shape", ()) else _length(a) for a in (X, y))
    if rows is not None and labels is not None and rows != labels:
        refuse_lengths(names, rows, labels)


def refuse_lengths(
    names: tuple[str, str], rows: int, labels: int, after: int | None = None
) -> NoReturn:
    """Raise because two arrays have different numbers of rows.

    `after` is the number of rows before the partition in which they differ.
    """
    where = "" if after is None else f" in the partition that starts at row {after}"
    raise ValueError(
        "Found input variables with inconsistent numbers of samples: "
        f"{names[0]} has {rows} rows and {names[1]} has {labels} entries{where}. There must be one "
        "entry per row."
    )


def require_features(estimator: Any, X: Any, name: str) -> None:
    """Raise unless X has as many columns as the training rows of an estimator."""
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{name} must have the {estimator.n_features_in_:,} features of the training rows, in "
            f"the same order. Got {X.shape[1]:,} features instead."
        )


def require_labels(name: str, y: Any) -> None:
    """Raise if labels have a NaN or an infinity, and report the row."""
    labels = np.asarray(y)
    bad = np.flatnonzero(~np.isfinite(labels)) if labels.dtype.kind == "f" else np.empty(0, int)
    if len(bad):
        refuse_label(name, bad[0], labels.flat[bad[0]])


def refuse_label(name: str, row: int, label: float) -> NoReturn:
    """Raise because a label is not finite."""
    raise ValueError(
        f"{name} has {label} at row {row}: every row needs a class. "
        "Remove the row, or give it a label."
    )


def require_weights(weights: Array) -> None:
    """Raise unless all weights are finite and >= 0 and at least one is positive."""
    bad = np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights)))
    if len(bad):
        refuse_weight(bad[0], weights[bad[0]])
    if not weights.any():
        refuse_no_weight()


def refuse_weight(row: int, weight: float) -> NoReturn:
    """Raise because a weight is negative or not finite."""
    raise ValueError(
        f"sample_weight must be finite and >= 0. Row {row} has {weight:g}. "
        "A weight of 0 leaves a row out."
    )


def refuse_no_weight() -> NoReturn:
    """Raise because all weights are 0."""
    raise ValueError(
        "sample_weight is zero for every row. Give at least one row a positive weight."
    )


def require_one_kind(name: str, y: Array) -> None:
    """Raise if labels have types that cannot be sorted together, such as text and numbers."""
    if y.dtype != object:
        return
    try:
        np.unique(y)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"{name} mixes labels of different types, {' and '.join(kinds)}, which cannot be "
            "sorted. Convert all labels to numbers or all to text."
        ) from None


def require_two_classes(classes: Array) -> None:
    """Raise unless there are at least two classes."""
    if not len(classes):
        raise ValueError("y is empty. A classifier needs labelled rows.")
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes[0]!s}. A classifier needs samples of at least two "
            "classes."
        )


def require_known_classes(y: Array, classes: Array, *, validation: bool = False) -> None:
    """Raise if labels have a class that does not occur in training."""
    unseen = np.setdiff1d(y, classes)
    if not len(unseen):
        return
    known = list_classes(classes)
    if validation:
        raise ValueError(
            f"y_val has the class {unseen[0]!s}, which does not occur in y. Classes of y: {known}. "
            "Remove its rows from the validation set, or add rows of it to the training set."
        )
    raise ValueError(
        f"y has the class {unseen[0]!s}, which was not in the first call of partial_fit. Classes "
        f"of the first call: {known}. Pass all classes in the first call, or remove these rows."
    )


def list_classes(classes: Array) -> str:
    """Return the classes as text, separated by commas."""
    return ", ".join(str(c) for c in classes)


def as_numbers(X: Any) -> Any:
    """Return X with an object array converted to floats; None becomes NaN."""
    return X if sp.issparse(X) or X.dtype.kind != "O" else X.astype(np.float64)


def as_seed(random_state: Any) -> int:
    """Return an integer seed for anything that scikit-learn accepts as a random state."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _length(a: Any) -> int | None:
    return len(a) if hasattr(a, "__len__") else None


def _refuse(name: str, allowed: str, value: Any) -> None:
    too_large = math.isinf(as_float(value)) and value != as_float(value)
    more = " It is too large for a float (maximum 1.8e308)." if too_large else ""
    raise ParameterError(
        Message(
            "{name:subject} must be {allowed}. Got {value} instead.{more}",
            name=Parameter(name),
            allowed=allowed,
            value=_shown(value),
            more=more,
        )
    )


def _shown(value: Any) -> str:
    """Return the text of a value, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers with thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:20]}...{text[-20:]} ({len(text)} characters)"
