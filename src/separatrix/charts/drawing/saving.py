"""Saving charts to files and showing them in notebooks."""

from __future__ import annotations

import html
import io
import os
import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from separatrix.charts.drawing.html_page import chart_page
from separatrix.charts.drawing.theme import FONT, MEASURED, config, recoloured
from separatrix.files import replace_file

SUFFIXES = (".png", ".svg", ".html", ".gif")
FRAME = "frame"  # the parameter that selects a frame of an animated chart
_RENDERER = "separatrix"
_PAUSE = 2000  # milliseconds for which the last frame of an animation is shown
# Characters that XML does not allow, and lone surrogates: the converter aborts the process on them.
# Vega-Lite writes names into expressions, where U+2028 and U+2029 would end a line.
_UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_VERSION = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def save(
    chart: Any,
    path: str | os.PathLike[str],
    *,
    theme: str | None = None,
    scale: float = 2.0,
    seconds: float = 8.0,
) -> Path:
    """Save a chart as .png, .svg, .html or .gif, according to the suffix of the path.

    The file is written completely or not at all.

    Parameters
    ----------
    chart : a chart of this package, or any other Altair chart
    path : where to write the file. An HTML file works without a network: it includes the scripts
        that draw the chart (about 800 kB)
    theme : "light", "dark", or None for the theme of the chart
    scale : image pixels per pixel of the chart
    seconds : duration of a .gif, which then shows its last frame for two more seconds. The first
        frames, in which most happens, are shown longer than the others

    >>> from separatrix import charts
    >>> charts.save(charts.losses(), "losses.svg").name
    'losses.svg'
    >>> Path("losses.svg").unlink()
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"The name of a chart file must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}. "
            f"Got {path.name!r} instead."
        )
    specification = _specification(chart, theme)
    if suffix == ".svg":
        drawn = _svg(specification).encode()
    elif suffix == ".html":
        drawn = chart_page(specification, _VERSION).encode()
    elif suffix == ".png":
        drawn = _png(specification, scale)
    else:
        drawn = _gif(specification, scale, seconds)
    replace_file(path, drawn)
    return path


def to_svg(chart: Any, *, theme: str | None = None) -> str:
    """Return a chart as SVG, for use in a page. `theme` is as in `save`."""
    return _svg(_specification(chart, theme))


def show_as_svg() -> None:
    """Show all later charts of a notebook as SVG, drawn on this machine.

    Altair's default renderer loads its scripts from the network.

    >>> from separatrix import charts
    >>> charts.show_as_svg()
    >>> shown, _ = charts.losses()._repr_mimebundle_()
    >>> list(shown)
    ['image/svg+xml']
    >>> _ = alt.renderers.enable("default")  # back to Altair's renderer
    """
    alt.renderers.register(_RENDERER, _rendered)
    alt.renderers.enable(_RENDERER)


def frame_durations(frames: int, seconds: float) -> list[int]:
    """Return how long each frame of an animation is shown, in milliseconds.

    The first frame is shown three times as long as the last but one.

    >>> frame_durations(4, 6.0)
    [3000, 2000, 1000, 2000]
    """
    if frames == 1:
        return [_PAUSE]
    weights = [3.0 - 2.0 * k / max(frames - 2, 1) for k in range(frames - 1)]
    unit = 1000.0 * seconds / sum(weights)
    # Players replace shorter durations by a tenth of a second.
    return [*(max(round(unit * weight), 20) for weight in weights), _PAUSE]


def _rendered(made: dict[str, Any], **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
    return {"image/svg+xml": _svg(_drawable(made))}, {}


def _specification(chart: Any, theme: str | None) -> dict[str, Any]:
    made: dict[str, Any] = _drawable(chart.to_dict())
    return made if theme is None else recoloured(made, theme) | {"config": config(theme)}


def _drawable(part: Any) -> Any:
    """Replace the characters of a specification that cannot be drawn by U+FFFD."""
    if isinstance(part, dict):
        return {_drawable(key): _drawable(of) for key, of in part.items()}
    if isinstance(part, list):
        return [_drawable(each) for each in part]
    return _UNDRAWABLE.sub("\ufffd", part) if isinstance(part, str) else part


def _png(specification: dict[str, Any], scale: float) -> bytes:
    return bytes(vl_convert.vegalite_to_png(specification, vl_version=_VERSION, scale=scale))


def _svg(specification: dict[str, Any]) -> str:
    """Return the picture with its text summary, which the converter leaves out."""
    look = specification.get("config", {})
    if look.get("font") == FONT:
        specification = {**specification, "config": {**look, "font": MEASURED}}
    drawn = str(vl_convert.vegalite_to_svg(specification, vl_version=_VERSION))
    words = html.escape(specification.get("description", ""))
    head, _, rest = drawn.partition(">")
    return f'{head} role="img" aria-label="{words}">{rest}\n' if words else f"{drawn}\n"


def _gif(specification: dict[str, Any], scale: float, seconds: float) -> bytes:
    moving = [each for each in specification.get("params", []) if each["name"] == FRAME]
    if not moving:
        raise ValueError(
            "Only a chart with frames, such as that of boundary_frames, can be saved as .gif. Save "
            "this chart as .png or .svg."
        )
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Saving a .gif needs Pillow. Install it: pip install 'separatrix[images]'"
        ) from error
    (slider,) = moving
    frames = []
    for number in range(int(slider["bind"]["min"]), int(slider["bind"]["max"]) + 1):
        slider["value"] = number
        picture = Image.open(io.BytesIO(_png(specification, scale)))
        # MAXCOVERAGE keeps the colours of the points, which are few pixels beside the shading.
        frames.append(picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE))
    out = io.BytesIO()
    frames[0].save(
        out,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=frame_durations(len(frames), seconds),
        loop=0,
    )
    return out.getvalue()
