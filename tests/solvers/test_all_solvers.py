"""All solvers that find the optimum reach the same one, with valid duality gaps at every step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import OPTIMISERS, SOLVERS
from separatrix.training import Progress, Result, Stop, run
from separatrix.training.legality import refuse_illegal
from separatrix.verdict.certificate import certify
from support.forms import FORMS, Form

N, D, B = 36, 3, 2
PENALTIES = {"none": (0.0, 0.0), "l2": (0.0, 0.04), "l1": (0.02, 0.0), "elastic net": (0.01, 0.03)}
CLAIM_NOTHING = ("gradient", "perceptron")


def legal(name: str, form: Form, penalty: str) -> bool:
    try:
        refuse_illegal(name, form.loss, *PENALTIES[penalty])
    except ValueError:
        return False
    return name not in CLAIM_NOTHING


CASES = [
    (form, penalty, [name for name in SOLVERS if legal(name, form, penalty)])
    for form in FORMS
    if form.loss.convex
    for penalty in PENALTIES
]
SOLVABLE = [case for case in CASES if case[2]]
PROVABLE = [
    pytest.param(form, penalty, name, id=f"{form}-{penalty}-{name}")
    for form, penalty, names in SOLVABLE
    for name in names
    if penalty != "none"
]


def draw(form: Form, penalty: str, seed: int = 0, folds: bool = False, rows: int = N) -> Objective:
    """Two models with separate sample weights, some of them 0, on overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, D)) * np.array([1.0, 3.0, 0.2])
    y = rng.permutation(np.arange(rows) % form.classes)
    s = rng.exponential(1.0, (rows, B))
    if folds:
        s = (rng.permuted(np.arange(rows) % 3)[:, None] != np.arange(B)).astype(float)
    l1, l2 = PENALTIES[penalty]
    data = Dataset.of(X, y, s, classes=np.arange(form.classes))
    return Objective(data, form.loss, ElasticNet(l1, [l2, 3.0 * l2]))


def solve(
    name: str,
    objective: Objective,
    outputs: int,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[Result]:
    start = Model.zeros(D, B, outputs)
    stop = Stop(((5000,),) * B, tol=np.full(B, 1e-9))
    solver = OPTIMISERS[name].for_task()
    return [found for [found] in run(solver, objective, start, stop, on_progress=on_progress)]


def lowest(objective: Objective, form: Form) -> float:
    """The optimum of one model, found independently by scipy."""
    return _smooth(objective, form) if form.loss.smooth else _programme(objective, form)


def _smooth(objective: Objective, form: Form) -> float:
    """W = P - Q with P, Q >= 0, so that |W| = P + Q is smooth."""
    K, l1 = form.outputs, float(objective.penalty.l1[0])
    size = D * K

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        W = (v[:size] - v[size : 2 * size]).reshape(D, 1, K)
        model = Model(np.ascontiguousarray(W), v[2 * size :][None].copy())
        found = objective.evaluate(model)
        GW = (found.GW + objective.penalty.gradient(model.W)).ravel()
        smooth = float(found.value[0]) - l1 * float(np.abs(W).sum())
        total = smooth + l1 * float(v[: 2 * size].sum())
        return total, np.concatenate([GW + l1, l1 - GW, found.gb.ravel()])

    bounds = [(0.0, None)] * (2 * size) + [(None, None)] * K
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-13, "maxcor": 50}
    start = np.zeros(2 * size + K)
    best = minimize(value, start, jac=True, bounds=bounds, options=options, method="L-BFGS-B")
    return float(best.fun)


def _programme(objective: Objective, form: Form) -> float:
    """A hinge as a quadratic programme in W, b and one slack for every term."""
    block = objective.data.only_block()
    X, y = np.asarray(block.X.X), block.y
    s = block.weights.reshape(-1) / block.weights.sum()
    K, l2 = form.outputs, float(objective.penalty.l2[0])
    size = (D + 1) * K
    rows, costs, owners = [], [], []
    for i in range(len(X)):
        x = np.append(X[i], 1.0)
        for a in _margins(form, x, y[i]):
            rows.append(a)
            owners.append((i, len(costs)))
            costs.append(s[i])
    shared = form.loss.name == "crammer_singer"  # one slack per sample instead of one per term
    slacks = len(X) if shared else len(rows)
    A = np.zeros((len(rows), size + slacks))
    A[:, :size] = rows
    A[np.arange(len(rows)), [size + (i if shared else k) for i, k in owners]] = 1.0
    cost = np.concatenate([np.zeros(size), s if shared else costs])
    curved = np.concatenate([np.full(D * K, l2), np.zeros(K + slacks)])
    start = np.concatenate([np.zeros(size), np.full(slacks, form.loss.margin)])
    best = minimize(
        lambda v: float(cost @ v + 0.5 * v @ (curved * v)),
        start,
        jac=lambda v: cost + curved * v,
        bounds=[(None, None)] * size + [(0.0, None)] * slacks,
        constraints=[LinearConstraint(A, form.loss.margin, np.inf)],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-15},
    )
    return float(best.fun)


def _margins(form: Form, x: np.ndarray, y: int) -> list[np.ndarray]:
    """Rows a with a.v >= margin - slack: W first, by feature then output, then b."""

    def row(weights: np.ndarray) -> np.ndarray:
        return np.outer(x, weights).ravel()

    K = form.outputs
    one = np.eye(K)
    if K == 1:
        return [row(np.array([2.0 * y - 1.0]))]
    if ", one-vs-rest" in form.loss.name:
        return [row((2.0 * (k == y) - 1.0) * one[k]) for k in range(K)]
    return [row(one[y] - one[j]) for j in range(K) if j != y]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "penalty", "names"), [pytest.param(*c, id=f"{c[0]}-{c[1]}") for c in SOLVABLE]
)
def test_all_solvers_reach_the_same_optimum(form: Form, penalty: str, names: list[str]) -> None:
    # scipy's quadratic programme takes cubic time in the rows.
    objective = draw(form, penalty, rows=N if form.loss.smooth else N // 2)
    results = {name: solve(name, objective, form.outputs) for name in names}
    for m in range(B):
        if m == 0 or penalty == "none":
            expected = lowest(objective.select(np.array([m])), form)
        else:  # the gap proves the optimum; scipy takes far longer than all solvers together
            expected = min(results[name][m].certificate.primal for name in names)
        for name in names:
            found = results[name][m]
            assert found.certificate.primal == pytest.approx(expected, rel=1e-8), name
            assert found.stop_reason in ("tol", "no further descent"), name
            if penalty != "none":
                assert found.certificate.relative_gap <= 1e-8, name


@pytest.mark.slow
@pytest.mark.parametrize(("form", "penalty", "name"), PROVABLE)
@given(seed=st.integers(0, 2**32 - 1), folds=st.booleans())
@settings(max_examples=2, deadline=None)
def test_the_gap_bounds_the_distance_to_the_optimum_at_every_step(
    form: Form, penalty: str, name: str, seed: int, folds: bool
) -> None:
    objective = draw(form, penalty, seed, folds)
    seen: list[tuple[np.ndarray, list[float], list[float]]] = []

    def look(progress: Progress) -> None:
        arrays = progress.checkpoint()
        running = arrays["running"]
        if not len(running):
            return
        model = Model(arrays["state.weights.0.W"], arrays["state.weights.0.b"])
        duals = [arrays[key] for key in sorted(arrays) if key.startswith("state.duals")]
        proofs = certify(objective.select(running), model, duals or None)
        seen.append((running, [p.primal for p in proofs], [p.gap for p in proofs]))

    best = np.array(
        [found.certificate.primal for found in solve(name, objective, form.outputs, look)]
    )
    for running, primal, gap in seen:
        left = np.array(primal) - best[running]
        assert (left <= np.array(gap) + 1e-12 * np.abs(best[running])).all()
