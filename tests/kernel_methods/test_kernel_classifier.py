"""Kernel classifiers reach the same optimum as other libraries, and factors state their error."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_circles
from sklearn.metrics import make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    LOSSES,
    Bundle,
    GridSearchCV,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    Study,
    confidence_intervals,
    fit_many,
    load_model,
    save,
    set_threads,
)
from separatrix.kernel_methods.kernel import Kernel
from separatrix.kernel_methods.low_rank import CANDIDATES, LowRankFactor
from separatrix.workflow.describing import describe_model

CANCER, TUMOURS = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)
IRIS, SPECIES = load_iris(return_X_y=True)
RINGS = make_circles(150, noise=0.15, factor=0.5, random_state=0)
EXACT = {"rank": None, "rank_tol": 0.0}


def product(x, z):
    return float(x @ z)


def one_sided(x, z):
    return float(x[0] * z[1] + x @ x)


def minus_distance(x, z):
    return -float(np.abs(x - z).sum())


def less_than_itself(x, z):
    return 1.0 if (x == z).all() else -0.5


@pytest.mark.slow
@parametrize_with_checks(
    [
        KernelClassifier(tol=1e-10),
        KernelClassifier(
            "squared_hinge", kernel="poly", degree=2, multiclass="ovr", class_weight="balanced"
        ),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


# The factor of the kernel matrix


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 2 * CANDIDATES),
    d=st.integers(1, 5),
    kernel=st.sampled_from(
        [Kernel("rbf", 0.3), Kernel("poly", 0.5, 2, 1.0), Kernel("linear"), Kernel(product)]
    ),
    rank=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_a_factor_states_its_exact_error(n, d, kernel, rank, seed):
    X = np.random.default_rng(seed).standard_normal((n, d)).round(1)  # some rows repeat
    K = kernel(X)
    factor, L = LowRankFactor.of(kernel, X, rank)
    residual = K - L @ L.T
    slack = 1e-10 * np.trace(K)
    assert L.shape == (n, factor.rank)
    assert factor.rank <= rank
    assert abs(factor.trace - np.trace(K)) <= slack
    assert abs(factor.left - np.trace(residual)) <= slack
    assert abs(factor.largest - np.diagonal(residual).max()) <= slack
    assert np.linalg.eigvalsh(residual).min() >= -slack
    np.testing.assert_allclose(residual[factor.pivots], 0.0, atol=slack)
    np.testing.assert_allclose(factor.features(X), L, atol=1e-6 * max(np.abs(L).max(), 1.0))


def test_a_factor_of_unlimited_rank_is_exact_and_has_the_rank_of_the_kernel_matrix():
    X = np.random.default_rng(0).standard_normal((400, 3))
    for kernel, rank in [(Kernel("linear"), 3), (Kernel("poly", 1.0, 2, 1.0), 10)]:
        factor, L = LowRankFactor.of(kernel, X)
        assert factor.rank == rank
        np.testing.assert_allclose(L @ L.T, kernel(X), atol=1e-10)


def test_a_factorisation_stops_at_the_given_fraction_of_the_trace():
    X = CANCER[:, :4]
    loose, tight = (LowRankFactor.of(Kernel("rbf", 0.1), X, None, tol)[0] for tol in (1e-2, 1e-6))
    assert loose.relative_left <= 1e-2
    assert tight.relative_left <= 1e-6
    assert loose.rank < tight.rank < len(X) / 2


def test_pivots_chosen_in_rounds_are_nearly_as_good_as_pivots_chosen_one_by_one():
    X, rank = CANCER[:, :4], 40
    K = Kernel("rbf", 0.1)(X)
    residual = K.copy()
    for _ in range(rank):
        p = int(np.diagonal(residual).argmax())
        residual = residual - np.outer(residual[p], residual[p]) / residual[p, p]
    factor, _ = LowRankFactor.of(Kernel("rbf", 0.1), X, rank)
    assert factor.left <= 1.5 * np.trace(residual)


# The optimum


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf", "gamma": 0.03},
        {"kernel": "rbf", "gamma": 0.5},
        {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 1.0},
    ],
    ids=str,
)
def test_the_hinge_loss_at_full_rank_equals_scikit_learns_svc(kernel, C):
    X, y = CANCER[::3], TUMOURS[::3]
    ours = KernelClassifier("hinge", C=C, tol=1e-9, **kernel, **EXACT).fit(X, y)
    theirs = SVC(C=C, tol=1e-8, **kernel).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(CANCER), theirs.decision_function(CANCER), atol=1e-4
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_linear_kernel_equals_a_linear_svm(loss):
    ours = KernelClassifier(loss, kernel="linear", C=0.1, multiclass="ovr", tol=1e-10)
    linear = LinearSVC(0.1, loss=loss, tol=1e-10).fit(IRIS, SPECIES)
    np.testing.assert_allclose(
        ours.fit(IRIS, SPECIES).decision_function(IRIS),
        linear.decision_function(IRIS),
        atol=1e-4,
    )
    assert ours.factor_.rank == 4


def test_a_linear_kernel_equals_logistic_regression():
    ours = KernelClassifier("auto", kernel="linear", tol=1e-12).fit(IRIS, SPECIES)
    linear = LogisticRegression(tol=1e-12).fit(IRIS, SPECIES)
    np.testing.assert_allclose(ours.predict_proba(IRIS), linear.predict_proba(IRIS), atol=1e-6)
    assert ours.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_can_be_used_on_kernels(loss):
    X, y = RINGS
    model = KernelClassifier(loss, gamma=2.0, C=10.0).fit(X, y)
    assert model.score(X, y) > 0.9 or loss == "perceptron"  # its optimum is W = 0
    assert model.history_.epochs == model.n_iter_
    if LOSSES[loss].convex:
        assert model.certificate_.relative_gap <= 1e-4 or loss == "perceptron"
    assert f"rank {model.factor_.rank} of 150 rows" in model.objective()


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("rank", [1, 7, 25])
def test_the_optimum_of_the_full_kernel_is_within_the_documented_bounds(rank, C):
    """P(L) - C / (2 n) (sum_i sqrt(r_i))^2 <= P*(K) <= P(L), r the diagonal of K - L L^T."""
    X, y = RINGS[0][::2], RINGS[1][::2]
    near = KernelClassifier(gamma=2.0, C=C, rank=rank, tol=1e-8).fit(X, y)
    true = KernelClassifier(gamma=2.0, C=C, tol=1e-8, **EXACT).fit(X, y)
    L = near.factor_.features(X)
    left = np.maximum(1.0 - (L**2).sum(axis=1), 0.0)
    P, best = near.certificate_.primal, true.certificate_.primal
    assert best <= P * (1.0 + 1e-7)
    assert P - best <= C / (2 * len(y)) * np.sqrt(left).sum() ** 2 + 1e-7


def test_sample_weights_equal_repeated_rows_at_full_rank():
    X, y = IRIS[::3], SPECIES[::3]
    s = np.arange(len(y)) % 3
    weighted = KernelClassifier("softmax", gamma=0.5, tol=1e-12, **EXACT).fit(X, y, s)
    repeated = clone(weighted).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


# Equal results for equal problems


@pytest.mark.slow
def test_sparse_and_dense_rows_and_a_function_give_the_same_model():
    X = IRIS.copy()
    X[X < 1.5] = 0.0
    dense = KernelClassifier("logistic", gamma=0.2, tol=1e-10).fit(X, SPECIES == 1)
    sparse = clone(dense).fit(sp.csr_array(X), SPECIES == 1)
    own = KernelClassifier(
        "logistic", kernel=lambda x, z: np.exp(-0.2 * ((x - z) ** 2).sum()), tol=1e-10
    ).fit(X, SPECIES == 1)
    for model, rows in [(sparse, sp.csc_array(X)), (sparse, X), (own, X)]:
        np.testing.assert_allclose(
            model.decision_function(rows), dense.decision_function(X), atol=1e-6
        )


@pytest.mark.slow
def test_batched_models_equal_single_models_bit_for_bit():
    grid = [(gamma, C) for gamma in (0.1, 1.0) for C in (0.1, 10.0)]
    models = [KernelClassifier("logistic", gamma=g, C=C) for g, C in grid]
    weights = np.random.default_rng(0).integers(1, 4, (len(IRIS), len(grid)))
    seen = []
    fit_many(models, IRIS, SPECIES, weights, on_progress=lambda p: seen.append(p.members))
    for k, model in enumerate(models):
        alone = clone(model).fit(IRIS, SPECIES, weights[:, k])
        np.testing.assert_array_equal(alone.coef_, model.coef_)
        np.testing.assert_array_equal(alone.intercept_, model.intercept_)
    assert models[0].factor_ is models[1].factor_
    assert models[0].factor_ is not models[2].factor_
    assert {tuple(sum(members, ())) for members in seen} == {(0, 1), (2, 3)}


def test_the_number_of_threads_does_not_change_the_weights():
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append(KernelClassifier(rank=60).fit(CANCER, TUMOURS).coef_)
    set_threads(None)
    np.testing.assert_array_equal(*found)


def test_a_failed_fit_leaves_all_models_unfitted():
    models = [KernelClassifier(gamma=1.0), KernelClassifier(gamma=0.5, C=-1.0)]
    with pytest.raises(ValueError, match="'C'"):
        fit_many(models, IRIS, SPECIES)
    assert not any(hasattr(model, "classes_") for model in models)


@pytest.mark.slow
def test_a_search_computes_one_factor_per_bandwidth(monkeypatch):
    made, of = [], LowRankFactor.of
    monkeypatch.setattr(
        LowRankFactor, "of", lambda *given: made.append(given[0].gamma) or of(*given)
    )
    grid = {"gamma": [0.1, 1.0], "C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(KernelClassifier("logistic", tol=1e-8), grid, cv=3).fit(IRIS, SPECIES)
    assert made == [0.1, 1.0]
    assert search.best_estimator_.score(IRIS, SPECIES) > 0.95


@pytest.mark.slow
def test_a_search_has_the_same_scores_as_separate_fits_of_the_folds():
    # At full rank, the choice of pivots does not matter.
    grid = {"gamma": [0.05, 0.5], "C": [0.1, 10.0]}
    scorer = make_scorer(
        lambda y, z: -np.log1p(np.exp(-(2 * y - 1) * z)).mean(), response_method="decision_function"
    )
    model = KernelClassifier("logistic", tol=1e-10, **EXACT)
    X, y = IRIS[50:], SPECIES[50:] - 1
    search = GridSearchCV(model, grid, cv=3, scoring=scorer).fit(X, y)
    plain = GridSearchCV.__bases__[0](model, grid, cv=3, scoring=scorer).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-6
    )


@pytest.mark.slow
def test_a_search_with_a_scaler_computes_the_factors_of_each_fold():
    pipeline = make_pipeline(StandardScaler(), KernelClassifier("logistic", tol=1e-8))
    grid = {"kernelclassifier__gamma": [0.1, 1.0], "kernelclassifier__C": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(IRIS, SPECIES)
    plain = GridSearchCV.__bases__[0](pipeline, grid, cv=3).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


# Files, descriptions and errors


def test_a_model_can_be_pickled_and_saved_and_checks_feature_names(tmp_path):
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    model = KernelClassifier(rank=20).fit(frame, SPECIES)
    save(model, tmp_path / "model.sx")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.sx")):
        np.testing.assert_array_equal(
            other.decision_function(frame), model.decision_function(frame)
        )
        assert str(other.factor_) == str(model.factor_)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_a_kernel_model_is_described_by_the_columns_of_its_factor(tmp_path):
    facts = describe_model(Bundle(KernelClassifier(rank=3).fit(IRIS, SPECIES)), top=1)
    assert facts["features"] == 4
    assert "rank 3 of 150 rows" in facts["objective"]
    named = [entry["feature"] for score in facts["weights"] for entry in score["towards"]]
    assert (
        {"column 1 of the factor"} <= set(named) <= {f"column {j} of the factor" for j in (1, 2, 3)}
    )


def test_a_model_of_equal_rows_has_only_a_bias():
    model = KernelClassifier("logistic", kernel="linear").fit(np.zeros((8, 2)), [0, 1] * 3 + [1, 1])
    assert model.factor_.rank == 0
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 2))), [[0.375, 0.625]], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "sigmoid"}, "'kernel' parameter must be one of 'linear', 'poly', 'rbf', or a"),
        ({"gamma": 0}, "'gamma' parameter must be a finite number > 0 or None. Got 0"),
        ({"gamma": "scale"}, "'gamma' parameter must be .* Got 'scale'"),
        ({"degree": 1.5}, "'degree' parameter must be a whole number >= 1"),
        ({"coef0": -1.0}, "'coef0' parameter must be a finite number >= 0"),
        ({"rank": 0}, "'rank' parameter must be a whole number >= 1 or None"),
        ({"rank_tol": 1.0}, "'rank_tol' parameter must be .* < 1"),
        ({"loss": "huber"}, "'loss' parameter must be one of"),
        ({"C": 0}, "'C' parameter must be a number > 0"),
        ({"kernel": minus_distance}, "minus_distance is not positive .* negative"),
        ({"kernel": less_than_itself}, "less_than_itself is not positive .* negative"),
        ({"kernel": one_sided}, "one_sided is not positive .* not symmetric"),
        ({"kernel": lambda x, z: -1.0}, "For row 0 and itself it is -1"),
        ({"kernel": lambda x, z: np.nan}, "must return a finite number for two rows"),
    ],
)
def test_invalid_parameters_of_kernel_classifiers_raise_errors(parameters, words):
    with pytest.raises(ValueError, match=words):
        KernelClassifier(**parameters).fit(IRIS, SPECIES)


def test_functions_that_need_feature_weights_refuse_kernel_models(tmp_path):
    model = KernelClassifier(kernel=product, rank=4).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="kernel is a function cannot be saved"):
        save(model, tmp_path / "model.sx")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="GridSearchCV"):
        Study("study", KernelClassifier(), {"C": [1.0, 2.0]})
    with pytest.raises(TypeError, match="KernelClassifier"):
        confidence_intervals(model, IRIS, SPECIES)
