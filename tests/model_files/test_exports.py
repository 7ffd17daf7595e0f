"""Models exported to scikit-learn give the same predictions."""

import numpy as np
import pytest

from separatrix import Bundle, LogisticRegression, Perceptron, to_sklearn
from support.saved_models import FRAME, MODELS, THREE, TWO, X, fitted

LINEAR = [name for name in MODELS if not name.startswith("kernel")]
# Rows on both sides of every decision boundary, and rows far from all of them.
ROWS = np.concatenate([X, X.mean(axis=0) + 3.0 * (X - X.mean(axis=0)), 100.0 * X])


def own_answers(model):
    rows = ROWS
    if hasattr(model, "feature_names_in_"):
        rows = FRAME.__class__(ROWS, columns=FRAME.columns)
    scores = model.decision_function(rows)
    P = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    return rows, model.predict(rows), scores, P


@pytest.mark.parametrize("name", LINEAR)
def test_scikit_learn_predicts_the_same(name):
    model = fitted(name)
    rows, labels, scores, P = own_answers(model)
    other = to_sklearn(model)
    assert other.__module__.startswith("sklearn")
    theirs = other.predict(rows)
    np.testing.assert_array_equal(theirs, labels)
    assert theirs.dtype == labels.dtype
    inside = getattr(other, "estimator_", other)
    tolerance = 1e-5 if model.coef_.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(inside.decision_function(rows), scores, tolerance, tolerance)
    if P is not None and getattr(model, "_sigmoids", None) is None:
        np.testing.assert_allclose(inside.predict_proba(rows), P, tolerance, tolerance)


def test_a_kernel_model_is_not_a_classifier_of_scikit_learn():
    with pytest.raises(TypeError, match=r"KernelClassifier cannot be converted.*Use save"):
        to_sklearn(fitted("kernel rbf"))


def test_a_tie_of_the_perceptron_is_the_second_class_in_scikit_learn():
    model = Perceptron(epochs=1).fit([[1.0], [-1.0]], [1, 0])
    model.coef_[:], model.intercept_[:] = 1.0, -2.0
    rows = np.array([[2.0], [np.nextafter(2.0, 0.0)], [3.0]])
    assert model.predict(rows).tolist() == [1, 0, 1]
    assert to_sklearn(model).predict(rows).tolist() == [1, 0, 1]


def test_scikit_learn_keeps_the_names_of_the_features():
    other = to_sklearn(fitted("logistic frame"))
    assert other.feature_names_in_.tolist() == list(FRAME)


def test_an_export_is_a_copy():
    model = LogisticRegression().fit(X, THREE)
    before = model.coef_.copy()
    to_sklearn(model).coef_[:] = 0.0
    np.testing.assert_array_equal(model.coef_, before)


def test_only_classifiers_of_this_library_are_exported():
    with pytest.raises(TypeError, match="From a Bundle, export its estimator"):
        to_sklearn(Bundle(LogisticRegression().fit(X, TWO)))
