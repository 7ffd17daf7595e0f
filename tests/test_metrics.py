"""Metrics equal those of scikit-learn, and are None if their denominator is 0."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)

from separatrix.metrics import curves, measure, operating_points, rank, reliability

CLASSES = np.array(["a", "b", "c"])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_measures_equal_those_of_scikit_learn(pairs):
    y, predicted = (CLASSES[[pair[k] for pair in pairs]] for k in (0, 1))
    rng = np.random.default_rng(len(pairs))
    P = rng.dirichlet(np.ones(3), len(y))
    found = measure(y, predicted, CLASSES, P)
    assert found["accuracy"] == accuracy_score(y, predicted)
    assert found["log_loss"] == log_loss(y, P, labels=CLASSES)
    wanted = precision_recall_fscore_support(y, predicted, labels=CLASSES, zero_division=np.nan)
    for key, values in zip(("precision", "recall", "f1", "rows"), wanted):
        got = [np.nan if entry[key] is None else entry[key] for entry in found["classes"]]
        np.testing.assert_allclose(got, values, rtol=1e-15)
    assert np.sum(found["confusion"]) == len(y)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_label_that_the_model_does_not_know_is_named():
    with pytest.raises(ValueError, match="the label 'd', which is not one of"):
        measure(np.array(["a", "d"]), np.array(["a", "a"]), CLASSES)


def test_measures_of_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        measure(CLASSES[:0], CLASSES[:0], CLASSES)


def test_ranking_of_two_and_of_three_classes():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 60), rng.normal(size=(60, 3))
    found = rank(y, scores, np.arange(3))
    each = [roc_auc_score(y == k, scores[:, k]) for k in range(3)]
    assert found["roc_auc"] == pytest.approx(np.mean(each), abs=1e-15)
    two = rank(y > 0, scores[:, 0], np.array([False, True]))
    assert two["average_precision"] == average_precision_score(y > 0, scores[:, 0])
    alone = rank(np.zeros(3, int), scores[:3], np.arange(3))
    assert alone == {"roc_auc": None, "average_precision": None}


def test_operating_points_reach_the_recall_asked_for():
    rng = np.random.default_rng(1)
    positive = rng.random(500) < 0.3
    scores = positive + rng.normal(size=500)
    points = operating_points(positive, scores)
    for point, aim in zip(points, (0.5, 0.8, 0.9, 0.95, 0.99)):
        said = scores > point["threshold"]
        assert point["recall"] == said[positive].mean() >= aim
        assert point["precision"] == positive[said].mean()
        assert point["false_positive_rate"] == said[~positive].mean()


def test_recalls_that_need_one_threshold_are_one_point():
    assert len(operating_points(np.array([False, True]), np.array([0.0, 1.0]))) == 1


def test_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(2)
    positive = rng.random(3000) < 0.5
    found = curves(positive, rng.normal(size=3000))
    roc = found["roc"]
    assert len(roc["false_positive_rate"]) == 201
    assert (roc["false_positive_rate"][0], roc["true_positive_rate"][-1]) == (0.0, 1.0)


def test_reliability_groups_all_rows_and_wilsons_interval_is_that_of_scipy():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=500)
    true = rng.uniform(size=500) < p**2
    found = reliability(true, p, 8)
    assert sum(group["rows"] for group in found["groups"]) == 500
    assert max(group["rows"] for group in found["groups"]) <= 64
    for group in found["groups"]:
        hits = round(group["observed"] * group["rows"])
        interval = binomtest(hits, group["rows"]).proportion_ci(method="wilson")
        assert [group["low"], group["high"]] == pytest.approx([interval.low, interval.high])
    assert found["error"] == pytest.approx(
        np.mean([abs(g["predicted"] - g["observed"]) for g in found["groups"]]), rel=0.05
    )


def test_ties_are_in_one_group():
    found = reliability(np.array([True, False] * 50), np.full(100, 0.5), 10)
    assert len(found["groups"]) == 1
    assert found["error"] == 0.0
