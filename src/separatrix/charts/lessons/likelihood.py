"""Likelihood, log-likelihood and cross-entropy of a model, side by side."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.positions import padded
from separatrix.charts.drawing.theme import CHOSEN, TRAINING, VALIDATION, finish
from separatrix.explain import Likelihood, LikelihoodAlong
from separatrix.explain.likelihoods import SMALLEST
from separatrix.text import counted

MOST = 12  # largest number of rows drawn
_WIDTH, _HEIGHT, _BARS = 196, 170, 296
_MARK = 70


def likelihood(found: Likelihood) -> Any:
    """Draw likelihood, log-likelihood and cross-entropy along a line of weights, and the rows.

    `found` is a result of `explain.likelihood`. The line goes from zero weights (t = 0) through the
    weights of the model (t = 1) and beyond. If the likelihood is too small for a floating-point
    number, its geometric mean per row is drawn. The bars show the least likely rows: the
    probability of the true class and the loss.

    >>> from separatrix import charts, explain
    >>> model = explain.weights([-1, 2, -3])
    >>> documents = [[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]]
    >>> found = explain.likelihood(model, documents, [1, 0, 0, 1])
    >>> charts.likelihood(found).to_dict()["description"][:72]
    'Likelihood 0.17, log-likelihood -1.77, cross-entropy 0.443 over 4 rows. '
    """
    views = _views(found)
    listed = ", ".join(f"{name} {short(value)}" for name, value, _ in views)
    told = f"{listed[0].upper()}{listed[1:]} over {counted(found.rows, 'row')}."
    parts = [_rows(found)]
    subtitle = []
    if found.line is not None:
        line = found.line
        parts.insert(0, alt.hconcat(*(_view(line, *view) for view in views), spacing=22))
        told = f"{told} {line.verdict}"
        subtitle = [line.verdict]
    chart = alt.vconcat(*parts, spacing=26)
    return finish(chart, "Likelihood of the labels under the model", subtitle, told)


def _views(found: Likelihood) -> list[tuple[str, float, tuple[float, ...]]]:
    """Return the name, the value and the line of each view.

    A likelihood that is too small is replaced by its geometric mean per row.
    """
    logs = found.line.log_likelihoods if found.line else ()
    products = found.line.likelihoods if found.line else ()
    means = found.line.cross_entropies if found.line else ()
    shown = ("likelihood", found.likelihood, products)
    if min([found.likelihood, *products[1:]]) < SMALLEST:
        each = tuple(float(v) for v in np.exp(np.array(logs) / found.rows))
        shown = ("likelihood per row", math.exp(found.log_likelihood / found.rows), each)
    return [
        shown,
        ("log-likelihood", found.log_likelihood, logs),
        ("cross-entropy", found.cross_entropy, means),
    ]


def _view(line: LikelihoodAlong, name: str, value: float, values: tuple[float, ...]) -> Any:
    """Draw one view along the line, with marks at the model and at the best weights."""
    finite = np.array([v for v in (*values, value) if math.isfinite(v)])
    rows = [{"view": name, "t": t, "value": v} for t, v in zip(line.positions, values)]
    marks: list[dict[str, Any]] = [{"t": 1.0, "value": value, "mark": "the model"}]
    if line.best is not None and min(line.cross_entropies) < max(line.cross_entropies):
        best = float(np.interp(line.best, line.positions, values))
        marks.append({"t": line.best, "value": best, "mark": "best on the line"})
    x = alt.X("t:Q").title("t, the factor on the weights").axis(grid=False, tickCount=5)
    x = x.scale(domain=[line.positions[0], line.positions[-1]], nice=False)
    y = alt.Y("value:Q").title(None).axis(tickCount=5, format=".6~g")
    y = y.scale(domain=list(padded(finite, 0.08)), nice=False, zero=False)
    names = [mark["mark"] for mark in marks]
    hue = alt.Color("mark:N").title(None)
    hue = hue.scale(domain=names, range=[VALIDATION, CHOSEN][: len(names)])
    shape = alt.Shape("mark:N").title(None)
    shape = shape.scale(domain=names, range=["circle", "diamond"][: len(names)])
    points = alt.Chart(data(marks)).encode(x=x, color=hue)
    return alt.layer(
        points.mark_rule(strokeDash=[3, 3], opacity=0.8),
        alt.Chart(data(rows))
        .mark_line(color=TRAINING, strokeWidth=2.2)
        .encode(x=x, y=y, tooltip=["t:Q", alt.Tooltip("value:Q", format=".4g", title=name)]),
        points.mark_point(filled=True, size=_MARK, opacity=1).encode(y=y, shape=shape),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(f"{name}: {short(value)}", fontSize=12, offset=6),
    )


def _rows(found: Likelihood) -> Any:
    """Draw the least likely rows: the probability of the true class, and the loss."""
    own, losses = np.array(found.probabilities), np.array(found.losses)
    few = found.rows <= MOST
    shown = np.arange(found.rows) if few else np.argsort(own, kind="stable")[:MOST]
    rows = [
        {
            "row": f"{k + 1:,}",
            "p": own[k],
            "loss": losses[k],
            "p told": short(own[k]),
            "loss told": short(losses[k]),
        }
        for k in shown
    ]
    chance = "probability of the true class"
    if not few:
        chance = f"{chance}, lowest {len(shown)} of {found.rows:,}"
    loss = "loss: minus its logarithm" if found.is_loss else "minus its logarithm"
    mean = "mean" if few else "mean of all rows"
    end = max([v for v in losses[shown] if math.isfinite(v)], default=1.0)
    sides = (
        ("p", chance, 1.0, TRAINING),
        ("loss", f"{loss} ({mean} {short(found.cross_entropy)})", end or 1.0, VALIDATION),
    )
    panels = []
    for field, title, most, colour in sides:
        ticks = alt.Axis(format=".6~g", values=np.linspace(0.0, 1.0, 6).tolist())
        x = alt.X(f"{field}:Q").title(None)
        x = x.axis(ticks if field == "p" else alt.Axis(tickCount=5, format=".6~g"))
        x = x.scale(domain=[0.0, 1.2 * most], nice=False)
        y = alt.Y("row:N").sort(None).title("row" if field == "p" else None)
        base = alt.Chart(data(rows)).encode(x=x, y=y.axis(domain=False, ticks=False))
        panel = alt.layer(
            base.mark_bar(color=colour),
            base.mark_text(align="left", dx=4).encode(text=f"{field} told:N"),
        ).properties(
            width=_BARS,
            height=alt.Step(19),
            title=alt.TitleParams(title, fontSize=12, offset=6),
        )
        panels.append(panel)
    return alt.hconcat(*panels, spacing=30)
