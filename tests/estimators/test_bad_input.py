"""Error messages say what is wrong and where, what is allowed, what was given and what to do."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from separatrix import (
    LOSSES,
    ElasticNet,
    GradientDescentClassifier,
    GridSearchCV,
    KernelRidge,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    fit_many,
    set_threads,
)
from separatrix.errors import ParameterError
from separatrix.training.legality import refuse_illegal

G = GradientDescentClassifier
X = np.arange(24.0).reshape(8, 3)
Y = np.array([0, 1] * 4)
BOTH = pytest.mark.parametrize("model", [G(), Perceptron()])


def with_entry(value, row, column):
    A = X.copy()
    A[row, column] = value
    return A


def refused(words, call, error=ValueError):
    with pytest.raises(error, match=re.escape(words)):
        call()


# X


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    "convert", [np.asarray, sp.csr_array, sp.csc_array, pd.DataFrame, np.float32]
)
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity (inf)"), (-np.inf, "infinity (-inf)")]
)
def test_a_nan_or_infinity_is_reported_with_its_row_and_column(model, convert, value, word):
    A = convert(with_entry(value, 6, 1))
    words = (
        f"Input X contains {word} at row 6, column 1. All entries must be finite. Remove the row"
    )
    refused(words, lambda: model.fit(A, Y))
    fitted = type(model)().fit(convert(X), Y)
    refused(words, lambda: fitted.predict(A))
    refused(words.replace("X", "X_val"), lambda: model.fit(convert(X), Y, None, A, Y))


def test_the_first_of_several_bad_entries_is_reported():
    A = with_entry(np.nan, 6, 0)
    A[2, 2] = np.inf
    for convert in (np.asarray, sp.csr_array, sp.csc_array):
        refused("infinity (inf) at row 2, column 2", lambda c=convert: G().fit(c(A), Y))


def test_a_bad_entry_in_a_late_row_is_reported():
    A = np.zeros((10_000, 2))
    A[9_876, 1] = np.nan
    refused("row 9876, column 1", lambda: G().fit(A, np.arange(10_000) % 2))


def test_a_missing_value_in_a_list_or_table_is_a_nan():
    refused("Input X contains NaN at row 1, column 0", lambda: G().fit([[1, 2], [None, 3]], [0, 1]))
    table = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64")})
    refused("Input X contains NaN at row 2, column 0", lambda: G().fit(table, [0, 1, 0]))


@BOTH
def test_text_instead_of_a_number_is_reported_with_its_row_and_column(model):
    rows = [["1", "2"], ["3", "many"]]
    words = "X must hold numbers. Row 1, column 1 holds 'many'. Encode text and categories"
    refused(words, lambda: model.fit(rows, [0, 1]))
    refused(words, lambda: model.fit(pd.DataFrame([[1, 2], [3, "many"]]), [0, 1]))
    refused(words, lambda: G().fit(X[:, :2], Y).predict(rows))
    refused(words.replace("X", "X_val"), lambda: model.fit(X[:, :2], Y, None, rows, [0, 1]))


@BOTH
def test_empty_data_is_refused(model):
    refused("0 sample(s) (shape=(0, 3)) while a minimum of 1", lambda: model.fit(X[:0], Y[:0]))
    refused("0 feature(s) (shape=(8, 0)) while a minimum of 1", lambda: model.fit(X[:, :0], Y))
    refused("X_val has no rows", lambda: model.fit(X, Y, None, X[:0], Y[:0]))


@BOTH
def test_one_dimensional_data_is_refused(model):
    refused("Expected 2D array, got 1D array instead", lambda: model.fit(X[:, 0], Y))


# y


@BOTH
def test_labels_of_one_class_are_refused(model):
    words = "y has only one class, 3. A classifier needs samples of at least two classes."
    refused(words, lambda: model.fit(X, np.full(8, 3)))
    refused("y has only one class, cat.", lambda: model.fit(X, ["cat"] * 8))


@BOTH
def test_mismatched_lengths_are_refused(model):
    refused("X has 8 rows and y has 5 entries", lambda: model.fit(X, Y[:5]))
    refused("X has 8 rows and y has 5 entries", lambda: model.fit(sp.csr_array(X), Y[:5].tolist()))
    refused("X_val has 4 rows and y_val has 8", lambda: model.fit(X, Y, None, X[:4], Y))
    refused("X has 8 rows and sample_weight has 3", lambda: model.fit(X, Y, np.ones(3)))


@BOTH
def test_invalid_labels_are_refused(model):
    refused(
        "y has nan at row 2: every row needs a class",
        lambda: model.fit(X, [0, 1, np.nan] * 2 + [0, 1]),
    )
    refused("y has inf at row 1", lambda: model.fit(X, [0, np.inf] * 4))
    refused("Unknown label type: continuous", lambda: model.fit(X, np.linspace(0, 1, 8)))
    refused("y should be a 1d array", lambda: model.fit(X, np.zeros((8, 2))))
    refused("requires y to be passed", lambda: model.fit(X, None))


# The validation set


@BOTH
def test_a_validation_set_must_match_the_training_set(model):
    words = "y_val has the class 5, which does not occur in y. Classes of y: 0, 1. Remove its rows"
    refused(words, lambda: model.fit(X, Y, None, X, np.where(Y == 1, 5, 0)))
    words = "X_val must have the 3 features of the training rows, in the same order. Got 2 features"
    refused(words, lambda: model.fit(X, Y, None, X[:, :2], Y))
    refused("X_val and y_val must be given together", lambda: model.fit(X, Y, None, X))
    refused("X_val and y_val must be given together", lambda: model.fit(X, Y, y_val=Y))
    refused("y_val has nan at row 0", lambda: model.fit(X, Y, None, X, np.full(8, np.nan)))


def test_a_validation_table_with_other_columns_is_refused():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    words = "The feature names should match those that were passed during fit"
    refused(words, lambda: G().fit(table, Y, None, table[["c", "b", "a"]], Y))


@BOTH
def test_patience_needs_a_validation_set(model):
    words = "patience needs a validation set, and none was given. Pass X_val and y_val to fit"
    refused(words, lambda: type(model)(patience=3).fit(X, Y))


# Sample weights


@BOTH
def test_bad_sample_weights_are_refused(model):
    s = np.ones(8)
    s[3] = -2.0
    refused("sample_weight must be finite and >= 0. Row 3 has -2.", lambda: model.fit(X, Y, s))
    s[3] = np.nan
    refused("sample_weight must be finite and >= 0. Row 3 has nan.", lambda: model.fit(X, Y, s))
    refused("sample_weight is zero for every row", lambda: model.fit(X, Y, np.zeros(8)))
    refused("sample_weight must hold numbers", lambda: model.fit(X, Y, ["heavy"] * 8))
    words = (
        "sample_weight must be of shape (8,) or (8, 2), one column for each estimator. Got (8, 3)"
    )
    refused(words, lambda: fit_many([model, model], X, Y, np.ones((8, 3))))
    S = np.ones((8, 2))
    S[:, 1] = 0.0
    refused("sample_weight is zero for every row", lambda: fit_many([model, model], X, Y, S))


# Parameters


NUMBERS = {
    "learning_rate": ("a finite number > 0", [0, 0.0, -0.1, np.inf, np.nan, "fast", None, True]),
    "l1": ("a finite number >= 0", [-0.1, np.inf, np.nan, "much", None]),
    "l2": ("a finite number >= 0", [-1e-9, np.inf, np.nan, "much", None]),
    "momentum": ("a finite number >= 0 and < 1", [-0.1, 1.0, 1.5, np.nan, "0.9"]),
    "decay": ("a finite number >= 0", [-1, np.nan, "slow"]),
    "margin": ("a finite number >= 0 or None", [-1.0, np.nan, "wide"]),
    "init_scale": ("a finite number >= 0", [-1, np.nan, "small"]),
    "tol": ("a finite number >= 0 or None", [-1e-3, np.nan, "small"]),
    "gradient_tol": ("a finite number >= 0 or None", [-1e-3, np.nan, "small"]),
    "step_tol": ("a finite number >= 0 or None", [-1e-3, np.nan, "small"]),
    "time_limit": ("a finite number > 0 or None", [0, -1, np.inf, "soon"]),
    "epochs": ("a whole number >= 1", [0, -5, 2.5, "many", None, True]),
    "batch_size": ("a whole number >= 1 or None", [0, -1, 2.5, "all"]),
    "patience": ("a whole number >= 0 or None", [-1, 1.5, "much"]),
    "max_iter": ("a whole number >= 1 or None", [0, 1.5, "many"]),
    "validate_every": ("a whole number >= 1", [0, 1.5, "day", None]),
    "betas": ("a pair of numbers >= 0 and < 1", [0.9, (0.9,), (0.9, 1.0), (0.9, -0.1), "ab"]),
    "fit_intercept": ("True or False", ["no", None, 1]),
    "warm_start": ("True or False", ["no", None, 1]),
}
CHOICES = {
    "loss": ["auto", *LOSSES],
    "rule": ["plain", "momentum", "nesterov", "adam", "lazy_adam"],
    "schedule": ["constant", "exponential", "inverse"],
    "multiclass": ["auto", "ovr"],
    "patience_rule": ["best", "consecutive"],
    "monitor": ["loss", "accuracy"],
    "init": ["zeros", "random"],
}


def test_every_parameter_is_tested_here():
    elsewhere = {"random_state", "class_weight", "eta0", "device", "precision"}
    assert set(G().get_params()) == {*NUMBERS, *CHOICES, *elsewhere}


@pytest.mark.parametrize(
    ("name", "allowed", "value"),
    [(name, allowed, value) for name, (allowed, bad) in NUMBERS.items() for value in bad],
)
def test_a_parameter_outside_its_range_is_refused(name, allowed, value):
    words = f"The '{name}' parameter must be {allowed}. Got {value!r} instead."
    for estimator in (G, Perceptron):
        if name in estimator().get_params():
            refused(words, lambda e=estimator: e(**{name: value}).fit(X, Y, None, X, Y))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, "fast"])
def test_scikit_learns_name_of_the_rate_is_refused_outside_its_range(value):
    words = "The 'eta0' parameter must be a finite number > 0"
    refused(f"{words} or None. Got {value!r} instead.", lambda: G(eta0=value).fit(X, Y))
    refused(f"{words}. Got {value!r} instead.", lambda: Perceptron(eta0=value).fit(X, Y))


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_is_refused_with_the_allowed_ones(name):
    allowed = ", ".join(repr(word) for word in CHOICES[name])
    words = f"The '{name}' parameter must be one of {allowed}. Got 'unheard-of' instead."
    refused(words, lambda: G(**{name: "unheard-of"}).fit(X, Y, None, X, Y))
    if name not in ("init",):
        words = f"The '{name}' parameter must be one of {allowed}. Got 3 instead."
        refused(words, lambda: G(**{name: 3}).fit(X, Y, None, X, Y))


@pytest.mark.parametrize(
    "init",
    [
        5, (1, 2, 3), (np.zeros((3, 1)), [0.0]), (np.zeros((1, 2)), [0.0]), ("a", "b"),
        (np.zeros((1, 3)), [0.0, 0.0]), (np.full((1, 3), np.nan), [0.0]), (np.zeros(3), np.inf),
    ],
)  # fmt: skip
@BOTH
def test_initial_weights_of_the_wrong_shape_are_refused(model, init):
    words = "or a pair (coef, intercept) of finite numbers of shapes (1, 3) and (1,). Got"
    refused(words, lambda: type(model)(init=init).fit(X, Y))


def test_a_margin_for_a_loss_without_one_is_refused():
    words = "Loss 'logistic' has no margin. Got margin=2.0. Losses with a margin: 'hinge', "
    refused(words, lambda: G("logistic", margin=2.0).fit(X, Y))
    refused("Use 'hinge' for a margin", lambda: G("perceptron", margin=2.0).fit(X, Y))


@pytest.mark.parametrize("margin", [0.0, 1.0, 2.0])
def test_a_margin_with_a_loss_object_is_refused(margin):
    words = (
        "The 'margin' parameter can only be used with a loss given by name. Got "
        f"margin={margin} with the loss object 'hinge'. Set the margin in the object, for example "
        "with make_loss('hinge', margin=2.0), and use margin=None."
    )
    refused(words, lambda: G(LOSSES["hinge"], margin=margin).fit(X, Y))


def test_a_loss_object_without_all_parts_is_refused_with_their_names():
    class Half:
        def gradient(self, y, Z):
            return Z

    with pytest.raises(ValueError, match=r"an object with apply_balance, .*, words \(see"):
        GradientDescentClassifier(Half()).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("loss", ["softmax", "crammer_singer", "softmax_reference"])
def test_one_vs_rest_with_a_loss_for_all_classes_is_refused(loss):
    words = f"multiclass='ovr' needs a loss with a single output, but '{loss}' has one per class."
    refused(words, lambda: G(loss, multiclass="ovr").fit(X, np.arange(8) % 3))


def test_a_refused_solver_error_lists_the_solvers_that_accept_the_loss():
    words = (
        "Loss 'logistic' without a penalty cannot be used with solver 'perceptron': perceptron "
        "needs the perceptron loss. Solvers that accept it: coordinate, gradient, lbfgs, newton."
    )
    refused(words, lambda: refuse_illegal("perceptron", LOSSES["logistic"], 0.0, 0.0))
    words = "perceptron needs l1 = 0. Solvers that accept it: gradient."
    refused(words, lambda: refuse_illegal("perceptron", LOSSES["perceptron"], 0.1, 0.0))
    refuse_illegal("perceptron", LOSSES["perceptron"], 0.0, 0.0)


def test_a_number_of_threads_below_one_is_refused():
    words = "The 'threads' parameter must be a whole number from 1 to 1024. Got"
    refused(f"{words} 0 instead.", lambda: set_threads(0))
    refused(f"{words} 5000 instead.", lambda: set_threads(5000))


def test_numbers_given_as_text_are_refused_with_a_hint_to_convert_them():
    rows = [["1", "2"], ["3", "4"]] * 4
    words = "X must hold numbers. Row 0, column 0 holds '1'. Convert it first, for example with np."
    refused(words, lambda: G().fit(rows, Y))


def test_labels_of_mixed_types_are_refused():
    mixed = np.array([0, "a"] * 4, object)
    refused("y mixes labels of different types, int and str", lambda: G().fit(X, mixed))


def test_a_single_estimator_instead_of_a_list_is_refused():
    refused("Got a single GradientDescentClassifier", lambda: fit_many(G(), X, Y), TypeError)


def test_the_error_of_a_loss_without_probabilities_names_alternatives():
    model = G("hinge").fit(X, Y)
    assert not hasattr(model, "predict_proba")
    words = "has no attribute 'predict_proba'"
    with pytest.raises(AttributeError, match=words) as error:
        model.predict_proba(X)
    assert "Use loss='logistic' or 'softmax'" in str(error.value.__cause__)


# Calls in the wrong order


@BOTH
def test_a_model_that_is_not_fitted_raises_not_fitted_error(model):
    model = type(model)()
    for name in ("predict", "decision_function"):
        refused("is not fitted yet", lambda n=name: getattr(model, n)(X), NotFittedError)
    refused("is not fitted yet", model.objective, NotFittedError)


@BOTH
def test_partial_fit_requires_all_classes(model):
    new = type(model)
    refused("must name all classes", lambda: new().partial_fit(X, Y))
    words = "y has the class 1, which was not in the first call of partial_fit"
    refused(words, lambda: new().partial_fit(X, Y, classes=[0, 2]))
    refused("y has only one class, 1", lambda: new().partial_fit(X, Y, classes=[1]))
    fitted = new().partial_fit(X, Y, classes=[0, 1])
    words = "The first call had 0, 1. Got 0, 1, 2 instead."
    refused(words, lambda: fitted.partial_fit(X, Y, classes=[0, 1, 2]))
    refused("X has 2 features, but", lambda: fitted.partial_fit(X[:, :2], Y))


@BOTH
def test_prediction_requires_the_features_of_training(model):
    fitted = type(model)().fit(X, Y)
    refused("X has 2 features, but", lambda: fitted.predict(X[:, :2]))


# Failed calls


FAILURES = {
    "nan": lambda m: m.fit(with_entry(np.nan, 0, 0), Y),
    "wider, one class": lambda m: m.fit(np.ones((8, 5)), np.zeros(8)),
    "wider, bad parameter": lambda m: m.set_params(epochs=-1).fit(np.ones((8, 5)), Y),
    "wider, bad weights": lambda m: m.fit(np.ones((8, 5)), Y, -np.ones(8)),
    "wider, bad validation": lambda m: m.fit(np.ones((8, 5)), Y, None, X, Y),
    "other names": lambda m: m.fit(pd.DataFrame(X, columns=["a", "b", "c"]), np.zeros(8)),
    "partial_fit": lambda m: m.partial_fit(np.ones((8, 5)), Y),
    "partial_fit, nan": lambda m: m.partial_fit(with_entry(np.nan, 0, 0), Y),
    "partial_fit, class": lambda m: m.partial_fit(X, Y + 1),
    "predict": lambda m: m.predict(X[:, :2]),
    "in a list": lambda m: fit_many([m, G(l1=-1)], np.ones((8, 5)), Y),
    "last in a list": lambda m: fit_many([G(l1=-1), m], np.ones((8, 5)), Y),
}


@BOTH
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_call_does_not_change_a_fitted_model(model, failure):
    def train():
        fitted = type(model)(epochs=5)
        for _ in range(3):
            fitted.partial_fit(X, Y, classes=[0, 1])
        return fitted

    fitted, twin = train(), train()
    with pytest.raises(ValueError):  # noqa: PT011
        FAILURES[failure](fitted)
    fitted.set_params(epochs=5)
    np.testing.assert_array_equal(fitted.decision_function(X), twin.decision_function(X))
    assert fitted.n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.history_.epochs == 3
    # Momentum and schedule go on too.
    a, b = (m.partial_fit(X, Y).coef_ for m in (fitted, twin))
    assert a.tobytes() == b.tobytes()


@BOTH
def test_a_failed_call_leaves_a_new_model_unfitted(model):
    new = type(model)()
    refused("y has only one class", lambda: new.fit(X, np.zeros(8)))
    refused("y has the class 7", lambda: new.partial_fit(X, Y + 7, classes=[0, 1]))
    assert not hasattr(new, "n_features_in_")
    refused("is not fitted yet", lambda: new.predict(X), NotFittedError)


# Numbers that are not floats

HUGE = 10**400
FEW, LABELS = np.arange(16.0)[:, None], np.array([0, 0, 0, 1, 0, 1, 1, 1] * 2)


@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda v: LogisticRegression(C=v), "C"),
        (lambda v: LogisticRegression(tol=v), "tol"),
        (lambda v: LogisticRegression(max_iter=v), "max_iter"),
        (lambda v: LinearSVC(intercept_scaling=v), "intercept_scaling"),
        (lambda v: GradientDescentClassifier(learning_rate=v), "learning_rate"),
        (lambda v: GradientDescentClassifier(l1=v), "l1"),
        (lambda v: GradientDescentClassifier(time_limit=v), "time_limit"),
        (lambda v: KernelRidge(alpha=v), "alpha"),
        (lambda v: LogisticRegressionCV(Cs=[1.0, v]), "Cs"),
        (lambda v: LogisticRegressionCV(Cs=v), "Cs"),
        (lambda v: LogisticRegressionCV(l1_ratios=[0.0, v]), "l1_ratios"),
        (lambda v: GridSearchCV(LinearSVC(), {"C": [1.0, v]}, error_score="raise"), "C"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_that_is_too_large_is_refused_with_a_short_message(fit, name, sign):
    for value in (sign * HUGE, sign * 10**5000):
        with pytest.raises(ParameterError, match=f"The '{name}' parameter must be") as error:
            fit(value).fit(FEW, LABELS)
        assert len(str(error.value)) < 300


def test_fractions_and_numpy_scalars_are_numbers():
    expected = LogisticRegression(C=0.5, tol=1e-6).fit(FEW, LABELS).coef_.tolist()
    for C in (Fraction(1, 2), np.float32(0.5), np.longdouble("0.5")):
        model = LogisticRegression(C=C, tol=Fraction(1, 10**6)).fit(FEW, LABELS)
        assert model.coef_.tolist() == expected
    GradientDescentClassifier(tol=Fraction(1, 2), step_tol=Fraction(1, 3)).fit(FEW, LABELS)


@pytest.mark.parametrize(
    "value", [Decimal("0.5"), Decimal("nan"), "1", math.nan, np.longdouble("1e4000"), True, 1j]
)
def test_a_value_that_is_not_a_number_is_refused_with_the_parameter_name(value):
    for model in (LogisticRegression(C=value), LogisticRegressionCV(Cs=[1.0, value])):
        with pytest.raises(ParameterError, match=r"The 'Cs?' parameter must be a number > 0"):
            model.fit(FEW, LABELS)


def test_elastic_net_errors_name_the_parameter():
    for value in (HUGE, "much", [[1.0], [2.0, 3.0]]):
        with pytest.raises(ParameterError, match="The 'l2' parameter of ElasticNet must"):
            ElasticNet(0.0, value)
