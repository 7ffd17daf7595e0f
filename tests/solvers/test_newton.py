"""Newton's method reaches the optimum of every smooth convex loss, even on difficult data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data import Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.matrix import get_threads, rows_read, set_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS, Newton
from separatrix.training import Progress, Result, Stop, run
from separatrix.training.legality import refuse_illegal
from support.forms import CONVEX, SMOOTH, Form
from support.layouts import random_csr
from support.reference import reference
from support.uncompiled import Uncompiled

FORMS = [form for form in SMOOTH if form in CONVEX]
PATHS = {"factors": Newton(), "conjugate gradients": Newton(order=0)}
KINDS: dict[str, Any] = {"dense": np.asarray, "sparse": sp.csr_array}
L2 = np.array([1.0, 0.1, 1e-3])
B = len(L2)

every_form = pytest.mark.parametrize("form", FORMS, ids=str)
every_path = pytest.mark.parametrize("path", PATHS)
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = get_threads()
    yield
    set_threads(before)


def form_of(name: str, outputs: int) -> Form:
    return next(f for f in FORMS if f.loss.name == name and f.outputs == outputs)


def rows(form: Form, n: int = 60, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, form.classes, n)
    X = (rng.standard_normal((n, d)) + 0.3 * y[:, None]) * (rng.random((n, d)) < 0.8)
    return X, y, rng.exponential(1.0, (n, B)) * (rng.random((n, B)) < 0.8)


def make(form: Form, kind: str = "dense", loss: Any = None, **options: Any) -> Objective:
    X, y, s = rows(form, d=options.pop("d", 4))
    penalty = ElasticNet(0.0, L2, options.pop("factors", None), options.pop("bias_factor", 0.0))
    return Objective(Dataset.of(KINDS[kind](X), y, s), loss or form.loss, penalty, **options)


def solve(
    objective: Objective,
    outputs: int,
    solver: Any = PATHS["factors"],
    tol: float = 1e-10,
    epochs: int = 300,
    **options: Any,
) -> list[Result]:
    models = max(len(objective.penalty.l2), *(a.shape[-1] for a in weights_of(objective)), 1)
    start = options.pop("start", Model.zeros(objective.data.n_features, models, outputs))
    stop = Stop(epochs=((epochs,),) * models, tol=np.full(models, tol))
    return [readings[0] for readings in run(solver, objective, start, stop, **options)]


def weights_of(objective: Objective) -> list[np.ndarray]:
    s = objective.data.weights()
    return [s if s.ndim == 2 else np.empty((0, 1))]


def optimum(objective: Objective, result: Result) -> None:
    """The certificate proves the optimum."""
    assert result.stop_reason == "tol", result.stop_reason
    assert result.certificate.relative_gap <= 1e-10


@pytest.mark.slow
@every_form
@every_path
@every_kind
def test_every_smooth_convex_loss_is_solved_to_a_proven_gap(
    form: Form, path: str, kind: str
) -> None:
    objective = make(form, kind)
    for m, result in enumerate(solve(objective, form.outputs, PATHS[path])):
        optimum(objective, result)
        if kind == "dense":
            best = reference(objective.select(np.array([m])), form.outputs)
            assert result.certificate.primal <= best * (1.0 + 1e-10)
        assert np.diff(result.history["objective"]).max(initial=0.0) <= 1e-13


@every_form
@every_path
@pytest.mark.parametrize("bias", ["fixed", "penalised"])
def test_factors_and_a_penalised_or_fixed_bias(form: Form, path: str, bias: str) -> None:
    factors = np.random.default_rng(2).uniform(0.2, 5.0, (4, B))
    options: dict[str, Any] = {"bias": False} if bias == "fixed" else {"bias_factor": 0.7}
    objective = make(form, factors=factors, **options)
    start = Model.zeros(4, B, form.outputs)
    start.b += 0.3 * np.arange(form.outputs)
    for result in solve(objective, form.outputs, PATHS[path], start=start):
        optimum(objective, result)
        if bias == "fixed":
            np.testing.assert_array_equal(result.model.b[0], start.b[0])


@every_form
def test_both_paths_find_the_same_model(form: Form) -> None:
    objective = make(form)
    for one, other in zip(*(solve(objective, form.outputs, PATHS[path], 1e-13) for path in PATHS)):
        np.testing.assert_allclose(one.model.W, other.model.W, rtol=0, atol=2e-5)
        np.testing.assert_allclose(one.model.b, other.model.b, rtol=0, atol=2e-5)


@every_form
def test_a_custom_loss_is_solved(form: Form) -> None:
    for result in solve(make(form, loss=Uncompiled(form.loss)), form.outputs):
        assert result.certificate.relative_gap <= 1e-10


@pytest.mark.slow
@every_form
@every_path
def test_a_model_has_the_same_bits_alone_and_in_a_batch_for_any_threads(
    form: Form, path: str
) -> None:
    # Sums of fewer than eight numbers have only one order.
    objective = make(form, "sparse", d=20)
    set_threads(1)
    together = solve(objective, form.outputs, PATHS[path])
    for threads in (1, 2, 8):
        set_threads(threads)
        for m in range(B):
            alone = solve(objective.select(np.array([m])), form.outputs, PATHS[path])[0]
            np.testing.assert_array_equal(alone.model.W, together[m].model.W)
            np.testing.assert_array_equal(alone.model.b, together[m].model.b)
            assert alone.history.epochs == together[m].history.epochs


@every_path
@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_newton_resumes_from_a_checkpoint_bit_for_bit(path: str, name: str) -> None:
    form = form_of(name, 1 if name == "logistic" else 3)
    objective, solver = make(form), PATHS[path]
    start, stop = Model.zeros(4, B, form.outputs), Stop(epochs=((40,),) * B, tol=np.full(B, 1e-10))
    taken = []
    whole = run(solver, objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint()))
    assert len(taken) > 3
    for arrays in taken:
        again = run(solver, objective, start, stop, resume=arrays)
        for (a,), (b,) in zip(whole, again):
            np.testing.assert_array_equal(a.model.W, b.model.W)
            assert (a.stop_reason, a.history.epochs) == (b.stop_reason, b.history.epochs)


def test_training_continues_from_a_kept_state_and_from_a_checkpoint_of_it() -> None:
    form = form_of("logistic", 1)
    objective = make(form).select(np.array([2]))
    first = solve(objective, 1, epochs=2, keep_state=True)[0]
    assert first.state is not None
    assert first.state.memory["cholesky"].shape == (1, 1, 5, 5)
    last = solve(objective, 1, state=first.state)[0]
    assert last.stop_reason == "tol"
    np.testing.assert_array_equal(last.model.W, solve(objective, 1)[0].model.W)


# --- difficult data ---


def awkward(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    n = 15 if name == "fewer rows than features" else 200
    X = rng.standard_normal((n, 6 if n > 15 else 40))
    y = (X[:, 0] + X[:, 1] + 1.5 * rng.standard_normal(n) > 0).astype(int)
    if name == "scales from 1e-4 to 1e4":
        X = X * np.logspace(-4, 4, 6) + np.array([0, 0, 1, 0, 100, 0])
    elif name == "duplicate columns":
        X = np.hstack([X, X[:, :3], X[:, :1] + X[:, 1:2]])
    elif name == "constant columns":
        X = np.hstack([X, np.zeros((n, 1)), np.ones((n, 1)), np.full((n, 1), 7.0)])
    return X, y


AWKWARD = [
    "scales from 1e-4 to 1e4",
    "duplicate columns",
    "constant columns",
    "fewer rows than features",
]
LOSS_FORMS = {
    "logistic": (LOSSES["logistic"], 1),
    "squared_hinge": (LOSSES["squared_hinge"], 1),
    "squared": (LOSSES["squared"], 1),
    "softmax": (LOSSES["softmax"], 2),
    "one-vs-rest": (OneVsRest(LOSSES["logistic"]), 2),
}


@every_path
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("loss", LOSS_FORMS)
def test_difficult_data_is_solved_to_a_proven_gap(name: str, loss: str, path: str) -> None:
    X, y = awkward(name)
    function, outputs = LOSS_FORMS[loss]
    objective = Objective(Dataset.of(X, y), function, ElasticNet(0.0, 1e-3))
    result = solve(objective, outputs, PATHS[path], tol=1e-8, epochs=500)[0]
    assert result.stop_reason == "tol"
    assert result.certificate.relative_gap <= 1e-8


def test_conjugate_gradients_are_preconditioned_by_the_scales_of_the_features() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 60)) * np.logspace(-4, 4, 60)
    y = (X[:, 30] + rng.standard_normal(400) > 0).astype(int)
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, 1e-3))
    before = rows_read()
    result = solve(objective, 1, PATHS["conjugate gradients"], tol=1e-6)[0]
    assert result.stop_reason == "tol"
    assert np.subtract(rows_read(), before).sum() / 400 < 300  # passes; 125 are enough


@pytest.mark.parametrize("name", AWKWARD[:3])
@pytest.mark.parametrize("loss", LOSS_FORMS)
def test_difficult_data_is_solved_without_a_penalty(name: str, loss: str) -> None:
    X, y = awkward(name)
    function, outputs = LOSS_FORMS[loss]
    objective = Objective(Dataset.of(X, y), function, ElasticNet(0.0, 0.0))
    result = solve(objective, outputs, tol=1e-9)[0]
    assert result.stop_reason == "tol"
    assert result.certificate.kind == "gradient_norm"
    # The same columns in their original scales have the same optimum.
    X = (X - X.mean(axis=0)) / X.std(axis=0).clip(1e-12)
    U, sizes, _ = np.linalg.svd(X, full_matrices=False)
    X = U[:, sizes > 1e-6] * np.sqrt(len(X))
    plain = Objective(Dataset.of(X, y), function, ElasticNet(0.0, 1e-12))
    best = solve(plain, outputs, LBFGS(), tol=1e-12, epochs=2000)[0].certificate.primal
    assert result.certificate.primal == pytest.approx(best, rel=1e-9)


@every_path
@pytest.mark.parametrize("loss", LOSS_FORMS)
def test_separable_data_without_a_penalty_ends_by_the_gradient(loss: str, path: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = (X[:, 0] > 0).astype(int)
    function, outputs = LOSS_FORMS[loss]
    objective = Objective(Dataset.of(X, y), function, ElasticNet(0.0, 0.0))
    result = solve(objective, outputs, PATHS[path], tol=1e-6)[0]
    assert result.stop_reason == "tol"
    assert np.isfinite(result.model.W).all()
    assert result.history.epochs < 60


@every_path
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_outputs_of_softmax_are_centred(penalty: float, path: str) -> None:
    form = form_of("softmax", 5)
    X, y, _ = rows(form, 200)
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(0.0, penalty))
    model = solve(objective, 5, PATHS[path])[0].model
    np.testing.assert_allclose(model.b.sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(model.W.sum(axis=2), 0.0, atol=1e-4 if penalty else 1e-9)


def test_float32_data_is_solved_in_float64() -> None:
    form = form_of("logistic", 1)
    X, y, s = rows(form)
    objective = Objective(Dataset.of(X.astype(np.float32), y, s), form.loss, ElasticNet(0.0, L2))
    start = Model.zeros(4, B, 1, np.float32)
    for result in solve(objective, 1, start=start):
        assert result.model.W.dtype == np.float64
        optimum(objective, result)


# --- many rows: the start on a subsample ---


def many_rows(n: int = 9000, d: int = 6) -> tuple[Any, np.ndarray]:
    """A few features that occur in many rows, and as many that occur in a dozen rows."""
    rng = np.random.default_rng(1)
    common, rare = (random_csr(n, d, density, rng, np.ones) for density in (0.4, 12 / n))
    X = sp.hstack([common, rare]).tocsr()
    w = rng.standard_normal(2 * d)
    return X, (X @ w + rng.logistic(size=n) > 0.3).astype(int)


def full_passes(objective: Objective, start: Model, n: int) -> tuple[Result, float]:
    before = rows_read()
    result = solve(objective, 1, tol=1e-6, start=start)[0]
    return result, float(np.subtract(rows_read(), before).sum() / n)


@pytest.mark.parametrize(("l2", "share"), [(1e-2, 0.9), (1e-4, 1.0), (1e-8, 1.1)])
def test_a_start_on_a_subsample_saves_passes(l2: float, share: float) -> None:
    """If rare features are almost unpenalised, it saves little but costs almost nothing."""
    X, y = many_rows()
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, l2))
    cold, passes = full_passes(objective, Model.zeros(12, 1, 1), len(y))
    assert cold.certificate.relative_gap <= 1e-6
    # A start other than zero is used as given.
    nearly = Model(np.full((12, 1, 1), 1e-12), np.zeros((1, 1)))
    warm, more = full_passes(objective, nearly, len(y))
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    assert passes < share * more


def test_a_misleading_subsample_is_ignored() -> None:
    """Every eighth row has a flipped label, and exactly these rows are the subsample."""
    X, y = many_rows()
    turned = y.copy()
    turned[::8] = 1 - turned[::8]
    objective = Objective(Dataset.of(X, turned), LOSSES["logistic"], ElasticNet(0.0, 1e-4))
    result = solve(objective, 1)[0]
    optimum(objective, result)
    first = float(np.log(2.0))
    assert result.history["objective"][0] < first


def test_the_first_step_on_all_rows_uses_the_hessian_of_the_subsample() -> None:
    """The passes are those of the subsample, two evaluations on all rows, and the gap."""
    X, y = many_rows(n=20_000)
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, 1e-3))
    counted, seen = [], rows_read()[1]

    def count(progress: Progress) -> None:
        counted.append((rows_read()[1] - seen) / len(y))

    solve(objective, 1, tol=1e-6, on_progress=count)
    assert counted[0] < 4.0


def test_the_subsample_helps_for_features_in_any_units() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9_000, 5))
    y = (X @ [1.0, -2.0, 0.5, 1.0, 0.0] + rng.logistic(size=len(X)) > 0.0).astype(int)
    firsts = []
    for units in (np.ones(5), np.array([1e3, 1e-3, 1.0, 10.0, 1e-2])):
        objective = Objective(Dataset.of(X * units, y), LOSSES["logistic"], ElasticNet(0.0, 0.0))
        firsts.append(solve(objective, 1, tol=1e-6)[0].history["objective"][0])
    assert firsts[1] == pytest.approx(firsts[0], rel=1e-9)


def test_the_subsample_helps_with_constant_and_huge_features() -> None:
    X = np.random.default_rng(5).standard_normal((9_000, 3))
    y = (X[:, 0] + X[:, 1] > 0.3 * X[:, 2]).astype(int)
    X[:, 2] = 7.0
    X[::8, 1] = 0.0  # constant in the subsample only
    for factor in (1.0, 1e160):  # its square overflows
        data = Dataset.of(X * [factor, 1.0, 1.0], y)
        objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1e-3))
        assert solve(objective, 1)[0].history["objective"][0] < 0.65  # log 2 at the start


def test_a_batch_of_folds_on_many_rows_has_the_bits_of_single_models() -> None:
    X, y = many_rows()
    fold = np.arange(len(y)) % 3
    s = np.stack([fold != k for k in range(3)], axis=1).astype(float)
    objective = Objective(Dataset.of(X, y, s), LOSSES["logistic"], ElasticNet(0.0, L2 * 0.1))
    start = Model.zeros(12, 3, 1)
    start.W[:, 1] = 0.1  # one of them does not start at zero
    together = solve(objective, 1, start=start)
    for m in range(3):
        one = np.array([m])
        alone = solve(objective.select(one), 1, start=start.select(one))[0]
        np.testing.assert_array_equal(alone.model.W, together[m].model.W)


def test_models_share_the_passes() -> None:
    form = form_of("logistic", 1)
    X, y, _ = rows(form)
    counts = []
    for models in (2, 7):  # a single model keeps its scores and reads less
        objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(0.0, np.full(models, 0.1)))
        before = rows_read()
        solve(objective, 1)
        counts.append(np.subtract(rows_read(), before).tolist())
    assert counts[0] == counts[1]


def test_kinks_l1_and_losses_that_are_not_convex_are_refused() -> None:
    with pytest.raises(ValueError, match=r"newton needs a smooth loss\. .* gradient"):
        refuse_illegal("newton", LOSSES["hinge"], 0.0, 0.1)
    with pytest.raises(ValueError, match="newton needs l1 = 0"):
        refuse_illegal("newton", LOSSES["logistic"], 0.1, 0.1)
    with pytest.raises(ValueError, match=r"newton needs a convex loss\. .* lbfgs"):
        refuse_illegal("newton", LOSSES["sigmoid_mse"], 0.0, 0.1)


# --- models that start on a subsample ---


def enough_rows(l2: list[float], misleading: bool = False) -> Objective:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((9_000, 3))
    y = (X[:, 0] + rng.standard_normal(len(X)) > 0.0).astype(int)
    if misleading:
        y[::8] = X[::8, 0] < -3.0 * np.abs(X[::8, 1])
    return Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, l2))


@pytest.mark.parametrize("misleading", [False, True])
def test_models_that_start_on_a_subsample_are_solved_with_any_penalty(misleading: bool) -> None:
    objective = enough_rows([0.0, 0.1, 1e-4], misleading)
    for found in solve(objective, 1):
        assert found.stop_reason == "tol"
        assert found.certificate.gradient_norm < 1e-6
        assert np.isfinite(found.history["gradient_norm"]).all()


def test_a_model_that_starts_on_a_subsample_has_the_same_bits_in_a_batch() -> None:
    objective = enough_rows([0.0, 0.1, 1e-4, 0.1])
    start = Model.zeros(3, 4, 1)
    start.W[:, 3] = 0.5
    together = solve(objective, 1, start=start)
    for m in range(4):
        one = np.array([m])
        alone = solve(objective.select(one), 1, start=start.select(one))[0]
        np.testing.assert_array_equal(alone.model.W, together[m].model.W)
        assert alone.history.epochs == together[m].history.epochs
