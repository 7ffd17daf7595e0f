"""Charts of predictions: confusion matrix, ROC, precision and recall, calibration."""

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
from separatrix.text import counted, named_class, percent

_CELLS = 30  # largest number of classes with counts printed in the cells
_SIDE = 300


def confusion(y: Any, predicted: Any, classes: Any = None) -> Any:
    """Draw the confusion matrix, with true classes in rows and predicted classes in columns.

    The shading shows the fraction of the true class. Correct predictions are blue, errors are red.

    >>> from separatrix import charts
    >>> chart = charts.confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> chart.to_dict()["description"]
    'Confusion matrix of 3 rows and 2 classes. Accuracy 66.7 %. Most common error: a predicted \
as b (1 row).'
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
            "kind": "correct" if j == k else "wrong",
        }
        for j in range(len(names))
        for k in range(len(names))
        if counts[j, k] or len(names) <= _CELLS
    ]
    cell = 44 if len(names) <= 6 else 34 if len(names) <= 12 else max(420 // len(names), 4)
    labels = alt.Axis(
        labelAngle=0 if max(map(len, names)) <= 5 else -40,
        labelOverlap=len(names) > _CELLS,
        domain=False,
        ticks=False,
    )
    base = alt.Chart(data(cells)).encode(
        x=alt.X("predicted:N").sort(names).title("predicted class").axis(labels),
        y=alt.Y("true:N").sort(names).title("true class").axis(domain=False, ticks=False),
        tooltip=[
            alt.Tooltip("true:N", title="true class"),
            alt.Tooltip("predicted:N", title="predicted class"),
            "rows:Q",
            alt.Tooltip("share:Q", title="fraction of the true class", format=".1%"),
        ],
    )
    hue = alt.Color("kind:N").scale(domain=["correct", "wrong"], range=[TRAINING, WRONG])
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
    subtitle = [
        f"Accuracy {percent(found['accuracy'])} on {counted(len(y), 'row')}.",
        "Shades: share of the true class.",
    ]
    words = _confusion_words(counts, [named_class(label) for label in known.tolist()], found)
    return finish(chart, "Confusion matrix", subtitle, words)


def _confusion_words(counts: Array, names: list[str], found: dict[str, Any]) -> str:
    classes = counted(len(names), "class", "classes")
    words = (
        f"Confusion matrix of {counted(found['rows'], 'row')} and {classes}. "
        f"Accuracy {percent(found['accuracy'])}."
    )
    wrong = counts - np.diag(np.diag(counts))
    if (wrong == wrong.max()).sum() == 1 and wrong.any():
        true, said = np.unravel_index(wrong.argmax(), wrong.shape)
        words += (
            f" Most common error: {names[true]} predicted as {names[said]} "
            f"({counted(int(wrong.max()), 'row')})."
        )
    return words


def roc(y: Any, scores: Any, classes: Any = None) -> Any:
    """Draw ROC curves: the true positive rate by the false positive rate.

    Parameters
    ----------
    y : (n,) labels
    scores : (n,) for the second of two classes, (n, C) for all classes, or a mapping from names of
        classifiers to such scores
    classes : the classes in the order of the scores. None means the sorted classes of y

    With more than two classes, every class has a curve against all others.

    >>> from separatrix import charts
    >>> chart = charts.roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["description"]
    'ROC curve of 4 rows. Area under the curve: 0.75 (class 1).'
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
    area = "area under the curve"
    chart = _ranked(rows, words, "false positive rate", "true positive rate", area)
    diagonal = alt.Chart(data([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]))
    guess = diagonal.mark_line(strokeDash=[2, 4], style="quiet").encode(x="x:Q", y="y:Q")
    listed = _listed({name: ranked["roc_auc"] for name, _, ranked in lines})
    n = counted(len(np.asarray(y)), "row")
    description = f"ROC curve of {n}. Area under the curve: {listed}."
    subtitle = [*_alone("Area under the curve", listed, lines), "Dotted line: random scores."]
    return finish(alt.layer(guess, chart), "ROC curve", subtitle, description)


def precision_recall(y: Any, scores: Any, classes: Any = None) -> Any:
    """Draw precision-recall curves: the precision by the recall.

    The parameters are the same as in `roc`.

    >>> from separatrix import charts
    >>> chart = charts.precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["description"]
    'Precision-recall curve of 4 rows. Average precision: 0.833 (class 1).'
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
    subtitle = _alone("Average precision", listed, lines)
    return finish(chart, "Precision-recall curve", subtitle, description)


def calibration(y: Any, probabilities: Any, classes: Any = None, *, bins: int = 10) -> Any:
    """Draw calibration curves: the observed frequency of a class by its predicted probability.

    Parameters
    ----------
    y : (n,) labels
    probabilities : (n,) for the second of two classes, (n, C) for all classes, or a mapping from
        names of classifiers to such probabilities
    classes : the classes in the order of the probabilities. None means the sorted classes of y
    bins : number of groups of rows with similar probabilities. The groups have equal sizes, except
        for ties

    A point shows the mean probability and the observed frequency of a group. The vertical line is
    the 95 % confidence interval of the frequency (Wilson's interval).

    >>> from separatrix import charts
    >>> chart = charts.calibration([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.9], bins=2)
    >>> chart.to_dict()["description"]
    'Calibration curve of 4 rows. Expected calibration error: 0.25 (class 1).'
    """
    rows, errors = [], {}
    for name, positive, column in _columns(y, probabilities, classes):
        found = reliability(positive, column, bins)
        errors[name] = found["error"]
        rows += [{"line": name, **group} for group in found["groups"]]
    words = {name: f"{name} ({short(value)})" for name, value in errors.items()}
    hue, _ = _hues(words, "expected calibration error")
    span = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("predicted:Q")
        .scale(span)
        .axis(format="%", tickCount=5)
        .title("predicted probability"),
        color=hue,
    )
    y_axis = (
        alt.Y("observed:Q").scale(span).axis(format="%", tickCount=5).title("observed frequency")
    )
    tooltip = [
        alt.Tooltip("line:N", title="curve"),
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
    description = f"Calibration curve of {n}. Expected calibration error: {listed}."
    told = _alone("Expected calibration error", listed, list(errors))
    subtitle = [*told, "Dotted line: perfect calibration."]
    return finish(chart, "Calibration curve", subtitle, description)


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{short(value)} ({name})" for name, value in values.items())


def _alone(what: str, listed: str, lines: Sequence[Any]) -> list[str]:
    """Return a line with the number of a single curve, which has no legend."""
    return [f"{what}: {listed}."] if len(lines) == 1 else []


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
            tooltip=[
                alt.Tooltip("line:N", title="curve"),
                alt.Tooltip("x:Q", title=x, format=".3f"),
                alt.Tooltip("y:Q", title=y, format=".3f"),
            ],
        )
        .transform_window(order="row_number()")
        .properties(width=_SIDE, height=_SIDE)
    )


def _hues(words: dict[str, str], title: str) -> tuple[Any, Any]:
    """Return the colours and dashes of the lines, with a legend that shows their numbers."""
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
    """Return the name, the points and the areas of every curve."""
    both = np.array([False, True])
    return [
        (name, curves(positive, column), rank(positive, column, both))
        for name, positive, column in _columns(y, scores, classes)
    ]


def _columns(y: Any, scores: Any, classes: Any) -> list[tuple[str, Array, Array]]:
    """Return, for every curve, its name, the rows of its class (n,) and the scores (n,)."""
    y = np.asarray(y)
    known = np.unique(y) if classes is None else np.asarray(classes)
    number = counted(len(known), "class", "classes")
    named = scores if isinstance(scores, Mapping) else {"": scores}
    out = []
    for model, given in named.items():
        given = np.asarray(given)
        if len(given) != len(y):
            raise ValueError(
                "Every row must have a label and a score. Got "
                f"{len(y):,} labels and {len(given):,} rows of scores."
            )
        if given.ndim == 2 and given.shape[1] == 2:
            given = given[:, 1]
        if given.ndim == 1 and len(known) != 2:
            raise ValueError(
                f"y has {number}, but there is one score per row. Give one score per class, (n, C)."
            )
        columns = {known[-1]: given} if given.ndim == 1 else dict(zip(known.tolist(), given.T))
        if given.ndim == 2 and given.shape[1] != len(known):
            raise ValueError(
                f"y has {number}, but a row has {counted(given.shape[1], 'score')}. Give one score "
                "per class."
            )
        for label, column in columns.items():
            positive = y == label
            if positive.any() and not positive.all():
                own = named_class(np.asarray(label).item())
                name = own if not model else model if given.ndim == 1 else f"{model}, {own}"
                out.append((name, positive, column))
    if not out:
        raise ValueError("All rows are of one class. The curves need rows of at least two classes.")
    return out
