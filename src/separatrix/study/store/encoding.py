"""Encode arrays as .npy bytes and plain values as JSON for the store."""

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

_NPY = b"\x93NUMPY\x01\x00"  # the start of .npy bytes of version 1


def to_bytes(a: Array) -> bytes:
    """Encode an array as .npy bytes.

    >>> from_bytes(to_bytes(np.arange(3)))
    array([0, 1, 2])
    """
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(a), allow_pickle=False)
    return out.getvalue()


def from_bytes(blob: bytes) -> Array:
    """Decode the array from `to_bytes`."""
    if not blob.startswith(_NPY):
        raise ValueError("not the bytes of an array")
    start = len(_NPY) + 2 + int.from_bytes(blob[len(_NPY) : len(_NPY) + 2], "little")
    shape, dtype = _header(blob[:start])
    return np.frombuffer(blob, dtype, math.prod(shape), start).reshape(shape).copy()


@lru_cache(maxsize=1024)
def _header(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Parse shape and type. Parsing is slow, and many arrays share a header."""
    file = io.BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def to_text(value: Any) -> str:
    """Encode plain values as JSON, including NaN and infinity.

    >>> to_text({"loss": float("inf")})
    '{"loss": {"$float": "inf"}}'
    """
    arrays: dict[str, Array] = {}
    text = json.dumps(pack(value, "values", arrays), ensure_ascii=False, allow_nan=False)
    if arrays:
        raise ValueError(
            "Parameters of a study must be numbers or strings. Got an array "
            f"({next(iter(arrays))}) instead. Use fit_many for arrays."
        )
    return text


def from_text(text: str) -> Any:
    """Decode the values from `to_text`."""
    return unpack(json.loads(text), "values", {})


def to_archive(arrays: Mapping[str, Array]) -> bytes:
    """Encode named arrays as .npz bytes, which include checksums."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()
