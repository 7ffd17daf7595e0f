"""Constant columns get no weight, because an unpenalised bias can replace them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import (
    GradientDescentClassifier,
    GridSearchCV,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    fit_many,
)
from separatrix.data import Dataset

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + RNG.normal(size=120) > 0.0).astype(int)
THREE = np.digitize(X[:, 1] + 0.3 * RNG.normal(size=120), [-0.4, 0.4])
DAY = 86_400.0


def with_constant(value: float) -> np.ndarray:
    return np.c_[X[:, :2], np.full(len(X), value), X[:, 2:]]


def objective_of(model: LogisticRegression, X: np.ndarray, y: np.ndarray) -> float:
    """The objective of the fitted weights, computed in numpy."""
    Z = np.asarray(X @ model.coef_.T + model.intercept_, np.longdouble)
    if Z.shape[1] == 1:
        loss = np.logaddexp(0.0, -np.where(y == 1, 1.0, -1.0) * Z[:, 0])
    else:
        loss = np.logaddexp.reduce(Z, axis=1) - Z[np.arange(len(y)), y]
    return float(loss.mean() + (model.coef_**2).sum() / (2.0 * model.C * len(y)))


@pytest.mark.parametrize("value", [1.0, -3e4, 1.7e12])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "dual", "coordinate"])
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_constant_columns_have_weight_zero_and_the_certificate_is_valid(value, solver, y):
    A = with_constant(value)
    model = LogisticRegression(solver=solver, tol=1e-6, max_iter=2000).fit(A, y)
    assert (model.coef_[:, 2] == 0.0).all()
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(objective_of(model, A, y), rel=1e-12)
    without = LogisticRegression(solver=solver, tol=1e-6, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(model.coef_[:, [0, 1, 3, 4]], without.coef_, rtol=0, atol=1e-3)
    later = A.copy()
    later[:, 2] += DAY
    np.testing.assert_array_equal(model.predict(later), model.predict(A))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_constant_columns_have_weight_zero_for_hinges_in_every_format(form, loss):
    A = form(with_constant(1.7e12))
    given = A.copy()
    assert LinearSVC(loss=loss).fit(A, Y).coef_[0, 2] == 0.0
    assert LogisticRegression(C=np.inf).fit(A, Y).coef_[0, 2] == 0.0
    assert LogisticRegression(l1_ratio=1.0).fit(A, Y).coef_[0, 2] == 0.0
    assert (given != A).sum() == 0  # the data itself is not changed


def test_constant_columns_have_weight_zero_in_searches():
    A = with_constant(1.7e12)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}).fit(A, Y)
    plain = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}).fit(X, Y)
    assert search.best_estimator_.coef_[0, 2] == 0.0
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert (LogisticRegressionCV(Cs=3, cv=3).fit(A, Y).coef_[:, 2] == 0.0).all()


@pytest.mark.parametrize("solver", ["auto", "newton", "dual"])
def test_columns_that_vary_only_in_rows_without_weight_have_weight_zero(solver):
    A, s = with_constant(1.7e12), np.ones(len(X))
    A[:20, 2], s[:20] = 0.0, 0.0
    model = LogisticRegression(solver=solver).fit(A, Y, sample_weight=s)
    alone = LogisticRegression(solver=solver).fit(A[20:], Y[20:])
    assert model.coef_[0, 2] == 0.0
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-2)
    np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-2)
    assert model.certificate_.relative_gap <= 1e-4


def test_constant_columns_have_weight_zero_in_a_batch_with_a_penalised_bias():
    A = with_constant(1.7e9)
    free, _ = fit_many([LinearSVC(), LinearSVC(intercept_scaling=1.0)], A, Y)
    alone = LinearSVC().fit(A, Y)
    assert free.coef_[0, 2] == 0.0
    np.testing.assert_array_equal(free.coef_, alone.coef_)


def test_constant_columns_are_used_if_the_bias_is_not_free():
    A = with_constant(1.0)
    assert LogisticRegression(fit_intercept=False).fit(A, THREE > 0).coef_[0, 2] != 0.0
    assert LinearSVC(intercept_scaling=1.0).fit(A, THREE > 0).coef_[0, 2] != 0.0


def test_gradient_descent_trains_on_the_columns_it_is_given():
    model = GradientDescentClassifier(epochs=5).fit(with_constant(1.0), THREE > 0)
    assert (model.coef_[:, 2] != 0.0).all()


def test_a_column_that_varies_in_one_row_is_not_constant():
    A = np.c_[X, np.ones(len(X))]
    A[-1, 4] = 2.0
    assert np.isnan(Dataset.of(A, Y).without_constants().only_block().X.constants()).all()
    assert LogisticRegression().fit(A, Y).coef_[0, 4] != 0.0
