"""The search of a grid is scikit-learn's, trained as one batch."""

import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC as PlainLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    GradientDescentClassifier,
    GridSearchCV,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
)
from separatrix.matrix import Matrix, rows_read
from separatrix.model_selection.scaling_as_penalty import scales
from separatrix.training import Interrupted
from support.small_problems import SPARSE, STRENGTHS, WEIGHTS, X2, X3, Y2, Y3


@parametrize_with_checks(
    [
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        GridSearchCV(
            make_pipeline(StandardScaler(), LinearSVC()),
            {"linearsvc__C": [0.1, 1.0]},
            cv=3,
            error_score="raise",
        ),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def assert_same_search(ours, plain, atol=1e-6):
    """The same table, in the same order, and the same choice."""
    assert list(ours.cv_results_) == list(plain.cv_results_)
    for name, column in plain.cv_results_.items():
        if "_time" in name or name == "params":
            continue
        if name.startswith("param_"):
            assert ours.cv_results_[name].tolist() == column.tolist()
        elif not name.startswith("rank_"):  # a rank may turn on the last digit
            np.testing.assert_allclose(ours.cv_results_[name], column, atol=atol, err_msg=name)
    assert ours.best_index_ == plain.best_index_


def plain_logistic(**options):
    return PlainLogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **options)


def ours(**options):
    return LogisticRegression(tol=1e-11, **options)


ALIKE = {
    "two classes": (ours(), plain_logistic(), X2, Y2),
    "three classes": (ours(), plain_logistic(), X3, Y3),
    "balanced": (ours(class_weight="balanced"), plain_logistic(class_weight="balanced"), X3, Y3),
    "weights of classes": (
        ours(class_weight={0: 2, 1: 0.5}), plain_logistic(class_weight={0: 2, 1: 0.5}), X2, Y2,
    ),
    "sparse": (ours(), plain_logistic(), SPARSE, Y2),
    "no bias": (ours(fit_intercept=False), plain_logistic(fit_intercept=False), X2, Y2),
}  # fmt: skip
SCORES = {"scoring": ["neg_log_loss", "accuracy"], "refit": "neg_log_loss"}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_that_of_scikit_learn(name, weighted):
    own, plain, X, y = ALIKE[name]
    params = {"sample_weight": WEIGHTS} if weighted else {}
    grid = {"C": STRENGTHS}
    options = {"cv": 4, "return_train_score": True, **SCORES}
    assert_same_search(
        GridSearchCV(own, grid, **options).fit(X, y, **params),
        PlainGridSearchCV(plain, grid, **options).fit(X, y, **params),
    )


@pytest.mark.parametrize("data", [(X2, Y2), (X3, Y3), (SPARSE, Y2)], ids=["2", "3", "sparse"])
def test_squared_hinges_are_those_of_liblinear(data):
    X, y = data
    grid, options = {"C": STRENGTHS}, {"cv": 3, "scoring": margin}
    own = LinearSVC(tol=1e-9, fit_intercept=False, max_iter=10_000)
    plain = PlainLinearSVC(tol=1e-9, fit_intercept=False, max_iter=100_000)
    assert_same_search(
        GridSearchCV(own, grid, **options).fit(X, y),
        PlainGridSearchCV(plain, grid, **options).fit(X, y),
        atol=1e-4,
    )


def margin(estimator, X, y):
    """A score that every weight changes."""
    return np.abs(estimator.decision_function(X)).mean()


def pipelines(last, **grid):
    """Pipelines with what may stand before a classifier, and their grids."""
    steps = {
        "standardised": [StandardScaler()],
        "scaled only": [StandardScaler(with_mean=False)],
        "centred only": [StandardScaler(with_std=False)],
        "nothing": ["passthrough"],
        "best features": [SelectKBest(k=3)],
        "components": [PCA(n_components=3, random_state=0), StandardScaler()],
    }
    return {name: (make_pipeline(*first, last), grid) for name, first in steps.items()}


PIPELINES = list(pipelines(ours()))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_are_fitted_on_the_training_rows_of_their_fold(name, bias):
    grid = {"logisticregression__C": STRENGTHS}
    own, _ = pipelines(ours(fit_intercept=bias))[name]
    plain, _ = pipelines(plain_logistic(fit_intercept=bias))[name]
    options = {"cv": 3, "return_train_score": True, **SCORES}
    search = GridSearchCV(own, grid, **options).fit(X3, Y3)
    other = PlainGridSearchCV(plain, grid, **options).fit(X3, Y3)
    assert_same_search(search, other)
    np.testing.assert_allclose(search.predict_proba(X3), other.predict_proba(X3), atol=1e-5)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_data_is_scaled_without_a_mean(form):
    grid = {"logisticregression__C": STRENGTHS}
    scaler, X = StandardScaler(with_mean=False), form(SPARSE)
    assert_same_search(
        GridSearchCV(make_pipeline(scaler, ours()), grid, **SCORES).fit(X, Y2),
        PlainGridSearchCV(make_pipeline(scaler, plain_logistic()), grid, **SCORES).fit(X, Y2),
    )
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        GridSearchCV(make_pipeline(StandardScaler(), ours()), grid).fit(X, Y2)


def test_a_feature_that_is_constant_in_one_fold_is_not_scaled_there():
    X = X2.copy()
    X[:, 2] = 7.0
    X[:10, 2] += np.arange(10)  # the first fold holds all rows in which it varies
    grid, cv = {"logisticregression__C": STRENGTHS}, KFold(3)
    assert_same_search(
        GridSearchCV(make_pipeline(StandardScaler(), ours()), grid, cv=cv, **SCORES).fit(X, Y2),
        PlainGridSearchCV(
            make_pipeline(StandardScaler(), plain_logistic()), grid, cv=cv, **SCORES
        ).fit(X, Y2),
    )


class Counted(TransformerMixin, BaseEstimator):
    """Multiplies, and counts how often it is fitted."""

    fits: list = []  # noqa: RUF012

    def __init__(self, by=1.0):
        self.by = by

    def fit(self, X, y=None):
        self.fits.append((self.by, len(X)))
        return self

    def transform(self, X):
        return X * self.by


def test_transformers_are_fitted_once_for_every_fold_and_setting():
    Counted.fits.clear()
    grid = {"counted__by": [0.5, 2.0], "logisticregression__C": STRENGTHS}
    pipeline = make_pipeline(Counted(), ours())
    search = GridSearchCV(pipeline, grid, cv=3, **SCORES).fit(X2, Y2)
    assert len(Counted.fits) == 3 * 2 + 1
    assert sorted(Counted.fits) == sorted(
        [(by, 100) for by in (0.5, 2.0) for _ in range(3)]
        + [(search.best_params_["counted__by"], 150)]
    )
    assert_same_search(search, PlainGridSearchCV(pipeline, grid, cv=3, **SCORES).fit(X2, Y2))


def test_steps_may_be_a_part_of_the_grid():
    pipeline = Pipeline([("before", StandardScaler()), ("last", ours())])
    before = [StandardScaler(), "passthrough", PCA(2), StandardScaler(with_std=False)]
    grid = [
        {"before": before, "last__C": STRENGTHS},
        {"last": [ours(C=0.01), LinearSVC(C=0.1, tol=1e-9), ours(multiclass="softmax")]},
    ]
    assert_same_search(
        GridSearchCV(pipeline, grid, cv=3).fit(X2, Y2),
        PlainGridSearchCV(pipeline, grid, cv=3).fit(X2, Y2),
    )


def test_text_goes_through_a_vectoriser_that_has_seen_the_training_rows_only():
    words = np.array(["red", "blue", "green", "dark", "light", "old"])
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 4)) for _ in range(60)]
    y = np.array([("red" in t) ^ (rng.random() < 0.2) for t in texts])
    pipeline = make_pipeline(CountVectorizer(), ours())
    grid = {"countvectorizer__binary": [True, False], "logisticregression__C": STRENGTHS}
    assert_same_search(
        GridSearchCV(pipeline, grid, **SCORES).fit(texts, y),
        PlainGridSearchCV(pipeline, grid, **SCORES).fit(texts, y),
    )


# Sharing


def passes(fit):
    before = np.array(rows_read())
    fit()
    return np.array(rows_read()) - before


@pytest.mark.parametrize("scaled", [False, True])
def test_all_folds_and_candidates_share_their_passes_over_x(scaled):
    last = LogisticRegression(solver="lbfgs")
    estimator = make_pipeline(StandardScaler(), last) if scaled else last
    prefix = "logisticregression__" if scaled else ""

    def search(strengths, folds):
        grid = {f"{prefix}C": strengths}
        return lambda: GridSearchCV(estimator, grid, cv=folds, refit=False).fit(X2, Y2)

    one_by_one = sum(
        passes(search([C], [split]))
        for C in STRENGTHS
        for split in StratifiedKFold(5).split(X2, Y2)
    )
    together = passes(search(STRENGTHS, 5))
    # As often as for the model that needs most, its own refused steps and those of others included.
    assert together.sum() < one_by_one.sum() / 5
    assert together[0] % len(X2) == 0


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_the_data_is_neither_copied_nor_scaled(form):
    X = form(np.random.default_rng(0).standard_normal((8000, 400)))
    y = np.arange(8000) % 2
    size = X.data.nbytes
    with_mean = not sp.issparse(X)
    last = LogisticRegression(solver="lbfgs", tol=0.5)
    pipeline = make_pipeline(StandardScaler(with_mean=with_mean), last)
    search = GridSearchCV(pipeline, {"logisticregression__C": STRENGTHS}, cv=3, refit=False)
    tracemalloc.start()
    search.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A product with a sparse X^T needs X in the other orientation: values and their row numbers.
    assert peak < (2.5 * size if sp.issparse(X) else 0.5 * size)


def test_scales_are_exact_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1.0, 1e-3, 1.0, 0.0] + [0.0, 1e6, 1e3, 3.0]
    X[:20, 2] = 7.0
    counts = rng.integers(0, 3, (60, 2)).astype(float)
    counts[20:, 1] = 0.0  # the third feature is constant in the second fold
    for form in (Matrix, lambda X: Matrix(sp.csr_array(X)), lambda X: Matrix(sp.csc_array(X))):
        found = scales(form(X), counts)
        for k, column in enumerate(counts.T.astype(int)):
            scale = StandardScaler().fit(X.repeat(column, axis=0)).scale_
            np.testing.assert_allclose(found[:, k], scale, rtol=1e-9)


# Folds


@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.2, random_state=0),  # rows in several test sets or in none
        [(np.arange(100), np.arange(100, 120)), (np.arange(50, 150), np.arange(0, 150, 7))],
        [(np.arange(150) % 3 > 0, np.arange(150) % 3 == 0)],
        [(np.random.default_rng(0).integers(0, 150, 150), np.arange(150))],  # rows drawn again
    ],
    ids=["int", "splitter", "overlapping", "pairs", "masks", "bootstrap"],
)
def test_any_splits_will_do(cv):
    grid, options = {"C": STRENGTHS}, {"cv": cv, "return_train_score": True, **SCORES}
    assert_same_search(
        GridSearchCV(ours(), grid, **options).fit(X3, Y3),
        PlainGridSearchCV(ours(), grid, **options).fit(X3, Y3),
    )


def test_groups_go_to_the_splitter():
    groups = np.arange(len(Y2)) // 10
    options = {"cv": GroupKFold(3), **SCORES}
    assert_same_search(
        GridSearchCV(ours(), {"C": STRENGTHS}, **options).fit(X2, Y2, groups=groups),
        PlainGridSearchCV(ours(), {"C": STRENGTHS}, **options).fit(X2, Y2, groups=groups),
    )


def test_a_fold_without_one_of_the_classes_is_refused():
    y = Y3.copy()
    y[y == 2] = 1
    y[[3, 5]] = 2
    splits = [(np.arange(10, 150), np.arange(10)), (np.arange(140), np.arange(140, 150))]
    words = "Split 0 of the cross-validation .* no row of class 2"
    for estimator in (ours(), make_pipeline(PCA(2), ours())):
        grid = {"C": STRENGTHS} if not isinstance(estimator, Pipeline) else {"pca__whiten": [True]}
        with pytest.raises(ValueError, match=words):
            GridSearchCV(estimator, grid, cv=splits).fit(X3, y)
    w = np.where(Y2 == 1, np.arange(150) >= 100, 1.0)
    with pytest.raises(ValueError, match="no row of class 1 with a positive sample_weight"):
        GridSearchCV(ours(), {"C": [1.0]}, cv=KFold(3)).fit(X2, Y2, sample_weight=w)


@pytest.mark.parametrize("empty", ["train", "test"])
def test_a_fold_without_rows_is_refused(empty):
    rows, none = np.arange(150), np.array([], int)
    split = (none, rows) if empty == "train" else (rows, none)
    with pytest.raises(ValueError, match=f"Split 0 .* no rows to {empty} on"):
        GridSearchCV(ours(), {"C": [1.0]}, cv=[split]).fit(X2, Y2)


# Scores


def error_and_accuracy(estimator, X, y):
    accuracy = estimator.score(X, y)
    return {"error": 1.0 - accuracy, "accuracy": accuracy}


def first_feature(estimator, X, y):
    """A scorer that looks at X and into the estimator."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(X[:, 0].mean() + np.abs(last.coef_).sum() + estimator.predict(X).mean())


@pytest.mark.parametrize("first", [None, StandardScaler(), PCA(3)])
@pytest.mark.parametrize(
    "options",
    [
        {"scoring": None},
        {"scoring": "accuracy"},
        {"scoring": "roc_auc"},
        {"scoring": make_scorer(accuracy_score, normalize=False)},
        {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"},
        {"scoring": {"a": "f1", "b": make_scorer(accuracy_score)}, "refit": "b"},
        {"scoring": {"a": first_feature, "b": "roc_auc"}, "refit": "a"},
        {"scoring": first_feature},
        {"scoring": error_and_accuracy, "refit": "accuracy"},
        {"scoring": "roc_auc", "refit": lambda results: results["mean_test_score"].argmin()},
    ],
    ids=["None", "name", "auc", "made", "list", "dict", "mixed", "callable", "dicts", "refit"],
)
def test_scores_are_those_of_scikit_learn(options, first):
    last = ours()
    estimator = last if first is None else make_pipeline(first, last)
    grid = {"C" if first is None else "logisticregression__C": STRENGTHS}
    options = {"cv": 3, "return_train_score": True, **options}
    own = GridSearchCV(estimator, grid, **options).fit(X2, Y2)
    plain = PlainGridSearchCV(estimator, grid, **options).fit(X2, Y2)
    assert_same_search(own, plain)
    assert own.score(X2, Y2) == pytest.approx(plain.score(X2, Y2), abs=1e-6)
    assert own.multimetric_ == plain.multimetric_


def test_without_refit_there_are_scores_and_no_model():
    search = GridSearchCV(ours(), {"C": STRENGTHS}, refit=False).fit(X2, Y2)
    assert search.best_params_["C"] in STRENGTHS
    assert not hasattr(search, "best_estimator_")
    several = GridSearchCV(ours(), {"C": STRENGTHS}, scoring=["f1", "roc_auc"], refit=False)
    assert not hasattr(several.fit(X2, Y2), "best_index_")
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        GridSearchCV(ours(), {"C": STRENGTHS}, scoring=error_and_accuracy).fit(X2, Y2)


def test_the_best_model_is_fitted_on_all_rows_and_known_by_its_features():
    frame = pd.DataFrame(X2, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).set_output(transform="pandas")
    search = GridSearchCV(pipeline, {"logisticregression__C": STRENGTHS}).fit(frame, Y2)
    alone = clone(pipeline).set_params(**search.best_params_).fit(frame, Y2)
    assert search.best_estimator_[-1].coef_.tobytes() == alone[-1].coef_.tobytes()
    assert search.feature_names_in_.tolist() == list("abcde")
    assert search.best_estimator_[-1].feature_names_in_.tolist() == list("abcde")
    assert search.refit_time_ > 0.0
    copied = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copied.predict_proba(frame), search.predict_proba(frame))
    assert clone(search).get_params()["estimator"] is not pipeline


# Metadata


def test_weights_reach_the_classifier_at_the_end_of_a_pipeline():
    grid = {"logisticregression__C": STRENGTHS}
    for first in (StandardScaler(), SelectKBest(k=3)):
        pipeline = make_pipeline(first, ours())
        weights = {"logisticregression__sample_weight": WEIGHTS}
        assert_same_search(
            GridSearchCV(pipeline, grid, **SCORES).fit(X2, Y2, **weights),
            PlainGridSearchCV(pipeline, grid, **SCORES).fit(X2, Y2, **weights),
        )


@pytest.mark.parametrize("scorer", [None, "with weights", "without weights"])
@pytest.mark.parametrize("first", [None, StandardScaler(), PCA(3)])
def test_metadata_is_routed(first, scorer):
    with sklearn.config_context(enable_metadata_routing=True):
        last = ours().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        if isinstance(first, StandardScaler):
            first.set_fit_request(sample_weight=False)
        estimator = last if first is None else make_pipeline(first, last)
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


def test_metadata_for_a_transformer_is_scikit_learns_business():
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


def test_a_candidate_that_cannot_be_fitted_is_scored_as_scikit_learn_scores_it():
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


def test_a_transformer_that_fails_fails_its_own_candidates_only():
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
def test_bad_data_is_refused_in_the_words_of_the_core(first):
    estimator = ours() if first is None else make_pipeline(first, ours())
    search = GridSearchCV(estimator, {"C" if first is None else "logisticregression__C": [1.0]})
    X = X2.copy()
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="X has NaN at row 4, column 1"):
        search.fit(X, Y2)
    with pytest.raises(ValueError, match="X has 150 rows and y has 149 entries"):
        search.fit(X2, Y2[1:])
    with pytest.raises(ValueError, match="y has one class only"):
        search.fit(X2, np.zeros(150))
    with pytest.raises(ValueError, match="y has nan at row 3"):
        search.fit(X2, np.where(np.arange(150) == 3, np.nan, Y2))
    with pytest.raises(ValueError, match="Unknown label type"):
        search.fit(X2, X2[:, 0])
    name = "sample_weight" if first is None else "logisticregression__sample_weight"
    weights = {name: np.where(np.arange(150) == 2, -1.0, 1.0)}
    with pytest.raises(ValueError, match=r"sample_weight must be finite and >= 0\. Row 2 has -1"):
        search.fit(X2, Y2, **weights)


# What is left to scikit-learn


class Own(LogisticRegression):
    """A subclass, which may do anything."""

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


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


def test_full_batch_descent_takes_the_path_it_takes_on_the_rows_of_its_fold():
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


def test_verbose_says_how_many_fits_there_are(capsys):
    GridSearchCV(ours(), {"C": STRENGTHS}, cv=3, verbose=1).fit(X2, Y2)
    assert "Fitting 3 folds for each of 3 candidates, totalling 9 fits" in capsys.readouterr().out


@pytest.mark.parametrize("candidates", [2, 7])
def test_a_warning_names_the_line_that_called_fit(candidates):
    grid = {"C": list(np.logspace(-2, 2, candidates))}
    with pytest.warns(ConvergenceWarning) as caught:
        GridSearchCV(LogisticRegression(max_iter=1, tol=1e-12), grid).fit(X2, Y2)
    assert {Path(warning.filename).name for warning in caught} == {"test_search.py"}


# Watched, and interrupted


class Ender:
    """Ends a search as soon as a model of it is done; notes the trials it has seen."""

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
def test_an_interrupted_search_keeps_the_scores_of_the_models_that_were_done(estimator, name):
    X, y = X3, Y3
    grid = {name: [1e-4, 1.0, 1e4]}
    whole = GridSearchCV(estimator, grid, cv=4).fit(X, y)
    assert not whole.interrupted_
    ender = Ender()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(estimator, grid, cv=4).fit(X, y, on_record=ender)
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
def test_a_search_that_is_watched_names_all_its_trials_and_ends_as_it_would(estimator, name):
    X, y = X3, Y3
    grid = {name: [1e-2, 1.0]}
    ender = Ender(after=99)
    watched = GridSearchCV(estimator, grid, cv=4, refit=False).fit(X, y, on_record=ender)
    assert ender.seen == set(range(8))
    alone = GridSearchCV(estimator, grid, cv=4, refit=False).fit(X, y)
    np.testing.assert_array_equal(
        watched.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_an_interrupted_search_by_several_scores_has_none_of_the_models_that_were_not_done():
    X, y = X3, Y3
    scoring, grid = ["accuracy", "neg_log_loss"], {"C": [1e-4, 1.0, 1e4]}
    search = GridSearchCV(
        LogisticRegression(tol=1e-8), grid, cv=4, scoring=scoring, refit=False
    ).fit(X, y, on_record=Ender())
    for name in scoring:
        scores = np.array([search.cv_results_[f"split{k}_test_{name}"] for k in range(4)])
        assert 0 < np.isnan(scores).sum() < scores.size


@pytest.mark.parametrize(
    "form",
    [
        lambda y: pd.Series(y).array,
        pd.Index,
        pd.Categorical,
        lambda y: pd.Series(y, dtype="string[python]").array,
        lambda y: pd.Series(y, dtype="string[pyarrow]").array,
        lambda y: pd.Series(y, dtype="string[pyarrow]"),
        lambda y: pd.Series(y == "yes", dtype="boolean").array,
        lambda y: pd.Series(y == "yes", dtype="bool[pyarrow]").array,
        lambda y: pd.Series((y == "yes").astype(int), dtype="Int64").array,
        lambda y: pd.Series((y == "yes").astype(int), dtype="int64[pyarrow]").array,
        list,
    ],
)
def test_labels_may_be_any_column_of_pandas(form):
    random = np.random.default_rng(0)
    X = random.standard_normal((90, 3))
    y = np.where(X[:, 0] + random.standard_normal(90) > 0, "yes", "no")
    labels = form(y)
    for search in (
        LogisticRegressionCV(Cs=[0.1, 1.0]),
        LinearSVCCV(Cs=[0.1, 1.0]),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, return_train_score=True),
        GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, scoring="roc_auc"),
    ):
        found, expected = clone(search).fit(X, labels), clone(search).fit(X, y)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
        assert found.score(X, labels) == expected.score(X, y)
