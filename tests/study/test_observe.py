"""Observations of a study: oscillation, overfitting, the number of epochs that a run needs."""

import re

import numpy as np
import pytest

from separatrix import (
    GradientDescentClassifier,
    Study,
)
from separatrix.study.results.observations import epochs_needed, find_unconverged, observe_run
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.trace import oscillation_ended
from support.studies import iris, two_classes


def test_a_run_above_the_stable_rate_oscillates_and_one_below_does_not(small):
    X, y, X_val, y_val = iris()
    grid = {"learning_rate": [0.1, 0.01], "epochs": 100}
    rows = Study("a", GradientDescentClassifier(), grid).run(X, y, X_val, y_val).facts().rows
    assert "Oscillates: " in rows[0].observations[0]
    assert "The learning rate 0.1 is above 0.0" in rows[0].observations[0]
    assert not any("scillates" in sentence for sentence in rows[1].observations)
    # With features a tenth as large, the same learning rate is stable.
    rows = (
        Study("b", GradientDescentClassifier(), grid).run(X / 10, y, X_val / 10, y_val).facts().rows
    )
    assert not any("scillates" in sentence for sentence in rows[0].observations)


@pytest.mark.slow
def test_overfitting_is_reported_with_its_epoch_but_not_with_many_rows(small):
    grid = {"learning_rate": [1.0], "epochs": 2000}
    X, y, *held_out = two_classes(noise=1.5, n=400)
    facts = Study("few", GradientDescentClassifier(), grid).run(X[:15], y[:15], *held_out).facts()
    told = [s for s in facts.rows[0].observations if s.startswith("Overfitting since epoch")]
    epoch = int(np.argmin(facts.histories[0][0]["val_loss"])) + 1
    assert told[0].startswith(f"Overfitting since epoch {epoch}:")
    many = two_classes(noise=1.5, n=4000)
    facts = Study("many", GradientDescentClassifier(), grid).run(*many).facts()
    assert not any("Overfitting" in s for s in facts.rows[0].observations)


def test_a_run_without_a_finite_optimum_has_not_converged(small):
    X, y, X_val, y_val = two_classes(noise=0.8)
    rare = np.zeros((len(X), 1))
    rare[np.argmax(y)] = 1.0  # a column that only one row has
    X, X_val = np.hstack([X, rare]), np.hstack([X_val, np.zeros((len(X_val), 1))])
    grid = {"l2": [0.0, 0.1], "epochs": [5, 500]}
    estimator = GradientDescentClassifier(learning_rate=1.0)
    facts = Study("a", estimator, grid).run(X, y, X_val, y_val).facts()
    for row in facts.rows:
        said = row.observations[0]
        if row.parameters["l2"] == 0.0:
            assert row.converged is False
            assert not said.startswith("Converged")
            assert "no finite optimum" in said
    settled = [row for row in facts.rows if "but it cannot converge" in row.observations[0]]
    assert [row.problem for row in settled] == ["separable"] * len(settled)
    assert settled
    assert f"{len(settled)} without a finite optimum" in " ".join(facts.verdict.sentences)


def test_the_best_run_is_not_told_to_use_a_rate_that_was_worse(small):
    X, y, X_val, y_val = two_classes(noise=0.3)
    grid = {"learning_rate": [0.01, 0.1, 30.0], "momentum": [0.0, 0.5]}
    estimator = GradientDescentClassifier(l2=1e-3, epochs=20)
    facts = Study("a", estimator, grid).run(X, y, X_val, y_val).facts()
    best = facts.rows[facts.verdict.best]
    assert best.parameters["learning_rate"] == 30.0
    assert any("Oscillates" in words for words in best.observations)
    text = " ".join(best.observations)
    assert "Lower the learning rate" not in text
    assert "With learning rate 0.01 or 0.1, which are stable, it was worse in this study" in text


def test_no_run_is_to_be_trained_longer_if_the_longer_run_of_the_study_overfits(small):
    X, y, *held_out = two_classes(noise=1.5, n=400)
    grid = {"learning_rate": [0.1], "epochs": [20, 40, 2000]}
    estimator = GradientDescentClassifier(l2=1e-3)
    facts = Study("a", estimator, grid).run(X[:15], y[:15], *held_out).facts()
    first, second, last = facts.rows
    assert any(s.startswith("Overfitting since epoch") for s in last.observations)
    told = (
        "With 2,000 epochs this configuration overfits: its validation loss was lowest at epoch "
        f"{last.best_epoch}."
    )
    for row in (first, second):
        (sentence,) = (s for s in row.observations if s.startswith("Not converged"))
        assert sentence.endswith(told)
        assert "more epochs" not in sentence
    assert "times as many epochs" not in " ".join(facts.verdict.sentences)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.005])
def test_the_estimated_epochs_are_sufficient_and_not_far_too_many(small, rate):
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
    assert "It needs about" in row("short", T).observations[0]
    assert row("long", round(1.1 * high)).observations[0].startswith(("Converged", "Settled"))
    assert row("early", round(0.9 * low)).observations[0].startswith("Not converged")


def test_the_needed_epochs_are_taken_from_longer_runs(small):
    """An estimate must not contradict a longer run of the same study."""
    X, y, X_val, y_val = two_classes(noise=0.8)
    estimator = GradientDescentClassifier(l2=0.01, learning_rate=0.02)

    def rows(name, epochs):
        return Study(name, estimator, {"epochs": epochs}).run(X, y, X_val, y_val).facts().rows

    sentence = rows("all", [200, 500, 3000])[1].observations[0]
    found = re.search(r"needs ([\d,]+) more epochs, as a longer run of this study shows", sentence)
    end = 500 + int(found[1].replace(",", ""))
    before, at = rows("check", [end - 1, end])
    assert before.observations[0].startswith("Not converged")
    assert at.observations[0].startswith(("Converged", "Settled"))


def test_no_epochs_are_estimated_if_the_objective_does_not_determine_them():
    """An exponential and a power law both fit a slow decrease, but predict different ends."""
    epochs = np.arange(1, 1001)
    slow = 0.2 + 0.3 * np.exp(-((epochs / 300.0) ** 0.5))
    assert epochs_needed(slow) is None


def test_no_convergence_is_promised_without_a_finite_optimum(small):
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    y = np.array([0, 1, 0, 1])
    facts = Study("a", GradientDescentClassifier(), {"epochs": [50]}).run(X, y, X, y).facts()
    assert "Training cannot converge: there is no finite optimum" in facts.rows[0].observations[0]
    assert any("separable" in sentence for sentence in facts.verdict.sentences)


def test_a_study_whose_runs_all_diverged_names_the_stable_rate(small):
    X, y, X_val, y_val = two_classes()
    grid = {"learning_rate": [1e4, 1e5]}
    verdict = Study("a", GradientDescentClassifier(l2=1.0), grid).run(X, y, X_val, y_val).verdict()
    assert verdict.best is None
    assert verdict.diverged == 2
    assert verdict.sentences[0].startswith("All 2 finished configurations diverged")
    assert "Lower the learning rate to" in verdict.sentences[0]


def test_damped_oscillations_converge_and_lasting_ones_do_not(small):
    X, y, X_val, y_val = two_classes(noise=0.8)
    grid = {"learning_rate": [0.5], "momentum": [0.9], "epochs": [60, 600]}
    study = Study("a", GradientDescentClassifier(l2=0.01), grid)
    facts = study.run(X, y, X_val, y_val).facts()
    _, long = (row.observations for row in facts.rows)
    assert long[0].startswith("Converged: relative duality gap")
    kinked = Study("b", GradientDescentClassifier("hinge"), {"learning_rate": [3.0]})
    verdict = kinked.run(X, y, X_val, y_val).verdict()
    assert "1 of 1 configuration did not converge: oscillating." in verdict.sentences


@pytest.mark.parametrize(("swing", "ended"), [(5e-4, True), (5e-3, False)])
def test_an_oscillation_below_the_tolerance_of_convergence_has_ended(swing, ended):
    values = 0.4 + 0.3 * 0.5 ** np.arange(100.0)
    values[1::2] *= 1.0 + swing
    assert oscillation_ended(values) is ended
    swings = [Diagnosis("oscillating", "", "")]
    assert find_unconverged(swings, values) == ("" if ended else "oscillating")


def test_momentum_that_overshoots_slightly_near_the_optimum_has_converged(small):
    X, y, X_val, y_val = two_classes(noise=0.8)
    grid = {"learning_rate": [0.5], "momentum": [0.9], "epochs": [80]}
    facts = Study("a", GradientDescentClassifier(l2=0.1), grid).run(X, y, X_val, y_val).facts()
    converged, swung = facts.rows[0].observations
    assert converged.startswith(("Converged", "Settled"))
    assert swung.startswith("Oscillated: ")
    assert swung.endswith("In the second half of the epochs, no rise was larger than 0.1 %.")
    assert not any("did not converge" in sentence for sentence in facts.verdict.sentences)


def test_a_run_that_overfits_is_not_told_to_train_longer_or_faster(small):
    grid = {"learning_rate": [0.5], "epochs": [50]}
    few = two_classes(noise=1.2, n=40)
    facts = Study("few", GradientDescentClassifier(), grid).run(*few).facts()
    (row,) = facts.rows
    late = " ".join(row.observations)
    assert "Overfitting since epoch" in late
    assert "Not converged: The objective was still falling" in late
    assert "epochs still needed" not in late
    assert "more epochs" not in late
    assert "is stable at all weights" not in late
    assert row.problem == "overfitting"
    assert not any("times as many epochs" in s for s in facts.verdict.sentences)


def test_observations_of_several_seeds_state_the_number_of_seeds(small):
    X, y, X_val, y_val = iris()
    estimator = GradientDescentClassifier(init="random", l2=0.1)
    grid = {"learning_rate": [0.02, 60.0], "epochs": [300]}
    rows = Study("a", estimator, grid, seeds=3).run(X, y, X_val, y_val).facts().rows
    for row in rows:
        assert row.observations
        for sentence in row.observations:
            assert re.match(r"In (all 3|[12] of 3) seeds, here seed \d: ", sentence)


def test_a_run_that_patience_stopped_has_not_converged(small):
    grid = {"learning_rate": [0.5], "epochs": [500]}
    study = Study("a", GradientDescentClassifier(patience=2), grid)
    facts = study.run(*two_classes(noise=1.2, n=40)).facts()
    (row,) = facts.rows
    assert row.stopped == "patience"
    assert row.converged is False
    assert row.observations[0].startswith("Stopped early after")
    assert "1 of 1 configuration did not converge: stopped early." in facts.verdict.sentences


@pytest.mark.parametrize(
    ("gap", "found"), [(None, "stopped_early"), (0.1, "stopped_early"), (1e-6, "")]
)
def test_kept_weights_with_a_small_gap_have_converged(gap, found):
    assert find_unconverged([], np.ones(4), "patience", gap) == found
    history = {"objective": np.ones(4), "val_loss": np.ones(4)}
    options = {"stop_reason": "patience", "kept_epoch": 2, "safe_rate": None, "needed": None}
    (sentence,) = observe_run([], history, {}, relative_gap=gap, **options)
    assert sentence.startswith("Stopped early after 4 epochs")
    assert ("They have converged: relative duality gap 1.0e-06." in sentence) is (not found)
