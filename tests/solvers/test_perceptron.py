"""Rosenblatt's rule, against a transcription of the lectures' three lines."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix import Perceptron, fit_many
from separatrix.data import Block
from separatrix.solvers import PerceptronRule

CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
TUMOURS = np.array([[10, 52], [2, 73], [5, 55], [12, 49]])
MALIGNANT = np.array([1, 0, 0, 1])


def transcribe(X, y, epochs, seed=0, bias=True):
    """Weights (K, d), biases (K,), and whether the last epoch had no mistakes."""
    d = X.shape[1]
    block = Block.of(X, y)
    C = y.max() + 1
    W, b = np.zeros((1 if C == 2 else C, d)), np.zeros(1 if C == 2 else C)
    rule = PerceptronRule(seed=seed)
    for epoch in range(1, epochs + 1):
        mistakes = 0
        for i in rule.order(block, epoch):
            z = W @ X[i] + b
            if C == 2:
                step = 0
                if y[i] == 1 and z[0] < 0:
                    step = 1
                elif y[i] == 0 and z[0] >= 0:
                    step = -1
                W[0] += step * X[i]
                b[0] += step * bias
                mistakes += step != 0
            elif (j := z.argmax()) != y[i]:
                W[y[i]] += X[i]
                W[j] -= X[i]
                b[y[i]] += bias
                b[j] -= bias
                mistakes += 1
        if mistakes == 0:
            return W, b, epoch, True
    return W, b, epochs, False


def noisy_data(n_classes, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n, 3)).astype(float)  # whole numbers: sums without rounding
    y = (X @ rng.normal(size=(3, n_classes)) + rng.normal(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_rule_is_the_rule_of_the_lectures(n_classes, seed, bias):
    X, y = noisy_data(n_classes)
    model = Perceptron(epochs=20, random_state=seed, fit_intercept=bias).fit(X, y)
    W, b, epochs, separated = transcribe(X, y, 20, seed, bias)
    np.testing.assert_array_equal(model.coef_, W)
    np.testing.assert_array_equal(model.intercept_, b)
    assert model.n_iter_ == epochs
    assert model.stop_reason_ == ("no mistakes" if separated else "epochs")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "y", [[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]], ids=["and", "or", "nand", "x1"]
)
def test_gates_are_learnt_exactly(y, seed):
    y = np.array(y)
    model = Perceptron(random_state=seed).fit(CORNERS, y)
    assert model.stop_reason_ == "no mistakes"
    np.testing.assert_array_equal(model.predict(CORNERS), y)
    assert model.history_["train_accuracy"][-1] == model.score(CORNERS, y) == 1.0
    W, _, epochs, _ = transcribe(CORNERS.astype(float), y, 1000, seed)
    np.testing.assert_array_equal(model.coef_, W)
    assert model.n_iter_ == epochs


def test_a_score_of_zero_is_the_positive_class_in_training_and_prediction():
    # From zeros, a positive example has w.x = 0: no mistake, so nothing is learnt from it.
    model = Perceptron(epochs=50).fit([[1.0], [-1.0]], [1, 0])
    assert model.score([[1.0], [-1.0]], [1, 0]) == 1.0
    assert model.predict([[-model.intercept_[0] / model.coef_[0, 0]]])[0] == 1


def test_xor_is_never_learnt():
    model = Perceptron(epochs=57).fit(CORNERS, [0, 1, 1, 0])
    assert (model.stop_reason_, model.n_iter_) == ("epochs", 57)
    assert model.score(CORNERS, [0, 1, 1, 0]) < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_tumours_are_separated(seed):
    model = Perceptron(random_state=seed, epochs=5000).fit(TUMOURS, MALIGNANT)
    assert model.stop_reason_ == "no mistakes"
    np.testing.assert_array_equal(model.predict(TUMOURS), MALIGNANT)


def test_training_ends_with_the_first_epoch_without_a_mistake():
    X, y = noisy_data(3)
    y = (X @ [[1, -2, 0.5], [0, 1, 1], [2, 0.3, -1]]).argmax(axis=1)
    model = Perceptron().fit(X, y)
    assert model.stop_reason_ == "no mistakes"
    before = Perceptron(epochs=model.n_iter_ - 1).fit(X, y)
    np.testing.assert_array_equal(before.coef_, model.coef_)
    assert before.stop_reason_ == "epochs"
    earlier = Perceptron(epochs=model.n_iter_ - 2).fit(X, y)
    assert not np.array_equal(earlier.coef_, model.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetition(n_classes):
    X, y = noisy_data(n_classes)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    times[:n_classes] = 1
    weighted = Perceptron(epochs=15).fit(X, y, sample_weight=times)
    repeated = Perceptron(epochs=15).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_array_equal(weighted.intercept_, repeated.intercept_)
    assert weighted.n_iter_ == repeated.n_iter_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rows", [40, 300])  # of 300 rows with so few values, some differ only in y
def test_the_order_of_the_rows_does_not_matter(rows, n_classes):
    X, y = noisy_data(n_classes, n=rows)
    order = np.random.default_rng(3).permutation(len(y))
    one = Perceptron(epochs=15).fit(X, y)
    other = Perceptron(epochs=15).fit(X[order], y[order])
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_sparse_rows_give_the_same_weights_as_dense_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(12, 3)) * (rng.random((12, 3)) < 0.5)
    y = rng.permutation(np.arange(12) % 3)
    dense = Perceptron(epochs=10).fit(X.astype(float), y)
    for convert in (sp.csr_array, sp.csc_matrix):
        other = Perceptron(epochs=10).fit(convert(X.astype(float)), y)
        np.testing.assert_array_equal(other.coef_, dense.coef_)
        np.testing.assert_array_equal(other.intercept_, dense.intercept_)
    integers = Perceptron(epochs=10).fit(X, y)
    np.testing.assert_array_equal(integers.coef_, dense.coef_)


def test_perceptrons_trained_together_equal_perceptrons_trained_alone():
    X, y = noisy_data(3)
    starts = [(np.random.default_rng(k).normal(size=(3, 3)), np.zeros(3)) for k in range(3)]

    def make():
        return [Perceptron(init=start, epochs=12) for start in starts] + [Perceptron(epochs=5)]

    for together, alone in zip(fit_many(make(), X, y), make()):
        assert together.coef_.tobytes() == alone.fit(X, y).coef_.tobytes()


def test_the_seed_decides_the_order():
    X, y = noisy_data(2)
    same = [Perceptron(epochs=3, random_state=1).fit(X, y).coef_.tobytes() for _ in range(2)]
    assert same[0] == same[1]
    other = [Perceptron(epochs=3, random_state=s).fit(X, y).coef_.tobytes() for s in range(5)]
    assert len(set(other)) > 1


def test_every_epoch_has_a_different_order():
    X, y = noisy_data(2)
    rule, block = PerceptronRule(seed=0), Block.of(X, y)
    orders = {tuple(rule.order(block, epoch)) for epoch in range(1, 6)}
    assert len(orders) == 5
    assert all(sorted(order) == list(range(len(y))) for order in orders)


def test_partial_fit_continues_training():
    X, y = noisy_data(3)
    whole = Perceptron(epochs=6).fit(X, y)
    step = Perceptron()
    for _ in range(6):
        step.partial_fit(X, y, classes=[0, 1, 2])
    assert step.coef_.tobytes() == whole.coef_.tobytes()


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_the_largest_numbers_have_an_order_too(convert):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (30, 4)) * rng.uniform(1e308, 1.7e308, (30, 4))
    block, y = Block.of(convert(X), np.arange(30) % 2), np.arange(30) % 2
    order = PerceptronRule().order(block, 1)
    assert sorted(order) == list(range(30))
    turned = PerceptronRule().order(Block.of(convert(X[::-1]), y[::-1]), 1)
    np.testing.assert_array_equal(X[::-1][turned], X[order])
