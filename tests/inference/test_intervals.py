"""Confidence intervals equal textbook formulas, or are refused; bootstrap replicates equal fits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from separatrix import (
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    confidence_intervals,
    get_threads,
    set_threads,
)
from separatrix.inference.bootstrap import Bootstrap
from separatrix.matrix import rows_read

RANDOM = np.random.default_rng(3)
N, D = 240, 3
X = RANDOM.standard_normal((N, D)) + np.array([0.0, 2.0, -1.0])
TRUE = np.array([0.7, -0.5, 0.0])
TWO = (X @ TRUE + 1.0 + RANDOM.logistic(size=N) > 0).astype(int)
FOUR = (X @ RANDOM.standard_normal((D, 4)) + RANDOM.gumbel(size=(N, 4))).argmax(axis=1)
COUNTS = RANDOM.integers(0, 4, N)


def free(**options):
    return LogisticRegression(C=np.inf, **{"tol": 1e-10} | options)


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


# Wald


@settings(max_examples=20)
@given(st.tuples(*[st.integers(1, 200)] * 4))
def test_two_by_two_tables_have_the_standard_errors_of_woolf(counts):
    """Squared errors: 1/a + 1/b + 1/c + 1/d (log odds ratio) and 1/a + 1/b (first log odds)."""
    a, b, c, d = counts
    x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1, 0, 1, 0])
    model = free(tol=1e-13).fit(x, y, sample_weight=counts)
    found = confidence_intervals(model, x, y, counts, level=0.9)
    ratio, first = np.log(c / d * b / a), np.log(a / b)
    errors = np.sqrt([1 / a + 1 / b, 1 / a + 1 / b + 1 / c + 1 / d])
    np.testing.assert_allclose(found.estimate[0], [first, ratio], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.standard_error[0], errors, rtol=1e-4)
    half = 1.6448536269514722 * errors
    centre = np.array([first, ratio])
    np.testing.assert_allclose(found.lower[0], centre - half, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.upper[0], centre + half, rtol=1e-3, atol=1e-3)


def test_logistic_regression_has_the_standard_errors_of_the_information_matrix():
    model = free().fit(X, TWO)
    found = confidence_intervals(model, X, TWO)
    A = with_ones(X)
    p = 1 / (1 + np.exp(-A @ np.r_[model.intercept_, model.coef_[0]]))
    V = np.linalg.inv(A.T * (p * (1 - p)) @ A)
    np.testing.assert_allclose(found.covariance, V, rtol=1e-9)
    error = np.sqrt(np.diag(V))
    np.testing.assert_allclose(found.standard_error[0], error, rtol=1e-9)
    z = np.r_[model.intercept_, model.coef_[0]] / error
    np.testing.assert_allclose(found.z[0], z, rtol=1e-9)
    np.testing.assert_allclose(found.upper[0], found.estimate[0] + 1.959963984540054 * error)
    np.testing.assert_allclose(found.lower[0], found.estimate[0] - 1.959963984540054 * error)
    # The tail of the normal distribution by numerical integration.
    grid = np.linspace(0.0, 10.0, 200_001)
    for value, p_value in zip(z, found.p_value[0]):
        density = np.exp(-((abs(value) + grid) ** 2) / 2) / np.sqrt(2 * np.pi)
        assert p_value == pytest.approx(2 * np.trapezoid(density, grid), rel=1e-6)


def multinomial_covariance(model, A):
    """The inverse of sum_i (diag(p) - p p^T) kron a a^T over the classes but the first."""
    Z = np.column_stack([np.zeros(len(A)), A @ np.column_stack([model.intercept_, model.coef_]).T])
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    P = P[:, 1:]
    H = 0.0
    for row, p in zip(A, P):
        H = H + np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return np.linalg.inv(H)


def test_reference_softmax_has_the_covariance_of_the_multinomial_model():
    model = free(multiclass="reference").fit(X, FOUR)
    found = confidence_intervals(model, X, FOUR)
    V = multinomial_covariance(model, with_ones(X))
    np.testing.assert_allclose(found.covariance, V, rtol=1e-7, atol=1e-12)
    assert found.classes == [1, 2, 3]
    assert found.names == ["(intercept)", "x0", "x1", "x2"]
    np.testing.assert_allclose(found.standard_error.ravel(), np.sqrt(np.diag(V)), rtol=1e-8)


def test_one_vs_rest_intervals_equal_those_of_each_class_alone():
    model = free(multiclass="ovr").fit(X, FOUR)
    found = confidence_intervals(model, X, FOUR)
    assert found.classes == [0, 1, 2, 3]
    for k in range(4):
        alone = confidence_intervals(free().fit(X, k == FOUR), X, k == FOUR)
        np.testing.assert_allclose(found.standard_error[k], alone.standard_error[0], rtol=1e-6)


def test_without_an_intercept_the_table_has_only_features():
    model = free(fit_intercept=False).fit(X, TWO)
    found = confidence_intervals(model, X, TWO)
    p = 1 / (1 + np.exp(-X @ model.coef_[0]))
    V = np.linalg.inv(X.T * (p * (1 - p)) @ X)
    assert found.names == ["x0", "x1", "x2"]
    np.testing.assert_allclose(found.covariance, V, rtol=1e-9)


def test_weights_as_counts_equal_repeated_rows():
    weighted = confidence_intervals(
        free().fit(X, TWO, sample_weight=COUNTS), X, TWO, sample_weight=COUNTS
    )
    rows = np.repeat(np.arange(N), COUNTS)
    repeated = confidence_intervals(free().fit(X[rows], TWO[rows]), X[rows], TWO[rows])
    np.testing.assert_allclose(weighted.standard_error, repeated.standard_error, rtol=1e-7)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_array, np.asfortranarray])
def test_all_matrix_types_give_the_same_intervals(convert):
    model = free(multiclass="reference").fit(X, FOUR)
    dense = confidence_intervals(model, X, FOUR)
    other = confidence_intervals(model, convert(X), FOUR)
    np.testing.assert_allclose(other.covariance, dense.covariance, rtol=1e-9, atol=1e-14)


def test_intervals_of_float32_data_are_computed_in_float64():
    small = X.astype(np.float32)
    model = free(tol=1e-5).fit(small, TWO)
    found = confidence_intervals(model, small, TWO)
    exact = confidence_intervals(free().fit(X, TWO), X, TWO)
    assert found.covariance.dtype == np.float64
    np.testing.assert_allclose(found.standard_error, exact.standard_error, rtol=1e-3)


@pytest.mark.slow
def test_wald_intervals_have_their_nominal_coverage():
    random = np.random.default_rng(0)
    hits = []
    for _ in range(100):
        x = random.standard_normal((200, 2))
        y = x @ [1.0, -0.5] + 0.3 + random.logistic(size=200) > 0
        found = confidence_intervals(free().fit(x, y), x, y, level=0.8)
        hits.append((found.lower[0] < [0.3, 1.0, -0.5]) & (found.upper[0] > [0.3, 1.0, -0.5]))
    # 300 draws with a share of 0.8: three standard deviations are 0.07.
    assert abs(np.mean(hits) - 0.8) < 0.07


# Fits without valid Wald intervals


@pytest.mark.parametrize(
    ("estimator", "labels", "words"),
    [
        (LogisticRegression(C=10.0), TWO, r"need C=np.inf.*Got C=10.*method='bootstrap'"),
        (LogisticRegression(C=1.0, l1_ratio=1.0), TWO, "need C=np.inf"),
        (free(), FOUR, "multiclass='reference'"),
        (LinearSVC(), TWO, "loss 'squared_hinge' does not define one"),
        (free(class_weight="balanced"), TWO, "class_weight=None.*'balanced'"),
        (free(tol=0.3), TWO, "standard errors away from it. Fit with a smaller tol"),
    ],
)
def test_wald_refuses_fits_that_do_not_maximise_a_likelihood(estimator, labels, words):
    estimator.fit(X, labels)
    with pytest.raises(ValueError, match=words):
        confidence_intervals(estimator, X, labels)


def test_wald_refuses_weights_that_are_not_counts():
    s = np.where(np.arange(N) == 7, 0.5, 1.0)
    model = free().fit(X, TWO, sample_weight=s)
    with pytest.raises(ValueError, match=r"counts of equal rows.*Row 7 has 0.5"):
        confidence_intervals(model, X, TWO, s)


def test_wald_refuses_separable_classes():
    y = X[:, 0] > 0.1
    model = LogisticRegression(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="The classes are linearly separable"):
        confidence_intervals(model, X, y)


def test_intervals_refuse_classes_that_are_partly_separable():
    """A category that occurs in one class only leaves no finite optimum either."""
    only = np.r_[np.zeros(12), np.ones(4)]
    y = np.r_[np.tile([0, 1], 6), np.ones(4, int)]
    model = free().fit(only[:, None], y)
    for options in ({}, {"method": "bootstrap", "n_replicates": 40}):
        with pytest.raises(ValueError, match=r"\d+ of \d+ rows keeps falling") as refused:
            confidence_intervals(model, only[:, None], y, **options)
        assert "linearly separable" not in str(refused.value)


def test_wald_names_linearly_dependent_features():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["sum"] = frame["a"] + 2 * frame["c"] - 1
    model = free(tol=1e-8).fit(frame, TWO)
    with pytest.raises(ValueError, match=r"linearly dependent: \(intercept\), a, c, sum\."):
        confidence_intervals(model, frame, TWO)
    nothing = np.column_stack([X, np.zeros(N)])
    with pytest.raises(ValueError, match="'x3' is 0 in every row"):
        confidence_intervals(free().fit(nothing, TWO), nothing, TWO)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize("multiclass", ["reference", "ovr"])
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e7, 1e8, 1e9])
def test_wald_errors_do_not_depend_on_the_location_and_scale_of_features(ratio, multiclass, labels):
    """They equal the errors for centred features of size 1, up to the precision of X."""
    middle, size = np.array([1.0, 0.0, -1.0]) * ratio, np.array([1.0, 1e-3, 1e4])
    far = (X + middle) * size
    near = far / size - middle  # X after the loss of digits
    # If a large ratio leaves only 7 digits of a feature, the gradient has no more digits either.
    options = {"tol": max(1e-8, 1e-15 * ratio), "multiclass": multiclass}
    expected = confidence_intervals(free(**options).fit(near, labels), near, labels)
    found = confidence_intervals(free(**options).fit(far, labels), far, labels)
    back = np.eye(D + 1)
    back[0, 1:] = -middle
    back[1:] /= size[:, None]
    V = np.kron(np.eye(len(found.estimate)), back)
    errors = np.sqrt(np.diag(V @ expected.covariance @ V.T)).reshape(found.estimate.shape)
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-6)
    np.testing.assert_array_less(np.abs(found.estimate - expected.estimate @ back.T), 1e-4 * errors)


@pytest.mark.parametrize("ratio", [1e2, 1e6, 1e9])
def test_wald_names_dependent_features_that_are_far_from_zero(ratio):
    frame = pd.DataFrame(X + ratio, columns=["a", "b", "c"])
    constant = frame.assign(same=ratio)
    with pytest.raises(ValueError, match=r"linearly dependent: \(intercept\), same\."):
        confidence_intervals(free(tol=1e-4).fit(constant, TWO), constant, TWO)
    frame["sum"] = frame["a"] + 2 * frame["c"]
    with pytest.raises(ValueError, match=r"linearly dependent: a, c, sum\."):
        confidence_intervals(free(tol=1e-4).fit(frame, TWO), frame, TWO)
    frame["sum"] -= 2 * ratio
    with pytest.raises(ValueError, match=r"linearly dependent: \(intercept\), a, c, sum\."):
        confidence_intervals(free(tol=1e-4).fit(frame, TWO), frame, TWO)


# The data of the fit


def test_other_data_than_the_data_of_the_fit_are_refused():
    model = free().fit(X, TWO)
    with pytest.raises(ValueError, match=r"objective is .* but was .* after the fit"):
        confidence_intervals(model, X[:200], TWO[:200])
    with pytest.raises(ValueError, match=r"objective is .* but was .* after the fit"):
        confidence_intervals(model, X, TWO, COUNTS)
    with pytest.raises(ValueError, match=r"objective is .* but was .* after the fit"):
        confidence_intervals(LogisticRegression().fit(X, TWO).set_params(C=9.0), X, TWO)
    with pytest.raises(ValueError, match="y has the classes 0, 1, 2, 3, but the fit had 0, 1"):
        confidence_intervals(model, X, FOUR)
    with pytest.raises(ValueError, match="X has 2 features, but the fit had 3"):
        confidence_intervals(model, X[:, :2], TWO)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = free().fit(frame, TWO)
    with pytest.raises(ValueError, match="Column 0 of X is 'b', but in the fit it was 'a'"):
        confidence_intervals(model, frame[["b", "a", "c"]], TWO)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.0}, "'level' parameter must be"),
        ({"level": 95}, "'level' parameter must be"),
        ({"method": "profile"}, "'method' parameter must be one of 'wald', 'bootstrap'"),
        ({"method": "bootstrap", "interval": "bca"}, "'interval' parameter must be one of"),
        ({"method": "bootstrap", "n_replicates": 0}, "'n_replicates' parameter must be"),
        ({"method": "bootstrap", "n_replicates": 39}, "0.95 needs at least 40 replicates"),
        ({"method": "bootstrap", "stratified": "yes"}, "'stratified' parameter must be"),
    ],
)
def test_intervals_that_cannot_be_computed_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        confidence_intervals(free().fit(X, TWO), X, TWO, **options)


def test_other_and_unfitted_estimators_are_refused():
    with pytest.raises(TypeError, match="Got GradientDescentClassifier instead"):
        confidence_intervals(GradientDescentClassifier(), X, TWO)
    with pytest.raises(NotFittedError):
        confidence_intervals(LogisticRegression(), X, TWO)


# Bootstrap


def bootstrap(model, y, s=None, **options):
    return confidence_intervals(
        model, X, y, s, method="bootstrap", **{"n_replicates": 40} | options
    )


EXACT = {"tol": 1e-10, "max_iter": 5000}
MODELS = [
    (LogisticRegression(C=1.0, **EXACT), TWO),
    (free(), TWO),
    (LogisticRegression(C=1.0, l1_ratio=0.5, class_weight="balanced", **EXACT), TWO),
    (LogisticRegression(C=0.5, **EXACT), FOUR),
    (LogisticRegression(C=0.5, l1_ratio=0.5, **EXACT), FOUR),
    (free(multiclass="softmax"), FOUR),
    (LogisticRegression(C=0.5, multiclass="reference", fit_intercept=False, **EXACT), FOUR),
    (LinearSVC(C=0.1, **EXACT), FOUR),
    (LinearSVC(C=0.1, multiclass="weston_watkins", **EXACT), FOUR),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "y"), MODELS, ids=lambda a: str(a.max() + 1) if isinstance(a, np.ndarray) else str(a)
)
def test_a_replicate_equals_a_fit_to_the_drawn_rows(model, y):
    s = COUNTS + 1.0
    model.fit(X, y, sample_weight=s)
    found = bootstrap(model, y, s, random_state=5)
    drawn, _ = Bootstrap(40, False, 5).weights(y, s)
    bias = int(model.fit_intercept)
    for r in (0, 17, 39):
        alone = type(model)(**model.get_params()).fit(X, y, sample_weight=drawn[:, r])
        W, b = found.replicates[r][:, bias:], found.replicates[r][:, 0]
        np.testing.assert_allclose(W, alone.coef_, rtol=1e-3, atol=1e-4)
        if bias:
            np.testing.assert_allclose(b, alone.intercept_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found.estimate[:, bias:], model.coef_)
    assert len(found.certificates) == 40
    if np.isinf(model.C):
        assert found.largest_gap is None
    else:
        assert found.largest_gap == max(proof.relative_gap for proof in found.certificates)
        assert found.largest_gap <= 1e-9


def test_the_bootstrap_accepts_losses_with_kinks():
    model = LinearSVC(C=0.1, loss="hinge", tol=1e-6).fit(X, TWO)
    found = bootstrap(model, TWO)
    assert found.largest_gap <= 1e-6
    drawn, _ = Bootstrap(40, False, 0).weights(TWO, np.ones(N))
    alone = LinearSVC(C=0.1, loss="hinge", tol=1e-6).fit(X, TWO, sample_weight=drawn[:, 3])
    np.testing.assert_allclose(found.replicates[3][0, 1:], alone.coef_[0], atol=5e-3)


def test_percentile_and_basic_intervals_use_quantiles_of_the_replicates():
    model = LogisticRegression(C=1.0).fit(X, TWO)
    found = bootstrap(model, TWO, n_replicates=101, level=0.8)
    ordered = np.sort(found.replicates, axis=0)
    np.testing.assert_allclose(found.lower, ordered[10], rtol=1e-12)
    np.testing.assert_allclose(found.upper, ordered[90], rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, np.std(found.replicates, axis=0, ddof=1))
    basic = bootstrap(model, TWO, n_replicates=101, level=0.8, interval="basic")
    np.testing.assert_allclose(basic.lower, 2 * found.estimate - ordered[90])
    np.testing.assert_allclose(basic.upper, 2 * found.estimate - ordered[10])
    assert found.z is found.p_value is found.covariance is None


def test_bootstrap_and_wald_agree_on_the_standard_errors():
    nearly_free = LogisticRegression(C=1e6, tol=1e-8).fit(X, TWO)
    found = bootstrap(nearly_free, TWO, n_replicates=400)
    wald = confidence_intervals(free().fit(X, TWO), X, TWO)
    np.testing.assert_allclose(found.standard_error, wald.standard_error, rtol=0.2)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads_and_replicates():
    model = LogisticRegression(C=1.0).fit(X, TWO)
    few = bootstrap(model, TWO, n_replicates=40, random_state=1)
    threads = get_threads()
    try:
        set_threads(1)
        many = bootstrap(model, TWO, n_replicates=60, random_state=1)
    finally:
        set_threads(threads)
    assert many.replicates[:40].tobytes() == few.replicates.tobytes()
    other = bootstrap(model, TWO, n_replicates=40, random_state=2)
    assert other.replicates.tobytes() != few.replicates.tobytes()
    default = bootstrap(model, TWO, n_replicates=40)
    assert (
        default.replicates.tobytes() == bootstrap(model, TWO, random_state=0).replicates.tobytes()
    )


def test_rows_with_weight_0_have_no_effect():
    s = np.where(COUNTS > 0, 1.0, 0.0)
    there = s > 0
    options = {"method": "bootstrap", "n_replicates": 40}
    model = LogisticRegression(C=1.0, **EXACT).fit(X, TWO, sample_weight=s)
    with_them = confidence_intervals(model, X, TWO, s, **options)
    without = confidence_intervals(
        LogisticRegression(C=1.0, **EXACT).fit(X[there], TWO[there]),
        X[there],
        TWO[there],
        **options,
    )
    np.testing.assert_allclose(with_them.replicates, without.replicates, rtol=1e-4, atol=1e-6)


@given(st.integers(0, 10_000), st.booleans())
def test_draws_have_the_size_of_the_data_and_all_classes(seed, stratified):
    y = np.array([0] * 12 + [1] * 3 + [2])
    s = np.r_[np.full(10, 2.0), 0.0, 0.0, np.ones(4)]
    weights, refused = Bootstrap(5, stratified, seed).weights(y, s)
    counts = np.divide(weights, s[:, None], out=np.zeros_like(weights), where=s[:, None] > 0)
    np.testing.assert_array_equal(counts, np.rint(counts))
    np.testing.assert_array_equal(counts.sum(axis=0), 14)
    by_class = np.stack([counts[y == c].sum(axis=0) for c in range(3)])
    assert (by_class > 0).all()
    if stratified:
        assert refused == 0
        assert (by_class == [[10], [3], [1]]).all()


def test_replicates_that_lack_a_class_are_drawn_again_and_counted():
    y = np.r_[np.zeros(N - 1, int), 1]
    model = LogisticRegression(C=1.0).fit(X, y)
    found = bootstrap(model, y)
    assert found.n_redrawn > 5
    assert bootstrap(model, y, stratified=True).n_redrawn == 0


def test_separable_replicates_are_refused():
    x, y = np.arange(10.0)[:, None], np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    model = free().fit(x, y)
    options = {"method": "bootstrap", "n_replicates": 60}
    with pytest.raises(ValueError, match=r"\d+ of 60 replicates have no finite coefficients"):
        confidence_intervals(model, x, y, **options)
    with_penalty = confidence_intervals(LogisticRegression().fit(x, y), x, y, **options)
    assert np.isfinite(with_penalty.upper).all()


def test_replicates_that_do_not_converge_give_one_warning():
    model = LogisticRegression(C=1e4, tol=1e-12, max_iter=3, solver="lbfgs").fit(X, FOUR)
    with pytest.warns(ConvergenceWarning, match="of 40 replicates .* max_iter=3") as found:
        bootstrap(model, FOUR)
    assert len(found) == 1
    assert found[0].filename == __file__


# One batch


def rows_of(work):
    before = np.array(rows_read())
    work()
    return np.array(rows_read()) - before


@pytest.mark.parametrize(
    "model", [LogisticRegression(C=1.0, solver="lbfgs"), LinearSVC(C=0.1, solver="lbfgs")]
)
def test_all_replicates_together_need_only_a_few_times_the_passes_of_one_fit(model):
    model.fit(X, FOUR)
    one = rows_of(lambda: type(model)(**model.get_params()).fit(X, FOUR))
    many = rows_of(lambda: bootstrap(model, FOUR, n_replicates=200))
    # Replicates reject steps and check their gaps in different iterations.
    assert (many <= 6 * one).all()


# Tables


def test_tables_have_the_names_of_features_and_classes():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    names = np.array(["w", "x", "y", "z"])[FOUR]
    found = confidence_intervals(free(multiclass="reference").fit(frame, names), frame, names)
    table = found.to_frame()
    columns = ["estimate", "standard_error", "z", "p_value", "lower", "upper"]
    assert list(table.columns) == columns
    assert list(table.loc["y"].index) == ["(intercept)", "a", "b", "c"]
    assert table.loc[("z", "b"), "upper"] == found.upper[2, 2]
    assert "y: a" in str(found)
    binary = confidence_intervals(free().fit(frame, TWO), frame, TWO)
    assert list(binary.to_frame().index) == ["(intercept)", "a", "b", "c"]
    drawn = bootstrap(free().fit(X, TWO), TWO).to_frame()
    assert list(drawn.columns) == ["estimate", "standard_error", "lower", "upper"]
