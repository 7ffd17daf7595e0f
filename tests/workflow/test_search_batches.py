"""Folds and candidates of a search share passes over the data."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import GridSearchCV, load
from separatrix.workflow.model_families import ModelOptions, build_estimator, find_family
from separatrix.workflow.preparing import choose_settings
from separatrix.workflow.search.searching import PrepareRows, search_source

CS = [0.1, 1.0, 10.0]


def batches_of(source, **options):
    """Return the facts of a search, and the numbers of the fits of each batch."""
    batches = []

    def note(progress):
        numbers = sorted(number for members in progress.members for number in members)
        if numbers not in batches:
            batches.append(numbers)

    return search_source(source, on_progress=note, Cs=CS, folds=3, **options).facts, batches


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer"])
def test_all_folds_and_candidates_of_standardised_numbers_are_one_batch(name):
    _, batches = batches_of(load(name))
    assert batches == [list(range(9)), [9]]  # all folds, then the best candidate on all rows


def test_folds_with_different_replacements_for_missing_values_are_separate_batches():
    wine = load("wine")
    X = np.asarray(wine.table).copy()
    X[::7, 0] = np.nan
    _, batches = batches_of(load((X, wine.y)))
    assert batches == [[0, 3, 6], [1, 4, 7], [2, 5, 8], [9]]


@pytest.mark.parametrize("model", ["auto", "svm"])
def test_scores_equal_those_of_separately_standardised_folds(model):
    source = load("wine")
    found, _ = batches_of(source, model=model)
    rows = np.sort(np.concatenate([source.splits["train"], source.splits["validation"]]))
    estimator = build_estimator(find_family(model, 3), ModelOptions())
    prepare = PrepareRows(source, choose_settings(source.table))
    pipeline = Pipeline([("prepare", prepare), ("model", estimator)])
    wanted = GridSearchCV(pipeline, {"model__C": CS}, cv=3).fit(rows[:, None], source.y[rows])
    means = [candidate["mean"] for candidate in found["candidates"]]
    assert means == pytest.approx(wanted.cv_results_["mean_test_score"].tolist(), abs=1e-12)


def test_without_a_free_bias_every_fold_is_a_batch():
    facts, batches = batches_of(load("iris"), model="svm", options=ModelOptions(bias="none"))
    assert batches == [[0, 3, 6], [1, 4, 7], [2, 5, 8], [9]]
    assert all(candidate["folds_done"] == 3 for candidate in facts["candidates"])


def test_log_loss_equals_that_of_a_scikit_learn_pipeline():
    source = load("wine")
    found, _ = batches_of(source, scoring="neg_log_loss")
    rows = np.sort(np.concatenate([source.splits["train"], source.splits["validation"]]))
    X, y = np.asarray(source.table)[rows], source.y[rows]
    for C, candidate in zip(CS, found["candidates"]):
        plain = make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-10, max_iter=10_000))
        wanted = cross_val_score(plain, X, y, cv=3, scoring="neg_log_loss").mean()
        assert candidate["mean"] == pytest.approx(wanted, rel=1e-3)
