"""GridSearchCV returns the results of scikit-learn's class, trained as one batch."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as PlainLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    GridSearchCV,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
)
from separatrix.data import Dataset
from separatrix.matrix import rows_read
from separatrix.model_selection.scaling_as_penalty import scales
from support.scikit_learn import BEFORE_1_7
from support.searches import SCORES, assert_same_search, ours, plain_logistic
from support.small_problems import SPARSE, STRENGTHS, WEIGHTS, X2, X3, Y2, Y3


@pytest.mark.slow
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
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("weighted", [False, True])
def test_results_equal_scikit_learn(name, weighted):
    if BEFORE_1_7 and name == "balanced" and weighted:
        pytest.skip("scikit-learn before 1.7 balances classes by counting rows")
    own, plain, X, y = ALIKE[name]
    params = {"sample_weight": WEIGHTS} if weighted else {}
    grid = {"C": STRENGTHS}
    options = {"cv": 4, "return_train_score": True, **SCORES}
    assert_same_search(
        GridSearchCV(own, grid, **options).fit(X, y, **params),
        PlainGridSearchCV(plain, grid, **options).fit(X, y, **params),
    )


@pytest.mark.parametrize("data", [(X2, Y2), (X3, Y3), (SPARSE, Y2)], ids=["2", "3", "sparse"])
def test_squared_hinge_results_equal_liblinear(data):
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
    """A score that depends on every weight."""
    return np.abs(estimator.decision_function(X)).mean()


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
    # As often as the slowest model alone, plus the rejected steps of all models.
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
    # A product with a sparse X^T needs X in the other format, with values and row numbers.
    assert peak < (2.5 * size if sp.issparse(X) else 0.5 * size)


def test_scales_are_accurate_for_features_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1.0, 1e-3, 1.0, 0.0] + [0.0, 1e6, 1e3, 3.0]
    X[:20, 2] = 7.0
    counts = rng.integers(0, 3, (60, 2)).astype(float)
    counts[20:, 1] = 0.0  # the third feature is constant in the second fold
    for form in (np.asarray, sp.csr_array, sp.csc_array):
        found = scales(Dataset.of(form(X), np.zeros(60, int), counts))
        for k, column in enumerate(counts.T.astype(int)):
            scale = StandardScaler().fit(X.repeat(column, axis=0)).scale_
            np.testing.assert_allclose(found[:, k], scale, rtol=1e-9)


# Folds


@pytest.mark.slow
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
def test_all_kinds_of_splits_are_accepted(cv):
    grid, options = {"C": STRENGTHS}, {"cv": cv, "return_train_score": True, **SCORES}
    assert_same_search(
        GridSearchCV(ours(), grid, **options).fit(X3, Y3),
        PlainGridSearchCV(ours(), grid, **options).fit(X3, Y3),
    )


def test_groups_are_passed_to_the_splitter():
    groups = np.arange(len(Y2)) // 10
    options = {"cv": GroupKFold(3), **SCORES}
    assert_same_search(
        GridSearchCV(ours(), {"C": STRENGTHS}, **options).fit(X2, Y2, groups=groups),
        PlainGridSearchCV(ours(), {"C": STRENGTHS}, **options).fit(X2, Y2, groups=groups),
    )


def test_a_fold_that_lacks_a_class_is_scored_as_by_scikit_learn():
    y = Y3.copy()
    y[y == 2] = 1
    y[[3, 5]] = 2
    splits = [(np.arange(10, 150), np.arange(10)), (np.arange(140), np.arange(140, 150))]
    for estimator, grid in (
        (ours(), {"C": STRENGTHS}),
        (make_pipeline(PCA(2), ours()), {"pca__whiten": [True]}),
    ):
        batched = GridSearchCV(estimator, grid, cv=splits).fit(X3, y)
        alone = PlainGridSearchCV(estimator, grid, cv=splits).fit(X3, y)
        for k in range(2):
            name = f"split{k}_test_score"
            np.testing.assert_allclose(batched.cv_results_[name], alone.cv_results_[name])


def test_a_fold_without_any_weight_is_refused():
    w = (np.arange(150) < 50).astype(float)
    with pytest.raises(ValueError, match=r"Split 0 .* no training row with a positive sample_w"):
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
    """A scorer that uses X and the fitted attributes of the estimator."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(X[:, 0].mean() + np.abs(last.coef_).sum() + estimator.predict(X).mean())


@pytest.mark.slow
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
def test_scores_equal_scikit_learn(options, first):
    last = ours()
    estimator = last if first is None else make_pipeline(first, last)
    grid = {"C" if first is None else "logisticregression__C": STRENGTHS}
    options = {"cv": 3, "return_train_score": True, **options}
    own = GridSearchCV(estimator, grid, **options).fit(X2, Y2)
    plain = PlainGridSearchCV(estimator, grid, **options).fit(X2, Y2)
    assert_same_search(own, plain)
    assert own.score(X2, Y2) == pytest.approx(plain.score(X2, Y2), abs=1e-6)
    assert own.multimetric_ == plain.multimetric_


def test_without_refit_there_are_scores_but_no_model():
    search = GridSearchCV(ours(), {"C": STRENGTHS}, refit=False).fit(X2, Y2)
    assert search.best_params_["C"] in STRENGTHS
    assert not hasattr(search, "best_estimator_")
    several = GridSearchCV(ours(), {"C": STRENGTHS}, scoring=["f1", "roc_auc"], refit=False)
    assert not hasattr(several.fit(X2, Y2), "best_index_")
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        GridSearchCV(ours(), {"C": STRENGTHS}, scoring=error_and_accuracy).fit(X2, Y2)


def test_the_best_model_is_fitted_on_all_rows_and_has_feature_names():
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


@pytest.mark.slow
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
def test_labels_can_be_any_column_of_pandas(form):
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
