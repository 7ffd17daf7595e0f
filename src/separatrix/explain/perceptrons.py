"""The perceptron's story: its path, its mistakes, the bound on them, and what it cannot do."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.arrays import Array
from separatrix.data import Block, Dataset
from separatrix.estimators import LinearSVC, LogisticRegression, Perceptron, fit_many
from separatrix.estimators.labels import number_labels
from separatrix.explain.layout import number, plain, table, wrapped
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.separable import PROGRAMME_SIZE, separating_directions
from separatrix.solvers import PerceptronRule

MOST_KEPT = 2000  # points of the path
_STRENGTHS = tuple(10.0**k for k in range(1, 13))  # C of ever harder margins
_HARD = 1e-3  # by which a margin of 1 may be missed
_SHOWN = 15  # epochs, in text
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
    separable : True where a plane proves it, False where a linear programme found none, None where
        the data is too large for one
    radius, margin, bound : R = max |(x, 1)|, the widest margin found, and (R / margin)^2, which no
        number of mistakes can pass; None where no plane separates the classes
    planes : the boundaries of several models, side by side
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

    @property
    def total(self) -> int:
        """All mistakes."""
        return sum(self.mistakes)

    @property
    def ended(self) -> bool:
        """Whether the last epoch was without a mistake."""
        return bool(self.mistakes) and self.mistakes[-1] == 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The story."""
        if self.bound is not None:
            return (self._end(), self._bound(), self._which())
        return (self._end(), self._limits())

    def _end(self) -> str:
        n = len(self.mistakes)
        epochs = f"{n} epoch{'' if n == 1 else 's'}"
        if self.ended:
            return (
                f"The rule ended after {epochs} and {self.total:,} mistakes: the weight vector is "
                f"at 90 degrees or less to every row of class {self.classes[1]}, and at more to "
                "every other one."
            )
        return f"After {epochs} and {self.total:,} mistakes the rule had not ended."

    def _bound(self) -> str:
        assert self.margin is not None
        assert self.bound is not None
        return (
            "A plane separates the classes. With the bias as a weight, the rows have lengths up to "
            f"R = {number(self.radius)} and a margin of {number(self.margin)}: there can be at "
            f"most (R / margin)^2 = {math.floor(self.bound):,} mistakes, in whatever order the "
            "rows come."
        )

    def _which(self) -> str:
        apart = [plane for plane in self.planes if plane.margin > 0.0]
        if len(apart) < 2:
            return "Many planes separate the classes; the table shows what each model makes of it."
        best = max(apart, key=lambda plane: plane.margin)
        least = min(apart, key=lambda plane: plane.margin)
        return (
            "Many planes separate the classes, and the rule takes any of them: the margins run "
            f"from {number(least.margin)} ({least.name}) to {number(best.margin)} ({best.name})."
        )

    def _limits(self) -> str:
        known = "No plane separates the classes"
        if self.separable is None:
            known = "No plane was found that separates the classes"
        rest = [plane for plane in self.planes if not plane.name.startswith("perceptron")]
        made = ", ".join(f"{plane.name} {100 * plane.accuracy:.1f} %" for plane in rest)
        return (
            f"{known}, so that the rule goes on for ever: {min(self.mistakes):,} to "
            f"{max(self.mistakes):,} mistakes in every epoch. Models that minimise a loss settle: "
            f"{made} of the rows right."
        )

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
        return asdict(self) | more


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
    rows, labels, classes = _checked(X, y)
    t = 2.0 * labels - 1.0
    kept, mistakes = _train(rows, labels, epochs, fit_intercept, seed)
    bent = _with_bias(rows, fit_intercept)
    w = kept[-1]
    planes = [_plane("perceptron", w, rows, t)]
    planes += _other_perceptrons(rows, labels, t, epochs, fit_intercept, seed, others)
    separable = _is_separable(rows, labels, t, fit_intercept, planes)
    radius = float(np.linalg.norm(bent, axis=1).max())
    margin = None
    if separable:
        found = [_margin(bent, t, _joined(plane, fit_intercept)) for plane in planes]
        widest = _widest(bent, labels, t, free=False)
        margin = max([*found, -math.inf if widest is None else _margin(bent, t, widest)])
    planes += _other_models(rows, labels, t, fit_intercept, bool(separable))
    has_margin = margin is not None and margin > 0.0
    return PerceptronStory(
        classes=classes,
        mistakes=tuple(mistakes),
        path=plain(np.array(kept[:MOST_KEPT])),
        weights=plain(w[:-1]),
        bias=float(w[-1]),
        angles=_angles(bent, w if fit_intercept else w[:-1]),
        labels=plain(labels),
        separable=separable,
        radius=radius,
        margin=margin if has_margin else None,
        bound=(radius / margin) ** 2 if margin is not None and has_margin else None,
        planes=tuple(planes),
    )


def _checked(X: Any, y: Any) -> tuple[Array, Array, tuple[Any, Any]]:
    rows, given = np.asarray(X, np.float64), np.asarray(y)
    if rows.ndim != 2 or given.shape != rows.shape[:1] or not rows.size:
        raise ValueError(
            "The story needs rows (n, d) and their labels (n,). "
            f"Got shapes {rows.shape} and {given.shape} instead."
        )
    if not np.isfinite(rows).all():
        raise ValueError("All entries of X must be finite.")
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
) -> tuple[list[Array], list[int]]:
    """The weights, the bias last, after every mistake, and the mistakes of every epoch."""
    rule, block = PerceptronRule(seed), Block.of(X, y)
    step = np.column_stack([X, np.full(len(X), float(fit_intercept))])
    w = np.zeros(X.shape[1] + 1)
    kept, mistakes = [w.copy()], []
    for epoch in range(1, epochs + 1):
        order, at, count = rule.order(block, epoch), 0, 0
        while at < len(order):
            rest = order[at:]
            wrong = np.flatnonzero((step[rest] @ w >= 0.0) != (y[rest] == 1))
            if not len(wrong):
                break
            i = rest[wrong[0]]
            w = w + (step[i] if y[i] == 1 else -step[i])
            kept.append(w)
            count, at = count + 1, at + int(wrong[0]) + 1
        mistakes.append(count)
        if count == 0:
            break
    return kept, mistakes


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


def _other_models(
    X: Array, y: Array, t: Array, fit_intercept: bool, separable: bool
) -> list[Plane]:
    """Logistic regression and a support vector machine, and the widest margin if there is one."""
    models = [
        ("logistic regression", LogisticRegression(fit_intercept=fit_intercept, tol=_TOL)),
        ("support vector machine", LinearSVC(loss="hinge", fit_intercept=fit_intercept, tol=_TOL)),
    ]
    with _quiet():
        planes = [_plane(name, _both(model.fit(X, y)), X, t) for name, model in models]
    if separable:
        widest = _widest(X, y, t, free=fit_intercept)
        if widest is not None:
            planes.append(_plane("widest margin", widest, X, t))
    return planes


def _widest(X: Array, y: Array, t: Array, *, free: bool) -> Array | None:
    """The plane of the widest margin, bias last if it is free: a hinge with an ever larger C."""
    radius = float(np.linalg.norm(X, axis=1).max()) or 1.0
    for C in _STRENGTHS:
        model = LinearSVC(C=C, loss="hinge", fit_intercept=free, tol=_TOL)
        with _quiet():
            model.fit(X / radius, y)
        if (t * model.decision_function(X / radius)).min() >= 1.0 - _HARD:
            w = np.append(model.coef_[0] / radius, model.intercept_[0])
            return w if free else w[:-1]
    return None


def _is_separable(
    X: Array, y: Array, t: Array, fit_intercept: bool, planes: list[Plane]
) -> bool | None:
    """Whether all rows can be strictly on their sides; None if it is not known."""
    if any(plane.margin > 0.0 for plane in planes):
        return True
    objective = Objective(
        Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, 0.0), bias=fit_intercept
    )
    found = separating_directions(objective, Model.zeros(X.shape[1], 1, 1))[0]
    if found is not None:
        scores = X @ found.W[:, 0, 0] + found.b[0, 0]
        if (t * scores > 0.0).all():
            return True
        # Some rows lie on that plane. Another one may have none on it.
        return _widest(X, y, t, free=fit_intercept) is not None
    small = len(X) * (X.shape[1] + 1) * 2 <= PROGRAMME_SIZE
    return False if small else None


def _both(model: Any) -> Array:
    return np.append(model.coef_[0], model.intercept_[0])


def _joined(plane: Plane, fit_intercept: bool) -> Array:
    return np.array([*plane.weights, plane.bias] if fit_intercept else plane.weights)


def _plane(name: str, w: Array, X: Array, t: Array) -> Plane:
    if len(w) == X.shape[1]:
        w = np.append(w, 0.0)
    scores, length = X @ w[:-1] + w[-1], float(np.linalg.norm(w[:-1]))
    margin = float((t * scores).min()) / length if length else 0.0
    right = float(((scores >= 0.0) == (t > 0.0)).mean())
    return Plane(name, plain(w[:-1]), float(w[-1]), right, margin)


def _margin(X: Array, t: Array, w: Array) -> float:
    length = float(np.linalg.norm(w))
    return float((t * (X @ w)).min()) / length if length else 0.0


def _angles(X: Array, w: Array) -> tuple[float, ...]:
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(w)
    cosines = np.divide(X @ w, lengths, out=np.zeros(len(X)), where=lengths > 0.0)
    return plain(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def _quiet() -> Any:
    """No warnings of fits that are tried: what they lead to is looked at."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)
