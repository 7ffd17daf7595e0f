"""The lower bound from an evaluation is never above the optimum, and close to it there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import OPTIMISERS
from separatrix.training import Result, Stop, run
from separatrix.training.solver_choice import choose_solver
from separatrix.verdict.lower_bound import lower_bounds
from support.batches import BIASES
from support.forms import CONVEX, Form

FLOWING = [form for form in CONVEX if form.loss.name.split(",")[0] != "squared"]
PENALTIES = {"l2": (0.0, 0.1), "l1": (0.05, 0.0), "elastic net": (0.03, 0.05)}


def draw(form: Form, penalty: str, bias: str, seed: int, models: int = 1) -> Objective:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3)) * [1.0, 4.0, 0.3]
    y = rng.permutation(np.arange(30) % form.classes)
    s = rng.exponential(1.0, (30, models)) * (rng.random((30, models)) < 0.9)
    l1, l2 = PENALTIES[penalty]
    options = dict(BIASES[bias])
    free = bool(options.pop("bias", True))
    data = Dataset.of(X, y, s, classes=np.arange(form.classes))
    return Objective(data, form.loss, ElasticNet(l1, l2, **options), bias=free)


def solve(objective: Objective, form: Form, penalty: str) -> Result:
    l1, l2 = PENALTIES[penalty]
    name, *_ = choose_solver(form.loss, form.outputs, l1, l2, objective.data)
    stop = Stop(epochs=((3000,),), tol=np.array([1e-10]))
    [[found]] = run(OPTIMISERS[name].for_task(), objective, Model.zeros(3, 1, form.outputs), stop)
    return found


CASES = [
    (form, penalty, bias)
    for form in CONVEX
    for penalty, (l1, _) in PENALTIES.items()
    for bias in BIASES
    if (form.loss.smooth or l1 == 0.0) and not (bias == "penalised" and l1 > 0.0)
    if form.loss.name[:10] != "perceptron"
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "penalty", "bias"), CASES, ids=str)
def test_no_model_is_below_the_lower_bound(form: Form, penalty: str, bias: str) -> None:
    objective = draw(form, penalty, bias, seed=1)
    best = solve(objective, form, penalty)
    optimum, rng = best.certificate.primal, np.random.default_rng(2)
    for size in (0.0, 1e-8, 1e-4, 1e-2, 1.0, 100.0):
        model = Model(
            best.model.W + size * rng.standard_normal(best.model.W.shape),
            best.model.b + size * rng.standard_normal(best.model.b.shape) * objective.bias,
        )
        bound = lower_bounds(objective, model, objective.evaluate(model))[0]
        assert bound <= optimum * (1.0 + 1e-12)


@given(
    st.sampled_from(CASES), st.integers(0, 2**32 - 1), st.floats(-3.0, 3.0), st.floats(-9.0, 2.0)
)
def test_the_lower_bound_holds_on_any_data_and_for_any_model(
    case, seed: int, size: float, far: float
) -> None:
    form, penalty, bias = case
    objective = draw(form, penalty, bias, seed)
    block = objective.data.only_block()
    data = Dataset.of(block.X.X * 10.0**size, block.y, block.s, classes=objective.data.classes)
    objective = Objective(data, form.loss, objective.penalty, bias=objective.bias)
    best = solve(objective, form, penalty)
    rng = np.random.default_rng(seed)
    away = Model(*(10.0**far * rng.standard_normal(a.shape) for a in (best.model.W, best.model.b)))
    away.b *= objective.bias
    model = best.model.plus(away)
    bound = lower_bounds(objective, model, objective.evaluate(model))[0]
    assert bound <= best.certificate.primal * (1.0 + 1e-12)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("form", [f for f in FLOWING if f.loss.smooth], ids=str)
def test_the_lower_bound_meets_the_optimum_of_a_smooth_loss(form: Form, bias: str) -> None:
    objective = draw(form, "l2", bias, seed=3)
    best = solve(objective, form, "l2")
    bound = lower_bounds(objective, best.model, objective.evaluate(best.model))[0]
    assert best.certificate.primal - bound <= 1e-4 * best.certificate.primal


def test_every_model_of_a_batch_has_its_own() -> None:
    form = next(form for form in FLOWING if form.loss.name == "softmax" and form.outputs == 3)
    objective = draw(form, "l2", "free", seed=4, models=3)
    rng = np.random.default_rng(5)
    model = Model(rng.standard_normal((3, 3, 3)), rng.standard_normal((3, 3)))
    together = lower_bounds(objective, model, objective.evaluate(model))
    for m in range(3):
        some = np.array([m])
        part, own = objective.select(some), model.select(some)
        assert lower_bounds(part, own, part.evaluate(own))[0] == together[m]


def test_there_is_no_lower_bound_without_a_penalty_or_a_convex_loss_or_in_float32() -> None:
    data = Dataset.of(np.eye(4), [0, 1, 0, 1])
    model = Model.zeros(4, 1, 1)
    for name, penalty, dtype in (
        ("logistic", 0.0, np.float64),
        ("sigmoid_mse", 1.0, np.float64),
        ("logistic", 1.0, np.float32),
        ("squared", 1.0, np.float64),  # its duals are not flows, and the bias is free
    ):
        objective = Objective(data, LOSSES[name], ElasticNet(0.0, penalty))
        own = model.astype(dtype)
        assert lower_bounds(objective, own, objective.evaluate(own))[0] == -np.inf


def test_a_class_without_weight_makes_the_lower_bound_void() -> None:
    data = Dataset.of(np.eye(4), [0, 1, 0, 1], [1.0, 0.0, 1.0, 0.0], classes=[0, 1])
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    model = Model.zeros(4, 1, 1)
    found = objective.evaluate(model)
    assert lower_bounds(objective, model, found)[0] <= 0.0


@pytest.mark.parametrize("form", [f for f in FLOWING if f.loss.name[:5] != "perce"], ids=str)
def test_the_bound_of_a_fixed_bias_does_not_hold_for_a_free_one(form: Form) -> None:
    """At the optimum with a fixed bias the duals prove it, but they are not balanced."""
    fixed = draw(form, "l2", "fixed", seed=6)
    block = fixed.data.only_block()
    y = np.minimum(np.arange(30) // 12, form.classes - 1)  # unequal classes
    data = Dataset.of(block.X.X * 1e-3, y, classes=np.arange(form.classes))
    fixed = Objective(data, form.loss, fixed.penalty, bias=False)
    free = Objective(data, form.loss, fixed.penalty)
    model = solve(fixed, form, "l2").model
    bound = lower_bounds(free, model, free.evaluate(model))[0]
    assert bound <= solve(free, form, "l2").certificate.primal


@pytest.mark.parametrize("form", [f for f in FLOWING if f.loss.smooth], ids=str)
def test_a_bias_that_is_a_little_off_costs_little_however_far_the_features_are(form: Form) -> None:
    rng = np.random.default_rng(7)
    y = np.arange(60) % form.classes
    X = rng.standard_normal((60, 3)) + y[:, None] + 100.0
    data = Dataset.of(X, y, classes=np.arange(form.classes))
    objective = Objective(data, form.loss, ElasticNet(0.0, 0.1))
    best = solve(objective, form, "l2")
    model = Model(best.model.W, best.model.b + 1e-3 * rng.standard_normal(best.model.b.shape))
    bound = lower_bounds(objective, model, objective.evaluate(model))[0]
    assert best.certificate.primal - bound <= 0.02 * best.certificate.primal
