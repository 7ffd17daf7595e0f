"""Read IDX files, the format of MNIST and related data sets, plain or compressed.

read_idx(path)           the array of one file
read_idx_images(path)    the images of one file, and their labels from the file next to it
read_idx_folder(path)    train-images, train-labels, t10k-images, t10k-labels
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.compression.decompression import read_bytes
from separatrix.readers.source import LoadedTable

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_TRAINING, _TESTING = ("train",), ("t10k", "test")


def read_idx(path: Path | str) -> Array:
    """Read the array of an IDX file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels-idx1-ubyte"
    >>> _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    path = Path(path)
    content = read_bytes(path)
    if not looks_like_idx(content[:4].tobytes()):
        raise ValueError(
            f"{path} is not an IDX file: it does not begin with the four bytes of that format."
        )
    kind, dimensions = np.dtype(_TYPES[int(content[2])]), int(content[3])
    start = 4 + 4 * dimensions
    shape = [int(size) for size in content[4:start].view(">u4")] if len(content) >= start else []
    expected = start + math.prod(shape) * kind.itemsize
    if len(shape) < dimensions or len(content) != expected:
        size = f"an array of {' x '.join(map(str, shape))} numbers" if shape else "a longer header"
        raise ValueError(
            f"{path} is damaged: its header declares {size}, which needs {expected:,} bytes, but "
            f"the file has {len(content):,}."
        )
    return content[start:].view(kind).reshape(shape).astype(kind.newbyteorder("="), copy=False)


def looks_like_idx(start: bytes) -> bool:
    """Return whether a file begins like an IDX file: 0, 0, a known type, 1 to 8 dimensions."""
    return len(start) >= 4 and start[:2] == b"\0\0" and start[2] in _TYPES and 1 <= start[3] <= 8


def read_idx_images(path: Path | str) -> LoadedTable:
    """Read images of any size as rows, and their labels if there is a file with labels beside."""
    path = Path(path)
    images = read_idx(path)
    if images.ndim < 2:
        raise ValueError(
            f"{path} holds labels (one number per row). Give the file with the images, or the "
            "folder."
        )
    X = images.reshape(len(images), -1)
    size = " x ".join(map(str, images.shape[1:]))
    beside = _labels_beside(path)
    if beside is None:
        notes = [f"Read {len(X):,} images of {size}, without labels."]
        return LoadedTable(X, None, _pixels(images), notes)
    y = read_idx(beside)
    if y.shape != (len(X),):
        raise ValueError(
            f"{path} has {len(X):,} images, but {beside} has {len(y):,} labels. The numbers must "
            "be equal."
        )
    notes = [f"Read {len(X):,} images of {size}, with labels from {beside.name}."]
    return LoadedTable(X, y, _pixels(images), notes)


def read_idx_folder(path: Path | str) -> LoadedTable:
    """Read the training images and the test images of a folder."""
    path = Path(path)
    train, test = (_only(path, begins) for begins in (_TRAINING, _TESTING))
    first, second = read_idx_images(train), read_idx_images(test)
    if first.y is None or second.y is None:
        raise ValueError(f"{path} must contain a file with labels for each file with images.")
    if first.table.shape[1] != second.table.shape[1]:
        raise ValueError(f"{train} and {test} contain images of different sizes.")
    n, rows = len(first.y), range(len(first.y) + len(second.y))
    return LoadedTable(
        np.concatenate([first.table, second.table]),
        np.concatenate([first.y, second.y]),
        first.feature_names,
        [*first.notes, *second.notes],
        own_splits={"train": rows[:n], "test": rows[n:]},
    )


def is_idx_folder(path: Path) -> bool:
    """Return whether a folder contains images in IDX files."""
    return any(_is_images(file) for file in path.iterdir())


def _is_images(file: Path) -> bool:
    return "images" in file.name and "idx" in file.name


def _only(folder: Path, begins: tuple[str, ...]) -> Path:
    found = sorted(
        file for file in folder.iterdir() if _is_images(file) and file.name.startswith(begins)
    )
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise ValueError(
            f"{folder} must contain exactly one IDX file of images whose name begins with "
            f"{' or '.join(map(repr, begins))}. Got {names} instead."
        )
    return found[0]


def _labels_beside(path: Path) -> Path | None:
    if "images" not in path.name:
        return None
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    plain = name.removesuffix(".gz")
    return next(
        (p for n in (name, plain, plain + ".gz") if (p := path.with_name(n)).exists()), None
    )


def _pixels(images: Array) -> list[str]:
    if images.ndim != 3:
        return [f"number {j}" for j in range(1, math.prod(images.shape[1:]) + 1)]
    h, w = images.shape[1:]
    return [f"row {i}, column {j}" for i in range(1, h + 1) for j in range(1, w + 1)]
