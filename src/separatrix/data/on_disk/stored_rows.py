"""The rows of a folder of blocks, which estimators take in place of X and y."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.block_rows import BlockRows
from separatrix.data.on_disk.array_files import require_checksum
from separatrix.data.on_disk.blocks_on_disk import BlocksOnDisk
from separatrix.data.on_disk.manifest import PARTS, Manifest, read_manifest
from separatrix.data.on_disk.memory import (
    BLOCKS_IN_MEMORY,
    as_bytes,
    bytes_in_words,
    usual_memory,
)
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array


def open_rows(
    folder: str | os.PathLike[str],
    part: str | Sequence[str] = "train",
    *,
    memory: int | str | None = None,
    check: bool = False,
) -> StoredRows:
    """Open rows that `separatrix convert` has written to a folder of blocks.

    The result takes the place of X in all estimators and searches, which read it block by block
    and take labels and weights from it. So the data can be larger than memory.

    Parameters
    ----------
    folder : path
        Folder that `separatrix convert` or `separatrix.convert` has made.
    part : str or list of str, default="train"
        Rows to open: "train", "validation", "test", several of them, or "all".
    memory : int or str, default=None
        Memory for blocks and for the system's copies of them, in bytes or as in "500MB". The
        default is half of the memory that is available.
    check : bool, default=False
        Whether to compare the checksums of all files first, which reads all of them.

    Returns
    -------
    rows : StoredRows
        The rows.

    Examples
    --------
    >>> import tempfile
    >>> import separatrix as sx
    >>> folder = tempfile.mkdtemp() + "/iris"
    >>> _ = sx.convert("iris", folder)
    >>> rows = sx.open(folder)
    >>> rows
    100 rows of 'iris' (train) with 4 features, in 1 block on disk
    >>> model = sx.LogisticRegression().fit(rows)
    >>> model.score(sx.open(folder, "test"))
    0.88
    """
    place = Path(folder).expanduser()
    manifest = read_manifest(place)
    if check:
        check_files(place, manifest)
    return StoredRows(place, manifest, part, usual_memory() if memory is None else as_bytes(memory))


class StoredRows(BlockRows):
    """Rows on disk with their labels and weights.

    Attributes
    ----------
    folder, manifest : the folder of blocks, and what it contains
    parts : the parts of the rows
    """

    source: BlocksOnDisk

    def __init__(
        self, folder: Path, manifest: Manifest, part: str | Sequence[str], memory: int
    ) -> None:
        self.folder, self.manifest, self._memory = folder, manifest, memory
        self.parts = _parts_of(folder, manifest, part)
        blocks = [block for name in self.parts for block in manifest.parts[name]]
        needed = BLOCKS_IN_MEMORY * max(block.size for block in blocks)
        if needed > memory:
            raise ParameterError(
                Message(
                    "{count} blocks of {folder} have up to {needed}, which do not fit into "
                    "{memory}. Allow more with {option}, or convert the source again with less "
                    "memory, which makes smaller blocks.",
                    count=BLOCKS_IN_MEMORY,
                    folder=folder,
                    needed=bytes_in_words(needed),
                    memory=bytes_in_words(memory),
                    option=Parameter("memory"),
                )
            )
        super().__init__(
            BlocksOnDisk.of(folder, manifest, blocks, memory - needed),
            manifest.labels,
            sparse=manifest.sparse,
            feature_names=manifest.feature_names,
        )

    def part(self, part: str | Sequence[str]) -> StoredRows:
        """Return the rows of other parts of the same folder."""
        return StoredRows(self.folder, self.manifest, part, self._memory)

    @property
    def name(self) -> str:
        """The name of the source."""
        return str(self.manifest.about.get("name", self.folder.name))

    def __repr__(self) -> str:
        (n, d), count = self.shape, len(self.source.blocks)
        return (
            f"{n:,} rows of {self.name!r} ({', '.join(self.parts)}) with {d:,} features, in "
            f"{count:,} {'block' if count == 1 else 'blocks'} on disk"
        )

    def load(self) -> tuple[Any, Array]:
        """Read X and y into memory.

        >>> import tempfile
        >>> import separatrix as sx
        >>> folder = tempfile.mkdtemp() + "/iris"
        >>> _ = sx.convert("iris", folder)
        >>> X, y = sx.open(folder, "all").load()
        >>> X.shape, y.shape
        ((150, 4), (150,))
        """
        parts = [self.source.block(number).X.X for number in range(len(self.source.blocks))]
        X = sp.vstack(parts, format="csr") if self.sparse else np.concatenate(parts)
        return X, self.y


def check_files(
    folder: Path, manifest: Manifest, on_file: Callable[[int], None] | None = None
) -> None:
    """Raise unless every file has its checksum. `on_file` is called with the size of each."""
    for file in manifest.files:
        require_checksum(folder / file.name, file)
        if on_file is not None:
            on_file(file.size)


def _parts_of(folder: Path, manifest: Manifest, part: str | Sequence[str]) -> tuple[str, ...]:
    there = [name for name in PARTS if manifest.parts.get(name)]
    wanted = there if part == "all" else [part] if isinstance(part, str) else list(part)
    for name in wanted:
        if name not in there:
            raise ValueError(
                f"{folder} has no part {name!r}. Its parts are: {', '.join(there)}, all."
            )
    if not wanted:
        raise ValueError(f"{folder} has no rows to open. Its parts are: {', '.join(there)}, all.")
    return tuple(wanted)
