"""Parameters of scikit-learn's classes: their meaning here, and contradictions."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from separatrix import (
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    fit_many,
)

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :6]


def equal(a, b):
    np.testing.assert_array_equal(a.fit(X, Y).coef_, b.fit(X, Y).coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (LogisticRegression("l1", solver="saga"), LogisticRegression(l1_ratio=1.0)),
        (LogisticRegression("l2", C=0.1), LogisticRegression(0.1)),
        (LogisticRegression(penalty=None), LogisticRegression(C=np.inf)),
        (LogisticRegression(penalty="deprecated", l1_ratio=None), LogisticRegression()),
        (LogisticRegression("elasticnet", l1_ratio=0.3), LogisticRegression(l1_ratio=0.3)),
        (LogisticRegression(multi_class="ovr"), LogisticRegression(multiclass="ovr")),
        (LogisticRegression(solver="newton-cholesky"), LogisticRegression()),
        (LogisticRegression(n_jobs=2, verbose=1, dual=True), LogisticRegression()),
        (LinearSVC("l1", dual=False), LinearSVC(l1_ratio=1.0)),
        (LinearSVC("l2", "hinge"), LinearSVC(loss="hinge")),
        (
            GradientDescentClassifier(max_iter=7, eta0=0.2),
            GradientDescentClassifier(epochs=7, learning_rate=0.2),
        ),
        (Perceptron(max_iter=7), Perceptron(epochs=7)),
    ],
)
def test_scikit_learns_parameters_select_the_same_fit_without_a_warning(theirs, ours):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(theirs, ours)


def test_a_clone_keeps_a_positional_penalty():
    model = clone(LogisticRegression("l1"))
    assert (model.penalty, model.C) == ("l1", 1.0)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_two_values_of_c_are_refused(kind):
    with pytest.raises(TypeError, match=r"two values for C: 0.5 as the first argument, and C=2.0"):
        kind(0.5, C=2.0)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("scaling", [0.5, 1.0, 20.0])
def test_liblinear_penalises_the_bias_as_the_weight_of_a_constant_feature(l1_ratio, scaling):
    wide = np.column_stack([X, np.full(len(X), scaling)])
    options = {"C": 0.3, "l1_ratio": l1_ratio, "tol": 1e-10}
    model = LogisticRegression(solver="liblinear", intercept_scaling=scaling, **options).fit(X, Y)
    plain = LogisticRegression(fit_intercept=False, **options).fit(wide, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_[:, :-1], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, scaling * plain.coef_[:, -1], atol=1e-4)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-9)
    assert model.objective().endswith("bias penalised")


def test_liblinear_is_one_vs_rest_for_several_classes():
    A, y = load_iris(return_X_y=True)
    model = LogisticRegression(solver="liblinear", tol=1e-9).fit(A, y)
    for k in range(3):
        one = LogisticRegression(solver="liblinear", tol=1e-9).fit(A, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-3)


def test_the_bias_of_an_l1_machine_can_be_penalised():
    model = LinearSVC(l1_ratio=1.0, intercept_scaling=2.0, C=0.05, tol=1e-9).fit(X, Y)
    sign = np.where(Y == 1, 1.0, -1.0)

    def objective(v):
        w, c = v[:7] - v[7:], X @ (v[:6] - v[7:13]) + 2.0 * (v[6] - v[13])
        return 0.05 * (np.maximum(0.0, 1.0 - sign * c) ** 2).sum() + np.abs(w).sum()

    found = minimize(objective, np.zeros(14), bounds=[(0, None)] * 14, options={"maxiter": 5000})
    mine = np.append(model.coef_[0], model.intercept_ / 2.0)
    assert objective(np.maximum(np.append(mine, -mine), 0.0)) <= found.fun * (1 + 1e-6)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(penalty="l3"), "'penalty' parameter must be one of .* or None. Got"),
        (
            LogisticRegression(penalty="elasticnet", l1_ratio=None),
            "^The 'l1_ratio' parameter",
        ),
        (LogisticRegression(multiclass="ovr", multi_class="multinomial"), "contradict each other"),
        (GradientDescentClassifier(epochs=5, max_iter=6), "contradict each other"),
        (GradientDescentClassifier(learning_rate=0.5, eta0=0.6), "Set only learning_rate"),
        (LogisticRegression(multi_class="all"), "'multiclass' parameter must be one of"),
        (LogisticRegression(intercept_scaling=0.0), "'intercept_scaling' parameter"),
        (LinearSVC("l1", "hinge", dual=True), "Unsupported set of arguments"),
        (LinearSVC(loss="hinge", dual=False), "Unsupported set of arguments"),
        (LinearSVC(dual="yes"), "'dual' parameter must be True or False"),
        (LogisticRegressionCV(penalty="elasticnet"), "list of numbers from 0 to 1"),
    ],
)
def test_contradicting_parameters_are_refused(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(penalty=None, C=2.0), "Setting penalty=None will ignore"),
        (LogisticRegression(penalty="l1", l1_ratio=0.5), "Set only one of the two"),
        (
            LogisticRegressionCV(penalty="l1", l1_ratios=[0, 0.5]),
            r"\[0, 0.5\] is ignored",
        ),
    ],
)
def test_a_penalty_that_overrides_another_parameter_warns(model, words):
    with pytest.warns(UserWarning, match=words):
        model.fit(X, Y)


def test_no_iterations_give_zero_weights():
    with pytest.warns(match="stopped at max_iter=0"):
        model = LogisticRegression(max_iter=0).fit(X, Y)
    assert not model.coef_.any()
    assert model.n_iter_.tolist() == [0]
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)


def test_fits_with_and_without_iterations_share_a_batch():
    models = [LogisticRegression(max_iter=k) for k in (0, 3, 0, 1000)]
    with pytest.warns(match="stopped at max_iter"):
        fit_many(models, X, Y)
    assert [int(model.n_iter_[0]) for model in models][:3] == [0, 3, 0]
    assert not models[2].coef_.any()
    np.testing.assert_array_equal(models[3].coef_, LogisticRegression().fit(X, Y).coef_)


def test_one_vs_rest_counts_the_iterations_of_each_class():
    A, y = load_iris(return_X_y=True)
    assert LogisticRegression(multi_class="ovr").fit(A, y).n_iter_.shape == (3,)
    assert LogisticRegression(multi_class="ovr").fit(A, y > 0).n_iter_.shape == (1,)
    assert LogisticRegression().fit(A, y).n_iter_.shape == (1,)
    legacy = {"Cs": 2, "cv": 3, "use_legacy_attributes": True}
    assert LogisticRegressionCV(multi_class="ovr", **legacy).fit(A, y).n_iter_.shape == (3, 3, 2)
    assert LogisticRegressionCV(**legacy).fit(A, y).n_iter_.shape == (1, 3, 2)


@pytest.mark.parametrize("ratios", [None, [0.0, 1.0]])
def test_legacy_attributes_hold_the_same_numbers_by_class(ratios):
    A, y = load_iris(return_X_y=True)
    options = {"Cs": 2, "cv": 3, "l1_ratios": ratios}
    new = LogisticRegressionCV(**options).fit(A, y)
    old = LogisticRegressionCV(use_legacy_attributes=True, **options).fit(A, y)
    for k in range(3):
        scores, paths = old.scores_[k], old.coefs_paths_[k]
        if ratios is None:
            scores, paths = scores[:, :, None], paths[:, :, None]
        np.testing.assert_array_equal(np.swapaxes(scores, 1, 2), new.scores_)
        np.testing.assert_array_equal(np.swapaxes(paths, 1, 2), new.coefs_paths_[:, :, :, k])
    assert old.C_.tolist() == [new.C_] * 3


@pytest.mark.parametrize("multiclass", ["softmax", "reference"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_legacy_paths_belong_to_the_classes_that_have_weights(multiclass, n_classes):
    A, y = load_iris(return_X_y=True)
    options = {"Cs": 1, "cv": 2, "multiclass": multiclass}
    new = LogisticRegressionCV(**options).fit(A, np.minimum(y, n_classes - 1))
    old = clone(new).set_params(use_legacy_attributes=True).fit(A, np.minimum(y, n_classes - 1))
    first = int(n_classes == 2 or multiclass == "reference")  # the first class that has a path
    assert list(old.coefs_paths_) == list(range(first, n_classes))
    for label, path in old.coefs_paths_.items():
        row = label - (multiclass == "reference")
        np.testing.assert_array_equal(path, new.coefs_paths_[:, 0, :, row])
