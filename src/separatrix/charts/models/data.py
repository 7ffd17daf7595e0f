"""The data itself: features against each other, and where a matrix has entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.marks import colour, counted, data, image
from separatrix.charts.drawing.theme import TRAINING, class_colours, class_shapes, finish
from separatrix.matrix import Array

FEATURES, ROWS = 6, 600  # of a scatter matrix: as many as can be looked at
_BINS = 18
_PIXELS = 300  # of the longer side of a matrix's picture


def scatter_matrix(X: Any, y: Any, names: Sequence[str] | None = None) -> Any:
    """Draw every feature against every other one, in the colours and shapes of the classes.

    Parameters
    ----------
    X : (n, d); of more than 6 features, those that tell the classes apart best are drawn
    y : (n,) labels
    names : of the features; those of the columns of X, or x0, x1, ..., for None

    On the diagonal there is the distribution of each feature. Of very many rows, some are drawn,
    evenly over the classes' own.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import charts
    >>> X, y = load_iris(return_X_y=True)
    >>> charts.scatter_matrix(X, y).to_dict()["description"]
    'Scatter matrix of 150 rows and 4 features in 3 classes. x2 tells the classes apart best.'
    """
    titles = names_of(X, names)
    table = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    labels = np.asarray(y)
    classes = np.unique(labels)
    told = _told_apart(table, labels, classes)
    chosen = np.sort(np.argsort(-told, kind="stable")[:FEATURES])
    rows = _some_rows(labels, classes)
    values = [
        {"class": str(labels[i]), **{f"f{j}": table[i, j] for j in chosen}} for i in rows.tolist()
    ]
    domain = [str(label) for label in classes.tolist()]
    side = 118 if len(chosen) >= 4 else 160
    cells = []
    for line in chosen:
        for column in chosen:
            first, last = column == chosen[0], line == chosen[-1]
            x = _side(alt.X(f"f{column}:Q"), table[:, column], titles[column], side, last)
            if line == column:
                cells.append(_distribution(x, table[:, column], titles[column], side, domain))
            else:
                up = _side(alt.Y(f"f{line}:Q"), table[:, line], titles[line], side, first)
                cells.append(_cloud(x, up, domain))
    chart = alt.concat(
        *(cell.properties(width=side, height=side) for cell in cells),
        data=data(values),
        columns=len(chosen),
        spacing=8,
    )
    subtitle = []
    if len(chosen) < table.shape[1]:
        subtitle.append(f"{len(chosen)} of {table.shape[1]:,} features.")
    if len(rows) < len(labels):
        subtitle.append(f"{len(rows):,} of {len(labels):,} rows.")
    best = titles[int(told.argmax())]
    description = (
        f"Scatter matrix of {counted(len(labels), 'row')} and "
        f"{counted(table.shape[1], 'feature')} in {counted(len(classes), 'class', 'classes')}. "
        f"{best} tells the classes apart best."
    )
    heading = "Features against each other"
    return finish(chart, heading, [" ".join(subtitle)] if subtitle else [], description)


def class_channels(domain: list[str], *, legend: bool = True) -> dict[str, Any]:
    """Colour and shape of the classes."""
    key = alt.Legend(title=None, orient="top", columns=8) if legend else None
    n = len(domain)
    return {
        "color": alt.Color("class:N").scale(domain=domain, range=class_colours(n)).legend(key),
        "shape": alt.Shape("class:N").scale(domain=domain, range=class_shapes(n)).legend(key),
    }


def names_of(X: Any, names: Sequence[str] | None) -> list[str]:
    """The names of the features: those given, those of the columns, or x0, x1, ..."""
    found = getattr(X, "columns", None) if names is None else names
    d = X.shape[1] if hasattr(X, "shape") else len(X[0])
    out = [f"x{j}" for j in range(d)] if found is None else [str(name) for name in found]
    if len(out) != d:
        raise ValueError(f"X has {d} features, and there are {len(out)} names.")
    return out


def _cloud(x: Any, y: Any, domain: list[str]) -> Any:
    marks = alt.Chart().mark_point(filled=True, size=14, opacity=0.6)
    return marks.encode(x=x, y=y, **class_channels(domain))


def _distribution(x: Any, values: Array, title: str, side: int, domain: list[str]) -> Any:
    """The number of rows by value, a hill for every class, and the name of the feature."""
    low, high = _span(values)
    field = x.to_dict()["field"]
    step = (high - low) / _BINS
    hills = (
        alt.Chart()
        .transform_calculate(
            place=f"{low} + {step} * (floor((datum.{field} - {low}) / {step}) + 0.5)"
        )
        .mark_area(interpolate="monotone", opacity=0.45)
        .encode(
            x=alt.X("place:Q").scale(domain=[low, high], nice=False).axis(x.to_dict().get("axis")),
            y=alt.Y("count():Q").stack(None).axis(None).scale(rangeMax=16),
            color=class_channels(domain)["color"],
        )
    )
    name = alt.Chart(data([{"name": title}])).mark_text(
        align="left", baseline="top", dx=2, fontWeight="bold", limit=side
    )
    return alt.layer(hills, name.encode(x=alt.value(0), y=alt.value(0), text="name:N"))


def _side(channel: Any, values: Array, title: str, side: int, shown: bool) -> Any:
    axis = alt.Axis(tickCount=4, format=".6~g", title=title if shown else None, titleLimit=side)
    if not shown:
        axis = alt.Axis(tickCount=4, labels=False, ticks=False, title=None, domain=False)
    return channel.scale(domain=list(_span(values)), nice=False, zero=False).axis(axis)


def _span(values: Array) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = 0.05 * (high - low) or 0.5
    return low - pad, high + pad


def _told_apart(X: Array, y: Array, classes: Array) -> Array:
    """For every feature, the share of its variance that lies between the classes."""
    mean = X.mean(axis=0)
    between = np.zeros(X.shape[1])
    for label in classes:
        rows = X[y == label]
        between += len(rows) * np.square(rows.mean(axis=0) - mean)
    whole = np.square(X - mean).sum(axis=0)
    return np.divide(between, whole, out=np.zeros_like(whole), where=whole > 0.0)


def _some_rows(y: Array, classes: Array) -> Array:
    """The numbers of at most about ROWS rows, evenly chosen from every class."""
    if len(y) <= ROWS:
        return np.arange(len(y))
    out = []
    for label in classes:
        own = np.flatnonzero(y == label)
        count = max(int(ROWS * len(own) / len(y)), min(len(own), 5))
        out.append(own[np.linspace(0, len(own) - 1, count).astype(int)])
    return np.sort(np.concatenate(out))


def spy(X: Any) -> Any:
    """Draw where a matrix (n, d) has entries that are not 0, however many there are.

    Of a large matrix a pixel stands for a block, and its shade for the share of it that is filled,
    on the scale of the logarithm.

    >>> import scipy.sparse as sp
    >>> from separatrix import charts
    >>> charts.spy(sp.eye(1000, format="csr")).to_dict()["description"]
    'Matrix of 1,000 rows and 1,000 columns with 1,000 entries other than 0: 0.1 %.'
    """
    entries = sp.coo_array(X) if sp.issparse(X) else sp.coo_array(np.asarray(X))
    entries.sum_duplicates()
    entries.eliminate_zeros()
    n, d = entries.shape
    height, width = min(n, _PIXELS), min(d, _PIXELS)
    # Products of large numbers of rows and pixels: beyond 32 bits.
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
    words = f"{counted(entries.nnz, 'entry', 'entries')} other than 0: {share:.3g} %."
    # Short lines: a picture of few columns is narrow, and longer ones would be cut.
    subtitle = [f"{counted(entries.nnz, 'entry', 'entries')} ({share:.3g} %)"]
    if (height, width) != (n, d):
        subtitle.append("A darker pixel is a fuller block.")
    return finish(picture, f"{n:,} × {d:,}", subtitle, f"Matrix of {facts} with {words}")
