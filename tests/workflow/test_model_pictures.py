"""What the reports of models draw: thresholds, calibration, coefficients and probabilities."""

import numpy as np
import pandas as pd
import pytest

from separatrix import load
from separatrix.workflow.evaluating import evaluate, parts_of
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_families import ModelOptions
from separatrix.workflow.pictures.model_pictures import picture_evaluation, picture_model


@pytest.fixture(scope="module")
def cancer():
    source = load("breast-cancer")
    return source, fit_source(source, options=ModelOptions(C=0.01)).bundle


def test_the_counts_at_the_threshold_of_the_model_are_its_confusion_matrix(cancer):
    source, bundle = cancer
    for positive in ("malignant", "benign"):
        facts = evaluate(bundle, source, positive=positive)
        (one,) = picture_evaluation(bundle, source, positive=positive)["thresholds"]
        k = one["chosen"]
        confusion = np.array(facts["metrics"]["confusion"])  # benign, malignant
        if positive == "benign":
            confusion = confusion[::-1, ::-1]
        assert one["true_positives"][k] == confusion[1, 1]
        assert one["false_positives"][k] == confusion[0, 1]
        assert one["positives"] == confusion[1].sum()
        assert one["values"][k] == 0.0
        assert one["roc_auc"] == facts["ranking"]["roc_auc"]


def test_counts_grow_as_the_threshold_falls_and_equal_those_of_the_scores(cancer):
    source, bundle = cancer
    (one,) = picture_evaluation(bundle, source, every_row=True, positive="malignant")["thresholds"]
    scores = bundle.decision_function(source)
    is_positive = source.y == "malignant"
    assert one["all"] > len(one["values"]) > 250
    assert (np.diff(one["values"]) < 0).all()
    for value, hits, alarms in zip(
        one["values"], one["true_positives"], one["false_positives"], strict=True
    ):
        assert hits == (scores[is_positive] > value).sum()
        assert alarms == (scores[~is_positive] > value).sum()


def test_several_classes_are_ranked_by_probability():
    source = load("iris")
    bundle = fit_source(source).bundle
    rows = parts_of(bundle, source)["test"]
    found = picture_evaluation(bundle, source)["thresholds"]
    assert [one["class"] for one in found] == ["setosa", "versicolor", "virginica"]
    P = bundle.predict_proba(rows)
    above = P[rows.y == "versicolor", 1] > found[1]["values"][5]
    assert found[1]["true_positives"][5] == above.sum()
    assert evaluate(bundle, source)["ranking"]["roc_auc"] > 0.97


def test_intervals_are_there_or_a_sentence_says_why_not(cancer):
    source, bundle = cancer
    found = picture_evaluation(bundle, source, positive="malignant")["intervals"]
    assert found["method"] == "bootstrap"
    assert found["names"][0] == "(intercept)"
    assert len(found["names"]) == 31
    inside = (found["lower"] <= found["estimate"]) & (found["estimate"] <= found["upper"])
    assert inside.mean() > 0.5
    wine = load("wine")
    other = fit_source(wine, "perceptron").bundle
    assert (
        "not available for a Perceptron" in picture_evaluation(other, wine)["intervals"]["reason"]
    )
    digits = load("digits")
    many = picture_evaluation(fit_source(digits).bundle, digits)["intervals"]["reason"]
    assert "650 coefficients" in many
    elsewhere = source.rows(np.arange(50))
    reason = picture_evaluation(bundle, elsewhere, positive="malignant")["intervals"]["reason"]
    assert "need the training rows" in reason


def test_wald_intervals_without_a_penalty():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = (X[:, 0] + rng.standard_normal(100) > 0).astype(int)
    source = load(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y}), label="label")
    bundle = fit_source(source, options=ModelOptions(C=np.inf)).bundle
    found = picture_evaluation(bundle, source, positive=1)["intervals"]
    assert found["method"] == "wald"
    assert found["p_value"].shape == (1, 3)


@pytest.mark.parametrize(
    ("family", "link"), [("softmax", "softmax"), ("logistic", "sigmoid"), ("svm", "")]
)
def test_the_link_gives_the_probabilities_of_the_model(family, link):
    source = load("iris")
    assert picture_model(fit_source(source, family).bundle, source).link == link
