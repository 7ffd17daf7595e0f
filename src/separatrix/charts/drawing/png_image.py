"""Arrays of pixels as PNG images in a chart."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from separatrix.matrix import Array


def image(pixels: Array) -> str:
    """Convert pixels (height, width, 4) to the data URL of a PNG.

    The four values of a pixel are red, green, blue and opacity, each in [0, 1].
    """
    bytes_ = np.rint(255.0 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    height, width = bytes_.shape[:2]
    # Every line of a PNG starts with its filter type: 0 for none.
    lines = np.zeros((height, 1 + 4 * width), np.uint8)
    lines[:, 1:] = bytes_.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, content)
        for kind, content in (
            (b"IHDR", head),
            (b"IDAT", zlib.compress(lines.tobytes(), 9)),
            (b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


def colour(name: str) -> Array:
    """Convert a colour such as "#0072B2" to red, green and blue in [0, 1].

    >>> colour("#ff0000")
    array([1., 0., 0.])
    """
    return np.array([int(name[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
