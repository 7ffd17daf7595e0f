"""Features far from zero, such as times since 1970, are fitted as accurately as others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import Matrix, set_threads, weighted_squares
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.recentring import Recentring
from separatrix.solvers import LBFGS, Coordinate, Interior, Newton, Solver
from separatrix.training import Result
from separatrix.training.legality import refuse_illegal
from separatrix.verdict.certificate import certify
from support.batches import assert_same_bits, assert_solved, solve_with
from support.forms import FORMS, Form

LOGISTIC = Form(LOSSES["logistic"], 2, 1)
STEADY: list[Solver] = [Newton(), Newton(order=0), Interior(), Coordinate(), Coordinate(order=0)]
SOLVERS: list[Solver] = [*STEADY, LBFGS()]
PENALTIES = {"l2": (0.0, [0.05, 0.01]), "elastic net": (0.02, [0.05, 0.01]), "l1": (0.02, 0.0)}
AWAY = 2.0**27  # in standard deviations, about 1e8


def name_of(solver: Solver) -> str:
    return f"{solver.name}{getattr(solver, 'order', '')}"


def legal(solver: Solver, form: Form, penalty: str) -> bool:
    l1, l2 = PENALTIES[penalty]
    try:
        refuse_illegal(solver.name, form.loss, l1, np.min(l2))
    except ValueError:
        return False
    return form.loss.convex


CASES = [
    pytest.param(solver, form, penalty, id=f"{name_of(solver)}-{form}-{penalty}")
    for solver in STEADY
    for form in FORMS
    for penalty in PENALTIES
    if legal(solver, form, penalty)
]
OF_EACH = [(LBFGS(), LOGISTIC), (Newton(), LOGISTIC), (Coordinate(), LOGISTIC)]
OF_EACH += [(Interior(), Form(LOSSES["hinge"], 2, 1))]


def near(form: Form, n: int = 60, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Features with so few digits that moving them loses none."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(n) % form.classes)
    X = rng.standard_normal((n, d)) + np.outer(y, [1.0, 0.5, 0.0, 0.0])
    return np.round(X * 1024.0) / 1024.0, y


def problem(form: Form, X: object, penalty: str = "l2", y: np.ndarray | None = None) -> Objective:
    y = near(form)[1] if y is None else y
    s = np.random.default_rng(1).exponential(1.0, (len(y), 2))
    l1, l2 = PENALTIES[penalty]
    data = Dataset.of(X, y, s, classes=np.arange(form.classes))
    return Objective(data, form.loss, ElasticNet(np.full(2, l1), l2))


def primal(results: list[Result]) -> np.ndarray:
    return np.array([r.certificate.primal for r in results])


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "form", "penalty"), CASES)
def test_features_far_from_zero_reach_the_optimum(solver: Solver, form: Form, penalty: str) -> None:
    X, _ = near(form)
    here = solve_with(solver, problem(form, X, penalty), form.outputs, 1e-7)
    assert_solved(here, 1e-7)
    for away, tol in ((2.0**20, 1e-6), (AWAY, 1e-4)):
        there = solve_with(solver, problem(form, X + away, penalty), form.outputs, tol)
        assert_solved(there, tol)
        np.testing.assert_allclose(primal(there), primal(here), rtol=tol)


@pytest.mark.parametrize(("solver", "form"), OF_EACH, ids=lambda a: str(getattr(a, "name", a)))
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, np.asfortranarray])
def test_one_far_feature_among_others_is_enough(solver: Solver, form: Form, kind: type) -> None:
    X, _ = near(form)
    X[::2, 1:3] = 0.0
    here = solve_with(solver, problem(form, X), form.outputs, 1e-7)
    far = X.copy()
    far[:, 0] = 1e9 * (far[:, 0] + AWAY)  # like times in nanoseconds
    factors = np.array([1e9, 1.0, 1.0, 1.0])
    objective = problem(form, kind(far))
    objective.penalty = ElasticNet(0.0, objective.penalty.l2, factors)
    there = solve_with(solver, objective, form.outputs, 1e-5)
    assert_solved(there, 1e-5)
    np.testing.assert_allclose(primal(there), primal(here), rtol=1e-5)


@pytest.mark.parametrize(("solver", "form"), OF_EACH[1:], ids=lambda a: str(getattr(a, "name", a)))
def test_far_float32_features_reach_the_optimum_of_their_rounded_values(
    solver: Solver, form: Form
) -> None:
    X = (near(form)[0] + 2.0**17).astype(np.float32)
    here = solve_with(solver, problem(form, X.astype(np.float64) - 2.0**17), form.outputs, 1e-7)
    there = solve_with(solver, problem(form, X), form.outputs, 1e-6)
    assert_solved(there, 1e-6)
    np.testing.assert_allclose(primal(there), primal(here), rtol=1e-6)


@pytest.mark.parametrize(("solver", "form"), OF_EACH, ids=lambda a: str(getattr(a, "name", a)))
@pytest.mark.parametrize("exponent", [30, 34, 40])
def test_runs_that_cannot_be_more_precise_end_early_and_say_so(
    solver: Solver, form: Form, exponent: int
) -> None:
    X, _ = near(form)
    far = X + 2.0**exponent
    optimum = primal(
        solve_with(solver, problem(form, far - 2.0**exponent), form.outputs, 1e-7, epochs=2000)
    )
    there = solve_with(solver, problem(form, far), form.outputs, 1e-9, epochs=2000)
    for result, best in zip(there, optimum):
        assert result.stop_reason == "no further descent"
        assert len(result.history["objective"]) < 300
        # The proven bound is not above the true optimum.
        assert result.certificate.gap is not None
        assert result.certificate.primal - best <= result.certificate.gap * (1.0 + 1e-6)


def test_the_best_lower_bound_is_kept() -> None:
    """If rounding dominates, the last bound is not the best."""
    X, _ = near(LOGISTIC)
    better = []
    for exponent in range(26, 36):
        objective = problem(LOGISTIC, X + 2.0**exponent)
        found = solve_with(Coordinate(), objective, 1, 1e-12)
        alone = certify(objective, Model.stack([r.model for r in found]))
        better += [r.certificate.dual - c.dual for r, c in zip(found, alone)]
    assert min(better) >= 0.0
    assert max(better) > 0.0


@pytest.mark.parametrize("solver", SOLVERS, ids=name_of)
def test_other_models_and_threads_change_no_bit_with_far_features(
    solver: Solver, threads: None
) -> None:
    form = Form(LOSSES["hinge"], 2, 1) if solver.name == "interior" else LOGISTIC
    X, y = near(form)
    s = np.random.default_rng(1).exponential(1.0, (len(y), 3))
    penalty = ElasticNet(0.0, [0.1, 0.05, 0.01], bias_factor=[0.0, 0.7, 0.0])
    objective = Objective(Dataset.of(X + 2.0**20, y, s), form.loss, penalty)
    together = solve_with(solver, objective, 1, epochs=6)
    alone = [solve_with(solver, objective.select(np.array([m])), 1, epochs=6)[0] for m in range(3)]
    assert_same_bits(alone, together)
    for number in (1, 2):
        set_threads(number)
        assert_same_bits(solve_with(solver, objective, 1, epochs=6), together)


def test_a_dual_value_is_lowered_by_its_possible_rounding_error() -> None:
    X, _ = near(LOGISTIC)
    (here, *_) = solve_with(Newton(), problem(LOGISTIC, X), 1, 1e-12)
    model = Model(np.repeat(here.model.W, 2, axis=1), np.repeat(here.model.b, 2, axis=0))
    for exponent in (20, 30, 40):
        away = 2.0**exponent
        moved = Model(model.W, model.b - away * model.W.sum(axis=0))
        exact = certify(problem(LOGISTIC, X), Model(model.W, moved.b + away * model.W.sum(axis=0)))
        found = certify(problem(LOGISTIC, X + away), moved)
        assert found[0].dual <= exact[0].primal
        assert 0.0 < found[0].gap < 1e-3 * away / 2.0**30


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), dtype=st.sampled_from([np.float64, np.float32, np.int64]))
def test_gram_with_an_origin_equals_gram_of_moved_features(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n, d, P = rng.integers(1, 40), rng.integers(1, 70), rng.integers(1, 6)
    X = rng.integers(-50, 50, (n, d)).astype(np.float64)
    X[rng.random((n, d)) < 0.5] = 0.0
    origin = np.where(rng.random(d) < 0.5, 2.0**22, 0.0)
    full = origin > 0.0
    near_X = X.copy()
    near_X[:, full] += 1.0 * (near_X[:, full] == 0.0)  # entries that are 0 are left out below
    far = (near_X + origin).astype(dtype)
    h = rng.exponential(1.0, (n, P))
    expected = Matrix(near_X).gram(h)
    size = np.abs(expected).max() + 1.0
    for kind in (np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array):
        if dtype is np.int64 and kind not in (np.asarray, np.asfortranarray):
            continue
        found = Matrix(kind(far)).gram(h, origin)
        np.testing.assert_allclose(found, expected, atol=1e-7 * size)
        squares = weighted_squares(Matrix(kind(far)), h, origin)
        np.testing.assert_allclose(squares, weighted_squares(Matrix(near_X), h), atol=1e-7 * size)


def test_the_origin_is_zero_except_for_features_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) + np.array([0.0, 10.0, 1e6, 0.0])
    X[:, 3] = 7.0
    for kind in (np.asarray, sp.csr_array, sp.csc_array):
        origin = Dataset.of(kind(X), np.zeros(200, int)).origin()
        assert origin[:2].tolist() == [0.0, 0.0]
        assert abs(origin[2] - 1e6) < 10.0
        assert origin[3] == 7.0


def test_a_sparse_feature_with_missing_entries_keeps_its_zero() -> None:
    X = np.full((300, 2), 1e6)
    X[150, 0] = 0.0
    for kind in (sp.csr_array, sp.csc_array):
        assert Dataset.of(kind(X), np.zeros(300, int)).origin().tolist() == [0.0, 1e6]
    parts = [Block.of(sp.csr_array(part), np.zeros(len(part), int)) for part in (X[:9], X[9:])]
    assert Dataset(parts, np.arange(1)).origin().tolist() == [0.0, 1e6]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_recentring_changes_neither_scores_nor_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, B, K = rng.integers(1, 9, 4)
    recentring = Recentring(np.round(rng.standard_normal(d) * 64.0), rng.random(B) < 0.7)
    model = Model(rng.standard_normal((d, B, K)), rng.standard_normal((B, K)))
    gradient = Model(rng.standard_normal((d, B, K)), rng.standard_normal((B, K)))
    seen = recentring.apply(model)
    X = rng.standard_normal((n, d))
    there = np.where(
        recentring.free[:, None], seen.scores(Matrix(X - recentring.origin)), seen.scores(Matrix(X))
    )
    np.testing.assert_allclose(there, model.scores(Matrix(X)), atol=1e-10)
    np.testing.assert_allclose(recentring.undo(seen).b, model.b, atol=1e-10)
    slope = recentring.apply_to_gradient(gradient).dot(seen)
    np.testing.assert_allclose(slope, gradient.dot(model), atol=1e-9)
