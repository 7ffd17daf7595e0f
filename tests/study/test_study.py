"""Studies: grids, batches, the verdict and its sentences."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from separatrix import (
    LOSSES,
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    Study,
)
from separatrix.matrix import rows_read
from separatrix.study import Between, StoreError, log_range
from separatrix.study.planning.batches import split_into_batches
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.default_grid import HOMEWORK, choose_grid
from separatrix.study.planning.grid import draw_configurations, list_configurations
from separatrix.study.planning.plan import StudyPlan
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.facts import Row
from separatrix.study.results.observations import epochs_needed
from separatrix.study.results.verdict import FinishedConfiguration, compare, judge
from support.studies import GRID, assert_same, facts_of, iris, study_of

MEASURES = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder of its own for the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path


def two_classes(noise=0.3, n=200, seed=0):
    """Rows of two classes that overlap the more, the more noise there is."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] + noise * rng.standard_normal(n) > 0).astype(int)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


# grids


def test_configurations_are_ordered_with_the_last_parameter_fastest():
    found = list_configurations({"a": [1, 2], "b": [3, 4], "c": 5})
    assert [tuple(c.values()) for c in found] == [(1, 3, 5), (1, 4, 5), (2, 3, 5), (2, 4, 5)]


def test_grids_in_a_list_follow_each_other_and_repeat_nothing():
    found = list_configurations([{"a": [1, 2]}, {"a": [2, 3]}])
    assert [c["a"] for c in found] == [1, 2, 3]


@given(st.floats(1e-6, 1.0), st.floats(1.5, 1e6), st.integers(2, 20))
def test_a_log_range_rises_by_equal_factors_from_end_to_end(low, times, count):
    found = log_range(low, low * times, count)
    assert (found[0], found[-1], len(found)) == (low, low * times, count)
    factors = np.array(found[1:]) / found[:-1]
    np.testing.assert_allclose(factors, times ** (1 / (count - 1)), rtol=1e-4)


def test_draws_are_inside_the_ranges_and_repeatable():
    grid = {"learning_rate": Between(1e-3, 1.0), "momentum": [0.0, 0.9]}
    found = draw_configurations(grid, 30, seed=3)
    assert found == draw_configurations(grid, 30, seed=3) != draw_configurations(grid, 30, seed=4)
    assert len(found) == 30
    assert all(1e-3 <= c["learning_rate"] <= 1.0 for c in found)
    assert len(draw_configurations({"momentum": [0.0, 0.9]}, 10)) == 2


def test_an_empty_grid_is_one_configuration_and_no_grid_is_none(small):
    assert len(Study("a", GradientDescentClassifier(), {})) == 1
    with pytest.raises(ValueError, match="at least one grid"):
        Study("a", GradientDescentClassifier(), [])


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"learning_rate": Between(0.1, 1.0)}, "Use log_range"),
        ({"learning_rate": []}, "no values"),
        ({"speed": [1]}, "no parameter 'speed'"),
        ({"random_state": [1]}, "seeds=N"),
        ({"loss": [LOSSES["hinge"]]}, "Got Margin for 'loss'"),
        ({"init": [(np.zeros(4), 0.0)]}, "Got tuple for 'init'"),
    ],
)
def test_a_grid_that_cannot_be_meant_is_refused_in_words(grid, words):
    with pytest.raises(ValueError, match=words):
        Study("a", GradientDescentClassifier(), grid)


@pytest.mark.parametrize("seeds", [0, -1, 1.5, True, [], [1, 1], [1, 2.5], "ab"])
def test_seeds_that_cannot_be_meant_are_refused_in_words(seeds):
    with pytest.raises(ValueError, match=r"seeds is a whole number of at least 1, or a list"):
        Study("a", GradientDescentClassifier(), {"epochs": [5]}, seeds=seeds)


@pytest.mark.parametrize("values", [(0.1, 0.2), {0.1, 0.2}, tuple(range(1000))])
def test_several_values_in_a_tuple_are_refused_with_a_hint(values):
    for more in ({}, {"draws": 2}):
        with pytest.raises(ValueError, match=r"'learning_rate' is a .* are a list, \[") as refused:
            Study("a", GradientDescentClassifier(), {"learning_rate": values}, **more)
        assert len(str(refused.value)) < 300


def test_a_wrong_value_is_refused_before_anything_is_trained_and_names_its_configuration(small):
    study = Study("a", GradientDescentClassifier(), {"learning_rate": [0.1, -1.0]})
    with pytest.raises(ValueError, match=r"learning rate -1: The 'learning_rate' parameter"):
        study.run(*iris())
    with pytest.raises(StoreError, match="no study 'a'"):
        study.facts()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y, X_val, y_val: (X, y[:-1], X_val, y_val), "rows"),
        (lambda X, y, X_val, y_val: (X[:, 0], y, X_val, y_val), "2D"),
        (lambda X, y, X_val, y_val: (X * np.nan, y, X_val, y_val), "NaN"),
        (lambda X, y, X_val, y_val: (X, y, X_val, None), "go together"),
        (lambda X, y, X_val, y_val: (X, y, X_val[:, :2], y_val), "2 columns and X has 4"),
        (lambda X, y, X_val, y_val: (X, y, X_val, y_val + 7), "y_val"),
        (lambda X, y, X_val, y_val: (X,), "needs labels"),
    ],
)
def test_rows_that_cannot_be_trained_on_are_refused_in_words(small, change, words):
    with pytest.raises(ValueError, match=words):
        Study("a", GradientDescentClassifier(), {"epochs": 1}).run(*change(*iris()))
    assert not list(small.iterdir())


# runs


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        *(
            (
                GradientDescentClassifier(rule=rule, init="random", epochs=12),
                {"learning_rate": [0.1, 0.01], "momentum": [0.0, 0.9], "batch_size": [None, 7]},
            )
            for rule in ("plain", "momentum", "nesterov", "adam")
        ),
        (Perceptron(epochs=9), {"init": ["zeros", "random"], "fit_intercept": [True, False]}),
        (LogisticRegression(), {"C": [0.1, 10.0], "solver": ["newton", "lbfgs", "coordinate"]}),
        (LogisticRegression(l1_ratio=0.5), {"C": [0.1, 1.0], "class_weight": [None, "balanced"]}),
        (LinearSVC(), {"C": [0.1, 1.0], "loss": ["hinge", "squared_hinge"]}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
def test_a_batched_study_is_that_of_configurations_trained_one_by_one(small, estimator, grid):
    X, y, X_val, y_val = iris()
    together = Study("together", estimator, grid, seeds=2).run(X, y, X_val, y_val)
    apart = Study("apart", estimator, grid, seeds=2, memory=1).run(X, y, X_val, y_val)
    assert_same(together.facts(), apart.facts())
    histories = together.histories()
    for number, chosen in enumerate(list_configurations(grid)):
        for seed in (0, 1):
            alone = clone(estimator).set_params(**chosen, random_state=seed)
            more = (
                {}
                if isinstance(alone, LogisticRegression | LinearSVC)
                else {"X_val": X_val, "y_val": y_val}
            )
            alone.fit(X, y, **more)
            kept = histories[number][seed]
            names = ("train_loss", "objective") if not more else (*MEASURES, "objective")
            for name in names:
                assert kept[name].tobytes() == alone.history_[name].tobytes()


def test_a_study_reads_the_data_as_often_as_its_longest_run(small):
    def rows(name, grid):
        before = rows_read()[1]
        Study(name, GradientDescentClassifier(), grid).run(*iris())
        return rows_read()[1] - before

    one = rows("one", {"learning_rate": [0.01], "epochs": 300})
    many = rows("many", {"learning_rate": [0.1, 0.01, 1e-3], "momentum": [0, 0.5, 0.9],
                         "epochs": [100, 200, 300]})  # fmt: skip
    assert many <= one + 60 * 100  # limits of the rate and certificates


def test_memory_cuts_batches_and_keeps_what_differs_in_epochs_together(small):
    plan = StudyPlan.from_grid(GradientDescentClassifier(), HOMEWORK)
    planned = StudyTasks.from_plan(plan, StudyData.from_arrays(*iris()))
    assert [len(runs) for runs in split_into_batches(planned)] == [32]
    cut = split_into_batches(planned, 1)
    assert [len(runs) for runs in cut] == [4] * 8
    assert sorted(run for runs in cut for run in runs) == list(range(32))
    for runs in cut:
        assert (
            len(
                {
                    (plan.configurations[r]["learning_rate"], plan.configurations[r]["momentum"])
                    for r in runs
                }
            )
            == 1
        )


def test_seeds_of_a_run_without_chance_are_one_run_and_have_no_deviation(small):
    study = Study("a", GradientDescentClassifier(epochs=5), {"learning_rate": [0.1]}, seeds=3)
    facts = study.run(*iris()).facts()
    assert facts.rows[0].deviation["val_loss"] == 0.0
    assert len(facts.histories[0]) == 3


def test_random_starts_deviate_and_the_mean_is_over_all_seeds(small):
    estimator = GradientDescentClassifier(init="random", init_scale=1.0, epochs=5)
    facts = Study("a", estimator, {"learning_rate": [0.01]}, seeds=4).run(*iris()).facts()
    losses = [history["val_loss"][-1] for history in facts.histories[0]]
    assert facts.rows[0].last["val_loss"] == pytest.approx(np.mean(losses))
    assert facts.rows[0].deviation["val_loss"] == pytest.approx(np.std(losses, ddof=1))
    assert facts.rows[0].deviation["val_loss"] > 0.01


def test_the_table_has_last_and_best_epoch(small):
    X, y, X_val, y_val = two_classes(noise=1.0, n=40)
    study = Study("a", GradientDescentClassifier(epochs=400), {"learning_rate": [1.0, 0.1]})
    facts = study.run(X, y, X_val, y_val).facts()
    for row in facts.rows:
        history = facts.histories[row.number][0]
        best = int(np.argmin(history["val_loss"]))
        assert row.best_epoch == best + 1
        for name in MEASURES:
            assert row.last[name] == history[name][-1]
            assert row.best[name] == history[name][best]


def test_epochs_of_several_seeds_are_their_medians_in_table_and_row(small):
    X, y, X_val, y_val = two_classes(noise=1.5, n=60)
    estimator = GradientDescentClassifier(batch_size=5, learning_rate=0.5, epochs=40, patience=6)
    facts = Study("a", estimator, {"l2": [0.0, 0.01]}, seeds=4).run(X, y, X_val, y_val).facts()
    for row, told in zip(facts.rows, facts.table()):
        best = sorted(int(h["val_loss"].argmin()) + 1 for h in facts.histories[row.number])
        made = sorted(h.epochs for h in facts.histories[row.number])
        assert len(set(best)) > 1
        assert (row.best_epoch, row.epochs) == (best[1], made[1])
        assert (told["best_epoch"], told["epochs_made"]) == (best[1], made[1])
        each = [h["val_loss"].min() for h in facts.histories[row.number]]
        assert told["best_val_loss"] == pytest.approx(np.mean(each))


def test_histories_of_fewer_epochs_are_the_beginnings_of_longer_ones(small):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [3, 8]}
    facts = Study("a", GradientDescentClassifier(), grid).run(*iris()).facts()
    for short, long in ((0, 1), (2, 3)):
        a, b = facts.histories[short][0], facts.histories[long][0]
        assert (a.epochs, b.epochs) == (3, 8) == (facts.rows[short].epochs, facts.rows[long].epochs)
        assert a["val_loss"].tolist() == b["val_loss"][:3].tolist()
        assert facts.rows[short].last["val_loss"] == a["val_loss"][-1]


def test_the_stable_rates_are_those_of_the_largest_eigenvalue(small):
    X, y, X_val, y_val = iris()
    grid = {"l2": [0.0, 0.5], "momentum": [0.0, 0.9], "rule": ["momentum", "adam"]}
    facts = Study("a", GradientDescentClassifier(epochs=2), grid).run(X, y, X_val, y_val).facts()
    ones = np.c_[X, np.ones(len(X))]
    largest = np.linalg.eigvalsh(ones.T @ ones / len(X))[-1]
    for row in facts.rows:
        L = largest / 2 + row.parameters["l2"]
        assert L <= row.smoothness <= 1.01 * L
        if row.parameters["rule"] == "adam":
            assert row.stable_rate is None
        else:
            times = 2 * (1 + row.parameters["momentum"])
            assert row.stable_rate == pytest.approx(times / row.smoothness)


def test_a_study_without_validation_rows_is_judged_by_its_training_loss(small):
    X, y, *_ = iris()
    study = Study("a", GradientDescentClassifier(epochs=50), {"learning_rate": [1e-3, 1e-2]})
    verdict = study.run(X, y).verdict()
    assert (verdict.best, verdict.score) == (1, "train_loss")
    assert "no validation rows" in verdict.sentences[1]


# going on


def test_a_study_of_this_name_is_not_overwritten(small):
    study_of("a.db").run(*iris())
    with pytest.raises(StoreError, match="already, finished"):
        study_of("a.db").run(*iris())
    X, y, X_val, y_val = iris()
    with pytest.raises(StoreError, match="with other data"):
        study_of("a.db").run(X + 1, y, X_val, y_val, resume=True)
    with pytest.raises(StoreError, match="with other seeds"):
        Study("study", GradientDescentClassifier(init="random"), GRID, seeds=3, store="a.db").run(
            *iris(), resume=True
        )
    with pytest.raises(StoreError, match=r"another grid .*1 configuration of epochs 5 here"):
        Study(
            "study", GradientDescentClassifier(init="random"), {"epochs": 5}, seeds=2, store="a.db"
        ).run(*iris(), resume=True)
    with pytest.raises(StoreError, match="with other parameters"):
        Study("study", GradientDescentClassifier(), GRID, seeds=2, store="a.db").run(
            *iris(), resume=True
        )
    assert facts_of("a.db").finished


def test_a_resume_may_have_another_memory_budget(small):
    class EnoughError(Exception):
        pass

    def end(progress):
        if progress.share > 0.3:
            raise EnoughError

    with pytest.raises(EnoughError):
        study_of("a.db").run(*iris(), on_progress=end)
    study_of("a.db", memory=1).run(*iris(), resume=True)
    study_of("b.db").run(*iris())
    assert_same(facts_of("a.db"), facts_of("b.db"))


def test_the_live_count_of_divergences_only_grows_and_ends_as_the_verdict_has_it(small):
    """Runs that diverge leave the batch at once, between two looks; a resume knows them all."""

    class EnoughError(Exception):
        pass

    first, later = [], []

    def end(progress):
        first.append(progress)
        if progress.share > 0.3:
            raise EnoughError

    with pytest.raises(EnoughError):
        study_of("a.db").run(*iris(), on_progress=end)
    facts = study_of("a.db").run(*iris(), resume=True, on_progress=later.append).facts()
    counts = [progress.diverged for progress in (*first, *later)]
    assert counts == sorted(counts)
    assert 0 < first[-1].diverged <= later[0].diverged
    assert later[-1].diverged == facts.verdict.diverged
    assert (later[-1].done, later[-1].running, later[-1].share) == (later[-1].runs, 0, 1.0)


# sentences


def test_a_run_above_the_stable_rate_oscillates_and_one_below_does_not(small):
    X, y, X_val, y_val = iris()
    grid = {"learning_rate": [0.1, 0.01], "epochs": 100}
    rows = Study("a", GradientDescentClassifier(), grid).run(X, y, X_val, y_val).facts().rows
    assert rows[0].observations[0].startswith("Oscillates because the rate 0.1 exceeds the stable")
    assert not any("scillates" in sentence for sentence in rows[1].observations)
    # Of features a tenth as large, the same rate is stable.
    rows = (
        Study("b", GradientDescentClassifier(), grid).run(X / 10, y, X_val / 10, y_val).facts().rows
    )
    assert not any("scillates" in sentence for sentence in rows[0].observations)


def test_overfitting_is_told_with_its_epoch_and_not_where_there_are_rows_enough(small):
    grid = {"learning_rate": [1.0], "epochs": 2000}
    few = two_classes(noise=1.5, n=30)
    facts = Study("few", GradientDescentClassifier(), grid).run(*few).facts()
    told = [s for s in facts.rows[0].observations if s.startswith("Overfitting since epoch")]
    epoch = int(np.argmin(facts.histories[0][0]["val_loss"])) + 1
    assert told[0].startswith(f"Overfitting since epoch {epoch}:")
    many = two_classes(noise=1.5, n=4000)
    facts = Study("many", GradientDescentClassifier(), grid).run(*many).facts()
    assert not any("Overfitting" in s for s in facts.rows[0].observations)


@pytest.mark.parametrize("rate", [0.02, 0.005])
def test_the_epochs_that_a_run_needs_are_enough_and_not_far_too_many(small, rate):
    X, y, X_val, y_val = two_classes(noise=0.8)
    estimator = GradientDescentClassifier(l2=0.01)

    def row(name, epochs):
        grid = {"learning_rate": [rate], "epochs": [epochs]}
        return Study(name, estimator, grid).run(X, y, X_val, y_val).facts().rows[0]

    T = round(10 / rate)
    history = (
        Study("h", estimator, {"learning_rate": [rate], "epochs": [T]})
        .run(X, y, X_val, y_val)
        .histories()[0][0]
    )
    needed = epochs_needed(history["objective"])
    assert needed is not None
    low, high = needed
    assert "It needs some" in row("short", T).observations[0]
    assert row("long", round(1.1 * high)).observations[0].startswith("Converged")
    assert row("early", round(0.9 * low)).observations[0].startswith("Not converged")


def test_the_epochs_that_a_run_needs_are_read_off_its_longer_runs(small):
    """The study has the answer itself: what it foretells must not contradict it."""
    X, y, X_val, y_val = two_classes(noise=0.8)
    estimator = GradientDescentClassifier(l2=0.01, learning_rate=0.02)

    def rows(name, epochs):
        return Study(name, estimator, {"epochs": epochs}).run(X, y, X_val, y_val).facts().rows

    sentence = rows("all", [200, 500, 3000])[1].observations[0]
    found = re.search(r"needs ([\d,]+) more epochs, as the longer run of the study shows", sentence)
    end = 500 + int(found[1].replace(",", ""))
    before, at = rows("check", [end - 1, end])
    assert before.observations[0].startswith("Not converged")
    assert at.observations[0].startswith("Converged")


def test_an_end_that_the_fall_does_not_tell_is_not_foretold():
    """An exponential and a power law agree on the last half of a slow fall, and not on its end."""
    epochs = np.arange(1, 1001)
    slow = 0.2 + 0.3 * np.exp(-((epochs / 300.0) ** 0.5))
    assert epochs_needed(slow) is None


def test_what_has_no_optimum_is_not_promised_one(small):
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    y = np.array([0, 1, 0, 1])
    facts = Study("a", GradientDescentClassifier(), {"epochs": [50]}).run(X, y, X, y).facts()
    assert (
        "It never will: without a penalty there is no finite optimum"
        in facts.rows[0].observations[0]
    )
    assert any("plane separates" in sentence for sentence in facts.verdict.sentences)


def test_all_diverged_is_said_with_the_stable_rate(small):
    X, y, X_val, y_val = two_classes()
    grid = {"learning_rate": [1e4, 1e5]}
    verdict = Study("a", GradientDescentClassifier(l2=1.0), grid).run(X, y, X_val, y_val).verdict()
    assert verdict.best is None
    assert verdict.diverged == 2
    assert verdict.sentences[0].startswith("All 2 configurations that are done diverged")
    assert "2/L = " in verdict.sentences[0]


def judged(number, right, losses, parameters=None, **more):
    right, losses = np.asarray(right, float), np.asarray(losses, float)
    kept = {"val_accuracy": right.mean(), "val_loss": losses.mean(), "train_loss": 0.0}
    row = Row(number, parameters or {"learning_rate": float(number)}, "done", **more)
    return FinishedConfiguration(row, kept, {}, right, losses, "logistic")


def test_mcnemar_is_exact():
    """Of 10 rows in which two differ, 9 to 1: p = 2 (1 + 10) / 2^10."""
    right = np.array([1] * 9 + [0] + [1] * 20)
    other = np.array([0] * 9 + [1] + [1] * 20)
    found = compare(judged(0, right, np.zeros(30)), judged(1, other, np.zeros(30)))
    assert found.p_accuracy == pytest.approx(2 * 11 / 2**10)
    assert found.by == "accuracy"


def test_a_few_rows_do_not_tell_two_apart():
    """5 rows to none: p = 2 / 2^5 is above 1 in 20; 6 rows: it is below."""
    for rows, by in ((5, ""), (6, "accuracy")):
        right = np.ones(30)
        other = np.r_[np.zeros(rows), np.ones(30 - rows)]
        found = compare(judged(0, right, np.zeros(30)), judged(1, other, np.zeros(30)))
        assert (found.by, found.p_accuracy) == (by, 2 / 2**rows)


def test_equal_accuracies_are_told_apart_by_loss_only_if_the_losses_are():
    rng = np.random.default_rng(0)
    base = rng.random(50)
    worse = judged(1, np.ones(50), base + 0.2 + 0.1 * rng.random(50))
    alike = judged(2, np.ones(50), base + 0.1 * rng.standard_normal(50))
    best = judged(0, np.ones(50), base)
    assert compare(best, worse).by == "loss"
    assert compare(best, alike).by == ""


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


def unsettled(*whys, **more):
    """The sentence about configurations that have not converged for these reasons."""
    done = [
        replace(judged(k, np.ones(4), np.full(4, k), **more), unsettled=why, needs=times)
        for k, (why, times) in enumerate(whys)
    ]
    found = judge(done, {}, 1, 0).sentences
    return [sentence for sentence in found if "not converged" in sentence]


def test_what_has_not_converged_is_counted_by_its_reasons():
    slow, fast, swings = ("not_converged", 3.0), ("", None), ("oscillating", None)
    assert unsettled(fast, fast) == []
    assert unsettled(slow, fast, swings, swings, ("ended_higher", None)) == [
        "4 of 5 configurations have not converged: 1 still on the way (it needs about 3 times the "
        "epochs), 2 oscillating, 1 ended above its start."
    ]
    unknown = ("not_converged", None)
    assert (
        "(2 of them need about 4 times the epochs, in the median)"
        in (unsettled(slow, ("not_converged", 5.0), unknown, unknown)[0])
    )
    assert "(one of them needs about 3 times the epochs)" in unsettled(slow, unknown)[0]
    assert "(they need about 3 times the epochs, in the median)" in unsettled(slow, slow)[0]
    assert unsettled(swings) == ["1 of 1 configuration has not converged: oscillating."]


def test_swings_that_died_out_have_converged_and_those_that_last_have_not(small):
    X, y, X_val, y_val = two_classes(noise=0.8)
    grid = {"learning_rate": [0.5], "momentum": [0.9], "epochs": [60, 600]}
    study = Study("a", GradientDescentClassifier(l2=0.01), grid)
    facts = study.run(X, y, X_val, y_val).facts()
    _, long = (row.observations for row in facts.rows)
    assert long[0].startswith("Converged: proven")
    kinked = Study("b", GradientDescentClassifier("hinge"), {"learning_rate": [3.0]})
    verdict = kinked.run(X, y, X_val, y_val).verdict()
    assert "1 of 1 configuration has not converged: oscillating." in verdict.sentences


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
def test_one_is_and_several_are(others, told):
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


# defaults


def test_the_grid_follows_the_data():
    X, y, X_val, y_val = two_classes(noise=0.5)
    one = choose_grid(GradientDescentClassifier(), StudyData.from_arrays(X, y, X_val, y_val), {})
    ten = choose_grid(
        GradientDescentClassifier(), StudyData.from_arrays(10 * X, y, 10 * X_val, y_val), {}
    )
    times = one.grid["learning_rate"][2] / ten.grid["learning_rate"][2]
    assert 50 < times <= 110  # as the square of the features, the bias apart
    assert ten.grid["l2"][1] == pytest.approx(100 * one.grid["l2"][1], rel=0.2)
    assert one.notes[0] != ten.notes[0]
    assert choose_grid(
        GradientDescentClassifier(), StudyData.from_arrays(X, y), {"l2": [0.5]}
    ).grid["l2"] == [0.5]
    assert (
        choose_grid(GradientDescentClassifier(), StudyData.from_arrays(X, y, name="iris"), {}).grid
        == HOMEWORK
    )
    hinge = choose_grid(GradientDescentClassifier("hinge"), StudyData.from_arrays(X, y), {})
    assert hinge.grid["l2"] == [0.0]


def test_settings_are_those_of_a_preparation_and_of_sources_alone(small):
    study = Study("a", GradientDescentClassifier(), {"epochs": 1})
    with pytest.raises(TypeError, match=r"no option 'standardize'.* standardise, missing"):
        study.run("wine", standardize=True)
    with pytest.raises(ValueError, match=r"'standardise' is for a source"):
        study.run(*iris(), standardise=True)
    assert not list(small.iterdir())


def test_python_lines_make_the_study_again(small):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [5]}
    study = Study("a", GradientDescentClassifier(rule="adam"), grid, seeds=2)
    first = study.run("wine", standardise=False).facts()
    exec(first.python.replace("'a'", "'b'"), space := {})
    again = space["study"].facts()
    assert again.name == "b"
    assert_same(first, again)


def test_the_python_lines_of_a_grid_of_arrays_run_and_make_the_same_study(small):
    grid = {"learning_rate": np.geomspace(1e-3, 1.0, 3), "epochs": [5]}
    made = Study("a", GradientDescentClassifier(), grid).run(*iris())
    names = dict(zip(("X", "y", "X_val", "y_val"), iris()))
    exec(made.facts().python.replace("'a'", "'b'"), names)
    assert names["study"].plan.configurations == made.plan.configurations


def test_observations_of_several_seeds_say_of_how_many_they_are(small):
    X, y, X_val, y_val = iris()
    estimator = GradientDescentClassifier(init="random", l2=0.1)
    grid = {"learning_rate": [0.02, 60.0], "epochs": [300]}
    rows = Study("a", estimator, grid, seeds=3).run(X, y, X_val, y_val).facts().rows
    for row in rows:
        assert row.observations
        for sentence in row.observations:
            assert re.match(r"In (all 3|[12] of 3) seeds, here seed \d: ", sentence)
