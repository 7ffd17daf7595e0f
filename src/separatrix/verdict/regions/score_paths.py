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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.data import Block
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.regions.metric import DenseMetric, Metric
from separatrix.verdict.regions.rounding import UNIT
from separatrix.verdict.regions.rows import (
    centred_rows,
    training_rows,
    training_scores,
)
from separatrix.verdict.regions.secant_curvature import SHORTEST, least_curvature
from separatrix.verdict.regions.slope import (
    factor_matrix,
    has_free_bias,
    loss_slope,
    score_rounding,
)

ENTRIES_AT_ONCE = 1 << 22
ROOM = 3.0  # the movements that are allowed for, as a multiple of those that are expected


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
    """The rows of X in pieces, for products with many columns.

    Attributes
    ----------
    parts : the pieces
    origin : what is subtracted from the rows (d,)
    largest : bounds on |x_ij| beyond which no rounding error grows (d,)
    """

    parts: list[Matrix]
    origin: Array
    largest: Array

    @classmethod
    def of(cls, objective: Objective, free: bool) -> PathRows:
        """Return the rows of an objective, recentred if the bias is free."""
        data = objective.data
        origin = data.origin() if free else np.zeros(data.n_features)
        step = max(1, ENTRIES_AT_ONCE // (data.n_features + 1))
        parts = [
            X.take(slice(start, start + step)) if X.shape[0] > step else X
            for X in data.map_blocks(_matrix_of_block)
            for start in range(0, X.shape[0], step)
        ]
        largest = np.zeros(data.n_features)
        for part in parts:
            largest = np.maximum(largest, _largest(part, origin))
        return cls(parts, origin, largest)

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
        return DenseMetric.of(M, len(curved), np.append(self.largest, np.ones(m - d)))


@dataclass(frozen=True)
class Movement:
    """How far the scores (n,) of one output move from those of a model, for strengths near its own.

    The optimum for the strength l2 has the scores z - step drift, plus or minus |step| spread +
    slack, where step = l2 - strength. `rate` bounds the movement per unit of |step|.
    """

    drift: Array
    spread: Array
    slack: Array

    @property
    def rate(self) -> Array:
        return np.abs(self.drift) + self.spread

    def longest_step(self, allowed: Array, rows: Array) -> float:
        """Return the largest |step| with which some rows move by less than `allowed` (n,)."""
        left = (allowed - self.slack)[rows] * (1.0 - 8.0 * UNIT)
        rate = self.rate[rows]
        if not len(rows) or not (left > 0.0).all():
            return np.inf if not len(rows) else 0.0
        with np.errstate(divide="ignore"):
            return float((left / rate).min()) * (1.0 - 8.0 * UNIT)


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

    def checked_movement(
        self, rows: PathRows, lowest: float, step: float, rate: Array | None
    ) -> tuple[Movement | None, float]:
        """Return the movement, and the largest step for which it is proven.

        `rate` (n,) is an expected rate, or None. It need not be right.
        """
        if rate is None:
            first = self.movement(rows, lowest, np.full(len(self.z), SHORTEST))
            if first is None:
                return None, 0.0
            likely = first.rate * step + first.slack
        else:
            likely = rate * step
        allowed = np.maximum(ROOM * likely, SHORTEST)
        movement = self.movement(rows, lowest, allowed)
        if movement is None:
            return None, 0.0
        return movement, movement.longest_step(allowed, np.flatnonzero(self.weights))

    def movement(self, rows: PathRows, lowest: float, allowed: Array) -> Movement | None:
        """Return the movement, if no score moves by more than `allowed`; None without a proof.

        `lowest` is the smallest strength.
        """
        z, u, off = (a[:, None, None] for a in (self.z, allowed, self.off))
        curved = least_curvature(self.loss, self.y, z, u, off)[:, 0, 0] * self.weights
        metric = rows.metric(curved, lowest * self.of_penalty)
        if metric is None:
            return None
        far = metric.size(self.pull, 4.0 * UNIT * np.abs(self.pull))
        rest = metric.size(self.gradient, self.error)
        seen = metric.movements(rows.parts, rows.origin, self.pull)
        spread = 0.5 * (far + seen.lost) * seen.length * (1.0 + 16.0 * UNIT)
        slack = rest * seen.length * (1.0 + 16.0 * UNIT) + self.off
        drift = 0.5 * seen.drift
        if not (np.isfinite(spread).all() and np.isfinite(slack).all()):
            return None
        return Movement(drift, np.maximum(spread, np.abs(drift)), slack)


def score_paths(
    objective: Objective,
    model: Model,
    rows: PathRows,
    reach: Sequence[tuple[float, float]],
    wanted: Sequence[Array],
    guess: Sequence[Array | None],
) -> list[tuple[ScorePath, Array | None]]:
    """Return the bounds for B models, and the movements (n, K) of all scores per unit of log l2.

    Where nothing is proven, the bounds are infinite and the movements are None.

    Parameters
    ----------
    objective, model : the objective of a loss with `has_one_peak`, and models near its optimum
    rows : the rows of the objective
    reach : for each model the smallest and largest strength that is asked for
    wanted : for each model the numbers of the rows whose bounds are returned
    guess : for each model movements that are expected, or None. They decide how good the bounds
        are, not whether they are right
    """
    _, l2 = objective.strengths(model.n_models)
    nearby = _outputs_nearby(objective, model, rows)
    return [
        _path(outputs, rows, float(strength), *own)
        for outputs, strength, *own in zip(nearby, l2, reach, wanted, guess)
    ]


def _path(
    outputs: Sequence[OutputNearby],
    rows: PathRows,
    strength: float,
    reach: tuple[float, float],
    wanted: Array,
    guess: Array | None,
) -> tuple[ScorePath, Array | None]:
    """Return the bounds of one model, and its movements."""
    low, high = min(reach[0], strength), max(reach[1], strength)
    step = max(strength - low, high - strength)
    found = []
    for k, output in enumerate(outputs):
        movement, longest = output.checked_movement(
            rows, low, step, None if guess is None else guess[:, k] / strength
        )
        step = min(step, longest)
        if movement is None or not step > 0.0:
            break
        found.append(movement)
    z = np.stack([output.z[wanted] for output in outputs], axis=1)
    if len(found) < len(outputs):
        none = np.full(z.shape, np.inf)
        return ScorePath(strength, strength, strength, z, 0.0 * z, none, none), None
    drift, spread, slack = (
        np.stack([values[wanted] for values in each], axis=1)
        for each in zip(*((one.drift, one.spread, one.slack) for one in found))
    )
    path = ScorePath(
        strength, max(low, strength - step), min(high, strength + step), z, drift, spread, slack
    )
    moves = np.stack([one.rate * strength + one.slack for one in found], axis=1)
    return path, moves.astype(np.float32)


def _outputs_nearby(
    objective: Objective, model: Model, rows: PathRows
) -> list[list[OutputNearby]]:
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


def _matrix_of_block(block: Block) -> Matrix:
    return block.X


def _largest(X: Matrix, origin: Array) -> Array:
    """Return bounds on what rounding errors of products with x - o grow with (d,)."""
    if X.is_sparse:
        entries = np.abs(X.X).max(axis=0)
        return np.asarray(entries.todense() if hasattr(entries, "todense") else entries).ravel() + np.abs(origin)
    found = np.zeros(len(origin))
    for rows in centred_rows(X, origin):
        found = np.maximum(found, np.abs(rows.X.X).max(axis=0, initial=0.0))
    return found
