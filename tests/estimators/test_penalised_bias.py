"""A penalised bias equals the weight of a constant feature with the same penalty as all others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS, Gradient
from separatrix.training import Stop, run
from separatrix.verdict.certificate import certify
from support.forms import CONVEX, FORMS, SMOOTH, Form

N, D, CONSTANT = 60, 4, 2.5
L2 = np.array([0.05, 0.3])


def pair(form: Form, seed: int = 0) -> tuple[Objective, Model, Objective, Model]:
    """Two models with a penalised bias, and two with a constant feature and no bias."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = rng.integers(0, form.classes, N)
    s = rng.uniform(0.0, 2.0, (N, 2))
    inside = Objective(
        Dataset.of(X, y, s, classes=np.arange(form.classes)),
        form.loss,
        ElasticNet(0.0, L2, bias_factor=1.0 / CONSTANT),
    )
    wide = np.column_stack([X, np.full(N, CONSTANT)])
    appended = Objective(
        Dataset.of(wide, y, s, classes=np.arange(form.classes)),
        form.loss,
        ElasticNet(0.0, L2),
        bias=False,
    )
    W = rng.standard_normal((D + 1, 2, form.outputs))
    zero = np.zeros((2, form.outputs))
    return inside, Model(W[:-1].copy(), CONSTANT * W[-1]), appended, Model(W, zero)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_penalised_bias_equals_a_constant_feature(form: Form) -> None:
    inside, model, appended, wide = pair(form)
    ours, theirs = inside.evaluate(model), appended.evaluate(wide)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)
    np.testing.assert_allclose(inside.value(model), theirs.value, rtol=1e-12)
    GW, gb = inside.gradient(model)
    G, _ = appended.gradient(wide)
    np.testing.assert_allclose(GW, G[:-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(CONSTANT * gb, G[-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", SMOOTH, ids=str)
def test_the_curvature_of_a_penalised_bias_equals_that_of_a_constant_feature(form: Form) -> None:
    inside, model, appended, wide = pair(form)
    ours = inside.hessian_times(model, model)
    theirs = appended.hessian_times(wide, wide)
    np.testing.assert_allclose(ours.W, theirs.W[:-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(CONSTANT * ours.b, theirs.W[-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", CONVEX, ids=str)
def test_the_certificate_of_a_penalised_bias_equals_that_of_a_constant_feature(form: Form) -> None:
    inside, model, appended, wide = pair(form)
    for ours, theirs in zip(certify(inside, model), certify(appended, wide)):
        assert ours.dual == pytest.approx(theirs.dual, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("form", [f for f in SMOOTH if f.loss.convex], ids=str)
def test_a_penalised_bias_reaches_the_required_duality_gap(form: Form) -> None:
    inside, model, appended, wide = pair(form)
    stop = Stop(((2000,),) * 2, tol=np.full(2, 1e-10))
    zero = Model(np.zeros_like(model.W), np.zeros_like(model.b))
    zero_wide = Model(np.zeros_like(wide.W), np.zeros_like(wide.b))
    for [ours], [theirs] in zip(
        run(LBFGS(), inside, zero, stop), run(LBFGS(), appended, zero_wide, stop)
    ):
        assert ours.stop_reason == "tol"
        assert "bias penalised" in ours.objective
        assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=1e-9)


def test_the_models_of_a_batch_can_have_different_bias_penalties() -> None:
    form = next(f for f in CONVEX if f.loss.name == "logistic")
    inside, model, _, _ = pair(form)
    mixed = Objective(
        inside.data, form.loss, ElasticNet(0.0, L2, bias_factor=[0.0, 1.0 / CONSTANT])
    )
    free = Objective(inside.data, form.loss, ElasticNet(0.0, L2))
    expected = [certify(free, model)[0], certify(inside, model)[1]]
    assert certify(mixed, model) == expected


def test_a_penalised_bias_is_refused_with_l1_and_with_mini_batches() -> None:
    words = "A penalised bias needs l1 = 0. Got bias_factor=1 with l1=0.1."
    with pytest.raises(ValueError, match=re.escape(words)):
        ElasticNet(0.1, 0.1, bias_factor=1.0)
    inside, model, _, _ = pair(CONVEX[0])
    each = np.full(2, 0.1)
    with pytest.raises(ValueError, match="Mini-batches cannot be used with a penalised bias"):
        Gradient(each, 0 * each, 0 * each, batch_size=7).start(inside, model)
