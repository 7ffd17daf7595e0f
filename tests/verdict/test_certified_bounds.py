"""A short version of benchmarks/certified_bounds.py, and what each part of the bounds is for."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.regions import bias, bias_interval, optimum_region, slope
from separatrix.verdict.regions import region as region_module
from separatrix.verdict.regions.rounding import LOSS_GRADIENT

ball_module = sys.modules["separatrix.verdict.regions.ball"]

_PATH = Path(__file__).parents[2] / "benchmarks" / "certified_bounds.py"
no_extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps,
    reason="this machine has no numbers with more digits than float64",
)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("certified_bounds", _PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def violations(script, seeds):
    found = [script.check(seed) for seed in seeds]
    return [f for f in found if f is not None and f.excess > 0.0]


def is_violated(script, seeds):
    return any(violations(script, [seed]) for seed in seeds)


@no_extended
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_optimum_and_its_scores_are_in_the_region(script, first):
    assert violations(script, range(first, first + 60)) == []


@no_extended
def test_a_bias_that_is_not_the_best_widens_the_ball(script, monkeypatch):
    monkeypatch.setattr(bias, "SECANT_STEPS", 0)
    assert violations(script, range(60)) == []
    # Without this widening the optimum can be outside.
    monkeypatch.setattr(slope, "_longest", lambda rows: 0.0)
    assert is_violated(script, range(120))


@no_extended
@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (ball_module, "upper_norm", lambda a, axis: 0.9 * np.sqrt(np.square(a).sum(axis=axis))),
        (region_module, "bias_interval", lambda loss, y, s, low, high, guess: (guess, guess)),
    ],
)
def test_the_check_finds_bounds_that_are_too_tight(script, monkeypatch, module, name, wrong):
    monkeypatch.setattr(module, name, wrong)
    assert is_violated(script, range(240))


@no_extended
def test_the_check_finds_bounds_that_ignore_rounding(script, monkeypatch):
    def none(loss, apart, U, off):
        return 0.0 * (off if apart else off[:, :, :1])

    seeds = [210, 535, 733]  # problems whose optimum is found up to rounding
    assert violations(script, seeds) == []
    monkeypatch.setattr(slope, "error_of_duals", none)
    monkeypatch.setattr(region_module, "score_rounding", lambda model, f, length, Z: 0.0 * Z)
    assert violations(script, seeds)


@no_extended
def test_gradients_of_losses_are_as_exact_as_the_bounds_assume():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.uniform(-700, 700, 20000), rng.normal(size=20000)])
    y = rng.integers(2, size=len(z))
    margin = np.where(y == 1, 1.0, -1.0) * z.astype(np.longdouble)
    small = np.exp(-np.abs(margin))
    exact = np.where(margin > 0, small, 1.0) / (1.0 + small) * np.where(y == 1, -1.0, 1.0)
    found = bias.score_gradient(LOSSES["logistic"], y, z[:, None, None].copy())[:, 0, 0]
    assert (np.abs(found - exact) <= LOSS_GRADIENT / 4.0 * np.abs(exact)).all()


def test_models_of_a_batch_have_the_regions_that_they_have_alone():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    s, f = rng.uniform(0.5, 2.0, size=(60, 3)), rng.uniform(0.5, 2.0, size=(4, 3))
    model = Model(0.1 * rng.normal(size=(4, 3, 1)), np.zeros((3, 1)))
    objective = Objective(
        Dataset.of(X, y, s), LOSSES["logistic"], ElasticNet(0.0, [0.1, 1.0, 0.01], f)
    )
    together = optimum_region(objective, model, np.full(4, 0.1))
    for k in range(3):
        some = np.array([k])
        alone = optimum_region(objective.select(some), model.select(some), np.full(4, 0.1))
        np.testing.assert_allclose(together.ball.radius[k], alone.ball.radius[0], rtol=1e-12)
        np.testing.assert_allclose(together.low[k], alone.low[0], rtol=1e-9)
        np.testing.assert_allclose(together.high[k], alone.high[0], rtol=1e-9)


def test_rows_of_one_class_leave_the_bias_unbounded_on_one_side():
    z = np.zeros((5, 1, 1))
    low, high = bias_interval(
        LOSSES["logistic"], np.ones(5, int), np.ones(5), z, z, np.zeros((1, 1))
    )
    assert high.item() == np.inf
    assert low.item() > 20.0
