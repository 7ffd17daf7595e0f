"""The labels and weights of all rows of a stream, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.columns import to_words
from separatrix.readers.label_column import class_labels, is_quantity
from separatrix.readers.rows.row_order import draw_split
from separatrix.readers.source import Source
from separatrix.readers.splits import SHARES, Split, Splits, checked_shares, given_rows, own_splits
from separatrix.readers.streams.stream import RowStream, StreamFacts
from separatrix.workflow.preparing import require_labelled


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
    """Read the labels and weights of all rows; `on_rows` is called with the number of rows."""
    codes, weights, found = list[Array](), list[Array](), list[Array]()
    for chunk in stream.chunks():
        require_labelled(_only_labels(stream.facts, chunk.y))
        assert chunk.y is not None
        classes, numbers = np.unique(chunk.y, return_inverse=True)
        found.append(classes)
        codes.append(numbers.ravel().astype(np.int32))
        if chunk.weights is not None:
            weights.append(chunk.weights)
        on_rows(chunk.first + len(chunk))
    classes = np.unique(np.concatenate(found))
    parts = [np.searchsorted(classes, own)[part] for own, part in zip(found, codes)]
    numbers = np.concatenate(parts).astype(np.int32)
    notes = list[str]()
    if is_quantity(classes):
        classes, numbers = _named(stream.facts, classes, numbers, notes)
    s = np.concatenate(weights) if weights else None
    return RowLabels(numbers, classes, s, notes)


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
