"""The manifest of a folder of blocks: what it contains, with the checksum of every file."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.files import replace_file
from separatrix.matrix import Array
from separatrix.packing.schemas import (
    ANYTHING,
    COUNT,
    TEXT,
    TRUTH,
    Schema,
    choice,
    dict_of,
    integer,
    list_of,
    optional,
    record,
    schema_error,
    validated,
)

NAME = "manifest.json"
UNFINISHED = "unfinished"  # folder of what a conversion needs to continue
KEY = "key.json"  # in it
FORMAT = 1
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class StoredFile:
    """A file of the folder, with its size in bytes and its SHA-256 checksum."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class StoredBlock:
    """A block in files: "y", "s" if it has weights, and "X" or "indptr", "indices" and "data"."""

    rows: int
    entries: int
    files: dict[str, StoredFile]

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.size for file in self.files.values())


@dataclass(frozen=True)
class Manifest:
    """What a folder of blocks contains.

    Attributes
    ----------
    features : the number of features
    dtype : the type of X, "float32" or "float64"
    sparse : whether X is in compressed sparse rows
    weighted : whether the rows have weights
    classes : the labels that the class numbers stand for
    parts : the blocks of "train", "validation" and "test"; a part without rows is missing
    feature_names : d names, or None
    about : plain values about the source and its preparation
    arrays : files of the arrays of the preparation
    """

    features: int
    dtype: str
    sparse: bool
    weighted: bool
    classes: list[Any]
    parts: dict[str, list[StoredBlock]]
    feature_names: list[str] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, StoredFile] = field(default_factory=dict)

    @property
    def labels(self) -> Array:
        """The classes as an array."""
        return np.array(self.classes)

    @property
    def files(self) -> list[StoredFile]:
        """All files, block by block."""
        blocks = (block for part in self.parts.values() for block in part)
        found = [file for block in blocks for file in block.files.values()]
        return [*found, *self.arrays.values()]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the checksums of all files."""
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()

    def rows(self, part: str) -> int:
        """Return the number of rows of a part."""
        return sum(block.rows for block in self.parts.get(part, ()))


def _is_name(value: Any) -> bool:
    """Return whether a value is the name of a file in the folder itself."""
    return isinstance(value, str) and Path(value).name == value and value not in ("", ".", "..")


def _is_checksum(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _are_classes(value: Any) -> bool:
    return isinstance(value, list) and (
        len(value) > 0
        and len({type(label) for label in value}) == 1
        and isinstance(value[0], (str, int, float))
    )


FILE = record(
    StoredFile,
    {
        "name": validated("the name of a file in this folder", _is_name),
        "size": COUNT,
        "sha256": validated("64 digits of SHA-256", _is_checksum),
    },
)
BLOCK = record(StoredBlock, {"rows": COUNT, "entries": COUNT, "files": dict_of(FILE)})
_MANIFEST = record(
    Manifest,
    {
        "features": COUNT,
        "dtype": choice("float32", "float64"),
        "sparse": TRUTH,
        "weighted": TRUTH,
        "classes": validated("a list of labels of one type", _are_classes),
        "parts": dict_of(list_of(BLOCK)),
        "feature_names": optional(list_of(TEXT)),
        "about": dict_of(ANYTHING),
        "arrays": dict_of(FILE),
    },
)
_VERSION: Schema = integer(FORMAT, FORMAT)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which makes the folder complete."""
    content = {"format": FORMAT, **_MANIFEST.pack(manifest)}
    replace_file(folder / NAME, json.dumps(content, indent=1).encode())


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Read and check the manifest of a folder of blocks."""
    folder = Path(folder)
    path = folder / NAME
    if not path.exists():
        raise FileNotFoundError(_no_manifest(folder))
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise schema_error("the manifest", "be an object", content)
        _VERSION.unpack(content.pop("format", None), "format")
        manifest: Manifest = _MANIFEST.unpack(content, "manifest")
        _require_consistent(manifest)
    except ValueError as error:  # also of json
        raise ValueError(
            f"{path} is not a manifest of blocks that this version can read: "
            f"{str(error).removesuffix('.')}. Convert the source again."
        ) from None
    return manifest


def is_block_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder of blocks, finished or not."""
    path = Path(path)
    return (path / NAME).is_file() or (path / UNFINISHED / KEY).is_file()


def _no_manifest(folder: Path) -> str:
    if not folder.exists():
        return f"There is no folder {str(folder)!r}."
    if (folder / UNFINISHED / KEY).exists():
        return (
            f"{folder} is an unfinished conversion. Run the same 'separatrix convert' again, which "
            "continues it."
        )
    return (
        f"{folder} is not a folder of blocks: it has no {NAME}. Make one with 'separatrix convert'."
    )


def _require_consistent(manifest: Manifest) -> None:
    strange = sorted(set(manifest.parts) - set(PARTS))
    if strange:
        raise schema_error("parts", f"be among {', '.join(PARTS)}", strange[0])
    X = {"indptr", "indices", "data"} if manifest.sparse else {"X"}
    wanted = X | {"y"} | ({"s"} if manifest.weighted else set())
    for part, blocks in manifest.parts.items():
        for k, block in enumerate(blocks):
            if set(block.files) != wanted:
                raise schema_error(
                    f"parts.{part}.{k}.files", f"have {', '.join(sorted(wanted))}", block.files
                )
            if not block.rows:
                raise schema_error(f"parts.{part}.{k}.rows", "be at least 1", block.rows)
    names = manifest.feature_names
    if names is not None and len(names) != manifest.features:
        raise schema_error("feature_names", f"have {manifest.features} names", len(names))
