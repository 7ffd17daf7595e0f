"""Write rows to a folder of blocks; an interrupted conversion continues where it ended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.on_disk.array_files import BlockFileError, stamp_of, write_array
from separatrix.data.on_disk.blocks_on_disk import index_type
from separatrix.data.on_disk.manifest import (
    BLOCK,
    KEY,
    NAME,
    UNFINISHED,
    Manifest,
    StoredBlock,
    write_manifest,
)
from separatrix.files import replace_file
from separatrix.matrix import Array
from separatrix.text import counted

_JOURNAL = "blocks.jsonl"


@dataclass
class _Pending:
    """Rows of a part that are not in a block yet."""

    X: list[Any] = field(default_factory=list)
    y: list[Array] = field(default_factory=list)
    s: list[Array] = field(default_factory=list)
    rows: int = 0


class BlockWriter:
    """Writes rows in blocks of a fixed size.

    Every block is written to files with temporary names, flushed to disk, renamed, and then noted
    in a journal. The manifest, without which a folder cannot be opened, is written last. If the
    folder holds an unfinished conversion with the same `key`, its blocks are kept: the first
    `rows_done` rows of a part must not be added again.

    Parameters
    ----------
    folder : a new folder, or one with an unfinished conversion
    manifest : the manifest without blocks
    rows_per_block : number of rows of all blocks but the last one of a part
    key : plain values that tell one conversion from another
    """

    def __init__(
        self, folder: Path, manifest: Manifest, rows_per_block: int, key: Mapping[str, Any]
    ) -> None:
        self.folder, self.manifest, self.rows_per_block = folder, manifest, rows_per_block
        self.blocks: dict[str, list[StoredBlock]] = {}
        self._pending: dict[str, _Pending] = {}
        begin_folder(folder, key)
        self._take_finished()

    def rows_done(self, part: str) -> int:
        """Return how many rows of a part are in blocks that an earlier conversion has finished."""
        return sum(block.rows for block in self.blocks.get(part, ()))

    def write_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Write the arrays of the preparation."""
        with self._keeping_blocks():
            files = {
                name: write_array(self.folder / f"{name}.npy", a) for name, a in arrays.items()
            }
        self.manifest = replace(self.manifest, arrays=files)

    def add(self, part: str, X: Any, y: Array, s: Array | None) -> None:
        """Add rows to a part: X (n, d), class numbers y (n,) and weights s (n,) or None."""
        pending = self._pending.setdefault(part, _Pending())
        pending.X.append(X)
        pending.y.append(y)
        if s is not None:
            pending.s.append(s)
        pending.rows += len(y)
        if pending.rows >= self.rows_per_block:
            self._write_full(part, pending)

    def finish(self) -> Manifest:
        """Write the remaining rows and the manifest."""
        for part, pending in self._pending.items():
            if pending.rows:
                self._write(part, *_joined(pending))
        parts = {part: found for part, found in self.blocks.items() if found}
        self.manifest = replace(self.manifest, parts=parts)
        with self._keeping_blocks():
            write_manifest(self.folder, self.manifest)
        shutil.rmtree(self.folder / UNFINISHED)
        return self.manifest

    def _write_full(self, part: str, pending: _Pending) -> None:
        X, y, s = _joined(pending)
        n, size = len(y), self.rows_per_block
        for first in range(0, n - n % size, size):
            rows = slice(first, first + size)
            self._write(part, X[rows], y[rows], None if s is None else s[rows])
        rest = slice(n - n % size, n)
        left = _Pending(rows=n % size)
        if left.rows:
            left.X, left.y = [X[rest].copy()], [y[rest].copy()]
            left.s = [] if s is None else [s[rest].copy()]
        self._pending[part] = left

    def _write(self, part: str, X: Any, y: Array, s: Array | None) -> None:
        found = self.blocks.setdefault(part, [])
        name = f"{part}-{len(found):05d}"
        arrays = self._arrays(X) | {"y": y.astype(np.int32)}
        if self.manifest.weighted:
            arrays["s"] = np.ones(len(y)) if s is None else s.astype(np.float64)
        with self._keeping_blocks():
            files = {
                role: write_array(self.folder / f"{name}.{role}.npy", array)
                for role, array in arrays.items()
            }
            block = StoredBlock(len(y), int(X.nnz if sp.issparse(X) else X.size), files)
            line = json.dumps({"part": part, "block": BLOCK.pack(block)}) + "\n"
            with open(self.folder / UNFINISHED / _JOURNAL, "ab") as journal:
                journal.write(line.encode())
                journal.flush()
                os.fsync(journal.fileno())
        found.append(block)

    @contextmanager
    def _keeping_blocks(self) -> Iterator[None]:
        """Say after an error of the disk that the finished blocks are kept."""
        try:
            yield
        except OSError as error:
            raise OSError(
                error.errno,
                f"{self.folder} is not complete: {error.strerror}. "
                f"{counted(sum(map(len, self.blocks.values())), 'finished block')} are kept. Free "
                "some space and run the same command again, which continues after them.",
            ) from None

    def _arrays(self, X: Any) -> dict[str, Array]:
        kind = np.dtype(self.manifest.dtype)
        if not self.manifest.sparse:
            dense = X.toarray() if sp.issparse(X) else X
            return {"X": dense.astype(kind, copy=False)}
        X = sp.csr_array(X)
        X.sort_indices()
        index = index_type(X.shape[0], X.shape[1], X.nnz)
        return {
            "indptr": X.indptr.astype(index),
            "indices": X.indices.astype(index),
            "data": X.data.astype(kind),
        }

    def _take_finished(self) -> None:
        """Take the finished blocks of an earlier conversion."""
        kept = []
        for line, part, block in finished_blocks(self.folder):
            self.blocks.setdefault(part, []).append(block)
            kept.append(line + "\n")
        replace_file(self.folder / UNFINISHED / _JOURNAL, "".join(kept).encode())


def require_free(folder: Path) -> None:
    """Raise unless a folder is new, empty, or holds an unfinished conversion."""
    if (folder / NAME).exists():
        raise FileExistsError(
            f"{folder} already holds converted data: train with 'separatrix fit {folder}', or see "
            f"it with 'separatrix data show {folder}'. To convert again, name another folder or "
            "remove this one. Nothing was written."
        )
    if folder.is_dir() and (folder / UNFINISHED).is_dir():
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} is a folder that is not empty. Name a new folder, which the conversion "
            "makes."
        )
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise FileExistsError(
                f"{folder} cannot be a folder, because {place} is a file. Name a new folder, which "
                "the conversion makes."
            )


def begin_folder(folder: Path, key: Mapping[str, Any]) -> None:
    """Make a folder for a conversion, or check that it holds the same one, unfinished."""
    require_free(folder)
    place = folder / UNFINISHED
    if (place / KEY).exists():
        if read_key(folder) != dict(key):
            raise FileExistsError(
                f"{folder} holds an unfinished conversion of other data or with other options. "
                "Remove the folder, or name another one."
            )
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"{folder} cannot be made: {error.strerror}.") from None
    replace_file(place / KEY, json.dumps(dict(key)).encode())


def finished_blocks(folder: Path) -> Iterator[tuple[str, str, StoredBlock]]:
    """Yield the line in the journal, the part and the block, up to the first damaged block."""
    path = folder / UNFINISHED / _JOURNAL
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            block: StoredBlock = BLOCK.unpack(entry["block"], "block")
            for file in block.files.values():
                stamp_of(folder / file.name, file)
        except (ValueError, KeyError, TypeError, BlockFileError):
            return  # an incomplete last line, or files that were lost with the power
        yield line, entry["part"], block


def remove_unfinished(folder: Path) -> None:
    """Remove what a conversion has written, if it is unfinished."""
    if not (folder / NAME).exists() and (folder / UNFINISHED).is_dir():
        for path in folder.glob("*.npy"):
            path.unlink()
        shutil.rmtree(folder / UNFINISHED)
        with suppress(OSError):  # it has files of somebody else
            folder.rmdir()


def read_key(folder: Path) -> Any:
    """Return the key of an unfinished conversion; None if it cannot be read."""
    try:
        return json.loads((folder / UNFINISHED / KEY).read_text())
    except (OSError, ValueError):
        return None


def _joined(pending: _Pending) -> tuple[Any, Array, Array | None]:
    """Return the pending rows as one matrix, with labels and weights."""
    one = len(pending.X) == 1
    sparse = sp.issparse(pending.X[0])
    X = pending.X[0] if one else (sp.vstack if sparse else np.concatenate)(pending.X)
    if sparse:
        X = sp.csr_array(X)
    s = np.concatenate(pending.s) if pending.s else None
    return X, np.concatenate(pending.y), s
