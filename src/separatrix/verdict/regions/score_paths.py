"""Bounds on scores at the optima for all strengths of the penalty near a given one.

Let v be the weights and the free bias, v0 a point near the optimum for the strength l2_0, and
A v = (f^2 w, 0) the derivative of the penalty. The gradient of the objective for the strength l2 at
v0 is g(l2) = g0 + (l2 - l2_0) A v0. Let M be at most the mean Hessian on the way from v0 to the
optimum v*(l2). Then, as in `ball` with M in place of l2,

    |v* - (v0 - M^-1 g / 2)|_M  <=  |g|_{M^-1} / 2

so that the score of a row x at the optimum is within

    z0 - (l2 - l2_0) x M^-1 A v0 / 2  +-  (|l2 - l2_0| |A v0|_{M^-1} / 2 + |g0|_{M^-1}) |x|_{M^-1}

The matrix M is the penalty for the smallest strength plus sum_i s_i c_i x_i x_i^T / S, where c_i is
the least curvature of the loss of row i while its score moves by at most u_i. If the bounds prove
that every score moves by less than u_i, then the optimum is there. docs/maths.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from separatrix.data import Block
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.regions.metric import Metric
from separatrix.verdict.regions.rounding import UNIT
from separatrix.verdict.regions.rows import (
    CentredRows,
    centred_rows,
    training_rows,
    training_scores,
)
from separatrix.verdict.regions.secant_curvature import SHORTEST, least_curvature
from separatrix.verdict.regions.slope import (
    factor_matrix,
    loss_slope,
    score_rounding,
)

ENTRIES_AT_ONCE = 1 << 22
ROOM = 1.6  # the movements that are allowed for, as a multiple of those that are expected
FAR = 1.5  # ratio of the lengths in two metrics from which one is no reference for the other


@dataclass(frozen=True)
class ScorePath:
    """Bounds on the scores of some rows at the optima of one model for strengths near its own.

    Attributes
    ----------
    strength : the strength of the model
    low, high : smallest and largest strength for which the bounds hold
    scores : scores of the model (n, K)
    drift, spread, slack : the bounds for the strength l2 are scores - (l2 - strength) drift, minus
        or plus |l2 - strength| spread + slack; (n, K) each
    """

    strength: float
    low: float
    high: float
    scores: Array
    drift: Array
    spread: Array
    slack: Array

    def bounds(self, l2: float) -> tuple[Array, Array]:
        """Return lower and upper bounds (n, K) on the scores, for l2 between `low` and `high`."""
        if not self.low <= l2 <= self.high:
            none = np.full(self.scores.shape, np.inf)
            return -none, none
        step = l2 - self.strength
        far = abs(step) + 8.0 * UNIT * (abs(l2) + self.strength)
        middle, half = self.scores - step * self.drift, far * self.spread + self.slack
        half = half + 8.0 * UNIT * (np.abs(middle) + half)
        return middle - half, middle + half


@dataclass(frozen=True)
class PathRows:
    """Rows of X in pieces, for products with many columns.

    Attributes
    ----------
    parts : the pieces
    origin : what is subtracted from the rows (d,)
    largest : bounds (d,) on what the rounding errors of products with x - o grow with
    """

    parts: list[Matrix]
    origin: Array
    largest: Array

    @classmethod
    def of(cls, objective: Objective, free: bool) -> PathRows:
        """Return the rows of an objective, recentred if the bias is free."""
        data = objective.data
        origin = data.origin() if free else np.zeros(data.n_features)
        parts = [part for X in data.map_blocks(_matrix_of_block) for part in _pieces(X)]
        largest = np.zeros(data.n_features)
        for part in parts:
            largest = np.maximum(largest, _largest(part, origin))
        return cls(parts, origin, largest)

    def take(self, rows: Array) -> PathRows:
        """Return some of the rows, which are the numbers of rows in one part or all parts."""
        starts = np.cumsum([0, *(part.shape[0] for part in self.parts)])
        if (np.diff(rows) < 0).any():
            raise ValueError("The numbers of the rows must increase.")
        parts = [
            piece
            for part, first, last in zip(self.parts, starts, starts[1:])
            for piece in _pieces(part.take(rows[(rows >= first) & (rows < last)] - first))
        ]
        return PathRows(parts, self.origin, self.largest)

    def centred(self) -> Iterator[CentredRows]:
        """Yield the rows, recentred."""
        for part in self.parts:
            yield from centred_rows(part, self.origin)

    def metric(self, curved: Array, of_penalty: Array) -> Metric | None:
        """Return the metric of the matrix sum_i c_i (x_i, 1) (x_i, 1)^T + diag(penalty).

        `curved` are the c_i (n,), and `of_penalty` (m,) has an entry for the bias if there is one.
        """
        m, d = len(of_penalty), len(self.origin)
        M = np.diag(of_penalty)
        starts = np.cumsum([0, *(part.shape[0] for part in self.parts)])
        origin = self.origin if self.origin.any() else None
        for part, first, last in zip(self.parts, starts, starts[1:]):
            M = M + part.gram(np.ascontiguousarray(curved[first:last, None]), origin)[0, :m, :m]
        return Metric.of(M, len(curved), np.append(self.largest, np.ones(m - d)), m > d)


@dataclass(frozen=True)
class Reference:
    """The lengths (n,) of all rows in the metric of one output of a model, which bound others."""

    metric: Metric
    length: Array


References: TypeAlias = list[Reference]  # one for each output of a model


@dataclass(frozen=True)
class OutputNearby:
    """One output of a model near its optimum.

    Attributes
    ----------
    loss, y, weights : the loss of one output, the class numbers 0 or 1 and s_i / S of all rows (n,)
    z, off : the scores (n,), and bounds on their rounding errors
    of_penalty : second derivatives of the penalty for l2 = 1 (m,), with a bias last
    pull : their product with the weights (m,)
    gradient, error : the gradient of the objective (m,), and bounds on its errors
    """

    loss: Loss
    y: Array
    weights: Array
    z: Array
    off: Array
    of_penalty: Array
    pull: Array
    gradient: Array
    error: Array

    def metric(self, rows: PathRows, lowest: float, allowed: Array) -> Metric | None:
        """Return the metric for the smallest strength, if no score moves by more than `allowed`."""
        z, u, off = (a[:, None, None] for a in (self.z, allowed, self.off))
        curved = least_curvature(self.loss, self.y, z, u, off)[:, 0, 0] * self.weights
        return rows.metric(curved, lowest * self.of_penalty)

    def sizes(self, metric: Metric) -> tuple[float, float]:
        """Return the lengths of the pull and of the gradient."""
        far = metric.size(self.pull, 4.0 * UNIT * np.abs(self.pull))
        return far, metric.size(self.gradient, self.error)

    def reference(self, rows: PathRows, lowest: float) -> Reference | None:
        """Return the lengths of all rows in the metric of scores that do not move."""
        metric = self.metric(rows, lowest, np.full(len(self.z), SHORTEST))
        if metric is None:
            return None
        return Reference(metric, metric.movements(rows.centred(), self.pull).length)

    def proven_metric(
        self, rows: PathRows, lowest: float, step: float, reference: Reference
    ) -> tuple[Metric, Reference, float] | None:
        """Return the metric, a reference close to it, and the largest step for which it is proven.

        A score moves by at most (|step| far + rest) times the length of its row.
        """
        far, rest = self.sizes(reference.metric)
        allowed = np.maximum(ROOM * (step * far + rest) * reference.length, SHORTEST)
        metric = self.metric(rows, lowest, allowed)
        if metric is None:
            return None
        ratio = metric.ratio(reference.metric)
        if ratio > FAR:
            length = metric.movements(rows.centred(), self.pull).length
            ratio, reference = 1.0, Reference(metric, length)
        far, rest = self.sizes(metric)
        length = ratio * reference.length[self.weights > 0.0] * (1.0 + 8.0 * UNIT)
        with np.errstate(divide="ignore"):
            left = allowed[self.weights > 0.0] * (1.0 - 8.0 * UNIT) / length - rest
            longest = float(left.min(initial=np.inf)) / far if far > 0.0 else np.inf
        return (metric, reference, min(step, longest)) if longest > 0.0 else None


def score_paths(
    objective: Objective,
    model: Model,
    rows: PathRows,
    reach: Sequence[tuple[float, float]],
    wanted: Sequence[tuple[Array, PathRows]],
    references: Sequence[References | None],
) -> list[tuple[ScorePath, References | None]]:
    """Return the bounds for B models, and references for models nearby.

    Where nothing is proven, the bounds are infinite, and there is no reference.

    Parameters
    ----------
    objective, model : the objective of a loss with `has_one_peak`, and models near its optimum
    rows : the rows of the objective
    reach : for each model the smallest and largest strength that is asked for
    wanted : for each model the numbers of the rows whose bounds are returned, and these rows
    references : for each model what was returned for another strength of its penalty, or None. It
        saves time, and has little influence on the bounds
    """
    _, l2 = objective.strengths(model.n_models)
    nearby = _outputs_nearby(objective, model, rows)
    with threadpool_limits(1, "blas"):  # threads of small matrices would mostly wait
        return [
            _path(nearby[m], rows, float(l2[m]), reach[m], wanted[m], references[m])
            for m in range(model.n_models)
        ]


def _path(
    outputs: Sequence[OutputNearby],
    rows: PathRows,
    strength: float,
    reach: tuple[float, float],
    wanted: tuple[Array, PathRows],
    references: References | None,
) -> tuple[ScorePath, References | None]:
    """Return the bounds of one model, and its references."""
    low, high = min(reach[0], strength), max(reach[1], strength)
    step = max(strength - low, high - strength)
    numbers, some = wanted
    z = np.stack([output.z[numbers] for output in outputs], axis=1)
    drift, spread, slack = (np.empty_like(z) for _ in range(3))
    kept: References = []
    for k, output in enumerate(outputs):
        reference = output.reference(rows, low) if references is None else references[k]
        found = None if reference is None else output.proven_metric(rows, low, step, reference)
        if found is None:
            none = np.full(z.shape, np.inf)
            return ScorePath(strength, strength, strength, z, 0.0 * z, none, none), None
        metric, reference, step = found
        far, rest = output.sizes(metric)
        seen = metric.movements(some.centred(), output.pull)
        drift[:, k] = 0.5 * seen.drift
        wide = 0.5 * (far + seen.lost) * seen.length * (1.0 + 16.0 * UNIT)
        spread[:, k] = np.maximum(wide, np.abs(drift[:, k]))
        slack[:, k] = rest * seen.length * (1.0 + 16.0 * UNIT) + output.off[numbers]
        kept.append(reference)
    first, last = max(low, strength - step), min(high, strength + step)
    return ScorePath(strength, first, last, z, drift, spread, slack), kept


def _outputs_nearby(objective: Objective, model: Model, rows: PathRows) -> list[list[OutputNearby]]:
    """Return what is known of the outputs of each model."""
    (B, K), penalty, loss = model.b.shape, objective.penalty, objective.loss
    f = factor_matrix(penalty.factors)
    known = training_rows(objective.data, rows.origin, f)
    slope = loss_slope(objective, model, rows.origin, known)
    moved, (_, l2) = slope.model, objective.strengths(B)
    Z = training_scores(objective.data, rows.origin, moved.W) + moved.b
    off = score_rounding(moved, penalty.factors, known.lengths, Z)
    squares = np.ones((len(model.W), 1)) if f is None else np.square(f)
    squares = np.broadcast_to(squares, (len(model.W), B))
    scale, base = objective.scale(B), loss.base if isinstance(loss, OneVsRest) else loss
    own = np.broadcast_to(np.square(penalty.bias_factor), (B,))
    size = len(model.W) + bool(objective.bias)
    out = []
    for m in range(B):
        y = known.y if known.y.ndim == 1 else known.y[:, m]
        of_penalty = np.append(squares[:, m], own[m])[:size]
        of_model = []
        for k in range(K):
            weights = np.append(moved.W[:, m, k], moved.b[m, k])[:size]
            of_loss = np.append(slope.V[:, m, k], slope.gb[m, k])[:size]
            error = np.sqrt(of_penalty) * slope.error[m, k]
            if objective.bias:
                error[-1] += slope.lost[m, k]
            pull = of_penalty * weights
            error += 8.0 * UNIT * (np.abs(of_loss) + l2[m] * np.abs(pull))
            of_model.append(
                OutputNearby(
                    loss=base,
                    y=(y == k if K > 1 else y).astype(np.int32),
                    weights=known.s[:, m if known.s.shape[1] > 1 else 0] * scale[m],
                    z=np.ascontiguousarray(Z[:, m, k]),
                    off=np.ascontiguousarray(off[:, m, k]),
                    of_penalty=of_penalty,
                    pull=pull,
                    gradient=of_loss + l2[m] * pull,
                    error=error,
                )
            )
        out.append(of_model)
    return out


def _pieces(X: Matrix) -> list[Matrix]:
    """Return the rows of X in pieces whose product with a square matrix is not too large."""
    n, step = X.shape[0], max(1, ENTRIES_AT_ONCE // (X.shape[1] + 1))
    return [X] if n <= step else [X.take(slice(at, at + step)) for at in range(0, n, step)]


def _matrix_of_block(block: Block) -> Matrix:
    return block.X


def _largest(X: Matrix, origin: Array) -> Array:
    """Return bounds on what rounding errors of products with x - o grow with (d,)."""
    if X.is_sparse:
        return np.asarray(abs(X.X).max(axis=0).todense()).ravel() + np.abs(origin)
    found = np.zeros(len(origin))
    for rows in centred_rows(X, origin):
        found = np.maximum(found, np.abs(rows.X.X).max(axis=0, initial=0.0))
    return found
