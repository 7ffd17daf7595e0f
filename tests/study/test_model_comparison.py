"""The best of several unlike models, and those that are as good."""

import numpy as np

from separatrix.study.results.model_comparison import judge_models


def test_models_with_probabilities_are_compared_by_log_loss():
    right, rng = np.ones(50, bool), np.random.default_rng(0)
    low, high = rng.uniform(0.1, 0.2, 50), rng.uniform(0.5, 0.9, 50)
    found = judge_models(
        {"high": {"right": right, "log_loss": high}, "low": {"right": right, "log_loss": low}}
    )
    assert (found["best"], found["as_good"]) == ("low", [])
    assert f"log-loss {low.mean():.4g}." in found["comparison"][0]
    assert found["comparison"][1] == "Significantly higher log-loss (paired t-test): high."


def test_a_model_without_probabilities_leaves_the_log_loss_of_the_others():
    right, loss = np.ones(50, bool), np.full(50, 0.1)
    wrong = right.copy()
    wrong[:10] = False
    found = judge_models(
        {
            "svm": {"right": wrong, "log_loss": None},
            "logistic": {"right": right, "log_loss": loss},
            "softmax": {"right": right, "log_loss": 9.0 * loss},
        }
    )
    assert (found["best"], found["as_good"]) == ("logistic", [])
    text = " ".join(found["comparison"])
    assert "Significantly less accurate (exact McNemar test): svm." in text
    assert "Significantly higher log-loss (paired t-test): softmax." in text


def test_equally_accurate_models_are_tied_unless_log_loss_separates_them():
    right, loss = np.ones(50, bool), np.full(50, 0.1)
    found = judge_models(
        {
            "svm": {"right": right, "log_loss": None},
            "softmax": {"right": right, "log_loss": loss},
            "logistic": {"right": right, "log_loss": 9.0 * loss},
        }
    )
    assert (found["best"], found["ties"], found["as_good"]) == ("svm", ["softmax"], ["softmax"])
    text = " ".join(found["comparison"])
    assert "Significantly higher log-loss than another model (paired t-test): logistic." in text


def test_of_models_that_log_loss_does_not_separate_the_lowest_is_best():
    """Their order says nothing about them."""
    right, noise = np.ones(50, bool), np.resize([-1.0, 1.0], 50)
    losses = {"first": 0.4 + 0.1 * noise, "second": np.full(50, 0.399)}
    models = {name: {"right": right, "log_loss": loss} for name, loss in losses.items()}
    assert judge_models(models)["best"] == "second"
    found = judge_models(models, ["second"])
    assert (found["best"], found["ties"]) == ("first", [])
    assert "The log-loss of second is lower, but not significantly" in found["comparison"][1]


def test_a_model_that_did_not_converge_comes_after_an_equal_one_that_did():
    right = np.ones(50, bool)
    models = {name: {"right": right, "log_loss": None} for name in ("slow", "done")}
    assert judge_models(models, ["slow"])["best"] == "done"


def test_few_rows_show_no_difference_between_models():
    models = {
        name: {"right": np.array([k, 1], bool), "log_loss": None} for k, name in enumerate("ab")
    }
    found = judge_models(models)
    assert (found["best"], found["as_good"]) == ("b", ["a"])
    assert "cannot show any difference" in found["comparison"][1]


def test_without_validation_rows_there_is_no_best_model():
    assert judge_models({}) == {
        "best": None,
        "ties": [],
        "as_good": [],
        "comparison": [],
        "differences": [],
    }


def test_differences_have_the_p_values_of_the_tests_behind_the_sentences():
    right = np.arange(100) >= 40
    models = {
        "good": {"right": np.ones(100, bool), "log_loss": None},
        "poor": {"right": right, "log_loss": None},
    }
    (found,) = judge_models(models)["differences"]
    assert (found["model"], found["by"], found["p_loss"]) == ("poor", "accuracy", None)
    assert found["p_accuracy"] == 2.0 * 0.5**40  # exact McNemar test of 40 rows against none
