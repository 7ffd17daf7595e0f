"""Each diagnosis appears exactly when it is true, with correct numbers."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from separatrix import LOSSES, ElasticNet, GradientDescentClassifier, Perceptron, fit_many
from separatrix.data import Block, Dataset
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solvers import Gradient
from separatrix.training import Stop, run
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnose import diagnose
from separatrix.verdict.trace import Trace

KINDS = {
    "diverged", "oscillating", "not_converged", "overfitting", "separable", "scales", "rare_class",
    "zero_optimum", "ended_higher", "noisy",
}  # fmt: skip
TUMOURS, MALIGNANT = [[10, 52], [2, 73], [5, 55], [12, 49]], [1, 0, 0, 1]


def make_data(n=120, d=3, n_classes=2, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, n_classes)) + noise * rng.normal(size=(n, n_classes))).argmax(1)
    return X, y


X, Y = make_data()


def kinds(model):
    found = [d.kind for d in model.diagnoses_]
    assert set(found) <= KINDS
    assert len(set(found)) == len(found)
    assert all(d.message and d.remedy for d in model.diagnoses_)
    return found


def the(kind, model):
    return next(d for d in model.diagnoses_ if d.kind == kind)


def number(pattern, text):
    found = re.search(pattern + r"\s*([-+0-9.e]*[0-9])", text)
    assert found, text
    return float(found.group(1))


def smoothness(X, curvature, l2=0.0, s=None):
    """L by numpy: the bias is a column of ones."""
    Xb = np.column_stack([X, np.ones(len(X))])
    s = np.ones(len(X)) if s is None else s
    plain = np.linalg.eigvalsh(Xb.T @ (s[:, None] * Xb) / s.sum())[-1]
    return curvature * plain + l2


def hessian_top(model, X, l2):
    """lambda_max of the logistic Hessian at the model's weights, by numpy."""
    Xb = np.column_stack([X, np.ones(len(X))])
    p = model.predict_proba(X)[:, 1]
    H = Xb.T @ ((p * (1 - p))[:, None] * Xb) / len(X)
    H[range(X.shape[1]), range(X.shape[1])] += l2
    return np.linalg.eigvalsh(H)[-1]


# A number printed with two digits is within 5 % of its value.
two_digits = {"rel": 0.051}


def is_safe(quoted, safe):
    """Whether the text quotes two digits of the safe rate, rounded down."""
    return 0.9 * safe <= quoted <= safe


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_clean_run_has_no_diagnosis(n_classes):
    A, y = make_data(n=400, n_classes=n_classes)
    A, A_val, y, y_val = A[:200], A[200:], y[:200], y[200:]
    model = GradientDescentClassifier(l2=0.1, learning_rate=0.5, epochs=300)
    assert kinds(model.fit(A, y, None, A_val, y_val)) == []
    assert kinds(Perceptron().fit(np.sign(A), (A[:, 0] > 0).astype(int))) == []


def test_a_diagnosis_reads_as_one_text():
    model = GradientDescentClassifier(epochs=3).fit(X, Y)
    diagnosis = the("not_converged", model)
    assert str(diagnosis) == f"not_converged: {diagnosis.message} {diagnosis.remedy}"


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_diverged_quotes_the_safe_rate_from_the_data(scale):
    A = scale * X
    model = GradientDescentClassifier("squared", learning_rate=3.0, epochs=100, l2=0.2).fit(A, Y)
    assert kinds(model) == ["diverged"]
    diagnosis = the("diverged", model)
    safe = 2 / smoothness(A, 1.0, l2=0.2)
    assert is_safe(number("A rate of", diagnosis.message), safe)
    assert number("The learning rate", diagnosis.message) == 3.0
    assert is_safe(number("Lower the learning rate to", diagnosis.remedy), safe)
    assert "were kept" in diagnosis.remedy
    assert "from 0.5 to" in diagnosis.message
    assert number("since epoch", diagnosis.message) == model.best_epoch_ + 1


def test_divergence_of_a_loss_with_kinks_quotes_no_rate_limit():
    model = GradientDescentClassifier("hinge", learning_rate=1e4, epochs=100).fit(X, Y)
    diagnosis = the("diverged", model)
    assert "2/L" not in diagnosis.message
    assert "'inverse'" in diagnosis.remedy


@pytest.mark.parametrize(("momentum", "times"), [(0.0, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("seed", [0, 1])
def test_oscillating_quotes_the_limit_at_the_largest_hessian(momentum, times, seed):
    A, y = make_data(seed=seed, noise=0.2)
    options = {"l2": 0.05, "momentum": momentum, "epochs": 60}
    rate = 3 * times / smoothness(A, 0.25, 0.05)
    model = GradientDescentClassifier(learning_rate=rate, **options).fit(A, y)
    assert kinds(model) == ["oscillating"]
    message = the("oscillating", model).message
    assert is_safe(number("A rate of", message), 2 / smoothness(A, 0.25, 0.05))
    # At zero weights every probability is 1/2, where the logistic curvature is largest.
    at_start = hessian_top(
        GradientDescentClassifier(epochs=1, learning_rate=1e-300).fit(A, y), A, 0.05
    )
    at_end = hessian_top(model, A, 0.05)
    assert at_start > at_end
    assert number(r"is above", message) == pytest.approx(times / at_start, **two_digits)
    assert "at the starting weights" in message


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(
    ("rule", "formula"),
    [
        ("plain", "2"),
        ("momentum", "2 (1 + momentum)"),
        ("nesterov", "2 (1 + momentum) / (1 + 2 momentum)"),
    ],
)
def test_the_local_limit_comes_with_the_formula_of_the_rule(rule, formula, momentum):
    options = {"rule": rule, "momentum": momentum, "learning_rate": 50.0}
    message = the("diverged", GradientDescentClassifier("squared", **options).fit(X, Y)).message
    formula = formula if momentum else "2"
    assert f"({formula} / the largest curvature there, " in message


def test_a_run_that_diverges_from_flat_weights_quotes_the_limit_of_the_steepest_point():
    """The loss may be flat at the kept weights, and the limit there would explain nothing."""
    A, y = load_iris(return_X_y=True)
    for rate in (2.0, 5.0, 20.0):
        for momentum in (0.0, 0.5, 0.9):
            model = GradientDescentClassifier(learning_rate=rate, momentum=momentum).fit(A, y)
            if model.stop_reason_ == "diverged":
                message = the("diverged", model).message
                assert f"The learning rate {rate:g} is above" in message
                assert number("is above", message) < rate


@pytest.mark.parametrize("scale", np.geomspace(0.1, 10.0, 15))
def test_the_quoted_safe_rate_is_never_above_the_true_one(scale):
    model = GradientDescentClassifier("squared", learning_rate=1e3).fit(scale * X, Y)
    safe = 2 / smoothness(scale * X, 1.0)
    assert is_safe(number("Lower the learning rate to", the("diverged", model).remedy), safe)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "momentum", "times"),
    [("plain", 0.9, 2.0), ("momentum", 0.5, 3.0), ("nesterov", 0.5, 1.5)],
)
def test_the_local_limit_is_where_the_rule_begins_to_oscillate(rule, momentum, times):
    # On a squared loss the Hessian is the same everywhere, so the limit is exact.
    top = smoothness(X, 1.0)

    def train(share):
        return GradientDescentClassifier(
            "squared", rule=rule, momentum=momentum, learning_rate=share * times / top, epochs=3000
        ).fit(X, Y)

    below, above = train(0.98), train(1.02)
    assert below.stop_reason_ == "epochs"
    assert above.stop_reason_ == "diverged"
    limit = number("is above", the("diverged", above).message)
    assert limit == pytest.approx(times / top, **two_digits)


def test_oscillating_counts_the_epochs_in_which_the_objective_rose():
    model = GradientDescentClassifier(l2=0.05, learning_rate=20.0, epochs=60).fit(X, Y)
    values = np.r_[np.log(2), model.history_["objective"]]
    rises = np.flatnonzero(np.diff(values) > 0) + 1
    message = the("oscillating", model).message
    told = (
        f"rose in {len(rises)} of 60 epochs (last in epoch {rises[-1]}) and ended "
        f"at {values[-1]:.4g}, above its lowest value {values.min():.4g}"
    )
    assert told in message


@pytest.mark.parametrize(("rising", "told"), [(4, False), (5, True)])
def test_rises_in_five_percent_of_the_epochs_are_an_oscillation(rising, told):
    values = np.linspace(1.0, 0.5, 100)
    values[2 : 2 * rising + 2 : 2] = values[1 : 2 * rising : 2] * 1.01
    values = np.minimum.accumulate(values) + np.where(np.diff(values, prepend=2.0) > 0, 0.1, 0.0)
    nothing = Certificate("gradient_norm", 0.5, None, None, None, 0.0)
    trace = Trace({"objective": values}, 2.0, "epochs", None, nothing)
    assert len(trace.rises()) == rising
    assert trace.oscillates() is told


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([3.0, 1.5, 1.0, 0.9], []),  # one rise, which is recovered
        ([1.5, 1.0, 0.8, 0.9], ["oscillating"]),  # one rise, which is not recovered
        ([3.0, 1.5, 2.5, 1.4], ["oscillating"]),  # several
        ([3.0, 2.9, 2.8, 2.7], ["ended_higher"]),  # never below its start
    ],
)
def test_one_rise_is_an_oscillation_only_if_it_lasts(values, told):
    history = {"objective": np.array(values), "gradient_norm": np.ones(4)}
    history |= {"val_loss": np.full(4, np.nan), "train_loss": np.array(values)}
    proven = Certificate("gap", 1.0, 1.0, 0.0, 0.0, 0.0)
    trace = Trace(history, 2.0, "epochs", None, proven)
    objective = Objective(Dataset.of(X, Y), LOSSES["logistic"], ElasticNet(0.0, 0.1))
    (found,) = diagnose(objective, [Model.zeros(3, 1, 1)], [trace], whole=False)
    assert [d.kind for d in found] == told


def test_noise_of_mini_batches_is_not_an_oscillation():
    model = GradientDescentClassifier(batch_size=5, learning_rate=0.3, l2=0.05).fit(X, Y)
    assert kinds(model) == ["noisy"]
    diagnosis = the("noisy", model)
    assert "mini-batches are noisy" in diagnosis.message
    assert "'inverse'" in diagnosis.remedy


def test_an_oscillation_of_momentum_below_the_limit_is_blamed_on_momentum():
    model = GradientDescentClassifier(momentum=0.99, learning_rate=0.3, l2=0.05).fit(X, Y)
    diagnosis = the("oscillating", model)
    assert "Momentum 0.99 makes the steps overshoot" in diagnosis.message
    assert "Lower the momentum" in diagnosis.remedy


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_an_oscillation_around_kinks_is_blamed_on_the_loss(momentum):
    settings = {"learning_rate": 0.5, "l2": 0.1, "epochs": 300, "momentum": momentum}
    model = GradientDescentClassifier("hinge", **settings).fit(X, Y)
    assert "The loss has kinks" in the("oscillating", model).message
    assert "'inverse'" in the("oscillating", model).remedy


def test_not_converged_reports_the_last_fall_and_the_safe_rate():
    model = GradientDescentClassifier(learning_rate=0.01, l2=0.1, epochs=50).fit(X, Y)
    assert kinds(model) == ["not_converged"]
    diagnosis = the("not_converged", model)
    values = model.history_["objective"]
    fall = (values[-6] - values[-1]) / values[-6]
    assert f"still falling, by {100 * fall:.2f} % over the last 5 epochs" in diagnosis.message
    norm = model.history_["gradient_norm"][-1]
    assert f"gradient norm {norm:.2g}" in diagnosis.message
    safe = 2 / smoothness(X, 0.25, 0.1)
    assert is_safe(number("up to", diagnosis.remedy), safe)
    assert "now 0.01" in diagnosis.remedy


def test_a_slow_run_far_from_the_optimum_is_not_converged_although_it_hardly_falls():
    model = GradientDescentClassifier(learning_rate=1e-6, l2=0.1, epochs=50).fit(X, Y)
    assert "still 100 % of that after the first epoch" in the("not_converged", model).message


@pytest.mark.parametrize("loss", ["softmax", "squared_hinge"])
def test_the_safe_rate_depends_on_the_curvature_of_the_loss(loss):
    A, y = make_data(n_classes=3)
    model = GradientDescentClassifier(loss, learning_rate=1e-3, epochs=20, l2=0.1).fit(A, y)
    curvature = {"softmax": 0.5, "squared_hinge": 2.0 * 3}[loss]
    safe = number("up to", the("not_converged", model).remedy)
    assert is_safe(safe, 2 / smoothness(A, curvature, 0.1))


def test_the_safe_rate_depends_on_the_weights_of_the_rows():
    s = np.where(np.abs(X[:, 0]) > 1, 5.0, 0.1)
    model = GradientDescentClassifier(learning_rate=1e-3, epochs=20, l2=0.1).fit(X, Y, s)
    safe = number("up to", the("not_converged", model).remedy)
    assert is_safe(safe, 2 / smoothness(X, 0.25, 0.1, s))
    assert not is_safe(safe, 2 / smoothness(X, 0.25, 0.1))


def test_overfitting_names_the_epoch_from_which_the_validation_loss_rose():
    A, y = make_data(n=215, d=10, noise=3.0)
    A, A_val, y, y_val = A[:15], A[15:], y[:15], y[15:]
    options = {"learning_rate": 0.5, "epochs": 400}
    model = GradientDescentClassifier(**options).fit(A, y, None, A_val, y_val)
    diagnosis = the("overfitting", model)
    val, train = model.history_["val_loss"], model.history_["train_loss"]
    lowest = int(np.argmin(val))
    assert f"Overfitting since epoch {lowest + 1}:" in diagnosis.message
    assert f"rose from {val[lowest]:.3g} to {val[-1]:.3g}" in diagnosis.message
    assert f"fell from {train[lowest]:.3g} to {train[-1]:.3g}" in diagnosis.message
    assert f"epochs={lowest + 1}" in diagnosis.remedy
    # Without a validation set overfitting cannot be seen.
    assert "overfitting" not in kinds(GradientDescentClassifier(**options).fit(A, y))
    # Validation on the training rows shows none.
    assert "overfitting" not in kinds(GradientDescentClassifier(**options).fit(A, y, None, A, y))


@pytest.mark.parametrize("epochs", [9, 10, 40])
@pytest.mark.parametrize(("rise", "told"), [(0.0, False), (0.01, True)])
def test_the_swings_of_an_oscillation_are_not_overfitting(epochs, rise, told):
    at = np.arange(epochs)
    val = 0.5 + rise * at + np.where((epochs - at) % 2 == 1, 0.2, 0.0)  # ends on an upswing
    history = {"objective": 1 / (at + 2), "train_loss": 1 / (at + 2), "val_loss": val}
    history["gradient_norm"] = history["objective"]
    nothing = Certificate("gradient_norm", 0.5, None, None, None, 0.0)
    objective = Objective(Dataset.of(X, Y), LOSSES["logistic"], ElasticNet(0.0, 0.0))
    trace = Trace(history, 1.0, "epochs", None, nothing)
    found = diagnose(objective, [Model.zeros(3, 1, 1)], [trace])[0]
    assert ("overfitting" in [d.kind for d in found]) is told


@pytest.mark.parametrize(("lowest", "told"), [(0.5, True), (5e-6, False)])
def test_a_rise_that_is_tiny_beside_the_start_is_not_overfitting(lowest, told):
    """From 5e-6 to 8e-4 all rows stay classified correctly; the start is 1."""
    val = np.r_[1e-2, lowest, np.full(8, lowest + (0.1 if told else 8e-4))]
    history = {"objective": 1 / np.arange(2.0, 12.0), "val_loss": val}
    history |= {"train_loss": history["objective"], "gradient_norm": history["objective"]}
    nothing = Certificate("gradient_norm", 0.5, None, None, None, 0.0)
    objective = Objective(Dataset.of(X, Y), LOSSES["logistic"], ElasticNet(0.0, 0.0))
    trace = Trace(history, 1.0, "epochs", None, nothing)
    found = diagnose(objective, [Model.zeros(3, 1, 1)], [trace])[0]
    assert ("overfitting" in [d.kind for d in found]) is told


@pytest.mark.parametrize(("last", "told"), [(0.499, False), (0.49, True)])
def test_a_training_loss_that_stays_the_same_is_not_overfitting(last, told):
    val = np.r_[0.6, 0.5, np.full(8, 0.7)]
    train = np.r_[0.6, 0.5, np.full(8, last)]
    history = {"objective": train, "val_loss": val, "train_loss": train, "gradient_norm": train}
    nothing = Certificate("gradient_norm", 0.5, None, None, None, 0.0)
    objective = Objective(Dataset.of(X, Y), LOSSES["logistic"], ElasticNet(0.0, 0.0))
    found = diagnose(
        objective, [Model.zeros(3, 1, 1)], [Trace(history, 1.0, "epochs", None, nothing)]
    )
    assert ("overfitting" in [d.kind for d in found[0]]) is told


def test_a_slow_run_above_the_safe_rate_is_not_advised_to_raise_it():
    A, y = load_iris(return_X_y=True)
    model = GradientDescentClassifier(learning_rate=0.1, momentum=0.9).fit(A, y)
    safe = 2 / smoothness(A, 0.5)
    assert safe < 0.1
    remedy = the("not_converged", model).remedy
    assert "already above" in remedy
    assert is_safe(number("already above", remedy), safe)
    adam = GradientDescentClassifier(rule="adam", epochs=10).fit(A, y)
    assert the("not_converged", adam).remedy == "Train for more epochs, or raise the learning rate."


def test_the_tumours_are_separable_without_a_penalty():
    model = GradientDescentClassifier(learning_rate=1e-4).fit(TUMOURS, MALIGNANT)
    diagnosis = the("separable", model)
    assert "no finite optimum" in diagnosis.message
    assert "l2" in diagnosis.remedy
    penalised = GradientDescentClassifier(learning_rate=1e-4, l2=0.1).fit(TUMOURS, MALIGNANT)
    assert "separable" not in kinds(penalised)
    # The hinge reaches 0 at finite weights.
    hinge = GradientDescentClassifier("hinge", learning_rate=1e-4).fit(TUMOURS, MALIGNANT)
    assert "separable" not in kinds(hinge)


def test_data_that_no_hyperplane_separates_is_not_reported_as_separable():
    mixed = [*TUMOURS, [7, 54]], [*MALIGNANT, 1]
    apart = [*TUMOURS, [7, 54]], [*MALIGNANT, 0]
    options = {"learning_rate": 1e-4, "epochs": 20}
    assert "separable" in kinds(GradientDescentClassifier(**options).fit(*apart))
    assert "separable" in kinds(GradientDescentClassifier(**options).fit(*mixed))
    between = [*TUMOURS, [3.5, 64]], [*MALIGNANT, 1]  # on the line through two benign ones
    assert "separable" in kinds(GradientDescentClassifier(**options).fit(*between))
    inside = [*TUMOURS, [3.5, 64], [11, 50.5]], [*MALIGNANT, 1, 0]  # and the other way round
    assert "separable" not in kinds(GradientDescentClassifier(**options).fit(*inside))


def test_features_on_different_scales_are_named_with_their_spreads():
    A = X * [1.0, 1e-2, 1.0]
    assert "scales" not in kinds(GradientDescentClassifier(epochs=20).fit(A, Y))
    A = X * [1.0, 1e-3, 50.0]
    model = GradientDescentClassifier(epochs=20, learning_rate=1e-4).fit(A, Y)
    message = the("scales", model).message
    assert f"column 2 has a standard deviation of {A[:, 2].std():.3g}" in message
    assert f"column 1 has {A[:, 1].std():.3g}" in message
    assert "StandardScaler" in the("scales", model).remedy


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e5 / 7])
def test_a_constant_column_is_ignored_by_the_check_of_scales(constant, convert):
    A = np.column_stack([X, np.full(len(X), constant)])
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    for weights in (None, s):
        model = GradientDescentClassifier(epochs=20, learning_rate=1e-9)
        assert "scales" not in kinds(model.fit(convert(A), Y, weights))


def test_rows_without_weight_are_ignored_by_the_check_of_scales():
    A, s = X.copy(), np.ones(len(X))
    A[7, 1], s[7] = 1e9, 0.0
    assert "scales" not in kinds(GradientDescentClassifier().fit(A, Y, s))
    assert "scales" in kinds(GradientDescentClassifier(learning_rate=1e-20).fit(A, Y))


def scales_of(blocks):
    """The messages about scales for data in blocks, from a run that does not move."""
    data = Dataset([Block.of(*block) for block in blocks], np.arange(2))
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 1.0))
    solver = Gradient(np.array([1e-9]), np.array([0.0]), np.array([0.0]))
    start = Model.zeros(data.n_features, 1, 1)
    found = run(solver, objective, start, Stop(epochs=((1,),)))[0][0].diagnoses
    return [d.message for d in found if d.kind == "scales"]


def test_the_scales_of_blocks_are_computed_over_all_rows():
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    A = X * [1.0, 1e-4, 30.0]
    A[:50, 1] += 0.1  # hardly any spread within a block, but a thousand times more between them
    halves = [(A[c], Y[c], s[c]) for c in (slice(0, 50), slice(50, None))]
    assert scales_of(halves) == scales_of([(A, Y, s)]) == []
    A[:, 2] *= 10.0
    halves = [(A[c], Y[c], s[c]) for c in (slice(0, 50), slice(50, None))]
    mean = np.average(A[:, 1], weights=s)
    spread = np.sqrt(np.average((A[:, 1] - mean) ** 2, weights=s))
    (message,) = scales_of(halves)
    assert f"column 1 has {spread:.3g}." in message
    assert scales_of([(A, Y, s)]) == [message]
    A[:, 0] = 0.1  # constant, in both
    halves = [(A[c], Y[c], s[c]) for c in (slice(0, 50), slice(50, None))]
    assert scales_of(halves) == [message]


@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
@pytest.mark.parametrize(("l1", "l2"), [(0.1, 0.0), (0.0, 0.1)])
def test_the_perceptron_loss_with_a_penalty_reports_that_its_optimum_is_zero(l1, l2, multiclass):
    A, y = make_data(n_classes=3)
    options = {"l1": l1, "l2": l2, "multiclass": multiclass}
    diagnosis = the("zero_optimum", GradientDescentClassifier("perceptron", **options).fit(A, y))
    assert f"(l1={l1:g}, l2={l2:g}) the optimum is W = 0" in diagnosis.message
    assert "hinge" in diagnosis.remedy
    for other in (
        GradientDescentClassifier("hinge", **options),
        GradientDescentClassifier("perceptron", multiclass=multiclass),
        Perceptron(epochs=5),
    ):
        assert "zero_optimum" not in kinds(other.fit(A, y))
    # Zero is the optimum: the objective is 0 there and nowhere lower.
    objective = Objective(Dataset.of(A, y), LOSSES["perceptron"], ElasticNet(l1, l2))
    assert objective.value(Model.zeros(3, 1, 3))[0] == 0.0


def test_the_penalty_of_each_model_decides_whether_its_optimum_is_zero():
    models = [GradientDescentClassifier("perceptron", l2=l2) for l2 in (0.0, 0.1)]
    told = ["zero_optimum" in kinds(m) for m in fit_many(models, X, Y)]
    assert told == [False, True]


def test_a_class_with_almost_no_samples_is_named_with_its_count():
    y = np.where(np.arange(120) < 2, "rare", np.where(Y == 1, "b", "a"))
    model = GradientDescentClassifier(epochs=20).fit(X, y)
    assert "Class rare has only 2 of 120 training rows." in the("rare_class", model).message
    y[2] = "rare"
    assert "rare_class" not in kinds(GradientDescentClassifier(epochs=20).fit(X, y))


def test_the_diagnosis_of_a_perceptron_does_not_mention_rates():
    model = Perceptron(epochs=30).fit(X, Y)
    assert kinds(model) == ["not_converged"]
    diagnosis = the("not_converged", model)
    right = model.history_["train_accuracy"][-1]
    assert f"{100 * right:.1f} % of the training rows" in diagnosis.message
    assert "rate" not in diagnosis.message + diagnosis.remedy
    weighted = Perceptron(epochs=30, class_weight={0: 10}).fit(X, Y)
    right = weighted.history_["train_accuracy"][-1]
    message = the("not_converged", weighted).message
    assert f"{100 * right:.1f} % of the training rows, counted with their weights, are" in message


def test_adam_is_not_judged_by_the_limits_of_other_rules():
    model = GradientDescentClassifier(rule="adam", learning_rate=5.0, l2=0.1, epochs=50).fit(X, Y)
    found = the("oscillating", model)
    assert "stability limit" not in found.message
    assert "2/L" not in found.message + found.remedy


def test_the_models_of_a_batch_are_diagnosed_separately():
    rates = [1e-4, 0.5, 12.0]
    models = [GradientDescentClassifier(learning_rate=r, l2=0.1, epochs=200) for r in rates]
    alone = [GradientDescentClassifier(**m.get_params()).fit(X, Y) for m in models]
    together = fit_many(models, X, Y)
    assert [kinds(m) for m in together] == [["not_converged"], [], ["oscillating"]]
    assert [m.diagnoses_ for m in together] == [m.diagnoses_ for m in alone]


def test_separability_is_not_proven_by_another_model_of_the_batch():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6000, 5))
    side = A @ [1.0, -1.0, 0.5, 0.0, 0.2]
    A, y = A[np.abs(side) > 0.1], (side[np.abs(side) > 0.1] > 0).astype(int)

    def make():
        return [GradientDescentClassifier(learning_rate=rate, epochs=150) for rate in (0.01, 30.0)]

    together = fit_many(make(), A, y)
    assert [kinds(m) for m in together] == [["not_converged"], ["not_converged", "separable"]]
    assert [m.diagnoses_ for m in together] == [m.fit(A, y).diagnoses_ for m in make()]


def test_small_data_is_proven_separable_for_every_model_by_the_linear_programme():
    models = [GradientDescentClassifier(learning_rate=rate, epochs=3) for rate in (1e-6, 1e-4)]
    assert all("separable" in kinds(m) for m in fit_many(models, TUMOURS, MALIGNANT))


def test_the_classes_of_every_model_are_counted_by_its_own_weights():
    S = np.ones((120, 3))
    S[np.flatnonzero(Y == 1)[2:], 1] = 0.0
    S[np.flatnonzero(Y == 0)[1:], 2] = 0.0
    models = [GradientDescentClassifier(l2=1.0, epochs=300, learning_rate=0.1) for _ in range(3)]
    fit_many(models, X, Y, sample_weight=S)
    assert "rare_class" not in kinds(models[0])
    left = np.count_nonzero(Y == 0) + 2
    assert the("rare_class", models[1]).message == f"Class 1 has only 2 of {left} training rows."
    assert "Class 0 has only 1 of" in the("rare_class", models[2]).message
    for k, model in enumerate(models):
        alone = GradientDescentClassifier(**model.get_params()).fit(X, Y, S[:, k])
        assert alone.diagnoses_ == model.diagnoses_
    without = GradientDescentClassifier(class_weight={1: 0}).fit(X, Y)
    assert the("rare_class", without).message == "No training row of class 1 has a positive weight."


def test_the_scales_of_every_model_are_those_of_its_own_rows():
    A, S = X.copy(), np.ones((len(X), 2))
    A[7, 1], S[7, 0] = 1e9, 0.0
    models = [GradientDescentClassifier(learning_rate=1e-20, epochs=2) for _ in range(2)]
    told = ["scales" in kinds(m) for m in fit_many(models, A, Y, sample_weight=S)]
    assert told == [False, True]


@pytest.mark.parametrize(
    "end",
    [{"gradient_tol": 1e9}, {"step_tol": 1e9}, {"time_limit": 1e-9}, {"tol": 1e9, "l2": 1e-6}],
    ids=lambda end: next(iter(end)),
)
def test_a_run_that_ends_far_above_its_start_has_diverged_for_every_stop_reason(end):
    A, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="diverged: The objective rose from"):
        model = GradientDescentClassifier("hinge", learning_rate=1e3, **end).fit(A, y)
    assert model.stop_reason_ == "diverged"
    assert model.best_epoch_ == 0
    assert not model.coef_.any()


def test_a_run_that_ends_above_its_start_without_swings_says_so():
    A, y = load_iris(return_X_y=True)
    model = GradientDescentClassifier("sigmoid_mse", learning_rate=5).fit(A, y)
    found = the("ended_higher", model)
    assert number("ended at", found.message) > number("above its starting value", found.message)
    assert "not convex" in found.message
    lower = GradientDescentClassifier("sigmoid_mse", learning_rate=0.05).fit(A, y)
    assert "ended_higher" not in kinds(lower)


def test_overfitting_is_not_reported_for_a_run_that_kept_the_best_weights():
    A, y = make_data(n=30, d=20, noise=3.0)
    A_val, y_val = make_data(n=200, d=20, noise=3.0, seed=1)
    common = {"learning_rate": 0.5, "epochs": 400}
    plain = GradientDescentClassifier(**common).fit(A, y, X_val=A_val, y_val=y_val)
    patient = GradientDescentClassifier(**common, patience=20).fit(A, y, X_val=A_val, y_val=y_val)
    assert "overfitting" in kinds(plain)
    assert "overfitting" not in kinds(patient)


def test_swings_that_have_died_out_do_not_hide_an_unfinished_run():
    A, y = load_iris(return_X_y=True)
    model = GradientDescentClassifier(
        rule="nesterov", momentum=0.9, learning_rate=0.1, epochs=300, l2=0.01
    ).fit(A, y)
    assert model.certificate_.relative_gap > 0.1
    assert "not_converged" in kinds(model)


def test_a_fixed_bias_does_not_make_rows_separable():
    A, y = np.array([[0.5], [1.5]]), [0, 1]
    model = GradientDescentClassifier(
        fit_intercept=False, init=([[10.0]], [-10.0]), epochs=5, learning_rate=1e-3
    ).fit(A, y)
    assert "separable" not in kinds(model)
