"""Read the specifications and files of charts."""

import base64
import io
import re

import numpy as np
import vl_convert
from PIL import Image

from separatrix import charts


def rows_of(chart):
    """All rows of data in the specification of a chart."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def of(chart, **kind):
    return [row for row in rows_of(chart) if all(row.get(k) == v for k, v in kind.items())]


def channels(chart, name):
    """All encodings of a channel in the specification."""

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
    """Draw a chart, and require that its picture and its pixels show something and have a summary.

    The pixels are made from the SVG: that saves drawing the chart once more for a PNG file.
    """
    text = charts.save(chart, folder / "chart.svg").read_text(encoding="utf-8")
    with Image.open(io.BytesIO(vl_convert.svg_to_png(text, scale=1))) as picture:
        assert min(picture.size) > 100
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3
    text = re.sub(r"data:image/png;base64,[^\"]*", "", text)
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
