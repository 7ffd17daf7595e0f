"""Separate the columns of a table into features, labels and columns that describe the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import TableCounts, first_trimmed
from separatrix.readers.cells.cell_format import CellFormat, Formats, Kind
from separatrix.readers.cells.column_notes import describe_columns
from separatrix.readers.cells.decisions import describe_decisions, describe_identifiers, no_features
from separatrix.readers.cells.inference import labels_of
from separatrix.readers.cells.inferred import Inferred
from separatrix.readers.columns import Columns, require_column
from separatrix.readers.data_frames import truths_to_words
from separatrix.readers.label_column import (
    NO_LABELS,
    Label,
    LabelError,
    Layout,
    find_label,
    named_labels,
    place_by_row,
    rivals_of,
    usable_labels,
)
from separatrix.readers.rows.row_columns import RowColumns, read_row_columns
from separatrix.readers.source import LoadedTable
from separatrix.readers.typed_columns import (
    as_cells,
    checked_types,
    infer_columns,
    missing_words,
    read_trained,
)
from separatrix.text import counted

Names: TypeAlias = str | Collection[str] | None


@dataclass(frozen=True)
class TableOptions:
    """The options of all readers of tables.

    Attributes
    ----------
    label : label column: a name, a position (0 is first, -1 is last), or False for none
    text : names of the columns that hold documents
    drop : names of the columns to leave out
    missing_values : words for missing values, instead of `cells.missing_words.MISSING_WORDS`
    types : types of columns by name, each one of `cells.inference.TYPES`
    columns : names and kinds of the columns of a trained model (`Preparation.columns`)
    formats : how the cells of a trained model were written (`Preparation.formats`)
    layout : order of the columns in the training data
    roles : columns that describe the rows and are not features, by role: weight, ...
    is_part : the rows are a part of a file, all of whose parts are counted: labels stay as they are
        written, and with `columns` all cells are counted
    """

    label: Label = None
    text: Names = None
    drop: Names = None
    missing_values: Names = None
    types: Mapping[str, str] | None = None
    columns: Mapping[str, Kind] | None = None
    formats: Formats | None = None
    layout: Layout | None = None
    roles: Mapping[str, str] | None = None
    is_part: bool = False

    @property
    def is_for_model(self) -> bool:
        """Whether the columns are read as in the training of a model."""
        return bool(self.columns)

    @property
    def text_names(self) -> list[str]:
        """Names of the text columns that the user gave."""
        return names_in(self.text)

    @property
    def missing(self) -> tuple[str, ...]:
        """The words for missing values: of the user, of the model, or the default ones."""
        if self.missing_values is None and self.formats is not None:
            return self.formats.missing
        return missing_words(self.missing_values)


def names_in(given: Names) -> list[str]:
    """Return names that were given as one string, as several or not at all.

    >>> names_in("age"), names_in(["age", "job"]), names_in(None)
    (['age'], ['age', 'job'], [])
    """
    return [given] if isinstance(given, str) else list(given or ())


@dataclass(frozen=True)
class Origin:
    """Where the columns come from: a name, the place of a row, and whether commas are decimal."""

    where: str
    place: Callable[[int], str] = place_by_row
    comma_first: bool = False


def split_label(
    origin: Origin, named: Mapping[str, Any], options: TableOptions | None = None
) -> LoadedTable:
    """Separate the named columns of a file or data frame into features and labels.

    >>> named = {"size": [1, 2], "y": ["a", "b"], "kind": ["u", None]}
    >>> parts = split_label(Origin("frame"), named)
    >>> parts.table, parts.y.tolist()
    (Columns of 2 rows: size (numbers), kind (categories), ['a', 'b'])
    """
    options = TableOptions() if options is None else options
    return _Separation(origin, named, options).run()


class _Separation:
    """The columns of a table while they are separated. `notes` has a sentence per decision."""

    def __init__(self, origin: Origin, named: Mapping[str, Any], options: TableOptions) -> None:
        self.origin, self.named, self.options = origin, named, options
        self.where, self.notes, self.missing = origin.where, list[str](), options.missing
        self.wanted = self._wanted_types()
        self.dropped = self._dropped()
        self.cells = {
            name: as_cells(self.where, name, values)
            for name, values in named.items()
            if name not in self.dropped
        }
        if not self.cells or not len(next(iter(self.cells.values()))):
            raise ValueError(f"{self.where} has no rows.")

    def run(self) -> LoadedTable:
        """Return the features, the labels, and the columns that describe the rows."""
        options = self.options
        row_columns = self._read_row_columns()
        found = self._read_columns()
        kinds = {name: each.format.kind for name, each in found.items()}
        chosen = find_label(
            self.where, kinds, options.label, options.columns, options.layout, self.notes
        )
        y = None
        if chosen is not None:
            y, found = self._take_label(chosen, found)
        if not options.is_for_model:
            found = self._leave_out_identifiers(found)
        if not found:
            raise ValueError(
                f"{self.where} has only one column, {chosen!r}, which is the label, and so no "
                "features. Give a table with more columns, or choose another label."
            )
        table = self._table(found)
        counts = self._note_decisions(found, table)
        reading: dict[str, Any] = {"layout": {"names": list(self.named), "label": chosen}}
        if self.dropped:
            reading["drop"] = list(self.dropped)
        kept = {role: name for role, name in row_columns.names.items() if role in ("weight", "id")}
        if kept:
            reading["roles"] = kept
        return LoadedTable(
            table,
            y,
            table.names,
            self.notes,
            reading,
            row_columns=row_columns,
            counts=counts,
            place=self.origin.place,
        )

    def _wanted_types(self) -> dict[str, str]:
        """Return the types that the user gave, by column."""
        options = self.options
        wanted = checked_types(self.where, options.types, self.named, trained=options.is_for_model)
        for name in options.text_names:
            require_column(name, self.named, "to read as text")
            wanted[name] = "text"
        return wanted

    def _dropped(self) -> dict[str, None]:
        """Return the columns that are no features. For a trained model, they may be missing."""
        options = self.options
        given = dict.fromkeys(names_in(options.drop))
        if not options.is_for_model:
            for name in given:
                require_column(name, self.named, f"to drop from {self.where}")
        dropped = {name: None for name in given if name in self.named}
        if dropped and not options.is_for_model:
            columns = "column" if len(dropped) == 1 else "columns"
            self.notes.append(f"Dropped the {columns} {', '.join(map(repr, dropped))}.")
        by_type = [name for name, kind in self.wanted.items() if kind == "drop"]
        dropped |= {name: None for name in by_type if name in self.named}
        described = [name for name in (options.roles or {}).values() if name in self.named]
        return dropped | {name: None for name in described if name not in (options.columns or ())}

    def _read_row_columns(self) -> RowColumns:
        found = read_row_columns(
            self.where,
            self.options.roles or {},
            self.named,
            self.missing,
            self.wanted,
            self.origin.place,
            trained=self.options.is_for_model,
        )
        if not self.options.is_for_model:
            self.notes += found.notes()
        return found

    def _read_columns(self) -> dict[str, Inferred]:
        """Decide how the columns are read; those of a trained model are read as in training."""
        trained = self._trained()
        new = {name: each for name, each in self.cells.items() if name not in trained}
        found = infer_columns(
            self.where, new, self.wanted, self.missing, comma_first=self.origin.comma_first
        )
        for name, kind in trained.items():
            found[name] = read_trained(
                self.where,
                name,
                self.cells[name],
                self.named[name],
                kind,
                self.options.formats,
                self.origin.place,
                wanted=self.wanted.get(name),
                missing=self.missing,
            )
        return {name: found[name] for name in self.cells}

    def _trained(self) -> dict[str, Kind]:
        columns = self.options.columns or {}
        return {name: kind for name, kind in columns.items() if name in self.cells}

    def _take_label(
        self, name: str, found: dict[str, Inferred]
    ) -> tuple[Array | None, dict[str, Inferred]]:
        """Return the labels and the other columns, without copies of the label."""
        is_for_model = self.options.is_for_model
        values = self._label_values(name, found[name])
        y = self._labels(name, values)
        if y is not None and y.dtype.kind != "U" and not is_for_model:
            self._describe({name: found[name]})
        if y is not None and y.dtype.kind == "U" and not (is_for_model or self.options.is_part):
            self._note_trimmed_labels(name, found[name])
        copies = [] if is_for_model else rivals_of(found, name, values, self.notes)
        return y, {other: each for other, each in found.items() if other not in (name, *copies)}

    def _note_trimmed_labels(self, name: str, found: Inferred) -> None:
        if count := found.trimmed.total():
            first = first_trimmed(self.cells[name], found, self.origin.place)
            them = "it" if count == 1 else "them"
            self.notes.append(
                f"Removed the spaces around {counted(count, 'label')}, which makes {them} equal to "
                f"others ({first})."
            )

    def _label_values(self, name: str, found: Inferred) -> Array:
        """Return the values of the label column; booleans as the strings that a CSV file has."""
        cells = self.cells[name]
        if not isinstance(cells, np.ndarray):
            return labels_of(cells, found, self.missing)
        words = truths_to_words(self.named[name])
        return cells if words is None else words

    def _labels(self, name: str, values: Array) -> Array | None:
        """Return the labels. Unusable ones raise an error, or add a note if a model reads them."""
        try:
            y = usable_labels(self.where, name, values, self.origin.place)
            return y if self.options.is_part else named_labels(y, self.notes)
        except LabelError as error:
            if not self.options.is_for_model:
                raise
            self.notes.append(f"{NO_LABELS}: {error.what}.")
            return None

    def _leave_out_identifiers(self, found: dict[str, Inferred]) -> dict[str, Inferred]:
        """Leave out columns that identify rows or that look like numbers but cannot be read so.

        If there are no other columns, identifiers are kept, and the others raise an error.
        """
        identifiers = {
            name: each for name, each in found.items() if each.different and name not in self.wanted
        }
        if len(identifiers) == len(found):
            doubtful = {name: each for name, each in found.items() if each.doubt}
            if doubtful:
                raise ValueError(no_features(self.where, self._describe_left_out(doubtful)))
            return {name: replace(each, different=0, present=0) for name, each in found.items()}
        self.notes += self._describe_left_out(identifiers)
        self.dropped |= dict.fromkeys(identifiers)
        return {name: each for name, each in found.items() if name not in identifiers}

    def _describe_left_out(self, found: Mapping[str, Inferred]) -> list[str]:
        return describe_identifiers(found, self._strings(), self.origin.place)

    def _table(self, found: Mapping[str, Inferred]) -> Columns:
        """Return the features, with the formats that new rows are to be read with."""
        texts = [name for name, each in found.items() if each.format.kind == "text"]
        unusual = {
            name: each.format
            for name, each in found.items()
            if each.format != CellFormat(each.format.kind)
        }
        formats = self.options.formats
        kept = formats if formats is not None else Formats(self.missing, unusual)
        values = {name: each.values for name, each in found.items()}
        return Columns(values, text=texts, formats=kept)

    def _note_decisions(self, found: Mapping[str, Inferred], table: Columns) -> TableCounts:
        """Add notes about the columns; for a model, only about what differs from training."""
        trained = {} if self.options.is_part else self._trained()
        told = {
            name: each
            for name, each in found.items()
            if name not in trained or each.example or each.others is not None or each.missing
        }
        self.notes += describe_decisions(told, self._strings(), self.origin.place)
        given = [*self.wanted, *(self.options.columns or ())]
        self.notes += describe_columns(table, given)
        detected = [name for name in found if name not in (*self.wanted, *trained)]
        strings = {name: cells for name, cells in self._strings().items() if name in told}
        used = {n: each for n, each in found.items() if n in (self.options.columns or found)}
        counts = TableCounts.of(used, strings, self.origin.place, detected)
        self.notes += counts.sentences()
        return counts

    def _describe(self, found: Mapping[str, Inferred]) -> None:
        cells, place = self._strings(), self.origin.place
        self.notes += describe_decisions(found, cells, place)
        self.notes += TableCounts.of(found, cells, place).remarks()

    def _strings(self) -> dict[str, Any]:
        """Return the columns whose cells are strings."""
        return {n: each for n, each in self.cells.items() if not isinstance(each, np.ndarray)}
