"""The weights of a classifier of images, as images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.theme import TRAINING, VALIDATION, finish
from separatrix.matrix import Array
from separatrix.text import counted


def templates(coef: Any, shape: tuple[int, int], classes: Sequence[Any] | None = None) -> Any:
    """Draw the weights of a classifier of images as images, one for every class.

    Parameters
    ----------
    coef : (K, d), the `coef_` of a fitted classifier
    shape : lines and columns of an image, whose pixels are the d features
    classes : names of the K outputs, the last K of those given; numbers for None

    >>> import numpy as np
    >>> from separatrix import charts
    >>> charts.templates(np.eye(2, 4), (2, 2), ["a", "b"]).to_dict()["description"]
    'Weights of 2 classes as images of 2 x 2 pixels, the largest 1.'
    """
    weights = np.atleast_2d(np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64))
    K, d = weights.shape
    if len(shape) != 2 or shape[0] * shape[1] != d:
        raise ValueError(
            f"There are {d:,} weights a class, and an image of shape {tuple(shape)} has not as "
            "many pixels. Give lines and columns whose product is the number of features."
        )
    names = [str(name) for name in (range(K) if classes is None else list(classes)[-K:])]
    full = full_shade(weights)
    panels = {name: signed(own.reshape(shape), full) for name, own in zip(names, weights)}
    chart = images(panels, 120 if K > 1 else 240, columns=5)
    largest = float(np.abs(weights).max())
    description = (
        f"Weights of {counted(K, 'class', 'classes')} as images of {shape[0]} x {shape[1]} pixels, "
        f"the largest {short(largest)}."
    )
    subtitle = ["Blue pixels speak for the class, orange ones against it."]
    return finish(chart, "Templates of the classes", subtitle, description)


def full_shade(weights: Array) -> float:
    """The weight of the densest shade: a few at the rim may lie beyond all others."""
    sizes = np.abs(weights)
    return float(np.quantile(sizes, 0.998)) or float(sizes.max()) or 1.0


def signed(weights: Array, full: float) -> Array:
    """Pixels (h, w, 4): blue for weights above 0, orange below, the denser the larger."""
    out = np.empty((*weights.shape, 4))
    out[..., :3] = np.where(weights[..., None] > 0.0, colour(TRAINING), colour(VALIDATION))
    out[..., 3] = np.abs(weights) / full
    return out


def images(panels: Mapping[str, Array], side: int, columns: int) -> Any:
    """Pixels (h, w, 4) of one shape, by name, side by side."""
    height, width = next(iter(panels.values())).shape[:2]
    corner = {"left": 0, "right": width, "top": 0, "low": height}
    rows = [{"panel": name, "url": image(pixels), **corner} for name, pixels in panels.items()]
    scale = side / max(height, width)
    picture = (
        alt.Chart()
        .mark_image(aspect=False, smooth=False)
        .encode(
            x=alt.X("left:Q").scale(domain=[0, width], nice=False).axis(None),
            x2="right:Q",
            y=alt.Y("top:Q").scale(domain=[height, 0], nice=False).axis(None),
            y2="low:Q",
            url="url:N",
        )
        .properties(width=int(width * scale), height=int(height * scale))
    )
    facet = alt.Facet("panel:N").title(None).sort(list(panels))
    return picture.facet(facet, columns=columns, data=data(rows), spacing=14)
