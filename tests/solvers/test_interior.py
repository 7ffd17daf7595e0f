"""The interior-point solver reaches a proven optimum of every hinge, for any data and C."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from separatrix import LinearSVC
from separatrix.data import Dataset
from separatrix.losses import LOSSES, make_loss
from separatrix.matrix import get_threads, set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Interior
from separatrix.solvers.hinge_terms import is_hinge
from separatrix.training import Result, Stop, run
from separatrix.training.legality import refuse_illegal
from separatrix.verdict.certificate import dual_values
from support.batches import (
    BIASES,
    L2,
    assert_same_bits,
    assert_solved,
    make_data,
    make_objective,
    solve_with,
)
from support.forms import FORMS, Form

HINGES = [form for form in FORMS if is_hinge(form.loss)]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


def solve(objective: Objective, form: Form, tol: float = 1e-9) -> list[Result]:
    return solve_with(Interior(), objective, form.outputs, tol, epochs=60)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("form", HINGES, ids=str)
def test_every_hinge_is_solved_to_a_proven_gap(form: Form, bias: str) -> None:
    assert_solved(solve(make_objective(form, bias=bias), form))


@pytest.mark.parametrize("multiclass", ["ovr", "weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.022, 1.0, 1e2, 1e5])
def test_flowers_are_solved_for_every_c(C: float, multiclass: str) -> None:
    """The features are not scaled, and setosa is linearly separable from the rest."""
    model = LinearSVC(loss="hinge", multiclass=multiclass, C=C, tol=1e-7).fit(X_IRIS, Y_IRIS)
    assert model.solver_ == "interior"
    assert model.certificate_.relative_gap <= 1e-7
    assert model.n_iter_ <= 50


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_libsvm_finds_the_same_hyperplane(C: float) -> None:
    X, y = X_IRIS[50:], Y_IRIS[50:]
    ours = LinearSVC(loss="hinge", C=C, tol=1e-10).fit(X, y)
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    lack = np.maximum(0.0, 1.0 - (2 * y - 3) * theirs.decision_function(X)).mean()
    value = lack + (theirs.coef_**2).sum() / (2.0 * C * len(y))
    assert ours.certificate_.primal <= value * (1.0 + 1e-10)
    if C <= 1.0:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@given(st.sampled_from(HINGES), st.integers(0, 2**32 - 1), st.floats(-6, 6), st.floats(-3, 3))
def test_the_proof_holds_at_every_step(form: Form, seed: int, strength: float, size: float) -> None:
    """No bound is above the optimum, taken from the last step."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 3)) * 10.0**size
    y = rng.permutation(np.arange(25) % form.classes)
    s = rng.integers(0, 3, 25).astype(float)
    data = Dataset.of(X, y, s, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(0.0, [10.0**strength]))
    solver, bounds, values = Interior(), [], []
    state = solver.start(objective, Model.zeros(3, 1, form.outputs))
    for _ in range(12):
        state = solver.step(objective, state)
        bounds.append(dual_values(objective, state.model, state.duals)[0])
        values.append(state.found.value[0])
        if state.done.all():
            break
    assert max(bounds) <= min(values) * (1.0 + 1e-12)
    assert max(bounds) >= min(values) * (1.0 - 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("form", HINGES, ids=str)
def test_a_model_has_the_same_bits_alone_and_in_a_batch_for_any_threads(form: Form) -> None:
    objective = make_objective(form, make_data(form, n=2000, d=12))
    before = get_threads()
    together = solve(objective, form, 1e-6)
    set_threads(1)
    try:
        for m in range(len(L2)):
            alone = solve(objective.select(np.array([m])), form, 1e-6)
            assert_same_bits(alone, together[m : m + 1])
    finally:
        set_threads(before)


@pytest.mark.parametrize("form", HINGES, ids=str)
def test_a_fold_is_the_fit_on_its_rows(form: Form) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % form.classes
    s = (np.arange(40) % 4 != 1).astype(float)
    X[s == 0.0] = 1e200  # rows without weight may have any values
    for data in (Dataset.of(X, y, s), Dataset.of(X[s > 0.0], y[s > 0.0])):
        (found,) = solve(Objective(data, form.loss, ElasticNet(0.0, [0.1])), form)
        assert_solved([found])
        if data.n_samples == 40:
            whole = found
    assert whole.certificate.primal == pytest.approx(found.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("form", HINGES, ids=str)
def test_sparse_data_is_the_same_problem(form: Form) -> None:
    data = make_data(form)
    block = data.only_block()
    sparse = Dataset.of(sp.csr_array(block.X.X), block.y, block.s)
    whole = solve(make_objective(form, data), form)
    split = solve(make_objective(form, sparse), form)
    for a, b in zip(whole, split, strict=True):
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("form", HINGES, ids=str)
def test_factors_are_scales_of_the_features(form: Form) -> None:
    data, f = make_data(form), np.array([1.0, 3.0, 0.1, 1.0])
    block = data.only_block()
    scaled = Dataset.of(block.X.X / f, block.y, block.s)
    with_factors = Objective(data, form.loss, ElasticNet(0.0, L2, f))
    for a, b in zip(solve(with_factors, form), solve(make_objective(form, scaled), form)):
        np.testing.assert_allclose(a.model.W * f[:, None, None], b.model.W, atol=1e-3)
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("form", HINGES, ids=str)
def test_rows_and_columns_of_zeros_are_harmless(form: Form) -> None:
    y = np.arange(20) % form.classes
    for X in (np.zeros((20, 3)), np.eye(20, 3)):
        data = Dataset.of(X, y, np.ones((20, 3)))
        assert_solved(solve(make_objective(form, data), form, 1e-7), 1e-7)


@pytest.mark.parametrize("form", HINGES, ids=str)
def test_collinear_columns_and_huge_scales_are_solved(form: Form) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 3))
    X = np.hstack([X, X[:, :1], X @ [[1.0], [2.0], [-1.0]], np.full((80, 1), 1e4)])
    X[:, 1] *= 1e5
    y = rng.permutation(np.arange(80) % form.classes)
    data = Dataset.of(X, y, np.ones((80, 3)))
    assert_solved(solve(make_objective(form, data), form, 1e-6), 1e-6)


def test_a_common_shift_of_the_start_has_no_effect() -> None:
    """The common shift of all outputs is removed: only the penalty would depend on it."""
    form = next(form for form in HINGES if form.loss.name == "crammer_singer")
    objective = make_objective(form)
    start = Model(np.full((4, 3, form.outputs), 7.0), np.full((3, form.outputs), -3.0))
    for found in solve_with(Interior(), objective, form.outputs, start=start, epochs=60):
        assert found.certificate.relative_gap <= 1e-9
        np.testing.assert_allclose(found.model.W.sum(axis=2), 0.0, atol=1e-9)


def test_a_fixed_bias_stays_where_it_was() -> None:
    form = HINGES[0]
    start = Model(np.zeros((4, 3, 1)), np.full((3, 1), 0.25))
    results = solve_with(Interior(), make_objective(form, bias="fixed"), 1, start=start, epochs=60)
    assert_solved(results)
    assert all(r.model.b == 0.25 for r in results)


def test_other_margins() -> None:
    for margin in (1e-3, 7.0):
        loss = make_loss("hinge", margin)
        objective = Objective(make_data(HINGES[0]), loss, ElasticNet(0.0, L2))
        assert_solved(solve_with(Interior(), objective, 1, epochs=60))


def test_interior_resumes_from_a_checkpoint_bit_for_bit() -> None:
    form = next(form for form in HINGES if form.outputs == 3)
    objective, start = make_objective(form), Model.zeros(4, 3, 3)
    stop = Stop(epochs=((30,),) * 3, tol=np.full(3, 1e-9))
    taken: list[dict[str, np.ndarray]] = []
    whole = run(
        Interior(), objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint())
    )
    for arrays in taken:
        again = run(Interior(), objective, start, stop, resume=arrays)
        for [a], [b] in zip(whole, again, strict=True):
            np.testing.assert_array_equal(a.model.W, b.model.W)
            np.testing.assert_array_equal(a.model.b, b.model.b)


def test_a_tolerance_below_rounding_ends_and_keeps_the_model() -> None:
    form = HINGES[0]
    for found in solve(make_objective(form), form, 1e-30):
        assert found.stop_reason == "no further descent"
        assert found.certificate.relative_gap <= 1e-9


@pytest.mark.slow
@pytest.mark.data("libsvm/a9a")
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_a_census_is_solved_for_small_and_large_c(data_dir, C: float) -> None:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(data_dir / "libsvm/a9a"))
    model = LinearSVC(loss="hinge", C=C, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_iter_ <= 50


def test_problems_that_interior_cannot_solve_are_refused_with_the_solvers_that_can() -> None:
    with pytest.raises(ValueError, match=r"interior needs l2 > 0\."):
        refuse_illegal("interior", LOSSES["hinge"], 0.0, 0.0)
    with pytest.raises(ValueError, match=r"interior needs the hinge .* accept it: .*newton"):
        refuse_illegal("interior", LOSSES["logistic"], 0.0, 0.1)
    with pytest.raises(ValueError, match=r"interior needs the hinge .* accept it: .*dual"):
        refuse_illegal("interior", LOSSES["perceptron"], 0.0, 0.1)
