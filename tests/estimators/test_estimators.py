"""The estimators follow the conventions of scikit-learn and of this library."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import LOSSES, ElasticNet, GradientDescentClassifier, LogisticRegression, Perceptron
from separatrix import GridSearchCV as BatchedSearch
from separatrix.estimators.checks.training_data import number_labels
from separatrix.losses import make_loss
from separatrix.solvers import RULES

G = GradientDescentClassifier
IRIS, SPECIES = load_iris(return_X_y=True)
TWO = SPECIES[:100]
STANDARD = StandardScaler().fit_transform(IRIS)


@pytest.mark.slow
@parametrize_with_checks(
    [
        G(),
        Perceptron(),
        G("hinge", rule="nesterov", momentum=0.9, l2=0.01),
        G("squared", rule="adam", l1=0.01, schedule="inverse"),
        G("logistic", multiclass="ovr", rule="plain", learning_rate=0.1),
        G("softmax_reference", init="random", learning_rate=0.1),
        G("modified_huber", learning_rate=0.1),
    ]
)
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [G(epochs=20), Perceptron(epochs=20)])
@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array,
        np.ndarray.tolist, pd.DataFrame,
    ],
)  # fmt: skip
def test_all_matrix_types_give_the_same_model(model, convert):
    dense = clone(model).fit(IRIS, SPECIES)
    other = clone(model).fit(convert(IRIS), SPECIES)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(other.predict(convert(IRIS)), dense.predict(IRIS))


def test_sparse_matrices_with_64_bit_indices_are_accepted():
    X = sp.csr_array(IRIS)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    wide = G(epochs=20).fit(X, SPECIES)
    np.testing.assert_allclose(wide.coef_, G(epochs=20).fit(IRIS, SPECIES).coef_, rtol=1e-9)


@pytest.mark.parametrize("model", [G(epochs=20), G(epochs=5, batch_size=16), Perceptron(epochs=5)])
def test_float32_stays_float32(model):
    X = IRIS.astype(np.float32)
    small = clone(model).fit(X, SPECIES)
    assert small.coef_.dtype == small.intercept_.dtype == np.float32
    assert small.decision_function(X).dtype == np.float32
    large = clone(model).fit(X.astype(np.float64), SPECIES)
    assert large.coef_.dtype == np.float64
    np.testing.assert_allclose(small.coef_, large.coef_, rtol=1e-3, atol=1e-4)


def test_labels_can_be_strings():
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    model = G(epochs=200, learning_rate=0.1).fit(IRIS, names, None, IRIS[::3], names[::3])
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.predict(IRIS)[0] == "setosa"
    numbers = G(epochs=200, learning_rate=0.1).fit(IRIS, SPECIES)
    assert model.coef_.tobytes() == numbers.coef_.tobytes()


@given(
    st.lists(st.integers(-3, 3) | st.integers(-30, 30), min_size=1, max_size=60),
    st.sampled_from([np.int64, np.int8, np.float64, np.float32, str, object]),
    st.integers(1, 5),
)
def test_labels_are_numbered_as_by_numpy_unique(labels, kind, sample):
    y = np.array(labels).astype(kind)
    classes, numbers = number_labels(y, sample)
    expected = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(numbers, expected[1])
    assert classes.dtype == expected[0].dtype


# partial_fit


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [None, 32])
@pytest.mark.parametrize("schedule", ["constant", "exponential", "inverse"])
@pytest.mark.parametrize("rule", RULES)
def test_calls_of_partial_fit_equal_the_epochs_of_fit(rule, schedule, batch_size):
    options = {
        "rule": rule,
        "momentum": 0.8,
        "schedule": schedule,
        "decay": 0.2,
        "l1": 0.01,
        "l2": 0.1,
    }
    options |= {"batch_size": batch_size, "learning_rate": 0.05}
    whole = G(epochs=5, **options).fit(IRIS, SPECIES)
    step = G(**options)
    for _ in range(5):
        step.partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    assert step.coef_.tobytes() == whole.coef_.tobytes()
    assert step.intercept_.tobytes() == whole.intercept_.tobytes()
    assert step.n_iter_ == 5
    for name in ("train_loss", "train_accuracy", "objective", "gradient_norm"):
        np.testing.assert_array_equal(step.history_[name], whole.history_[name])


def test_partial_fit_takes_a_gradient_step_on_the_given_rows():
    rows = np.r_[0:10, 50:60]
    step = G(learning_rate=0.1, rule="plain")
    step.partial_fit(IRIS[::2], SPECIES[::2] > 0, classes=[False, True])
    W, b = step.coef_.copy(), step.intercept_.copy()
    X, y = IRIS[rows], SPECIES[rows] > 0
    step.partial_fit(X, y)
    p = 1 / (1 + np.exp(-(X @ W[0] + b)))
    np.testing.assert_allclose(step.coef_[0], W[0] - 0.1 * (p - y) @ X / len(y), rtol=1e-12)
    np.testing.assert_allclose(step.intercept_, b - 0.1 * (p - y).mean(), rtol=1e-12)


def test_partial_fit_continues_after_fit():
    model = G(epochs=5, rule="plain").fit(IRIS, SPECIES)
    model.partial_fit(IRIS, SPECIES)
    assert model.coef_.tobytes() == G(epochs=6, rule="plain").fit(IRIS, SPECIES).coef_.tobytes()
    assert model.n_iter_ == model.history_.epochs == 6


def test_partial_fit_after_a_divergence_continues_from_the_weights_that_were_kept():
    options = {"loss": "squared", "momentum": 0.9}
    model = G(learning_rate=0.01, **options)
    for _ in range(2):
        model.partial_fit(STANDARD, SPECIES, classes=[0, 1, 2])
    kept = model.coef_.copy(), model.intercept_.copy()
    model.set_params(learning_rate=1e3).partial_fit(STANDARD, SPECIES)
    assert model.stop_reason_ == "diverged"
    np.testing.assert_array_equal(model.coef_, kept[0])
    assert (model.n_iter_, model.best_epoch_) == (3, 2)
    model.partial_fit(STANDARD, SPECIES)
    assert (model.stop_reason_, model.n_iter_, model.best_epoch_) == ("diverged", 4, 2)
    model.set_params(learning_rate=0.01).partial_fit(STANDARD, SPECIES)
    fresh = G(learning_rate=0.01, init=kept, epochs=1, **options).fit(STANDARD, SPECIES)
    assert model.coef_.tobytes() == fresh.coef_.tobytes()
    assert model.stop_reason_ == "epochs"
    assert (model.n_iter_, model.best_epoch_) == (5, 5)


@pytest.mark.parametrize("edited", ["coef_", "intercept_"])
@pytest.mark.parametrize("rule", RULES)
def test_partial_fit_starts_from_weights_that_were_changed(rule, edited):
    options = {"rule": rule, "momentum": 0.9, "learning_rate": 0.1}
    model = G(**options)
    for _ in range(3):
        model.partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    setattr(model, edited, getattr(model, edited) + 1.0)
    start = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(IRIS, SPECIES)
    fresh = G(init=start, epochs=1, **options).fit(IRIS, SPECIES)
    assert model.coef_.tobytes() == fresh.coef_.tobytes()
    assert model.intercept_.tobytes() == fresh.intercept_.tobytes()


def test_the_seconds_of_partial_fit_are_cumulative():
    model = G(epochs=3).fit(IRIS, SPECIES)
    for _ in range(5):
        model.partial_fit(IRIS, SPECIES)
    assert (np.diff(model.history_["seconds"]) > 0).all()
    assert len(model.history_["seconds"]) == 8


def test_partial_fit_makes_no_diagnoses_about_the_whole_data():
    whole = G(epochs=1).fit(STANDARD[:51], TWO[:51])
    assert {"rare_class", "separable"} <= {d.kind for d in whole.diagnoses_}
    part = G().partial_fit(STANDARD[:51], TWO[:51], classes=[0, 1])
    assert {d.kind for d in part.diagnoses_} == {"not_converged"}


def test_fit_discards_the_state_of_partial_fit():
    options = {"momentum": 0.9, "learning_rate": 0.1}
    model = G(**options)
    for _ in range(3):
        model.partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    model.set_params(epochs=4).fit(IRIS, SPECIES)
    fresh = G(epochs=4, **options).fit(IRIS, SPECIES)
    assert model.coef_.tobytes() == fresh.coef_.tobytes()
    assert model.partial_fit(IRIS, SPECIES).coef_.tobytes() == (
        fresh.partial_fit(IRIS, SPECIES).coef_.tobytes()
    )


@pytest.mark.parametrize("before", RULES)
@pytest.mark.parametrize("after", RULES)
def test_partial_fit_with_another_rule_restarts_from_the_current_weights(before, after):
    if before == after:
        return
    model = G(rule=before, momentum=0.5).partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    start = (model.coef_.copy(), model.intercept_.copy())
    model.set_params(rule=after).partial_fit(IRIS, SPECIES)
    fresh = G(rule=after, momentum=0.5, init=start, epochs=1).fit(IRIS, SPECIES)
    assert model.coef_.tobytes() == fresh.coef_.tobytes()


def test_partial_fit_refuses_a_loss_with_another_number_of_outputs():
    model = G("softmax").partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"has 2 outputs, but the weights .* have 3"):
        model.set_params(loss="softmax_reference").partial_fit(IRIS, SPECIES)


def test_partial_fit_accepts_rows_of_few_classes():
    model = G().partial_fit(IRIS[:10], SPECIES[:10], classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    assert model.partial_fit(IRIS[60:70], SPECIES[60:70]).predict(IRIS).shape == (150,)


# scikit-learn's tools


@pytest.mark.parametrize(
    "model",
    [G(epochs=7, momentum=0.5), Perceptron(epochs=7), G("logistic", multiclass="ovr", epochs=3)],
)
def test_a_pickled_model_is_equal_and_continues_equally(model):
    model.fit(IRIS, SPECIES).partial_fit(IRIS, SPECIES)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(IRIS), model.decision_function(IRIS))
    assert copy.objective() == model.objective()
    assert copy.certificate_ == model.certificate_
    assert copy.history_.epochs == model.history_.epochs
    a, b = (m.partial_fit(IRIS, SPECIES).coef_ for m in (copy, model))
    assert a.tobytes() == b.tobytes()


def test_clones_have_only_the_parameters():
    model = G("hinge", margin=2.0, l1=0.1, init=(np.ones((3, 4)), np.zeros(3))).fit(IRIS, SPECIES)
    copy = clone(model)
    assert not hasattr(copy, "coef_")
    assert {k: v for k, v in copy.get_params().items() if k != "init"} == {
        k: v for k, v in model.get_params().items() if k != "init"
    }
    assert clone(copy).fit(IRIS, SPECIES).coef_.tobytes() == model.coef_.tobytes()


def test_the_defaults_are_the_documented_ones():
    promised = {
        "loss": "auto", "l1": 0.0, "l2": 0.0, "learning_rate": 0.01, "momentum": 0.0,
        "rule": "momentum", "init": "zeros", "epochs": 100, "batch_size": None,
        "gradient_tol": None, "patience": None, "multiclass": "auto",
    }  # fmt: skip
    assert promised.items() <= G().get_params().items()


def test_pipelines_cross_validation_and_grid_search_accept_the_estimators():
    pipeline = make_pipeline(StandardScaler(), G(learning_rate=0.5))
    assert cross_val_score(pipeline, IRIS, SPECIES, cv=3).mean() > 0.9
    grid = {"gradientdescentclassifier__l2": [10.0, 1e-3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(IRIS, SPECIES)
    assert search.best_params_ == {"gradientdescentclassifier__l2": 1e-3}
    assert cross_val_score(Perceptron(), IRIS, SPECIES > 0, cv=3).mean() > 0.95


# Fitted attributes and methods


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_exist_if_the_loss_defines_them(loss):
    y = (SPECIES > 0).astype(int)
    model = G(loss, learning_rate=0.05)
    has = loss in ("logistic", "softmax", "softmax_reference", "sigmoid_mse", "modified_huber")
    assert hasattr(model, "predict_proba") == has
    model.fit(IRIS, y)
    assert hasattr(model, "predict_proba") == has
    assert hasattr(model, "predict_log_proba") == has
    if has:
        P = model.predict_proba(IRIS)
        assert P.shape == (150, 2)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(IRIS))
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(model.predict_log_proba(IRIS), np.log(P))
    assert not hasattr(Perceptron(), "predict_proba")


@pytest.mark.parametrize(
    ("loss", "two", "three"),
    [
        ("auto", 1, 3), ("logistic", 1, 3), ("softmax", 2, 3), ("softmax_reference", 1, 2),
        ("hinge", 1, 3), ("crammer_singer", 2, 3), ("squared", 1, 3), ("sigmoid_mse", 1, 3),
    ],
)  # fmt: skip
def test_the_shapes_match_the_number_of_outputs(loss, two, three):
    for y, outputs, columns in [(TWO, two, None), (SPECIES, three, 3)]:
        model = G(loss, epochs=30, learning_rate=0.02).fit(IRIS[: len(y)], y)
        assert model.coef_.shape == (outputs, 4)
        assert model.intercept_.shape == (outputs,)
        scores = model.decision_function(IRIS)
        assert scores.shape == ((150,) if columns is None else (150, 3))
        expected = scores > 0 if columns is None else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(IRIS), model.classes_[expected.astype(int)])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (G(l2=0.1), "over 150 rows + 0.1/2 * |W|^2, bias free"),
        (G(l1=0.25, l2=0.5), "over 150 rows + 0.25 * |W|_1 + 0.5/2 * |W|^2, bias free"),
        (G(fit_intercept=False), "over 150 rows, no penalty, no bias"),
        (G("hinge", margin=2.0), "max(0, 2 "),
        (G(), "mean cross-entropy log(sum_j exp(z_j)) - z_y"),
    ],
)
def test_the_objective_is_described_in_words_and_numbers(model, words):
    assert words in model.fit(IRIS, SPECIES).objective()


def test_the_objective_mentions_unequal_sample_weights():
    weights = np.linspace(1.0, 2.0, 150)
    assert "over 150 weighted rows" in G().fit(IRIS, SPECIES, sample_weight=weights).objective()
    equal = G().fit(IRIS, SPECIES, sample_weight=np.ones(150))
    assert "over 150 rows" in equal.objective()
    grid = BatchedSearch(LogisticRegression(), {"C": [1.0, 10.0]}, cv=3).fit(IRIS, SPECIES)
    assert "over 150 rows + 0.0066" in grid.best_estimator_.objective()  # trained with the folds


def test_the_objective_shows_few_digits():
    model = LogisticRegression(C=3.0).fit(IRIS, SPECIES)
    assert "+ 0.00222222/2 * |W|^2" in model.objective()


@pytest.mark.slow
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.1), (0.02, 0.0), (0.02, 0.1)])
def test_a_penalised_fit_is_certified_by_a_duality_gap(l1, l2):
    model = G(l1=l1, l2=l2, rule="nesterov", momentum=0.9, learning_rate=0.5, epochs=3000)
    certificate = model.fit(STANDARD, SPECIES).certificate_
    W = model.coef_.T[:, None, :]
    loss = -np.log(model.predict_proba(STANDARD)[np.arange(150), SPECIES]).mean()
    assert certificate.kind == "duality_gap"
    assert certificate.primal == pytest.approx(loss + ElasticNet(l1, l2).value(W)[0], rel=1e-12)
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, abs=1e-15)
    assert certificate.relative_gap == pytest.approx(certificate.gap / certificate.primal)
    assert 0 <= certificate.relative_gap < 1e-3
    assert certificate.gradient_norm == pytest.approx(model.history_["gradient_norm"][-1])
    early = G(l1=l1, l2=l2, learning_rate=0.1, epochs=20).fit(STANDARD, SPECIES).certificate_
    assert early.dual <= certificate.primal
    assert early.gap >= early.primal - certificate.primal


@pytest.mark.parametrize("model", [G(), G("sigmoid_mse", l2=0.1)])
def test_without_a_penalty_or_convexity_there_is_no_gap(model):
    certificate = model.fit(IRIS, SPECIES > 0).certificate_
    assert certificate.kind == "gradient_norm"
    assert certificate.dual is certificate.gap is certificate.relative_gap is None
    assert certificate.gradient_norm == pytest.approx(model.history_["gradient_norm"][-1])


# Initial weights


def test_random_initial_weights_depend_on_the_seed():
    def first_step(**options):
        model = G(learning_rate=1e-12, epochs=1, init="random", **options).fit(IRIS, SPECIES)
        return model.coef_

    W = first_step(random_state=3)
    assert W.tobytes() == first_step(random_state=3).tobytes()
    assert np.abs(W - first_step(random_state=4)).max() > 1e-3
    np.testing.assert_allclose(first_step(random_state=3, init_scale=0.1), 10 * W, rtol=1e-6)
    assert 0.004 < W.std() < 0.02


@pytest.mark.parametrize("estimator", [G, Perceptron])
def test_training_starts_from_given_weights(estimator):
    start = np.arange(12.0).reshape(3, 4) / 10, np.array([1.0, 2.0, 3.0])
    options = {"learning_rate": 1e-12} if estimator is G else {}
    model = estimator(init=start, epochs=1, **options)
    if estimator is G:
        model.fit(IRIS, SPECIES)
        np.testing.assert_allclose(model.coef_, start[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, start[1], rtol=1e-6)
    else:
        trained = Perceptron(epochs=500).fit(IRIS, SPECIES > 0)
        again = Perceptron(init=(trained.coef_, trained.intercept_)).fit(IRIS, SPECIES > 0)
        assert again.n_iter_ == 1
        assert again.stop_reason_ == "no mistakes"
        np.testing.assert_array_equal(again.coef_, trained.coef_)
    assert start[0][0, 1] == 0.1


def test_fitting_at_a_minimum_stops_immediately():
    found = G(l2=0.5, learning_rate=0.5, epochs=5000, gradient_tol=1e-10).fit(STANDARD, SPECIES)
    assert found.stop_reason_ == "gradient_tol"
    start = found.coef_, found.intercept_
    again = G(l2=0.5, gradient_tol=1e-9, init=start).fit(STANDARD, SPECIES)
    assert again.n_iter_ == 1


def test_a_loss_can_be_an_object():
    a = G(make_loss("hinge", 3.0), epochs=10).fit(IRIS, SPECIES)
    b = G("hinge", margin=3.0, epochs=10).fit(IRIS, SPECIES)
    assert a.coef_.tobytes() == b.coef_.tobytes()


def test_random_states_of_numpy_are_accepted():
    one = G(batch_size=10, epochs=2, random_state=np.random.RandomState(5)).fit(IRIS, SPECIES)
    two = G(batch_size=10, epochs=2, random_state=np.random.RandomState(5)).fit(IRIS, SPECIES)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert G(batch_size=10, epochs=2, random_state=None).fit(IRIS, SPECIES).n_iter_ == 2
