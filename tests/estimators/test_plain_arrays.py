"""Plain arrays skip scikit-learn's checks, and give the same results and errors as other input."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import (
    GradientDescentClassifier,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


class OtherArray(np.ndarray):
    """An array that is not plain, so that scikit-learn checks it."""


def two(model):
    return model.fit(X[:100], NAMES[:100])


def with_threshold():
    model = two(LogisticRegression())
    model.choose_threshold(X[:100], NAMES[:100], cost=(5.0, 1.0))
    return model


MODELS = {
    "two classes": lambda: two(LogisticRegression()),
    "threshold": with_threshold,
    "sparse weights": lambda: LogisticRegression(l1_ratio=1.0).fit(X, y).sparsify(),
    "three classes": lambda: LogisticRegression().fit(X, NAMES),
    "reference": lambda: LogisticRegression(multiclass="reference").fit(X, y),
    "one-vs-rest": lambda: LogisticRegression(multiclass="ovr").fit(X, y),
    "float32": lambda: LogisticRegression().fit(X.astype(np.float32), y),
    "calibrated": lambda: LinearSVC(probability=3).fit(X, y),
    "perceptron": lambda: Perceptron(epochs=20).fit(X, y),
    "sigmoid": lambda: two(GradientDescentClassifier("sigmoid_mse")),
    "kernel": lambda: KernelClassifier("logistic", C=1.0).fit(X[:100], y[:100]),
}


def result_of(call):
    """Return the result of a call, or the type and the words of its error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_have_the_same_bits_as_those_of_other_arrays(name: str) -> None:
    model = MODELS[name]()
    kinds = [X, X[:1], X.astype(np.float32), X.astype(int), np.asfortranarray(X), X[::-3]]
    for method in METHODS:
        if hasattr(model, method):
            call = getattr(model, method)
            for A in kinds:
                found, expected = call(A), call(A.view(OtherArray))
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
            one_by_one = np.concatenate([call(X[i : i + 1]) for i in range(len(X))])
            if name != "kernel":  # a kernel matrix is a product of a library
                np.testing.assert_array_equal(one_by_one, call(X))


BAD = {
    "NaN": np.where(np.arange(4) == 2, np.nan, X[:5]),
    "infinity": np.where(np.arange(4) == 3, -np.inf, X[:5]),
    "too few columns": X[:5, :3],
    "too many columns": np.hstack([X, X]),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one-dimensional": X[0],
    "three-dimensional": X[None],
    "complex": X + 1j,
    "text": X.astype(str),
    "objects": np.where(np.arange(4) == 1, None, X[:5]),
}


@pytest.mark.parametrize("name", ["two classes", "three classes", "float32", "kernel"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_arrays_raise_the_same_errors_as_other_arrays(name: str, bad: str) -> None:
    model, A = MODELS[name](), BAD[bad]
    for call in (model.predict, model.predict_proba, lambda A: model.fit(A, y[: len(A)])):
        found, expected = (result_of(lambda A=A: call(A)) for A in (A, A.view(OtherArray)))  # noqa: B023
        if isinstance(expected, tuple):
            assert found == expected
        else:  # other widths are refused by predict, not by fit
            assert type(found) is type(expected)
            assert "columns" in bad


@pytest.mark.parametrize("model", [LogisticRegression(), Perceptron()])
def test_a_plain_array_does_not_make_an_unfitted_model_fitted(model: Any) -> None:
    found, expected = (result_of(lambda A=A: model.predict(A)) for A in (X, X.view(OtherArray)))
    assert found == expected
    assert found[0].__name__ == "NotFittedError"


@pytest.mark.parametrize("outputs", [1, 3, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bad_entry_is_found_even_if_its_weights_are_zero(
    outputs: int, value: float, dtype: type
) -> None:
    rng = np.random.default_rng(0)
    classes = max(2, outputs)
    A = rng.standard_normal((4 * classes, 30)).astype(dtype)
    model = LogisticRegression(max_iter=1).fit(A, np.arange(len(A)) % classes)
    assert len(model.coef_) == outputs
    for kept in (slice(None), slice(0, 29), slice(0, 0)):
        weights = np.zeros_like(model.coef_)
        weights[:, kept] = model.coef_[:, kept]
        model.coef_ = weights
        for row, column in ((0, 29), (len(A) - 1, 29), (5, 3)):
            bad = A.copy()
            bad[row, column] = value
            for B in (bad, np.asfortranarray(bad)):
                with pytest.raises(ValueError, match=f"at row {row}, column {column}"):
                    model.predict(B)


def test_scores_beyond_the_largest_number_are_no_error() -> None:
    model = two(LogisticRegression())
    with np.errstate(over="ignore"):
        assert np.isinf(model.decision_function(np.full((1, 4), 1e308) * np.sign(model.coef_)))
    assert model.predict_proba(np.full((1, 4), 1e308) * np.sign(model.coef_)).tolist() == [[0, 1]]


def test_fits_have_the_same_bits_as_those_of_other_arrays() -> None:
    for model in (LogisticRegression(), Perceptron(epochs=20)):
        for A in (X, X.astype(np.float32), X.astype(int), np.asfortranarray(X)):
            plain, other = (clone(model).fit(B, NAMES) for B in (A, A.view(OtherArray)))
            np.testing.assert_array_equal(plain.coef_, other.coef_)
            np.testing.assert_array_equal(plain.classes_, other.classes_)
            assert plain.n_features_in_ == other.n_features_in_ == 4


def test_names_of_features_are_compared_and_forgotten() -> None:
    table = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression().fit(table, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    model.predict(X)
