"""Bounds on scores at the optima for all strengths nearby, and what each part of them is for."""

import numpy as np
import pytest
from test_certified_bounds import no_extended, script  # noqa: F401

from separatrix.data import Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.matrix import Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.regions import metric as metric_module
from separatrix.verdict.regions import score_paths as paths_module
from separatrix.verdict.regions.metric import Metric
from separatrix.verdict.regions.score_paths import PathRows, score_paths
from separatrix.verdict.regions.secant_curvature import (
    SHORTEST,
    has_one_peak,
    least_curvature,
)

PEAKED = ["logistic", "squared", "squared_hinge", "modified_huber"]


def violations(script, seeds):  # noqa: F811
    found = [script.check_path(seed) for seed in seeds]
    return [f for f in found if f is not None and f.excess > 0.0]


@no_extended
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_scores_at_other_strengths_are_within_the_bounds(script, first):  # noqa: F811
    assert violations(script, range(first, first + 60)) == []


@no_extended
def test_narrower_bounds_are_violated(script, monkeypatch):  # noqa: F811
    bounds = paths_module.ScorePath.bounds

    def narrow(path, l2):
        low, high = bounds(path, l2)
        middle, half = 0.5 * (low + high), 0.45 * (high - low)
        return middle - half, middle + half

    monkeypatch.setattr(paths_module.ScorePath, "bounds", narrow)
    with np.errstate(invalid="ignore"):
        assert violations(script, range(60)) != []


@no_extended
def test_without_the_least_curvature_the_bounds_are_violated(script, monkeypatch):  # noqa: F811
    def at_the_score(loss, y, Z, reach, off):
        return least_curvature(loss, y, Z, np.full_like(reach, SHORTEST), off)

    monkeypatch.setattr(paths_module, "least_curvature", at_the_score)
    assert violations(script, range(240)) != []


@pytest.mark.parametrize("name", PEAKED)
def test_the_least_curvature_is_below_every_secant(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    z = rng.normal(size=(400, 1, 1)) * 3.0
    y = rng.integers(2, size=400)
    reach = 10.0 ** rng.uniform(-3, 1, size=z.shape)
    least = least_curvature(loss, y, z, reach, np.zeros_like(z))
    for share in np.linspace(-1.0, 1.0, 21):
        if share:
            ahead = loss.gradient(y, z + share * reach) - loss.gradient(y, z)
            assert (least <= ahead / (share * reach) + 1e-9).all()
    # It is attained at one of the ends.
    ends = [
        (loss.gradient(y, z + side * reach) - loss.gradient(y, z)) / (side * reach)
        for side in (-1.0, 1.0)
    ]
    np.testing.assert_allclose(least, np.minimum(*ends), atol=1e-7)


def test_losses_with_one_peak():
    assert all(has_one_peak(LOSSES[name], 1) for name in PEAKED)
    assert has_one_peak(OneVsRest(LOSSES["logistic"]), 3)
    for name in ("softmax", "hinge", "sigmoid_mse", "perceptron", "crammer_singer"):
        assert not has_one_peak(LOSSES[name], 3)


def test_lengths_in_a_metric_are_upper_bounds():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 5))
    M = A.T @ A
    metric = Metric.of(M, 30, np.full(5, np.abs(A).max()), False)
    exact = np.sqrt(np.einsum("ij,jk,ik->i", A, np.linalg.inv(M), A))
    rows = PathRows([Matrix(A)], np.zeros(5), metric.largest)
    found = metric.movements(rows.centred(), np.ones(5))
    assert (found.length >= exact).all()
    np.testing.assert_allclose(found.length, exact, rtol=1e-8)
    np.testing.assert_allclose(found.drift, A @ np.linalg.solve(M, np.ones(5)), atol=1e-10)


def test_the_ratio_of_two_metrics_bounds_all_lengths():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 5)), rng.normal(size=(40, 5))
    one, other = (Metric.of(a.T @ a, len(a), np.ones(5), False) for a in (A, B))
    each = [
        one.size(a, np.zeros(5)) / other.size(a, np.zeros(5)) for a in rng.normal(size=(500, 5))
    ]
    assert max(each) <= one.ratio(other)
    assert max(each) >= 0.8 * one.ratio(other)


def test_a_matrix_that_is_singular_or_not_finite_has_no_metric():
    assert Metric.of(np.ones((2, 2)), 10, np.ones(2), False) is None
    assert Metric.of(np.diag([1.0, np.nan]), 10, np.ones(2), False) is None
    assert Metric.of(np.diag([1.0, 1e-300]), 10, np.ones(2), False) is not None


def test_an_inverse_with_large_errors_is_refused(monkeypatch):
    monkeypatch.setattr(metric_module, "LARGEST_ERROR", 0.0)
    assert Metric.of(np.eye(2), 10, np.ones(2), False) is None


def test_outside_the_proven_strengths_the_bounds_are_infinite():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet(0.0, [0.1]))
    rows = PathRows.of(objective, True)
    every = np.arange(40)
    path, references = score_paths(
        objective, Model.zeros(3, 1, 1), rows, [(0.08, 0.12)], [(every, rows)], [None]
    )[0]
    assert len(references) == 1
    assert 0.08 <= path.low <= 0.1 <= path.high <= 0.12
    for l2 in (0.07, 0.13):
        low, high = path.bounds(l2)
        assert np.isneginf(low).all()
        assert np.isposinf(high).all()
