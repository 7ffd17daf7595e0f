"""Quality measures of predictions as plain values: numbers, text, lists and dicts.

measure(...)         accuracy, log-loss; precision, recall and F1 of every class; confusion matrix
rank(...)            how well scores order the rows: ROC and precision-recall
operating_points     precision and recall at different thresholds for two classes
reliability          whether probabilities agree with the observed frequencies
calibrate            the same as an array, for two or more classes
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from separatrix.estimators.decisions.threshold import choose_threshold
from separatrix.matrix import Array
from separatrix.text import listed

_POINTS = 201  # largest number of points of a curve
_NORMAL = 1.959963984540054  # standard deviations around the mean that hold 95 % of a normal one
RECALLS = (0.5, 0.8, 0.9, 0.95, 0.99)


def measure(
    y: Array,
    predicted: Array,
    classes: Array,
    probabilities: Array | None = None,
    weights: Array | None = None,
) -> dict[str, Any]:
    """Compare predictions (n,) with labels (n,).

    `precision` is None for a class that was never predicted, `recall` for one that has no rows, and
    `log_loss` without `probabilities` (n, C). `confusion` has a row for every true class. It and
    `rows` count rows; all other measures use `weights` (n,) if they are given.

    >>> y, predicted = np.array([0] * 6 + [1] * 10), np.array([0] * 4 + [1] * 2 + [1] * 7 + [0] * 3)
    >>> found = measure(y, predicted, np.array([0, 1]))
    >>> found["accuracy"] == 11 / 16, found["confusion"]
    (True, [[4, 2], [3, 7]])
    >>> of_one = found["classes"][1]
    >>> of_one["precision"] == 7 / 9, of_one["recall"] == 7 / 10, round(of_one["f1"], 3)
    (True, True, 0.737)
    """
    _require_known(y, classes)
    counts = weighted = confusion_matrix(y, predicted, labels=classes)
    if weights is not None and weights.any():
        weighted = confusion_matrix(y, predicted, labels=classes, sample_weight=weights)
    else:
        weights = None
    right, true, said = np.diag(weighted), weighted.sum(axis=1), weighted.sum(axis=0)
    rows = counts.sum(axis=1)
    loss = None
    if probabilities is not None:
        known = np.asarray(probabilities, np.float64)
        loss = float(log_loss(y, known, labels=classes, sample_weight=weights))
    by_class = [
        {
            "class": label,
            "rows": int(rows[k]),
            "precision": _share(right[k], said[k]),
            "recall": _share(right[k], true[k]),
            "f1": _share(2 * right[k], said[k] + true[k]),
        }
        for k, label in enumerate(classes.tolist())
    ]
    return {
        "rows": len(y),
        "accuracy": float(right.sum() / weighted.sum()),
        "log_loss": loss,
        "classes": by_class,
        "confusion": counts.tolist(),
    }


def rows_right(found: Mapping[str, Any]) -> int:
    """Return how many rows are classified correctly, from what `measure` returned.

    >>> rows_right({"confusion": [[4, 2], [3, 7]]})
    11
    """
    return sum(int(line[k]) for k, line in enumerate(found["confusion"]))


def rank(y: Array, scores: Array, classes: Array, weights: Array | None = None) -> dict[str, Any]:
    """Measure how well scores, (n,) for the second of two classes or (n, C), order the rows.

    For more than two classes, `roc_auc` and `average_precision` are means over one class against
    the rest. Classes without rows, or with all rows, are left out; None if none remains.

    >>> found = rank(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 1]))
    >>> found["roc_auc"], round(found["average_precision"], 3)
    (0.75, 0.833)
    """
    _require_known(y, classes)
    columns = scores[:, None] if scores.ndim == 1 else scores
    positives = classes[1:] if scores.ndim == 1 else classes
    areas, precisions = [], []
    for label, column in zip(positives, columns.T):
        positive = y == label
        share = np.average(positive, weights=weights) if weights is None or weights.any() else 0.0
        if 0 < share < 1:
            areas.append(float(roc_auc_score(positive, column, sample_weight=weights)))
            precisions.append(
                float(average_precision_score(positive, column, sample_weight=weights))
            )
    return {"roc_auc": _mean(areas), "average_precision": _mean(precisions)}


def curves(
    positive: Array, scores: Array, weights: Array | None = None
) -> dict[str, dict[str, list[float]]]:
    """Return the ROC and precision-recall curves for two classes, with at most 201 points each.

    >>> found = curves(np.array([False, True]), np.array([0.0, 1.0]))
    >>> found["roc"]["true_positive_rate"][-1], found["precision_recall"]["precision"][-1]
    (1.0, 1.0)
    """
    false, true, _ = roc_curve(positive, scores, sample_weight=weights)
    precision, recall, _ = precision_recall_curve(positive, scores, sample_weight=weights)
    return {
        "roc": _thinned(false_positive_rate=false, true_positive_rate=true),
        "precision_recall": _thinned(recall=recall, precision=precision),
    }


def operating_points(
    positive: Array,
    scores: Array,
    recalls: Sequence[float] = RECALLS,
    weights: Array | None = None,
) -> list[dict[str, float]]:
    """Return the best precision for a recall of at least each given one, and its threshold.

    Recalls with the same threshold are one point.

    >>> points = operating_points(np.array([False, True, True]), np.array([0.0, 1.0, 2.0]), [1.0])
    >>> points[0]["threshold"], points[0]["precision"], points[0]["false_positive_rate"]
    (0.5, 1.0, 0.0)
    """
    points: list[dict[str, float]] = []
    s = np.ones(len(scores)) if weights is None else weights
    for aim in recalls:
        found = choose_threshold(scores, positive, s, cost=None, precision=None, recall=aim)
        if points and found.value == points[-1]["threshold"]:
            continue
        false = float(np.average(scores[~positive] > found.value, weights=s[~positive]))
        points.append(
            {
                "threshold": found.value,
                "precision": found.precision,
                "recall": found.recall,
                "false_positive_rate": false,
            }
        )
    return points


def reliability(positive: Array, probabilities: Array, bins: int = 10) -> dict[str, Any]:
    """Compare probabilities (n,) with observed frequencies in groups of similar probability.

    The groups are as equal in size as ties allow. Each has its mean probability, the fraction
    observed and Wilson's 95 % interval of it. `error` is the mean distance between the first two
    over the rows, the expected calibration error.

    >>> found = reliability(np.array([False, True, True, True]), np.array([0.5, 0.5, 1.0, 1.0]), 2)
    >>> [(group["predicted"], group["observed"]) for group in found["groups"]], found["error"]
    ([(0.5, 0.5), (1.0, 1.0)], 0.0)
    """
    values = np.asarray(probabilities, np.float64)
    edges = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="lower"))
    group_of = np.searchsorted(edges, values, side="left")
    rows = np.bincount(group_of)
    given = np.bincount(group_of, values)
    true = np.bincount(group_of, positive.astype(np.float64))
    groups = []
    for n, mean, share in ((n, g / n, t / n) for n, g, t in zip(rows, given, true) if n):
        middle = (share + _NORMAL**2 / (2 * n)) / (1 + _NORMAL**2 / n)
        reach = _NORMAL * math.sqrt(share * (1 - share) / n + (_NORMAL / (2 * n)) ** 2)
        reach /= 1 + _NORMAL**2 / n
        groups.append(
            {
                "predicted": float(mean),
                "observed": float(share),
                "rows": int(n),
                "low": float(max(middle - reach, 0.0)),
                "high": float(min(middle + reach, 1.0)),
            }
        )
    apart = math.fsum(g["rows"] * abs(g["predicted"] - g["observed"]) for g in groups)
    return {"groups": groups, "error": apart / len(values)}


def calibrate(true: Array, P: Array) -> Array:
    """Compare probabilities (n, C) with the class numbers (n,): an array (groups, 5).

    The probability is that of the second of two classes, and that of the predicted one of several.

    >>> calibrate(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))[:, :3].tolist()
    [[0.1, 0.0, 1.0], [0.8, 1.0, 1.0]]
    """
    if P.shape[1] == 2:
        found = reliability(true == 1, P[:, 1])
    else:
        found = reliability(true == P.argmax(axis=1), P.max(axis=1))
    names = ("predicted", "observed", "rows", "low", "high")
    return np.array([[group[name] for name in names] for group in found["groups"]])


def _require_known(y: Array, classes: Array) -> None:
    if not len(y):
        raise ValueError("There are no rows to measure.")
    strange = sorted({str(label) for label in np.unique(y) if label not in classes})
    if strange:
        raise ValueError(
            f"The rows have the label {strange[0]!r}, which is not one of the model's classes: "
            f"{listed(classes.tolist(), 10)}."
        )


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _thinned(**columns: Array) -> dict[str, list[float]]:
    n = len(next(iter(columns.values())))
    rows = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int))
    return {name: values[rows].tolist() for name, values in columns.items()}
