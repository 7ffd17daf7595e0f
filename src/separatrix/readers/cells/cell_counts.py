"""Count what was done with the cells of a table, in one part of a file or in all of them.

The first part of a file decides how its columns are read. What the sentences count is added up over
all parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.cells.cell_format import CellFormat
from separatrix.readers.cells.coded_cells import (
    equal_rows,
    matching_rows,
    rows_as_written,
    word_at,
)
from separatrix.readers.cells.date_cells import ORDER_NAMES, date_words
from separatrix.readers.cells.inference import CODES, MOST_OTHERS
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.columns import count_missing
from separatrix.text import counted, listed

REMARKS = 50  # number of columns with sentences of their own
SHOWN = 40  # characters of a cell
WORDS = 12  # number of different cells in a sentence
LEADING_ZERO = r"^\s*0\d[\d.]*\s*$"
_NAMED = 5  # number of columns in a sentence
_LOOKED_AT = 1000  # values that are examined first, because they decide about most columns

Place = Callable[[int], str]


@dataclass
class ColumnCounts:
    """What is particular about the cells of a column.

    Attributes
    ----------
    format : how the cells are read
    n_others, others : how many cells are not numbers or dates, and where the first ones are
    missing, places : words for missing values, how often they occur, and where they are first
    kept : words for missing values that are categories, and how often they occur
    n_trimmed, trimmed : how many cells are equal to others without spaces, and the first of them
    zeros : the first number with leading zeros, and where it is
    n_values, n_missing : how many values there are, and how many are missing
    different : the different values; of numbers and text at most two
    detected : whether the type of the column was detected
    """

    format: CellFormat
    n_others: int = 0
    others: dict[str, str] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)
    kept: Counter[str] = field(default_factory=Counter)
    n_trimmed: int = 0
    trimmed: str = ""
    zeros: str = ""
    n_values: int = 0
    n_missing: int = 0
    different: set[Any] = field(default_factory=set)
    detected: bool = False

    @classmethod
    def of(cls, found: Inferred, cells: Any, place: Place, detected: bool) -> ColumnCounts:
        """Count the cells of a column; `cells` is None for a column without strings.

        Different values are only of interest if the type of the column was detected.
        """
        values, every = found.values, found.format.kind == "categories"
        counts = cls(
            found.format,
            n_values=len(values),
            n_missing=count_missing(values),
            different=_different(values, every=every) if detected else set(),
            detected=detected,
        )
        if cells is None:
            return counts
        counts.missing, counts.kept = found.missing.copy(), found.kept.copy()
        if found.others is not None and not found.doubt:
            counts.n_others = int(found.others.sum())
            counts.others = _first_places(cells, found.others, place)
        if found.zeros:
            first = int(np.argmax(matching_rows(cells, LEADING_ZERO)))
            counts.zeros = quoted(cells, first, place)
        if found.trimmed:
            counts.n_trimmed = found.trimmed.total()
            counts.trimmed = first_trimmed(cells, found, place)
        for word in found.missing:
            counts.places[word] = place(int(np.argmax(equal_rows(cells, word))))
        return counts

    def add(self, later: ColumnCounts) -> None:
        """Add the counts of later rows."""
        self.n_others += later.n_others
        for word, place in later.others.items():
            if len(self.others) <= WORDS:
                self.others.setdefault(word, place)
        self.missing.update(later.missing)
        self.places = later.places | self.places
        self.kept.update(later.kept)
        self.n_trimmed += later.n_trimmed
        self.trimmed = self.trimmed or later.trimmed
        self.zeros = self.zeros or later.zeros
        self.n_values += later.n_values
        self.n_missing += later.n_missing
        if self.format.kind == "categories" or len(self.different) < 2:
            self.different |= later.different

    @property
    def is_constant(self) -> bool:
        """Whether all values that are present are equal, and there are several."""
        return len(self.different) == 1 and self.n_values - self.n_missing > 1

    def remarks(self, name: str) -> Iterator[str]:
        """Yield sentences about the cells of the column."""
        if self.n_others:
            yield describe_others(name, self)
        if self.zeros:
            yield Message(
                "Column {name!r}: some numbers have leading zeros ({example}), which are lost. If "
                "they are codes, give {types}.",
                name=name,
                example=self.zeros,
                types=Parameter("types", {name: "category"}),
            )
        if self.kept:
            words = ", ".join(
                f"{word!r} ({counted(n, 'cell')})" for word, n in self.kept.most_common()
            )
            yield f"Column {name!r}: {words} is read as a category, not as a missing value."
        if self.n_trimmed:
            them = "it" if self.n_trimmed == 1 else "them"
            yield (
                f"Column {name!r}: removed the spaces around {counted(self.n_trimmed, 'cell')}, "
                f"which makes {them} equal to others ({self.trimmed})."
            )
        if self.missing:
            yield self._missing_words(name)

    def _missing_words(self, name: str) -> str:
        """Describe the words that are read as missing values."""
        shown = []
        for word, count in self.missing.most_common(WORDS):
            first = self.places[word]
            one = f"{word!r}, {first}"
            shown.append(one if count == 1 else f"{word!r}, {count:,} cells, first on {first}")
        if len(self.missing) > WORDS:
            shown.append(f"and {counted(len(self.missing) - WORDS, 'other word')}")
        total = self.missing.total()
        are = "1 cell is" if total == 1 else f"{total:,} cells are"
        return f"Column {name!r}: {are} read as missing ({'; '.join(shown)})."


@dataclass(frozen=True)
class SkippedLines:
    """How many lines are not rows: blank lines, and repetitions of the header."""

    blank: int = 0
    headers: int = 0
    first_header: int = 0  # its line

    def __add__(self, later: SkippedLines) -> SkippedLines:
        return SkippedLines(
            self.blank + later.blank,
            self.headers + later.headers,
            self.first_header or later.first_header,
        )

    def sentences(self) -> list[str]:
        """Describe the lines.

        >>> SkippedLines(0, 2, 7).sentences()
        ['Skipped 2 repetitions of the header (first on line 7).']
        """
        blank = f"Skipped {counted(self.blank, 'blank line')}."
        first = "line" if self.headers == 1 else "first on line"
        times = counted(self.headers, "repetition")
        repeated = f"Skipped {times} of the header ({first} {self.first_header})."
        return [blank] * bool(self.blank) + [repeated] * bool(self.headers)


@dataclass
class TableCounts:
    """What is particular about the cells of every column.

    Attributes
    ----------
    columns : the counts, by column
    detected : the columns whose type was not given
    lines : the lines of the file that are not rows
    """

    columns: dict[str, ColumnCounts]
    detected: frozenset[str] = frozenset()
    lines: SkippedLines = SkippedLines()

    @classmethod
    def of(
        cls,
        found: Mapping[str, Inferred],
        cells: Mapping[str, Any],
        place: Place,
        detected: Collection[str] = (),
    ) -> TableCounts:
        """Count the cells of columns; `cells` has those that are strings."""
        counts = {
            name: ColumnCounts.of(each, cells.get(name), place, name in detected)
            for name, each in found.items()
        }
        return cls(counts, frozenset(detected))

    def add(self, later: TableCounts) -> None:
        """Add the counts of later rows of the same columns."""
        for name, counts in self.columns.items():
            counts.add(later.columns[name])
        self.lines += later.lines

    def sentences(self) -> list[str]:
        """Describe what users should know about the cells."""
        return [*self.lines.sentences(), *self.remarks(), *self._overview()]

    def remarks(self) -> list[str]:
        """Describe the cells of single columns."""
        return limited({name: [*counts.remarks(name)] for name, counts in self.columns.items()})

    def _overview(self) -> Iterator[str]:
        detected = {name: each for name, each in self.columns.items() if name in self.detected}
        several = {
            name: len(each.different)
            for name, each in detected.items()
            if each.format.kind == "categories" and len(each.different) > CODES
        }
        if several:
            shown = first_names([*several], several)
            yield f"Read as categories, with many different values: {shown}."
        for name, each in detected.items():
            if each.format.kind == "categories" and (alike := _alike(each.different)):
                shown = first_names(alike)
                yield f"Column {name!r}: categories differ only in upper and lower case: {shown}."
        if same := [name for name, each in detected.items() if each.is_constant]:
            yield f"Only one value: {first_names(same)}."
        absent = Counter({name: n for name, each in self.columns.items() if (n := each.n_missing)})
        if total := absent.total():
            shown = first_names([name for name, _ in absent.most_common()], absent)
            yield f"{total:,} value{'s are' if total > 1 else ' is'} missing: {shown}."


def _alike(words: Collection[str]) -> list[str]:
    """Return words that differ only in upper and lower case, if there are few words."""
    if len(words) > CODES:
        return []
    counts = Counter(word.casefold() for word in words)
    return sorted(word for word in words if counts[word.casefold()] > 1)


def describe_others(name: str, counts: ColumnCounts) -> str:
    """Describe the cells of a column of numbers that are treated as missing."""
    written, count = counts.format, counts.n_others
    named = f" in {written.sign!r}" if written.sign else ""
    thing = date_words(written).partition(" (")[0] if written.date else f"numbers{named}"
    if written.date in ("dmy", "mdy"):
        thing += f" in the order {ORDER_NAMES[written.date]}"
    if count == 1:
        thing = "a " + thing.replace("times", "time").replace("numbers", "number").replace(
            "dates", "date"
        )
    are = "cell is not" if count == 1 else "cells are not"
    examples = shown_places(counts.others)
    sentence = f"Column {name!r}: {count:,} {are} {thing} ({examples}); treated as missing."
    present = counts.n_values - counts.n_missing + count
    if not counts.detected or count <= MOST_OTHERS * present:
        return sentence
    return Message(
        "{sentence} To read the column as categories, give {types}.",
        sentence=sentence,
        types=Parameter("types", {name: "category"}),
    )


def examples_of(cells: Any, mask: Array, place: Place) -> str:
    """Show the different cells of a mask, each with the place where it occurs first."""
    return shown_places(_first_places(cells, mask, place))


def quoted(cells: Any, row: int, place: Place) -> str:
    """Show the cell of a row with its place."""
    return f"{word_at(cells, row)[:SHOWN]!r}, {place(row)}"


def first_trimmed(cells: Any, found: Inferred, place: Place) -> str:
    """Show the first cell that is equal to others without the spaces around it."""
    word = next(iter(found.trimmed))
    row = int(np.argmax(rows_as_written(cells, word)))
    return f"{word[:SHOWN]!r}, {place(row)}"


def limited(remarks: Mapping[str, list[str]]) -> list[str]:
    """Return the sentences about single columns, and one about all columns beyond the first."""
    several = {name: own for name, own in remarks.items() if own}
    names = [*several]
    notes = [note for name in names[:REMARKS] for note in several[name]]
    if len(names) > REMARKS:
        more = listed(map(repr, names[REMARKS:]))
        notes.append(f"Other columns were read with decisions of these kinds: {more}.")
    return notes


def first_names(names: list[str], counts: Mapping[str, int] | None = None) -> str:
    """List the first names, each with its count.

    >>> first_names(["a", "b"], {"a": 2, "b": 1_000})
    "'a' 2, 'b' 1,000"
    """
    shown = [f"{name!r} {counts[name]:,}" if counts else repr(name) for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED} more columns" if len(names) > _NAMED else ""
    return ", ".join(shown) + more


def shown_places(places: Mapping[str, str]) -> str:
    """Show cells with their places, at most some of them.

    >>> shown_places({"error": "line 7", "off": "line 9"})
    "'error', line 7; 'off', line 9"
    """
    shown = [f"{word[:SHOWN]!r}, {place}" for word, place in [*places.items()][:WORDS]]
    return "; ".join(shown) + ("; and others" if len(places) > WORDS else "")


def _first_places(cells: Any, mask: Array, place: Place) -> dict[str, str]:
    """Return the places of the first different cells of a mask, one more than are shown."""
    rows: dict[str, int] = {}
    for row in np.flatnonzero(mask).tolist():
        rows.setdefault(word_at(cells, row), row)
        if len(rows) > WORDS:
            break
    return {word: place(row) for word, row in rows.items()}


def _different(values: Array, *, every: bool) -> set[Any]:
    """Return the different values that are present; without `every`, at most two of them."""
    for some in (values,) if every else (values[:_LOOKED_AT], values):
        if some.dtype == object:
            found = set(some.tolist()) - {None}
        else:
            found = set(np.unique(some[~np.isnan(some)]).tolist())
        if len(found) > 1:
            break
    return found if every else set([*found][:2])
