"""LogisticRegression reaches the optimum of its objective and reports its duality gap."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import LinearSVC, LogisticRegression, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.solvers import OPTIMISERS, SOLVERS
from separatrix.training.legality import refuse_illegal
from separatrix.training.solver_choice import choose_solver
from support.scikit_learn import BEFORE_1_7, elastic_net

IRIS, SPECIES = load_iris(return_X_y=True)
X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :12]
MIXED = IRIS[50:, :2], SPECIES[50:] - 1  # two classes that are not linearly separable
WEIGHTS = np.random.default_rng(0).exponential(size=len(Y))
HERE = list(OPTIMISERS)


def legal(loss, l1_ratio=0.0, C=1.0):
    """The solvers that accept this problem."""
    l1, l2 = (l1_ratio, 1.0 - l1_ratio) if np.isfinite(C) else (0.0, 0.0)
    out = []
    for name in HERE:
        try:
            refuse_illegal(name, LOSSES[loss], l1, l2)
        except ValueError:
            continue
        out.append(name)
    return out


def solved(model, X, y, **fit):
    """Fit a model without warnings and check that it converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, **fit)
    if np.isfinite(model.C):
        assert model.certificate_.relative_gap <= model.tol
    return model


def scikit(C=1.0, l1_ratio=0.0, **options):
    solver = "saga" if l1_ratio > 0.0 else "newton-cholesky"
    tol = {"saga": 1e-12, "newton-cholesky": 1e-13}[solver]
    return sklearn.linear_model.LogisticRegression(
        C=C, solver=solver, tol=tol, max_iter=100_000, **elastic_net(l1_ratio), **options
    )


def assert_equal(mine, theirs, atol=2e-6):
    np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-5, atol=atol)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, rtol=1e-5, atol=atol)


@pytest.mark.slow
@parametrize_with_checks(
    [
        LogisticRegression(),
        LogisticRegression(multiclass="ovr", class_weight="balanced"),
        LogisticRegression(multiclass="reference", C=10.0),
        LogisticRegression(multiclass="softmax"),
        LogisticRegression(l1_ratio=0.5),
    ]
)
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


# The same problem as scikit-learn's


@pytest.mark.parametrize("solver", legal("logistic"))
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_two_classes_equal_scikit_learn(C, fit_intercept, solver):
    mine = solved(
        LogisticRegression(C=C, tol=1e-12, fit_intercept=fit_intercept, solver=solver), X, Y
    )
    assert_equal(mine, scikit(C, fit_intercept=fit_intercept).fit(X, Y))


@pytest.mark.slow
@pytest.mark.parametrize("solver", legal("softmax"))
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_three_classes_equal_scikit_learn(C, solver):
    theirs = scikit(C).fit(IRIS, SPECIES)
    tol, atol = (1e-12, 2e-5) if solver != "dual" else (1e-8, 1e-2)
    mine = solved(LogisticRegression(C=C, tol=tol, solver=solver), IRIS, SPECIES)
    assert_equal(mine, theirs, atol=atol)
    np.testing.assert_allclose(mine.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=atol)


@pytest.mark.parametrize("solver", legal("logistic", l1_ratio=0.5))
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_l1_and_elastic_net_equal_scikit_learn(C, l1_ratio, solver):
    mine = solved(LogisticRegression(C=C, l1_ratio=l1_ratio, tol=1e-12, solver=solver), X, Y)
    theirs = scikit(C, l1_ratio).fit(X, Y)
    assert_equal(mine, theirs, atol=1e-4)
    np.testing.assert_array_equal(mine.coef_ == 0.0, np.abs(theirs.coef_) < 1e-6)
    assert (mine.coef_ == 0.0).any() == (l1_ratio == 1.0)


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_l1_and_elastic_net_of_three_classes_equal_scikit_learn(l1_ratio):
    Z = StandardScaler().fit_transform(IRIS)
    mine = solved(LogisticRegression(C=0.2, l1_ratio=l1_ratio, tol=1e-12), Z, SPECIES)
    theirs = scikit(0.2, l1_ratio).fit(Z, SPECIES)
    P = mine.predict_proba(Z)
    np.testing.assert_allclose(P, theirs.predict_proba(Z), atol=1e-4)
    # Without L2, the optimum is not unique, because all classes can shift. Compare the objectives.
    assert mine.certificate_.primal <= objective_of(theirs, Z, SPECIES, 0.2, l1_ratio) + 1e-9


def objective_of(model, X, y, C, l1_ratio):
    loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()
    W = model.coef_
    penalty = l1_ratio * np.abs(W).sum() + (1 - l1_ratio) / 2 * (W**2).sum()
    return loss + penalty / (C * len(y))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.2, 1: 3.0}, {1: 2.5}])
@pytest.mark.parametrize("sample_weight", [None, WEIGHTS])
def test_weights_equal_scikit_learn(class_weight, sample_weight):
    if BEFORE_1_7 and class_weight == "balanced" and sample_weight is not None:
        pytest.skip("scikit-learn before 1.7 balances classes by counting rows")
    mine = LogisticRegression(C=0.3, tol=1e-12, class_weight=class_weight)
    theirs = scikit(0.3, class_weight=class_weight).fit(X, Y, sample_weight)
    assert_equal(solved(mine, X, Y, sample_weight=sample_weight), theirs)


def test_class_weights_equal_sample_weights():
    y = np.array(["no", "yes"])[Y]
    by_class = LogisticRegression(class_weight={"yes": 3.0}).fit(X, y)
    by_sample = LogisticRegression().fit(X, y, sample_weight=np.where(Y == 1, 3.0, 1.0))
    assert by_class.coef_.tobytes() == by_sample.coef_.tobytes()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_very_small_and_very_large_weights_are_not_rescaled(scale):
    # The penalty is 1 / (C S), so scaling the weights equals scaling C.
    a = LogisticRegression(C=1.0 / scale, tol=1e-10).fit(X, Y, sample_weight=np.full(len(Y), scale))
    b = LogisticRegression(C=1.0, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert a.certificate_.primal == pytest.approx(b.certificate_.primal, rel=1e-9)


def test_one_vs_rest_equals_binary_models():
    y = SPECIES
    mine = solved(LogisticRegression(multiclass="ovr", tol=1e-12), IRIS, y)
    theirs = OneVsRestClassifier(scikit()).fit(IRIS, y)
    for k, binary in enumerate(theirs.estimators_):
        np.testing.assert_allclose(mine.coef_[k], binary.coef_[0], atol=2e-5)
        np.testing.assert_allclose(mine.intercept_[k], binary.intercept_[0], atol=2e-5)
    np.testing.assert_allclose(mine.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-5)


# The multiclass forms compared


def test_softmax_of_two_classes_is_logistic():
    one = solved(LogisticRegression(C=np.inf, tol=1e-10), *MIXED)
    two = solved(LogisticRegression(C=np.inf, tol=1e-10, multiclass="softmax"), *MIXED)
    assert two.coef_.shape == (2, 2)
    np.testing.assert_allclose(two.coef_[1] - two.coef_[0], one.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(two.intercept_[1] - two.intercept_[0], one.intercept_[0], rtol=1e-5)
    # |w/2|^2 + |-w/2|^2 = |w|^2/2, so softmax needs twice the penalty.
    one = solved(LogisticRegression(C=2.0, tol=1e-13), *MIXED)
    two = solved(LogisticRegression(C=1.0, tol=1e-13, multiclass="softmax"), *MIXED)
    np.testing.assert_allclose(two.coef_[1] - two.coef_[0], one.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(two.predict_proba(MIXED[0]), one.predict_proba(MIXED[0]), atol=1e-6)


def test_a_reference_class_equals_softmax_up_to_a_shift():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 3))
    y = rng.integers(0, 3, 200)
    softmax = solved(LogisticRegression(C=np.inf, tol=1e-10), A, y)
    reference = solved(LogisticRegression(C=np.inf, tol=1e-10, multiclass="reference"), A, y)
    assert reference.coef_.shape == (2, 3)
    shifted = softmax.coef_ - softmax.coef_[0]
    np.testing.assert_allclose(reference.coef_, shifted[1:], atol=1e-6)
    np.testing.assert_allclose(softmax.predict_proba(A), reference.predict_proba(A), atol=1e-7)
    np.testing.assert_array_equal(reference.decision_function(A)[:, 0], 0.0)


# The verdict


def test_a_fit_that_runs_out_of_iterations_warns_with_its_gap():
    words = (
        r"lbfgs stopped at max_iter=2 with a relative duality gap of [0-9.e-]+ \(tol=1e-09\)\. "
        "Use solver='auto', or raise max_iter, standardise the features, or lower C"
    )
    with pytest.warns(ConvergenceWarning, match=words):
        model = LogisticRegression(solver="lbfgs", max_iter=2, tol=1e-9).fit(X, Y)
    assert model.stop_reason_ == "max_iter"
    assert [d.kind for d in model.diagnoses_] == ["not_converged"]
    assert model.n_iter_ == model.history_.epochs == 2


def test_the_warning_points_to_the_line_that_called_fit():
    with pytest.warns(ConvergenceWarning) as caught:
        LogisticRegression(solver="lbfgs", max_iter=1, tol=1e-9).fit(X, Y)
    assert caught[0].filename == __file__


def test_a_tolerance_below_floating_point_precision_is_reported():
    words = r"a relative duality gap of .* \(tol=0\)\. Raise tol"
    with pytest.warns(ConvergenceWarning, match=words):
        LogisticRegression(tol=0.0, solver="lbfgs").fit(X, Y)


def test_without_a_penalty_the_warning_reports_the_gradient_norm():
    with pytest.warns(ConvergenceWarning, match=r"a gradient norm of .* \(tol=1e-09 times"):
        LogisticRegression(C=np.inf, solver="lbfgs", max_iter=2, tol=1e-9).fit(*MIXED)


@pytest.mark.parametrize("multiclass", ["auto", "softmax", "reference", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_data_without_a_penalty_has_a_direction_and_no_optimum(multiclass, n_classes):
    rows = SPECIES < 2 if n_classes == 2 else slice(None)
    A, y = IRIS[rows], SPECIES[rows]  # the first species is separated from the others
    with pytest.warns(ConvergenceWarning, match=r"weights grow.* Use a finite C"):
        model = LogisticRegression(C=np.inf, multiclass=multiclass).fit(A, y)
    assert model.stop_reason_ == "separable"
    assert [d.kind for d in model.diagnoses_] == ["separable"]
    W, b = model.separating_direction_
    assert W.shape == model.coef_.shape
    assert b.shape == model.intercept_.shape
    losses = []
    for step in (0.0, 1.0, 10.0):
        moved = clone(model)
        moved.__dict__.update(model.__dict__)
        moved.coef_, moved.intercept_ = model.coef_ + step * W, model.intercept_ + step * b
        losses.append(moved._loss.value(y, moved._scores(A)).sum(axis=1))
    assert (np.diff(losses, axis=0) <= 1e-12).all()
    assert losses[2].sum() < losses[1].sum() < losses[0].sum()
    finite = solved(LogisticRegression(C=1e3, multiclass=multiclass), A, y)
    assert finite.separating_direction_ is None


def test_a_category_that_occurs_in_only_one_class_is_reported():
    A = np.column_stack([MIXED[0], np.zeros(100)])
    A[[3, 5], 2] = 1.0  # both of the first class
    with pytest.warns(ConvergenceWarning, match=r"2 of 100 rows .*by column 2 alone"):
        model = LogisticRegression(C=np.inf).fit(A, MIXED[1])
    W, b = model.separating_direction_
    assert W.tolist() == [[0.0, 0.0, -1.0]]
    assert b.tolist() == [0.0]


def test_an_optimum_without_a_penalty_equals_scikit_learn():
    mine = solved(LogisticRegression(C=np.inf, tol=1e-11), *MIXED)
    assert mine.certificate_.kind == "gradient_norm"
    assert mine.stop_reason_ == "tol"
    assert_equal(mine, scikit(np.inf).fit(*MIXED))


# The choice of a solver


def test_the_choice_of_the_solver_is_explained():
    model = LogisticRegression().fit(X, Y)
    assert model.solver_ in SOLVERS
    assert model.solver_reason_.startswith(f"{model.solver_}: ")
    asked = LogisticRegression(solver="lbfgs").fit(X, Y)
    assert (asked.solver_, asked.solver_reason_) == ("lbfgs", "lbfgs: set by the solver parameter.")


def test_a_solver_that_cannot_be_used_is_refused_with_alternatives():
    with pytest.raises(ValueError, match=r"lbfgs needs l1 = 0. Solvers that accept it: "):
        LogisticRegression(l1_ratio=0.5, solver="lbfgs").fit(X, Y)
    with pytest.raises(ValueError, match=r"'solver' parameter must be one of 'auto', .*'lbfgs'"):
        LogisticRegression(solver="gradient").fit(X, Y)


# Bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0}, "'C' parameter must be a number > 0, or np.inf for no penalty. Got 0 instead"),
        ({"C": -1.0}, "'C' parameter must be a number > 0"),
        ({"C": np.nan}, "'C' parameter must be a number > 0"),
        ({"C": "1"}, "'C' parameter must be a number > 0"),
        ({"C": 1e-320}, "too small: the penalty would be infinite"),
        ({"l1_ratio": 2}, r"'l1_ratio' parameter must be a finite number >= 0 and <= 1 or None"),
        ({"l1_ratio": -0.1}, "'l1_ratio' parameter must be a finite number >= 0 and <= 1"),
        ({"multiclass": "multinomial"}, "'multiclass' parameter must be one of 'auto', 'softmax'"),
        ({"tol": -1.0}, "'tol' parameter must be a finite number >= 0"),
        ({"max_iter": -1}, "'max_iter' parameter must be a whole number >= 0"),
        ({"fit_intercept": 1}, "'fit_intercept' parameter must be True or False"),
        ({"warm_start": "yes"}, "'warm_start' parameter must be True or False"),
        ({"class_weight": {5: 1.0}}, "names the class 5, which does not occur in y. Classes of y"),
        ({"class_weight": {"a": 1.0}}, "names the class 'a', which does not occur in y"),
        ({"class_weight": {0: -1.0}}, r"'class_weight\[0\]' parameter must be a finite"),
        ({"class_weight": "even"}, "must be None, 'balanced' or a dict"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        LogisticRegression(**options).fit(X, Y)


def test_rows_without_any_weight_are_refused():
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        LogisticRegression().fit(X, Y, sample_weight=np.zeros(len(Y)))


@pytest.mark.parametrize("solver", legal("logistic"))
def test_duplicate_constant_and_collinear_columns_are_accepted(solver):
    A = np.column_stack([X[:, :3], X[:, 0], np.zeros(len(Y)), np.ones(len(Y)), X[:, 0] + X[:, 1]])
    mine = solved(LogisticRegression(tol=1e-11, solver=solver), A, Y)
    assert_equal(mine, scikit().fit(A, Y), atol=1e-4)
    unpenalised = LogisticRegression(C=np.inf, tol=1e-7, solver=solver)
    if solver in legal("logistic", C=np.inf):
        P = solved(unpenalised, A, Y).predict_proba(A)
        plain = solved(LogisticRegression(C=np.inf, tol=1e-9), X[:, :3], Y)
        np.testing.assert_allclose(P, plain.predict_proba(X[:, :3]), atol=1e-4)


def test_float32_weights_are_certified_after_rounding():
    A = X.astype(np.float32)
    model = LogisticRegression(tol=1e-6).fit(A, Y)
    wide = LogisticRegression(tol=1e-9).fit(A.astype(np.float64), Y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    # The certificate is that of the weights returned, evaluated in float64.
    objective = objective_of(model, A.astype(np.float64), Y, 1.0, 0.0)
    assert model.certificate_.primal == pytest.approx(objective, rel=1e-13)
    assert model.certificate_.dual <= wide.certificate_.primal <= model.certificate_.primal


def test_weights_stay_float64_if_rounding_would_miss_the_tolerance():
    A = X.astype(np.float32)
    model = LogisticRegression(tol=1e-15).fit(A, Y)
    found = [d for d in model.diagnoses_ if d.kind == "not_rounded"]
    assert model.coef_.dtype == np.float64
    assert found
    assert "rounded to float32, their relative duality gap would be" in found[0].message
    assert model.certificate_.relative_gap <= 1e-15


# Conventions of scikit-learn


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array, np.ndarray.tolist, pd.DataFrame],
)
def test_all_matrix_types_give_the_same_model(convert):
    dense = LogisticRegression(tol=1e-12).fit(IRIS, SPECIES)
    other = LogisticRegression(tol=1e-12).fit(convert(IRIS), SPECIES)
    np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_array_equal(other.predict(convert(IRIS)), dense.predict(IRIS))


def test_64_bit_indices_and_float32_are_accepted():
    A = sp.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    wide = LogisticRegression().fit(A, Y)
    np.testing.assert_allclose(wide.coef_, LogisticRegression().fit(X, Y).coef_, rtol=1e-6)
    single = LogisticRegression().fit(X.astype(np.float32), Y)
    assert single.coef_.dtype == np.float32
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.coef_, wide.coef_, rtol=1e-4)
    assert LogisticRegression(tol=1e-10).fit(X.astype(np.float32), Y).stop_reason_ == "tol"


def test_a_single_weight_for_all_rows_is_accepted():
    once = LogisticRegression().fit(X, Y)
    np.testing.assert_array_equal(LogisticRegression().fit(X, Y, 1.0).coef_, once.coef_)
    twice = LogisticRegression().fit(X, Y, np.full(len(Y), 2.0))
    np.testing.assert_array_equal(LogisticRegression().fit(X, Y, 2).coef_, twice.coef_)


def test_weights_of_classes_that_do_not_occur_are_ignored():
    weights = {0: 1.0, 1: 2.0}
    expected = LogisticRegression(class_weight=weights).fit(X, Y)
    more = LogisticRegression(class_weight={**weights, 7: 3.0}).fit(X, Y)
    np.testing.assert_array_equal(more.coef_, expected.coef_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_keep_their_feature_names(frame):
    table = frame(dict(zip("abcd", IRIS.T)))
    model = LogisticRegression().fit(table, SPECIES)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["b", "a", "c", "d"]])
    labels = (pd.Series if frame is pd.DataFrame else pl.Series)(SPECIES)
    assert LogisticRegression().fit(table, labels).coef_.tobytes() == model.coef_.tobytes()


def test_a_warm_start_continues_from_the_previous_fit():
    model = LogisticRegression(warm_start=True, solver="lbfgs", tol=1e-10).fit(X, Y)
    cold = model.n_iter_
    assert solved(model, X, Y).n_iter_ < cold
    model.set_params(C=1.1)
    assert solved(model, X, Y).n_iter_ < LogisticRegression(
        C=1.1, solver="lbfgs", tol=1e-10
    ).fit(X, Y).n_iter_  # fmt: skip
    with pytest.raises(ValueError, match=r"coef_ has shape \(1, 12\).*warm_start=False"):
        model.fit(X[:, :3], Y)
    free = LogisticRegression(C=np.inf, warm_start=True, tol=1e-6, solver="lbfgs").fit(*MIXED)
    assert solved(free, *MIXED).n_iter_ == 1


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(probability=3)])
def test_models_can_be_pickled_and_cloned(model):
    model = clone(model).fit(IRIS, SPECIES)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(IRIS), model.predict_proba(IRIS))
    assert (copy.solver_, copy.certificate_) == (model.solver_, model.certificate_)
    again = clone(model)
    assert not hasattr(again, "coef_")
    assert again.fit(IRIS, SPECIES).coef_.tobytes() == model.coef_.tobytes()


def test_coefficients_can_be_sparse():
    model = LogisticRegression().fit(X, Y)
    expected = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_scikit_learn_tools_accept_a_logistic_regression():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert cross_val_score(pipeline, IRIS, SPECIES, cv=3).mean() > 0.9
    calibrated = CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (len(Y), 2)
    found = permutation_importance(LogisticRegression().fit(X, Y), X, Y, n_repeats=2)
    assert found.importances_mean.max() > 0.01


def test_sample_weights_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        routed = cross_val_score(
            model.set_score_request(sample_weight=False),
            X, Y, cv=3, params={"sample_weight": np.where(Y == 1, 1.0, 1e-6)},
        )  # fmt: skip
    assert routed.mean() < 0.7 < cross_val_score(LogisticRegression(), X, Y, cv=3).mean()


# Many models in one batch


def test_models_trained_together_equal_models_trained_alone():
    models = [
        LogisticRegression(C=0.01),
        LogisticRegression(C=1.0, class_weight="balanced"),
        LogisticRegression(C=1.0, l1_ratio=0.0, tol=1e-8),
        LinearSVC(C=0.1),
        LinearSVC(C=0.1, intercept_scaling=1.0),
        LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-2),
    ]
    columns = np.random.default_rng(1).exponential(size=(len(Y), len(models)))
    columns[:100, 0] = 0.0
    for weights in (None, WEIGHTS, columns):
        together = fit_many([clone(model) for model in models], X, Y, weights)
        for k, model in enumerate(together):
            own = weights if weights is None or weights.ndim == 1 else weights[:, k]
            alone = clone(model).fit(X, Y, own)
            assert alone.coef_.tobytes() == model.coef_.tobytes()
            assert alone.solver_ == model.solver_
            assert alone.certificate_ == model.certificate_


def test_a_fold_as_weights_equals_a_fit_on_its_rows():
    held_out = np.arange(len(Y)) % 5 == 0
    options = {"tol": 1e-12, "class_weight": "balanced"}
    fold = LogisticRegression(**options).fit(X, Y, sample_weight=~held_out)
    subset = LogisticRegression(**options).fit(X[~held_out], Y[~held_out])
    np.testing.assert_allclose(fold.coef_, subset.coef_, rtol=1e-5)
    assert fold.certificate_.primal == pytest.approx(subset.certificate_.primal, rel=1e-12)


@pytest.mark.parametrize("C", [np.inf, 1.0])
@pytest.mark.parametrize(
    "loss", ["logistic", "softmax", "squared_hinge", "hinge", "crammer_singer"]
)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_every_problem_has_a_solver_or_an_error(loss, l1_ratio, C):
    data = Dataset.of(X, Y)
    l1, l2 = (0.0, 0.0) if np.isinf(C) else (l1_ratio, 1.0 - l1_ratio)
    if LOSSES[loss].smooth or (l2 > 0.0 and l1 == 0.0):
        name, why, *_ = choose_solver(LOSSES[loss], 1, l1, l2, data)
        refuse_illegal(name, LOSSES[loss], l1, l2)
        assert why.startswith(f"{name}: ")
        assert why.endswith(".")
    else:
        with pytest.raises(ValueError, match="a loss with kinks needs l2 > 0 and l1 = 0"):
            choose_solver(LOSSES[loss], 1, l1, l2, data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "loss", "outputs", "l1", "l2", "solver"),
    [
        ((50, 10), "logistic", 1, 0.0, 1e-3, "newton"),
        ((50, 150), "logistic", 1, 0.0, 1e-3, "newton"),  # a Hessian that costs almost nothing
        ((50, 600), "logistic", 1, 0.0, 1e-3, "dual"),  # more weights than rows
        ((1000, 600), "logistic", 1, 0.0, 1.0, "dual"),  # a strong penalty
        ((1000, 600), "logistic", 1, 0.0, 1e-6, "newton"),  # a weak one
        ((1000, 200), "softmax", 3, 0.0, 1.0, "dual"),
        ((1000, 200), "softmax", 3, 0.0, 1e-6, "newton"),
        ((50, 600), "logistic", 1, 0.0, 0.0, "newton"),
        ((50, 600), "logistic", 1, 0.1, 0.1, "coordinate"),
        ((50, 10), "hinge", 1, 0.0, 1e-3, "interior"),
        ((50, 10), "crammer_singer", 3, 0.0, 1e-3, "interior"),
        ((50, 600), "hinge", 1, 0.0, 1e-3, "dual"),
        ((1000, 700), "hinge", 1, 0.0, 1.0, "dual"),
        ((1000, 700), "hinge", 1, 0.0, 1e-6, "interior"),
        ((3000, 2500), "hinge", 1, 0.0, 1e-3, "dual"),  # too large a Hessian,
        ((3000, 2500), "hinge", 1, 0.0, 1e-6, "interior"),  # but dual ascent would hardly progress
    ],
)
def test_the_choice_depends_on_shape_penalty_and_loss(shape, loss, outputs, l1, l2, solver):
    rng = np.random.default_rng(0)
    data = Dataset.of(rng.standard_normal(shape), np.arange(shape[0]) % max(outputs, 2))
    assert choose_solver(LOSSES[loss], outputs, l1, l2, data)[0] == solver
    sparse = Dataset.of(sp.csr_array(data.only_block().X.X), data.only_block().y)
    assert choose_solver(LOSSES[loss], outputs, l1, l2, sparse)[0] == solver


def test_one_vs_rest_counts_the_weights_of_one_output():
    rng = np.random.default_rng(0)
    data = Dataset.of(rng.standard_normal((900, 300)), np.arange(900) % 9)
    assert choose_solver(OneVsRest(LOSSES["logistic"]), 9, 0.0, 1e-9, data)[1].startswith(
        "newton: 301 weights are few enough"
    )


def test_all_solvers_reach_the_same_optimum_with_many_weights():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 700))
    y = (A[:, :5].sum(axis=1) + rng.standard_normal(300) > 0).astype(int)
    auto = solved(LogisticRegression(C=0.1, tol=1e-7), A, y)
    assert auto.solver_ == "dual"
    for solver in legal("logistic"):
        other = solved(LogisticRegression(C=0.1, tol=1e-9, solver=solver), A, y)
        np.testing.assert_allclose(auto.coef_, other.coef_, atol=2e-4)
