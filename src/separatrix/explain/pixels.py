"""Features that are the pixels of images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.matrix import Array

_PIXEL = re.compile(r"row (\d+), column (\d+)(?:, \w+)?|pixel_(\d+)_(\d+)")


@dataclass(frozen=True, eq=False)
class PixelPlaces:
    """The row and the column (d,) of the pixel that each feature belongs to."""

    rows: Array
    columns: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the images."""
        return int(self.rows.max()) + 1, int(self.columns.max()) + 1

    def image(self, values: Array) -> Array:
        """Return values (d,) as an image; the values of the colours of a pixel are summed."""
        out = np.zeros(self.shape)
        np.add.at(out, (self.rows, self.columns), values)
        return out


def pixel_places(names: Sequence[str]) -> PixelPlaces | None:
    """Return the places of the pixels, or None if the names are not those of pixels.

    >>> pixel_places(["pixel_0_0", "pixel_0_1"]).shape
    (1, 2)
    """
    found = [_PIXEL.fullmatch(name) for name in names]
    if not found or any(each is None for each in found):
        return None
    places = [(int(each[1] or each[3]), int(each[2] or each[4])) for each in found if each]
    rows, columns = (np.array(part) - min(part) for part in zip(*places))
    return PixelPlaces(rows, columns)
