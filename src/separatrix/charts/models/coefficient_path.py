"""The weights along a regularisation path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import at_share, share, spread
from separatrix.charts.drawing.theme import CHOSEN, OTHERS, class_colours, finish
from separatrix.inference.coefficient_names import feature_names, output_classes
from separatrix.matrix import Array
from separatrix.model_selection import RegularizationPath
from separatrix.text import counted, named_class

_GREY = 300  # largest number of other weights, in grey
_WIDTH, _NARROW, _HEIGHT = 440, 330, 300


def coefficient_path(
    path: RegularizationPath,
    *,
    chosen: float | None = None,
    names: Sequence[str] | None = None,
    top: int = 10,
) -> Any:
    """Draw the weights along a regularisation path as a function of C.

    Parameters
    ----------
    path : a result of `regularization_path`
    chosen : a value of C to mark, such as the one that cross-validation chose
    names : names of the features. None means the names in training, or x0, x1, ...
    top : the number of weights with names

    If the features were standardised, the weights are per standard deviation. The largest weights
    at the end of the path have colours and labels. With more than two classes, every class
    has a chart.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import charts, regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = regularization_path(X, y, l1_ratio=1.0, Cs=5, standardize=True)
    >>> charts.coefficient_path(path).to_dict()["description"][:57]
    'Weights of 30 features at 5 values of C from 0.00458 to 4'
    """
    Cs = path.Cs
    order = np.argsort(Cs)
    coefs = path.coefs[order] * (1.0 if path.factors is None else path.factors)
    names = feature_names(path.estimators[0]) if names is None else list(names)
    classes = output_classes(path.estimators[0])
    span = _padded(float(coefs.min()), float(coefs.max()))
    panels = [named_class(name) for name in classes] if len(classes) > 1 else [""]
    rows: list[dict[str, Any]] = []
    for k, panel in enumerate(panels):
        rows += _panel_rows(coefs[:, k], Cs[order], names, panel, span, top)
    chart = _path_layers(rows, Cs[order], span, chosen, per_deviation=path.factors is not None)
    if len(panels) > 1:
        facet = alt.Facet("panel:N").title(None).sort(panels)
        chart = chart.properties(width=_NARROW).facet(facet, columns=2, data=data(rows))
    else:
        chart = chart.properties(width=_WIDTH, data=data(rows))
    nonzero = path.n_nonzero[order]
    description = (
        f"Weights of {counted(len(names), 'feature')} at {len(Cs)} values of C from "
        f"{short(float(Cs.min()))} to {short(float(Cs.max()))}. Non-zero weights: {nonzero[0]:,} "
        f"of {coefs[0].size:,} at the smallest C, {nonzero[-1]:,} at the largest."
    )
    subtitle = ["A larger C means a weaker penalty."]
    if chosen is not None:
        subtitle.append(f"Green line: the chosen C, {short(chosen)}.")
    title = "Weights along the regularisation path"
    return finish(chart, title, [" ".join(subtitle)], description)


def _panel_rows(
    coefs: Array, Cs: Array, names: list[str], panel: str, span: tuple[float, float], most: int
) -> list[dict[str, Any]]:
    """Return the lines of one output (P, d): the largest with labels, the others in grey."""
    last = np.abs(coefs[-1])
    top = np.argsort(-last, kind="stable")
    named = [int(j) for j in top[:most] if last[j] > 0.0]
    rest = [int(j) for j in np.argsort(-np.abs(coefs).max(axis=0), kind="stable")]
    rest = [j for j in rest if j not in set(named)][:_GREY]
    rows: list[dict[str, Any]] = [
        {
            "layer": "line",
            "panel": panel,
            "feature": names[j],
            "kind": "named" if j in set(named) else "other",
            "hue": names[j] if j in set(named) else "",
            "C": Cs,
            "value": coefs[:, j],
        }
        for j in [*rest, *named]
    ]
    heights = [_HEIGHT * share(float(coefs[-1, j]), span, False) for j in named]
    for j, place in zip(named, spread(heights, 12.0, _HEIGHT)):
        rows.append(
            {
                "layer": "label",
                "panel": panel,
                "feature": names[j],
                "kind": "named",
                "hue": names[j],
                "C": [Cs[-1]],
                "value": [at_share(place / _HEIGHT, span, False)],
            }
        )
    return rows


def _path_layers(
    rows: Sequence[dict[str, Any]],
    Cs: Array,
    span: tuple[float, float],
    chosen: float | None,
    *,
    per_deviation: bool,
) -> Any:
    x = alt.X("C:Q").title("penalty parameter C").axis(format=".3~g", tickCount=6, grid=False)
    x = x.scale(type="log", domain=[float(Cs[0]), float(max(Cs[-1], Cs[0] * 1.01))], nice=False)
    y = alt.Y("value:Q").title("weight per standard deviation" if per_deviation else "weight")
    y = y.scale(domain=list(span), nice=False).axis(format=".6~g", tickCount=6)
    named = list(dict.fromkeys(row["feature"] for row in rows if row["kind"] == "named"))
    hue = alt.Color("hue:N").legend(None)
    hue = hue.scale(domain=["", *named], range=[OTHERS, *class_colours(len(named))])
    base = alt.Chart().transform_flatten(["C", "value"])
    lines = base.transform_filter(alt.datum.layer == "line").mark_line(strokeWidth=1.5, clip=True)
    labels = base.transform_filter(alt.datum.layer == "label")
    strength = alt.Opacity("kind:N").legend(None)
    strength = strength.scale(domain=["other", "named"], range=[0.35, 1.0])
    layers = [
        lines.encode(
            x=x,
            y=y,
            detail="feature:N",
            color=hue,
            opacity=strength,
            tooltip=["feature:N", "C:Q", alt.Tooltip("value:Q", title="weight", format=".4g")],
        ),
        labels.mark_text(align="left", dx=6, limit=150).encode(
            x=x, y=y, text="feature:N", color=hue
        ),
    ]
    if chosen is not None:
        mark = alt.Chart().mark_rule(color=CHOSEN, strokeWidth=2, strokeDash=[6, 3])
        layers.append(mark.encode(x=alt.XDatum(chosen)))
    return alt.layer(*layers).properties(height=_HEIGHT)


def _padded(low: float, high: float) -> tuple[float, float]:
    low, high = min(low, 0.0), max(high, 0.0)
    pad = 0.05 * (high - low) or 1.0
    return low - pad, high + pad
