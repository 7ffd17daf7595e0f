"""Batch, mini-batch and stochastic gradient descent in one chart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short, thinned
from separatrix.charts.drawing.theme import DASHES, ORDERED, finish
from separatrix.errors import Message, Parameter, ParameterNames
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.training.recording.history import History

AXES = ("epochs", "rows", "updates")
_LIGHTEST = 4  # steps from the darkest to the lightest shade that is used
_WIDTH, _HEIGHT, _POINTS = 460, 300, 200
_HIGHER = 1.5  # the axis ends at this multiple of the usual losses


def batches(
    runs: StudyFacts | Mapping[int | None, History],
    rows: int | None = None,
    *,
    by: str = "epochs",
    log_x: bool = False,
    log_y: bool = False,
) -> Any:
    """Draw the training loss of batch, mini-batch and stochastic gradient descent.

    Parameters
    ----------
    runs : the facts of a study that varies batch_size (the best configuration of every batch size
        is drawn), or a mapping from batch sizes to histories, with None for all rows
    rows : number of training rows; not needed for a study
    by : the horizontal axis: "epochs", "rows" (processed so far) or "updates" (of the weights)
    log_x, log_y : whether the axes are logarithmic

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import charts, fit_many, GradientDescentClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> sizes = [None, 15, 1]
    >>> models = fit_many([GradientDescentClassifier(batch_size=m) for m in sizes], X, y)
    >>> chart = charts.batches({m: f.history_ for m, f in zip(sizes, models)}, len(y))
    >>> chart.to_dict()["description"][:68]
    'Training loss by epochs. Final values: batch (all 150 rows) 0.707, m'
    """
    if by not in AXES:
        known = ", ".join(repr(name) for name in AXES)
        raise ValueError(f"The 'by' parameter must be one of {known}. Got {by!r} instead.")
    if isinstance(runs, StudyFacts):
        rows = runs.data.rows["train"]
        histories = _best_of_each(runs)
    else:
        histories = dict(runs)
    if rows is None:
        raise ValueError("Histories need the number of training rows. Give rows=len(y).")
    if not histories:
        raise ValueError("There are no histories to draw. Give at least one.")
    lines = [
        _line(size, histories[size], rows, by, log_x)
        for size in sorted(histories, key=lambda m: -(m or rows))
    ]
    chart = _chart(lines, by, log_x, log_y)
    ends = ", ".join(f"{line['run']} {short(line['value'][-1])}" for line in lines)
    title = {"epochs": "epochs", "rows": "rows processed", "updates": "weight updates"}[by]
    description = f"Training loss by {title}. Final values: {ends}."
    return finish(chart, "Batch, mini-batch and stochastic gradient descent", [], description)


def _best_of_each(facts: StudyFacts) -> dict[int | None, History]:
    """Return, for every batch size, the history of the configuration with the lowest loss."""
    if "batch_size" not in facts.varied:
        varied = ParameterNames(facts.varied) if facts.varied else "nothing"
        raise ValueError(
            Message(
                "This chart needs a study that varies {size}. The study {study!r} varies {varied}.",
                size=Parameter("batch_size"),
                study=facts.name,
                varied=varied,
            )
        )
    best: dict[int | None, Row] = {}
    for row in facts.rows:
        if row.state == "done" and not row.diverged:
            size = row.parameters["batch_size"]
            if size not in best or _loss(row) < _loss(best[size]):
                best[size] = row
    return {size: facts.histories[row.number][0] for size, row in best.items()}


def _loss(row: Row) -> float:
    value = row.last.get("train_loss")
    return math.inf if value is None else value


def _line(size: int | None, history: History, rows: int, by: str, log: bool) -> dict[str, Any]:
    size = min(size or rows, rows)
    if size == rows:
        name = f"batch (all {rows:,} rows)"
    else:
        name = "stochastic (1 row)" if size == 1 else f"mini-batch ({size:,} rows)"
    each = {"epochs": 1, "rows": rows, "updates": math.ceil(rows / size)}[by]
    values = history["train_loss"]
    at = thinned(values, _POINTS, log=log)
    return {"run": name, "at": (at + 1) * each, "value": values[at]}


def _chart(lines: list[dict[str, Any]], by: str, log_x: bool, log_y: bool) -> Any:
    values = np.concatenate([line["value"] for line in lines])
    if log_y:
        values = values[values > 0.0]
    # The loss of small batches can jump at first, which must not compress all other lines.
    usual = max(float(np.quantile(values, 0.9)), float(lines[0]["value"][0]))
    span = (float(values.min()), min(float(values.max()), _HIGHER * usual))
    span = (span[0] / 1.1, span[1] * 1.1) if log_y else (min(0.0, span[0]), span[1] * 1.05)
    start = min(int(line["at"][0]) for line in lines)
    end = max(int(line["at"][-1]) for line in lines)
    title = {"epochs": "epoch", "rows": "rows processed", "updates": "weight updates"}[by]
    x = alt.X("at:Q").title(title).axis(format=",d", tickCount=5, grid=False)
    x = x.scale(type="log" if log_x else "linear", domain=[start if log_x else 0, end], nice=False)
    y = alt.Y("value:Q").title("training loss").axis(format=".6~g", tickCount=5)
    y = y.scale(type="log" if log_y else "linear", domain=list(span), nice=False)
    return (
        alt.Chart(data(lines))
        .transform_flatten(["at", "value"])
        .mark_line(clip=True, strokeJoin="round")
        .encode(
            x=x,
            y=y,
            **_kinds([line["run"] for line in lines]),
            tooltip=[
                "run:N",
                alt.Tooltip("at:Q", title=title),
                alt.Tooltip("value:Q", title="training loss", format=".4g"),
            ],
        )
        .properties(width=_WIDTH, height=_HEIGHT)
    )


def _kinds(names: list[str]) -> dict[str, Any]:
    """Return the encodings of the lines: thinner and lighter for smaller batches.

    Small batches oscillate most, and thick lines would hide the others.
    """
    steps = np.linspace(0.0, 1.0, len(names)) if len(names) > 1 else np.zeros(1)
    darkest = len(ORDERED) - 1
    hues = [ORDERED[darkest - round(_LIGHTEST * step)] for step in steps]
    dashes = [DASHES[k % 2] for k in range(len(names))]
    key = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    return {
        "color": alt.Color("run:N").scale(domain=names, range=hues).legend(key),
        "strokeDash": alt.StrokeDash("run:N").scale(domain=names, range=dashes).legend(key),
        "strokeWidth": alt.StrokeWidth("run:N")
        .scale(domain=names, range=(3.0 - 1.8 * steps).tolist())
        .legend(key),
    }
