"""Classifiers that choose their penalty by cross-validation."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegressionCV as PlainLogisticRegressionCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    GridSearchCV,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    fit_many,
)
from separatrix.matrix import rows_read
from support.scikit_learn import BEFORE_1_8
from support.small_problems import SPARSE, STRENGTHS, WEIGHTS, X2, X3, Y2, Y3

FOLDS = list(StratifiedKFold(3).split(X2, Y2))


@pytest.mark.slow
@parametrize_with_checks(
    [
        LogisticRegressionCV(Cs=[0.1, 1.0], cv=3),
        LogisticRegressionCV(Cs=[0.01, 0.1], cv=3, refit=False, multiclass="ovr"),
        LinearSVCCV(Cs=[0.01, 0.1], cv=3),
    ]
)
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


def precise(**options):
    return LogisticRegressionCV(Cs=STRENGTHS, tol=1e-11, **options)


def plain(**options):
    if not BEFORE_1_8:
        options |= {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    return PlainLogisticRegressionCV(
        Cs=STRENGTHS, solver="newton-cholesky", tol=1e-10, max_iter=1000, **options
    )


@pytest.mark.slow
@pytest.mark.skipif(BEFORE_1_8, reason="scikit-learn before 1.8 lays these attributes out by class")
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize(
    ("X", "y"), [(X2, Y2), (X3, Y3), (SPARSE, Y2)], ids=["two", "three", "sparse"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_all_attributes_equal_scikit_learn(X, y, refit, weighted):
    options = {"cv": 3, "scoring": "neg_log_loss", "refit": refit}
    s = WEIGHTS if weighted else None
    own, other = precise(**options).fit(X, y, s), plain(**options).fit(X, y, s)
    for name in (
        "C_", "l1_ratio_", "Cs_", "l1_ratios_", "scores_", "coefs_paths_", "coef_", "intercept_",
    ):  # fmt: skip
        a, b = np.asarray(getattr(own, name)), np.asarray(getattr(other, name))
        assert a.shape == b.shape, name
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=name)
    assert own.n_iter_.shape == other.n_iter_.shape
    assert own.score(X, y, sample_weight=s) == pytest.approx(other.score(X, y, sample_weight=s))


def test_a_fold_as_weights_equals_a_fit_on_its_rows():
    cv = precise(class_weight="balanced", cv=FOLDS).fit(X2, Y2)
    for path, (train, _) in zip(cv.coefs_paths_, FOLDS):
        for C, weights in zip(STRENGTHS, path[0]):
            alone = LogisticRegression(C, tol=1e-11, class_weight="balanced")
            alone.fit(X2[train], Y2[train])
            together = np.column_stack([alone.coef_, alone.intercept_])
            np.testing.assert_allclose(weights, together, rtol=1e-4, atol=1e-6)


def test_every_model_has_the_same_bits_as_if_trained_alone():
    cv = LinearSVCCV(Cs=STRENGTHS, cv=FOLDS).fit(X2, Y2)
    for k, (train, _) in enumerate(FOLDS):
        s = np.bincount(train, minlength=len(Y2)).astype(float)
        for c, C in enumerate(STRENGTHS):
            alone = LinearSVC(C).fit(X2, Y2, s)
            assert cv.coefs_paths_[k, 0, c, :, :-1].tobytes() == alone.coef_.tobytes()
            assert cv.n_iter_[k, 0, c] == alone.n_iter_


@pytest.mark.parametrize(
    ("kind", "base"), [(LogisticRegressionCV, LogisticRegression), (LinearSVCCV, LinearSVC)]
)
def test_a_penalty_cv_equals_a_grid_search(kind, base):
    cv = kind(Cs=STRENGTHS, class_weight="balanced").fit(X3, Y3)
    search = GridSearchCV(base(class_weight="balanced"), {"C": STRENGTHS}).fit(X3, Y3)
    np.testing.assert_array_equal(cv.scores_.mean(axis=0)[0], search.cv_results_["mean_test_score"])
    assert search.best_params_["C"] == cv.C_
    best = search.best_estimator_
    assert cv.coef_.tobytes() == best.coef_.tobytes()
    assert cv.certificate_ == best.certificate_
    assert cv.objective() == best.objective()
    np.testing.assert_array_equal(cv.predict(X3), search.predict(X3))


def test_paths_with_l1_equal_single_fits():
    options = {"tol": 1e-9, "max_iter": 10_000}
    cv = LogisticRegressionCV(
        Cs=np.logspace(-2, 2, 11),
        l1_ratios=[0.0, 0.5, 1.0],
        cv=FOLDS,
        scoring="neg_log_loss",
        **options,
    ).fit(X2, Y2)
    assert cv.scores_.shape == (3, 3, 11)
    assert cv.coefs_paths_.shape == (3, 3, 11, 1, 6)
    for k, r, c in [(0, 0, 3), (1, 1, 10), (2, 2, 5), (0, 2, 0), (1, 2, 9)]:
        alone = LogisticRegression(cv.Cs_[c], l1_ratio=cv.l1_ratios_[r], **options)
        alone.fit(X2[FOLDS[k][0]], Y2[FOLDS[k][0]])
        np.testing.assert_allclose(cv.coefs_paths_[k, r, c, :, :-1], alone.coef_, atol=1e-3)
    mean = cv.scores_.mean(axis=0)
    r, c = np.argwhere(mean == mean.max())[0]
    assert (cv.C_, cv.l1_ratio_) == (cv.Cs_[c], cv.l1_ratios_[r])


def test_paths_with_l1_start_from_their_neighbours():
    Cs, options = np.logspace(-2, 2, 11), {"l1_ratios": [1.0], "cv": FOLDS, "tol": 1e-9}
    together = LogisticRegressionCV(Cs=Cs, **options).fit(X2, Y2).n_iter_.sum()
    alone = sum(LogisticRegressionCV(Cs=[C], **options).fit(X2, Y2).n_iter_.sum() for C in Cs)
    assert together < 0.9 * alone


def test_a_penalty_cv_accepts_the_hinge_loss():
    cv = LinearSVCCV(Cs=STRENGTHS, loss="hinge", cv=FOLDS, tol=1e-6).fit(X2, Y2)
    search = GridSearchCV(LinearSVC(loss="hinge", tol=1e-6), {"C": STRENGTHS}, cv=FOLDS).fit(X2, Y2)
    assert cv.certificate_.relative_gap <= 1e-6
    np.testing.assert_array_equal(
        cv.scores_[:, 0].mean(axis=0), search.cv_results_["mean_test_score"]
    )


def test_all_models_share_their_passes_over_x():
    def passes(cv):
        before = sum(rows_read())
        cv.fit(X2, Y2)
        return sum(rows_read()) - before

    together = passes(LogisticRegressionCV(Cs=STRENGTHS, cv=FOLDS, solver="lbfgs"))
    each = [
        passes(LogisticRegressionCV(Cs=[C], cv=[fold], solver="lbfgs"))
        for C in STRENGTHS
        for fold in FOLDS
    ]
    assert together < sum(each) / 4


def test_the_default_grid_is_that_of_scikit_learn():
    cv = LogisticRegressionCV(Cs=3, cv=2).fit(X2, Y2)
    np.testing.assert_allclose(cv.Cs_, [1e-4, 1.0, 1e4])
    assert cv.scores_.shape == (2, 1, 3)
    # Ties go to the smallest C.
    tied = LogisticRegressionCV(Cs=[1e-9, 1e-8], cv=2).fit(X2, Y2)
    assert tied.scores_[:, 0, 0].tolist() == tied.scores_[:, 0, 1].tolist()
    assert tied.C_ == 1e-9


def test_without_refit_the_weights_are_the_mean_of_the_best_models_of_the_folds():
    cv = LogisticRegressionCV(Cs=STRENGTHS, cv=FOLDS, refit=False).fit(X2, Y2)
    best = cv.scores_[:, 0].argmax(axis=1)
    assert np.mean(np.array(STRENGTHS)[best]) == cv.C_
    mean = np.mean([cv.coefs_paths_[k, 0, c] for k, c in enumerate(best)], axis=0)
    np.testing.assert_array_equal(np.column_stack([cv.coef_, cv.intercept_]), mean)
    assert "mean of the best models of 3 folds" in cv.objective()
    assert cv.predict_proba(X2).shape == (150, 2)


def test_without_a_bias_the_paths_contain_only_weights():
    cv = LinearSVCCV(Cs=STRENGTHS, fit_intercept=False, cv=2).fit(X3, Y3)
    assert cv.coefs_paths_.shape == (2, 1, 3, 3, 5)
    assert cv.intercept_.tolist() == [0.0] * 3


def test_metadata_is_routed_to_splitter_and_scorer():
    groups = np.arange(len(Y2)) // 10
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        LogisticRegressionCV(cv=GroupKFold(3)).fit(X2, Y2, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        options = {
            "cv": GroupKFold(3),
            "scoring": get_scorer("accuracy").set_score_request(sample_weight=True),
        }
        given = {"sample_weight": WEIGHTS, "groups": groups}
        own = precise(**options).set_fit_request(sample_weight=True).fit(X2, Y2, **given)
        other = plain(**options).set_fit_request(sample_weight=True).fit(X2, Y2, **given)
        theirs = other.scores_[1][:, None] if BEFORE_1_8 else other.scores_
        np.testing.assert_allclose(own.scores_, theirs, atol=1e-12)
        s = WEIGHTS[::-1]
        assert own.score(X2, Y2, sample_weight=s) == other.score(X2, Y2, sample_weight=s)


def test_a_penalty_cv_accepts_frames_and_can_be_cloned_and_pickled():
    frame = pd.DataFrame(X2, columns=list("abcde"))
    for refit in (True, False):
        cv = LogisticRegressionCV(Cs=STRENGTHS, cv=3, refit=refit).fit(frame, Y2)
        assert cv.feature_names_in_.tolist() == list("abcde")
        copied = pickle.loads(pickle.dumps(cv))
        np.testing.assert_array_equal(copied.predict_proba(frame), cv.predict_proba(frame))
        assert clone(cv).get_params() == cv.get_params()
    assert not hasattr(LinearSVCCV(), "predict_proba")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Cs": 0}, "The 'Cs' parameter must be a whole number >= 1. Got 0"),
        ({"Cs": 2.5}, "The 'Cs' parameter must be a whole number >= 1. Got 2.5"),
        ({"Cs": []}, "The 'Cs' parameter must be a whole number or a list of numbers. Got []"),
        ({"Cs": "many"}, "The 'Cs' parameter must be a whole number or a list of numbers."),
        ({"Cs": [1.0, -1.0]}, "The 'Cs' parameter must be a number > 0, or np.inf for no penalty."),
        ({"l1_ratios": 0.5}, "The 'l1_ratios' parameter must be a list of numbers. Got 0.5"),
        ({"l1_ratios": [1.5]}, "The 'l1_ratios' parameter must be a finite number >= 0 and <= 1."),
        ({"refit": "C"}, "The 'refit' parameter must be True or False. Got 'C'"),
        ({"max_iter": -1}, "The 'max_iter' parameter must be a whole number >= 0. Got -1"),
        ({"class_weight": {9: 1.0}}, "names the class 9, which does not occur in y"),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        LogisticRegressionCV(**options).fit(X2, Y2)


def test_a_penalty_cv_cannot_be_part_of_another_batch():
    with pytest.raises(TypeError, match="LinearSVCCV trains its own batch"):
        fit_many([LinearSVCCV()], X2, Y2)


# The course's table


@pytest.mark.data("libsvm/a5a", "libsvm/a5a.t")
def test_the_table_of_a5a_is_reproduced_exactly(data_dir):
    X, y = load_svmlight_file(data_dir / "libsvm/a5a", n_features=123)
    model = LinearSVC(intercept_scaling=1.0, tol=1e-6)
    grid = {"C": [0.01, 0.1, 1, 10, 100]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    table = search.cv_results_
    means = [f"{mean:.5f}" for mean in table["mean_test_score"]]
    spreads = [f"{2 * std:.5f}" for std in table["std_test_score"]]
    assert means == ["0.83957", "0.84222", "0.83801", "0.83645", "0.83630"]
    assert spreads == ["0.01153", "0.01228", "0.00817", "0.00841", "0.00861"]
    assert search.best_params_ == {"C": 0.1}
    held_out = load_svmlight_file(data_dir / "libsvm/a5a.t", n_features=123)
    assert search.score(*held_out) == 0.845871419283283
    cv = LinearSVCCV(Cs=grid["C"], intercept_scaling=1.0, tol=1e-6, cv=3).fit(X, y)
    np.testing.assert_array_equal(cv.scores_.mean(axis=0)[0], table["mean_test_score"])
    assert (cv.C_, cv.score(*held_out)) == (0.1, 0.845871419283283)
