"""Read PNG and JPEG images, one folder per class (needs Pillow, the extra 'images').

A greyscale image of h x w pixels becomes a row of h w numbers from 0 to 255, a colour image a row
of 3 h w. The pixels are in reading order, as uint8. `Preparation` divides them by 255.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array
from separatrix.readers.compression.size_limits import require_room
from separatrix.readers.documents import class_folders, visible
from separatrix.readers.rows.row_columns import file_names
from separatrix.readers.source import LoadedTable

ENDINGS = (".png", ".jpg", ".jpeg")

_GREY = {"1", "L", "LA"}
_COLOUR = {"P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}


def read_images(
    path: Path | str,
    *,
    size: tuple[int, int] | None = None,
    colour: bool | None = None,
    resize: bool = True,
) -> LoadedTable:
    """Read images from one folder per class, or a folder or a single image without labels.

    All images must have the same size, or are resized to `size`, (width, height). With
    resize=False, they must already have that size. A pixel has three numbers with colour=True and
    one with colour=False. By default it has three if any of the images has colour.

    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, grey in [("dark", 10), ("light", 250)]:
    ...     (folder / name).mkdir()
    ...     Image.new("L", (2, 2), grey).save(folder / name / "a.png")
    >>> X, y, names, notes = read_images(folder)
    >>> X.tolist(), y.tolist()
    ([[10, 10, 10, 10], [250, 250, 250, 250]], ['dark', 'light'])
    >>> names[1]
    'row 1, column 2'
    >>> notes
    ['Read greyscale images of 2 x 2 pixels, one folder per class: dark 1, light 1.']
    """
    path = Path(path)
    folders = {"": visible(path) if path.is_dir() else [path]}
    if any(entry.is_dir() for entry in folders[""]):
        folders = class_folders(path)
    images = [(name, file) for name, files in folders.items() for file in files]
    if path.is_dir():
        _require_images([file for _, file in images])
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise ParameterError(
            f"'size' must be (width, height), both >= 1. Got {size!r} instead.", parameter="size"
        )
    size = None if size is None else (size[0], size[1])
    if colour is None:
        colour = any(_has_colour(file) for _, file in images)
    resized = size is not None and resize
    pixels, held = [], 0
    for _, file in images:
        pixels.append(_pixels(file, size if resized else None, colour))
        held += pixels[-1].nbytes
        require_room(path, 0, held)  # the limit is for all images together
    h, w = _one_shape([file for _, file in images], pixels, size)
    X = np.stack(pixels).reshape(len(pixels), -1)
    found = f"Read {'colour' if colour else 'greyscale'} images of {w} x {h} pixels"
    found += " (resized)" if resized else ""
    names = _names(h, w, colour)
    reading = {"size": [w, h], "resize": resized, "colour": colour}
    files = file_names(path, [file for _, file in images])
    if "" in folders:
        notes = [f"{found}, without labels."]
        return LoadedTable(X, None, names, notes, reading, row_columns=files)
    y = np.array([name for name, _ in images])
    counts = ", ".join(f"{name} {int((y == name).sum()):,}" for name in folders)
    notes = [f"{found}, one folder per class: {counts}."]
    return LoadedTable(X, y, names, notes, reading, row_columns=files)


def _one_shape(
    files: Sequence[Path], pixels: Sequence[Array], size: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the height and width of the images, which must all be the same and equal `size`."""
    shapes = [array.shape[:2] for array in pixels]
    h, w = shapes[0] if size is None else (size[1], size[0])
    odd = next((i for i, shape in enumerate(shapes) if shape != (h, w)), None)
    if odd is None:
        return h, w
    whose = f"{files[0]} has" if size is None else "The model was trained on"
    other_h, other_w = shapes[odd]
    raise ValueError(
        Message(
            "All images must have the same size. {whose} {w} x {h} pixels, but {file} has "
            "{other_w} x {other_h}. Give {size} to resize them.",
            whose=whose,
            w=w,
            h=h,
            file=files[odd],
            other_w=other_w,
            other_h=other_h,
            size=Parameter("size", (w, h)),
        )
    )


def _require_images(files: Sequence[Path]) -> None:
    for file in files:
        if file.suffix.lower() not in ENDINGS:
            raise ValueError(
                f"{file} is not an image. A folder of images must contain only files that end in "
                f"{', '.join(ENDINGS)}."
            )


def _names(h: int, w: int, colour: bool) -> list[str]:
    pixels = [f"row {i}, column {j}" for i in range(1, h + 1) for j in range(1, w + 1)]
    if not colour:
        return pixels
    return [f"{pixel}, {part}" for pixel in pixels for part in ("red", "green", "blue")]


def _open(file: Path) -> Any:
    try:
        from PIL.JpegImagePlugin import JpegImageFile
        from PIL.PngImagePlugin import PngImageFile
    except ImportError as error:
        raise ImportError(
            f"{file}: reading images needs Pillow. Install it with pip install "
            "'separatrix[images]'."
        ) from error
    with file.open("rb") as opened:
        png = opened.read(4) == b"\x89PNG"
    try:  # not Image.open, which has a separate size limit that users cannot change
        image = PngImageFile(file) if png else JpegImageFile(file)
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{file} is not a readable PNG or JPEG file: {error}.") from error
    try:
        require_room(file, file.stat().st_size, image.width * image.height * len(image.getbands()))
    except ValueError:
        image.close()
        raise
    if image.mode not in _GREY | _COLOUR:
        image.close()
        raise ValueError(
            f"{file} has the pixel format {image.mode!r}. Allowed are formats with 8 bits per "
            f"channel ({', '.join(sorted(_GREY | _COLOUR))}). Convert the image."
        )
    return image


def _has_colour(file: Path) -> bool:
    with _open(file) as image:
        return image.mode in _COLOUR


def _pixels(file: Path, size: tuple[int, int] | None, colour: bool) -> Array:
    with _open(file) as image:
        try:
            if image.mode in ("P", "PA"):  # a palette may be partly transparent
                image = image.convert("RGBA")
            image = image.convert("RGB" if colour else "L")
        except (OSError, SyntaxError, ValueError) as error:
            raise ValueError(f"{file} is damaged: {error}.") from error
        return np.asarray(image if size is None else image.resize(size))
