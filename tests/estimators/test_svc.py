"""LinearSVC reaches its optimum; its thresholds and probabilities are correct."""

import warnings
from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    DetCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import LinearSVC, LogisticRegression, fit_many
from separatrix.estimators.decisions.calibration import Sigmoids, draw_folds
from separatrix.estimators.decisions.threshold import choose_threshold
from separatrix.losses import LOSSES
from separatrix.solvers import OPTIMISERS
from separatrix.training.legality import refuse_illegal

matplotlib.use("Agg")
IRIS, SPECIES = load_iris(return_X_y=True)
X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :12]
MIXED = IRIS[50:, :2], SPECIES[50:] - 1
WEIGHTS = np.random.default_rng(0).exponential(size=len(Y))
HERE = list(OPTIMISERS)


def legal(loss, l1=0.0, l2=1.0):
    """The solvers that accept this problem."""
    out = []
    for name in HERE:
        try:
            refuse_illegal(name, LOSSES[loss], l1, l2)
        except ValueError:
            continue
        out.append(name)
    return out


SQUARED, HINGE = legal("squared_hinge"), legal("hinge")
BOTH_LOSSES = ["squared_hinge", "hinge"]


def solved(model, X, y, **fit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, **fit)
    assert model.certificate_.relative_gap <= model.tol
    return model


def scikit(C=1.0, loss="squared_hinge", **options):
    return sklearn.svm.LinearSVC(
        C=C, loss=loss, dual=loss == "hinge", tol=1e-11, max_iter=1_000_000, **options
    )


def svm_objective(W, b, X, y, C, s=None, power=2, f=0.0):
    """The objective of textbooks divided by C S: sum of s (1 - y z)_+^power, plus the penalty."""
    s = np.ones(len(y)) if s is None else s
    margin = np.maximum(0.0, 1.0 - (2 * y - 1) * (X @ W + b))
    return (s @ margin**power + (W @ W + f * f * b * b) / (2 * C)) / s.sum()


@pytest.mark.slow
@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(multiclass="weston_watkins"),
        LinearSVC(intercept_scaling=1.0, class_weight="balanced"),
        # The order of the rows depends on their number, which changes the last digits.
        LinearSVC(loss="hinge", tol=1e-10),
        LinearSVC(loss="hinge", multiclass="crammer_singer", tol=1e-10),
    ]
)
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([LinearSVC(probability=2), LinearSVC(probability=5)])
def test_calibrated_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


# The same problem as scikit-learn's


@pytest.mark.parametrize("solver", SQUARED)
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
def test_the_squared_hinge_equals_scikit_learn(C, solver):
    mine = solved(LinearSVC(C, intercept_scaling=1.0, tol=1e-12, solver=solver), X, Y)
    theirs = scikit(C).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=2e-5)


@pytest.mark.parametrize("scaling", [0.5, 10.0])
def test_intercept_scaling_equals_scikit_learn(scaling):
    mine = solved(LinearSVC(0.1, intercept_scaling=scaling, tol=1e-12), X, Y)
    theirs = scikit(0.1, intercept_scaling=scaling).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=2e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_three_classes_with_and_without_bias_equal_scikit_learn(fit_intercept):
    options = {"fit_intercept": fit_intercept}
    mine = solved(LinearSVC(0.5, intercept_scaling=1.0, tol=1e-13, **options), IRIS, SPECIES)
    theirs = scikit(0.5, **options).fit(IRIS, SPECIES)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=5e-5)
    np.testing.assert_array_equal(mine.predict(IRIS), theirs.predict(IRIS))


@pytest.mark.parametrize("solver", HINGE)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_hinge_equals_scikit_learn(C, solver):
    options = {"loss": "hinge", "intercept_scaling": 1.0, "tol": 1e-8}
    mine = solved(LinearSVC(C, solver=solver, max_iter=100_000, **options), X, Y)
    theirs = scikit(C, "hinge").fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=5e-3)
    value = svm_objective(theirs.coef_[0], theirs.intercept_[0], X, Y, C, power=1, f=1.0)
    assert mine.certificate_.primal == pytest.approx(value, rel=1e-6)


def test_crammer_singer_equals_scikit_learn():
    options = {"loss": "hinge", "multiclass": "crammer_singer", "intercept_scaling": 1.0}
    Z = StandardScaler().fit_transform(IRIS)
    mine = solved(LinearSVC(0.1, tol=1e-7, max_iter=100_000, **options), Z, SPECIES)
    theirs = sklearn.svm.LinearSVC(
        C=0.1, multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000
    ).fit(Z, SPECIES)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=5e-3)


@pytest.mark.parametrize("sample_weight", [None, WEIGHTS])
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}])
def test_weights_equal_scikit_learn(class_weight, sample_weight):
    mine = LinearSVC(0.1, intercept_scaling=1.0, tol=1e-12, class_weight=class_weight)
    theirs = scikit(0.1, class_weight=class_weight).fit(X, Y, sample_weight)
    if class_weight == "balanced" and sample_weight is not None:
        # LIBLINEAR balances counts. This library balances weights, so that folds equal subsets.
        counts, weight = np.bincount(Y), np.bincount(Y, WEIGHTS)
        balanced = weight.sum() / (2 * weight) / (counts.sum() / (2 * counts))
        theirs = scikit(0.1, class_weight="balanced").fit(X, Y, sample_weight * balanced[Y])
    solved(mine, X, Y, sample_weight=sample_weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=2e-5)


@pytest.mark.parametrize("loss", BOTH_LOSSES)
def test_a_free_bias_is_not_penalised(loss):
    C, power = 0.3, 1 if loss == "hinge" else 2
    model = solved(LinearSVC(C, loss=loss, tol=1e-7, max_iter=100_000), *MIXED)
    value = svm_objective(model.coef_[0], model.intercept_[0], *MIXED, C, power=power)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-12)
    best = minimize(
        lambda w: svm_objective(w[:2], w[2], *MIXED, C, power=power),
        [*model.coef_[0], model.intercept_[0]], method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000},
    )  # fmt: skip
    assert value <= best.fun * (1 + 1e-7)
    penalised = LinearSVC(C, loss=loss, intercept_scaling=1.0, tol=1e-7).fit(*MIXED)
    assert abs(penalised.intercept_[0]) < abs(model.intercept_[0])


@pytest.mark.parametrize("loss", BOTH_LOSSES)
def test_weston_watkins_sums_over_the_wrong_classes(loss):
    C, power = 0.2, 1 if loss == "hinge" else 2
    options = {"multiclass": "weston_watkins", "tol": 1e-6, "max_iter": 100_000}
    model = solved(LinearSVC(C, loss=loss, **options), IRIS, SPECIES)
    Z = IRIS @ model.coef_.T + model.intercept_
    terms = np.maximum(0.0, 1.0 + Z - Z[np.arange(150), SPECIES][:, None]) ** power
    terms[np.arange(150), SPECIES] = 0.0
    value = terms.sum() / 150 + (model.coef_**2).sum() / (2 * C * 150)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)  # the biases are centred
    binary = LinearSVC(C, loss=loss, multiclass="weston_watkins", tol=1e-6).fit(X, Y)
    alone = LinearSVC(C, loss=loss, tol=1e-6).fit(X, Y)
    assert binary.coef_.tobytes() == alone.coef_.tobytes()


def test_l1_equals_scikit_learn():
    mine = solved(LinearSVC(0.05, l1_ratio=1.0, fit_intercept=False, tol=1e-11), X, Y)
    theirs = sklearn.svm.LinearSVC(
        penalty="l1", C=0.05, dual=False, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    assert (mine.coef_ == 0.0).any()


# Bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "logistic"}, "'loss' parameter must be one of 'squared_hinge', 'hinge'"),
        ({"multiclass": "ovo"}, "'multiclass' parameter must be one of 'ovr', 'weston_watkins'"),
        ({"multiclass": "crammer_singer"}, "requires the hinge loss. Got loss='squared_hinge'"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter must be a finite number > 0"),
        ({"probability": 1}, "'probability' parameter must be False or the number of folds"),
        ({"probability": True}, "a whole number >= 2. Got True instead. probability=5 is"),
        ({"probability": 2.0}, "a whole number >= 2. Got 2.0 instead."),
        ({"loss": "hinge", "l1_ratio": 0.5}, "a loss with kinks needs l2 > 0 and l1 = 0"),
        ({"loss": "hinge", "C": np.inf}, "a loss with kinks needs l2 > 0 and l1 = 0"),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        LinearSVC(**options).fit(X, Y)


# Probabilities


def test_a_linear_svc_has_probabilities_on_request():
    assert not hasattr(LinearSVC(), "predict_proba")
    with pytest.raises(AttributeError) as refused:
        _ = LinearSVC().fit(X, Y).predict_proba
    assert "Set probability=5 to calibrate them" in str(refused.value.__cause__)
    assert hasattr(LinearSVC(probability=3), "predict_proba")
    with pytest.raises(NotFittedError):
        LinearSVC(probability=3).predict_proba(X)
    model = LinearSVC().fit(X, Y).set_params(probability=3)
    with pytest.raises(NotFittedError, match="not calibrated"):
        model.predict_proba(X)


def test_probabilities_of_two_classes_use_platt_scaling():
    model = LinearSVC(0.01, probability=5).fit(X, Y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert log_loss(Y, P) < 0.2
    np.testing.assert_array_equal(P[:, 1].argsort(), model.decision_function(X).argsort())
    theirs = CalibratedClassifierCV(sklearn.svm.LinearSVC(C=0.01), cv=5, ensemble=False).fit(X, Y)
    assert np.abs(P - theirs.predict_proba(X)).max() < 0.1  # other folds


def test_a_sigmoid_is_the_optimum_of_platt_scaling():
    z, s = LinearSVC(0.01).fit(X, Y).decision_function(X), WEIGHTS
    found = Sigmoids.fit(z[:, None], Y, s)
    many, few = s[Y == 1].sum(), s[Y == 0].sum()
    t = np.where(Y == 1, (many + 1) / (many + 2), 1 / (few + 2))

    def cost(v):
        u = v[0] * z
        return s @ (np.logaddexp(0.0, u) - t * u)

    best = minimize(cost, [1.0], method="BFGS", options={"gtol": 1e-10})
    assert found.slope[0] == pytest.approx(best.x[0], rel=1e-5)
    assert found.offset[0] == 0.0


def test_calibration_uses_only_held_out_rows():
    rng = np.random.default_rng(0)
    noise, labels = rng.standard_normal((60, 300)), np.arange(60) % 2
    model = LinearSVC(probability=5).fit(noise, labels)
    assert model.score(noise, labels) == 1.0  # overfitted
    P = model.predict_proba(noise)[:, 1]
    assert P.min() > 0.1
    assert P.max() < 0.9


def test_the_sigmoid_is_finite_if_the_scores_separate_the_classes():
    rows = SPECIES < 2
    model = LinearSVC(probability=5).fit(IRIS[rows], SPECIES[rows])
    P = model.predict_proba(IRIS[rows])
    assert model.score(IRIS[rows], SPECIES[rows]) == 1.0
    assert 0.0 < P.min() < 0.05


@pytest.mark.parametrize("loss", BOTH_LOSSES)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 9, 2: 1}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predicted_classes_are_the_most_probable_ones(n_classes, class_weight, loss):
    some = np.isin(SPECIES, range(n_classes))
    A, y = IRIS[some][:, :2], SPECIES[some]
    weight = class_weight if n_classes == 3 else {0: 1, 1: 9} if class_weight else None
    model = LinearSVC(1e-3, loss=loss, probability=3, class_weight=weight).fit(A, y)
    P, scores = model.predict_proba(A), model.decision_function(A)
    np.testing.assert_array_equal(model.predict(A), P.argmax(axis=1))
    np.testing.assert_array_equal(
        P.argmax(axis=1), scores > 0 if n_classes == 2 else scores.argmax(axis=1)
    )


def test_probabilities_follow_the_scores_even_if_held_out_scores_mislead():
    # Leaving out a row of balanced classes tilts the bias towards the other class.
    rng = np.random.default_rng(0)
    for _ in range(5):
        A, y = rng.standard_normal((10, 1)), np.arange(10) % 2
        model = LinearSVC(1e-4, probability=10).fit(A, y)
        assert 0.0 < model._sigmoids.slope[0] < 1.0
        np.testing.assert_array_equal(model.predict(A), model.predict_proba(A).argmax(axis=1))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_weighted_rows_have_the_probabilities_of_repeated_rows(convert):
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(SPECIES))
    repeated = rng.permutation(np.repeat(np.arange(len(SPECIES)), times))
    weighted = LinearSVC(probability=4, tol=1e-10).fit(convert(IRIS), SPECIES, times)
    longer = LinearSVC(probability=4, tol=1e-10).fit(convert(IRIS[repeated]), SPECIES[repeated])
    np.testing.assert_allclose(weighted.predict_proba(IRIS), longer.predict_proba(IRIS), rtol=1e-6)


def test_equal_rows_of_a_class_are_in_one_fold():
    A, y, s = np.repeat(IRIS, 3, axis=0), np.repeat(SPECIES, 3), np.ones(450)
    s[::5] = 0.0
    folds = draw_folds(A, y, s, 4, seed=0)
    assert set(folds[s == 0.0]) == {-1}
    order = np.random.default_rng(0).permutation(450)
    np.testing.assert_array_equal(draw_folds(A[order], y[order], s[order], 4, seed=0), folds[order])
    _, group = np.unique(np.column_stack([A, y])[s > 0.0], axis=0, return_inverse=True)
    pairs = {*zip(group.ravel().tolist(), folds[s > 0.0].tolist())}
    assert len(pairs) == group.max() + 1
    for k in range(3):
        sizes = np.bincount([fold for g, fold in pairs if y[s > 0.0][group.ravel() == g][0] == k])
        assert sizes.max() - sizes.min() <= 1
    assert (draw_folds(A, y, s, 4, seed=1) != folds).any()


def test_rare_classes_are_trained_on_in_every_fold():
    y = SPECIES.copy()
    y[0], y[1:3] = 3, 4  # one row and two rows
    assert draw_folds(IRIS, y, np.ones(150), 5, seed=0)[0] == -1
    model = LinearSVC(probability=5).fit(IRIS, y)
    P = model.predict_proba(IRIS)
    assert P.shape == (150, 5)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(IRIS))
    few = LinearSVC(probability=300).fit(IRIS[48:52], SPECIES[48:52])
    assert np.isfinite(few.predict_proba(IRIS)).all()
    with pytest.raises(ValueError, match=r"two classes with at least two different rows .* Got 1"):
        LinearSVC(probability=5).fit(IRIS[49:], SPECIES[49:] > 0)


def test_probabilities_of_several_classes_are_one_vs_rest():
    model = LinearSVC(0.1, probability=5).fit(IRIS, SPECIES)
    P = model.predict_proba(IRIS)
    assert P.shape == (150, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert log_loss(SPECIES, P) < 0.6
    scores = model.decision_function(IRIS)
    alone = 1.0 / (1.0 + np.exp(-(scores * model._sigmoids.slope + model._sigmoids.offset)))
    np.testing.assert_allclose(P, alone / alone.sum(axis=1, keepdims=True))


def test_probabilities_are_calibrated_with_the_class_weights_of_the_labels():
    weights, names = {1: 1.0, 2: 5.0}, np.array(["one", "two"])
    named = {names[label - 1]: weight for label, weight in weights.items()}
    number = LinearSVC(0.1, probability=3, class_weight=weights).fit(X, Y + 1)
    text = LinearSVC(0.1, probability=3, class_weight=named).fit(X, names[Y])
    np.testing.assert_array_equal(number.predict_proba(X), text.predict_proba(X))
    even = LinearSVC(0.1, probability=3).fit(X, Y)
    assert not np.allclose(number.predict_proba(X), even.predict_proba(X))


def test_class_weights_calibrate_the_probabilities_of_equal_sample_weights():
    by_class = LinearSVC(0.1, probability=3, tol=1e-10, class_weight={1: 9.0}).fit(X, Y)
    by_row = LinearSVC(0.1, probability=3, tol=1e-10).fit(X, Y, sample_weight=1.0 + 8.0 * Y)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-5)


def test_one_sample_weight_for_all_rows_calibrates_the_same_probabilities():
    one = LinearSVC(0.1, probability=3).fit(X, Y, sample_weight=2.0)
    each = LinearSVC(0.1, probability=3).fit(X, Y, sample_weight=np.full(len(Y), 2.0))
    np.testing.assert_array_equal(one.predict_proba(X), each.predict_proba(X))


def test_probabilities_do_not_depend_on_batch_matrix_type_or_rows_with_weight_0():
    model = LinearSVC(0.1, probability=3)
    alone = clone(model).fit(X, Y, sample_weight=WEIGHTS).predict_proba(X)
    other, again = LogisticRegression(), clone(model)
    columns = np.column_stack([np.ones(len(Y)), WEIGHTS])
    fit_many([other, again], X, Y, columns)
    np.testing.assert_array_equal(again.predict_proba(X), alone)
    sparse = clone(model).fit(sp.csr_array(X), Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(sparse.predict_proba(X), alone, atol=1e-4)
    table = clone(model).fit(pd.DataFrame(X), Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(table.predict_proba(pd.DataFrame(X)), alone, atol=1e-4)
    more = np.concatenate([X, -3 * X[:50]]), np.concatenate([Y, Y[:50]])
    longer = clone(model).fit(*more, sample_weight=np.concatenate([WEIGHTS, np.zeros(50)]))
    np.testing.assert_allclose(longer.predict_proba(X), alone, atol=1e-4)


# Thresholds


BOTH = pytest.mark.parametrize("model", [LogisticRegression(0.1), LinearSVC(0.01)])


@BOTH
def test_a_threshold_reaches_the_requested_precision_or_recall(model):
    names = np.array(["benign", "malign"])[1 - Y]
    model = clone(model).fit(X[::2], names[::2])
    A, y = X[1::2], names[1::2] == "malign"
    for aim in (0.9, 0.97, 1.0):
        found = model.choose_threshold(A, names[1::2], recall=aim)
        said = model.predict(A) == "malign"
        assert model.threshold_ == found.value
        assert recall_score(y, said) == pytest.approx(found.recall)
        assert precision_score(y, said) == pytest.approx(found.precision)
        assert found.recall >= aim
        found = model.choose_threshold(A, names[1::2], precision=aim)
        said = model.predict(A) == "malign"
        assert precision_score(y, said) == pytest.approx(found.precision)
        assert found.precision >= aim
    assert model.threshold_ != 0.0
    assert model.fit(X, names).threshold_ == 0.0


@BOTH
def test_no_threshold_has_a_lower_cost_than_the_chosen_one(model):
    model = clone(model).fit(X[::2], Y[::2])
    A, y, s = X[1::2], Y[1::2], WEIGHTS[1::2]
    found = model.choose_threshold(A, y, cost=(1.0, 20.0), sample_weight=s)

    def cost():
        said = model.predict(A)
        return s @ (1.0 * (said > y) + 20.0 * (said < y)) / s.sum()

    assert cost() == pytest.approx(found.cost)
    for value in [*model.decision_function(A), -1e9, 1e9]:
        model.threshold_ = value
        assert cost() >= found.cost - 1e-12


def test_the_threshold_does_not_change_scores_and_probabilities():
    model = LogisticRegression().fit(X, Y)
    P, Z = model.predict_proba(X), model.decision_function(X)
    model.choose_threshold(X, Y, precision=1.0)
    np.testing.assert_array_equal(model.predict_proba(X), P)
    np.testing.assert_array_equal(model.decision_function(X), Z)


def test_a_threshold_separates_two_adjacent_floats():
    aims = {"cost": (1, 1), "precision": None, "recall": None}
    numbers = [0.1]
    while len(numbers) < 5:
        numbers.append(np.nextafter(numbers[-1], 1.0))
    for low, high in pairwise(numbers):
        for kind in (np.float32, np.float64):
            scores = np.array(
                [low, high if kind is np.float64 else np.nextafter(kind(low), kind(1))]
            )
            found = choose_threshold(
                scores.astype(kind), np.array([False, True]), np.ones(2), **aims
            )
            assert (scores.astype(kind).astype(float) > found.value).tolist() == [False, True]


@pytest.mark.parametrize(
    ("aims", "words"),
    [
        ({}, "exactly one of cost, precision and recall. Got none"),
        ({"cost": (1, 1), "recall": 0.5}, "Got cost and recall"),
        ({"recall": 0.0}, "'recall' parameter must be a finite number > 0 and <= 1"),
        ({"precision": 1.1}, "'precision' parameter must be a finite number > 0 and <= 1"),
        ({"cost": 3.0}, "cost must be a pair of numbers >= 0"),
        ({"cost": (-1.0, 1.0)}, "cost must be a pair of numbers >= 0"),
        ({"cost": (0.0, 0.0)}, "not both 0"),
    ],
)
def test_invalid_aims_are_refused(aims, words):
    with pytest.raises(ValueError, match=words):
        LogisticRegression().fit(X, Y).choose_threshold(X, Y, **aims)


def test_impossible_thresholds_are_refused():
    with pytest.raises(ValueError, match="This model has 3: 0, 1, 2"):
        LogisticRegression().fit(IRIS, SPECIES).choose_threshold(IRIS, SPECIES, recall=0.5)
    model = LogisticRegression().fit(*MIXED)
    y = MIXED[1].copy()
    y[model.decision_function(MIXED[0]).argmax()] = 0
    with pytest.raises(ValueError, match=r"No threshold has a precision of 1 .* highest is 0\."):
        model.choose_threshold(MIXED[0], y, precision=1.0)
    with pytest.raises(ValueError, match="needs rows of both classes, 0, 1"):
        model.choose_threshold(MIXED[0], np.zeros(100, int), recall=0.5)
    with pytest.raises(NotFittedError):
        LinearSVC().choose_threshold(X, Y, recall=0.5)


# scikit-learn's tools


@BOTH
def test_scikit_learn_searches_and_metrics_accept_the_classifiers(model):
    scores = cross_val_predict(model, X, Y, cv=3, method="decision_function")
    assert roc_auc_score(Y, scores) > 0.98
    pipeline = make_pipeline(StandardScaler(), clone(model))
    name = type(model).__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__C": [1e-8, 0.1]}, cv=3).fit(X, Y)
    assert search.best_params_ == {f"{name}__C": 0.1}
    calibrated = CalibratedClassifierCV(clone(model), cv=3).fit(X, Y)
    assert log_loss(Y, calibrated.predict_proba(X)) < 0.2


@BOTH
def test_scikit_learn_displays_accept_the_classifiers(model):
    model = clone(model).fit(*MIXED)
    RocCurveDisplay.from_estimator(model, *MIXED)
    PrecisionRecallDisplay.from_estimator(model, *MIXED)
    DecisionBoundaryDisplay.from_estimator(model, MIXED[0])
    ConfusionMatrixDisplay.from_estimator(model, *MIXED)
    DetCurveDisplay.from_estimator(model, *MIXED)
    plt.close("all")


def test_a_hinge_without_a_penalty_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 700))
    with pytest.raises(ValueError, match="a loss with kinks needs l2 > 0"):
        LinearSVC(C=np.inf, loss="hinge", multiclass="crammer_singer").fit(X, np.arange(30) % 3)


def test_one_vs_rest_of_many_classes_reaches_the_optimum_of_each_class():
    random = np.random.default_rng(2)
    y = np.r_[np.arange(30), random.integers(0, 30, 870)]
    X = random.standard_normal((30, 8))[y] + 0.5 * random.standard_normal((900, 8))
    together = LinearSVC(tol=1e-10, solver="newton").fit(X, y)
    assert together.certificate_.relative_gap <= 1e-10
    for k in (0, 7, 29):
        alone = LinearSVC(tol=1e-10, solver="dual").fit(X, y == k)
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], atol=1e-3)
