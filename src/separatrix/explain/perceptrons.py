"""The perceptron's story: its path, its mistakes, the bound on them, and what it cannot do."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.estimators import LinearSVC, LogisticRegression, Perceptron, fit_many
from separatrix.estimators.training_data import number_labels
from separatrix.estimators.validation import (
    require_count,
    require_flag,
    require_labels,
    require_one_kind,
)
from separatrix.explain.arguments import numbers_of
from separatrix.explain.layout import facts, number, plain, table, wrapped
from separatrix.explain.separating_planes import plane_or_none, strictly_apart
from separatrix.losses import LOSSES
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import PerceptronRule
from separatrix.text import counted, percent
from separatrix.verdict.separability import separating_directions

MOST_KEPT = 2000  # points of the path
_STRENGTHS = tuple(10.0**k for k in range(1, 13))  # C of ever harder margins
_HARD = 1e-3  # by which a margin of 1 may be missed
_SHOWN = 15  # epochs, in text
_LARGE = 1e15  # a bound of which single mistakes are not told
_UP = 1.0 + 1e-9  # a bound that was rounded down would be none
_TOL = 1e-7  # relative gap of the models that are compared


@dataclass(frozen=True)
class Plane:
    """A boundary w.x + b = 0: what found it, the share of rows right, and its margin.

    The margin is the distance of the nearest row, below 0 where a row is on the wrong side: how far
    the worst one is.
    """

    name: str
    weights: tuple[float, ...]
    bias: float
    accuracy: float
    margin: float


@dataclass(frozen=True)
class PerceptronStory:
    """What Rosenblatt's rule did with some rows of two classes.

    Attributes
    ----------
    classes : the negative and the positive one
    mistakes : in every epoch; the last is 0 where the rule came to an end
    path : the weights, the bias last, at the start and after every mistake (the first 2,000)
    weights, bias : at the end
    angles : degrees between the weight vector and every row, both with the bias absorbed: at most
        90 for positive rows that are right, and more for negative ones
    separable : whether all rows can be strictly on their sides: True where a plane proves it, False
        where a linear programme proves that none does, None where neither is proven
    radius, margin, bound : R = max |(x, 1)|, the widest margin found, and (R / margin)^2, which no
        number of mistakes can pass; None where no plane was found to separate the classes
    planes : the boundaries of several models, side by side
    fit_intercept : whether they have a bias
    """

    classes: tuple[Any, Any]
    mistakes: tuple[int, ...]
    path: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    bias: float
    angles: tuple[float, ...]
    labels: tuple[int, ...]
    separable: bool | None
    radius: float
    margin: float | None
    bound: float | None
    planes: tuple[Plane, ...]
    fit_intercept: bool = True

    @property
    def total(self) -> int:
        """All mistakes."""
        return sum(self.mistakes)

    @property
    def ended(self) -> bool:
        """Whether the last epoch was without a mistake."""
        return bool(self.mistakes) and self.mistakes[-1] == 0

    @property
    def most(self) -> str:
        """The bound in words: whole, as mistakes are, or a power of ten where it is very large."""
        if self.bound is None:
            return ""
        return f"{math.floor(self.bound):,}" if self.bound < _LARGE else number(self.bound)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The story."""
        if self.bound is not None:
            return (self._end(), self._bound(), self._which())
        return (self._end(), self._limits())

    def _end(self) -> str:
        so_far = f"{counted(len(self.mistakes), 'epoch')} and {counted(self.total, 'mistake')}"
        if self.ended:
            return (
                f"The rule ended after {so_far}: the weight vector is at 90 degrees or less to "
                f"every row of class {self.classes[1]}, and at more to every other one."
            )
        return f"After {so_far} the rule had not ended."

    def _bound(self) -> str:
        assert self.margin is not None
        assert self.bound is not None
        absorbed = "With the bias as a weight, the" if self.fit_intercept else "The"
        return (
            f"A plane separates the classes. {absorbed} rows have lengths up to "
            f"R = {number(self.radius)} and a margin of {number(self.margin)}: there can be at "
            f"most (R / margin)^2 = {self.most} mistakes, in whatever order the rows come."
        )

    def _which(self) -> str:
        apart = [plane for plane in self.planes if plane.margin > 0.0]
        if len(apart) < 2:
            return "Many planes separate the classes; the table shows what each model makes of it."
        best = max(apart, key=lambda plane: plane.margin)
        least = min(apart, key=lambda plane: plane.margin)
        many = "Many planes separate the classes, and the rule takes any of them"
        which = "the margins" if len(apart) == len(self.planes) else "the margins of those that do"
        if number(least.margin) == number(best.margin):
            return f"{many}: {which} are {number(best.margin)}."
        return (
            f"{many}: {which} run from {number(least.margin)} ({least.name}) to "
            f"{number(best.margin)} ({best.name})."
        )

    def _limits(self) -> str:
        if self.ended:
            return (
                f"Rows of class {self.classes[1]} lie on its plane, where the rule takes them for "
                "right. So there is no margin, and no bound on the mistakes."
            )
        rest = [plane for plane in self.planes if not plane.name.startswith("perceptron")]
        made = ", ".join(f"{plane.name} {percent(plane.accuracy)}" for plane in rest)
        least, most = min(self.mistakes), max(self.mistakes)
        several = f"{least:,} to " if least < most else ""
        every = (
            f"{several}{counted(most, 'mistake')} in every epoch. "
            f"Models that minimise a loss settle: {made} of the rows right."
        )
        if self.separable is None:
            return (
                "Whether a plane separates the classes is not known: none was found, and "
                "no proof that there is none: the data is too large, or too near to a plane. "
                "If there is one, the rule ends with "
                f"more epochs; else it goes on for ever. So far {every}"
            )
        return f"No plane separates the classes, so that the rule goes on for ever: {every}"

    def to_text(self, width: int = 80) -> str:
        """The story, the mistakes and the planes."""
        shown = ", ".join(map(str, self.mistakes[:_SHOWN]))
        more = " and so on" if len(self.mistakes) > _SHOWN else ""
        lines = [line for each in self.sentences for line in wrapped(each, width)]
        lines += ["", *wrapped(f"Mistakes in every epoch: {shown}{more}.", width), ""]
        rows = [(p.name, p.accuracy, p.margin, p.bias, p.weights) for p in self.planes]
        lines += table(("plane", "right", "margin", "bias", "weights"), rows, width)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        more = {"total": self.total, "ended": self.ended, "sentences": self.sentences}
        return facts(self) | more


def perceptron(
    X: Any, y: Any, *, epochs: int = 100, fit_intercept: bool = True, seed: int = 0, others: int = 4
) -> PerceptronStory:
    """Tell what the perceptron does with rows of two classes, and what others make of them.

    Parameters
    ----------
    X, y : rows (n, d) and their labels (n,), of two classes
    epochs : passes over the rows at most
    fit_intercept : whether there is a bias
    seed : of the order of the rows
    others : further orders whose planes are compared

    The rule starts at zero and takes the rows in the order of `Perceptron(random_state=seed)`.

    >>> tumours = [[10, 52], [2, 73], [5, 55], [12, 49]]
    >>> story = perceptron(tumours, [1, 0, 0, 1])
    >>> story.separable, story.ended, story.total <= story.bound
    (True, True, True)
    """
    require_count("epochs", epochs)
    require_count("seed", seed, low=0)
    require_count("others", others, low=0)
    require_flag("fit_intercept", fit_intercept)
    rows, labels, classes = _checked(X, y)
    t = 2.0 * labels - 1.0
    kept, w, mistakes = _train(rows, labels, epochs, fit_intercept, seed)
    bent = _with_bias(rows, fit_intercept)
    planes = [_plane("perceptron", w, rows, t)]
    planes += _other_perceptrons(rows, labels, t, epochs, fit_intercept, seed, others)
    planes += _other_models(rows, labels, t, fit_intercept)
    separable, more = _separation(rows, labels, t, fit_intercept, planes)
    planes += more
    radius, margin, bound = float(np.linalg.norm(bent, axis=1).max()), None, None
    if separable:
        widest = _widest(bent, labels, t, free=False)
        found = [] if widest is None else [_absorbed(_plane("", widest, bent, t))]
        margin = max(*map(_absorbed, planes), *found)
        ratio = radius / margin
        bound = ratio * ratio * _UP
    return PerceptronStory(
        classes=classes,
        mistakes=tuple(mistakes),
        path=plain(np.array(kept)),
        weights=plain(w[:-1]),
        bias=float(w[-1]),
        angles=_angles(bent, w if fit_intercept else w[:-1]),
        labels=plain(labels),
        separable=separable,
        radius=radius,
        margin=margin,
        bound=bound,
        planes=tuple(planes),
        fit_intercept=fit_intercept,
    )


def _checked(X: Any, y: Any) -> tuple[Array, Array, tuple[Any, Any]]:
    rows, given = numbers_of("X", X), np.asarray(y)
    if rows.ndim != 2 or given.shape != rows.shape[:1] or not rows.size:
        raise ValueError(
            "The story needs rows (n, d) and their labels (n,). "
            f"Got shapes {rows.shape} and {given.shape} instead."
        )
    if not np.isfinite(rows).all():
        raise ValueError("All entries of X must be finite.")
    require_labels("y", given)
    require_one_kind("y", given)
    classes, numbers = number_labels(given)
    if len(classes) != 2:
        raise ValueError(
            f"The story is of two classes. Got {len(classes)}: take the rows of two of them, or "
            "tell one from all others with y == label."
        )
    first, second = classes.tolist()
    return rows, numbers.astype(np.int32), (first, second)


def _with_bias(X: Array, fit_intercept: bool) -> Array:
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def _train(
    X: Array, y: Array, epochs: int, fit_intercept: bool, seed: int
) -> tuple[list[Array], Array, list[int]]:
    """The weights, the bias last: the first after mistakes, and at the end; mistakes by epoch."""
    rule, block = PerceptronRule(seed), Block.of(X, y)
    w = np.zeros(X.shape[1] + 1)
    kept, mistakes = [w], []
    for epoch in range(1, epochs + 1):
        order = rule.order(block, epoch)
        w, count = _taught(X[order], y[order], w, fit_intercept, kept)
        mistakes.append(count)
        if count == 0:
            break
    return kept, w, mistakes


def _taught(
    X: Array, y: Array, w: Array, fit_intercept: bool, kept: list[Array]
) -> tuple[Array, int]:
    """The weights after the rows were shown one by one, and the number of mistakes.

    The rule itself tells how many mistakes there were and not where, so that rows with a mistake
    among them are halved: every row is seen log2(n) times at most.
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
            middle, _ = _taught(X[:half], y[:half], w, fit_intercept, kept)
            _taught(X[half:], y[half:], middle, fit_intercept, kept)
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
    return [_plane(name(k), _both(model), X, t) for k, model in enumerate(models, 2)]


def _other_models(X: Array, y: Array, t: Array, fit_intercept: bool) -> list[Plane]:
    """Logistic regression and a support vector machine."""
    models = [
        ("logistic regression", LogisticRegression(fit_intercept=fit_intercept, tol=_TOL)),
        ("support vector machine", LinearSVC(loss="hinge", fit_intercept=fit_intercept, tol=_TOL)),
    ]
    with _quiet():
        return [_plane(name, _both(model.fit(X, y)), X, t) for name, model in models]


def _separation(
    X: Array, y: Array, t: Array, fit_intercept: bool, planes: list[Plane]
) -> tuple[bool | None, list[Plane]]:
    """Whether all rows can be strictly on their sides, None if it is not known; further planes.

    These are the one of the widest margin, or where it is too narrow to be found a plane that
    proves that there is one.
    """
    middle = X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
    near = X - middle  # of rows that are far from 0 but near one another, digits would be lost

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
        more = proven("separating plane", found)
    widest: list[Plane] = []
    if apart or more:
        widest = proven("widest margin", _widest(near, y, t, free=fit_intercept))
    if not widest:
        more += proven("separating plane", _direction(near, y, fit_intercept))
        widest = sorted(more, key=lambda plane: -plane.margin)[:1]
    return True if apart or widest else None, widest


def _direction(X: Array, y: Array, fit_intercept: bool) -> Array | None:
    """A plane, the bias last, with no row on its wrong side; rows may lie on it."""
    objective = Objective(
        Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, 0.0), bias=fit_intercept
    )
    found = separating_directions(objective, Model.zeros(X.shape[1], 1, 1))[0]
    return None if found is None else np.append(found.W[:, 0, 0], found.b[0, 0])


def _widest(X: Array, y: Array, t: Array, *, free: bool) -> Array | None:
    """The plane of the widest margin, the bias last: a hinge with an ever larger C."""
    radius = float(np.linalg.norm(X, axis=1).max()) or 1.0
    for C in _STRENGTHS:
        model = LinearSVC(C=C, loss="hinge", fit_intercept=free, tol=_TOL)
        with _quiet():
            model.fit(X / radius, y)
        if (t * model.decision_function(X / radius)).min() >= 1.0 - _HARD:
            return np.append(model.coef_[0] / radius, model.intercept_[0])
    return None


def _separates(plane: Plane, X: Array, t: Array) -> bool:
    return strictly_apart(np.append(plane.weights, plane.bias), X, t)


def _both(model: Any) -> Array:
    return np.append(model.coef_[0], model.intercept_[0])


def _plane(name: str, w: Array, X: Array, t: Array) -> Plane:
    scores, length = X @ w[:-1] + w[-1], float(np.linalg.norm(w[:-1]))
    margin = float((t * scores).min()) / length if length else 0.0
    right = float(((scores >= 0.0) == (t > 0.0)).mean())
    return Plane(name, plain(w[:-1]), float(w[-1]), right, margin)


def _absorbed(plane: Plane) -> float:
    """Its margin with the bias as one more weight, of a feature that is always 1."""
    length = math.hypot(*plane.weights)
    return plane.margin * length / math.hypot(length, plane.bias) if length else 0.0


def _angles(X: Array, w: Array) -> tuple[float, ...]:
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(w)
    cosines = np.divide(X @ w, lengths, out=np.zeros(len(X)), where=lengths > 0.0)
    return plain(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def _quiet() -> Any:
    """No warnings of fits that are tried: what they lead to is looked at."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)
