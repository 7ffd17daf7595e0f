"""Fits to rows drawn anew, all in one batch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.inference.fitted_objective import FittedObjective
from separatrix.losses import OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.training import Result, train
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnosis import Diagnosis

MOST_DRAWS = 1000  # of one replicate, until every class is there
ENTRIES_AT_ONCE = 1 << 27  # of the weights, or of what a solver remembers of its models
REMEMBERED = 20  # numbers that a solver remembers for every coefficient


@dataclass(frozen=True)
class Bootstrap:
    """How rows are drawn: `n_replicates` times as many as there are, each time with replacement.

    The rows of replicate r depend on the seed and on r only.
    """

    n_replicates: int
    stratified: bool
    seed: int

    def weights(self, y: Array, s: Array) -> tuple[Array, int]:
        """Weights (n, R), how often each row was drawn times s, and how many draws were refused.

        Rows without weight are not there to be drawn.

        >>> y = np.array([0, 0, 1, 1])
        >>> weights, _ = Bootstrap(3, True, 0).weights(y, np.ones(4))
        >>> weights[:2].sum(axis=0)
        array([2., 2., 2.])
        """
        rows = np.flatnonzero(s > 0.0)
        groups = [rows[y[rows] == c] for c in np.unique(y)] if self.stratified else [rows]
        out, refused = np.zeros((len(y), self.n_replicates)), 0
        for r in range(self.n_replicates):
            random = np.random.default_rng((self.seed, r))
            for _ in range(MOST_DRAWS):
                drawn = np.concatenate([g[random.integers(len(g), size=len(g))] for g in groups])
                if len(np.unique(y[drawn])) == len(np.unique(y)):
                    break
                refused += 1
            else:
                raise ValueError(
                    f"{MOST_DRAWS} draws of {len(rows)} rows all missed some class: it is too "
                    "rare. Set stratified=True, which keeps the number of rows of each class."
                )
            out[:, r] = np.bincount(drawn, minlength=len(y)) * s
        return out, refused


def fit_replicates(
    fit: FittedObjective, draw: Bootstrap
) -> tuple[Array, tuple[Certificate, ...], int]:
    """The coefficients (R, K, p) and certificates of all replicates, and the draws refused.

    Every replicate starts from the fit and is solved as the fit was, to the same `tol`.
    """
    weights, refused = draw.weights(fit.rows.y, fit.s)
    each = clone(fit.estimator).set_params(solver=fit.estimator.solver_)
    d, _, K = fit.model.W.shape
    at_once = max(1, ENTRIES_AT_ONCE // max(len(weights), REMEMBERED * d * K))
    # Only without a penalty can a replicate lack an optimum, if its rows can be separated.
    free = fit.task.l1 == 0.0 and fit.task.l2 == 0.0
    results: list[Result] = []
    for first in range(0, draw.n_replicates, at_once):
        data = fit.weighted(weights[:, first : first + at_once])
        count = min(at_once, draw.n_replicates - first)
        tasks = [
            replace(each._make_task(data.select(np.array([k]))), start=fit.model)
            for k in range(count)
        ]
        results += train(tasks, data, whole=free)
    found = [
        (r, diagnosis) for r, result in enumerate(results) for diagnosis in each._diagnose(result)
    ]
    endless = [(r, diagnosis) for r, diagnosis in found if diagnosis.kind == "separable"]
    _refuse_endless(endless, len(results))
    _warn(
        [(r, diagnosis) for r, diagnosis in found if diagnosis.kind in each._warned_kinds],
        len(results),
    )
    model = _aligned(Model.stack([result.model.astype(np.float64) for result in results]), fit)
    return fit.coefficients(model), tuple(result.certificate for result in results), refused


def _aligned(model: Model, fit: FittedObjective) -> Model:
    """The replicates, moved by what their loss does not notice to where the fit is.

    A loss of differences between the scores of all classes leaves the common shift of the biases
    open, and without a penalty that of the weights: where it ends is the solver's affair.
    """
    task, K = fit.task, model.n_outputs
    if K == 1 or len(fit.estimator.classes_) > K or isinstance(task.loss, OneVsRest):
        return model
    W, b = model.W, model.b
    if task.bias:
        b = b + (fit.model.b.mean() - b.mean(axis=1, keepdims=True))
    if task.l1 == 0.0 and task.l2 == 0.0:
        W = W + (fit.model.W.mean(axis=2, keepdims=True) - W.mean(axis=2, keepdims=True))
    return Model(W, b)


def _refuse_endless(endless: Sequence[tuple[int, Diagnosis]], count: int) -> None:
    """Raise if replicates, whose rows can be told apart, have no finite coefficients."""
    if endless:
        (first, found), number = endless[0], len(endless)
        raise ValueError(
            f"{number} of {count} replicates {'has' if number == 1 else 'have'} no finite "
            f"coefficients, and the intervals no end. The first is replicate {first}: "
            f"{found.message} Fit with a finite C, or leave out what tells these rows apart."
        )


def _warn(missed: Sequence[tuple[int, Diagnosis]], count: int) -> None:
    if missed:
        number = len({r for r, _ in missed})
        warnings.warn(
            f"{number} of {count} replicates are not what was asked for. The first is replicate "
            f"{missed[0][0]}: {missed[0][1]}",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
