"""A study trains its configurations in batches and reports their results in a table."""

import numpy as np
import pytest
from sklearn.base import clone

from separatrix import (
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    Study,
)
from separatrix.matrix import rows_read
from separatrix.study import StoreError
from separatrix.study.planning.batches import split_into_batches
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.default_grid import HOMEWORK
from separatrix.study.planning.grid import list_configurations
from separatrix.study.planning.plan import StudyPlan
from separatrix.study.planning.tasks import StudyTasks
from support.studies import GRID, assert_same, facts_of, iris, study_of, two_classes

MEASURES = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y, X_val, y_val: (X, y[:-1], X_val, y_val), "rows"),
        (lambda X, y, X_val, y_val: (X[:, 0], y, X_val, y_val), "2D"),
        (lambda X, y, X_val, y_val: (X * np.nan, y, X_val, y_val), "NaN"),
        (lambda X, y, X_val, y_val: (X, y, X_val, None), "given together"),
        (lambda X, y, X_val, y_val: (X, y, X_val[:, :2], y_val), "Got 2 features"),
        (lambda X, y, X_val, y_val: (X, y, X_val, y_val + 7), "y_val"),
        (lambda X, y, X_val, y_val: (X,), "needs labels"),
    ],
)
def test_invalid_rows_are_refused(small, change, words):
    with pytest.raises(ValueError, match=words):
        Study("a", GradientDescentClassifier(), {"epochs": 1}).run(*change(*iris()))
    assert not list(small.iterdir())


@pytest.mark.slow
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
def test_batches_give_the_same_results_as_single_fits(small, estimator, grid):
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


def test_a_study_reads_the_data_no_more_often_than_its_longest_run(small):
    def rows(name, grid):
        before = rows_read()[1]
        Study(name, GradientDescentClassifier(), grid).run(*iris())
        return rows_read()[1] - before

    one = rows("one", {"learning_rate": [0.01], "epochs": 300})
    many = rows("many", {"learning_rate": [0.1, 0.01, 1e-3], "momentum": [0, 0.5, 0.9],
                         "epochs": [100, 200, 300]})  # fmt: skip
    assert many <= one + 60 * 100  # for the limits of the learning rate and the certificates


def test_the_memory_limit_keeps_runs_that_differ_in_epochs_together(small):
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


def test_seeds_of_a_deterministic_run_have_no_deviation(small):
    study = Study("a", GradientDescentClassifier(epochs=5), {"learning_rate": [0.1]}, seeds=3)
    facts = study.run(*iris()).facts()
    assert facts.rows[0].deviation["val_loss"] == 0.0
    assert len(facts.histories[0]) == 3


def test_random_starts_deviate_and_measures_are_means_over_seeds(small):
    estimator = GradientDescentClassifier(init="random", init_scale=1.0, epochs=5)
    facts = Study("a", estimator, {"learning_rate": [0.01]}, seeds=4).run(*iris()).facts()
    losses = [history["val_loss"][-1] for history in facts.histories[0]]
    assert facts.rows[0].last["val_loss"] == pytest.approx(np.mean(losses))
    assert facts.rows[0].deviation["val_loss"] == pytest.approx(np.std(losses, ddof=1))
    assert facts.rows[0].deviation["val_loss"] > 0.01


def test_the_table_has_the_last_and_the_best_epoch(small):
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


def test_epochs_of_several_seeds_are_medians(small):
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


def test_shorter_histories_are_the_beginnings_of_longer_ones(small):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [3, 8]}
    facts = Study("a", GradientDescentClassifier(), grid).run(*iris()).facts()
    for short, long in ((0, 1), (2, 3)):
        a, b = facts.histories[short][0], facts.histories[long][0]
        assert (a.epochs, b.epochs) == (3, 8) == (facts.rows[short].epochs, facts.rows[long].epochs)
        assert a["val_loss"].tolist() == b["val_loss"][:3].tolist()
        assert facts.rows[short].last["val_loss"] == a["val_loss"][-1]


def test_stable_rates_follow_from_the_largest_eigenvalue(small):
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


def test_without_validation_rows_the_training_loss_decides(small):
    X, y, *_ = iris()
    study = Study("a", GradientDescentClassifier(epochs=50), {"learning_rate": [1e-3, 1e-2]})
    verdict = study.run(X, y).verdict()
    assert (verdict.best, verdict.score) == (1, "train_loss")
    assert "Without validation rows" in verdict.sentences[1]


# resuming


@pytest.mark.slow
def test_an_existing_study_is_not_overwritten(small):
    study_of("a.db").run(*iris())
    with pytest.raises(StoreError, match=r"already .*\(finished\)"):
        study_of("a.db").run(*iris())
    X, y, X_val, y_val = iris()
    with pytest.raises(StoreError, match="with different data"):
        study_of("a.db").run(X + 1, y, X_val, y_val, resume=True)
    with pytest.raises(StoreError, match="with different seeds"):
        Study("study", GradientDescentClassifier(init="random"), GRID, seeds=3, store="a.db").run(
            *iris(), resume=True
        )
    with pytest.raises(StoreError, match=r"a different grid .*new: 1 configuration of epochs 5"):
        Study(
            "study", GradientDescentClassifier(init="random"), {"epochs": 5}, seeds=2, store="a.db"
        ).run(*iris(), resume=True)
    with pytest.raises(StoreError, match="with different parameters"):
        Study("study", GradientDescentClassifier(), GRID, seeds=2, store="a.db").run(
            *iris(), resume=True
        )
    assert facts_of("a.db").finished


@pytest.mark.slow
def test_a_study_can_be_resumed_with_a_different_memory_limit(small):
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


@pytest.mark.slow
def test_the_live_count_of_divergences_ends_at_the_count_of_the_verdict(small):
    """Diverged runs leave the batch between two calls, and a resumed study counts them too."""

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


def test_unknown_settings_and_settings_for_arrays_are_refused(small):
    study = Study("a", GradientDescentClassifier(), {"epochs": 1})
    with pytest.raises(TypeError, match=r"no option 'standardize'.* standardise, missing"):
        study.run("wine", standardize=True)
    with pytest.raises(ValueError, match=r"'standardise' applies only to a source"):
        study.run(*iris(), standardise=True)
    assert not list(small.iterdir())


def test_the_python_code_repeats_the_study(small):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [5]}
    study = Study("a", GradientDescentClassifier(rule="adam"), grid, seeds=2)
    first = study.run("wine", standardise=False).facts()
    exec(first.python.replace("'a'", "'b'"), space := {})
    again = space["study"].facts()
    assert again.name == "b"
    assert_same(first, again)


def test_the_python_code_of_a_grid_with_arrays_repeats_the_study(small):
    grid = {"learning_rate": np.geomspace(1e-3, 1.0, 3), "epochs": [5]}
    made = Study("a", GradientDescentClassifier(), grid).run(*iris())
    names = dict(zip(("X", "y", "X_val", "y_val"), iris()))
    exec(made.facts().python.replace("'a'", "'b'"), names)
    assert names["study"].plan.configurations == made.plan.configurations
