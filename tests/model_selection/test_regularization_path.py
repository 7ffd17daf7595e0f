"""The points of a regularisation path equal single fits, and each has a certificate."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    LOSSES,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    regularization_path,
)
from separatrix.data import Dataset
from separatrix.inference.null_model import NullModel
from separatrix.losses import OneVsRest
from separatrix.matrix import rows_read

IRIS, SPECIES = load_iris(return_X_y=True)
FLOWERS, KINDS = IRIS[20:], SPECIES[20:]  # 30, 50 and 50 rows per class
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = (CANCER / CANCER.std(axis=0))[:, :8]
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(KINDS)).astype(float)

TIGHT = {"tol": 1e-11, "max_iter": 5000}
SMOOTH = [
    LogisticRegression(**TIGHT),
    LogisticRegression(multiclass="reference", **TIGHT),
    LogisticRegression(multiclass="ovr", class_weight="balanced", **TIGHT),
    LogisticRegression(fit_intercept=False, **TIGHT),
    LinearSVC(**TIGHT),
    LinearSVC(multiclass="weston_watkins", **TIGHT),
]


def name(estimator):
    return f"{type(estimator).__name__} {estimator.multiclass} {estimator.fit_intercept}"


# Points equal single fits


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("estimator", SMOOTH, ids=name)
def test_each_point_equals_a_single_fit(estimator, l1_ratio):
    path = regularization_path(
        FLOWERS, KINDS, estimator, l1_ratio=l1_ratio, Cs=6, ratio=0.01, sample_weight=WEIGHTS
    )
    assert path.coefs.shape[0] == len(path) == 6
    for point, C in enumerate(path.Cs):
        alone = type(estimator)(**estimator.get_params() | {"C": C, "l1_ratio": l1_ratio})
        alone.fit(FLOWERS, KINDS, sample_weight=WEIGHTS)
        np.testing.assert_allclose(path.coefs[point], alone.coef_, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(path.intercepts[point], alone.intercept_, rtol=1e-3, atol=1e-4)
        assert path.certificates[point].primal == pytest.approx(
            alone.certificate_.primal, rel=1e-10
        )


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(intercept_scaling=1.0, tol=1e-9),
        LinearSVC(loss="hinge", tol=1e-5),
        LinearSVC(loss="hinge", multiclass="weston_watkins", tol=1e-5),
        LinearSVC(loss="hinge", multiclass="crammer_singer", tol=1e-5),
    ],
    ids=str,
)
def test_losses_with_kinks_and_penalised_biases_have_paths(estimator):
    path = regularization_path(FLOWERS, KINDS, estimator, Cs=5, ratio=1e-3, sample_weight=WEIGHTS)
    for fitted in path.estimators:
        assert fitted.certificate_.relative_gap <= estimator.tol
        alone = type(estimator)(**fitted.get_params()).fit(FLOWERS, KINDS, WEIGHTS)
        # Each objective is above the optimum by at most its gap.
        here, there = fitted.certificate_, alone.certificate_
        assert abs(here.primal - there.primal) <= max(here.gap, there.gap) + 1e-12
    sizes = np.abs(path.coefs).sum(axis=(1, 2))
    assert (np.diff(sizes) > 0).all()


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_standardize_equals_dividing_features_by_their_standard_deviations(l1_ratio):
    X = FLOWERS * [1.0, 10.0, 0.1, 1.0] + 3.0
    mean = WEIGHTS @ X / WEIGHTS.sum()
    deviation = np.sqrt(WEIGHTS @ (X - mean) ** 2 / WEIGHTS.sum())
    options = {"l1_ratio": l1_ratio, "Cs": 5, "ratio": 0.01, "sample_weight": WEIGHTS}
    estimator = LogisticRegression(**TIGHT)
    path = regularization_path(X, KINDS, estimator, standardize=True, **options)
    scaled = regularization_path(X / deviation, KINDS, estimator, **options)
    np.testing.assert_allclose(path.factors, deviation, rtol=1e-12)
    np.testing.assert_allclose(path.Cs, scaled.Cs, rtol=1e-9)
    np.testing.assert_allclose(path.coefs * deviation, scaled.coefs, rtol=1e-4, atol=1e-6)


def test_a_constant_feature_has_no_weight_when_features_are_standardised():
    X = np.column_stack([FLOWERS, np.full(len(FLOWERS), 7.0)])
    path = regularization_path(X, KINDS, LogisticRegression(**TIGHT), Cs=3, standardize=True)
    assert path.factors[-1] == 1.0
    assert np.abs(path.coefs[:, :, -1]).max() < 1e-4


def test_values_of_c_keep_their_order():
    Cs = [1.0, 0.01, 100.0, 0.1, 1.0]
    for l1_ratio in (0.0, 1.0):
        path = regularization_path(
            FLOWERS, KINDS, LogisticRegression(**TIGHT), l1_ratio=l1_ratio, Cs=Cs
        )
        np.testing.assert_array_equal(path.Cs, Cs)
        sizes = np.abs(path.coefs).sum(axis=(1, 2))
        assert sizes[1] < sizes[3] < sizes[0] < sizes[2]
        assert sizes[0] == pytest.approx(sizes[4], rel=1e-4)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_array, pd.DataFrame, np.float32])
def test_all_matrix_types_give_the_same_path(convert):
    exact = convert is not np.float32
    estimator = LogisticRegression(tol=1e-9 if exact else 1e-5, l1_ratio=0.5)
    dense = regularization_path(FLOWERS, KINDS, estimator, Cs=5)
    other = regularization_path(convert(FLOWERS), KINDS, estimator, Cs=5)
    np.testing.assert_allclose(other.Cs, dense.Cs, rtol=1e-9 if exact else 1e-3)
    np.testing.assert_allclose(other.coefs, dense.coefs, atol=1e-4 if exact else 5e-2)
    assert other.n_nonzero[0] == 0


# The first point


@pytest.mark.parametrize("as_float32", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.1, 1.0])
@pytest.mark.parametrize("estimator", SMOOTH, ids=name)
def test_only_the_first_point_of_an_l1_path_has_zero_weights(estimator, l1_ratio, as_float32):
    X = FLOWERS.astype(np.float32) if as_float32 else FLOWERS
    estimator = type(estimator)(**estimator.get_params() | {"tol": 1e-6})
    path = regularization_path(
        X, KINDS, estimator, l1_ratio=l1_ratio, Cs=4, ratio=0.9, sample_weight=WEIGHTS
    )
    assert path.n_nonzero[0] == 0
    assert not path.coefs[0].any()
    assert path.n_nonzero[1] > 0


def test_a_first_point_that_starts_at_the_optimum_stops_immediately():
    X, y = FLOWERS[30:], KINDS[30:]  # equal class sizes: the best bias is 0, where every fit starts
    path = regularization_path(X, y, "logistic", l1_ratio=1.0, Cs=3)
    assert path.n_iter[0] == 1
    assert path.stop_reasons[0] == "tol"
    assert path.n_nonzero[0] == 0


def test_the_first_l1_is_the_largest_gradient_entry_at_the_best_constant_model():
    share = BENIGN.mean()
    slope = CANCER.T @ (share - BENIGN) / len(BENIGN)
    path = regularization_path(CANCER, BENIGN, l1_ratio=1.0, Cs=2)
    assert path.l1[0] == pytest.approx(np.abs(slope).max(), rel=1e-12)
    assert path.intercepts[0, 0] == pytest.approx(np.log(share / (1 - share)), rel=1e-9)
    path = regularization_path(CANCER, BENIGN, l1_ratio=0.25, Cs=2, standardize=True)
    assert path.l1[0] == pytest.approx(np.abs(slope / CANCER.std(axis=0)).max(), rel=1e-10)
    assert path.l2[0] == pytest.approx(3 * path.l1[0])


@pytest.mark.parametrize("estimator", SMOOTH, ids=name)
def test_no_model_at_the_first_l2_is_1_percent_better_than_a_constant_model(estimator):
    path = regularization_path(FLOWERS, KINDS, estimator, Cs=3, ratio=0.01)
    best = [proof.dual for proof in path.certificates]
    loss, n_outputs = estimator._loss_and_outputs(3)
    s = np.ones(len(KINDS)) / len(KINDS)
    if estimator.class_weight == "balanced":
        s = 1.0 / np.bincount(KINDS)[KINDS] / 3
    data = Dataset.of(FLOWERS, KINDS, s)
    constant = NullModel.of(loss, n_outputs, data, bias=estimator.fit_intercept).value
    assert 0.99 * constant <= best[0] < constant
    assert best[1] < 0.99 * constant


COUNTS = st.lists(st.integers(1, 50), min_size=2, max_size=5)


@settings(max_examples=20)
@given(COUNTS)
def test_the_best_constant_models_equal_their_closed_forms(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    data = Dataset.of(np.zeros((len(y), 1)), y)
    share = np.array(counts) / len(y)
    entropy = -(share * np.log(share)).sum()

    def solve(loss, n_outputs):
        return NullModel.of(loss, n_outputs, data, bias=True)

    K = len(counts)
    softmax = solve(LOSSES["softmax"], K)
    np.testing.assert_allclose(softmax.b - softmax.b[0], np.log(share / share[0]), atol=1e-9)
    assert softmax.value == pytest.approx(entropy)
    reference = solve(LOSSES["softmax_reference"], K - 1)
    np.testing.assert_allclose(reference.b, np.log(share[1:] / share[0]), atol=1e-9)
    if K == 2:
        assert solve(LOSSES["squared_hinge"], 1).b[0] == pytest.approx(
            share[1] - share[0], abs=1e-9
        )
        assert solve(LOSSES["hinge"], 1).value == pytest.approx(2 * share.min())
    else:
        ovr = solve(OneVsRest(LOSSES["logistic"]), K)
        np.testing.assert_allclose(ovr.b, np.log(share / (1 - share)), atol=1e-9)


def test_penalties_are_evenly_spaced_on_a_logarithmic_scale():
    path = regularization_path(CANCER, BENIGN, Cs=7, ratio=1e-3)
    np.testing.assert_allclose(path.l2 / path.l2[0], 10.0 ** -np.arange(0, 3.1, 0.5))
    np.testing.assert_allclose(path.l2, 1.0 / (path.Cs * len(BENIGN)))
    assert len(regularization_path(CANCER, BENIGN, Cs=1)) == 1


# Certificates


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_certificates_bound_the_optimum_of_their_point(l1_ratio):
    options = {"l1_ratio": l1_ratio, "Cs": 8}
    rough = regularization_path(CANCER, BENIGN, LogisticRegression(tol=1e-2), **options)
    exact = regularization_path(CANCER, BENIGN, LogisticRegression(**TIGHT), **options)
    for loose, tight in zip(rough.certificates, exact.certificates):
        assert loose.dual <= tight.primal * (1 + 1e-12)
        assert tight.dual <= loose.primal * (1 + 1e-12)
        assert loose.relative_gap <= 1e-2
        assert tight.relative_gap <= 1e-11
    assert set(rough.stop_reasons) == {"tol"}


def test_points_that_do_not_converge_give_one_warning():
    estimator = LogisticRegression(tol=1e-12, max_iter=2, solver="lbfgs")
    with pytest.warns(ConvergenceWarning, match=r"\d of 4 points .* point \d, C=") as found:
        path = regularization_path(CANCER, BENIGN, estimator, Cs=4)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert "max_iter" in path.stop_reasons


# One batch


def rows_of(work):
    before = np.array(rows_read())
    work()
    return np.array(rows_read()) - before


@pytest.mark.slow
def test_a_path_of_l2_reads_the_data_about_as_often_as_its_slowest_point():
    estimator = LogisticRegression(tol=1e-6, solver="lbfgs")
    Cs = regularization_path(CANCER, BENIGN, estimator, Cs=20).Cs
    together = rows_of(lambda: regularization_path(CANCER, BENIGN, estimator, Cs=Cs))
    alone = np.array(
        [rows_of(lambda C=C: regularization_path(CANCER, BENIGN, estimator, Cs=[C])) for C in Cs]
    )
    # Points reject steps and check their gaps in different iterations.
    assert (together <= 2 * alone.max(axis=0)).all()
    assert (together < 0.3 * alone.sum(axis=0)).all()


def test_warm_started_points_take_fewer_iterations():
    estimator = LogisticRegression(tol=1e-6, l1_ratio=1.0)
    path = regularization_path(CANCER, BENIGN, estimator, Cs=17)
    alone = [regularization_path(CANCER, BENIGN, estimator, Cs=[C]).n_iter[0] for C in path.Cs]
    assert path.n_iter[::8].tolist() == alone[::8]
    assert path.n_iter.sum() < 0.8 * sum(alone)


# Results


def test_a_point_is_an_estimator_that_predicts():
    frame = pd.DataFrame(FLOWERS, columns=["a", "b", "c", "d"])
    names = np.array(["setosa", "versicolor", "virginica"])[KINDS]
    path = regularization_path(frame, names, "logistic", Cs=4)
    fitted = path.estimators[3]
    assert path.Cs[3] == fitted.C
    np.testing.assert_array_equal(fitted.coef_, path.coefs[3])
    assert fitted.certificate_ == path.certificates[3]
    assert list(fitted.feature_names_in_) == ["a", "b", "c", "d"]
    assert fitted.score(frame, names) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(path.estimators[0].predict(frame)) <= set(names)


def test_tables_have_one_row_per_point():
    frame = pd.DataFrame(FLOWERS, columns=["a", "b", "c", "d"])
    path = regularization_path(frame, KINDS, l1_ratio=1.0, Cs=4)
    table = path.to_frame()
    assert table["n_nonzero"].tolist() == [np.count_nonzero(W) for W in path.coefs]
    assert table["relative_gap"].max() <= 1e-4
    assert table["objective"].is_monotonic_decreasing
    assert [len(history["objective"]) for history in path.histories] == table["n_iter"].tolist()
    coefs = path.coefs_to_frame()
    assert coefs.shape == (4, 12)
    np.testing.assert_array_equal(coefs[2]["d"], path.coefs[:, 2, 3])
    assert regularization_path(CANCER, BENIGN, Cs=2).coefs_to_frame().columns[0] == "x0"


def test_a_path_can_have_a_point_without_a_penalty():
    path = regularization_path(CANCER, BENIGN, Cs=[1.0, np.inf])
    assert path.l2[1] == 0.0
    assert [proof.kind for proof in path.certificates] == ["duality_gap", "gradient_norm"]
    assert np.isnan(path.to_frame()["gap"][1])


def test_the_name_of_a_loss_stands_for_its_estimator():
    for word, estimator in {
        "softmax": LogisticRegression(multiclass="softmax"),
        "softmax_reference": LogisticRegression(multiclass="reference"),
        "squared_hinge": LinearSVC(),
    }.items():
        named, own = (regularization_path(CANCER, BENIGN, e, Cs=3) for e in (word, estimator))
        assert named.coefs.tobytes() == own.coefs.tobytes()


# Refusals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "huber"}, "'estimator' parameter must be one of 'logistic'.*Got 'huber'"),
        ({"l1_ratio": 1.5}, "'l1_ratio' parameter must be .* Got 1.5"),
        ({"Cs": 0}, "'Cs' parameter must be a whole number >= 1. Got 0"),
        ({"Cs": [1.0, -1.0]}, "'Cs' parameter must be a number > 0.* Got -1.0"),
        ({"Cs": []}, "The 'Cs' parameter must be a whole number or a list of numbers"),
        ({"ratio": 1.0}, "'ratio' parameter must be .*Got 1.0"),
        ({"standardize": 1}, "'standardize' parameter must be True or False"),
        ({"estimator": LogisticRegression(tol=-1.0)}, "'tol'"),
        ({"estimator": "hinge", "l1_ratio": 0.5}, "'hinge' with an L1 .* needs l2 > 0 and l1 = 0"),
        ({"sample_weight": BENIGN}, "class 0 has no weight"),
    ],
)
def test_paths_that_cannot_be_computed_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        regularization_path(CANCER, BENIGN, **options)


def test_other_estimators_are_refused():
    for stranger in (Perceptron(), LogisticRegressionCV(), 3):
        with pytest.raises(TypeError, match=f"Got {type(stranger).__name__} instead"):
            regularization_path(CANCER, BENIGN, stranger)


def test_data_without_informative_features_need_given_values_of_c():
    with pytest.raises(ValueError, match="no feature distinguishes the classes"):
        regularization_path(np.ones((6, 2)), [0, 1] * 3, Cs=5)
