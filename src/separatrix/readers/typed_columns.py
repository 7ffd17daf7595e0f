"""Turn the columns of a file or data frame into numbers, categories and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat, Formats, Kind
from separatrix.readers.cells.coded_cells import CodedCells, cells_of, word_at
from separatrix.readers.cells.date_cells import date_words
from separatrix.readers.cells.inference import TYPES, infer, read_as, words_seen
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.cells.missing_words import AMBIGUOUS_WORDS, MISSING_WORDS
from separatrix.readers.cells.number_cells import (
    has_thousands,
    may_be_thousands,
    numbers_of,
    without_numbers,
)
from separatrix.readers.cells.trained_cells import (
    with_format_note,
    with_sign_note,
    with_type,
)
from separatrix.readers.cells.word_cells import looks_like_text
from separatrix.readers.columns import require_column, to_column, to_words
from separatrix.readers.data_frames import is_categorical, truths_to_words
from separatrix.readers.label_column import place_by_row

_TRUTH = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0, None: np.nan}


def checked_types(
    where: str, types: Mapping[str, str] | None, names: Collection[str], *, trained: bool
) -> dict[str, str]:
    """Return the types that the user gave, after a check. For a model, columns may be missing."""
    for name, wanted in (types or {}).items():
        if wanted not in TYPES:
            raise ParameterError(
                Message(
                    "{types:subject} must be one of {allowed} for every column. Got {wanted!r} for "
                    "column {name!r} instead.",
                    types=Parameter("types"),
                    allowed=", ".join(TYPES),
                    wanted=wanted,
                    name=name,
                )
            )
        if not trained:
            require_column(name, names, f"to read as {wanted} in {where}")
    return dict(types or {})


def missing_words(given: Collection[str] | str | None) -> tuple[str, ...]:
    """Return the words for missing values: those of the user, or the default ones.

    >>> missing_words(["-999", " N.A. "])
    ('-999', 'n.a.')
    """
    if given is None:
        return MISSING_WORDS
    words = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(word for each in words if (word := str(each).strip().lower())))


def as_cells(where: str, name: str, values: Any) -> Any:
    """Return a column of strings as cells of pyarrow, and any other column as an array."""
    if isinstance(values, CodedCells):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray) and _is_string(values.type):
        return values
    try:
        column = to_column(name, values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if column.dtype != object or is_categorical(values):
        return column
    try:
        return cells_of(column)
    except UnicodeEncodeError:  # lone surrogates, which no file has
        return column


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def infer_columns(
    where: str,
    named: Mapping[str, Any],
    types: Mapping[str, str],
    missing: tuple[str, ...],
    *,
    comma_first: bool,
) -> dict[str, Inferred]:
    """Decide how the columns are read, and read them.

    `comma_first` says that a comma is a decimal sign rather than a sign between thousands.
    """
    found = {}
    for name, values in named.items():
        wanted = types.get(name)
        if isinstance(values, np.ndarray):
            found[name] = _typed(values, wanted, missing)
        else:
            found[name] = infer(values, missing, wanted=wanted, comma_first=comma_first)
            _require_fit(where, name, wanted, found[name])
    if comma_first and any(_has_decimal_commas(named[name], each) for name, each in found.items()):
        for name, each in found.items():
            if each.format == CellFormat() and not isinstance(named[name], np.ndarray):
                found[name] = _with_points(named[name], each, missing)
    elif comma_first:
        for name, each in found.items():
            if each.format == CellFormat() and name not in types:
                found[name] = _with_example(named[name], each, missing)
    return found


def _typed(values: Array, wanted: str | None, missing: tuple[str, ...]) -> Inferred:
    """Take a column whose values have a type already, as in a data frame."""
    if wanted in ("category", "text") or values.dtype == object:
        text = wanted == "text" or (wanted is None and looks_like_text(to_words(values)))
        return Inferred(CellFormat("text" if text else "categories"), to_words(values))
    return Inferred(CellFormat(), without_numbers(values, missing))


def _require_fit(where: str, name: str, wanted: str | None, found: Inferred) -> None:
    """Raise if a column cannot have the type that the user gave."""
    kind = (wanted or "").partition(":")[0]
    if kind == "date" and found.doubt == "order":
        raise ambiguous_dates(where, name)
    is_quantity = kind in ("number", "date") and found.format.kind == "numbers"
    if kind in ("number", "date") and not (is_quantity and _any_number(found.values)):
        raise ValueError(
            f"{where}: column {name!r} was given the type {wanted!r}, but has no {kind}s."
        )


def ambiguous_dates(where: str, name: str) -> ValueError:
    """Return the error for dates whose order of day and month cannot be known."""
    return ValueError(
        Message(
            "{where}: the dates of column {name!r} can be day-month-year or month-day-year. Give "
            "{day} or {month}, or write them as year-month-day.",
            where=where,
            name=name,
            day=Parameter("types", {name: "date:day-first"}),
            month=Parameter("types", {name: "date:month-first"}),
        )
    )


def _any_number(values: Array) -> bool:
    return not len(values) or not np.isnan(values).all()


def _has_decimal_commas(cells: Any, found: Inferred) -> bool:
    """Return whether the commas of a column cannot be between thousands."""
    return found.format.decimal == "," and not may_be_thousands(CodedCells.of(cells).words, ",")


def _with_points(cells: Any, found: Inferred, missing: tuple[str, ...]) -> Inferred:
    """Read 1.234 as 1234 if the other cells of the column show that this is meant.

    This is for files in which other columns have decimal commas.
    """
    coded = CodedCells.of(cells)
    present = coded.without(coded.is_missing(missing))
    if not has_thousands(present.words, "."):
        return found
    with_point = pc.match_substring(present.words, ".")
    written = CellFormat(decimal=",", group=".")
    values = numbers_of(present.words, written)[0]
    place = pc.index(with_point, True).as_py()
    example = f"{present.words[place].as_py()!r} is read as {values[place]:.15g}"
    return replace(found, format=written, values=coded.expand(values), example=example)


def _with_example(cells: Any, found: Inferred, missing: tuple[str, ...]) -> Inferred:
    """Say how 1.234 is read in a column where it may be 1234."""
    if isinstance(cells, np.ndarray):
        return found
    coded = CodedCells.of(cells)
    present = coded.without(coded.is_missing(missing))
    ungrouped = pc.any(pc.match_substring_regex(present.words, r"^[+-]?\d{4,}$")).as_py()
    if ungrouped or not may_be_thousands(present.words, "."):
        return found
    word = present.words[pc.index(pc.match_substring(present.words, "."), True).as_py()].as_py()
    remedy = "with the type number:decimal-comma, full stops would be between thousands"
    return replace(found, example=f"{word!r} is read as {float(word):.15g}; {remedy}")


def read_trained(
    where: str,
    name: str,
    values: Any,
    original: Any,
    kind: Kind,
    formats: Formats | None,
    place: Callable[[int], str] = place_by_row,
    *,
    wanted: str | None = None,
    missing: tuple[str, ...] | None = None,
) -> Inferred:
    """Read a column as the column of this name was read in training.

    `place` says in messages where a row is. `wanted` is the type that the user gave for it, and
    `missing` are words for missing values instead of those of the training.
    """
    known = () if formats is None else formats.missing
    missing = known if missing is None else missing
    written = CellFormat(kind) if formats is None else formats.of(name, kind)
    if wanted is not None:
        written = with_type(name, written, wanted)
    if isinstance(values, np.ndarray):
        if kind == "numbers" and values.dtype != object:
            return Inferred(CellFormat(), without_numbers(values, missing))
        words = truths_to_words(original) if kind == "categories" else None
        values = to_words(values) if words is None else words
        if kind != "numbers":
            return Inferred(CellFormat(kind), values)
        values = cells_of(values)
    if formats is None:
        missing = missing or MISSING_WORDS
        if kind == "categories":
            written = replace(written, categories=AMBIGUOUS_WORDS)
    found, others = read_as(values, written, missing)
    seen = words_seen(values, written, missing)
    if others is None or not others.any():
        return with_sign_note(values, Inferred(written, found, **seen))
    truths = _truths_of(values)
    if truths is not None:
        return Inferred(written, truths)
    if not written.date and not written.needs_sign and ":" not in (wanted or ""):
        anew = infer(values, missing, wanted="number", comma_first=True)
        same_unit = anew.format.sign in ("", written.sign)
        remaining = 0 if anew.others is None else anew.others.sum()
        if anew.format.kind == "numbers" and same_unit and remaining < others.sum():
            if anew.others is None or written.skips_others:
                return with_format_note(values, anew, written, others)
            others = anew.others
    if not written.skips_others:
        row = int(np.argmax(others))
        shown = word_at(values, row)
        in_unit = f" in {written.sign!r}" if written.sign else ""
        hold = date_words(written) if written.date else f"numbers{in_unit}"
        start, at = (f"{where}, {place(row)}: c", "") if where else ("C", f" in {place(row)}")
        sentence = (
            f"{start}olumn {name!r} must hold {hold}, as in training. Got {shown[:40]!r}{at} "
            "instead."
        )
        if not where:
            raise ValueError(sentence)
        raise ValueError(
            Message(
                "{sentence} Correct the cell, or give {types} to treat such cells as missing, or "
                "{missing:=} with its words for missing values.",
                sentence=sentence,
                types=Parameter("types", {name: "date" if written.date else "number"}),
                missing=Parameter("missing_values"),
            )
        )
    return with_sign_note(values, Inferred(written, found, others=others, **seen))


def _truths_of(cells: Any) -> Array | None:
    """Return the cells True and False as 1 and 0, and None if there are others.

    In training, the booleans of a data frame were numbers.
    """
    coded = CodedCells.of(cells)
    words = coded.words.to_pylist()
    if any(word not in _TRUTH for word in words):
        return None
    return coded.expand(np.array([_TRUTH[word] for word in words]))
