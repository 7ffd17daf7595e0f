"""What several pictures need: plain data, thinning, ranges, labels that do not overlap, images."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from separatrix.matrix import Array
from separatrix.text import counted as counted

_DIGITS = 6  # of a number in a file: more than a picture shows


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Rows of plain values for a chart, numbers at six digits, what is not finite as null."""
    return alt.InlineData(
        values=[{name: plain(value) for name, value in row.items()} for row in rows]
    )


def plain(value: Any) -> Any:
    """A value as JSON has it.

    >>> plain([np.float64(1 / 3), np.inf, np.int64(3), "word"])
    [0.333333, None, 3, 'word']
    """
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def short(value: float, digits: int = 3) -> str:
    """A number with few digits.

    >>> short(0.123456), short(1234567.0), short(2e-9)
    ('0.123', '1,230,000', '2e-09')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1e3 <= abs(rounded) < 1e9 else f"{rounded:g}"


def thinned(values: Array, points: int, *, log: bool = False, keep: Sequence[int] = ()) -> Array:
    """Positions of some `points` finite values (T,) that show the same line.

    Of every stretch its lowest and its highest value stay, so that a line that swings still swings;
    so do the first, the last and those in `keep`. Stretches are even, or in powers with `log`.

    >>> at = thinned(np.sin(np.arange(1000.0)), 20)
    >>> len(at) <= 24, at[0], at[-1]
    (True, np.int64(0), np.int64(999))
    """
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) <= points:
        return finite
    n, stretches = len(finite), max(points // 2, 1)
    edges = np.geomspace(1, n, stretches + 1) - 1 if log else np.linspace(0, n, stretches + 1)
    starts = np.unique(np.append(edges.astype(int), n))
    chosen = {0, n - 1, *np.flatnonzero(np.isin(finite, keep)).tolist()}
    for low, high in pairwise(starts):
        piece = values[finite[low:high]]
        chosen |= {int(low + piece.argmin()), int(low + piece.argmax())}
    return finite[sorted(chosen)]


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Heights at least a `gap` apart and within 0 and `top`, near those given, in their order.

    >>> spread([10.0, 11.0, 50.0], 12.0, 100.0)
    [10.0, 22.0, 50.0]
    >>> spread([100.0, 100.0], 12.0, 100.0)
    [88.0, 100.0]
    """
    order = np.argsort(heights, kind="stable")
    out = np.array(heights, float)[order]
    for k in range(1, len(out)):
        out[k] = max(out[k], out[k - 1] + gap)
    ceiling = top
    for k in reversed(range(len(out))):
        out[k] = min(out[k], ceiling)
        ceiling = out[k] - gap
    back = np.empty(len(out))
    back[order] = out
    return [float(height) for height in back]


def share(value: float, span: tuple[float, float], log: bool) -> float:
    """Where a value lies in a range, 0 at its lower end and 1 at its upper end."""
    low, high = span
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def at_share(part: float, span: tuple[float, float], log: bool) -> float:
    """The inverse of `share`."""
    low, high = span
    if log:
        return math.exp(math.log(low) + part * math.log(high / low))
    return low + part * (high - low)


def image(pixels: Array) -> str:
    """Red, green, blue and opacity (height, width, 4), each in [0, 1], as the address of a PNG."""
    bytes_ = np.rint(255.0 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    height, width = bytes_.shape[:2]
    lines = np.zeros((height, 1 + 4 * width), np.uint8)  # each begins with its filter, 0 for none
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
    """A colour such as "#0072B2" as red, green and blue in [0, 1].

    >>> colour("#ff0000")
    array([1., 0., 0.])
    """
    return np.array([int(name[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0


def padded(values: Array, share_of: float = 0.05) -> tuple[float, float]:
    """The range of finite values with some room at both ends.

    >>> padded(np.array([0.0, 10.0]))
    (-0.5, 10.5)
    """
    low, high = float(np.min(values)), float(np.max(values))
    room = share_of * (high - low) or 0.5
    return low - room, high + room


def powers(low: float, high: float) -> list[float]:
    """The powers of ten in a range: a logarithmic axis has too many lines otherwise.

    >>> powers(0.05, 120.0)
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**k for k in range(first, last + 1)]


def turned(across: float, up: float) -> float:
    """The angle of a triangle that points in a direction, in degrees clockwise from upwards.

    >>> turned(1.0, 0.0), turned(0.0, -1.0), turned(-1.0, 0.0)
    (90.0, 180.0, 270.0)
    """
    return math.degrees(math.atan2(across, up)) % 360.0


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
