"""How the cells of new rows differ from those that a model was trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat
from separatrix.readers.cells.coded_cells import CodedCells, word_at
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.cells.number_cells import numbers_of

_ORDERS = {"day-first": "dmy", "month-first": "mdy"}
_TYPES = {"numbers": "number", "categories": "category", "text": "text"}


def with_type(name: str, written: CellFormat, wanted: str) -> CellFormat:
    """Return the format of a column of a model, changed by the type that the user gave.

    The type must be that of the training. It makes cells that do not fit missing values.

    >>> with_type("price", CellFormat(decimal=","), "number:decimal-point").decimal
    '.'
    """
    kind, _, how = wanted.partition(":")
    was = "date" if written.date else _TYPES[written.kind]
    if kind != was:
        raise ParameterError(
            Message(
                "The type of column {name!r} must be the type that it had in training, {was}. Got "
                "{given} instead. To read it in another way, train the model again.",
                name=name,
                was=was,
                given=Parameter("types", {name: wanted}),
            )
        )
    if written.kind != "numbers":
        return written
    if how in _ORDERS:
        return replace(written, date=_ORDERS[how], skips_others=True)
    written = replace(written, needs_sign=False)
    if how:
        decimal = "," if how == "decimal-comma" else "."
        group = "" if written.group == decimal else written.group
        return replace(written, decimal=decimal, group=group, skips_others=True)
    return replace(written, skips_others=True)


def with_sign_note(cells: Any, found: Inferred) -> Inferred:
    """Say how numbers without the unit of the training are read, if there are any."""
    sign = found.format.sign
    if not sign or isinstance(cells, np.ndarray):
        return found
    coded = CodedCells.of(cells)
    unsigned = coded.expand(numbers_of(coded.words, found.format)[1]) & ~np.isnan(found.values)
    if not unsigned.any():
        return found
    word, value = _first(cells, found.values, unsigned)
    why = f"a number without {sign!r} is taken to be in {sign!r}"
    return replace(found, example=f"{word!r} is read as {value:.15g}; {why}")


def with_format_note(cells: Any, found: Inferred, trained: CellFormat, odd: Array) -> Inferred:
    """Say how numbers are read that are not written as in training; `odd` is their mask."""
    shown = odd & ~np.isnan(found.values)
    if not shown.any():
        return found
    word, value = _first(cells, found.values, shown)
    return replace(
        found, example=f"{word!r} is read as {value:.15g}; in training, {_in_words(trained)}"
    )


def _in_words(written: CellFormat) -> str:
    if written.decimal == ",":
        return "numbers had a decimal comma"
    if written.group:
        return f"numbers had {written.group!r} between thousands"
    if written.sign:
        return f"numbers were in {written.sign!r}"
    return "numbers had a decimal point"


def _first(cells: Any, values: Array, mask: Array) -> tuple[str, float]:
    row = int(np.argmax(mask))
    return word_at(cells, row), float(values[row])
