"""A certified search: its bounds hold for every C, and what has no bounds is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GridSearchCV,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    certified_search,
)
from separatrix.training import Interrupted

TOL = 1e-10


def noisy(n=120, d=4, classes=2, seed=0):
    return make_classification(
        n, d, n_informative=d, n_redundant=0, n_classes=classes, n_clusters_per_class=1,
        class_sep=0.5, flip_y=0.2, random_state=seed,
    )  # fmt: skip


def weighted_error(model, X, y, s):
    return float(s @ (model.predict(X) != y) / s.sum())


def weighted_log_loss(model, X, y, s):
    return log_loss(y, model.predict_proba(X), sample_weight=s, labels=model.classes_)


CASES = {
    "free bias": (LogisticRegression(), {}),
    "no bias": (LogisticRegression(fit_intercept=False), {}),
    "penalised bias": (LogisticRegression(solver="liblinear"), {}),
    "balanced": (LogisticRegression(class_weight="balanced"), {"weights": True}),
    "weights": (LogisticRegression(), {"weights": True}),
    "squared hinge": (LinearSVC(loss="squared_hinge"), {}),
    "kernel": (KernelClassifier(loss="logistic", gamma=0.3), {}),
    "one-vs-rest": (LogisticRegression(multiclass="ovr"), {"classes": 3}),
    "sparse": (LogisticRegression(), {"sparse": True}),
    "unscaled": (LogisticRegression(), {"unscaled": True}),
    "far": (LogisticRegression(), {"far": True}),
    "float32": (LogisticRegression(), {"float32": True}),
}


WITHOUT_PROBABILITIES = "squared hinge"
MEASURED = [
    (case, measure)
    for case in CASES
    for measure in ("error", "log_loss")
    if (case, measure) != (WITHOUT_PROBABILITIES, "log_loss")
]


@pytest.mark.parametrize(("case", "measure"), MEASURED)
def test_bounds_hold_for_models_trained_at_other_values(case, measure):
    estimator, what = CASES[case]
    X, y = noisy(70, 3, classes=what.get("classes", 2))
    if what.get("unscaled"):
        X = X * np.array([1e3, 1.0, 1e-2])
    if what.get("far"):
        X = X + np.array([1e6, 0.0, -1e5])
    if what.get("sparse"):
        X = sp.csr_array(np.where(np.abs(X) < 0.7, 0.0, X))
    if what.get("float32"):
        X = X.astype(np.float32)
    s = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y)) if what.get("weights") else None
    folds = list(StratifiedKFold(3).split(np.zeros(len(y)), y))
    found = certified_search(
        X, y, estimator, C=(0.03, 3.0), epsilon=0.15, cv=folds, measure=measure, sample_weight=s,
        max_points=100,
    )  # fmt: skip
    assert found.complete
    assert found.lower_bound >= found.error - 0.15
    s = np.ones(len(y)) if s is None else s
    score = weighted_error if measure == "error" else weighted_log_loss
    for C in np.geomspace(0.0301, 2.99, 9):
        model = type(estimator)(**(estimator.get_params() | {"C": C, "tol": TOL}))
        if isinstance(estimator, KernelClassifier):  # the factor is that of all rows
            scoring = "accuracy" if measure == "error" else "neg_log_loss"
            grid = GridSearchCV(model, {"C": [C]}, cv=folds, scoring=scoring, refit=False).fit(X, y)
            value = float(measure == "error") - grid.cv_results_["mean_test_score"][0]
        else:
            value = np.mean(
                [score(model.fit(X[a], y[a], s[a]), X[b], y[b], s[b]) for a, b in folds]
            )
        piece = np.searchsorted(found.edges, C) - 1
        assert found.low[piece] - 1e-7 <= value <= found.high[piece] + 1e-7, C


@pytest.mark.parametrize(
    ("load", "estimator"),
    [
        (load_breast_cancer, make_pipeline(StandardScaler(), LogisticRegression(tol=TOL))),
        (load_wine, LogisticRegression(multiclass="ovr", tol=TOL)),
        (load_iris, LogisticRegression(multiclass="ovr", tol=TOL)),
    ],
)
def test_brute_force_finds_no_value_that_is_better_by_more_than_epsilon(load, estimator):
    X, y = load(return_X_y=True)
    found = certified_search(X, y, estimator, C=(1e-2, 1e2), epsilon=0.02)
    name = "logisticregression__C" if hasattr(estimator, "steps") else "C"
    grid = {name: np.geomspace(1e-2, 1e2, 61)}
    search = GridSearchCV(estimator, grid, cv=5, refit=False).fit(X, y)
    errors = 1.0 - search.cv_results_["mean_test_score"]
    assert found.complete
    assert errors.min() >= found.lower_bound - 1e-9
    assert errors.min() >= found.error - 0.02 - 1e-9


def test_the_error_is_that_of_a_grid_search_at_the_same_value():
    X, y = noisy()
    found = certified_search(X, y, C=(0.01, 10.0), epsilon=0.05)
    search = GridSearchCV(LogisticRegression(tol=TOL), {"C": [found.C]}, cv=5).fit(X, y)
    assert found.error == pytest.approx(1.0 - search.best_score_)
    assert found.C in found.points
    assert found.error == found.errors.min()


def test_an_epsilon_of_all_rows_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="must be below 1 for the error, which is a share"):
        certified_search(X, y, epsilon=2)


def test_a_smaller_epsilon_takes_more_values():
    X, y = noisy()
    wide, narrow = (certified_search(X, y, C=(0.01, 10.0), epsilon=e) for e in (0.1, 0.03))
    assert len(narrow.points) > len(wide.points)
    assert narrow.lower_bound >= narrow.error - 0.03


def test_what_is_not_proven_is_told():
    X, y = noisy()
    found = certified_search(X, y, C=(0.001, 1000.0), epsilon=0.001, max_points=5)
    assert not found.complete
    assert len(found.points) == 5
    assert 0.0 <= found.proven < 1.0
    assert "The rest is not proven." in str(found)
    assert found.lower_bound < found.error - 0.001


def test_an_interrupted_search_keeps_what_is_proven():
    X, y = noisy()
    seen = []

    def stop(progress):
        seen.append(progress)
        raise Interrupted

    found = certified_search(X, y, epsilon=0.001, on_progress=stop)
    assert len(seen) == 1
    assert found.interrupted
    assert not found.complete
    assert found.proven == seen[0].proven
    assert len(found.points) == seen[0].n_points


def test_the_proven_share_reaches_one():
    X, y = noisy()
    seen = []
    found = certified_search(X, y, C=(0.01, 10.0), epsilon=0.03, on_progress=seen.append)
    assert seen[-1].proven == pytest.approx(1.0)
    assert found.proven == pytest.approx(1.0)


def test_any_splitter_can_be_used():
    X, y = noisy()
    splits = list(GroupKFold(4).split(X, y, np.arange(len(y)) % 7))
    found = certified_search(X, y, C=(0.1, 1.0), epsilon=0.1, cv=splits)
    assert found.n_folds == 4
    assert found.complete


REFUSED = [
    ({"estimator": LogisticRegression(l1_ratio=0.5)}, "l1_ratio"),
    ({"estimator": LinearSVC(loss="hinge")}, "smooth"),
    ({"estimator": make_pipeline(PCA(), LogisticRegression())}, "StandardScaler"),
    ({"measure": "log_loss", "estimator": LinearSVC(loss="squared_hinge")}, "probabilities"),
    ({"measure": "auc"}, "measure"),
    ({"estimator": LinearSVC(loss="hinge")}, r"each other. Set loss='squared_hinge'.$"),
    ({"estimator": KernelClassifier()}, r"Set loss='logistic' or loss='squared_hinge'.$"),
    ({"estimator": KernelClassifier("softmax")}, "'squared_hinge', and multiclass='ovr'"),
    ({"C": (1.0, 0.1)}, "smallest and the largest"),
    ({"C": (0.0, 1.0)}, r"must be a pair of finite numbers > 0.* Got \(0.0, 1.0\)"),
    ({"C": (1.0, np.inf)}, "must be a pair of finite numbers > 0"),
    ({"C": ("a", 1.0)}, "must be a pair of finite numbers > 0"),
    ({"C": 1.0}, "C"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"max_points": 1}, "max_points"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_has_no_certificate_is_refused(given, words):
    X, y = noisy()
    with pytest.raises((ValueError, TypeError), match=words):
        certified_search(X, y, **given)


def test_the_interval_can_be_as_wide_as_the_range_of_numbers():
    X, y = noisy()
    found = certified_search(X, y, C=(1e-300, 1e300), epsilon=0.9, max_points=9)
    assert found.complete
    assert found.proven == 1.0


def test_softmax_is_refused_with_the_alternative():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="multiclass='ovr'"):
        certified_search(X, y)


def test_wide_data_are_refused():
    with pytest.raises(ValueError, match=r"500 columns here. Got 501"):
        certified_search(np.random.default_rng(0).normal(size=(20, 501)), [0, 1] * 10)


def test_a_class_without_training_rows_is_refused():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="split 1"):
        certified_search(X, y, cv=[([0, 1, 4], [2, 3, 5]), ([0, 1, 2], [4, 5])])
