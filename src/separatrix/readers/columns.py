"""A table of named columns, which hold numbers, categories or text.

    numbers       float64, NaN where a value is missing
    categories    object array of str, None where a value is missing
    text          object array of str, where every value is a document

Data frames of any library are converted to this table, so no frame library is required.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, get_args

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import Formats, Kind
from separatrix.readers.cells.word_cells import looks_like_text
from separatrix.readers.data_frames import (
    arrow_to_numpy,
    dates_to_words,
    is_arrow,
    is_categorical,
    named_columns,
)
from separatrix.text import listed

KINDS: tuple[str, ...] = get_args(Kind)


class Columns:
    """An ordered table of named columns of equal length.

    >>> table = Columns({"age": [39, None], "job": ["clerk", "smith"]})
    >>> table["age"], table.kind("age"), table.kind("job")
    (array([39., nan]), 'numbers', 'categories')
    >>> table.take([1])["job"].tolist(), table.shape
    (['smith'], (2, 2))

    `text` names the columns that hold documents. Without it, a column of strings counts as text if
    more than half of its values are different and they have four words or more on average.

    >>> Columns({"mail": ["win a free phone now", "are we still on for lunch"]}).kind("mail")
    'text'
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        text: Collection[str] | None = None,
        formats: Formats | None = None,
    ) -> None:
        self._columns = {str(name): to_column(str(name), v) for name, v in columns.items()}
        if len(self._columns) < len(columns):
            raise ValueError(f"Two columns have the same name in {list(map(str, columns))}.")
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"All columns must have the same length. Got {lengths} instead.")
        words = [name for name, values in self._columns.items() if values.dtype == object]
        if text is None:
            text = [name for name in words if looks_like_text(self._columns[name])]
        for name in text:
            require_column(name, self._columns, "to read as text")
            if name not in words:
                self._columns[name] = to_words(self._columns[name])
        self._text = frozenset(text)
        self._formats = formats

    @classmethod
    def of_frame(cls, frame: Any, *, text: Collection[str] | None = None) -> Columns:
        """Convert a data frame of pandas, polars or any other library with named columns."""
        return cls(named_columns("The data frame", frame), text=text)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return len(self), len(self._columns)

    def kind(self, name: str) -> Kind:
        """Return the kind of a column: 'numbers', 'categories' or 'text'."""
        if name in self._text:
            return "text"
        return "numbers" if self[name].dtype == np.float64 else "categories"

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of every column, by name."""
        return {name: self.kind(name) for name in self._columns}

    @property
    def formats(self) -> Formats | None:
        """How a reader read the cells of the columns; None if the table was made from values."""
        return self._formats

    def take(self, rows: Any) -> Columns:
        """Return a table of the selected rows, given as row numbers, a mask or a slice."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        return self._same({name: values[rows] for name, values in self._columns.items()})

    def select(self, names: Iterable[str]) -> Columns:
        """Return a table of the named columns, in the given order."""
        return self._same({name: self[name] for name in names})

    def _same(self, columns: dict[str, Array]) -> Columns:
        part = Columns({})
        part._columns, part._text = columns, self._text & columns.keys()
        part._formats = self._formats
        return part

    def __getitem__(self, name: str) -> Array:
        require_column(name, self._columns)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return next((len(values) for values in self._columns.values()), 0)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name} ({kind})" for name, kind in self.kinds.items())
        return f"Columns of {len(self):,} rows: {kinds}"


def require_column(name: Any, names: Collection[str], purpose: str = "") -> None:
    """Raise unless `name` is a column. `purpose` ends the first sentence: "to read as text"."""
    if name not in names:
        shown, purpose = listed(map(repr, names), 20), f" {purpose}".rstrip()
        raise ValueError(f"There is no column {name!r}{purpose}. The columns are: {shown}.")


def to_column(name: str, values: Any) -> Array:
    """Convert any sequence to a column: float64 with NaN, or an object array of str with None.

    >>> to_column("x", [True, 2, None])
    array([ 1.,  2., nan])
    """
    if is_arrow(values):
        values = arrow_to_numpy(name, values)
    plain = isinstance(values, np.ndarray)
    categorical = not plain and is_categorical(values)
    array = values if plain else _array(values)
    if array.ndim != 1:
        raise ValueError(f"Column {name!r} must be a vector. Got shape {array.shape} instead.")
    if array.dtype.kind in "biuf" and not categorical:
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "M":
        return dates_to_words(array)
    if array.dtype == object and str in (types := set(map(type, array))) <= {str, type(None)}:
        return array
    items = [None if _is_missing(value) else value for value in array.tolist()]
    if categorical:
        items = [value if value is None else str(value) for value in items]
    types = {type(value) for value in items if value is not None}
    if types and all(issubclass(kind, datetime.date | datetime.time) for kind in types):
        return to_column(name, [value if value is None else str(value) for value in items])
    if all(issubclass(kind, str) for kind in types) and (types or array.dtype.kind == "U"):
        return np.fromiter(items, dtype=object, count=len(items))
    if all(issubclass(kind, numbers.Real | np.bool_) for kind in types):
        return np.array([math.nan if value is None else float(value) for value in items])
    found = ", ".join(sorted(kind.__name__ for kind in types))
    raise ValueError(
        Message(
            "Column {name!r} must hold numbers, strings or dates. Got {found} instead. "
            "Convert the values to numbers or strings, or drop the column with {drop}.",
            name=name,
            found=found,
            drop=Parameter("drop", name),
        )
    )


def _array(values: Any) -> Array:
    array = np.asarray(values) if hasattr(values, "dtype") else np.asarray(list(values), object)
    return array if array.ndim == 1 else np.asarray(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def to_words(values: Array) -> Array:
    """Format numbers as they are written in a file: 3.0 becomes '3'.

    >>> to_words(np.array([3.0, 0.5, np.nan])).tolist()
    ['3', '0.5', None]
    """
    if values.dtype == object:
        return values
    words = [
        None if math.isnan(x) else str(int(x)) if x.is_integer() else repr(x)
        for x in values.tolist()
    ]
    return np.fromiter(words, dtype=object, count=len(words))


def count_missing(values: Array) -> int:
    """Return the number of missing values of a column."""
    if values.dtype == object:
        missing: Any = None
        return int(np.count_nonzero(np.equal(values, missing)))
    return int(np.isnan(values).sum())
