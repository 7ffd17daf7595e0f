"""Reading the specifications and files of charts."""

import base64
import io
import re

import numpy as np
from PIL import Image

from separatrix import charts


def rows_of(chart):
    """All rows of data in the specification of a chart."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def of(chart, **kind):
    return [row for row in rows_of(chart) if all(row.get(k) == v for k, v in kind.items())]


def channels(chart, name):
    """The encodings of a channel, wherever in the specification they are."""

    def walk(part):
        if isinstance(part, dict):
            if isinstance(part.get("encoding"), dict) and name in part["encoding"]:
                yield part["encoding"][name]
            for value in part.values():
                yield from walk(value)
        elif isinstance(part, list):
            for value in part:
                yield from walk(value)

    return list(walk({k: v for k, v in chart.to_dict().items() if k != "datasets"}))


def drawn(chart, folder):
    """Write a chart as PNG and SVG, and require that both show something and have a summary."""
    png, svg = (charts.save(chart, folder / f"chart.{end}", scale=1) for end in ("png", "svg"))
    with Image.open(png) as picture:
        assert min(picture.size) > 100
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3
    text = re.sub(r"data:image/png;base64,[^\"]*", "", svg.read_text())
    assert "NaN" not in text
    assert "undefined" not in text
    words = chart.to_dict()["description"]
    assert len(words) > 20
    assert 'aria-label="' in text.partition(">")[0]
    return text


def pixels_of(row):
    """The image in a row of data."""
    picture = Image.open(io.BytesIO(base64.b64decode(row["url"].partition(",")[2])))
    return np.asarray(picture)
