"""L-BFGS reaches the optimum of every smooth loss, for many models together, with a small gap."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import GradientDescentClassifier
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS
from separatrix.training import Result, Stop, run, train
from separatrix.training.legality import refuse_illegal
from separatrix.training.task import Task
from support.forms import FORMS, Form
from support.reference import reference

SMOOTH = [form for form in FORMS if form.loss.smooth and form.loss.convex]
L2 = np.array([1.0, 0.1, 1e-3])


def make_objective(form: Form, *, scales: bool = False, weights: bool = True) -> Objective:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 4))
    if scales:
        X = X * np.array([1e3, 1.0, 1e-3, 30.0]) + np.array([0.0, 5.0, 0.0, 100.0])
    y = rng.integers(0, form.classes, 60)
    s = rng.exponential(1.0, (60, 3)) if weights else None
    return Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, L2))


def solve(
    objective: Objective, outputs: int, tol: float = 1e-9, epochs: int = 3000
) -> list[Result]:
    B = len(objective.penalty.l2)
    start = Model.zeros(objective.data.n_features, B, outputs)
    stop = Stop(epochs=((epochs,),) * B, tol=np.full(B, tol))
    return [readings[0] for readings in run(LBFGS(), objective, start, stop)]


@pytest.mark.slow
@pytest.mark.parametrize("form", SMOOTH, ids=str)
def test_every_smooth_loss_is_solved_to_a_proven_gap(form: Form) -> None:
    objective = make_objective(form)
    for m, result in enumerate(solve(objective, form.outputs)):
        assert result.stop_reason == "tol"
        assert result.certificate.relative_gap <= 1e-9
        best = reference(objective.select(np.array([m])), form.outputs)
        assert result.certificate.primal == pytest.approx(best, rel=1e-8)
        assert np.diff(result.history["objective"]).max(initial=0.0) <= 0.0


def test_features_on_different_scales_need_no_standardising() -> None:
    form = next(form for form in SMOOTH if form.loss.name == "logistic")
    for result in solve(make_objective(form, scales=True), form.outputs, tol=1e-6):
        assert result.stop_reason == "tol"


def test_a_model_has_the_same_bits_alone_and_in_a_batch() -> None:
    form = next(form for form in SMOOTH if form.loss.name == "softmax")
    objective = make_objective(form)
    together = solve(objective, form.outputs)
    for m in range(3):
        alone = solve(objective.select(np.array([m])), form.outputs)[0]
        np.testing.assert_array_equal(alone.model.W, together[m].model.W)
        assert alone.history.epochs == together[m].history.epochs


def test_lbfgs_resumes_from_a_checkpoint_bit_for_bit() -> None:
    form = next(form for form in SMOOTH if form.loss.name == "logistic")
    objective = make_objective(form)
    start = Model.zeros(4, 3, form.outputs)
    stop = Stop(epochs=((40,),) * 3, tol=np.full(3, 1e-9))
    taken = []
    whole = run(LBFGS(), objective, start, stop, on_progress=lambda p: taken.append(p.checkpoint()))
    for arrays in taken[:: max(1, len(taken) // 5)]:
        again = run(LBFGS(), objective, start, stop, resume=arrays)
        for (a,), (b,) in zip(whole, again):
            np.testing.assert_array_equal(a.model.W, b.model.W)
            assert (a.stop_reason, a.history.epochs) == (b.stop_reason, b.history.epochs)


def test_kinks_and_l1_are_refused_with_the_solvers_that_take_them() -> None:
    with pytest.raises(ValueError, match=r"lbfgs needs a smooth loss\. .* gradient"):
        refuse_illegal("lbfgs", LOSSES["hinge"], 0.0, 0.1)
    with pytest.raises(ValueError, match="lbfgs needs l1 = 0"):
        refuse_illegal("lbfgs", LOSSES["logistic"], 0.1, 0.1)


def test_without_a_penalty_lbfgs_stops_by_the_gradient() -> None:
    rng = np.random.default_rng(0)
    data = Dataset.of(rng.standard_normal((80, 3)), rng.integers(0, 2, 80))
    stop = Stop(epochs=((500,),), tol=np.array([1e-8]))
    result = train([Task(LOSSES["logistic"], 1, LBFGS(), stop)], data)[0]
    assert result.stop_reason == "tol"
    assert result.certificate.kind == "gradient_norm"
    assert result.certificate.gap is None


def test_gradient_descent_stops_at_a_proven_gap_too() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(50) > 0).astype(int)
    model = GradientDescentClassifier(l2=0.1, learning_rate=1.0, tol=1e-6, epochs=5000).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_iter_ < 5000
