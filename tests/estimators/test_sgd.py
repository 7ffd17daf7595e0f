"""SGDClassifier, and the perceptron with scikit-learn's parameters."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import scale

from separatrix import GradientDescentClassifier, Perceptron, SGDClassifier, fit_many
from separatrix.estimators.sgd import PASSIVE_AGGRESSIVE, REGRESSION_LOSSES
from separatrix.estimators.stochastic import RATES, UNBOUNDED_SLOPE
from support.scikit_learn import checks

IRIS, SPECIES = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)
X, Y = scale(IRIS)[ORDER], SPECIES[ORDER]
LOSSES = list(SGDClassifier.loss_functions)

# A step with weight 2 is not two steps, so the order and the number of the rows count.
WEIGHTS_AS_REPETITION = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


@pytest.mark.slow
@checks(
    [
        SGDClassifier(),
        SGDClassifier("squared_hinge", penalty="l1", average=True),
        SGDClassifier("log_loss", learning_rate="adaptive"),
        Perceptron(penalty="l2", max_iter=50),
    ],
    left_out=WEIGHTS_AS_REPETITION,
)
def test_estimator_passes_scikit_learn_checks(estimator, check):
    check(estimator)


# The same steps as scikit-learn's


def assert_equal(mine, theirs):
    for name in ("coef_", "intercept_"):
        expected = getattr(theirs, name)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(mine, name), expected, rtol=1e-8, atol=1e-8 * size)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("average", [False, True, 300])
@pytest.mark.parametrize("learning_rate", RATES)
@pytest.mark.parametrize("loss", LOSSES)
def test_steps_in_the_order_of_the_rows_equal_scikit_learn(loss, learning_rate, average, kind):
    if learning_rate == "optimal" and loss in UNBOUNDED_SLOPE:
        learning_rate = "constant"  # there, the first rate is lowered
    options = {"loss": loss, "learning_rate": learning_rate, "average": average, "alpha": 0.02}
    options |= {"eta0": 0.02, "shuffle": False, "max_iter": 5, "tol": None}
    s = np.random.default_rng(1).uniform(0.0, 3.0, 150)
    for y in (Y, Y == 1):
        for penalty in ("l2", None):
            mine = SGDClassifier(penalty=penalty, **options).fit(kind(X), y, sample_weight=s)
            theirs = sklearn.linear_model.SGDClassifier(penalty=penalty, **options)
            assert_equal(mine, theirs.fit(kind(X), y, sample_weight=s))
            assert mine.t_ == theirs.t_
            assert mine.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("loss", ["log_loss", "perceptron", "modified_huber"])
def test_training_stops_at_the_epoch_of_scikit_learn(loss, kind):
    options = {"loss": loss, "shuffle": False, "penalty": None, "alpha": 0.01}
    mine = SGDClassifier(**options).fit(kind(X), Y == 1)
    theirs = sklearn.linear_model.SGDClassifier(**options).fit(kind(X), Y == 1)
    assert mine.n_iter_ == theirs.n_iter_ < 1000
    assert_equal(mine, theirs)


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
def test_probabilities_equal_scikit_learn(loss):
    options = {"loss": loss, "shuffle": False, "alpha": 0.1, "max_iter": 3, "tol": None}
    for y in (Y, Y == 1):
        mine = SGDClassifier(**options).fit(X, y)
        theirs = sklearn.linear_model.SGDClassifier(**options).fit(X, y)
        np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_modified_huber_gives_equal_probabilities_where_no_class_is_likely():
    model = SGDClassifier("modified_huber", shuffle=False, max_iter=3, tol=None).fit(X, Y)
    model.coef_ = np.zeros_like(model.coef_)
    model.intercept_ = np.full(3, -2.0)
    np.testing.assert_array_equal(model.predict_proba(X[:1]), np.full((1, 3), 1.0 / 3.0))


def test_partial_fit_continues_the_rates_of_fit():
    options = {"shuffle": False, "alpha": 0.02, "tol": None}
    mine = SGDClassifier(max_iter=2, **options).fit(X, Y).partial_fit(X, Y)
    theirs = sklearn.linear_model.SGDClassifier(max_iter=2, **options).fit(X, Y).partial_fit(X, Y)
    assert_equal(mine, theirs)
    assert mine.t_ == theirs.t_ == 451
    assert mine.n_iter_ == 3


@pytest.mark.parametrize("loss", UNBOUNDED_SLOPE)
def test_squared_losses_do_not_explode_with_the_optimal_rates(loss):
    digits, numbers = load_digits(return_X_y=True)
    model = SGDClassifier(loss, random_state=0).fit(digits, numbers)
    assert model.stop_reason_ == "no improvement"
    assert model.score(digits, numbers) > 0.85
    options = {"fit_intercept": False, "random_state": 0}  # its rate would be another one
    model = SGDClassifier(loss, **options).fit(digits, numbers)
    sparse = SGDClassifier(loss, **options).fit(sp.csr_array(digits), numbers)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-6, atol=1e-9)


def test_the_large_first_rates_do_not_count_as_a_divergence():
    digits, numbers = load_digits(return_X_y=True)
    model = SGDClassifier(random_state=0).fit(digits, numbers)
    assert model.score(digits, numbers) > 0.9
    # The weights are so large that the objective is above its value at zero weights, which is 10.
    assert model.history_["objective"].max() > 100.0
    assert model.stop_reason_ == "no improvement"


# Stopping


def test_a_fit_that_reaches_max_iter_warns_unless_tol_is_none():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2.*Raise max_iter or tol"):
        SGDClassifier(max_iter=2).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        Perceptron(max_iter=2, tol=1e-3).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SGDClassifier(max_iter=2, tol=None).fit(X, Y)
        SGDClassifier(random_state=0).fit(X, Y)
        SGDClassifier(max_iter=1).partial_fit(X, Y, [0, 1, 2])


@pytest.mark.parametrize("model", [SGDClassifier(tol=None, max_iter=4), Perceptron(epochs=4)])
def test_early_stopping_trains_on_the_rows_that_are_not_held_out(model):
    split = StratifiedShuffleSplit(1, test_size=0.3, random_state=5)
    training, validation = next(split.split(X, Y))
    training = np.sort(training)
    stopping = {"early_stopping": True, "validation_fraction": 0.3, "random_state": 5}
    aside = clone(model).set_params(**stopping).fit(X, Y)
    given = clone(model).set_params(random_state=5)
    if isinstance(model, Perceptron):  # its early stopping keeps the best epoch
        given.set_params(patience=5, monitor="accuracy")
    given.fit(X[training], Y[training], X_val=X[validation], y_val=Y[validation])
    assert aside.coef_.tobytes() == given.coef_.tobytes()
    np.testing.assert_array_equal(aside.history_["val_loss"], given.history_["val_loss"])


EARLY = [SGDClassifier(early_stopping=True), Perceptron(early_stopping=True, tol=1e-3, epochs=50)]


@pytest.mark.parametrize("model", EARLY)
@pytest.mark.parametrize("weights", [np.ones(300), np.ones(50), np.full(150, "a")])
def test_early_stopping_refuses_the_weights_that_are_refused_without_it(model, weights):
    with pytest.raises(ValueError, match="sample_weight") as refused:
        clone(model).set_params(early_stopping=False).fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight") as early:
        clone(model).fit(X, Y, sample_weight=weights)
    assert str(early.value) == str(refused.value)


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("model", EARLY)
def test_early_stopping_splits_data_of_all_forms_alike(model):
    model = clone(model).set_params(random_state=0)
    expected = clone(model).fit(X, Y, sample_weight=np.full(150, 2.0)).coef_
    np.testing.assert_array_equal(clone(model).fit(X, Y, sample_weight=2.0).coef_, expected)
    np.testing.assert_array_equal(
        fit_many([clone(model)], X, Y, sample_weight=np.full((150, 1), 2.0))[0].coef_, expected
    )
    rows = clone(model).fit(sp.csr_array(X), list(Y)).coef_
    for form in (sp.coo_array, sp.dia_array, sp.bsr_array, sp.csc_matrix):
        np.testing.assert_array_equal(clone(model).fit(form(X), Y).coef_, rows)


def test_given_validation_rows_take_the_place_of_held_out_rows():
    model = SGDClassifier(early_stopping=True, random_state=0).fit(X, Y, X_val=X, y_val=Y)
    assert model.score(X, Y) == np.array(model.history_["val_accuracy"]).max()


@pytest.mark.parametrize("model", EARLY)
def test_weights_count_for_the_accuracy_that_stops_training(model):
    s = np.where(Y == 2, 1.0, 1e-9)
    for weighted in (
        clone(model).set_params(class_weight={0: 1e-9, 1: 1e-9}).fit(X, Y),
        clone(model).fit(X, Y, sample_weight=s),
        fit_many([clone(model)] * 2, X, Y, sample_weight=np.stack([s, s], axis=1))[1],
    ):
        accuracy = np.array(weighted.history_["val_accuracy"])
        five = np.rint(5.0 * accuracy)  # only the five validation rows of the last class count
        np.testing.assert_allclose(accuracy, five / 5.0, atol=1e-6)


def test_early_stopping_waits_for_a_better_accuracy_and_keeps_the_best_epoch():
    model = SGDClassifier(early_stopping=True, n_iter_no_change=4, random_state=0).fit(X, Y)
    accuracy = model.history_["val_accuracy"]
    assert model.stop_reason_ == "patience"
    assert model.n_iter_ == model.best_epoch_ + 4
    assert accuracy[model.best_epoch_ - 1] == accuracy.max()


def test_early_stopping_lowers_an_adaptive_rate_before_it_stops():
    options = {"loss": "modified_huber", "early_stopping": True, "random_state": 0}
    rates = {"eta0": 0.01, "n_iter_no_change": 3}
    stopped = SGDClassifier(learning_rate="constant", **rates, **options).fit(X, Y)
    model = SGDClassifier(learning_rate="adaptive", **rates, **options).fit(X, Y)
    first = model.history_["train_loss"][: stopped.n_iter_]
    assert first.tolist() == stopped.history_["train_loss"].tolist()
    assert model.stop_reason_ == stopped.stop_reason_ == "patience"
    assert model.n_iter_ >= stopped.n_iter_ + 3 * 6  # 0.01, ..., 0.01 / 5^6 < 1e-6


def test_fit_many_holds_out_rows_for_each_model():
    models = [
        SGDClassifier(early_stopping=True, random_state=1),
        SGDClassifier(early_stopping=True, random_state=2),
        SGDClassifier(early_stopping=True, random_state=1, alpha=0.01),
        SGDClassifier(random_state=1),
    ]
    alone = [clone(model).fit(X, Y) for model in models]
    for one, other in zip(fit_many(models, X, Y), alone, strict=True):
        assert one.coef_.tobytes() == other.coef_.tobytes()
        assert one.n_iter_ == other.n_iter_


# Starting weights


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(shuffle=False, tol=None, max_iter=3),
        Perceptron(epochs=3),
        Perceptron(epochs=3, penalty="l2", shuffle=False),
        GradientDescentClassifier(epochs=3),
    ],
)
def test_a_warm_start_continues_from_the_previous_weights(model):
    cold = clone(model).fit(X, Y)
    warm = clone(model).set_params(warm_start=True).fit(X, Y)
    assert warm.coef_.tobytes() == cold.coef_.tobytes()
    warm.fit(X, Y)
    names = {"coef_init": cold.coef_, "intercept_init": cold.intercept_}
    if isinstance(model, GradientDescentClassifier):
        model, names = clone(model).set_params(init=(cold.coef_, cold.intercept_)), {}
    assert warm.coef_.tobytes() == clone(model).fit(X, Y, **names).coef_.tobytes()
    assert warm.coef_.tobytes() != cold.coef_.tobytes()
    with pytest.raises(ValueError, match="warm_start=True starts from the previous fit"):
        warm.fit(X, Y == 1)


def test_starting_weights_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"Provided coef_init does not match dataset.*\(3, 4\)"):
        SGDClassifier().fit(X, Y, coef_init=np.zeros((2, 4)))
    with pytest.raises(ValueError, match="Provided intercept_init does not match dataset"):
        Perceptron().fit(X, Y, intercept_init=["a"])
    assert not hasattr(SGDClassifier(), "coef_")


# Class weights


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(random_state=0),
        Perceptron(epochs=5),
        Perceptron(epochs=5, penalty="l1"),
        GradientDescentClassifier(epochs=5),
    ],
)
def test_class_weights_equal_sample_weights(model):
    s = np.array([1.0, 3.0, 0.5])[Y]
    expected = clone(model).fit(X, Y, sample_weight=s)
    by_class = clone(model).set_params(class_weight={0: 1.0, 1: 3.0, 2: 0.5})
    assert by_class.fit(X, Y).coef_.tobytes() == expected.coef_.tobytes()
    first = clone(by_class).partial_fit(X, Y, [0, 1, 2])
    same = clone(model).partial_fit(X, Y, [0, 1, 2], sample_weight=s)
    assert first.coef_.tobytes() == same.coef_.tobytes()
    with pytest.raises(ValueError, match="partial_fit cannot be used with class_weight='balanced'"):
        by_class.set_params(class_weight="balanced").partial_fit(X, Y)


# The perceptron


@pytest.mark.parametrize("options", [{"penalty": "l2"}, {"eta0": 0.5}, {"shuffle": False}])
def test_what_rosenblatts_rule_lacks_is_gradient_descent_on_the_perceptron_loss(options):
    model = Perceptron(epochs=3, random_state=1, **options).fit(X, Y)
    expected = SGDClassifier(
        "perceptron", learning_rate="constant", max_iter=3, tol=None, random_state=1,
        **({"penalty": None, "eta0": 1.0} | options),
    ).fit(X, Y)  # fmt: skip
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert "against the rest" in model.objective()
    assert "against the rest" not in Perceptron(epochs=3).fit(X, Y).objective()


def test_elastic_nets_of_the_perceptron_end_in_l1_and_l2():
    def weights(**options):
        return Perceptron(epochs=20, alpha=0.01, **options).fit(X, Y).coef_.tobytes()

    assert weights(penalty="elasticnet", l1_ratio=1) == weights(penalty="l1")
    assert weights(penalty="elasticnet", l1_ratio=0) == weights(penalty="l2")
    assert weights(penalty="elasticnet", l1_ratio=0.5) != weights(penalty="l2")


def test_max_iter_is_another_name_of_epochs():
    assert Perceptron(max_iter=3).fit(X, Y).n_iter_ == 3
    assert Perceptron(max_iter=3, epochs=3).fit(X, Y).n_iter_ == 3
    with pytest.raises(ValueError, match="epochs=4 and max_iter=3 contradict each other"):
        Perceptron(max_iter=3, epochs=4).fit(X, Y)


# Warnings of fits with default settings


@pytest.mark.parametrize("model", [GradientDescentClassifier(), Perceptron()])
def test_a_plain_fit_far_from_its_optimum_warns_once(model):
    with pytest.warns(ConvergenceWarning, match=r"Train for more epochs") as seen:
        clone(model).fit(X, Y)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(epochs=20).fit(X, Y)
        clone(model).partial_fit(X, Y, [0, 1, 2])


# Refused values


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *[({"loss": loss}, "is made for regression") for loss in REGRESSION_LOSSES],
        *[({"learning_rate": rate}, "passive-aggressive rule") for rate in PASSIVE_AGGRESSIVE],
        ({"loss": "logistic"}, "'loss' parameter must be one of 'hinge'"),
        ({"penalty": "l3"}, "'penalty' parameter must be one of 'l1', 'l2', 'elasticnet'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set when penalty is"),
        ({"l1_ratio": 1.5}, "'l1_ratio' parameter must be a finite number >= 0 and <= 1 or None"),
        ({"alpha": -1.0}, "'alpha' parameter must be a finite number >= 0"),
        ({"alpha": 0.0}, "'alpha' parameter must be > 0 with learning_rate='optimal'"),
        ({"learning_rate": "constant", "eta0": 0.0}, "'eta0' parameter must be a finite number >"),
        ({"power_t": np.nan}, "'power_t' parameter must be a finite number"),
        ({"max_iter": 0}, "'max_iter' parameter must be a whole number >= 1"),
        ({"tol": -1.0}, "'tol' parameter must be a finite number >= 0 or None"),
        ({"average": 0.5}, "'average' parameter must be a whole number >= 0"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter must be a finite number"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change' parameter must be a whole number >= 1"),
        ({"shuffle": "yes"}, "'shuffle' parameter must be True or False"),
        ({"early_stopping": 1}, "'early_stopping' parameter must be True or False"),
        ({"epsilon": -0.1}, "'epsilon' parameter must be a finite number >= 0"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_refused_in_words(options, words):
    with pytest.raises(ValueError, match=words):
        SGDClassifier(**options).fit(X, Y)


def test_early_stopping_is_refused_by_partial_fit():
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        SGDClassifier(early_stopping=True).partial_fit(X, Y, [0, 1, 2])
