"""Charts as files."""

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
from separatrix.charts.drawing.theme import FONT, MEASURED, config
from separatrix.files import replace_file

SUFFIXES = (".png", ".svg", ".html", ".gif")
FRAME = "frame"  # the parameter of a chart that can move
_RENDERER = "separatrix"
# Characters that XML does not have, nor half of a character: the converter ends the whole process
# at them. Vega-Lite writes names into expressions, where U+2028 and U+2029 end a line.
_UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_VERSION = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def save(
    chart: Any,
    path: str | os.PathLike[str],
    *,
    theme: str | None = None,
    scale: float = 2.0,
    seconds: float = 0.15,
) -> Path:
    """Write a chart to a file, whole or not at all, by its suffix: .png, .svg, .html or .gif.

    Parameters
    ----------
    chart : of this package, or any other Altair chart
    path : the HTML needs no network: the programs that draw it are inside, some 800 kB
    theme : "light" or "dark"; that of the chart for None
    scale : pixels of an image for each pixel of the chart
    seconds : for which a .gif shows each frame of a chart that has some; the last stays longer

    >>> from separatrix import charts
    >>> charts.save(charts.losses(), "losses.svg").name
    'losses.svg'
    >>> Path("losses.svg").unlink()
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"A chart is saved as {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, by the end of the "
            f"file's name. Got {path.name!r}."
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
    """A chart as SVG, to be part of a page; the theme as for `save`."""
    return _svg(_specification(chart, theme))


def show_as_svg() -> None:
    """Show all charts of a notebook as SVG from now on, drawn on this machine.

    Altair's own way fetches from a network the programs that draw a chart.

    >>> from separatrix import charts
    >>> charts.show_as_svg()
    >>> shown, _ = charts.losses()._repr_mimebundle_()
    >>> list(shown)
    ['image/svg+xml']
    >>> _ = alt.renderers.enable("default")  # Altair's own way again
    """
    alt.renderers.register(_RENDERER, _rendered)
    alt.renderers.enable(_RENDERER)


def _rendered(made: dict[str, Any], **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
    return {"image/svg+xml": _svg(_drawable(made))}, {}


def _specification(chart: Any, theme: str | None) -> dict[str, Any]:
    made: dict[str, Any] = _drawable(chart.to_dict())
    return made if theme is None else made | {"config": config(theme)}


def _drawable(part: Any) -> Any:
    """A specification whose texts can be drawn: other characters are replaced by U+FFFD."""
    if isinstance(part, dict):
        return {_drawable(key): _drawable(of) for key, of in part.items()}
    if isinstance(part, list):
        return [_drawable(each) for each in part]
    return _UNDRAWABLE.sub("\ufffd", part) if isinstance(part, str) else part


def _png(specification: dict[str, Any], scale: float) -> bytes:
    return bytes(vl_convert.vegalite_to_png(specification, vl_version=_VERSION, scale=scale))


def _svg(specification: dict[str, Any]) -> str:
    """The picture with its text summary, which the converter leaves out."""
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
            "A .gif is for a chart that has frames, such as that of boundary_frames. Save this one "
            "as .png or .svg."
        )
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "A .gif is put together by Pillow. Install it: pip install 'separatrix[images]'"
        ) from error
    (slider,) = moving
    frames = []
    for number in range(int(slider["bind"]["min"]), int(slider["bind"]["max"]) + 1):
        slider["value"] = number
        picture = Image.open(io.BytesIO(_png(specification, scale)))
        # By coverage: few pixels of a class must not lose their colour to the many of the shade.
        frames.append(picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE))
    each = max(round(1000 * seconds), 20)
    out = io.BytesIO()
    frames[0].save(
        out,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=[each] * (len(frames) - 1) + [max(10 * each, 1500)],
        loop=0,
    )
    return out.getvalue()
