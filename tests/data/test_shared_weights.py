"""Models that share a column of weights have the same bits as with one column each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import GridSearchCV, LogisticRegression
from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS, Coordinate, Dual, Gradient, Newton, PerceptronRule, Solver
from separatrix.training import Stop, train
from separatrix.training.task import Task
from support.forms import FORMS, SMOOTH, Form

N, D = 200, 6
WHOSE = [2, 0, 0, 2, 1, 2]
B = len(WHOSE)
RATES = np.array([0.1]), np.array([0.0]), np.array([0.0])


def two(form: Form, sparse: bool = True, whose: list[int] | None = None) -> tuple[Dataset, Dataset]:
    """The same data with three shared columns of weights, and with one column per model."""
    whose = WHOSE if whose is None else whose
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.4)
    y = rng.permutation(np.arange(N) % form.classes)
    s = rng.exponential(1.0, (N, 3)) * (rng.random((N, 3)) < 0.8)
    rows: Any = sp.csr_array(X) if sparse else X
    return Dataset.of(rows, y, s, weight_column=whose), Dataset.of(rows, y, s[:, whose])


def a_model(form: Form) -> Model:
    rng = np.random.default_rng(4)
    W = rng.standard_normal((D, B, form.outputs))
    return Model(W, rng.standard_normal((B, form.outputs)))


def equal(ours: Any, theirs: Any) -> None:
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_an_evaluation_has_the_same_bits(form: Form, sparse: bool) -> None:
    shared, each = (Objective(data, form.loss, ElasticNet(0.1, 0.2)) for data in two(form, sparse))
    model = a_model(form)
    a, b = shared.evaluate(model), each.evaluate(model)
    for name in ("loss", "accuracy", "GW", "gb"):
        equal(getattr(a, name), getattr(b, name))
    for some in (np.array([4, 3]), np.array([0])):
        alone = shared.select(some).evaluate(model.select(some))
        equal(alone.GW, a.GW[:, some])
        equal(alone.loss, a.loss[some])


@pytest.mark.parametrize("form", SMOOTH, ids=str)
def test_second_derivatives_have_the_same_bits(form: Form) -> None:
    model, way = a_model(form), a_model(form).times(np.arange(1.0, B + 1.0))
    at = [
        Objective(data, form.loss, ElasticNet(0.0, 0.2)).hessian_operator(model)
        for data in two(form)
    ]
    equal(np.tril(at[0].matrix()), np.tril(at[1].matrix()))  # the upper triangle is not used
    equal(at[0].times(way).W, at[1].times(way).W)
    equal(at[0].diagonal().b, at[1].diagonal().b)


def test_statistics_of_the_rows_are_the_same() -> None:
    form = FORMS[0]
    shared, each = two(form)
    some = np.array([5, 1, 0])
    for a, b in ((shared, each), (shared.select(some), each.select(some))):
        equal(a.total_weight(), b.total_weight())
        for ours, theirs in zip(a.class_shares() + a.moments(), b.class_shares() + b.moments()):
            equal(ours, theirs)
        equal(a.every(3).total_weight(), b.every(3).total_weight())
    for m in range(B):
        equal(
            shared.select(np.array([m])).class_weight(), each.select(np.array([m])).class_weight()
        )
    words = [Objective(data, form.loss, ElasticNet(0.0, 1.0)).words(2) for data in (shared, each)]
    assert words[0] == words[1]


def test_models_with_the_same_rows_are_identified_by_the_first_of_them() -> None:
    shared, each = two(FORMS[0])
    assert shared.first_alike(B).tolist() == [0, 1, 1, 0, 4, 0]
    assert each.first_alike(B).tolist() == list(range(B))
    alone = shared.select(np.array([3, 4, 0]))
    assert alone.first_alike(3).tolist() == [0, 1, 0]
    same = Dataset.of(np.ones((2, 1)), [0, 1])
    assert same.first_alike(3).tolist() == [0, 0, 0]
    labels = Dataset.of(np.ones((2, 1)), np.array([[0, 0], [1, 1]]))
    assert labels.first_alike(2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "loss", "l1"),
    [
        (Newton, "logistic", 0.0),
        (partial(Newton, order=1), "logistic", 0.0),
        (LBFGS, "logistic", 0.0),
        (Coordinate, "logistic", 0.01),
        (Dual, "hinge", 0.0),
        (partial(Gradient, *RATES), "logistic", 0.0),
        (partial(Gradient, *RATES, batch_size=7), "logistic", 0.0),
        (PerceptronRule, "perceptron", 0.0),
    ],
    ids=["newton", "conjugate", "lbfgs", "coordinate", "dual", "gradient", "batches", "perceptron"],
)
def test_a_fit_has_the_same_bits(make: Callable[[], Solver], loss: str, l1: float) -> None:
    l2 = 0.0 if loss == "perceptron" else 0.1
    stop = Stop(epochs=((15,),))
    tasks = [
        Task(LOSSES[loss], 1, make(), stop, l1=l1, l2=l2 * (1 + m % 2), precise=True)
        for m in range(B)
    ]
    shared, each = (train(tasks, data) for data in two(FORMS[0]))
    for ours, theirs in zip(shared, each):
        equal(ours.model.W, theirs.model.W)
        equal(ours.model.b, theirs.model.b)
        assert ours.certificate.dual == theirs.certificate.dual


@pytest.mark.parametrize("weights", ["none", "one", "each", "shared"])
def test_separate_labels_can_be_combined_with_any_weights(weights: str) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((N, D)), rng.integers(0, 2, (N, 3))
    s = None if weights == "none" else rng.exponential(1.0, (N, 3))
    given = s[:, 0] if weights == "one" and s is not None else s
    data = Dataset.of(X, y, given, weight_column=[2, 0, 2] if weights == "shared" else None)
    block = data.only_block()
    own = np.broadcast_to(block.weights.reshape(N, -1), (N, 3))
    sums, shares = data.class_shares()
    for m in range(3):
        for c in range(2):
            part = np.where(y[:, m] == c, own[:, m], 0.0) / own[:, m].sum()
            np.testing.assert_allclose(sums[:, m, c], X.T @ part)
            np.testing.assert_allclose(shares[m, c], part.sum())
    tasks = [
        Task(LOSSES["logistic"], 1, Newton(), Stop(epochs=((50,),), tol=np.array([1e-8])), l2=0.1)
        for _ in range(3)
    ]
    for m, found in enumerate(train(tasks, data)):
        assert found.stop_reason == "tol"
        alone = train(tasks[:1], Dataset.of(X, y[:, m], own[:, m]))[0]
        equal(found.model.W, alone.model.W)


def test_weights_far_from_one_are_scaled_per_column() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    s = np.array([[1e200, 1.0]] * 4)
    data = Dataset.of(X, y, s, weight_column=[0, 1, 0])
    np.testing.assert_allclose(data.given_weight(), [4e200, 4.0, 4e200])
    assert data.total_weight().max() < 1e30


@pytest.mark.parametrize("whose", [[0, 3], [-1, 0]])
def test_a_missing_column_is_refused(whose: list[int]) -> None:
    with pytest.raises(ValueError, match=r"of the 3 columns of s"):
        Block.of(np.eye(2), [0, 1], np.ones((2, 3)), whose)


@pytest.mark.filterwarnings("ignore")
def test_every_candidate_with_wrong_class_weights_is_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int)
    grid = {"C": [0.1, 1.0, 10.0], "class_weight": [{0: 2.0, 1: 1.0}, {7: 1.0}]}
    search = GridSearchCV(LogisticRegression(), grid, cv=3, error_score=np.nan)
    search.fit(X, y)
    wrong = [given == {7: 1.0} for given in search.cv_results_["param_class_weight"]]
    equal(np.isnan(search.cv_results_["mean_test_score"]), wrong)


def test_class_weights_are_computed_from_each_models_own_rows() -> None:
    y, s = np.arange(12) % 3, np.arange(24.0).reshape(12, 2) % 5.0
    data = Dataset.of(np.ones((12, 1)), y, s, weight_column=[1, 0, 1])
    for model, column in enumerate([1, 0, 1]):
        for part, rows in (
            (data, slice(None)),
            (data.every(2), slice(None, None, 2)),
            (Dataset([data.only_block().take(np.arange(5))], data.classes), slice(5)),
        ):
            own = part.select(np.array([model]))
            counted = s[rows, column] > 0.0
            np.testing.assert_array_equal(
                own.class_weight(), np.bincount(y[rows], s[rows, column], minlength=3)
            )
            np.testing.assert_array_equal(
                own.class_counts(), np.bincount(y[rows][counted], minlength=3)
            )
    labels = np.stack([y, y[::-1]], axis=1)
    both = Dataset.of(np.ones((12, 1)), labels, s, classes=np.arange(3))
    for model in range(2):
        own = both.select(np.array([model]))
        np.testing.assert_array_equal(
            own.class_weight(), np.bincount(labels[:, model], s[:, model], minlength=3)
        )
