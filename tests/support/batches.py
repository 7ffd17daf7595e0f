"""Three models with separate sample weights, for the tests of several solvers."""

from __future__ import annotations

import numpy as np

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Solver
from separatrix.training import Result, Stop, run
from support.forms import Form

L2 = np.array([1.0, 0.1, 0.01])
BIASES = {"free": {}, "fixed": {"bias": False}, "penalised": {"bias_factor": 0.7}}


def make_data(form: Form, n: int = 60, d: int = 4, seed: int = 5, dense: bool = True) -> Dataset:
    """Three models with separate sample weights, on overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = rng.permutation(np.arange(n) % form.classes)
    X[:, 0] += 0.5 * y
    if not dense:
        X *= rng.random((n, d)) < 0.2
    return Dataset.of(X, y, rng.exponential(1.0, (n, len(L2))))


def make_objective(form: Form, data: Dataset | None = None, bias: str = "free") -> Objective:
    options = dict(BIASES[bias])
    free = bool(options.pop("bias", True))
    return Objective(
        make_data(form) if data is None else data,
        form.loss,
        ElasticNet(0.0, L2, **options),
        bias=free,
    )


def solve_with(
    solver: Solver,
    objective: Objective,
    outputs: int,
    tol: float = 1e-9,
    start: Model | None = None,
    epochs: int = 200,
) -> list[Result]:
    B = len(objective.penalty.l2)
    if start is None:
        start = Model.zeros(objective.data.n_features, B, outputs)
    stop = Stop(epochs=((epochs,),) * B, tol=np.full(B, tol))
    return [found for [found] in run(solver, objective, start, stop)]


def assert_solved(results: list[Result], tol: float = 1e-9) -> None:
    assert [r.stop_reason for r in results] == ["tol"] * len(results)
    assert max(r.certificate.relative_gap for r in results) <= tol


def assert_same_bits(ours: list[Result], theirs: list[Result]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.model.W, b.model.W)
        np.testing.assert_array_equal(a.model.b, b.model.b)
        np.testing.assert_array_equal(a.history["objective"], b.history["objective"])
