"""The verdict of a study and its sentences."""

from dataclasses import replace

import numpy as np
import pytest

from separatrix import (
    GradientDescentClassifier,
    Study,
)
from separatrix.study.results.facts import Row
from separatrix.study.results.verdict import FinishedConfiguration, compare_configurations, judge
from support.studies import iris, two_classes


def judged(number, right, losses, parameters=None, **more):
    right, losses = np.asarray(right, float), np.asarray(losses, float)
    kept = {"val_accuracy": right.mean(), "val_loss": losses.mean(), "train_loss": 0.0}
    row = Row(number, parameters or {"learning_rate": float(number)}, "done", **more)
    return FinishedConfiguration(row, kept, {}, right, losses, "logistic")


def test_mcnemar_is_exact():
    """Of 10 rows in which two differ, 9 to 1: p = 2 (1 + 10) / 2^10."""
    right = np.array([1] * 9 + [0] + [1] * 20)
    other = np.array([0] * 9 + [1] + [1] * 20)
    found = compare_configurations(judged(0, right, np.zeros(30)), judged(1, other, np.zeros(30)))
    assert found.p_accuracy == pytest.approx(2 * 11 / 2**10)
    assert found.by == "accuracy"


def test_a_few_rows_do_not_tell_two_apart():
    """5 rows to none: p = 2 / 2^5 is above 1 in 20; 6 rows: it is below."""
    for rows, by in ((5, ""), (6, "accuracy")):
        right = np.ones(30)
        other = np.r_[np.zeros(rows), np.ones(30 - rows)]
        found = compare_configurations(
            judged(0, right, np.zeros(30)), judged(1, other, np.zeros(30))
        )
        assert (found.by, found.p_accuracy) == (by, 2 / 2**rows)


def test_equal_accuracies_are_told_apart_by_loss_only_if_the_losses_are():
    rng = np.random.default_rng(0)
    base = rng.random(50)
    worse = judged(1, np.ones(50), base + 0.2 + 0.1 * rng.random(50))
    alike = judged(2, np.ones(50), base + 0.1 * rng.standard_normal(50))
    best = judged(0, np.ones(50), base)
    assert compare_configurations(best, worse).by == "loss"
    assert compare_configurations(best, alike).by == ""


def test_the_verdict_names_the_edge_and_what_cannot_be_told_apart():
    rng = np.random.default_rng(1)
    losses, noise = rng.random(40), 1e-3 * np.resize([-1.0, 1.0], 40)
    done = [
        judged(k, np.ones(40), losses + gap, {"learning_rate": rate}, stable_rate=2.0)
        for k, (rate, gap) in enumerate([(0.01, 1.0), (0.1, noise), (1.0, -1e-5)])
    ]
    grid = {"learning_rate": [0.01, 0.1, 1.0]}
    verdict = judge(done, grid, 1, 0)
    assert verdict.best == 2
    assert verdict.edges == {"learning_rate": "high"}
    assert verdict.sentences[2].startswith("One other configuration cannot be told apart from it")
    assert "stable up to about 2" in verdict.sentences[3]
    assert "0.1, inside the grid" in verdict.sentences[3]
    inner = judge([*done[:2], judged(2, np.zeros(40), losses, {"learning_rate": 1.0})], grid, 1, 0)
    assert inner.edges == {}


def unconverged_sentences(*whys, **more):
    """The sentence about configurations that have not converged for these reasons."""
    done = [
        replace(judged(k, np.ones(4), np.full(4, k), **more), unconverged=why, needs=times)
        for k, (why, times) in enumerate(whys)
    ]
    found = judge(done, {}, 1, 0).sentences
    return [sentence for sentence in found if "not converged" in sentence]


def test_what_has_not_converged_is_counted_by_its_reasons():
    slow, fast, swings = ("not_converged", 3.0), ("", None), ("oscillating", None)
    assert unconverged_sentences(fast, fast) == []
    assert unconverged_sentences(slow, fast, swings, swings, ("ended_higher", None)) == [
        "4 of 5 configurations have not converged: 1 still on the way (it needs about 3 times the "
        "epochs), 2 oscillating, 1 ended above its start."
    ]
    unknown = ("not_converged", None)
    assert (
        "(2 of them need about 4 times the epochs, in the median)"
        in (unconverged_sentences(slow, ("not_converged", 5.0), unknown, unknown)[0])
    )
    assert "(one of them needs about 3 times the epochs)" in unconverged_sentences(slow, unknown)[0]
    assert (
        "(they need about 3 times the epochs, in the median)"
        in unconverged_sentences(slow, slow)[0]
    )
    assert unconverged_sentences(swings) == ["1 of 1 configuration has not converged: oscillating."]


@pytest.mark.parametrize(
    ("name", "values", "best", "edges"),
    [
        ("l1_ratio", [0.0, 0.5, 1.0], 0, {}),
        ("l1_ratio", [0.0, 0.5, 1.0], 2, {}),
        ("l1_ratio", [0.1, 0.5, 0.9], 2, {"l1_ratio": "high"}),
        ("epochs", [1, 5], 0, {}),
        ("epochs", [1, 5], 1, {"epochs": "high"}),
    ],
)
def test_where_nothing_lies_beyond_the_grid_is_not_to_be_extended(name, values, best, edges):
    done = [
        judged(k, np.ones(4), np.full(4, abs(k - best)), {name: value})
        for k, value in enumerate(values)
    ]
    assert judge(done, {name: values}, 1, 0).edges == edges


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ([1.0], "No other configuration is as good, as far as 40 validation rows tell; 1 is worse "
                "by loss (paired t-test), at the 5 % level."),
        ([1.0, 2.0, 0.0], "One other configuration cannot be told apart from it, as far as 40 "
                          "validation rows tell; 2 are worse by loss (paired t-test)"),
    ],
)  # fmt: skip
def test_the_verdict_says_is_of_one_configuration_and_are_of_several(others, told):
    losses = np.random.default_rng(0).random(40)
    done = [judged(k, np.ones(40), losses + gap) for k, gap in enumerate([0.0, *others])]
    assert judge(done, {}, 1, 0).sentences[2].startswith(told)


def test_the_only_configuration_is_no_plural(small):
    X, y, X_val, y_val = two_classes()
    study = Study("a", GradientDescentClassifier(l2=1.0), {"learning_rate": [1e5]})
    verdict = study.run(X, y, X_val, y_val).verdict()
    assert verdict.sentences[0].startswith("The only configuration that is done diverged")


def test_several_losses_are_compared_by_accuracy_alone(small):
    grid = {"loss": ["softmax", "hinge"], "learning_rate": [0.01, 0.1]}
    facts = Study("a", GradientDescentClassifier(epochs=200), grid).run(*iris()).facts()
    kinds = {c.number: c.p_loss for c in facts.verdict.comparisons}
    best = facts.rows[facts.verdict.best].parameters["loss"]
    for row in facts.rows:
        if row.number in kinds and row.parameters["loss"] != best:
            assert kinds[row.number] is None
    assert len(facts.objective_words) == 2
