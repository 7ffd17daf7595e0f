"""The coordinate solver reaches the optimum of every smooth convex loss under every penalty."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression

import separatrix
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS, Coordinate
from separatrix.training import Progress, Result, Stop, run
from separatrix.training.legality import refuse_illegal
from separatrix.verdict.certificate import certify
from support.forms import FORMS, Form
from support.scikit_learn import elastic_net

SMOOTH = [form for form in FORMS if form.loss.smooth and form.loss.convex]
LOGISTIC = next(form for form in SMOOTH if form.loss.name == "logistic")
SOFTMAX = next(form for form in SMOOTH if form.loss.name == "softmax" and form.outputs == 3)
# One form for each kind of coupling between outputs.
KINDS = [LOGISTIC, SOFTMAX] + [
    form
    for form in SMOOTH
    if str(form) in ("squared_hinge K=3", "squared K=3", "logistic one-vs-rest K=3")
]
PENALTIES = {"l1": (0.03, 0.0), "elastic net": (0.02, 0.03), "l2": (0.0, 0.04), "none": (0.0, 0.0)}
# Whether the Hessian is explicit, or applied by the columns of X.
HOLDERS = {"written out": Coordinate(), "by columns": Coordinate(order=0)}
every_form = pytest.mark.parametrize("form", SMOOTH, ids=str)
every_kind = pytest.mark.parametrize("form", KINDS, ids=str)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES)
every_holder = pytest.mark.parametrize("holder", HOLDERS)
LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every other row and column": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "CSC, long indices": lambda X: _long(sp.csc_array(X)),
}
N, D = 60, 5


def _long(X: sp.csc_array) -> sp.csc_array:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def rows(form: Form, seed: int = 0, n: int = N, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    """X with some zeros, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % form.classes)
    X = rng.standard_normal((n, d)) + 0.7 * np.eye(form.classes, d)[y]
    return np.where(rng.random((n, d)) < 0.3, 0.0, X), y


def problem(form: Form, penalty: ElasticNet, *, seed: int = 0, B: int = 1) -> Objective:
    """B models with separate sample weights."""
    X, y = rows(form, seed)
    s = np.random.default_rng(seed + 1).exponential(1.0, (N, B))
    return Objective(Dataset.of(X, y, s, classes=np.arange(form.classes)), form.loss, penalty)


def solve(
    objective: Objective,
    outputs: int,
    holder: str = "written out",
    *,
    B: int = 1,
    start: Model | None = None,
    tol: float = 1e-10,
    epochs: int = 300,
) -> list[Result]:
    start = Model.zeros(objective.data.n_features, B, outputs) if start is None else start
    stop = Stop(epochs=((epochs,),) * B, tol=np.full(B, tol))
    return [found for [found] in run(HOLDERS[holder], objective, start, stop)]


def lowest(objective: Objective, outputs: int) -> float:
    """The optimum of one model by scipy: W = P - Q with P, Q >= 0, so that |W| is P + Q."""
    d, penalty = objective.data.n_features, objective.penalty
    l1 = float(penalty.l1[0]) * (np.ones(d) if penalty.factors is None else penalty.factors.ravel())
    size, threshold = d * outputs, np.repeat(l1, outputs)

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        W = np.ascontiguousarray((v[:size] - v[size : 2 * size]).reshape(d, 1, outputs))
        found = objective.evaluate(Model(W, v[2 * size :][None].copy()))
        GW = (found.GW + penalty.gradient(W)).ravel()
        smooth = float(found.value[0]) - float(threshold @ np.abs(W).ravel())
        total = smooth + float(threshold @ (v[:size] + v[size : 2 * size]))
        return total, np.concatenate([GW + threshold, threshold - GW, found.gb.ravel()])

    bounds = [(0.0, None)] * (2 * size) + [(None, None)] * outputs
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-13, "maxcor": 50}
    start = np.zeros(2 * size + outputs)
    return float(minimize(value, start, jac=True, bounds=bounds, options=options).fun)


def violation(objective: Objective, model: Model) -> float:
    """The largest violation of the optimality conditions over all weights and biases of a model."""
    found, penalty = objective.evaluate(model), objective.penalty
    slope = found.GW + penalty.gradient(model.W)
    f = 1.0 if penalty.factors is None else penalty.factors.reshape(len(slope), -1, 1)
    l1 = penalty.l1[None, :, None] * f
    misses = np.where(
        model.W == 0.0, np.maximum(np.abs(slope) - l1, 0.0), slope + l1 * np.sign(model.W)
    )
    return max(float(np.abs(misses).max(initial=0.0)), float(np.abs(found.gb).max()))


@pytest.mark.slow
@every_form
@every_penalty
def test_every_loss_and_penalty_reaches_the_optimum(form: Form, penalty: str) -> None:
    objective = problem(form, ElasticNet(*PENALTIES[penalty]))
    block = objective.data.only_block()
    expected = lowest(objective, form.outputs)
    for case in product(HOLDERS, ["C order", "CSR"]):
        holder, layout = case
        X = LAYOUTS[layout](block.X.X)
        data = Dataset.of(X, block.y, block.s, classes=objective.data.classes)
        objective = Objective(data, form.loss, objective.penalty)
        (found,) = solve(objective, form.outputs, holder)
        assert found.stop_reason == "tol", case
        assert found.certificate.primal == pytest.approx(expected, rel=1e-9), case
        assert violation(objective, found.model) < 1e-5, case
        assert np.diff(found.history["objective"]).max(initial=0.0) <= 1e-14, case
        if penalty != "none":
            assert found.certificate.relative_gap <= 1e-10, case


@every_holder
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int32, bool])
def test_every_layout_and_type_is_read(holder: str, layout: str, dtype: type) -> None:
    X, y = rows(LOGISTIC)
    X = np.round(3 * X).astype(dtype)
    penalty = ElasticNet(0.01, 0.01)
    plain = Objective(Dataset.of(X.astype(np.float64), y), LOGISTIC.loss, penalty)
    given = Objective(Dataset.of(LAYOUTS[layout](X), y), LOGISTIC.loss, penalty)
    for expected, found in zip(solve(plain, 1, holder), solve(given, 1, holder)):
        assert found.model.W.dtype == np.float64
        np.testing.assert_allclose(found.model.W, expected.model.W, rtol=1e-7, atol=1e-12)


@every_holder
def test_coordinate_agrees_with_scikit_learn(holder: str) -> None:
    X, y = rows(LOGISTIC, n=200)
    for ratio in (0.0, 0.4, 1.0):
        theirs = LogisticRegression(
            C=0.5, solver="saga", tol=1e-12, max_iter=100_000, **elastic_net(ratio)
        ).fit(X, y)
        l1, l2 = ratio / (0.5 * len(y)), (1 - ratio) / (0.5 * len(y))
        objective = Objective(Dataset.of(X, y), LOGISTIC.loss, ElasticNet(l1, l2))
        (found,) = solve(objective, 1, holder)
        np.testing.assert_allclose(found.model.W[:, 0, 0], theirs.coef_[0], atol=1e-6)
        np.testing.assert_allclose(found.model.b[0], theirs.intercept_, atol=1e-6)


@every_kind
@every_holder
def test_without_l1_coordinate_agrees_with_lbfgs(form: Form, holder: str) -> None:
    objective = problem(form, ElasticNet(0.0, 0.05))
    (found,) = solve(objective, form.outputs, holder, tol=1e-12)
    stop = Stop(epochs=((5000,),), tol=np.array([1e-12]))
    [[other]] = run(LBFGS(), objective, Model.zeros(D, 1, form.outputs), stop)
    np.testing.assert_allclose(found.model.W, other.model.W, atol=1e-5)


@every_kind
@every_holder
def test_a_model_has_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads(
    form: Form, holder: str, threads: None
) -> None:
    B = 5
    l1, l2 = np.array([0.1, 0.03, 0.01, 0.0, 0.02]), np.array([0.0, 0.01, 0.0, 0.03, 0.1])
    objective = problem(form, ElasticNet(l1, l2), B=B)
    set_threads(3)
    together = solve(objective, form.outputs, holder, B=B)
    set_threads(1)
    for m in range(B):
        (alone,) = solve(objective.select(np.array([m])), form.outputs, holder)
        np.testing.assert_array_equal(alone.model.W, together[m].model.W)
        np.testing.assert_array_equal(alone.model.b, together[m].model.b)
        assert alone.history.epochs == together[m].history.epochs


@pytest.mark.parametrize("form", [LOGISTIC, SOFTMAX], ids=str)
def test_slabs_of_many_rows_have_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads(
    form: Form, threads: None
) -> None:
    X, y = rows(form, n=5000, d=80)
    penalty = ElasticNet([0.01, 0.003], 0.0)
    objective = Objective(Dataset.of(sp.csr_array(X), y), form.loss, penalty)
    found = {}
    for count in (1, 3):
        set_threads(count)
        found[count] = solve(objective.select(np.array([1])), form.outputs, "by columns")[0]
    together = solve(objective, form.outputs, "by columns", B=2)[1]
    for other in (found[3], together):
        np.testing.assert_array_equal(found[1].model.W, other.model.W)
    assert found[1].certificate.relative_gap <= 1e-10
    assert found[1].history.epochs <= 50  # leaving out a slab would cost many more


@every_holder
def test_models_in_groups_have_the_same_bits(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = problem(SOFTMAX, ElasticNet([0.1, 0.03, 0.01], 0.01), B=3)
    whole = solve(objective, SOFTMAX.outputs, holder, B=3)
    monkeypatch.setattr("separatrix.solvers.coordinate.NUMBERS_AT_ONCE", 1)
    for one, other in zip(whole, solve(objective, SOFTMAX.outputs, holder, B=3)):
        np.testing.assert_array_equal(one.model.W, other.model.W)


@every_kind
@every_holder
def test_a_fold_is_a_fit_on_its_rows(form: Form, holder: str) -> None:
    X, y = rows(form)
    kept = np.random.default_rng(2).random(N) < 0.7
    penalty, classes = ElasticNet(0.02, 0.01), np.arange(form.classes)
    fold = Objective(Dataset.of(X, y, kept.astype(float), classes=classes), form.loss, penalty)
    part = Objective(Dataset.of(X[kept], y[kept], classes=classes), form.loss, penalty)
    (one,), (other,) = (solve(of, form.outputs, holder, tol=1e-13) for of in (fold, part))
    np.testing.assert_allclose(one.model.W, other.model.W, atol=1e-6)
    np.testing.assert_array_equal(one.model.W == 0.0, other.model.W == 0.0)


@every_kind
@every_holder
def test_factors_are_scales_of_the_features(form: Form, holder: str) -> None:
    X, y = rows(form)
    f = np.array([0.3, 1.0, 2.0, 0.7, 5.0])
    classes = np.arange(form.classes)
    scaled = Objective(Dataset.of(X / f, y, classes=classes), form.loss, ElasticNet(0.02, 0.01))
    (other,) = solve(scaled, form.outputs, holder, tol=1e-13)
    for factors in (f, f[:, None]):
        given = ElasticNet(0.02, 0.01, factors)
        objective = Objective(Dataset.of(X, y, classes=classes), form.loss, given)
        (found,) = solve(objective, form.outputs, holder, tol=1e-13)
        assert found.certificate.relative_gap <= 1e-12
        np.testing.assert_allclose(found.model.W * f[:, None, None], other.model.W, atol=1e-6)


@every_kind
@every_holder
def test_a_fixed_bias_stays_and_a_penalised_one_is_a_feature(form: Form, holder: str) -> None:
    X, y = rows(form)
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    b = np.linspace(0.3, 0.9, form.outputs)[None]
    fixed = Objective(data, form.loss, ElasticNet(0.02, 0.01), bias=False)
    start = Model(np.zeros((D, 1, form.outputs)), b.copy())
    (found,) = solve(fixed, form.outputs, holder, start=start)
    np.testing.assert_array_equal(found.model.b, b)
    assert found.stop_reason == "tol"
    assert violation(fixed, found.model) < 1e-6

    penalised = Objective(data, form.loss, ElasticNet(0.0, 0.05, bias_factor=2.0))
    wider = Dataset.of(np.column_stack([X, np.full(N, 0.5)]), y, classes=np.arange(form.classes))
    feature = Objective(wider, form.loss, ElasticNet(0.0, 0.05), bias=False)
    (one,), (other,) = (solve(at, form.outputs, holder) for at in (penalised, feature))
    np.testing.assert_allclose(one.model.b, other.model.W[-1] * 0.5, atol=1e-6)


@every_kind
@every_holder
def test_a_large_l1_leaves_the_bias_alone(form: Form, holder: str) -> None:
    X, y = rows(form)
    rng = np.random.default_rng(3)
    anywhere = Model(
        rng.standard_normal((D, 1, form.outputs)), rng.standard_normal((1, form.outputs))
    )
    starts = Model.zeros(D, 1, form.outputs), anywhere
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(10.0, 0.0))
    nothing = Dataset.of(np.zeros((N, 1)), y, classes=np.arange(form.classes))
    alone = lowest(Objective(nothing, form.loss, ElasticNet(0.0, 0.0)), form.outputs)
    for start in starts:
        (found,) = solve(objective, form.outputs, holder, start=start)
        assert not found.model.W.any()
        assert found.certificate.primal == pytest.approx(alone, rel=1e-12)


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("penalty", ["l1", "elastic net", "l2"])
def test_constant_duplicate_dependent_and_empty_columns(form: Form, penalty: str) -> None:
    X, y = rows(form)
    X = np.column_stack([X, np.ones(N), X[:, 0], np.zeros(N), X[:, 1] + X[:, 2], -X[:, 0]])
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(*PENALTIES[penalty]))
    expected = lowest(objective, form.outputs)
    for holder in HOLDERS:
        (found,) = solve(objective, form.outputs, holder)
        assert found.stop_reason == "tol", holder
        assert found.certificate.primal == pytest.approx(expected, rel=1e-9), holder
        assert not found.model.W[D + 2].any(), holder


@every_kind
@every_holder
def test_features_on_different_scales_need_no_standardising(form: Form, holder: str) -> None:
    X, y = rows(form)
    X = X * np.array([1e3, 1.0, 1e-3, 30.0, 1.0]) + np.array([0.0, 5.0, 0.0, 100.0, 0.0])
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    (found,) = solve(Objective(data, form.loss, ElasticNet(1e-3, 1e-4)), form.outputs, holder)
    assert found.stop_reason == "tol"
    assert found.certificate.relative_gap <= 1e-10


@every_kind
@every_holder
def test_a_warm_start_of_coordinate_needs_no_more_epochs(form: Form, holder: str) -> None:
    objective = problem(form, ElasticNet(0.03, 0.0))
    (cold,) = solve(objective, form.outputs, holder)
    near = Objective(objective.data, form.loss, ElasticNet(0.028, 0.0))
    (warm,) = solve(near, form.outputs, holder, start=cold.model)
    (again,) = solve(near, form.outputs, holder)
    assert warm.history["objective"][0] <= near.value(cold.model)[0]
    assert warm.history.epochs <= again.history.epochs
    np.testing.assert_allclose(warm.model.W, again.model.W, atol=1e-6)


@every_kind
@every_holder
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_coordinate_converges_from_a_far_start(form: Form, holder: str, size: float) -> None:
    objective = problem(form, ElasticNet(0.02, 0.001))
    rng = np.random.default_rng(7)
    W = size * rng.standard_normal((D, 1, form.outputs))
    start = Model(W, size * rng.standard_normal((1, form.outputs)))
    (found,) = solve(objective, form.outputs, holder, start=start)
    assert found.stop_reason == "tol"


@pytest.mark.parametrize("C", [1e6, 1e8])
@pytest.mark.parametrize(("load", "form"), [(load_breast_cancer, LOGISTIC), (load_wine, SOFTMAX)])
def test_a_weak_l1_penalty_on_unscaled_features_is_solved(load, form: Form, C: float) -> None:
    X, y = load(return_X_y=True)
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(1.0 / (C * len(y)), 0.0))
    stop = Stop(((200,),), tol=np.array([1e-4]))
    [[found]] = run(Coordinate(), objective, Model.zeros(X.shape[1], 1, form.outputs), stop)
    assert found.stop_reason == "tol"
    assert found.certificate.relative_gap <= 1e-4


@every_holder
def test_coordinate_stops_at_the_precision_of_float64(holder: str) -> None:
    objective = problem(LOGISTIC, ElasticNet(0.02, 0.0))
    (found,) = solve(objective, 1, holder, tol=0.0, epochs=1000)
    assert found.stop_reason in ("no further descent", "tol")
    assert found.history.epochs < 50
    assert violation(objective, found.model) < 1e-12


@every_holder
def test_separable_classes_without_a_penalty_are_not_reported_as_converged(
    holder: str,
) -> None:
    X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    objective = Objective(Dataset.of(X, [0, 0, 1, 1]), LOGISTIC.loss, ElasticNet(0.0, 0.0))
    (found,) = solve(objective, 1, holder, tol=1e-300, epochs=30)
    assert np.isfinite(found.model.W).all()
    assert found.certificate.primal < 1e-6


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    form=st.sampled_from(SMOOTH),
    penalty=st.sampled_from(["l1", "elastic net", "l2"]),
    holder=st.sampled_from(list(HOLDERS)),
    strength=st.floats(0.01, 10.0),
)
@settings(max_examples=15, deadline=None)
def test_the_gap_bounds_the_distance_to_the_optimum_at_every_step(
    seed: int, form: Form, penalty: str, holder: str, strength: float
) -> None:
    l1, l2 = PENALTIES[penalty]
    objective = problem(form, ElasticNet(strength * l1, strength * l2), seed=seed)
    steps: list[Model] = []

    def keep(progress: Progress) -> None:
        arrays = progress.checkpoint()
        if len(arrays["running"]):
            steps.append(Model(arrays["state.weights.0.W"], arrays["state.weights.0.b"]))

    stop = Stop(epochs=((300,),), tol=np.array([1e-9]))
    start = Model.zeros(D, 1, form.outputs)
    [[found]] = run(HOLDERS[holder], objective, start, stop, on_progress=keep)
    assert found.stop_reason == "tol"
    best = found.certificate.primal
    for model in steps:
        (proof,) = certify(objective, model)
        assert proof.primal - best <= proof.gap * (1 + 1e-9) + 1e-14
    assert best - found.certificate.gap <= lowest(objective, form.outputs) * (1 + 1e-12)


@every_holder
def test_coordinate_resumes_from_a_checkpoint_bit_for_bit(holder: str) -> None:
    objective = problem(SOFTMAX, ElasticNet([0.1, 0.02, 0.003], 0.001), B=3)
    start = Model.zeros(D, 3, SOFTMAX.outputs)
    stop = Stop(epochs=((40,),) * 3, tol=np.full(3, 1e-9))
    taken: list[dict[str, np.ndarray]] = []
    solver = HOLDERS[holder]
    whole = run(solver, objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint()))
    assert len(taken) > 2
    for arrays in taken:
        again = run(solver, objective, start, stop, resume=arrays)
        for (a,), (b,) in zip(whole, again):
            np.testing.assert_array_equal(a.model.W, b.model.W)
            assert (a.stop_reason, a.history.epochs) == (b.stop_reason, b.history.epochs)


def test_losses_with_kinks_and_custom_losses_are_refused() -> None:
    with pytest.raises(ValueError, match="coordinate needs a smooth loss"):
        refuse_illegal("coordinate", LOSSES["hinge"], 0.1, 0.0)
    with pytest.raises(ValueError, match="coordinate needs a convex loss"):
        refuse_illegal("coordinate", LOSSES["sigmoid_mse"], 0.1, 0.0)


def test_large_hessians_of_rows_in_several_blocks_are_refused() -> None:
    data = Dataset.of(sp.csr_array((40, 2000)), np.arange(40) % 2, rows_per_block=30)
    objective = Objective(data, LOGISTIC.loss, ElasticNet(0.1, 0.0))
    words = r"more than 2,000 unknowns\. The data has 2 blocks, and the Hessian 2,001 unknowns"
    with pytest.raises(ValueError, match=words):
        solve(objective, 1)


@every_holder
def test_steps_at_the_optimum_do_not_shift_all_outputs(holder: str) -> None:
    """An unpenalised common shift of the outputs would drown the digits of the scores."""
    form = next(f for f in FORMS if f.loss.name == "squared_hinge" and f.outputs == 3)
    X, y = rows(form)
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(0.02, 0.01))
    state = HOLDERS[holder].start(objective, Model.zeros(X.shape[1], 1, 3))
    for _ in range(40):
        state = HOLDERS[holder].step(objective, state)
    assert np.abs(state.model.b).max() < 10.0
    assert certify(objective, state.model, None, state.found)[0].relative_gap <= 1e-12


def test_singular_hessians_of_columns_of_different_scales_are_not_written_out(monkeypatch):
    # The exact minimum of a singular quadratic took 0.3 s in each of 45 iterations.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(37, 50)) * 10.0 ** rng.uniform(0, 6, 50)
    y, s = rng.integers(0, 3, 37), 10.0 ** rng.uniform(0, 6, 37)
    model = separatrix.LogisticRegression(C=0.018, l1_ratio=0.64, fit_intercept=False)
    monkeypatch.setattr(Objective, "hessian_operator", None)
    model.fit(X, y, sample_weight=s)
    assert model.solver_ == "coordinate"
    assert model.certificate_.relative_gap <= 1e-4
