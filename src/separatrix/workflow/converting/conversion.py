"""Convert a source to blocks of rows on disk, reading some rows at a time.

    labels of all rows -> parts -> preparation, fitted to the training rows -> blocks

Each arrow is one pass over the source. Only labels, weights and row numbers are in memory for all
rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.on_disk import StoredRows, is_block_folder, open_rows
from separatrix.data.on_disk.block_writer import (
    BlockWriter,
    begin_folder,
    finished_blocks,
    remove_unfinished,
    require_free,
)
from separatrix.data.on_disk.manifest import Manifest
from separatrix.data.on_disk.memory import (
    chunk_bytes,
    memory_of_conversion,
    rows_of_blocks,
    usual_memory,
)
from separatrix.estimators.checks.validation import require_count
from separatrix.features.incremental import fit_preparation
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.matrix import Array
from separatrix.matrix.array_types import working_type
from separatrix.packing.messages import MESSAGE
from separatrix.readers.columns import Columns
from separatrix.readers.splits import PARTS, Split, Splits
from separatrix.readers.streams.opening import open_stream, source_key
from separatrix.readers.streams.stream import Chunk, RowStream
from separatrix.workflow.converting.row_labels import RowLabels, read_labels
from separatrix.workflow.preparing import choose_settings, describe_preparation
from separatrix.workflow.stored_preparation import pack_preparation

OnStage = Callable[[str, int, int | None], None]


def convert(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    rows_per_block: int | None = None,
    memory: int | str | None = None,
    settings: Settings | Mapping[str, Any] | Callable[[Any], Settings] | None = None,
    split: Split = None,
    seed: int = 0,
    on_progress: OnStage | None = None,
    on_resume: Callable[[int, int], None] | None = None,
    **reading: Any,
) -> StoredRows:
    """Convert a source to a folder of blocks, from which models are trained with `open`.

    Tables become numbers, as in `separatrix fit`: the preparation is fitted to the training rows,
    and stored with the blocks. CSV, TSV, svmlight, Parquet and npy files are read some rows at a
    time, so they can be larger than memory; other sources are loaded first.

    A conversion that was interrupted, or that has filled the disk, continues when it is called
    again with the same arguments.

    Parameters
    ----------
    source : name, path, arrays or data frame
        Data, as for `load`.
    folder : path
        New folder for the blocks.
    rows_per_block : int, default=None
        Rows of a block. None chooses blocks that fit `memory`.
    memory : int or str, default=None
        Memory for the training, at least 16 MB, in bytes or as in "500MB". None means half of what
        is available.
    settings : Settings, dict or function, default=None
        How a table becomes numbers, or a function that returns the settings for a table. None and
        missing entries of a dict mean the defaults of `separatrix fit`.
    split : three proportions, default=None
        Shares of the training, validation and test rows, as for `load`.
    seed : int, default=0
        Random seed of the split.
    on_progress : callable, default=None
        Function of what is being done, the number of rows done, and all rows or None.
    on_resume : callable, default=None
        Function of the numbers of blocks and rows that are kept of an interrupted conversion. It is
        called if there are some.
    **reading : options of `load`, such as `label` or `weight`

    Returns
    -------
    rows : StoredRows
        The training rows.

    Examples
    --------
    >>> import tempfile
    >>> import separatrix as sx
    >>> sx.convert("wine", tempfile.mkdtemp() + "/wine", rows_per_block=50)
    144 rows of 'wine' (train) with 13 features, in 3 blocks on disk
    """
    require_count("rows_per_block", rows_per_block, optional=True)
    _require_other_source(source)
    place = Path(folder).expanduser()
    room = usual_memory() if memory is None else memory_of_conversion(memory)
    require_free(place)
    tell = on_progress or (lambda stage, done, total: None)
    size = chunk_bytes(room)
    stream = open_stream(source, reading, split=split, seed=seed, size=size)
    chosen = _settings_of(settings, next(stream.chunks()).table)
    options = rows_per_block, memory, chosen, split, seed, sorted(reading.items())
    key = {"source": source_key(source), "options": repr(options)}
    begin_folder(place, key)
    if kept := [block.rows for _, _, block in finished_blocks(place)]:
        (on_resume or (lambda blocks, rows: None))(len(kept), sum(kept))
    try:
        work = _Conversion.prepare(stream, chosen, split, seed, tell)
        work.write(place, key, rows_per_block, room, tell)
    except ValueError:  # the data cannot be converted with these options
        remove_unfinished(place)
        raise
    return open_rows(place)


@dataclass(frozen=True, eq=False)
class _Conversion:
    """A stream with its labels, its parts and the preparation of its rows."""

    stream: RowStream
    labels: RowLabels
    splits: Splits
    preparation: Preparation
    notes: list[str]

    @classmethod
    def prepare(
        cls,
        stream: RowStream,
        settings: Settings,
        split: Split,
        seed: int,
        tell: OnStage,
    ) -> _Conversion:
        """Read the labels, split the rows, and fit the preparation to the training rows."""
        labels = read_labels(stream, lambda done: tell("Reading the labels", done, None))
        splits, notes = labels.split(stream.facts, split, seed)
        tables = _training_tables(stream, splits["train"], len(labels.codes), tell)
        preparation = fit_preparation(tables, settings, stream.facts.feature_names)
        notes = [*stream.facts.notes, *labels.notes, *notes]
        notes += describe_preparation(preparation, settings)
        return cls(stream, labels, splits, preparation, notes)

    def write(
        self,
        folder: Path,
        key: Mapping[str, Any],
        rows_per_block: int | None,
        memory: int,
        tell: OnStage,
    ) -> None:
        """Write the blocks and the manifest."""
        n = len(self.labels.codes)
        table = next(self.stream.chunks()).table
        first = self.preparation.transform(table, [])
        sparse = sp.issparse(first)
        kind = working_type(first.dtype)
        if rows_per_block is None:
            entries = first.nnz if sparse else first.size
            size = entries / first.shape[0] * (kind.itemsize + (4 if sparse else 0))
            rows_per_block = rows_of_blocks(size, memory)
        arrays: dict[str, Array] = {}
        manifest = Manifest(
            features=first.shape[1],
            dtype=kind.name,
            sparse=sparse,
            weighted=self.labels.weights is not None,
            classes=self.labels.classes.tolist(),
            parts={},
            feature_names=list(self.preparation.feature_names_out),
            about=self._about(arrays),
        )
        writer = BlockWriter(folder, manifest, rows_per_block, key)
        writer.write_arrays(arrays)
        part_of = self._parts_to_write(writer)
        missing = np.flatnonzero(part_of >= 0)
        for chunk in self.stream.chunks(int(missing[0])) if len(missing) else ():
            self._write_chunk(writer, chunk, part_of)
            tell("Writing blocks", chunk.first + len(chunk), n)
        writer.finish()

    def _write_chunk(self, writer: BlockWriter, chunk: Chunk, part_of: Array) -> None:
        X = self.preparation.transform(chunk.table, [])
        of_rows = part_of[chunk.first : chunk.first + len(chunk)]
        for number, part in enumerate(PARTS):
            own = np.flatnonzero(of_rows == number)
            if len(own):
                rows, s = own + chunk.first, self.labels.weights
                weights = None if s is None else s[rows]
                writer.add(part, take_rows(X, own), self.labels.codes[rows], weights)

    def _parts_to_write(self, writer: BlockWriter) -> Array:
        """Return the number of the part of every row (n,), and -1 for rows that are written."""
        part_of = np.full(len(self.labels.codes), -1, np.int8)
        for number, part in enumerate(PARTS):
            rows = self.splits.get(part, np.zeros(0, int))
            part_of[rows[writer.rows_done(part) :]] = number
        return part_of

    def _about(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """Return plain values for the manifest, and add the arrays that they refer to."""
        facts = self.stream.facts
        return {
            "name": facts.name,
            "notes": list(map(MESSAGE.pack, self.notes)),
            "reading": facts.reading,
            "columns": int(next(self.stream.chunks()).table.shape[1]),
            "preparation": pack_preparation(self.preparation, arrays),
        }


def _require_other_source(source: Any) -> None:
    """Raise if a source is a folder of blocks, which needs no conversion."""
    if isinstance(source, str | os.PathLike) and is_block_folder(Path(source).expanduser()):
        raise ValueError(
            f"{source} is a folder of blocks already. Train from it, or convert the source that it "
            "was made of."
        )


def _settings_of(settings: Any, table: Any) -> Settings:
    if callable(settings):
        settings = settings(table)
    return (
        settings
        if isinstance(settings, Settings)
        else choose_settings(table, **dict(settings or {}))
    )


def _training_tables(stream: RowStream, train: Array, n: int, tell: OnStage) -> Iterator[Any]:
    """Yield the training rows of every chunk that has some."""
    for chunk in stream.chunks():
        low, high = np.searchsorted(train, [chunk.first, chunk.first + len(chunk)])
        tell("Learning the preparation", chunk.first, n)
        if high > low:
            yield take_rows(chunk.table, train[low:high] - chunk.first)


def take_rows(table: Any, rows: Array) -> Any:
    """Return some rows of a table or matrix; all rows without a copy."""
    if len(rows) == table.shape[0]:
        return table
    return table.take(rows) if isinstance(table, Columns) else table[rows]
