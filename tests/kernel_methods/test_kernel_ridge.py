"""Kernel ridge regression has scikit-learn's coefficients and exact leave-one-out predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import KernelClassifier, KernelRidge, KernelRidgeCV, save

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * RNG.standard_normal((60, 2))
S = RNG.integers(0, 4, 60) * 0.6
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 0.5},
    {"kernel": "laplacian", "gamma": 0.2},
    {"kernel": lambda x, z, power: float(x @ z) ** power, "kernel_params": {"power": 2}},
]


@pytest.mark.slow
@parametrize_with_checks([KernelRidge(), KernelRidge(kernel="rbf"), KernelRidgeCV(kernel="rbf")])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize("s", [None, S], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("alpha", [0.5, [0.1, 2.0]], ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel["kernel"])[:10])
def test_kernel_ridge_equals_that_of_scikit_learn(kernel, alpha, s):
    ours = KernelRidge(alpha, **kernel).fit(X, Y, s)
    theirs = TheirRidge(alpha, **kernel).fit(X, Y, s)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X[:7]), theirs.predict(X[:7]), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
def test_a_kernel_need_not_be_positive_semidefinite():
    ours, theirs = (
        kind(0.5, kernel="sigmoid", gamma=0.1).fit(X, Y, S) for kind in (KernelRidge, TheirRidge)
    )
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_array, pd.DataFrame, np.float32])
def test_the_type_of_x_does_not_change_predictions(convert):
    model = KernelRidge(kernel="rbf").fit(X, Y[:, 0])
    other = KernelRidge(kernel="rbf").fit(convert(X), Y[:, 0])
    tolerance = 1e-5 if convert is np.float32 else 1e-10
    np.testing.assert_allclose(other.predict(convert(X)), model.predict(X), atol=tolerance)


def test_a_precomputed_kernel_matrix_gives_the_same_predictions():
    model = KernelRidge(kernel="rbf", gamma=0.5).fit(X, Y)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    given = KernelRidge(kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(given.predict(K[:9]), model.predict(X[:9]), atol=1e-10)


def test_without_a_penalty_repeated_rows_share_their_coefficients():
    rows, y = np.repeat(X[:9], 2, axis=0), np.repeat(Y[:9], 2, axis=0)
    model = KernelRidge(0.0, kernel="rbf").fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), y, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_[::2], model.dual_coef_[1::2], atol=1e-8)


# Leave-one-out predictions


def without(row, alpha, y, s, **kernel):
    """Fit the model without one of the s copies of a row, and predict this row."""
    less = s.copy()
    less[row] = max(s[row] - 1.0, 0.0)
    return TheirRidge(alpha, **kernel).fit(X, y, less).predict(X[[row]])[0]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    alphas=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4),
    gamma=st.floats(0.01, 2.0),
    weighted=st.booleans(),
    rows=st.lists(st.integers(0, 59), min_size=1, max_size=6),
)
def test_leave_one_out_predictions_equal_those_of_refitted_models(alphas, gamma, weighted, rows):
    s = S if weighted else np.ones(60)
    kernel = {"kernel": "rbf", "gamma": gamma}
    model = KernelRidgeCV(alphas, **kernel).fit(X, Y, s)
    for k, alpha in enumerate(alphas):
        one = KernelRidge(alpha, **kernel).fit(X, Y, s)
        for row in rows:
            brute = without(row, alpha, Y, s, **kernel)
            np.testing.assert_allclose(model.loo_predictions_[k, row], brute, atol=1e-8)
            np.testing.assert_allclose(one.loo_predictions_[row], brute, atol=1e-8)
        errors = np.average((Y - one.loo_predictions_) ** 2, axis=0, weights=s).mean()
        assert one.loo_error_ == pytest.approx(errors)
        assert model.loo_errors_[k] == pytest.approx(errors)


def test_the_best_penalty_and_its_model_are_chosen():
    alphas = np.logspace(-4, 2, 13)
    model = KernelRidgeCV(alphas, kernel="rbf", gamma=0.2).fit(X, Y[:, 0], S)
    best = model.loo_errors_.argmin()
    assert 0 < best < len(alphas) - 1
    assert model.alpha_ == alphas[best]
    assert model.loo_predictions_.shape == (13, 60)
    alone = TheirRidge(model.alpha_, kernel="rbf", gamma=0.2).fit(X, Y[:, 0], S)
    np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_, rtol=1e-7, atol=1e-8)


def test_the_strongest_of_equally_good_penalties_is_chosen():
    model = KernelRidgeCV([0.5, 8.0, 1.0]).fit(np.zeros((4, 1)), [1.0, 2.0, 3.0, 4.0])
    assert model.alpha_ == 8.0


def test_a_model_can_be_pickled_but_not_saved(tmp_path):
    model = KernelRidgeCV(kernel="rbf").fit(X, Y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(TypeError, match=r"KernelRidgeCV, which cannot be saved"):
        save(model, tmp_path / "model.sx")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelRidge(-1.0), "'alpha' parameter must be a finite number >= 0. Got -1.0"),
        (KernelRidge([1.0, 2.0, 3.0]), "the 2 columns of y. Got 3 numbers. To compare several"),
        (KernelRidge(kernel="gauss"), "'kernel' parameter must be one of 'additive_chi2', "),
        (KernelRidge(gamma=-1.0), "'gamma' parameter must be a finite number >= 0 or None. Got -1"),
        (KernelRidge(degree=-1), "'degree' parameter must be a finite number >= 0. Got -1"),
        (KernelRidge(coef0="a"), "'coef0' parameter must be a finite number. Got 'a'"),
        (KernelRidge(kernel_params=3), "'kernel_params' parameter must be a dictionary"),
        (KernelRidgeCV(gamma="a"), "'gamma' parameter must be a finite number >= 0 or None"),
        (KernelRidgeCV([]), r"'alphas' parameter must be a list of numbers. Got \[\]"),
        (KernelRidgeCV([1.0, 0.0]), "'alphas' parameter must be a finite number > 0. Got 0.0"),
        (KernelRidge(kernel="precomputed"), r"square. Got shape \(60, 4\)"),
    ],
)
def test_invalid_parameters_of_kernel_ridge_raise_errors(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


def test_errors_name_the_invalid_rows():
    y = Y.copy()
    y[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN at row 3, column 1"):
        KernelRidge().fit(X, y)
    with pytest.raises(ValueError, match="Row 5 has -1"):
        KernelRidge().fit(X, Y, np.where(np.arange(60) == 5, -1.0, 1.0))


@pytest.mark.parametrize("alpha", [0.0, 1e-15, 1e-12, 1e-6])
@pytest.mark.parametrize("weights", [None, S[:30] + 0.5], ids=["unweighted", "weighted"])
def test_leave_one_out_predictions_are_exact_if_the_kernel_matrix_is_singular(alpha, weights):
    """With more rows than features, the limit is least squares, which can be refitted."""
    rows, y = X[:30, :2], Y[:30, 0]
    model = KernelRidge(alpha, kernel="linear").fit(rows, y, weights)
    s = np.ones(30) if weights is None else weights
    expected = []
    for i in range(30):
        rest = s - np.minimum(1.0, s) * (np.arange(30) == i)
        root = np.sqrt(rest)
        w = np.linalg.lstsq(root[:, None] * rows, root * y, rcond=None)[0]
        expected.append(rows[i] @ w)
    np.testing.assert_allclose(model.loo_predictions_, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [np.nan, np.inf, "1", None, np.ones(2), [1.0]], ids=str)
@pytest.mark.parametrize("model", [KernelRidge, KernelRidgeCV, KernelClassifier])
def test_a_kernel_function_that_returns_no_number_raises_an_error(model, given):
    with pytest.raises(ValueError, match="must return a finite number for two rows"):
        model(kernel=lambda x, z: given).fit(X[:20], (Y[:20, 0] > 0.0).astype(int))
