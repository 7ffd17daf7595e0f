"""Scatter plots of all pairs of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from separatrix.charts.drawing.chart_data import column_names, data
from separatrix.charts.drawing.row_choice import separation, some_rows
from separatrix.charts.drawing.theme import class_channels, finish
from separatrix.matrix import Array
from separatrix.text import counted

FEATURES, ROWS = 6, 600  # largest numbers in a scatter matrix that is still readable
_BINS = 18


def scatter_matrix(X: Any, y: Any, names: Sequence[str] | None = None) -> Any:
    """Draw a scatter matrix: every pair of features, with colours and shapes for the classes.

    Parameters
    ----------
    X : (n, d). If there are more than 6 features, the 6 that separate the classes best are drawn
    y : (n,) labels
    names : names of the features. None means the column names of X, or x0, x1, ...

    The diagonal shows the distribution of each feature. If there are more than 600 rows, about 600
    evenly spaced rows are drawn, in the same proportions of the classes.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import charts
    >>> X, y = load_iris(return_X_y=True)
    >>> charts.scatter_matrix(X, y).to_dict()["description"]
    'Scatter matrix of 150 rows, 4 features and 3 classes. Feature x2 separates the classes best.'
    """
    titles = column_names(X, names)
    table = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    labels = np.asarray(y)
    classes = np.unique(labels)
    told = separation(table, labels)
    chosen = np.sort(np.argsort(-told, kind="stable")[:FEATURES])
    rows = some_rows(labels, ROWS)
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
    shown = []
    if len(chosen) < table.shape[1]:
        shown.append(f"{len(chosen)} of {table.shape[1]:,} features")
    if len(rows) < len(labels):
        shown.append(f"{len(rows):,} of {len(labels):,} rows")
    best = titles[int(told.argmax())]
    description = (
        f"Scatter matrix of {counted(len(labels), 'row')}, "
        f"{counted(table.shape[1], 'feature')} and {counted(len(classes), 'class', 'classes')}. "
        f"Feature {best} separates the classes best."
    )
    subtitle = [f"Shown: {' and '.join(shown)}."] if shown else []
    return finish(chart, "Scatter matrix of the features", subtitle, description)


def _cloud(x: Any, y: Any, domain: list[str]) -> Any:
    marks = alt.Chart().mark_point(filled=True, size=14, opacity=0.6)
    return marks.encode(x=x, y=y, **class_channels(domain))


def _distribution(x: Any, values: Array, title: str, side: int, domain: list[str]) -> Any:
    """Draw the distribution of a feature for every class, and the name of the feature."""
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
