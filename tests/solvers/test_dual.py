"""The dual solver: its optimum, its duality gap, and bits that depend on the model only."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.svm import SVC, LinearSVC

from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES, make_loss
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS, Dual, Interior, Newton
from separatrix.solvers.dual import has_dual_form
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
from support.layouts import random_csr

DUAL = [form for form in FORMS if has_dual_form(form.loss) and form.loss.name[:5] != "perce"]
BINARY = [form for form in DUAL if form.outputs == 1]
ENTROPIES = [
    form for form in DUAL if isinstance(getattr(form.loss, "base", form.loss), CrossEntropy)
]


def form_of(name: str, outputs: int) -> Form:
    return next(form for form in DUAL if form.loss.name == name and form.outputs == outputs)


def solve(
    objective: Objective,
    outputs: int,
    tol: float = 1e-9,
    solver: Dual | None = None,
    **options: Any,
) -> list[Result]:
    return solve_with(solver or Dual(), objective, outputs, tol, **options)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_every_loss_is_solved_to_a_proven_gap(form: Form, bias: str) -> None:
    objective = make_objective(form, bias=bias)
    results = solve(objective, form.outputs)
    assert_solved(results)
    if form.loss.smooth:
        start = Model.zeros(4, 3, form.outputs)
        stop = Stop(epochs=((3000,),) * 3, tol=np.full(3, 1e-9))
        for ours, [theirs] in zip(results, run(LBFGS(), objective, start, stop)):
            assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=2e-9)
            np.testing.assert_allclose(ours.model.W, theirs.model.W, atol=2e-3)


@pytest.mark.parametrize("bias", ["fixed", "penalised"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_liblinear_finds_the_same_model(loss: str, bias: str) -> None:
    form = form_of(loss, 1)
    data = make_data(form)
    block = data.only_block()
    factor = {"fixed": None, "penalised": 1.0}[bias]
    penalty = ElasticNet(0.0, L2) if factor is None else ElasticNet(0.0, L2, bias_factor=factor)
    results = solve(Objective(data, form.loss, penalty, bias=bias != "fixed"), 1)
    for m, result in enumerate(results):
        s = block.weights[:, m].copy()
        theirs = LinearSVC(
            loss=loss, C=1.0 / (L2[m] * s.sum()), tol=1e-10, max_iter=10**6, dual=True,
            fit_intercept=bias != "fixed",
        ).fit(block.X.X, block.y, s)  # fmt: skip
        np.testing.assert_allclose(result.model.W[:, 0, 0], theirs.coef_[0], atol=1e-4)
        np.testing.assert_allclose(result.model.b[0], theirs.intercept_, atol=1e-4)


def test_libsvm_finds_the_same_free_bias() -> None:
    form = form_of("hinge", 1)
    data = make_data(form)
    block = data.only_block()
    for m, result in enumerate(solve(Objective(data, form.loss, ElasticNet(0.0, L2)), 1)):
        s = block.weights[:, m].copy()
        theirs = SVC(kernel="linear", C=1.0 / (L2[m] * s.sum()), tol=1e-10)
        theirs.fit(block.X.X, block.y, s)
        np.testing.assert_allclose(result.model.W[:, 0, 0], theirs.coef_[0], atol=1e-4)
        value = (
            make_objective(form, data)
            .select(np.array([m]))
            .value(Model(theirs.coef_.T[:, :, None].copy(), theirs.intercept_[:, None].copy()))
        )
        assert result.certificate.primal <= value[0] * (1.0 + 1e-9)


@pytest.mark.parametrize("C", [1e4, 1e-4])
@pytest.mark.parametrize("form", BINARY, ids=str)
def test_large_and_small_c(form: Form, C: float) -> None:
    """Dual ascent is slow on rows with a large C |x|^2, so there are few rows with small values."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((40, 3))
    y = (X[:, 0] + 0.05 * rng.standard_normal(40) > 0).astype(int)
    penalty = ElasticNet(0.0, [1.0 / (C * 40)])
    assert_solved(solve(Objective(Dataset.of(X, y), form.loss, penalty), 1))


@pytest.mark.slow
@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_a_model_has_the_same_bits_alone_and_in_a_batch(form: Form, dense: bool) -> None:
    data = make_data(form, n=50, d=30, dense=dense)
    objective = make_objective(form, data)
    together = solve(objective, form.outputs, tol=1e-6)
    for m in range(len(L2)):
        alone = solve(objective.select(np.array([m])), form.outputs, tol=1e-6)
        assert_same_bits(alone, together[m : m + 1])


@pytest.mark.slow
@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge", "softmax"])
def test_wide_batches_have_the_bits_of_single_models_for_any_number_of_threads(
    name: str, single: bool, instruction_set: str, threads: None
) -> None:
    """Hard models get narrow tasks, the others wide ones; the last models take Newton steps."""
    form = form_of(name, 3 if name == "softmax" else 1)
    rng = np.random.default_rng(1)
    B = 37
    X = random_csr(300, 80, 0.1, rng)
    y = rng.integers(0, form.classes, 300)
    s = rng.integers(0, 3, (300, B)).astype(float)
    penalty = ElasticNet(0.0, np.geomspace(1.0, 1e-5, B))
    objective = Objective(Dataset.of(X, y, s), form.loss, penalty)

    def models(some: Objective) -> list[Result]:
        dual = Dual(single=single, goal=1e-5)
        return solve(some, form.outputs, tol=1e-5, solver=dual, epochs=3)

    set_threads(1)
    one = models(objective)
    set_threads(3)
    assert_same_bits(models(objective), one)
    for m in (0, 17, 36):
        assert_same_bits(models(objective.select(np.array([m]))), one[m : m + 1])


def text_like(n: int = 2000, d: int = 3000, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Short texts with some frequent words, and labels that depend on some of the words."""
    rng = np.random.default_rng(seed)
    words = np.minimum((d * rng.random((n, 15)) ** 3).astype(int), d - 1)
    rows = np.repeat(np.arange(n), 15)
    X = sp.csr_array((rng.random(15 * n) + 0.5, (rows, words.ravel())), shape=(n, d))
    X.sum_duplicates()
    X /= np.sqrt(X.multiply(X).sum(axis=1))[:, None]
    return X.tocsr(), (X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("standardised", [True, False], ids=["factors", "plain"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
def test_newton_steps_on_the_duals_solve_weak_penalties(
    single: bool, bias: str, standardised: bool, instruction_set: str
) -> None:
    """Visits to single rows alone needed 6 or 7 steps of 20 epochs each, with factors."""
    X, y = text_like()
    n, d = X.shape
    s = np.ones((n, 3))
    s[::5, 1], s[1::5, 2] = 0.0, 2.0
    f = 0.5 + np.arange(d) % 7 / 7.0 if standardised else None
    factor = {"bias_factor": 0.5} if bias == "penalised" else {}
    penalty = ElasticNet(0.0, [1.0 / (1e4 * n)] * 3, f, **factor)
    objective = Objective(Dataset.of(X, y, s), LOSSES["logistic"], penalty, bias=bias != "fixed")
    results = solve(objective, 1, tol=1e-6, solver=Dual(single=single, goal=1e-6))
    assert_solved(results, 1e-6)
    theirs = solve_with(Newton(), objective, 1, 1e-9)
    for ours, other in zip(results, theirs):
        assert ours.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)
        assert ours.history.epochs <= 10


@pytest.mark.slow
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_dual_solves_every_loss_on_every_instruction_set(form: Form, instruction_set: str) -> None:
    assert_solved(solve(make_objective(form), form.outputs, tol=1e-7), 1e-7)
    sparse = make_objective(form, make_data(form, n=40, d=23, dense=False))
    assert_solved(solve(sparse, form.outputs, tol=1e-7), 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("form", DUAL, ids=str)
@given(seed=st.integers(0, 2**32 - 1), folds=st.booleans(), goal=st.sampled_from([1e-1, 1e-4]))
@settings(max_examples=4, deadline=None)
def test_duals_stay_in_their_domain_and_bound_the_optimum_at_every_step(
    form: Form, seed: int, folds: bool, goal: float
) -> None:
    data = make_data(form, n=30, seed=seed)
    if folds:
        block = data.only_block()
        s = (np.arange(30)[:, None] % 3 != np.arange(3)).astype(float)
        data = Dataset([Block(block.X, block.y, s)], data.classes)
    objective = make_objective(form, data)
    other = Newton() if form.loss.smooth else Interior()
    results = solve_with(other, objective, form.outputs, epochs=100)
    best = np.array([r.certificate.primal for r in results])
    solver = Dual(seed=seed, goal=goal, epochs=2)
    state = solver.start(objective, Model.zeros(4, 3, form.outputs))
    block = data.only_block()
    for _ in range(4):
        state = solver.step(objective, state)
        assert np.isfinite(form.loss.conjugate(block.y, state.duals[0])).all()
        bound = dual_values(objective, state.model, state.duals)
        assert (bound <= best * (1.0 + 1e-12)).all()
        assert (state.found.value >= best * (1.0 - 1e-9)).all()


@pytest.mark.parametrize("form", DUAL, ids=str)
def test_a_fold_is_the_fit_on_its_rows(form: Form) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 4))
    y = rng.integers(0, form.classes, 60)
    kept = np.arange(60)[:, None] % 3 != np.arange(3)
    penalty = ElasticNet(0.0, [0.1, 0.1, 0.1])
    folds = solve(Objective(Dataset.of(X, y, kept.astype(float)), form.loss, penalty), form.outputs)
    assert_solved(folds)
    for m, fold in enumerate(folds):
        data = Dataset.of(X[kept[:, m]], y[kept[:, m]], classes=np.arange(form.classes))
        objective = Objective(data, form.loss, ElasticNet(0.0, [0.1]))
        (part,) = solve(objective, form.outputs)
        np.testing.assert_allclose(fold.model.W, part.model.W, atol=1e-3)
        assert fold.certificate.primal == pytest.approx(part.certificate.primal, rel=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize("per_model", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", ["logistic", "hinge", "softmax", "crammer_singer"])
def test_factors_are_scales_of_the_features(name: str, bias: str, per_model: bool) -> None:
    form = form_of(name, 1 if name in ("logistic", "hinge") else 3)
    data = make_data(form, dense=False, d=9)
    block = data.only_block()
    f = np.geomspace(0.3, 4.0, 9)
    options = {k: v for k, v in BIASES[bias].items() if k != "bias"}
    factors = np.stack([f, f, f], axis=1) if per_model else f
    penalty = ElasticNet(0.0, L2, factors, **options)
    ours = solve(Objective(data, form.loss, penalty, bias=bias != "fixed"), form.outputs)
    assert_solved(ours)
    scaled = Dataset.of(block.X.X / f, block.y, block.s)
    theirs = solve(make_objective(form, scaled, bias), form.outputs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(f[:, None, None] * a.model.W, b.model.W, atol=1e-3)
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_dense_and_sparse_data_have_the_same_optimum(form: Form) -> None:
    data = make_data(form, n=40, d=12)
    block = data.only_block()
    dense = solve(make_objective(form, data), form.outputs)
    for kind in (sp.csr_array, sp.csc_array):
        sparse = Dataset.of(kind(block.X.X), block.y, block.s)
        for a, b in zip(dense, solve(make_objective(form, sparse), form.outputs)):
            assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)
            np.testing.assert_allclose(a.model.W, b.model.W, atol=1e-3)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_csc_is_read_like_csr_without_another_copy(dtype: type, single: bool) -> None:
    """The solver's copy is the only one, whether X is by samples, by features or unsorted."""
    rng = np.random.default_rng(5)
    X = random_csr(500, 2000, 0.02, rng)
    X.data = rng.integers(1, 5, X.nnz).astype(dtype)
    y = (X[:, :40].sum(axis=1) > np.median(X[:, :40].sum(axis=1))).astype(np.int32)
    mixed = X[:, ::-1].tocsr()
    mixed.indices = 1999 - mixed.indices
    found = []
    for layout in (X, X.tocsc(), sp.csr_array((mixed.data, mixed.indices, mixed.indptr), X.shape)):
        data = Dataset.of(layout, y)
        objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, [0.05, 0.001]))
        solver, model = Dual(single=single), Model.zeros(2000, 2, 1, data.dtype)
        state = solver.start(objective, model)
        for _ in range(12):
            state = solver.step(objective, state)
        found.append(state.model.W)
        native = data.only_block().X.native
        assert native.has_samples != native.has_features
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[2], found[0], atol=1e-4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_dense_data_of_any_type_is_read(order: str, dtype: type, share: float) -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((70, 11)) < share) * rng.integers(1, 4, (70, 11))
    X = np.asarray(X.astype(dtype), order=order)[:, ::-1]
    y = rng.integers(0, 2, 70)
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, [0.05]))
    plain = Objective(Dataset.of(X.astype(float), y), LOSSES["logistic"], ElasticNet(0.0, [0.05]))
    np.testing.assert_allclose(
        solve(objective, 1)[0].model.W, solve(plain, 1)[0].model.W, atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_single_precision_still_proves_a_small_gap(form: Form) -> None:
    objective = make_objective(form)
    tol = 1e-9 if form.loss.smooth else 1e-5
    assert_solved(solve(objective, form.outputs, tol, Dual(single=True)), tol)
    block = objective.data.only_block()
    floats = Dataset.of(block.X.X.astype(np.float32), block.y, block.s)
    start = Model.zeros(4, 3, form.outputs, np.float32)
    results = solve(make_objective(form, floats), form.outputs, tol=1e-5, start=start)
    assert_solved(results, 1e-5)
    assert results[0].model.W.dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_rows_and_columns_of_zeros_are_harmless(form: Form, bias: str) -> None:
    data = make_data(form)
    block = data.only_block()
    X = np.array(block.X.X)
    X[::5] = 0.0
    X[:, 2] = 0.0
    results = solve(make_objective(form, Dataset.of(X, block.y, block.s), bias), form.outputs)
    assert_solved(results)
    assert all((r.model.W[2] == 0.0).all() for r in results)


@pytest.mark.parametrize("bias", ["fixed", "penalised"])
@pytest.mark.parametrize("form", DUAL, ids=str)
def test_an_empty_matrix_leaves_only_the_bias(form: Form, bias: str) -> None:
    y = np.arange(20) % form.classes
    data = Dataset.of(np.zeros((20, 3)), y, np.ones((20, 3)))
    results = solve(make_objective(form, data, bias), form.outputs, tol=1e-6)
    assert_solved(results, 1e-6)
    assert all((r.model.W == 0.0).all() for r in results)


@pytest.mark.parametrize("form", DUAL, ids=str)
def test_a_weight_of_two_is_a_row_given_twice(form: Form) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 3))
    y = rng.integers(0, form.classes, 30)
    s = rng.integers(0, 4, 30)
    penalty = ElasticNet(0.0, [0.1])
    classes = np.arange(form.classes)
    weighed = Dataset.of(X, y, s.astype(float), classes=classes)
    repeated = Dataset.of(np.repeat(X, s, axis=0), np.repeat(y, s), classes=classes)
    (a,), (b,) = (
        solve(Objective(data, form.loss, penalty), form.outputs) for data in (weighed, repeated)
    )
    assert_solved([a, b])
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)
    np.testing.assert_allclose(a.model.W, b.model.W, atol=1e-3)


@pytest.mark.parametrize("form", DUAL, ids=str)
def test_a_model_whose_rows_are_of_one_class_ends_near_zero_loss(form: Form) -> None:
    """Its bias may grow without limit, and the other model of the batch is not affected."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 3))
    y = rng.permutation(np.arange(30) % form.classes)
    s = np.stack([np.ones(30), (y == 1).astype(float)], axis=1)
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, [0.1, 0.1]))
    good, lone = solve(objective, form.outputs, epochs=8)
    assert good.certificate.relative_gap <= 1e-6
    assert np.isfinite(lone.model.W).all()
    assert np.isfinite(lone.model.b).all()
    assert lone.certificate.primal < 0.1 * form.loss.value(y[:1], np.zeros((1, 1, form.outputs)))


def test_rows_sorted_by_class_do_not_stall_it() -> None:
    rng = np.random.default_rng(6)
    y = np.sort(rng.integers(0, 2, 400))
    X = rng.standard_normal((400, 5)) + y[:, None]
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, [0.1]))
    (found,) = solve(objective, 1, solver=Dual(goal=1e-6, epochs=12), epochs=1)
    assert found.certificate.relative_gap <= 1e-5


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_rows_that_were_skipped_are_visited_again_before_the_gap_is_computed(name: str) -> None:
    """Most rows of an easy problem are skipped, and it still reaches its optimum."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((3000, 6))
    y = (X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(3000) > 0).astype(int)
    objective = Objective(Dataset.of(X, y), LOSSES[name], ElasticNet(0.0, [1e-3]))
    (found,) = solve(objective, 1, epochs=2000)
    assert_solved([found])


@pytest.mark.parametrize("margin", [0.25, 3.0])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "crammer_singer"])
def test_other_margins(name: str, margin: float) -> None:
    loss = make_loss(name, margin)
    outputs = loss.n_outputs(3)
    data = make_data(Form(loss, 3, outputs))
    assert_solved(solve(Objective(data, loss, ElasticNet(0.0, L2)), outputs))


@pytest.mark.parametrize("name", ["logistic", "hinge", "softmax"])
def test_dual_resumes_from_a_checkpoint_bit_for_bit(name: str) -> None:
    form = form_of(name, 3 if name == "softmax" else 1)
    objective = make_objective(form)
    start = Model.zeros(4, 3, form.outputs)
    stop = Stop(epochs=((12,),) * 3, tol=np.full(3, 1e-9))
    solver = Dual(goal=0.1, epochs=2)
    taken: list[dict[str, np.ndarray]] = []
    whole = run(solver, objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint()))
    for arrays in taken:
        again = run(solver, objective, start, stop, resume=arrays)
        for [a], [b] in zip(whole, again):
            np.testing.assert_array_equal(a.model.W, b.model.W)
            np.testing.assert_array_equal(a.model.b, b.model.b)
            assert (a.stop_reason, a.history.epochs) == (b.stop_reason, b.history.epochs)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("form", ENTROPIES, ids=str)
def test_the_bound_after_a_float32_step_equals_the_bound_of_its_duals(
    form: Form, bias: str
) -> None:
    objective = make_objective(form, bias=bias)
    solver, block = Dual(single=True, epochs=2), objective.data.only_block()
    state = solver.start(objective, Model.zeros(4, 3, form.outputs))
    for _ in range(3):
        state = solver.step(objective, state)
        assert state.pull is not None
        if bias == "free":
            sums = block.weighted_sum(state.duals[0]) * objective.scale(3)[:, None]
            assert np.abs(sums).max() < 1e-15
        V = block.transpose_times(state.duals[0], objective.scale(3))
        np.testing.assert_allclose(state.pull, objective.penalty.conjugate(V), rtol=1e-14)
        np.testing.assert_allclose(
            dual_values(objective, state.model, state.duals, state.pull),
            dual_values(objective, state.model, state.duals),
            rtol=1e-13,
        )


def test_the_duals_of_many_rows_are_balanced_to_the_last_digits() -> None:
    rng = np.random.default_rng(3)
    n = 60_000
    X = random_csr(n, 40, 0.1, rng)
    y = (X @ rng.standard_normal(40) + rng.standard_normal(n) > 0.5).astype(int)
    s = rng.exponential(1.0, (n, 2))
    data = Dataset.of(X, y, s)
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, [1e-2, 1e-5]))
    solver = Dual(single=True, epochs=2)
    state = solver.step(objective, solver.start(objective, Model.zeros(40, 2, 1)))
    flows = s * state.duals[0][:, :, 0]
    for b in range(2):
        assert abs(fsum(flows[:, b])) < 1e-16 * np.abs(flows[:, b]).sum()


@pytest.mark.slow
def test_a_fit_that_cannot_converge_reports_its_gap() -> None:
    rng = np.random.default_rng(29)
    X = sp.csr_array(rng.uniform(-100.0, 100.0, (130, 2)))
    y = rng.integers(0, 5, 130)
    objective = Objective(Dataset.of(X, y), LOSSES["softmax"], ElasticNet(0.0, 1e-9))
    [best] = solve_with(Newton(), objective, 5, tol=1e-8)
    [found] = solve(objective, 5, epochs=3)
    assert found.stop_reason == "epochs"
    assert found.certificate.dual <= best.certificate.primal <= found.certificate.primal


@pytest.mark.parametrize("form", ENTROPIES, ids=str)
def test_a_class_without_weight_leaves_nothing_to_balance(form: Form) -> None:
    data = make_data(form)
    block = data.only_block()
    s = block.s * (block.y == 1)[:, None]
    objective = make_objective(form, Dataset([Block(block.X, block.y, s)], data.classes))
    solver = Dual(single=True)
    state = solver.step(objective, solver.start(objective, Model.zeros(4, 3, form.outputs)))
    assert np.abs(objective.data.only_block().weighted_sum(state.duals[0])).max() == 0.0
    assert (dual_values(objective, state.model, state.duals, state.pull) >= 0.0).all()


def test_orthogonal_rows_are_optimal_after_two_visits() -> None:
    C = 10.0 ** np.arange(-2, 9)
    l2 = 1.0 / (C * 8)
    data = Dataset.of(sp.csr_array(np.eye(8)), np.arange(8) % 2)
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, l2), bias=False)
    solver = Dual(single=True, epochs=2, goal=1e-12)
    state = solver.step(objective, solver.start(objective, Model.zeros(8, len(C), 1)))
    for b, strength in enumerate(C):
        # w maximises log sigma(w) - w^2 / (2 C).
        w = brentq(lambda w: strength / (1.0 + np.exp(w)) - w, 0.0, 50.0)  # noqa: B023
        np.testing.assert_allclose(np.abs(state.model.W[:, b]), w, rtol=2e-3)


def test_a_fixed_bias_stays_where_it_was() -> None:
    form = form_of("hinge", 1)
    objective = make_objective(form, bias="fixed")
    start = Model(np.zeros((4, 3, 1)), np.full((3, 1), 0.25))
    results = solve(objective, 1, start=start)
    assert_solved(results)
    assert all(r.model.b == 0.25 for r in results)


def test_different_seeds_reach_the_same_optimum() -> None:
    objective = make_objective(form_of("logistic", 1))
    a, b = (solve(objective, 1, solver=Dual(seed=seed))[2] for seed in (0, 1))
    assert (a.model.W != b.model.W).any()
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-9)


def test_the_goal_saves_gap_checks() -> None:
    objective = make_objective(form_of("logistic", 1))
    far = solve(objective, 1, tol=1e-8, solver=Dual(goal=1e-8))
    near = solve(objective, 1, tol=1e-8, solver=Dual(goal=0.1))
    assert max(r.history.epochs for r in far) < min(r.history.epochs for r in near)


def test_problems_that_dual_cannot_solve_are_refused_with_the_solvers_that_can() -> None:
    with pytest.raises(ValueError, match=r"dual needs l2 > 0\. .* accept it: .*lbfgs"):
        refuse_illegal("dual", LOSSES["logistic"], 0.0, 0.0)
    with pytest.raises(ValueError, match="dual needs l1 = 0"):
        refuse_illegal("dual", LOSSES["hinge"], 0.1, 0.1)
    with pytest.raises(ValueError, match="dual needs a compiled loss with a dual form"):
        refuse_illegal("dual", LOSSES["squared"], 0.0, 0.1)


def test_a_free_bias_has_converged_after_a_step() -> None:
    rng = np.random.default_rng(6)
    X = random_csr(9_000, 60, 0.1, rng)
    X.data[:] = rng.standard_normal(X.nnz)
    y = (X @ rng.standard_normal(60) + rng.standard_normal(9_000) > 0.5).astype(int)
    s = rng.exponential(1.0, (9_000, 2))
    objective = Objective(Dataset.of(X, y, s), LOSSES["logistic"], ElasticNet(0.0, [0.1, 1e-3]))
    solver = Dual(goal=1e-3)
    state = solver.step(objective, solver.start(objective, Model.zeros(60, 2, 1)))
    curvature = objective.hessian_operator(state.model).diagonal().b
    lost = state.found.gb**2 / (2.0 * curvature) / state.found.value[:, None]
    assert lost.max() < 0.1 * solver.goal


@pytest.mark.parametrize("single", [False, True])
def test_many_classes_reach_the_optimum_of_other_solvers_in_every_batch(single: bool) -> None:
    random = np.random.default_rng(1)
    y = np.r_[np.arange(40), random.integers(0, 40, 760)]
    X = random.standard_normal((40, 6))[y] + random.standard_normal((800, 6))
    s = random.integers(1, 3, (800, 2)).astype(float)
    data = Dataset.of(X, y, s)
    objective = Objective(data, LOSSES["softmax"], ElasticNet(0.0, [1e-3, 1e-2]))
    tol = 1e-6 if single else 1e-9
    found = solve(objective, 40, tol, Dual(single=single))
    for b, (result, other) in enumerate(zip(found, solve_with(LBFGS(), objective, 40, 1e-9))):
        assert result.stop_reason == "tol"
        assert result.certificate.dual <= other.certificate.primal * (1.0 + 1e-12)
        assert result.certificate.primal <= other.certificate.primal * (1.0 + 2.0 * tol)
        [alone] = solve(objective.select(np.array([b])), 40, tol, Dual(single=single))
        np.testing.assert_array_equal(alone.model.W, result.model.W)
        assert alone.certificate == result.certificate
