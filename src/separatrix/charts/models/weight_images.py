"""The weights of an image classifier as images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.theme import TRAINING, VALIDATION, finish
from separatrix.explain.pixels import pixel_places
from separatrix.explain.weights import weights_of
from separatrix.matrix import Array
from separatrix.text import counted, listed, named_class


def templates(
    coef: Any, shape: tuple[int, int] | None = None, classes: Sequence[Any] | None = None
) -> Any:
    """Draw the weights of an image classifier as images, one for every class.

    Parameters
    ----------
    coef : (K, d), the `coef_` of a fitted classifier, or a loaded model that was trained on images
    shape : height and width of the images, whose pixels are the d features. Not needed for a model
    classes : names of the classes, of which the last K are used. None means numbers, or the
        classes of the model

    >>> import numpy as np
    >>> from separatrix import charts
    >>> charts.templates(np.eye(2, 4), (2, 2), ["a", "b"]).to_dict()["description"]
    'Weights of 2 classes as images of 2 x 2 pixels. Largest absolute weight: 1.'
    """
    if shape is None:
        seen = weights_of(coef)
        places = pixel_places(seen.names)
        if places is None:
            raise ValueError(
                "The features must be the pixels of images. The first features of the model are: "
                f"{listed(seen.names, 4)}. Give a model that was trained on images."
            )
        shape = places.shape
        coef = np.stack([places.image(own).ravel() for own in seen.W])
        classes = seen.classes if classes is None else classes
    weights = np.atleast_2d(np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64))
    K, d = weights.shape
    if len(shape) != 2 or shape[0] * shape[1] != d:
        raise ValueError(
            f"The 'shape' parameter must have as many pixels as there are weights per class: {d:,}."
            f" Got {tuple(shape)} instead. Give the height and width of the images."
        )
    names = [named_class(name) for name in (range(K) if classes is None else list(classes)[-K:])]
    full = full_shade(weights)
    panels = {name: signed(own.reshape(shape), full) for name, own in zip(names, weights)}
    chart = images(panels, 120 if K > 1 else 240, columns=5)
    largest = float(np.abs(weights).max())
    description = (
        f"Weights of {counted(K, 'class', 'classes')} as images of {shape[0]} x {shape[1]} pixels. "
        f"Largest absolute weight: {short(largest)}."
    )
    subtitle = [f"Blue: positive weights. Orange: negative. Full colour: {short(full)} or more."]
    return finish(chart, "Weights of the classes as images", subtitle, description)


def full_shade(weights: Array) -> float:
    """Return the weight that gets full opacity.

    It is a high quantile, because a few pixels at the border can have far larger weights.
    """
    sizes = np.abs(weights)
    return float(np.quantile(sizes, 0.998)) or float(sizes.max()) or 1.0


def signed(weights: Array, full: float) -> Array:
    """Return pixels (h, w, 4): blue for positive and orange for negative weights."""
    out = np.empty((*weights.shape, 4))
    out[..., :3] = np.where(weights[..., None] > 0.0, colour(TRAINING), colour(VALIDATION))
    out[..., 3] = np.abs(weights) / full
    return out


def images(panels: Mapping[str, Array], side: int, columns: int) -> Any:
    """Draw images (h, w, 4) of the same shape side by side, with their names."""
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
