"""Convert data frames of pandas, polars and pyarrow to named columns.

Dates become the strings that a CSV file has for them, so a column means the same in every format.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array

_CATEGORICAL = ("category", "Categorical", "Enum")  # types of pandas and polars


def is_frame(source: Any) -> bool:
    """Return whether an object is a data frame, of any library."""
    return hasattr(source, "columns") and not isinstance(source, np.ndarray)


def named_columns(where: str, frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame or of a pyarrow table, by name.

    >>> import pandas as pd
    >>> list(named_columns("frame", pd.DataFrame({"size": [1, 2], 3: ["u", "v"]})))
    ['size', '3']
    """
    arrow = hasattr(frame, "column_names")  # `columns` of a pyarrow table are its values
    keys = list(frame.column_names if arrow else frame.columns)
    for name, times in Counter(map(str, keys)).items():
        if times > 1:
            raise ValueError(f"{where}: {times} columns have the name {name!r}. Rename them.")
    return {str(key): frame[key] for key in keys}


def dates_to_words(days: Array) -> Array:
    """Format dates as strings, without a time if all are whole days; None if a date is missing.

    >>> dates_to_words(np.array(["2024-01-31T00:00", "NaT"], "datetime64[ns]")).tolist()
    ['2024-01-31', None]
    >>> dates_to_words(np.array(["2024-01-31T12:30"], "datetime64[ns]")).tolist()
    ['2024-01-31 12:30:00']
    """
    present = days[~np.isnat(days)]
    whole = [
        unit for unit in ("D", "s") if (present == present.astype(f"datetime64[{unit}]")).all()
    ]
    texts = np.datetime_as_string(days.astype(f"datetime64[{whole[0]}]") if whole else days)
    words = [
        None if missing else text.replace("T", " ")
        for text, missing in zip(texts.tolist(), np.isnat(days))
    ]
    return np.fromiter(words, dtype=object, count=len(words))


def truths_to_words(values: Any) -> Array | None:
    """Format booleans as 'True' and 'False', as in a CSV file; return None for other values.

    >>> truths_to_words(np.array([True, False])).tolist(), truths_to_words([0, 1])
    (['True', 'False'], None)
    """
    array = np.asarray(values)
    if array.dtype != bool:
        if array.dtype != object or not any(isinstance(value, bool) for value in array):
            return None
        if not all(isinstance(value, bool) or value is None for value in array):
            return None
    words = [None if value is None else str(value) for value in array.tolist()]
    return np.fromiter(words, dtype=object, count=len(words))


def is_categorical(values: Any) -> bool:
    """Return whether a column of a data frame has a type for categories.

    >>> import pandas as pd
    >>> is_categorical(pd.Series(["u", "v"], dtype="category")), is_categorical(["u", "v"])
    (True, False)
    """
    if is_arrow(values):
        return str(values.type).startswith("dictionary")
    return str(getattr(values, "dtype", "")).startswith(_CATEGORICAL)


def is_arrow(values: Any) -> bool:
    """Return whether an object is a pyarrow column."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def arrow_to_numpy(name: str, column: Any) -> Array:
    """Return the values of a pyarrow column as a numpy array."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None):
        values = column.to_pylist()
        return np.fromiter(values, dtype=object, count=len(values))
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not (
        pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    ):
        raise ValueError(
            Message(
                "Column {name!r} must hold numbers, strings or dates. Got {kind} instead. "
                "Convert it, or drop the column with {drop}.",
                name=name,
                kind=kind,
                drop=Parameter("drop", name),
            )
        )
    return np.asarray(column.to_numpy(zero_copy_only=False))
