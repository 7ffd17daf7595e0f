"""The labels and weights of all rows of a stream, as numbers; and counts of its cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.cells.cell_counts import TableCounts
from separatrix.readers.columns import to_words
from separatrix.readers.label_column import class_labels, is_quantity, named_labels
from separatrix.readers.rows.row_order import draw_split
from separatrix.readers.source import Source
from separatrix.readers.splits import SHARES, Split, Splits, checked_shares, given_rows, own_splits
from separatrix.readers.streams.stream import Chunk, RowStream, StreamFacts
from separatrix.text import counted
from separatrix.workflow.preparing import require_labelled

_NAMED = 5  # labels in a sentence


@dataclass(frozen=True, eq=False)
class RowLabels:
    """The class number (n,) and the weight (n,) of every row, and the sorted classes (C,)."""

    codes: Array
    classes: Array
    weights: Array | None
    notes: list[str] = field(default_factory=list)

    def split(self, facts: StreamFacts, split: Split, seed: int) -> tuple[Splits, list[str]]:
        """Return the rows of every part, as `load` splits them, and sentences about the split."""
        n, notes = len(self.codes), list[str]()
        if facts.splits is not None:
            return facts.splits, notes
        if isinstance(split, Mapping):
            return given_rows(split, n), notes
        if split is not None and checked_shares(split)[0] == 1.0:
            return {"train": np.arange(n)}, ["All rows are training rows."]
        if facts.own_splits is not None and split is None:
            return own_splits(facts.own_splits, self.codes, seed, notes), notes
        splits, note = draw_split(self.codes, n, seed, SHARES if split is None else split)
        return splits, [note]


def read_labels(stream: RowStream, on_rows: Callable[[int], None]) -> RowLabels:
    """Read the labels and weights of all rows, and count what is particular about their cells.

    `on_rows` is called with the number of rows.
    """
    codes, weights, found = list[Array](), list[Array](), list[Array]()
    seen = _Seen(stream.facts)
    for chunk in stream.chunks():
        require_labelled(_only_labels(stream.facts, chunk.y))
        assert chunk.y is not None
        classes, rows, own = np.unique(chunk.y, return_index=True, return_inverse=True)
        seen.add(chunk, classes, rows)
        found.append(classes)
        codes.append(own.ravel().astype(np.int32))
        if chunk.weights is not None:
            weights.append(chunk.weights)
        on_rows(chunk.first + len(chunk))
    found = _of_one_kind(found)
    classes = np.unique(np.concatenate(found))
    parts = [np.searchsorted(classes, own)[part] for own, part in zip(found, codes)]
    numbers: Array = np.concatenate(parts).astype(np.int32)
    notes = seen.notes(classes, np.bincount(numbers))
    if stream.facts.n_first is not None:
        classes, new = np.unique(named_labels(classes, notes), return_inverse=True)
        numbers = new.astype(np.int32)[numbers]
    if is_quantity(classes):
        classes, numbers = _named(stream.facts, classes, numbers, notes)
    s = np.concatenate(weights) if weights else None
    return RowLabels(numbers, classes, s, [*notes, *seen.counts.sentences()])


class _Seen:
    """The rows of a table that were read so far: counts of cells, and where labels are first."""

    def __init__(self, facts: StreamFacts) -> None:
        self._n_first = facts.n_first
        self._places: dict[str, str] = {}  # empty for labels of the first rows
        self.counts = TableCounts({})

    def add(self, chunk: Chunk, classes: Array, rows: Array) -> None:
        """Add a chunk, the labels in it, and the rows in which they are first."""
        loaded = chunk.loaded
        if loaded is None:
            return
        for label, row in zip(_words(classes).tolist(), rows.tolist()):
            self._places.setdefault(label, loaded.place(row) if chunk.first else "")
        if chunk.first:
            self.counts.add(loaded.counts)
        else:
            self.counts = loaded.counts

    def notes(self, classes: Array, counts: Array) -> list[str]:
        """Describe labels that are not in the first rows."""
        late = [
            (count, label, self._places[label])
            for label, count in zip(_words(classes).tolist(), counts.tolist())
            if self._places.get(label)
        ]
        if not late:
            return []
        shown = [
            f"{label!r} ({counted(count, 'row')}, first on {place})"
            for count, label, place in sorted(late)[:_NAMED]
        ]
        more = f" and {len(late) - _NAMED:,} more" if len(late) > _NAMED else ""
        are = "A label that is" if len(late) == 1 else f"{len(late):,} labels that are"
        return [f"{are} not in the first {self._n_first:,} rows: {', '.join(shown)}{more}."]


def _of_one_kind(found: list[Array]) -> list[Array]:
    """Return the labels of all chunks as words if those of some chunks are words."""
    if any(classes.dtype.kind == "U" for classes in found):
        return [_words(classes) for classes in found]
    return found


def _words(classes: Array) -> Array:
    words = classes.dtype.kind == "U"
    return classes if words else to_words(classes.astype(np.float64)).astype(str)


def _only_labels(facts: StreamFacts, y: Array | None) -> Source:
    """Return a source of these labels, for the checks that all sources pass."""
    if y is not None and y.dtype.kind == "f":  # whether they are classes shows at the end
        y = np.floor(y)
    table = np.zeros((0 if y is None else len(y), 1))
    return Source(facts.name, table, y, None, facts.notes)


def _named(
    facts: StreamFacts, classes: Array, numbers: Array, notes: list[str]
) -> tuple[Array, Array]:
    """Return few fractional labels as sorted words, with new numbers; refuse quantities."""
    y = class_labels(classes[numbers], notes)
    require_labelled(Source(facts.name, np.zeros((len(y), 1)), y, None, facts.notes))
    words, new = np.unique(to_words(classes).astype(str), return_inverse=True)
    return words, new.astype(np.int32)[numbers]
