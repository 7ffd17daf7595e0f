"""Grid search: metadata, failing candidates, other estimators, warnings and interruptions."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from separatrix import (
    GradientDescentClassifier,
    GridSearchCV,
    LogisticRegression,
)
from separatrix.training import Interrupted
from support.scikit_learn import BEFORE_1_8
from support.searches import SCORES, assert_same_search, ours
from support.small_problems import STRENGTHS, WEIGHTS, X2, X3, Y2, Y3


def test_weights_reach_the_classifier_at_the_end_of_a_pipeline():
    grid = {"logisticregression__C": STRENGTHS}
    for first in (StandardScaler(), SelectKBest(k=3)):
        pipeline = make_pipeline(first, ours())
        weights = {"logisticregression__sample_weight": WEIGHTS}
        assert_same_search(
            GridSearchCV(pipeline, grid, **SCORES).fit(X2, Y2, **weights),
            PlainGridSearchCV(pipeline, grid, **SCORES).fit(X2, Y2, **weights),
        )


@pytest.mark.slow
@pytest.mark.parametrize("scorer", [None, "with weights", "without weights"])
@pytest.mark.parametrize("first", [None, StandardScaler(), PCA(3)])
def test_metadata_is_routed(first, scorer):
    with sklearn.config_context(enable_metadata_routing=True):
        last = ours().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        if isinstance(first, StandardScaler):
            first.set_fit_request(sample_weight=False)
        estimator = last if first is None else make_pipeline(first, last)
        if BEFORE_1_8 and first is not None:  # newer pipelines pass weights on by themselves
            estimator.set_score_request(sample_weight=True)
        grid = {"C" if first is None else "logisticregression__C": STRENGTHS}
        params = {"sample_weight": WEIGHTS, "groups": np.arange(len(Y2)) // 10}
        options = {"cv": GroupKFold(3)}
        if scorer is not None:
            wanted = scorer == "with weights"
            options["scoring"] = get_scorer("roc_auc").set_score_request(sample_weight=wanted)
        assert_same_search(
            GridSearchCV(estimator, grid, **options).fit(X2, Y2, **params),
            PlainGridSearchCV(estimator, grid, **options).fit(X2, Y2, **params),
        )


def test_metadata_for_a_transformer_is_left_to_scikit_learn():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        scorer = get_scorer("f1").set_score_request(sample_weight=True)
        last = ours().set_fit_request(sample_weight=True)
        grid = {"logisticregression__C": STRENGTHS}
        pipeline = make_pipeline(scaler, last)
        assert_same_search(
            GridSearchCV(pipeline, grid, scoring=scorer).fit(X2, Y2, sample_weight=WEIGHTS),
            PlainGridSearchCV(pipeline, grid, scoring=scorer).fit(X2, Y2, sample_weight=WEIGHTS),
        )


# Errors


def test_a_candidate_that_cannot_be_fitted_gets_the_error_score():
    search = GridSearchCV(ours(), {"C": [1.0, -1.0]}, cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X2, Y2)
    assert any("3 fits failed out of a total of 6" in str(w.message) for w in caught)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert search.best_params_ == {"C": 1.0}
    for class_weight in ({7: 1.0}, "even"):
        with pytest.raises(ValueError, match="All the 3 fits failed"):
            GridSearchCV(ours(), {"class_weight": [class_weight]}, cv=3).fit(X2, Y2)
    with pytest.raises(ValueError, match="The 'C' parameter must be a number > 0"):
        GridSearchCV(ours(), {"C": [1.0, -1.0]}, cv=3, error_score="raise").fit(X2, Y2)
    with pytest.raises(ValueError, match="Invalid parameter 'D'"):
        GridSearchCV(ours(), {"D": [1.0]}).fit(X2, Y2)


def test_a_failing_transformer_affects_only_its_own_candidates():
    logarithm = FunctionTransformer(np.log)  # of negative numbers
    pipeline = make_pipeline(StandardScaler(), ours())
    grid = {"standardscaler": [StandardScaler(), PCA(99), logarithm]}
    search = GridSearchCV(pipeline, grid, cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X2, Y2)
    assert any("6 fits failed out of a total of 9" in str(w.message) for w in caught)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="n_components=99"):
        search.set_params(error_score="raise").fit(X2, Y2)


@pytest.mark.parametrize("first", [None, StandardScaler()])
def test_bad_data_is_refused_as_by_a_single_fit(first):
    estimator = ours() if first is None else make_pipeline(first, ours())
    search = GridSearchCV(estimator, {"C" if first is None else "logisticregression__C": [1.0]})
    X = X2.copy()
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN at row 4, column 1"):
        search.fit(X, Y2)
    with pytest.raises(ValueError, match="X has 150 rows and y has 149 entries"):
        search.fit(X2, Y2[1:])
    with pytest.raises(ValueError, match="y has only one class"):
        search.fit(X2, np.zeros(150))
    with pytest.raises(ValueError, match="y has nan at row 3"):
        search.fit(X2, np.where(np.arange(150) == 3, np.nan, Y2))
    with pytest.raises(ValueError, match="Unknown label type"):
        search.fit(X2, X2[:, 0])
    name = "sample_weight" if first is None else "logisticregression__sample_weight"
    weights = {name: np.where(np.arange(150) == 2, -1.0, 1.0)}
    with pytest.raises(ValueError, match=r"sample_weight must be finite and >= 0\. Row 2 has -1"):
        search.fit(X2, Y2, **weights)


# Searches left to scikit-learn


class Own(LogisticRegression):
    """A subclass, which can behave differently."""

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (RandomForestClassifier(n_estimators=3, random_state=0), {"max_depth": [1, 2]}),
        (PlainLogisticRegression(), {"C": STRENGTHS}),
        (Own(), {"C": STRENGTHS}),
        (GradientDescentClassifier(batch_size=20, epochs=5), {"l2": [0.0, 0.1]}),
        (make_pipeline(PCA(2), PlainLogisticRegression()), {"logisticregression__C": STRENGTHS}),
    ],
)  # fmt: skip
def test_other_estimators_are_searched_by_scikit_learn(estimator, grid):
    assert_same_search(
        GridSearchCV(estimator, grid, cv=3).fit(X2, Y2),
        PlainGridSearchCV(estimator, grid, cv=3).fit(X2, Y2),
    )


@pytest.mark.slow
def test_full_batch_descent_on_fold_weights_equals_descent_on_the_rows_of_the_fold():
    grid = {"learning_rate": [0.01, 0.1], "epochs": [5, 20]}
    for first in (None, StandardScaler()):
        last = GradientDescentClassifier(momentum=0.5)
        estimator = last if first is None else make_pipeline(first, last)
        named = (
            grid
            if first is None
            else {f"{last.__class__.__name__.lower()}__{k}": v for k, v in grid.items()}
        )
        assert_same_search(
            GridSearchCV(estimator, named, cv=3, **SCORES).fit(X2, Y2),
            PlainGridSearchCV(estimator, named, cv=3, **SCORES).fit(X2, Y2),
        )


def test_verbose_prints_the_number_of_fits(capsys):
    GridSearchCV(ours(), {"C": STRENGTHS}, cv=3, verbose=1).fit(X2, Y2)
    assert "Fitting 3 folds for each of 3 candidates, totalling 9 fits" in capsys.readouterr().out


@pytest.mark.parametrize("candidates", [2, 7])
def test_a_warning_points_to_the_line_that_called_fit(candidates):
    grid = {"C": list(np.logspace(-2, 2, candidates))}
    with pytest.warns(ConvergenceWarning) as caught:
        GridSearchCV(LogisticRegression(max_iter=1, tol=1e-12), grid).fit(X2, Y2)
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


# Callbacks and interruptions


class Ender:
    """Interrupts a search once `after` models are finished, and records the fits it has seen."""

    def __init__(self, after=1):
        self.after, self.seen, self.running = after, set(), set()

    def __call__(self, progress):
        numbers = [set(same) for same in progress.members]
        self.seen |= set().union(*numbers)
        self.running = set().union(*(numbers[place] for place in progress.running.tolist()))
        if len(self.seen - self.running) >= self.after:
            raise Interrupted


STEPS = [
    pytest.param(LogisticRegression(tol=1e-8), "C", id="in-place"),
    pytest.param(
        make_pipeline(PCA(3), LogisticRegression(tol=1e-8)), "logisticregression__C", id="by-fold"
    ),
]


@pytest.mark.parametrize(("estimator", "name"), STEPS)
def test_an_interrupted_search_keeps_the_scores_of_finished_models(estimator, name):
    X, y = X3, Y3
    grid = {name: [1e-4, 1.0, 1e4]}
    whole = GridSearchCV(estimator, grid, cv=4).fit(X, y)
    assert not whole.interrupted_
    ender = Ender()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(estimator, grid, cv=4).fit(X, y, on_progress=ender)
    assert search.interrupted_
    assert not hasattr(search, "best_estimator_")
    scores, wanted = (
        np.array([found.cv_results_[f"split{k}_test_score"] for k in range(4)])
        for found in (search, whole)
    )
    done = ~np.isnan(scores)
    assert 0 < done.sum() < done.size
    np.testing.assert_array_equal(scores[done], wanted[done])


@pytest.mark.parametrize(("estimator", "name"), STEPS)
def test_a_callback_sees_all_fits_and_does_not_change_the_results(estimator, name):
    X, y = X3, Y3
    grid = {name: [1e-2, 1.0]}
    ender = Ender(after=99)
    watched = GridSearchCV(estimator, grid, cv=4, refit=False).fit(X, y, on_progress=ender)
    assert ender.seen == set(range(8))
    alone = GridSearchCV(estimator, grid, cv=4, refit=False).fit(X, y)
    np.testing.assert_array_equal(
        watched.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_an_interrupted_search_with_several_scores_has_nan_for_unfinished_models():
    X, y = X3, Y3
    scoring, grid = ["accuracy", "neg_log_loss"], {"C": [1e-4, 1.0, 1e4]}
    search = GridSearchCV(
        LogisticRegression(tol=1e-8), grid, cv=4, scoring=scoring, refit=False
    ).fit(X, y, on_progress=Ender())
    for name in scoring:
        scores = np.array([search.cv_results_[f"split{k}_test_{name}"] for k in range(4)])
        assert 0 < np.isnan(scores).sum() < scores.size
