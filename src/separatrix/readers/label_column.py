"""Which column is the label, and what the labels are."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias, TypedDict

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.columns import Columns, count_missing, require_column, to_words
from separatrix.readers.csv_dialect import LABEL_NAMES

Label: TypeAlias = str | int | bool | None

NO_LABELS = "There are no labels to compare with"

_MOST_NUMBERS = 100  # that are not whole, to be names of classes
_LONGEST = 256  # characters; longer ones are documents
_EXACT = 2.0**53  # float64 holds every integer below


class Layout(TypedDict):
    """The columns of the table that a model was trained on, in order, and which was the label."""

    names: list[str]
    label: str | None


class LabelError(ValueError):
    """Labels that nothing can be learnt from: what is wrong with them, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(Message("{what}. {remedy}", what=what, remedy=remedy))
        self.what = what


def find_label(
    where: str,
    table: Columns,
    label: Label,
    trained: Collection[str] | None,
    layout: Layout | None,
    notes: list[str],
) -> str | None:
    """The name of the label's column, or None; a note says which it is and why.

    By default it is the one of `layout`, or a column named label, target, class or y, else the last
    one, or the first that is not text where the last one is. Beside `trained`, the columns of a
    model, there need be none.
    """
    names = table.names
    if label is False:
        return None
    if trained and isinstance(label, str) and label not in names:
        notes.append(f"There is no column {label!r}, and so no labels.")
        return None
    if label is not None:
        chosen = _given(where, names, label)
        notes.append(f"The label is the column {chosen!r}.")
        return chosen
    free = {name: None for name in names if name not in (trained or ())}
    before = layout["label"] if layout else None
    if before in free:
        notes.append(f"The label is the column {before!r}, as in training.")
        return before
    usual = sorted(
        (name for name in free if name.lower() in LABEL_NAMES),
        key=lambda name: LABEL_NAMES.index(name.lower()),
    )
    if usual:
        notes.append(f"The label is the column {usual[0]!r}, by its name.")
        return usual[0]
    if trained:
        return None
    if len(names) == 1:
        notes.append("There is one column, and no label.")
        return None
    short = [name for name in names if table.kind(name) != "text"]
    if table.kind(names[-1]) == "text" and short:
        notes.append(f"The label is the column {short[0]!r}, the first that is not text.")
        return short[0]
    notes.append(f"The label is the last column, {names[-1]!r}.")
    return names[-1]


def _given(where: str, names: list[str], label: str | int) -> str:
    if isinstance(label, str):
        require_column(label, names, f"the label of {where}")
        return label
    if isinstance(label, bool) or not -len(names) <= label < len(names):
        raise ValueError(
            f"The label of {where} must be a column's name, False, or a position from "
            f"{-len(names)} to {len(names) - 1}. Got {label!r} instead."
        )
    return names[label]


def rivals_of(table: Columns, label: str, notes: list[str]) -> list[str]:
    """Columns that are named as labels are, and hold the same as the label: not to learn from.

    Those of such a name that hold something else stay, and are told.
    """
    named = [name for name in table if name != label and name.lower() in LABEL_NAMES]
    copies = [name for name in named if to_words(table[name]).tolist() == _words(table, label)]
    others = [name for name in named if name not in copies]
    if copies:
        shown = ", ".join(map(repr, copies))
        notes.append(f"Left out, as a copy of the label {label!r}: {shown}.")
    if others:
        shown = ", ".join(map(repr, others))
        notes.append(f"Learnt from, though named like a label: {shown}. Drop what is none.")
    return copies


def _words(table: Columns, name: str) -> list[str | None]:
    words: list[str | None] = to_words(table[name]).tolist()
    return words


def to_labels(where: str, name: str, values: Array, notes: list[str]) -> Array:
    """Labels of a column: integers, numbers or words, none of them missing.

    >>> notes = []
    >>> to_labels("adult.csv", "income", np.array(["<=50K.", ">50K."], dtype=object), notes)
    array(['<=50K', '>50K'], dtype='<U5')
    >>> notes
    ['All labels end in a full stop, which was taken off.']
    """
    if count_missing(values):
        gaps = [value is None or value != value for value in values]
        raise LabelError(
            f"{where}, row {gaps.index(True) + 1}: the label (column {name!r}) is missing",
            Message(
                "Remove the row, fill it in, or name the column of the labels with {label:=}.",
                label=Parameter("label"),
            ),
        )
    if values.dtype != object:
        return _numbers(where, name, values)
    longest = max(values, key=len)
    if len(longest) > _LONGEST:
        raise LabelError(
            f"{where}: column {name!r} was taken for the label and has a value of {len(longest):,} "
            "characters",
            Message(
                "Name the column of the labels with {label:=}, or give {label}.",
                label=Parameter("label", False),
            ),
        )
    if all(value.endswith(".") for value in set(values)):
        notes.append("All labels end in a full stop, which was taken off.")
        return np.array([value.removesuffix(".") for value in values])
    return values.astype(str)


def class_labels(y: Array, notes: list[str]) -> Array:
    """Labels as classes: some few numbers that are not whole are words, since they only name.

    >>> class_labels(np.array([0.5, 1.5, 0.5, 0.5]), [])
    array(['0.5', '1.5', '0.5', '0.5'], dtype='<U3')
    """
    if not is_quantity(y) or not np.isfinite(y).all():
        return y
    if len(np.unique(y)) > min(_MOST_NUMBERS, len(y) / 2):
        return y
    notes.append("The labels are numbers that are not whole: they were taken as words.")
    return to_words(y.astype(np.float64)).astype(str)


def is_quantity(y: Array) -> bool:
    """Say whether these are numbers of which some are not whole."""
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())


def _numbers(where: str, name: str, values: Array) -> Array:
    if np.isinf(values).any() or (abs(values) >= _EXACT).any():
        raise LabelError(
            f"{where}: the labels (column {name!r}) must be words, or numbers below {_EXACT:.0f}",
            f"Got {values[np.argmax(abs(values))]} instead.",
        )
    whole = (values == np.floor(values)).all()
    return values.astype(np.int64) if whole else values
