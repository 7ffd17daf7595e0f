"""The rows of a folder of blocks as a source, for the commands and for studies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.on_disk import StoredRows, open_rows
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.packing.messages import MESSAGE
from separatrix.readers.rows.row_columns import RowColumns
from separatrix.readers.source import Source


class StoredSource(Source):
    """A source whose table is rows on disk, which were split and prepared when they were stored.

    The row numbers of its parts are ranges, in the order of the folder: training, validation and
    test rows. Only whole parts can be selected.
    """

    table: StoredRows

    def __init__(self, rows: StoredRows) -> None:
        about = rows.manifest.about
        sizes = [rows.manifest.rows(part) for part in rows.parts]
        ends = np.cumsum([0, *sizes])
        given: dict[str, Any] = {
            "name": rows.name,
            "table": rows,
            "feature_names": rows.feature_names,
            "notes": notes_of(about),
            "splits": {
                part: np.arange(first, end)
                for part, first, end in zip(rows.parts, ends[:-1], ends[1:])
            },
            "reading": dict(about.get("reading", {})),
            "row_columns": RowColumns({"weight": "weight"} if rows.manifest.weighted else {}),
            "find_cell": None,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @cached_property
    def y(self) -> Array:
        """The labels of all rows."""
        return self.table.y

    @property
    def weights(self) -> Array | None:
        """The sample weights (n,), or None."""
        return self.table.weights

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the checksums of all files."""
        return self.table.manifest.fingerprint

    def rows(self, numbers: Any) -> StoredSource:
        """Return the rows of some parts."""
        chosen = np.zeros(len(self), bool)
        chosen[numbers] = True
        parts = [part for part, own in self.splits.items() if chosen[own].all()]
        if sum(len(self.splits[part]) for part in parts) != np.count_nonzero(chosen):
            self.table[numbers]  # raises
        return self.part(parts)

    def part(self, part: str | list[str]) -> StoredSource:
        """Return the rows of one part, or of several."""
        return self if tuple(self.table.parts) == (part,) else StoredSource(self.table.part(part))


def notes_of(about: Mapping[str, Any]) -> list[str]:
    """Return the notes of a conversion, from the values about a source in a manifest."""
    return [MESSAGE.unpack(note, "notes") for note in about.get("notes", [])]


def open_source(
    folder: Path, options: dict[str, Any], memory: int | str | None = None
) -> StoredSource:
    """Open all rows of a folder of blocks; no option of a reader may be given."""
    given = {name: value for name, value in options.items() if value is not None}
    if given:
        raise ParameterError(
            Message(
                "{folder} holds rows that were read and split when they were converted, so "
                "{name:quoted} has no effect on them. Give it to 'separatrix convert'.",
                folder=folder,
                name=Parameter(next(iter(given))),
            )
        )
    return StoredSource(open_rows(folder, "all", memory=memory))
