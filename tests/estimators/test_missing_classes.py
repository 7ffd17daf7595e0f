"""Classes that have no rows with a positive weight."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix import LinearSVC, LogisticRegression, LogisticRegressionCV, fit_many

X, Y = load_iris(return_X_y=True)
FORMS = [
    LogisticRegression(multiclass="softmax"),
    LogisticRegression(multiclass="ovr"),
    LogisticRegression(l1_ratio=1.0),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", multiclass="weston_watkins"),
    LinearSVC(loss="hinge", multiclass="crammer_singer"),
]


@pytest.mark.parametrize("model", FORMS, ids=str)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_the_other_classes_are_trained_as_without_its_rows(model, missing):
    rows = missing != Y
    model.set_params(tol=1e-9)
    fitted = model.fit(X, Y, sample_weight=rows.astype(float))
    assert fitted.certificate_.relative_gap <= 1e-9
    assert [d.kind for d in fitted.diagnoses_] == ["missing_class"]
    assert f"Class {missing} has no training row" in fitted.diagnoses_[0].message
    assert (fitted.coef_[missing] == 0.0).all()
    assert missing not in fitted.predict(X)
    present = np.flatnonzero(np.arange(3) != missing)
    scores = fitted.decision_function(X[rows])[:, present]
    # The same problem on the rows of the two classes, with as many outputs.
    others = type(model)(**model.get_params()).set_params(class_weight={missing: 0.0}).fit(X, Y)
    np.testing.assert_array_equal(fitted.coef_, others.coef_)
    agree = fitted.classes_[present][scores.argmax(axis=1)] == fitted.predict(X[rows])
    assert agree.all()


def test_softmax_of_the_present_classes_equals_a_fit_to_their_rows():
    weights = (Y != 1).astype(float)
    model = LogisticRegression(tol=1e-10).fit(X, Y, weights)
    alone = LogisticRegression(multiclass="softmax", tol=1e-10).fit(X[Y != 1], Y[Y != 1])
    np.testing.assert_allclose(model.coef_[[0, 2]], alone.coef_, atol=1e-6)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P[:, [0, 2]], alone.predict_proba(X), atol=1e-6)
    assert (P[:, 1] == 0.0).all()


@pytest.mark.parametrize("model", FORMS, ids=str)
@pytest.mark.parametrize("rows", [slice(None, 100), slice(None)], ids=["two", "three"])
def test_a_single_present_class_is_always_predicted(model, rows):
    fitted = model.fit(X[rows], Y[rows], (Y[rows] == 1).astype(float))
    assert fitted.stop_reason_ == "tol"
    assert fitted.certificate_.gap < 1e-20
    assert (fitted.predict(X) == 1).all()


def test_models_with_and_without_all_classes_share_a_call():
    weights = np.stack([np.ones(150), (Y != 0).astype(float), np.ones(150)], axis=1)
    models = [LogisticRegression(C=C) for C in (0.1, 1.0, 10.0)]
    together = fit_many(models, X, Y, weights)
    for model, weight in zip(together, weights.T):
        alone = LogisticRegression(C=model.C).fit(X, Y, weight)
        np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_a_reference_class_needs_rows():
    with pytest.raises(ValueError, match=r"class 0 has no weight: .* set multiclass='softmax'"):
        LogisticRegression(multiclass="reference").fit(X, Y, (Y != 0).astype(float))


def test_every_class_may_be_missing_in_a_fold_of_sorted_rows():
    splits = [(np.flatnonzero(k != Y), np.flatnonzero(k == Y)) for k in range(3)]
    model = LogisticRegressionCV(Cs=3, cv=splits).fit(X, Y)
    assert (model.scores_ == 0.0).all()
