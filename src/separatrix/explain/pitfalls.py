"""Small experiments that demonstrate common mistakes in training."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.data import Dataset
from separatrix.estimators import GradientDescentClassifier, LogisticRegression, fit_many
from separatrix.estimators.checks.validation import require_count, require_number
from separatrix.explain.input_checks import numbers_of
from separatrix.explain.text_tables import facts, number, table, to_builtin, wrapped
from separatrix.losses import LOSSES, Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.smoothness import smoothness

# The features are correlated, so the gradient of each weight depends on the other weight.
_X = ((1.0, 2.0), (2.0, 1.0), (3.0, 3.5), (-1.0, -1.5), (-2.0, -1.0), (0.5, -2.0))
_Y = (1, 1, 1, 0, 0, 0)
SAME = 1e-9  # smaller angles in degrees and smaller changes of weights are rounding errors


@dataclass(frozen=True)
class Demonstration:
    """The result of an experiment: a table, conclusions in sentences, and the data of a chart."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    sentences: tuple[str, ...]
    series: dict[str, Any]

    def to_text(self, width: int = 80) -> str:
        """Format the title, the table and the sentences."""
        lines = [*wrapped(self.title, width), "", *table(self.columns, self.rows, width), ""]
        return "\n".join([*lines, *(w for each in self.sentences for w in wrapped(each, width))])

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self)


def one_at_a_time(
    X: Any = _X, y: Any = _Y, *, learning_rate: float = 1.0, steps: int = 10
) -> Demonstration:
    """Compare updating the weights one at a time with updating them simultaneously.

    If the weights are updated one at a time, the gradient of the second weight is computed after
    the first one has moved. The step then deviates from the gradient, and the result depends on the
    order of the features. The model has a logistic loss, no bias, and starts at zero.

    Parameters
    ----------
    X, y : rows (n, 2) and labels (n,), 0 or 1
    learning_rate : the learning rate
    steps : the number of steps

    >>> found = one_at_a_time()
    >>> found.series["angles"]["simultaneous"] < 1e-6 < found.series["angles"]["one at a time"]
    True
    """
    rows, labels = _checked(X, y, 2)
    require_number("learning_rate", learning_rate, open_low=True)
    require_count("steps", steps)
    ways: dict[str, Sequence[Sequence[int]]] = {
        "simultaneous": [(0, 1)],
        "one at a time": [(0,), (1,)],
        "one at a time, other order": [(1,), (0,)],
    }
    slope = _slope_of(LOSSES["logistic"], rows, labels)
    start = slope(np.zeros(2))
    if not start.any():
        raise ValueError(
            "The gradient at zero weights is 0, so the weights do not move. Give rows whose "
            "classes have different means."
        )
    paths = {way: _descend(slope, groups, learning_rate, steps) for way, groups in ways.items()}
    angles = {way: _angle(-start, path[1]) for way, path in paths.items()}
    apart = float(np.abs(paths["one at a time"] - paths["one at a time, other order"]).max())
    table_rows = tuple(
        (way, *to_builtin(path[1]), angles[way], _mean_loss(rows, labels, path[-1]))
        for way, path in paths.items()
    )
    off = (
        "One at a time, the gradient of the second weight is computed after the first one has "
        f"moved, and the first step is {number(angles['one at a time'])} degrees off."
    )
    order = (
        f"With the features in the other order, the weights differ by up to {number(apart)}: the "
        "result depends on the order of the columns."
    )
    if angles["one at a time"] < SAME:
        off = "Here the gradients do not depend on the other weight, so the steps are the same."
    if apart < SAME:
        order = "With the features in the other order, the weights are the same."
    return Demonstration(
        "Updating weights one at a time does not follow the gradient",
        ("updates", "w1 after 1 step", "w2", "degrees off", f"loss after {steps}"),
        table_rows,
        (
            f"A simultaneous update follows the negative gradient exactly. {off}",
            order,
        ),
        {"paths": {way: to_builtin(path) for way, path in paths.items()}, "angles": angles},
    )


def outlier(distance: float = 60.0) -> Demonstration:
    """Show how a correctly classified outlier affects squared error and logistic loss.

    The rows have one feature: 1 to 5 in class 0, 6 to 10 in class 1, and an outlier in class 1 at
    `distance`. The logistic loss of the outlier is almost 0, and its squared error is large.

    >>> [row[-1] for row in outlier().rows]  # correct rows out of ten, with the outlier
    [8, 10]
    """
    require_number("distance", distance, low=10.0, open_low=True)
    x, y = np.arange(1.0, 11.0), np.repeat([0, 1], 5)
    far = np.append(x, distance), np.append(y, 1)
    ways: dict[str, Callable[[Array, Array], tuple[float, float]]] = {
        "squared": _least_squares,
        "logistic": _logistic,
    }
    rows: list[tuple[Any, ...]] = []
    lines: dict[str, Any] = {}
    for way, fitted in ways.items():
        planes = [fitted(x, y), fitted(*far)]
        lines[way] = {"without": planes[0], "with": planes[1]}
        bounds = [-b / w for w, b in planes]
        right = [int((((w * x + b) > 0) == y).sum()) for w, b in planes]
        rows.append((way, *bounds, *right))
    moved = [round(abs(row[2] - row[1]), 9) for row in rows]
    lost = rows[0][3] - rows[0][4]
    effect = f"With the outlier, the squared error misclassifies {lost} more of the ten rows"
    if lost == 0:
        effect = "No row is misclassified yet, but the boundary of the squared error has moved"
    return Demonstration(
        "An outlier on its correct side moves the boundary of least squares",
        ("loss", "boundary", "with outlier", "correct of 10", "with outlier"),
        tuple(rows),
        (
            f"A row at {number(distance)}, on its correct side, moves the decision boundary of the "
            f"squared error by {number(moved[0])}, and of the logistic loss by {number(moved[1])}.",
            f"{effect}. The squared error penalises a row that is on the correct side but far from "
            "the boundary.",
        ),
        {"x": to_builtin(x), "y": to_builtin(y), "outlier": float(distance), "planes": lines},
    )


def zero_start(X: Any = _X, y: Any = _Y, *, steps: int = 20) -> Demonstration:
    """Train with the perceptron loss from zero weights, where every score is 0 (a tie).

    The loss is 0 at zero weights. If a tie counts as correct, the gradient is 0 as well, and the
    weights never change. In this library a tie counts as a mistake.

    Parameters
    ----------
    X, y : rows (n, 2) and labels (n,), 0 or 1
    steps : the number of steps

    >>> [row[1:3] for row in zero_start().rows]
    [(0.0, 0.0), (1.41..., 1.83...)]
    """
    rows, labels = _checked(X, y, 2)
    require_count("steps", steps)
    t = 2.0 * labels - 1.0
    loss = LOSSES["perceptron"]
    ways: dict[str, Callable[[Array], Array]] = {
        "a tie is right": lambda w: -(rows * (t * (t * (rows @ w) < 0.0))[:, None]).mean(axis=0),
        "a tie is a mistake": _slope_of(loss, rows, labels),
    }
    paths = {way: _descend(slope, [(0, 1)], 1.0, steps) for way, slope in ways.items()}
    table_rows = tuple(
        (way, *to_builtin(path[1]), int((t * (rows @ path[-1]) > 0.0).sum()), len(labels))
        for way, path in paths.items()
    )
    start = (
        "If a tie counts as a mistake, the first step is the mean of all rows, each multiplied by "
        "its label (-1 or +1)"
    )
    if not paths["a tie is a mistake"].any():
        start += ". For these rows the mean is 0, so the weights do not change either"
    return Demonstration(
        "The perceptron loss from zero weights",
        ("rule", "w1 after 1 step", "w2", f"correct after {steps}", "rows"),
        table_rows,
        (
            "At zero weights every score is 0 (a tie), and the loss is 0. If a tie counts as "
            f"correct, the gradient is 0 as well, and the weights are still 0 after {steps} steps.",
            f"{start}.",
        ),
        {"paths": {way: to_builtin(path) for way, path in paths.items()}},
    )


def large_rate(
    X: Any = _X, y: Any = _Y, *, shares: Sequence[float] = (0.1, 0.9, 1.1), epochs: int = 40
) -> Demonstration:
    """Train with learning rates below and above the limit 2 / L, L being the largest curvature.

    The limit is exact for the squared loss, whose curvature is the same everywhere.

    Parameters
    ----------
    X, y : rows (n, d) and labels (n,), 0 or 1
    shares : the learning rates as multiples of the limit
    epochs : the number of epochs

    >>> [row[-1] for row in large_rate().rows]
    ['falls', 'falls', 'diverges']
    """
    rows, labels = _checked(X, y, None)
    require_count("epochs", epochs)
    if np.ndim(numbers_of("shares", shares)) != 1 or not len(shares):
        raise ValueError(f"'shares' must be a list of numbers. Got {shares!r} instead.")
    for share in shares:
        require_number("shares", share, open_low=True)
    objective = Objective(Dataset.of(rows, labels), LOSSES["squared"], ElasticNet(0.0, 0.0))
    found = smoothness(objective, Model.zeros(rows.shape[1], 1, 1))
    assert found is not None
    limit = 2.0 / float(found[0])
    models = [
        GradientDescentClassifier("squared", learning_rate=share * limit, epochs=epochs)
        for share in shares
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit_many(models, rows, labels)
    table_rows, losses = [], {}
    for share, model in zip(shares, models):
        curve = model.history_["train_loss"]
        losses[number(share)] = to_builtin(curve)
        fate = "falls" if curve[-1] <= curve[0] else "diverges"
        if share > 1.0 and fate == "falls":  # the growing part of the loss is still small
            fate = "falls at first"
        ends = *to_builtin(curve[[0, -1]]), len(curve)
        table_rows.append((float(share * limit), float(share), *ends, fate))
    warned = [
        str(diagnosis)
        for model in models
        for diagnosis in model.diagnoses_
        if diagnosis.kind == "diverged"
    ]
    return Demonstration(
        "A learning rate above the limit overshoots further at every step",
        ("rate", "rate / limit", "loss after 1", "final loss", "epochs", "outcome"),
        tuple(table_rows),
        (
            f"The limit of the learning rate is {number(limit)}, 2 divided by the largest "
            f"curvature {number(2.0 / limit)}. Below the limit, the loss falls at every step. "
            "Above it, every step in the direction of the largest curvature overshoots the minimum "
            "by more than the step before.",
            *warned,
        ),
        {"limit": limit, "losses": losses},
    )


def _checked(X: Any, y: Any, features: int | None) -> tuple[Array, Array]:
    rows, labels = numbers_of("X", X), np.asarray(y)
    good = rows.ndim == 2 and features in (None, rows.shape[1]) and labels.shape == rows.shape[:1]
    if not good or not np.isfinite(rows).all() or set(labels.tolist()) != {0, 1}:
        wanted = "d" if features is None else features
        raise ValueError(
            f"X must be finite numbers (n, {wanted}), and y the labels (n,), 0 and 1. "
            f"Got shapes {rows.shape} and {labels.shape} instead."
        )
    return rows, labels.astype(np.int32)


def _slope_of(loss: Loss, X: Array, y: Array) -> Callable[[Array], Array]:
    """Return a function of w: the gradient of a mean binary loss without a bias."""
    return lambda w: X.T @ loss.gradient(y, (X @ w)[:, None, None])[:, 0, 0] / len(y)


def _mean_loss(X: Array, y: Array, w: Array) -> float:
    return float(LOSSES["logistic"].value(y, (X @ w)[:, None, None]).mean())


def _descend(
    slope: Callable[[Array], Array], groups: Sequence[Sequence[int]], rate: float, steps: int
) -> Array:
    """Return the path (steps + 1, d) from zero. The weights of a group are updated together."""
    w = np.zeros(sum(map(len, groups)))
    path = [w.copy()]
    for _ in range(steps):
        for group in groups:
            moved = list(group)
            w[moved] -= rate * slope(w)[moved]
        path.append(w.copy())
    return np.array(path)


def _angle(a: Array, b: Array) -> float:
    """Return the angle between two vectors in degrees, exactly even if they are nearly parallel."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    across, along = (float(np.linalg.norm(v)) for v in (a - b, a + b))
    return math.degrees(2.0 * math.atan2(across, along))


def _least_squares(x: Array, y: Array) -> tuple[float, float]:
    design = np.column_stack([x, np.ones_like(x)])
    w, b = np.linalg.lstsq(design, 2.0 * y - 1.0, rcond=None)[0]
    return float(w), float(b)


def _logistic(x: Array, y: Array) -> tuple[float, float]:
    model = LogisticRegression(C=10.0, tol=1e-8).fit(x[:, None], y)
    return float(model.coef_[0, 0]), float(model.intercept_[0])
