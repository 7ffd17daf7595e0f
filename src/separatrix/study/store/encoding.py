"""Arrays as .npy bytes and plain values as JSON: the two forms in which a store keeps them."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.packing import pack, unpack

_NPY = b"\x93NUMPY\x01\x00"  # how .npy bytes of version 1 begin


def to_bytes(a: Array) -> bytes:
    """An array as .npy bytes.

    >>> from_bytes(to_bytes(np.arange(3)))
    array([0, 1, 2])
    """
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(a), allow_pickle=False)
    return out.getvalue()


def from_bytes(blob: bytes) -> Array:
    """The array that `to_bytes` was given."""
    if not blob.startswith(_NPY):
        raise ValueError("these are no bytes of an array")
    start = len(_NPY) + 2 + int.from_bytes(blob[len(_NPY) : len(_NPY) + 2], "little")
    shape, dtype = _header(blob[:start])
    return np.frombuffer(blob, dtype, math.prod(shape), start).reshape(shape).copy()


@lru_cache(maxsize=1024)
def _header(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type: parsing them takes longer than all else, and runs have them in common."""
    file = io.BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def to_text(value: Any) -> str:
    """Plain values as JSON, numbers that are not finite included.

    >>> to_text({"loss": float("inf")})
    '{"loss": {"$float": "inf"}}'
    """
    arrays: dict[str, Array] = {}
    text = json.dumps(pack(value, "values", arrays), ensure_ascii=False, allow_nan=False)
    if arrays:
        raise ValueError(
            f"A study keeps parameters as numbers and words. Got an array ({next(iter(arrays))}) "
            "instead: arrays are for fit_many."
        )
    return text


def from_text(text: str) -> Any:
    """The values that `to_text` was given."""
    return unpack(json.loads(text), "values", {})


def to_archive(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as .npz bytes, which carry checksums."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()
