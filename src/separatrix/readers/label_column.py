"""Find the label column of a table and read the labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias, TypedDict

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import Kind
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.columns import count_missing, require_column, to_words
from separatrix.readers.delimited.dialect import LABEL_NAMES
from separatrix.text import counted, listed

Label: TypeAlias = str | int | bool | None

NO_LABELS = "There are no labels to compare with"
ONE_COLUMN = "There is only one column, so there are no labels."

_MOST_NUMBERS = 100  # number of different fractional labels that can still be class names
_ROWS_AT_ONCE = 10_000
_LONGEST = 256  # characters; longer values are documents
_NAMED = 5  # pairs of labels in a sentence
_EXACT = 2.0**53  # float64 represents every integer below this exactly


class Layout(TypedDict):
    """The column names of the training data in order, and the name of its label column."""

    names: list[str]
    label: str | None


class LabelError(ValueError):
    """Raised for labels that cannot be used for training: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(Message("{what}. {remedy}", what=what, remedy=remedy))
        self.what = what


def find_label(
    where: str,
    kinds: Mapping[str, Kind],
    label: Label,
    trained: Collection[str] | None,
    layout: Layout | None,
    notes: list[str],
) -> str | None:
    """Return the name of the label column, or None; append a note on the choice to `notes`.

    The default is the label column of `layout`, then a column named label, target, class or y, then
    the last column (if that is text, the first column that is not). `trained` are the feature
    columns of a model; with them, the label column may be missing.
    """
    names = list(kinds)
    if label is False:
        return None
    if trained and isinstance(label, str) and label not in names:
        notes.append(f"There is no column {label!r}, so there are no labels.")
        return None
    if label is not None:
        chosen = _given(where, names, label)
        notes.append(f"The label is column {chosen!r}.")
        return chosen
    free = {name: None for name in names if name not in (trained or ())}
    before = layout["label"] if layout else None
    if before in free:
        notes.append(f"The label is column {before!r}, as in training.")
        return before
    usual = sorted(
        (name for name in free if name.lower() in LABEL_NAMES),
        key=lambda name: LABEL_NAMES.index(name.lower()),
    )
    if usual:
        notes.append(f"The label is column {usual[0]!r}, chosen by its name.")
        return usual[0]
    if trained:
        return None
    if len(names) == 1:
        notes.append(ONE_COLUMN)
        return None
    short = [name for name in names if kinds[name] != "text"]
    if kinds[names[-1]] == "text" and short:
        notes.append(f"The label is column {short[0]!r}, the first that is not text.")
        return short[0]
    notes.append(f"The label is the last column, {names[-1]!r}.")
    return names[-1]


def _given(where: str, names: list[str], label: str | int) -> str:
    if isinstance(label, str):
        require_column(label, names, f"to use as the label of {where}")
        return label
    if isinstance(label, bool) or not -len(names) <= label < len(names):
        raise ValueError(
            f"The label of {where} must be the name of a column, a position from "
            f"{-len(names)} to {len(names) - 1}, or False. Got {label!r} instead."
        )
    return names[label]


def rivals_of(
    found: Mapping[str, Inferred], label: str, values: Array, notes: list[str]
) -> list[str]:
    """Return the columns that are copies of the label: named like a label, with the same values.

    Columns with such a name and other values are kept as features. Both are reported in `notes`.
    """
    named = [name for name in found if name != label and name.lower() in LABEL_NAMES]
    words = to_words(values).tolist() if named else []
    copies = [name for name in named if to_words(found[name].values).tolist() == words]
    others = [name for name in named if name not in copies]
    if copies:
        shown = ", ".join(map(repr, copies))
        notes.append(f"Dropped {shown}: same values as the label {label!r}.")
    if others:
        shown = ", ".join(map(repr, others))
        notes.append(f"Kept as features although named like a label: {shown}.")
    return copies


def place_by_row(row: int) -> str:
    """Return the place of a row that is not in a file of lines. Rows count from 1."""
    return f"row {row + 1}"


def to_labels(
    where: str,
    name: str,
    values: Array,
    notes: list[str],
    place: Callable[[int], str] = place_by_row,
) -> Array:
    """Convert a column to labels: integers, numbers or strings, none of them missing.

    `place` says in messages where a row is.

    >>> notes = []
    >>> to_labels("adult.csv", "income", np.array(["<=50K.", ">50K."], dtype=object), notes)
    array(['<=50K', '>50K'], dtype='<U5')
    >>> notes
    ['Removed the full stop at the end of every label.']
    """
    return named_labels(usable_labels(where, name, values, place), notes)


def usable_labels(where: str, name: str, values: Array, place: Callable[[int], str]) -> Array:
    """Return labels as they are written; raise if some cannot be used."""
    if count_missing(values):
        gaps = [value is None or value != value for value in values]
        others = sum(gaps) - 1
        also = f", here and in {counted(others, 'other row')}" if others else ""
        raise LabelError(
            f"{where}, {place(gaps.index(True))}: the label (column {name!r}) is missing{also}",
            Message(
                "Remove the row, add its label, or name the label column with {label:=}.",
                label=Parameter("label"),
            ),
        )
    if values.dtype != object:
        return _numbers(where, name, values)
    longest = max(values, key=len)
    if len(longest) > _LONGEST:
        raise LabelError(
            f"{where}: column {name!r} was used as the label, but has a value of {len(longest):,} "
            "characters",
            Message(
                "Name the label column with {label:=}, or give {label} if there is none.",
                label=Parameter("label", False),
            ),
        )
    return values.astype(str)


def named_labels(y: Array, notes: list[str]) -> Array:
    """Return the class names that are meant by strings; numbers are returned as they are.

    What is decided depends on all rows, or on the sorted classes of all rows.
    """
    if y.dtype.kind != "U":
        return y
    classes: set[str] = set()
    for start in range(0, len(y), _ROWS_AT_ONCE):  # a list of all rows needs much memory
        classes.update(y[start : start + _ROWS_AT_ONCE].tolist())
    if all(value.endswith(".") for value in classes):
        notes.append("Removed the full stop at the end of every label.")
        y = np.array([value.removesuffix(".") for value in y.tolist()])
        classes = {value.removesuffix(".") for value in classes}
    _note_capital_letters(classes, notes)
    return y


def _note_capital_letters(classes: set[str], notes: list[str]) -> None:
    """Add a note if classes differ only in capital letters."""
    spellings: dict[str, list[str]] = {}
    for value in sorted(classes):
        spellings.setdefault(value.lower(), []).append(repr(value))
    alike = [" and ".join(words) for words in spellings.values() if len(words) > 1]
    if alike:
        notes.append(
            f"The labels {listed(alike, _NAMED)} differ only in capital letters; they are "
            "different classes."
        )


def class_labels(y: Array, notes: list[str]) -> Array:
    """Convert fractional labels to strings if there are few different ones: they are class names.

    >>> class_labels(np.array([0.5, 1.5, 0.5, 0.5]), [])
    array(['0.5', '1.5', '0.5', '0.5'], dtype='<U3')
    """
    if not is_quantity(y) or not np.isfinite(y).all():
        return y
    if len(np.unique(y)) > min(_MOST_NUMBERS, len(y) / 2):
        return y
    notes.append("The labels are not whole numbers; they were read as class names.")
    return to_words(y.astype(np.float64)).astype(str)


def is_quantity(y: Array) -> bool:
    """Return whether the labels are numbers and some of them are not whole."""
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())


def _numbers(where: str, name: str, values: Array) -> Array:
    if np.isinf(values).any() or (abs(values) >= _EXACT).any():
        raise LabelError(
            f"{where}: the labels (column {name!r}) must be strings or numbers below {_EXACT:.0f}",
            f"Got {values[np.argmax(abs(values))]} instead.",
        )
    whole = (values == np.floor(values)).all()
    return values.astype(np.int64) if whole else values
