"""The verdict of a study and its sentences."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from separatrix import (
    GradientDescentClassifier,
    Study,
)
from separatrix.study.results.comparison import FinishedConfiguration, compare_configurations
from separatrix.study.results.facts import Row
from separatrix.study.results.table_formats import best_rows, cells
from separatrix.study.results.verdict import judge
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


def test_a_more_accurate_configuration_is_never_called_less_accurate():
    """Nor is one with a lower loss said to have a higher one."""
    right, wrong = np.ones(30), np.r_[np.zeros(10), np.ones(20)]
    losses = np.random.default_rng(0).random(30)
    found = compare_configurations(judged(0, wrong, losses + 1.0), judged(1, right, losses))
    assert found.p_accuracy < 0.05
    assert found.p_loss < 0.05
    assert found.by == ""


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


def test_the_largest_rate_is_worth_extending_only_if_no_smaller_one_is_as_good():
    losses, noise = np.random.default_rng(1).random(40), 1e-3 * np.resize([-1.0, 1.0], 40)

    def done(middle):
        gaps = (0.01, 1.0), (0.1, middle), (1.0, -1e-5)
        return [
            judged(k, np.ones(40), losses + gap, {"learning_rate": rate}, stable_rate=2.0)
            for k, (rate, gap) in enumerate(gaps)
        ]

    grid = {"learning_rate": [0.01, 0.1, 1.0]}
    alone = judge(done(0.5), grid, 1, 0)
    assert (alone.best, alone.edges) == (2, {"learning_rate": "high"})
    assert "up to 2 is stable" in " ".join(alone.sentences)
    beside = judge(done(noise), grid, 1, 0)  # 0.1 is as good, and smaller
    assert (beside.best, beside.edges) == (1, {})
    assert "the simplest of these, by learning rate" in " ".join(beside.sentences)


def unconverged(*whys, **more):
    """The sentence about configurations that did not converge for these reasons."""
    done = [
        replace(judged(k, np.ones(40), np.full(40, k), **more), unconverged=why, needs=times)
        for k, (why, times) in enumerate(whys)
    ]
    found = judge(done, {}, 1, 0).sentences
    return [sentence for sentence in found if "not converge:" in sentence]


def test_unconverged_configurations_are_counted_by_their_reasons():
    slow, fast, swings = ("not_converged", 3.0), ("", None), ("oscillating", None)
    assert unconverged(fast, fast) == []
    assert unconverged(slow, fast, swings, swings, ("ended_higher", None)) == [
        "4 of 5 configurations did not converge: 1 still changing (it needs about 3 times as "
        "many epochs), 2 oscillating, 1 ended above its start."
    ]
    unknown = ("not_converged", None)
    several = unconverged(slow, ("not_converged", 5.0), unknown, unknown)
    assert "(2 of them need a median of 4 times as many epochs)" in several[0]
    assert "(1 of them needs about 3 times as many epochs)" in unconverged(slow, unknown)[0]
    assert "(they need a median of 3 times as many epochs)" in unconverged(slow, slow)[0]
    assert unconverged(swings) == ["1 of 1 configuration did not converge: oscillating."]


def test_a_best_configuration_that_did_not_converge_is_said():
    same = [judged(k, np.ones(40), np.full(40, 0.1), {"epochs": 10 * k}) for k in (1, 2, 3)]

    def sentences(*whys):
        done = [replace(one, unconverged=why) for one, why in zip(same, whys)]
        found = judge(done, {"epochs": [10, 20, 30]}, 1, 0).sentences
        return [text for text in found if text.startswith("The best configuration did not")]

    assert sentences("", "not_converged", "oscillating") == []
    assert sentences(*["not_converged"] * 3) == [
        "The best configuration did not converge (it was still changing), and neither did any of "
        "the 2 that are as good."
    ]
    slow = [replace(same[0], unconverged="oscillating"), judged(5, np.zeros(40), np.full(40, 9.0))]
    words = " ".join(judge(slow, {"epochs": [10]}, 1, 0).sentences)
    assert "The best configuration did not converge (it oscillated). " in words


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
        replace(
            judged(k, np.ones(40), np.full(40, abs(k - best)), {name: value}),
            unconverged="not_converged",
        )
        for k, value in enumerate(values)
    ]
    assert judge(done, {name: values}, 1, 0).edges == edges


@pytest.mark.parametrize(
    ("others", "same", "worse"),
    [
        ([1.0], "No other configuration is as good", "1 has a higher loss (paired t-test)"),
        ([1.0, 2.0, 0.0], "1 other configuration is as good", "2 have a higher loss"),
    ],
)
def test_the_verdict_counts_the_configurations_that_are_as_good(others, same, worse):
    losses = np.random.default_rng(0).random(40)
    done = [judged(k, np.ones(40), losses + gap) for k, gap in enumerate([0.0, *others])]
    text = " ".join(judge(done, {}, 1, 0).sentences)
    assert same in text
    assert worse in text


def test_equal_training_losses_without_validation_rows_are_ranked_by_simplicity():
    done = [
        replace(
            judged(k, [1.0], [0.0], {"epochs": epochs}),
            right=None,
            losses=None,
            kept={"train_loss": loss, "train_accuracy": 0.8},
        )
        for k, (epochs, loss) in enumerate([(100, 0.5), (500, 0.40421), (1000, 0.40420)])
    ]
    verdict = judge(done, {"epochs": [100, 500, 1000]}, 1, 0)
    assert verdict.best == 1
    assert verdict.sentences[1].startswith("Training loss 0.4042.")


def test_a_short_table_has_the_lowest_loss_and_all_its_digits(small):
    X, y, X_val, y_val = two_classes()
    grid = {"learning_rate": [0.1, 0.3, 1.0], "epochs": [10, 100, 1000]}
    facts = Study("a", GradientDescentClassifier(), grid).run(X, y, X_val, y_val).facts()
    sizes = [2e-5 * (number + 1) for number in range(9)]
    rows = [
        replace(
            row,
            mark="best" if row.number == 8 else "same",
            last=row.last | {"val_loss": size, "val_accuracy": 0.9 + size},
            best=row.best | {"val_loss": size, "val_accuracy": 0.9 + size},
        )
        for row, size in zip(facts.rows, sizes)
    ]
    shown = best_rows(replace(facts, rows=rows), 3)
    assert [row.number for row in shown] == [8, 0, 1]
    assert "2.0e-05" in cells(facts, shown[1])


def test_the_only_configuration_is_no_plural(small):
    X, y, X_val, y_val = two_classes()
    study = Study("a", GradientDescentClassifier(l2=1.0), {"learning_rate": [1e5]})
    verdict = study.run(X, y, X_val, y_val).verdict()
    assert verdict.sentences[0].startswith("The only finished configuration diverged")


def test_different_losses_are_compared_by_log_loss_or_by_accuracy(small):
    """A softmax and a sum of three logistic losses have values that cannot be compared."""
    X, y, X_val, y_val = iris()
    grid = {"multiclass": ["auto", "ovr"], "learning_rate": [0.01, 0.05]}
    facts = Study("a", GradientDescentClassifier(epochs=200), grid).run(X, y, X_val, y_val).facts()
    assert facts.verdict.score == "val_log_loss"
    row = facts.rows[facts.verdict.best]
    best = row.parameters
    assert f"{row.val_log_loss:.4f}" in cells(facts, row)
    model = GradientDescentClassifier(epochs=200, **best).fit(X, y)
    expected = log_loss(y_val, model.predict_proba(X_val))
    assert row.val_log_loss == pytest.approx(expected)
    (sentence,) = (s for s in facts.verdict.sentences if "log-loss" in s)
    assert f"log-loss {expected:.4g}" in sentence
    grid = {"loss": ["softmax", "hinge"], "learning_rate": [0.01, 0.05]}
    facts = Study("b", GradientDescentClassifier(epochs=200), grid).run(*iris()).facts()
    loss_of = [row.parameters["loss"] for row in facts.rows]
    assert facts.verdict.score == "val_log_loss"
    assert loss_of[facts.verdict.best] == "softmax"
    for row in facts.rows:
        assert (row.val_log_loss is None) == (row.parameters["loss"] == "hinge")
    for c in facts.verdict.comparisons:
        assert (c.p_loss is None) == (loss_of[c.number] == "hinge")
    assert len(facts.objective_words) == 2
