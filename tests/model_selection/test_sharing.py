"""The folds and candidates of a search share batches and passes over X."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from separatrix import GridSearchCV, LinearSVC, LogisticRegression, LogisticRegressionCV
from separatrix.matrix import rows_read

X, Y = load_breast_cancer(return_X_y=True)
CS = np.logspace(-2, 3, 6).tolist()
MODELS = [LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge")]


def counted(estimator, Cs, X, y, **options):
    name = "C" if hasattr(estimator, "C") else f"{estimator.steps[-1][0]}__C"
    return GridSearchCV(estimator, {name: Cs}, cv=5, **options).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_all_folds_and_candidates_are_one_batch(model, scaled):
    estimator = make_pipeline(StandardScaler(), model) if scaled else model
    assert counted(estimator, CS, X, Y, refit=False).n_batches_ == 1


def test_a_search_reads_the_data_about_as_often_as_its_hardest_candidate_alone():
    one = counted(LogisticRegression(), CS[-1:], X, Y, refit=False)
    all_ = counted(LogisticRegression(), CS, X, Y, refit=False)
    assert one.n_passes_ <= all_.n_passes_ <= 1.1 * one.n_passes_


def test_other_transformers_than_a_scaler_need_one_batch_per_fold():
    estimator = make_pipeline(MinMaxScaler(), LogisticRegression())
    assert counted(estimator, CS, X, Y, refit=False).n_batches_ == 5


def test_the_refit_of_a_pipeline_is_a_separate_batch():
    assert counted(LogisticRegression(), CS, X, Y).n_batches_ == 1
    assert counted(make_pipeline(StandardScaler(), LogisticRegression()), CS, X, Y).n_batches_ == 2
    found = LogisticRegressionCV(Cs=CS).fit(X, Y)
    assert found.n_batches_ == 1
    assert found.n_passes_ > 0.0


@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_candidates_with_more_features_than_rows_share_one_precision(model):
    wide, y = make_classification(80, 900, n_informative=20, random_state=0)
    search = counted(model, CS, wide, y)
    assert search.n_batches_ == 1
    alone = type(model)(**search.best_params_).fit(wide, y)
    own, other = search.best_estimator_.certificate_, alone.certificate_
    assert own.relative_gap <= model.tol
    assert own.primal - own.gap <= other.primal
    assert other.primal - other.gap <= own.primal


def test_all_squared_hinge_candidates_use_the_dual_if_one_of_them_does():
    rows, y = make_classification(1200, 700, n_informative=30, random_state=0)
    rows /= 30.0
    Cs = [1e-2, 1e2]
    alone = [LinearSVC(C).fit(rows, y).solver_ for C in Cs]
    assert alone == ["dual", "newton"]
    search = counted(LinearSVC(), Cs, rows, y)
    assert search.n_batches_ == 1
    assert search.best_estimator_.certificate_.relative_gap <= 1e-4


def test_a_solver_set_by_the_user_is_kept():
    wide, y = make_classification(80, 900, n_informative=20, random_state=0)
    search = counted(LogisticRegression(solver="newton"), CS, wide, y)
    assert search.best_estimator_.solver_ == "newton"


def test_counters_of_an_earlier_fit_are_removed():
    search = GridSearchCV(LinearSVC(), {"C": [0.1]}, cv=3).fit(X, Y)
    assert search.n_batches_ == 1
    search.set_params(estimator=LinearSVC(probability=2)).fit(X, Y)  # scikit-learn's own search
    assert not hasattr(search, "n_batches_")


def test_rows_visited_by_dual_ascent_count_as_read():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 600))
    y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
    before = rows_read()
    model = LinearSVC(loss="hinge", solver="dual", tol=1e-6).fit(X, y)
    passes = [(now - then) / 300 for then, now in zip(before, rows_read())]
    assert min(passes) > 5 * model.n_iter_
