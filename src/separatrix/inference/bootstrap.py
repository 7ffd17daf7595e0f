"""Bootstrap replicates: fits to resampled rows, all in one batch."""

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

MOST_DRAWS = 1000  # maximum number of draws for one replicate until all classes occur
ENTRIES_AT_ONCE = 1 << 27  # maximum size of the weights and of the solver state of one batch
REMEMBERED = 20  # numbers that a solver stores per coefficient


@dataclass(frozen=True)
class Bootstrap:
    """A bootstrap: `n_replicates` samples of n of the n rows, drawn with replacement.

    The rows of replicate r depend only on the seed and on r.
    """

    n_replicates: int
    stratified: bool
    seed: int

    def weights(self, y: Array, s: Array) -> tuple[Array, int]:
        """Return weights (n, R) and the number of rejected draws.

        A weight is the number of times that a row was drawn, times its weight in s (n,). Draws in
        which a class is missing are rejected. Rows with weight 0 are never drawn.

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
                    f"In each of {MOST_DRAWS} draws of {len(rows)} rows, a class was missing. Set "
                    "stratified=True, which keeps the number of rows of every class."
                )
            out[:, r] = np.bincount(drawn, minlength=len(y)) * s
        return out, refused


def fit_replicates(
    fit: FittedObjective, draw: Bootstrap
) -> tuple[Array, tuple[Certificate, ...], int]:
    """Fit all replicates; return coefficients (R, K, p), certificates and rejected draws.

    Every replicate starts from the weights of the fit, with the same solver and the same `tol`.
    """
    weights, refused = draw.weights(fit.y, fit.s)
    each = clone(fit.estimator).set_params(solver=fit.estimator.solver_)
    d, _, K = fit.model.W.shape
    at_once = max(1, ENTRIES_AT_ONCE // max(len(weights), REMEMBERED * d * K))
    # Without a penalty, a replicate whose classes are separable has no finite optimum.
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
    """Shift the replicates so that equivalent models can be compared with the fit.

    A loss that depends only on differences of scores does not change if all biases shift by the
    same amount. Without a penalty, this also holds for the weights. The shift then depends on the
    solver, so it is set to the shift of the fit.
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
    """Raise if replicates have separable classes, and so no finite coefficients."""
    if endless:
        (first, found), number = endless[0], len(endless)
        raise ValueError(
            f"{number} of {count} replicates {'has' if number == 1 else 'have'} no finite "
            f"coefficients, so the intervals are infinite. The first is replicate {first}: "
            f"{found.message} Fit with a finite C, or remove the features that separate the rows."
        )


def _warn(missed: Sequence[tuple[int, Diagnosis]], count: int) -> None:
    if missed:
        number = len({r for r, _ in missed})
        warnings.warn(
            f"{number} of {count} replicates did not converge. The first is replicate "
            f"{missed[0][0]}: {missed[0][1]}",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
