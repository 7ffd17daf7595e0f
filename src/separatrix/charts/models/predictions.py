"""How good predictions are: confusions, ROC, precision and recall, calibration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.theme import CLASSES, DASHES, TRAINING, WRONG, finish
from separatrix.matrix import Array
from separatrix.metrics import curves, measure, rank, reliability
from separatrix.text import counted, percent

_CELLS = 30  # classes up to which the cells have their numbers written in
_SIDE = 300


def confusion(y: Any, predicted: Any, classes: Any = None) -> Any:
    """Draw the confusion matrix: a row for every true class, a column for every predicted one.

    The shade is the share of the row; what is right is blue, what is wrong red.

    >>> from separatrix import charts
    >>> chart = charts.confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> chart.to_dict()["description"]
    'Confusion matrix of 3 rows and 2 classes: 66.7 % right. Most often, a was taken for b: 1 row.'
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    known = np.union1d(y, predicted) if classes is None else np.asarray(classes)
    found = measure(y, predicted, known)
    counts = np.array(found["confusion"])
    names = [str(name) for name in known.tolist()]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = [
        {
            "true": names[j],
            "predicted": names[k],
            "rows": int(counts[j, k]),
            "share": float(shares[j, k]),
            "kind": "right" if j == k else "wrong",
        }
        for j in range(len(names))
        for k in range(len(names))
        if counts[j, k] or len(names) <= _CELLS
    ]
    cell = 44 if len(names) <= 6 else 34 if len(names) <= 12 else max(420 // len(names), 4)
    labels = alt.Axis(labelAngle=0 if max(map(len, names)) <= 5 else -40, domain=False, ticks=False)
    base = alt.Chart(data(cells)).encode(
        x=alt.X("predicted:N").sort(names).title("predicted").axis(labels),
        y=alt.Y("true:N").sort(names).title("true class").axis(domain=False, ticks=False),
        tooltip=["true:N", "predicted:N", "rows:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    hue = alt.Color("kind:N").scale(domain=["right", "wrong"], range=[TRAINING, WRONG])
    layers = [
        base.mark_rect().encode(
            color=hue.legend(alt.Legend(title=None, orient="top")),
            opacity=alt.Opacity("share:Q")
            .scale(type="sqrt", domain=[0, 1], range=[0, 0.9])
            .legend(None),
        )
    ]
    if len(names) <= _CELLS:
        size = 12 if cell >= 34 else 9
        written = base.transform_filter("datum.rows > 0")
        layers += [
            written.transform_filter("datum.share > 0.4").mark_text(fontSize=size, color="#ffffff"),
            written.transform_filter("datum.share <= 0.4").mark_text(fontSize=size),
        ]
        layers[1:] = [layer.encode(text=alt.Text("rows:Q").format(",d")) for layer in layers[1:]]
    chart = alt.layer(*layers).properties(width=cell * len(names), height=cell * len(names))
    right = f"{percent(found['accuracy'])} of {counted(len(y), 'row')} right"
    return finish(chart, "Confusions", [f"{right}."], _confusion_words(counts, names, found))


def _confusion_words(counts: Array, names: list[str], found: dict[str, Any]) -> str:
    classes = counted(len(names), "class", "classes")
    words = (
        f"Confusion matrix of {counted(found['rows'], 'row')} and {classes}: "
        f"{percent(found['accuracy'])} right."
    )
    wrong = counts - np.diag(np.diag(counts))
    if wrong.any():
        true, said = np.unravel_index(wrong.argmax(), wrong.shape)
        words += (
            f" Most often, {names[true]} was taken for {names[said]}: "
            f"{counted(int(wrong.max()), 'row')}."
        )
    return words


def roc(y: Any, scores: Any, classes: Any = None) -> Any:
    """Draw the share of a class that is found against the share of the others taken for it.

    Parameters
    ----------
    y : (n,) labels
    scores : (n,) for the second of two classes, (n, C) for all, or a mapping from names to such
    classes : in the order of the scores; those of y, sorted, for None

    With more than two classes there is a line for each against the rest.

    >>> from separatrix import charts
    >>> chart = charts.roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["description"]
    'ROC curve of 4 rows. Area: class 1 0.75.'
    """
    lines = _lines(y, scores, classes)
    rows = [
        {
            "line": name,
            "x": found["roc"]["false_positive_rate"],
            "y": found["roc"]["true_positive_rate"],
        }
        for name, found, _ in lines
    ]
    words = {name: f"{name} ({short(ranked['roc_auc'])})" for name, _, ranked in lines}
    chart = _ranked(rows, words, "share of the others taken for it", "share found", "area")
    diagonal = alt.Chart(data([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]))
    guess = diagonal.mark_line(strokeDash=[2, 4], style="quiet").encode(x="x:Q", y="y:Q")
    listed = _listed({name: ranked["roc_auc"] for name, _, ranked in lines})
    description = f"ROC curve of {counted(len(np.asarray(y)), 'row')}. Area: {listed}."
    subtitle = [f"{_alone('Area', listed, lines)}Dotted: scores that know nothing."]
    return finish(alt.layer(guess, chart), "ROC", subtitle, description)


def precision_recall(y: Any, scores: Any, classes: Any = None) -> Any:
    """Draw the share of the answers that is right against the share of the class that is found.

    The parameters are those of `roc`.

    >>> from separatrix import charts
    >>> chart = charts.precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["description"]
    'Precision-recall curve of 4 rows. Average precision: class 1 0.833.'
    """
    lines = _lines(y, scores, classes)
    rows = [
        {
            "line": name,
            "x": found["precision_recall"]["recall"],
            "y": found["precision_recall"]["precision"],
        }
        for name, found, _ in lines
    ]
    each = {name: ranked["average_precision"] for name, _, ranked in lines}
    words = {name: f"{name} ({short(value)})" for name, value in each.items()}
    chart = _ranked(rows, words, "recall", "precision", "average precision")
    listed, n = _listed(each), counted(len(np.asarray(y)), "row")
    description = f"Precision-recall curve of {n}. Average precision: {listed}."
    told = _alone("Average precision", listed, lines).strip()
    return finish(chart, "Precision and recall", [told] if told else [], description)


def calibration(y: Any, probabilities: Any, classes: Any = None, *, bins: int = 10) -> Any:
    """Draw how often a class comes true against the probability that it was given.

    Parameters
    ----------
    y : (n,) labels
    probabilities : (n,) of the second of two classes, (n, C), or a mapping from names to such
    classes : in the order of the probabilities; those of y, sorted, for None
    bins : groups of rows of like probability, as equal in size as ties allow

    A point is a group: its mean probability, the share that came true, and the range within which
    that share would lie by chance 19 times of 20 if it were the truth (Wilson's interval).

    >>> from separatrix import charts
    >>> chart = charts.calibration([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.9], bins=2)
    >>> chart.to_dict()["description"]
    'Calibration of 4 rows. Mean distance from the truth: class 1 0.25.'
    """
    rows, errors = [], {}
    for name, positive, column in _columns(y, probabilities, classes):
        found = reliability(positive, column, bins)
        errors[name] = found["error"]
        rows += [{"line": name, **group} for group in found["groups"]]
    words = {name: f"{name} ({short(value)})" for name, value in errors.items()}
    hue, _ = _hues(words, "mean distance")
    span = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("predicted:Q").scale(span).axis(format="%", tickCount=5).title("probability given"),
        color=hue,
    )
    y_axis = (
        alt.Y("observed:Q").scale(span).axis(format="%", tickCount=5).title("share that came true")
    )
    tooltip = [
        "line:N",
        alt.Tooltip("predicted:Q", format=".3f"),
        alt.Tooltip("observed:Q", format=".3f"),
        "rows:Q",
    ]
    diagonal = alt.Chart(data([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]))
    chart = alt.layer(
        diagonal.mark_line(strokeDash=[2, 4], style="quiet").encode(x="x:Q", y="y:Q"),
        base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q").scale(span), y2="high:Q"),
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=y_axis),
        base.mark_point(filled=True, size=40, opacity=1).encode(y=y_axis, tooltip=tooltip),
    ).properties(width=_SIDE, height=_SIDE)
    listed, n = _listed(errors), counted(len(np.asarray(y)), "row")
    description = f"Calibration of {n}. Mean distance from the truth: {listed}."
    told = _alone("Mean distance", listed, list(errors))
    subtitle = [f"{told}Dotted: probabilities that are the truth."]
    return finish(chart, "Calibration", subtitle, description)


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {short(value)}" for name, value in values.items())


def _alone(what: str, listed: str, lines: Sequence[Any]) -> str:
    """The number of the only line, which needs no legend."""
    return f"{what}: {listed}. " if len(lines) == 1 else ""


def _ranked(
    rows: list[dict[str, Any]], words: dict[str, str], x: str, y: str, measure_name: str
) -> Any:
    hue, dash = _hues(words, measure_name)
    span = alt.Scale(domain=[0, 1], nice=False)
    return (
        alt.Chart(data(rows))
        .transform_flatten(["x", "y"])
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("x:Q").scale(span).axis(format="%", tickCount=5).title(x),
            y=alt.Y("y:Q").scale(span).axis(format="%", tickCount=5).title(y),
            order=alt.Order("order:Q"),
            color=hue,
            strokeDash=dash,
            tooltip=["line:N", alt.Tooltip("x:Q", format=".3f"), alt.Tooltip("y:Q", format=".3f")],
        )
        .transform_window(order="row_number()")
        .properties(width=_SIDE, height=_SIDE)
    )


def _hues(words: dict[str, str], title: str) -> tuple[Any, Any]:
    """Colour and dash of every line, and a legend that has its number."""
    names = list(words)
    legend = alt.Legend(
        title=title,
        labelExpr=f"{json.dumps(words)}[datum.label]",
        symbolType="stroke",
        symbolSize=200,
        symbolOpacity=1,
    )
    shown = legend if len(names) > 1 else None
    colours = [CLASSES[k % len(CLASSES)] for k in range(len(names))]
    dashes = [DASHES[(k // len(CLASSES)) % len(DASHES)] for k in range(len(names))]
    return (
        alt.Color("line:N").sort(names).scale(domain=names, range=colours).legend(shown),
        alt.StrokeDash("line:N").sort(names).scale(domain=names, range=dashes).legend(shown),
    )


def _lines(y: Any, scores: Any, classes: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """For every line its name, the points of its curves and its areas."""
    both = np.array([False, True])
    return [
        (name, curves(positive, column), rank(positive, column, both))
        for name, positive, column in _columns(y, scores, classes)
    ]


def _columns(y: Any, scores: Any, classes: Any) -> list[tuple[str, Array, Array]]:
    """For every line its name, which rows are of its class (n,), and their scores (n,)."""
    y = np.asarray(y)
    known = np.unique(y) if classes is None else np.asarray(classes)
    number = counted(len(known), "class", "classes")
    named = scores if isinstance(scores, Mapping) else {"": scores}
    out = []
    for model, given in named.items():
        given = np.asarray(given)
        if len(given) != len(y):
            raise ValueError(f"There are {len(y):,} labels and {len(given):,} rows of scores.")
        if given.ndim == 2 and given.shape[1] == 2:
            given = given[:, 1]
        if given.ndim == 1 and len(known) != 2:
            raise ValueError(
                f"y has {number}, and there is one score for each row. Give one for each class, "
                "(n, C)."
            )
        columns = {known[-1]: given} if given.ndim == 1 else dict(zip(known.tolist(), given.T))
        if given.ndim == 2 and given.shape[1] != len(known):
            raise ValueError(
                f"y has {number}, and a row has {counted(given.shape[1], 'score')}. Give a score "
                "for each class."
            )
        for label, column in columns.items():
            positive = y == label
            if positive.any() and not positive.all():
                own = f"class {label}"
                name = own if not model else model if given.ndim == 1 else f"{model}, {own}"
                out.append((name, positive, column))
    if not out:
        raise ValueError("All rows are of one class: there is nothing to tell apart.")
    return out
