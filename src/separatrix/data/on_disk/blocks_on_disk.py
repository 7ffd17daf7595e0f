"""A source of blocks that are read from a folder in every pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data import block_sums
from separatrix.data.block import Block
from separatrix.data.block_source import BlockFacts, sum_in_order
from separatrix.data.on_disk.array_files import BlockFileError, Stamp, read_array, stamp_of
from separatrix.data.on_disk.manifest import Manifest, StoredBlock
from separatrix.data.on_disk.read_ahead import read_ahead
from separatrix.matrix import Array, Matrix

# Block functions that read labels and weights only: for them, X stays on disk.
WITHOUT_X: frozenset[Callable[..., Any]] = frozenset(
    [
        block_sums.total_weight,
        block_sums.weight_and_count,
        block_sums.weight_extremes,
        block_sums.largest_weights,
        block_sums.row_of_label,
        block_sums.labels,
        block_sums.weights,
    ]
)


@dataclass(frozen=True)
class Step:
    """A function that is applied to every block that is read; see `BlockSource.transform`."""

    f: Callable[..., Block]
    small: tuple[Any, ...]
    each: Sequence[Any] | None

    def apply(self, block: Block, number: int) -> Block:
        """Return the block that replaces a block."""
        own = () if self.each is None else (self.each[number],)
        return self.f(block, *own, *self.small)


@dataclass(frozen=True)
class BlocksOnDisk:
    """A source of blocks in files.

    Every pass reads all blocks, in their order. A thread reads the next block while a block is in
    use, so up to three blocks are in memory. `kept` blocks stay in the system's file cache: it
    would not help if a pass replaced the start of the data by its end.

    Attributes
    ----------
    folder : the folder of the files
    manifest, blocks : what it contains, and the blocks of this source
    stamps : what the files of every block looked like when the folder was opened
    facts : what is known about the blocks
    kept : number of blocks whose files may stay in the file cache
    steps : functions that are applied to every block that is read
    """

    folder: Path
    manifest: Manifest
    blocks: tuple[StoredBlock, ...]
    stamps: tuple[dict[str, Stamp], ...]
    facts: BlockFacts
    kept: int
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(
        cls, folder: Path, manifest: Manifest, blocks: Sequence[StoredBlock], memory: int
    ) -> BlocksOnDisk:
        """Return the source of some blocks of a folder; raise if a file has another size."""
        stamps = [
            {role: stamp_of(folder / file.name, file) for role, file in block.files.items()}
            for block in blocks
        ]
        sizes = np.cumsum([block.size for block in blocks])
        facts = BlockFacts(
            lengths=tuple(block.rows for block in blocks),
            n_features=manifest.features,
            n_entries=sum(block.entries for block in blocks),
            dtype=np.dtype(manifest.dtype),
            label_range=(0, len(manifest.classes) - 1),
            is_weighted=manifest.weighted,
        )
        kept = int(np.count_nonzero(sizes <= memory))
        return cls(folder, manifest, tuple(blocks), tuple(stamps), facts, kept)

    def map(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        with closing(self._read(_reads_x(f, small))) as blocks:
            return [f(block, *small) for block in blocks]

    def sum(self, f: Callable[..., tuple[Array, ...]], *small: Any) -> tuple[Array, ...]:
        with closing(self._read(_reads_x(f, small))) as blocks:
            return sum_in_order(f(block, *small) for block in blocks)

    def fold(self, f: Callable[..., Any], state: Any, *small: Any) -> Any:
        with closing(self._read(_reads_x(f, small))) as blocks:
            for number, block in enumerate(blocks):
                state = f(block, number, state, *small)
        return state

    def transform(
        self,
        f: Callable[..., Block],
        *small: Any,
        facts: BlockFacts,
        each: Sequence[Any] | None = None,
    ) -> BlocksOnDisk:
        return replace(self, facts=facts, steps=(*self.steps, Step(f, small, each)))

    def only_block(self) -> Block | None:
        return None

    def block(self, number: int, with_x: bool = True) -> Block:
        """Read one block; without X, its features are all 0."""
        stored = self.blocks[number]
        read = partial(self._array, number)
        y = read("y", np.int32, (stored.rows,))
        s = read("s", np.float64, (stored.rows,)) if self.manifest.weighted else None
        self._require_valid(number, y, s)
        block = Block(Matrix(self._x(number, with_x)), y, s)
        for step in self.steps:
            block = step.apply(block, number)
        return block

    def _read(self, with_x: bool) -> Generator[Block]:
        return read_ahead([partial(self.block, k, with_x) for k in range(len(self.blocks))])

    def _x(self, number: int, with_x: bool) -> Any:
        stored, read = self.blocks[number], partial(self._array, number)
        shape = stored.rows, self.manifest.features
        if not with_x:
            return sp.csr_array(shape, dtype=self.manifest.dtype)
        if not self.manifest.sparse:
            return read("X", self.manifest.dtype, shape)
        index = index_type(*shape, stored.entries)
        starts = read("indptr", index, (stored.rows + 1,))
        indices = read("indices", index, (stored.entries,))
        values = read("data", self.manifest.dtype, (stored.entries,))
        return sp.csr_array((values, indices, starts), shape=shape, copy=False)

    def _array(self, number: int, role: str, dtype: Any, shape: tuple[int, ...]) -> Array:
        path = self.folder / self.blocks[number].files[role].name
        stamp = self.stamps[number][role]
        return read_array(path, stamp, dtype, shape, keep_cached=number < self.kept)

    def _require_valid(self, number: int, y: Array, s: Array | None) -> None:
        """Raise unless labels and weights can be used; the compiled code checks neither."""
        files, n_classes = self.blocks[number].files, len(self.manifest.classes)
        if y.min() < 0 or y.max() >= n_classes:
            wrong = y[(y < 0) | (y >= n_classes)][0]
            raise BlockFileError(
                f"{self.folder / files['y'].name} must hold class numbers from 0 to "
                f"{n_classes - 1}. Got {wrong} instead. Convert the source again."
            )
        if s is not None and not (np.isfinite(s).all() and s.min() >= 0.0):
            raise BlockFileError(
                f"{self.folder / files['s'].name} must hold finite weights >= 0. Convert the "
                "source again."
            )


def index_type(n_rows: int, n_features: int, n_entries: int) -> Any:
    """Return the type of the row starts and indices of a sparse block."""
    largest = max(n_rows, n_features, n_entries)
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def _reads_x(f: Callable[..., Any], small: tuple[Any, ...]) -> bool:
    f = small[0] if f is block_sums.of_each_column else f
    return f not in WITHOUT_X
