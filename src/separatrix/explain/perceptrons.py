"""Train a perceptron on two classes: its path, its mistakes, their bound, and other models."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.estimators import LinearSVC, LogisticRegression, Perceptron, fit_many
from separatrix.estimators.checks.training_data import number_labels
from separatrix.estimators.checks.validation import (
    require_count,
    require_flag,
    require_labels,
    require_one_kind,
)
from separatrix.explain.input_checks import numbers_of
from separatrix.explain.perceptron_story import PerceptronStory, Plane
from separatrix.explain.separating_planes import plane_or_none, strictly_apart
from separatrix.explain.text_tables import to_builtin
from separatrix.losses import LOSSES
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import PerceptronRule
from separatrix.verdict.separability import separating_directions

MOST_KEPT = 2000  # number of points of the path
_HARD_MARGIN_CS = tuple(10.0**k for k in range(1, 13))  # increasing C of a hinge loss
_HARD = 1e-3  # tolerance of a margin of 1
_ROUND_UP = 1.0 + 1e-9  # rounding must not make the bound too small
_TOL = 1e-7  # relative duality gap of the models that are compared


def perceptron(
    X: Any, y: Any, *, epochs: int = 100, fit_intercept: bool = True, seed: int = 0, others: int = 4
) -> PerceptronStory:
    """Train a perceptron on two classes, and compare its decision boundary with other models.

    Parameters
    ----------
    X, y : rows (n, d) and labels (n,) of two classes
    epochs : the largest number of passes over the rows
    fit_intercept : whether the model has a bias
    seed : the random seed for the order of the rows
    others : the number of other orders of the rows to compare

    Training starts at zero and visits the rows in the order of `Perceptron(random_state=seed)`.

    >>> tumours = [[10, 52], [2, 73], [5, 55], [12, 49]]
    >>> story = perceptron(tumours, [1, 0, 0, 1])
    >>> story.separable, story.ended, story.total <= story.bound
    (True, True, True)
    """
    require_count("epochs", epochs)
    require_count("seed", seed, low=0)
    require_count("others", others, low=0)
    require_flag("fit_intercept", fit_intercept)
    rows, labels, classes = _check_rows(X, y)
    t = 2.0 * labels - 1.0
    kept, w, mistakes = _train(rows, labels, epochs, fit_intercept, seed)
    absorbed = _with_bias(rows, fit_intercept)
    planes = [_plane("perceptron", w, rows, t)]
    planes += _other_perceptrons(rows, labels, t, epochs, fit_intercept, seed, others)
    planes += _other_models(rows, labels, t, fit_intercept)
    separable, more = _separate(rows, labels, t, fit_intercept, planes)
    planes += more
    radius, margin, bound = float(np.linalg.norm(absorbed, axis=1).max()), None, None
    if separable:
        widest = _widest_margin(absorbed, labels, t, free=False)
        found = [] if widest is None else [_absorbed_margin(_plane("", widest, absorbed, t))]
        margin = max(*map(_absorbed_margin, planes), *found)
        ratio = radius / margin
        bound = ratio * ratio * _ROUND_UP
    return PerceptronStory(
        classes=classes,
        mistakes=tuple(mistakes),
        path=to_builtin(np.array(kept)),
        weights=to_builtin(w[:-1]),
        bias=float(w[-1]),
        angles=_angles(absorbed, w if fit_intercept else w[:-1]),
        labels=to_builtin(labels),
        separable=separable,
        radius=radius,
        margin=margin,
        bound=bound,
        planes=tuple(planes),
        fit_intercept=fit_intercept,
    )


def _check_rows(X: Any, y: Any) -> tuple[Array, Array, tuple[Any, Any]]:
    rows, given = numbers_of("X", X), np.asarray(y)
    if rows.ndim != 2 or given.shape != rows.shape[:1] or not rows.size:
        raise ValueError(
            "explain.perceptron needs rows X (n, d) and labels y (n,). "
            f"Got shapes {rows.shape} and {given.shape} instead."
        )
    if not np.isfinite(rows).all():
        raise ValueError("All entries of X must be finite.")
    require_labels("y", given)
    require_one_kind("y", given)
    classes, numbers = number_labels(given)
    if len(classes) != 2:
        raise ValueError(
            f"explain.perceptron needs exactly two classes. Got {len(classes)}. Select the rows of "
            "two classes, or use y == label to compare one class with all others."
        )
    first, second = classes.tolist()
    return rows, numbers.astype(np.int32), (first, second)


def _with_bias(X: Array, fit_intercept: bool) -> Array:
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def _train(
    X: Array, y: Array, epochs: int, fit_intercept: bool, seed: int
) -> tuple[list[Array], Array, list[int]]:
    """Return the weights after the first mistakes, the final weights, and mistakes per epoch.

    The bias is the last entry of the weights.
    """
    rule, block = PerceptronRule(seed), Block.of(X, y)
    w = np.zeros(X.shape[1] + 1)
    kept, mistakes = [w], []
    for epoch in range(1, epochs + 1):
        order = rule.order(block, epoch)
        w, count = _show_rows(X[order], y[order], w, fit_intercept, kept)
        mistakes.append(count)
        if count == 0:
            break
    return kept, w, mistakes


def _show_rows(
    X: Array, y: Array, w: Array, fit_intercept: bool, kept: list[Array]
) -> tuple[Array, int]:
    """Visit the rows once. Return the weights and the number of mistakes, and append to `kept`.

    The kernel counts mistakes, but does not report where they are. Parts with a mistake are split
    into halves and visited again, so every row is visited about log2(n) times.
    """
    W, b, mistakes = w[:-1].reshape(-1, 1, 1).copy(), w[-1:].reshape(1, 1).copy(), np.zeros(1, int)
    order = np.arange(len(y))
    _core.perceptron_epoch(
        Matrix(X).in_order(), y, None, np.ones(1), order, W, b, fit_intercept, mistakes
    )
    count, after = int(mistakes[0]), np.append(W, b)
    if count and len(kept) < MOST_KEPT:
        if len(y) == 1:
            kept.append(after)
        else:
            half = len(y) // 2
            middle, _ = _show_rows(X[:half], y[:half], w, fit_intercept, kept)
            _show_rows(X[half:], y[half:], middle, fit_intercept, kept)
    return after, count


def _other_perceptrons(
    X: Array, y: Array, t: Array, epochs: int, fit_intercept: bool, seed: int, others: int
) -> list[Plane]:
    models = [
        Perceptron(epochs=epochs, fit_intercept=fit_intercept, random_state=seed + k)
        for k in range(1, others + 1)
    ]
    if models:
        fit_many(models, X, y)
    name = "perceptron, order {}".format
    return [_plane(name(k), _with_intercept(model), X, t) for k, model in enumerate(models, 2)]


def _other_models(X: Array, y: Array, t: Array, fit_intercept: bool) -> list[Plane]:
    """Return the decision boundaries of logistic regression and a support vector machine."""
    models = [
        ("logistic regression", LogisticRegression(fit_intercept=fit_intercept, tol=_TOL)),
        ("support vector machine", LinearSVC(loss="hinge", fit_intercept=fit_intercept, tol=_TOL)),
    ]
    with _ignore_convergence():
        return [_plane(name, _with_intercept(model.fit(X, y)), X, t) for name, model in models]


def _separate(
    X: Array, y: Array, t: Array, fit_intercept: bool, planes: list[Plane]
) -> tuple[bool | None, list[Plane]]:
    """Decide whether the classes are linearly separable, and find the widest margin.

    Returns True, False, or None if it is not known, and a list with the boundary of the widest
    margin. If the margin is too narrow for the solver, the list has another boundary that proves
    separability.
    """
    middle = X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
    near = X - middle  # keeps digits if the rows are far from 0

    def proven(name: str, found: Array | None) -> list[Plane]:
        if found is None:
            return []
        moved = np.append(found[:-1], found[-1] - found[:-1] @ middle)
        plane = _plane(name, moved, X, t)
        return [plane] if plane.margin > 0.0 and strictly_apart(moved, X, t) else []

    apart = any(plane.margin > 0.0 and _separates(plane, X, t) for plane in planes)
    more: list[Plane] = []
    if not apart:
        found, none = plane_or_none(near, X, t, fit_intercept)
        if none:
            return False, []
        more = proven("separating hyperplane", found)
    widest: list[Plane] = []
    if apart or more:
        widest = proven("widest margin", _widest_margin(near, y, t, free=fit_intercept))
    if not widest:
        more += proven("separating hyperplane", _separating_direction(near, y, fit_intercept))
        widest = sorted(more, key=lambda plane: -plane.margin)[:1]
    return True if apart or widest else None, widest


def _separating_direction(X: Array, y: Array, fit_intercept: bool) -> Array | None:
    """Return a hyperplane with no row on the wrong side, the bias last. Rows may lie on it."""
    objective = Objective(
        Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, 0.0), bias=fit_intercept
    )
    found = separating_directions(objective, Model.zeros(X.shape[1], 1, 1))[0]
    return None if found is None else np.append(found.W[:, 0, 0], found.b[0, 0])


def _widest_margin(X: Array, y: Array, t: Array, *, free: bool) -> Array | None:
    """Return the hyperplane of the widest margin, the bias last: a hinge loss with growing C."""
    radius = float(np.linalg.norm(X, axis=1).max()) or 1.0
    for C in _HARD_MARGIN_CS:
        model = LinearSVC(C=C, loss="hinge", fit_intercept=free, tol=_TOL)
        with _ignore_convergence():
            model.fit(X / radius, y)
        if (t * model.decision_function(X / radius)).min() >= 1.0 - _HARD:
            return np.append(model.coef_[0] / radius, model.intercept_[0])
    return None


def _separates(plane: Plane, X: Array, t: Array) -> bool:
    return strictly_apart(np.append(plane.weights, plane.bias), X, t)


def _with_intercept(model: Any) -> Array:
    return np.append(model.coef_[0], model.intercept_[0])


def _plane(name: str, w: Array, X: Array, t: Array) -> Plane:
    scores, length = X @ w[:-1] + w[-1], float(np.linalg.norm(w[:-1]))
    margin = float((t * scores).min()) / length if length else 0.0
    right = float(((scores >= 0.0) == (t > 0.0)).mean())
    return Plane(name, to_builtin(w[:-1]), float(w[-1]), right, margin)


def _absorbed_margin(plane: Plane) -> float:
    """Return the margin if the bias is the weight of a feature that is always 1."""
    length = math.hypot(*plane.weights)
    return plane.margin * length / math.hypot(length, plane.bias) if length else 0.0


def _angles(X: Array, w: Array) -> tuple[float, ...]:
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(w)
    cosines = np.divide(X @ w, lengths, out=np.zeros(len(X)), where=lengths > 0.0)
    return to_builtin(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def _ignore_convergence() -> Any:
    """Silence convergence warnings: the callers check the results of these fits themselves."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)
