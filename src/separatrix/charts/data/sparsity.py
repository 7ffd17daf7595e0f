"""The sparsity pattern of a matrix."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.chart_data import data
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.theme import TRAINING, finish
from separatrix.text import counted

_PIXELS = 300  # largest number of pixels per side


def spy(X: Any) -> Any:
    """Draw the sparsity pattern of a matrix (n, d) of any size.

    A pixel of a large matrix stands for a block. The more entries of the block are non-zero, the
    darker the pixel is, on a logarithmic scale.

    >>> import scipy.sparse as sp
    >>> from separatrix import charts
    >>> charts.spy(sp.eye(1000, format="csr")).to_dict()["description"]
    'Matrix of 1,000 rows and 1,000 columns with 1,000 non-zero entries (0.1 %).'
    """
    entries = sp.coo_array(X) if sp.issparse(X) else sp.coo_array(np.asarray(X))
    entries.sum_duplicates()
    entries.eliminate_zeros()
    n, d = entries.shape
    height, width = min(n, _PIXELS), min(d, _PIXELS)
    # int64, because the products of row numbers and pixels can exceed 32 bits.
    at = (entries.row.astype(np.int64) * height // n) * width
    at += entries.col.astype(np.int64) * width // d
    counts = np.bincount(at, minlength=height * width).reshape(height, width)
    rows = np.bincount(np.arange(n, dtype=np.int64) * height // n, minlength=height)
    columns = np.bincount(np.arange(d, dtype=np.int64) * width // d, minlength=width)
    filled = counts / (rows[:, None] * columns[None, :])
    pixels = np.zeros((height, width, 4))
    pixels[..., :3] = colour(TRAINING)
    least = filled[filled > 0.0].min() if counts.any() else 1.0
    depth = np.log(np.where(filled > 0.0, filled, least) / least) / max(np.log(1.0 / least), 1e-9)
    pixels[..., 3] = np.where(filled > 0.0, np.rint(15 * (0.25 + 0.75 * depth)) / 15, 0.0)
    if least == 1.0:
        pixels[..., 3] = filled
    corner = {"url": image(pixels), "left": 0, "right": d, "top": 0, "low": n}
    scale = min(420.0 / max(n, d), 14.0)
    picture = (
        alt.Chart(data([corner]))
        .mark_image(aspect=False, smooth=False)
        .encode(
            x=alt.X("left:Q")
            .scale(domain=[0, d], nice=False)
            .title("column")
            .axis(grid=False, tickCount=5),
            x2="right:Q",
            y=alt.Y("top:Q").scale(domain=[n, 0], nice=False).title("row").axis(grid=False),
            y2="low:Q",
            url="url:N",
        )
        .properties(width=int(max(d * scale, 120)), height=int(max(n * scale, 120)))
    )
    share = 100.0 * entries.nnz / max(n * d, 1)
    facts = f"{counted(n, 'row')} and {counted(d, 'column')}"
    filled_words = counted(entries.nnz, "non-zero entry", "non-zero entries")
    subtitle = [f"{facts}, {filled_words} ({share:.3g} %)."]
    if (height, width) != (n, d):
        subtitle.append("Darker pixels: more entries.")
    description = f"Matrix of {facts} with {filled_words} ({share:.3g} %)."
    return finish(picture, "Non-zero entries", subtitle, description)
