"""The learning rates that explain a divergence, and the rates that the remedies name."""

import re
import warnings

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from separatrix import GradientDescentClassifier, load

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


def diverged(data=(X, Y), **options):
    """A run that diverged, and its diagnosis."""
    model = GradientDescentClassifier(**{"epochs": 100, **options})
    with pytest.warns(match="diverged"):
        model.fit(*data)
    (found,) = (d for d in model.diagnoses_ if d.kind == "diverged")
    return model, found


def logistic_limit(model, l2, times=2.0):
    """times / lambda_max of the logistic Hessian at the weights of a model, by numpy."""
    rows = np.column_stack([X, np.ones(len(X))])
    p = model.predict_proba(X)[:, 1]
    H = rows.T @ ((p * (1.0 - p))[:, None] * rows) / len(X)
    H[range(X.shape[1]), range(X.shape[1])] += l2
    return times / np.linalg.eigvalsh(H)[-1]


def quoted(pattern, text):
    found = re.search(rf"{pattern} ([\d.e+-]*\d)", text)
    return float(found[1])


def test_a_late_divergence_is_explained_by_the_weights_where_it_began():
    """The limit at the start is lower, but the run was elsewhere when it diverged."""
    model, found = diverged(l2=1.0, learning_rate=1.5)
    assert model.best_epoch_ == 2
    there = GradientDescentClassifier(l2=1.0, learning_rate=1.5, epochs=2).fit(X, Y)
    at_start = GradientDescentClassifier(l2=1.0, learning_rate=1e-300, epochs=1).fit(X, Y)
    limit = logistic_limit(there, 1.0)
    assert logistic_limit(at_start, 1.0) < 0.5 * limit < limit < 1.5
    assert quoted("1.5 is above", found.message) == pytest.approx(limit, rel=0.051)
    assert "at the weights of epoch 2, the last before it diverged" in found.message
    assert "starting weights" not in found.message


def test_a_divergence_from_a_flat_place_names_both_limits():
    options = {"l2": 1.0, "learning_rate": 3.0, "momentum": 0.9}
    model, found = diverged(**options)
    kept = model.best_epoch_
    assert kept > 1
    there = GradientDescentClassifier(epochs=kept, **options).fit(X, Y)
    at_kept = logistic_limit(there, 1.0, 2.0 * 1.9)
    assert at_kept > 3.0
    assert quoted("3 is above", found.message) < 3.0
    assert "the stability limit at the starting weights" in found.message
    assert f"flatter at the weights of epoch {kept}, the last before it diverged" in found.message
    assert quoted("where the limit is", found.message) == pytest.approx(at_kept, rel=0.051)


def test_a_divergence_below_the_limit_at_its_weights_names_the_curvature_along_the_step():
    """Rate 5 is below the limit 7.8 at the weights of epoch 10, but the next step rises."""
    iris = load("iris")
    train = iris.splits["train"]
    A, y = (np.asarray(values)[train] for values in (iris.table, iris.y))
    y = np.unique(y, return_inverse=True)[1]
    model, found = diverged((A, y), learning_rate=5.0)
    kept = model.best_epoch_
    rows, labels = np.column_stack([A, np.ones(len(A))]), np.eye(3)[y]
    W = np.zeros((5, 3))
    for _ in range(kept + 1):
        before, last = W, softmax_loss(rows, labels, W)
        W = W - 5.0 * softmax_gradient(rows, labels, W)
    # The curvature along the step, integrated: 2 (P(w + s) - P(w) - <g, s>) / |s|^2.
    s = W - before
    slope = np.sum(softmax_gradient(rows, labels, before) * s)
    mean = 2.0 * (softmax_loss(rows, labels, W) - last - slope) / np.sum(s * s)
    assert kept == 10
    at_kept = quoted("where the limit is", found.message)
    assert 2.0 / mean < 5.0 < at_kept
    assert quoted("the mean curvature is", found.message) == pytest.approx(mean, rel=0.051)
    assert quoted("for which the limit is", found.message) == pytest.approx(2 / mean, rel=0.051)
    assert f"rose from {last:.3g} to {softmax_loss(rows, labels, W):.3g}" in found.message
    assert "Lower the learning rate to 0.0" in found.remedy


def test_no_curvature_is_quoted_if_the_rate_changes_between_epochs():
    """The rate of the last epoch is not that of the step which left the flat place."""
    iris = load("iris")
    A, y = (np.asarray(values)[iris.splits["train"]] for values in (iris.table, iris.y))
    for decay in (1e-6, 1e-4, 1e-2):
        options = {"learning_rate": 5.0, "schedule": "exponential", "decay": decay}
        assert "mean curvature" not in diverged((A, y), **options)[1].message


def softmax_gradient(rows, labels, W):
    P = softmax(rows @ W, axis=1)
    return rows.T @ (P - labels) / len(rows)


def softmax_loss(rows, labels, W):
    return -np.mean(np.sum(labels * log_softmax(rows @ W, axis=1), axis=1))


def test_a_divergence_after_other_rises_names_the_first_of_them():
    data = load_wine(return_X_y=True)
    model, found = diverged(
        (scale(data[0]), data[1]), loss="squared_hinge", l2=0.1, learning_rate=1.0
    )
    values = np.r_[2.0, model.history_["objective"]]  # of three classes and zero scores
    first = int(np.flatnonzero(np.diff(values) > 0.0)[0]) + 1
    assert first < model.best_epoch_
    assert f"(first rise in epoch {first}, diverging since" in found.message


@pytest.mark.parametrize(
    ("rate", "remedy"),
    [
        (0.1, "Use larger batches, less momentum or a learning rate below 0.1."),
        (0.3, "or use larger batches."),
    ],
)
def test_the_remedy_for_diverging_batches_is_not_a_rate_above_that_of_the_run(rate, remedy):
    _, found = diverged(loss="squared", momentum=0.9, l2=1.0, learning_rate=rate, batch_size=16)
    assert remedy in found.remedy
    assert quoted("learning rate below", found.remedy) <= rate
    assert "With steps on all rows, a rate of" in found.message
    assert ("a batch of 16 rows can be more curved" in found.message) == (
        "is below" in found.message
    )


def test_the_safe_rate_of_nesterov_is_stable():
    """Its limit on a quadratic is below 2 / curvature."""
    options = {"loss": "squared", "rule": "nesterov", "momentum": 0.9, "l2": 0.1}
    _, found = diverged(learning_rate=1.0, **options)
    safe = quoted("Lower the learning rate to", found.remedy)
    assert "(2 (1 + momentum) / (1 + 2 momentum) / L, where" in found.message
    below = GradientDescentClassifier(learning_rate=safe, epochs=2000, **options).fit(X, Y)
    assert below.stop_reason_ == "epochs"


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_penalty_that_overshoots_explains_the_divergence_of_a_loss_with_kinks(momentum):
    limit = 2.0 * (1.0 + momentum) / 0.5
    options = {"loss": "hinge", "l2": 0.5, "momentum": momentum}
    _, found = diverged(learning_rate=1.2 * limit, **options)
    assert quoted("is above", found.message) == limit
    assert "the stability limit of the L2 penalty alone" in found.message
    assert found.remedy.startswith(f"Lower the learning rate below {limit:g}, or let it decay")
    _, unknown = diverged(loss="hinge", learning_rate=1e4)
    assert "for a loss with kinks, no stable rate is known" in unknown.message
    assert "penalty alone" not in unknown.message


def test_a_divergence_on_single_rows_says_that_a_row_can_be_more_curved():
    options = {"batch_size": 1, "l2": 1.5, "learning_rate": 0.8, "random_state": 1}
    _, found = diverged(epochs=3, **options)
    assert "The objective is flatter at the weights" in found.message
    assert "Limits hold for steps on all rows; a batch of 1 row" in found.message


def test_a_run_that_stopped_early_is_not_told_to_train_longer():
    options = {"momentum": 0.9, "learning_rate": 0.5, "l2": 0.01}
    for more, longer in (({"epochs": 20}, True), ({"patience": 2, "epochs": 500}, False)):
        model = GradientDescentClassifier(**options, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[::2], Y[::2], X_val=X[1::2], y_val=Y[1::2])
        (found,) = (d for d in model.diagnoses_ if d.kind == "oscillating")
        assert found.remedy.startswith("Lower the momentum")
        assert ("train longer" in found.remedy) is longer
        assert (model.stop_reason_ == "patience") is not longer
