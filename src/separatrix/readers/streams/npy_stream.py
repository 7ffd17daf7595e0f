"""Rows of npy files, which are mapped and copied some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.label_column import Label
from separatrix.readers.numpy_arrays import label_place, map_npy, map_npy_folder
from separatrix.readers.streams.stream import CHUNK_BYTES, Chunk, StreamFacts


class NpyStream:
    """The rows of one array with a label column, or of the arrays of a folder."""

    def __init__(self, path: Path, label: Label = None, size: int = CHUNK_BYTES) -> None:
        self._size = size
        name = path.resolve().name
        if path.is_dir():
            self._tables, self._labels, own = map_npy_folder(path)
            self._place = None
            self.facts = StreamFacts(name, own_splits=own)
        else:
            X = map_npy(path)
            self._tables, self._labels = [X], [None]
            self._place, notes = label_place(path, X, label)
            self.facts = StreamFacts(name, notes)

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        begin = 0
        for X, y in zip(self._tables, self._labels):
            step = max(self._size // max(X.itemsize * X.shape[1], 1), 1)
            skipped = min(max(first_row - begin, 0), len(X))
            for first in range(skipped - skipped % step, len(X), step):
                part = np.array(X[first : first + step])
                own: Array | None = None if y is None else y[first : first + step]
                if self._place is not None:
                    own = np.ascontiguousarray(part[:, self._place])
                    part = np.delete(part, self._place, axis=1)
                yield Chunk(begin + first, part, own)
            begin += len(X)
