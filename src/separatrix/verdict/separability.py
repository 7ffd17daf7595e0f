"""Find out whether the classes are linearly separable, so that there is no finite optimum.

A direction (W, b) separates if, with D = X W + b, every row with a weight has D_y >= D_j for every
other class j, and D_y > D_j for some row. Along it no row's loss rises and some row's loss keeps
falling, so a cross-entropy has no minimum. If D_y > D_j holds for all rows, the separation is
complete. If no direction separates, there is an optimum. See A. Albert and J. Anderson, On the
existence of maximum likelihood estimates in logistic regression models, Biometrika 1984.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data import Block
from separatrix.losses import Loss, OneVsRest
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix, bounds_by_group, per_model
from separatrix.model import Model
from separatrix.objective import Objective

PROGRAMME_SIZE = 50_000  # largest number of entries of a linear programme that is solved
NEARLY_ALL = 1.0 - 1e-6  # an accuracy of 1, up to rounding
DENOMINATOR = 1000  # largest denominator of the fractions tried for a corner of the programme
FULL_RANK = 1e-10  # relative to the largest squared singular value: smaller ones may be rounding
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)  # of a slope, per unit of weight
ON_THE_PLANE = 1e-12  # relative to the largest margin: a smaller margin counts as 0
LARGEST_WHOLE = 2**53  # floats represent all integers up to here


def separating_directions(objective: Objective, model: Model) -> list[Model | None]:
    """Return a separating direction for each model of a cross-entropy without a penalty, or None.

    A direction is proven by the model itself, if it puts every row strictly on its side; by a
    single feature; or, for small data, by a linear programme. Other models of the batch are never
    used, so a model gets the same answer in every batch. None means that nothing was proven.

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> data = Dataset.of([[1.0], [2.0], [4.0]], [0, 0, 1])
    >>> objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    >>> found = separating_directions(objective, Model.zeros(1, 1, 1))[0]
    >>> found.W.item(), found.b.item()
    (1.0, -3.0)
    """
    B, loss = model.n_models, objective.loss
    out: list[Model | None] = [None] * B
    l1, l2 = objective.strengths(B)
    free = np.flatnonzero((l1 == 0.0) & (l2 == 0.0))
    # Cross-entropies are the only convex losses that keep falling on separable data.
    base = loss.base if isinstance(loss, OneVsRest) else loss
    if not len(free) or not isinstance(base, CrossEntropy):
        return out
    own_rows = bool(objective.data.facts.own)
    searched, found = False, None
    own = _own_directions(objective.select(free), model.select(free))
    for m, direction in zip(free.tolist(), own):
        out[m] = direction
        if direction is not None or not objective.data.in_one_block:
            continue
        one = np.array([m])
        alone = objective.select(one)
        if own_rows and has_optimum(alone, model.select(one)):
            continue
        if own_rows or not searched:
            searched, found = True, _find_direction(alone, model.n_outputs)
        out[m] = found
    return out


def has_optimum(objective: Objective, model: Model) -> bool:
    """Return whether the gradient at the one model is so small that no direction can separate.

    Along D with margins m_ij = D_y - D_j >= 0 of the rows over the other classes, the slope is
    -sum_ij s_i p_ij m_ij / S. Let r be the smallest singular value of [X, 1], and let D sum to 0
    over the classes. Then sum m >= |m| >= r |D|, so a gradient below min(s_i p_ij) r / S rules
    out every separating D.
    """
    if isinstance(objective.loss, OneVsRest):
        return False
    block = objective.data.only_block()
    P = objective.loss.probabilities(model.scores(block.X).astype(np.float64))
    if P is None:
        return False
    s = block.weights.reshape(len(block.y), -1)[:, 0]
    counts = s > 0.0
    H = block.X.gram(counts[:, None].astype(np.float64))[0]
    squares = np.linalg.eigvalsh(H if objective.bias else H[:-1, :-1])
    if not squares[0] > FULL_RANK * squares[-1]:
        return False
    np.put_along_axis(P, block.y.reshape(len(s), 1, 1).astype(int), np.inf, axis=2)
    least = (s * P.min(axis=(1, 2)))[counts].min()
    found = objective.evaluate(model)
    slope = np.sqrt((found.GW**2).sum() + (found.gb**2).sum()) * s.sum()
    slope += ROUNDING * s.sum() * np.sqrt(squares[-1])
    # If a class has the fixed score 0, D need not sum to 0 over the classes: that costs a factor.
    return bool(slope < 0.5 * least * np.sqrt(squares[0] / P.shape[2]))


@dataclass(frozen=True)
class Separation:
    """What a separating direction does: the loss of `falling` of `rows` rows keeps falling.

    `complete` says whether every row is strictly ahead of every other class. `classes` are the
    numbers of the classes that are strictly separated from all others.
    """

    falling: int
    rows: int
    complete: bool
    classes: list[int]


def measure_separation(objective: Objective, direction: Model) -> Separation:
    """Count the rows that are strictly on their side along the direction of one model.

    >>> from separatrix.data import Dataset
    >>> from separatrix.losses import LOSSES
    >>> from separatrix.penalty import ElasticNet
    >>> data = Dataset.of([[0.0], [0.0], [1.0]], [0, 1, 1])
    >>> objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    >>> measure_separation(objective, Model(np.ones((1, 1, 1)), np.zeros((1, 1))))
    Separation(falling=1, rows=3, complete=False, classes=[])
    """
    return measure_separations(objective, np.zeros(1, int), [direction])[0]


def measure_separations(
    objective: Objective, models: Array, directions: Sequence[Model]
) -> list[Separation]:
    """Do the same for some models (numbers), each with its own direction, in two passes."""
    if not directions:
        return []
    loss, C = objective.loss, max(len(objective.data.classes), 2)
    data = objective.data.select(models)
    largest = np.max(data.map_blocks(_largest_margins, loss, directions, C), axis=0)
    counts = data.sum_over_blocks(_count_margins, loss, directions, C, ON_THE_PLANE * largest)
    every = isinstance(loss, OneVsRest)
    out = []
    for falling, rows, whole, not_whole, not_strict in zip(*counts):
        # With one-vs-rest every class has its own hyperplane: every row lies on one side of it.
        apart = [k for k in range(C) if (every or not not_whole[k]) and not not_strict[k]]
        out.append(Separation(int(falling), int(rows), bool(whole == rows), apart))
    return out


def _largest_margins(
    block: Block, loss: Loss, directions: Sequence[Model], n_classes: int
) -> Array:
    found = (_margins(block, m, loss, way, n_classes) for m, way in enumerate(directions))
    return np.array([np.abs(ahead).max(initial=0.0) for _, ahead, _ in found])


def _count_margins(
    block: Block, loss: Loss, directions: Sequence[Model], n_classes: int, limits: Array
) -> tuple[Array, ...]:
    """Count, for every model, the rows whose loss falls, all rows, and those strictly ahead of
    every other class.

    Also count, for every class (B, C), its rows that are not ahead of all others, and the margins
    over it that are not strict.
    """
    counts = []
    for m, (way, limit) in enumerate(zip(directions, limits)):
        y, ahead, other = _margins(block, m, loss, way, n_classes)
        strict = ahead > limit
        whole = (strict | ~other).all(axis=1)
        counts.append(
            (
                (strict & other).any(axis=1).sum(),
                len(y),
                whole.sum(),
                np.bincount(y[~whole], minlength=n_classes),
                (other & ~strict).sum(axis=0),
            )
        )
    return tuple(np.array(each) for each in zip(*counts))


def _margins(
    block: Block, m: int, loss: Loss, direction: Model, n_classes: int
) -> tuple[Array, Array, Array]:
    """Return the classes (n,) of the rows with weight for model m, their margins (n, C), and which
    margins count.
    """
    y, s = (per_model(a)[:, min(m, per_model(a).shape[1] - 1)] for a in (block.y, block.weights))
    counts = s > 0.0
    y = y[counts].astype(int)
    Z = direction.scores(block.X)[counts, 0].astype(np.float64)
    if Z.shape[1] < n_classes:  # the first class has the score 0
        Z = np.column_stack([np.zeros(len(Z)), Z])
    own = _one_hot(y, Z.shape[1]) > 0.0
    if isinstance(loss, OneVsRest):
        return y, np.where(own, Z, -Z), np.ones_like(own)
    return y, Z[own][:, None] - Z, ~own


def _own_directions(objective: Objective, model: Model) -> list[Model | None]:
    """Return each model itself as a direction, if it puts every row with weight on its side."""
    out: list[Model | None] = [None] * model.n_models
    some = np.arange(model.n_models)
    # With one-vs-rest one separating hyperplane is enough: not all rows need be predicted right.
    if not isinstance(objective.loss, OneVsRest):
        _, accuracy = objective.loss_and_accuracy(model)
        some = np.flatnonzero(accuracy > NEARLY_ALL)
    if not len(some):
        return out
    part, model = objective.select(some), model.select(some)
    if not objective.bias:  # a fixed bias does not grow with the weights
        model = Model(model.W, np.zeros_like(model.b))
    strict = np.logical_and.reduce(part.data.map_blocks(_strict, objective.loss, model))
    for k, (m, planes) in enumerate(zip(some.tolist(), strict)):
        if planes.any():
            own = model.select(np.array([k]))
            out[m] = Model(own.W * planes, own.b * planes).astype(np.float64)
    return out


def _strict(block: Block, loss: Loss, model: Model) -> Array:
    """Return whether all rows with weight score their own class highest, for every model (B, 1).

    With one-vs-rest, for every output of a model (B, K).
    """
    y, Z = block.y, model.scores(block.X).astype(np.float64)
    planes = 1
    if isinstance(loss, OneVsRest):
        planes = model.n_outputs
        y, Z = loss.split(y, Z)
        loss = loss.base
    P = loss.probabilities(Z)
    assert P is not None
    true = np.broadcast_to(y if y.ndim == 2 else y[:, None], P.shape[:2]).astype(int)[:, :, None]
    own = np.take_along_axis(P, true, axis=2)[:, :, 0]
    np.put_along_axis(P, true, -1.0, axis=2)
    counts = np.broadcast_to(per_model(block.weights) > 0.0, (len(y), model.n_models))
    fine = (own > P.max(axis=2)) | ~np.repeat(counts, planes, axis=1)
    return np.asarray(fine.all(axis=0).reshape(model.n_models, planes))


def _find_direction(objective: Objective, n_outputs: int) -> Model | None:
    """Find a direction for the one model of this objective from its rows."""
    block = objective.data.only_block()
    n = len(block.y)
    counts = block.weights.reshape(n, -1)[:, 0] > 0.0
    if not counts.any():
        return None
    X = block.X if counts.all() else block.X.take(counts)
    y, C = block.y.reshape(n, -1)[counts, 0], max(len(objective.data.classes), 2)
    if not isinstance(objective.loss, OneVsRest):
        D = _direction(X, y, C, objective.bias)
        if D is None:
            return None
        # One output is the score of the second class minus the score of the first, which is 0.
        D = D[:, 1:] - D[:, :1] if n_outputs < C else D
    else:
        planes = [_direction(X, (y == k).astype(int), 2, objective.bias) for k in range(C)]
        if all(plane is None for plane in planes):
            return None
        nothing = np.zeros(X.shape[1] + 1)
        D = np.stack([nothing if p is None else p[:, 1] - p[:, 0] for p in planes], axis=1)
    return Model(np.ascontiguousarray(D[:-1, None, :]), D[-1:].copy())


def _direction(X: Matrix, y: Array, n_classes: int, bias: bool) -> Array | None:
    """Return the class scores of a separating direction, (d + 1, C) with the bias last, or None."""
    found = _by_one_feature(X, y, n_classes, bias)
    if found is None and X.shape[0] * (n_classes - 1) * (X.shape[1] + 1) * 2 <= PROGRAMME_SIZE:
        found = _by_programme(X.X, y, n_classes, bias)
    return found


def _by_one_feature(X: Matrix, y: Array, n_classes: int, bias: bool) -> Array | None:
    """Find a feature whose values in one class all lie on one side of its values in the others.

    The values are only compared, so the result is exact. A category that occurs in one class only
    is such a feature.
    """
    present = np.flatnonzero(np.bincount(y, minlength=n_classes))
    low, high = (bounds[present] for bounds in bounds_by_group(X, y, n_classes))
    for i, k in enumerate(present if len(present) > 1 else []):
        rest = np.arange(len(present)) != i
        for sign, (below, above) in (
            (1.0, (high[rest].max(axis=0), low[i])),
            (-1.0, (high[i], low[rest].min(axis=0))),
        ):
            moves = low.min(axis=0) < high.max(axis=0)
            apart = below <= above if bias else (below <= 0.0) & (above >= 0.0)
            good = np.flatnonzero(apart & moves)
            if len(good):
                j = good[np.argmax(above[good] - below[good])]
                D = np.zeros((X.shape[1] + 1, n_classes))
                D[j, k] = sign
                D[-1, k] = -sign * (below[j] + 0.5 * (above[j] - below[j])) if bias else 0.0
                return D
    return None


def _by_programme(X: Any, y: Array, n_classes: int, bias: bool) -> Array | None:
    """Solve for D_y - D_j >= 1 for all rows and classes j; if impossible, for D_y - D_j >= 0."""
    X = sp.csr_array(X, dtype=np.float64).toarray()
    X = np.column_stack([X, np.full(len(X), float(bias))])
    others = np.arange(n_classes) != y[:, None]
    row, j = np.nonzero(others)
    ahead = _one_hot(y[row], n_classes) - _one_hot(j, n_classes)
    # Row r is the Kronecker product of ahead[r] and its row of X.
    A = (X[row][:, :, None] * ahead[:, None, :]).reshape(len(row), -1)
    w = _solve(np.zeros(A.shape[1]), A, 1.0, np.inf)
    if w is None or not (A @ w > 0.5).all():
        w = _solve(-A.sum(axis=0), A, 0.0, 1.0)
        w = None if w is None else _exact(A, w)
    return None if w is None else w.reshape(X.shape[1], n_classes)


def _solve(cost: Array, A: Array, low: float, high: float) -> Array | None:
    """Return the w that minimises cost.w subject to low <= A w <= high, or None."""
    from scipy.optimize import linprog  # slow to import, and rarely needed

    upper = [-np.full(len(A), low)] + ([np.full(len(A), high)] if np.isfinite(high) else [])
    sides = np.concatenate([-A, A][: len(upper)])
    found = linprog(cost, A_ub=sp.csr_array(sides), b_ub=np.concatenate(upper), bounds=(None, None))
    return np.asarray(found.x) if found.status == 0 else None


def _exact(A: Array, w: Array) -> Array | None:
    """Return w as integers if exact arithmetic proves it: on the hyperplane rounding decides."""
    fractions = [Fraction(float(v)).limit_denominator(DENOMINATOR) for v in w]
    common = math.lcm(*(f.denominator for f in fractions))
    whole = [int(f * common) for f in fractions]
    if max(map(abs, whole)) > LARGEST_WHOLE:
        return None
    used = np.flatnonzero(whole)
    margins = [sum(Fraction(float(row[k])) * whole[k] for k in used if row[k]) for row in A]
    proven = min(margins) >= 0 and max(margins) > 0
    return np.array(whole, np.float64) if proven else None


def _one_hot(classes: Array, n_classes: int) -> Array:
    return (classes[:, None] == np.arange(n_classes)).astype(np.float64)
