"""certify, coef_radius_, zero_weights_ and tol="predictions"."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification

from separatrix import (
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    fit_many,
    load_model,
)
from separatrix.errors import ParameterError

MODELS = {
    "logistic": LogisticRegression(),
    "elastic net": LogisticRegression(l1_ratio=0.5, C=0.3),
    "penalised bias": LogisticRegression(solver="liblinear"),
    "no bias": LogisticRegression(fit_intercept=False),
    "balanced": LogisticRegression(class_weight="balanced"),
    "svm": LinearSVC(C=0.1),
    "hinge": LinearSVC(loss="hinge", C=0.1),
    "kernel": KernelClassifier("logistic", gamma=0.1),
    "softmax": LogisticRegression(multiclass="softmax"),
    "reference": LogisticRegression(multiclass="reference"),
    "ovr": LogisticRegression(multiclass="ovr"),
    "weston-watkins": LinearSVC(
        loss="hinge", multiclass="weston_watkins", fit_intercept=False, C=0.1
    ),
}
SEVERAL = ("softmax", "reference", "ovr", "weston-watkins")


def rows(several, seed=0):
    X, y = make_classification(
        300, 8, n_informative=6, n_classes=3 if several else 2, flip_y=0.1, random_state=seed
    )
    return X[:200], y[:200], X[200:]


def fitted(name, tol, **settings):
    X, y, others = rows(name in SEVERAL)
    model = separatrix_clone(MODELS[name]).set_params(tol=tol, certified=True, **settings)
    return model.fit(X, y), others


def separatrix_clone(model):
    from sklearn.base import clone

    return clone(model)


@pytest.mark.parametrize("name", MODELS)
def test_certain_predictions_bounds_and_weights_hold_for_a_far_better_model(name):
    rough, others = fitted(name, 1e-2)
    fine, _ = fitted(name, 1e-11 if "hinge" not in (name, rough.get_params().get("loss")) else 1e-8)
    found, better = rough.certify(others), fine.certify(others)
    same = rough.predict(others) == fine.predict(others)
    assert same[found.certain].all()
    # The intervals of both contain the score of the optimum, so they overlap.
    assert (found.low <= better.high).all()
    assert (better.low <= found.high).all()
    assert better.certain.mean() > 0.9
    distance = np.abs(rough.coef_ - fine.coef_)
    assert (distance <= rough.coef_radius_ + fine.coef_radius_).all()
    moved = np.abs(rough.intercept_ - fine.intercept_)
    assert (moved <= rough.intercept_radius_ + fine.intercept_radius_).all()
    assert (fine.intercept_radius_ <= rough.intercept_radius_).all()
    if found.probability_low is not None:
        P = fine.predict_proba(others)
        slack = better.probability_high - better.probability_low
        assert (found.probability_low <= P + slack).all()
        assert (P - slack <= found.probability_high).all()


def test_a_wider_gap_makes_fewer_predictions_certain():
    counts = [
        fitted("logistic", tol)[0].certify(rows(False)[2]).certain.sum() for tol in (0.3, 1e-8)
    ]
    assert counts[0] < counts[1] == 100


def test_the_result_is_a_sentence_and_has_the_shapes_of_the_scores():
    model, others = fitted("softmax", 1e-8)
    found = model.certify(others)
    assert repr(found) == "All 100 predictions are those of the exact optimum."
    assert repr(model.certify(others[:1])) == "The prediction is that of the exact optimum."
    assert found.low.shape == model.decision_function(others).shape == (100, 3)
    binary, others = fitted("logistic", 1e-8)
    assert binary.certify(others).low.shape == (100,)
    assert "of 100 predictions are" in repr(fitted("logistic", 0.3)[0].certify(others))


def test_dense_and_sparse_rows_have_the_same_certainty():
    model, others = fitted("logistic", 1e-3)
    dense, sparse = model.certify(others), model.certify(sp.csr_array(others))
    np.testing.assert_array_equal(dense.certain, sparse.certain)
    np.testing.assert_allclose(dense.low, sparse.low, rtol=1e-9, atol=1e-12)


def test_certainty_refers_to_the_threshold():
    model, others = fitted("logistic", 1e-6)
    found = model.certify(others)
    k = int(np.flatnonzero(found.certain)[0])
    model.threshold_ = float(0.5 * (found.low[k] + found.high[k]))
    assert not model.certify(others).certain[k]


@pytest.mark.parametrize("seed", range(12))
def test_weights_proven_zero_or_not_zero_are_so_at_the_optimum(seed):
    X, y, _ = rows(False, seed)
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(200, 20))]) + (seed % 3) * 50.0
    ratio, tol = (1.0, 0.5)[seed % 2], (1e-1, 1e-2, 1e-4)[seed % 3]
    models = [
        LogisticRegression(C=0.05, l1_ratio=ratio, tol=tol, certified=True) for tol in (tol, 1e-11)
    ]
    rough, fine = (model.fit(X, y) for model in models)
    assert (fine.coef_[rough.zero_weights_] == 0.0).all()
    assert (fine.coef_[rough.nonzero_weights_] != 0.0).all()
    assert fine.zero_weights_.sum() >= (fine.coef_ == 0.0).sum() - 1


@pytest.mark.parametrize("name", ["logistic", "softmax", "one-vs-rest"])
def test_rows_whose_scores_overflow_have_no_certain_predictions(name):
    model = LogisticRegression(multiclass="ovr" if name == "one-vs-rest" else "auto")
    X, y, _ = rows(name != "logistic")
    far = np.where(np.arange(8) % 2, 1.7e308, -1.7e308) * np.ones((3, 8))
    with np.errstate(all="ignore"):
        found = model.set_params(certified=True).fit(X, y).certify(far)
    assert not found.certain.any()
    assert (found.low <= found.high).all()
    assert (found.probability_low >= 0.0).all()
    assert (found.probability_high <= 1.0).all()
    assert (found.probability_low <= found.probability_high).all()


def test_a_saved_model_certifies_the_same(tmp_path):
    for name in ("softmax", "logistic", "kernel", "elastic net"):
        model, others = fitted(name, 1e-4)
        model.save(tmp_path / "model.sx")
        loaded = load_model(tmp_path / "model.sx").certify(others)
        np.testing.assert_array_equal(loaded.low, model.certify(others).low)
        np.testing.assert_array_equal(loaded.certain, model.certify(others).certain)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(), "no region of the optimum. Fit it again with certified=True"),
        (LogisticRegression(l1_ratio=1.0, certified=True), "no L2 part"),
        (LogisticRegression(C=np.inf, certified=True, max_iter=3), "no L2 part"),
        (
            LinearSVC(loss="hinge", multiclass="crammer_singer", certified=True),
            "Nothing bounds the free biases",
        ),
        (
            LogisticRegression(l1_ratio=0.5, solver="liblinear", penalty="l1", certified=True),
            "bias with an L1 penalty",
        ),
    ],
)
def test_models_without_a_proof_say_why(model, words):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    with pytest.raises(ValueError, match=words):
        model.certify(X)


def test_a_class_without_weight_leaves_nothing_certain_that_is_wrong():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(certified=True)
    model.fit(X, y, sample_weight=(y != 2).astype(float))
    found = model.certify(X)
    assert not np.isnan(found.low).any()
    assert (model.predict(X)[found.certain] != 2).all()


def test_a_fit_ends_when_all_validation_predictions_are_certain():
    X, y, others = rows(False)
    model = LogisticRegression(C=0.01, tol="predictions").fit(X, y, X_val=others, y_val=y[:100])
    assert model.stop_reason_ == "predictions"
    assert model.certify(others).certain.all()
    assert "certain at a relative duality gap of" in model.stop_detail_
    assert model.stop_detail_ in model._verdict_html()
    best = LogisticRegression(C=0.01, tol=1e-12).fit(X, y)
    np.testing.assert_array_equal(best.predict(others), model.predict(others))
    assert LogisticRegression().fit(X, y).stop_detail_ is None


def test_a_batch_ends_each_model_by_its_own_rule():
    X, y, others = rows(True)
    asked = [
        LogisticRegression(C=0.01, tol=tol) for tol in ("predictions", {"predictions": 0.2}, 0.1)
    ]
    alone = [separatrix_clone(model) for model in asked]
    fit_many(asked, X, y, X_val=others, y_val=y[:100])
    assert [model.stop_reason_ for model in asked] == ["predictions", "predictions", "tol"]
    for together, single in zip(asked, alone):
        single.fit(X, y, X_val=others, y_val=y[:100])
        np.testing.assert_array_equal(together.coef_, single.coef_)


def test_rows_inside_the_band_may_stay_uncertain():
    X, y, others = rows(False)
    models = [
        LogisticRegression(C=0.3, tol=tol).fit(X, y, X_val=others, y_val=y[:100])
        for tol in ("predictions", {"predictions": 0.2})
    ]
    assert models[1].history_.epochs < models[0].history_.epochs
    found = models[1].certify(others)
    close = ~found.certain
    assert (found.probability_low[close] >= 0.3).all()
    assert (found.probability_high[close] <= 0.7).all()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(tol="prediction"), "'tol' parameter must be a number, 'predictions'"),
        (LogisticRegression(tol={"predictions": 0.7}), "Got {'predictions': 0.7} instead"),
        (LogisticRegression(tol="predictions"), "needs validation rows, and none were given"),
        (LogisticRegression(tol="predictions", l1_ratio=1.0), "needs a smooth loss and an L2"),
        (LinearSVC(tol="predictions", loss="hinge"), "needs a smooth loss and an L2"),
        (LinearSVC(tol={"predictions": 0.1}), "needs a loss with probabilities"),
    ],
)
def test_wrong_tolerances_are_refused(model, words):
    X, y, _ = rows(False)
    with pytest.raises(ParameterError, match=words):
        model.fit(X, y)


def test_score_bounds_of_softmax_are_about_scores_with_the_mean_0():
    X, y = load_iris(return_X_y=True)
    given = {"l1_ratio": 0.5, "C": 0.1}  # with L1 the weights of the classes have a common shift
    found = LogisticRegression(**given, tol=1e-3, certified=True).fit(X, y).certify(X)
    Z = LogisticRegression(**given, tol=1e-10).fit(X, y).decision_function(X)
    Z = Z - Z.mean(axis=1, keepdims=True)
    assert ((found.low <= Z) & (found.high >= Z)).all()
