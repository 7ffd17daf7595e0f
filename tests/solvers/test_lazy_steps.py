"""Steps on sparse rows cost the entries of the batch, and make the same steps as dense rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import GradientDescentClassifier, set_threads
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import get_threads
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solver_state import State
from separatrix.solvers import RULES, Gradient

SMOOTH_OR_CONVEX = ["logistic", "squared", "squared_hinge", "hinge", "sigmoid_mse", "softmax"]
LAZY_RULES = [rule for rule in RULES if rule != "adam"]
seeds = st.integers(0, 2**32 - 1)


@dataclass
class Problem:
    """Wide rows with few entries, and some models with parameters of their own."""

    X: np.ndarray
    y: np.ndarray
    s: np.ndarray | None
    factors: np.ndarray | None
    loss: str
    start: np.ndarray
    own: dict[str, np.ndarray]
    options: dict[str, Any]


def draw(seed: int, rule: str, loss: str) -> Problem:
    rng = np.random.default_rng(seed)
    n, d, B = int(rng.integers(5, 60)), int(rng.integers(80, 300)), int(rng.integers(1, 7))
    X = np.zeros((n, d))
    for row in X:
        there = rng.choice(d, rng.integers(0, 4), replace=False)
        row[there] = rng.normal(size=len(there))
    classes = 3 if loss == "softmax" else 2
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    s = [None, rng.uniform(0.1, 2, n), rng.uniform(0.1, 2, (n, B))][rng.integers(3)]
    factors = [None, rng.uniform(0.3, 3, d), rng.uniform(0.3, 3, (d, B))][rng.integers(3)]
    averages = rng.random() < 0.4
    own = {
        "l1": rng.choice([0.0, 1e-3, 0.05], B),
        "l2": rng.choice([0.0, 1e-3, 0.1, 3.0, 10.0], B),
        "learning_rate": rng.choice([0.01, 0.05, 0.1], B),  # 0.1 * 10 erases all weights
        "momentum": rng.choice([0.0, 0.5, 0.7], B),
        "power": rng.choice([0.0, 0.5, 1.0], B) * rng.integers(2),
        "shift": rng.choice([0.0, 1.0, 10.0], B),
        "average_from": rng.integers(0, 80, B) if averages else np.full(B, -1),
    }
    start = rng.normal(size=(d, B, classes if classes > 2 else 1)) * rng.integers(2)
    options = {"rule": rule, "batch_size": int(rng.choice([1, 1, 2, 5])), "seed": 3}
    return Problem(X, y, s, factors, loss, np.abs(start), own, options)


def train(problem: Problem, X: Any, models: Any = slice(None), dtype: Any = np.float64) -> State:
    own = {name: values[models] for name, values in problem.own.items()}
    penalty, s = (own.pop("l1"), own.pop("l2")), problem.s
    factors = problem.factors
    if s is not None and s.ndim == 2:
        s = s[:, models]
    if factors is not None and factors.ndim == 2:
        factors = factors[:, models]
    solver = Gradient(decay=np.zeros(len(penalty[0])), **own, **problem.options)
    objective = Objective(
        Dataset.of(X.astype(dtype), problem.y, s),
        LOSSES[problem.loss],
        ElasticNet(*penalty, factors=factors),
    )
    W = np.ascontiguousarray(problem.start[:, models].astype(dtype))
    state = solver.start(objective, Model(W, np.zeros(W.shape[1:], dtype)))
    for _ in range(3):
        state = solver.step(objective, state)
    return state


def assert_close(mine: np.ndarray, other: np.ndarray, tolerance: float) -> None:
    """Compare, relative to the largest number, unless it has diverged."""
    size = max(1.0, np.abs(other).max())
    if size < 1e6:
        np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("rule", LAZY_RULES)
@pytest.mark.parametrize("loss", SMOOTH_OR_CONVEX)
@settings(max_examples=12)
@given(seeds)
def test_sparse_rows_lead_to_the_weights_of_dense_rows(rule: str, loss: str, seed: int) -> None:
    problem = draw(seed, rule, loss)
    lazy, dense = train(problem, sp.csr_array(problem.X)), train(problem, problem.X)
    for m in range(lazy.model.n_models):
        assert_close(lazy.model.W[:, m], dense.model.W[:, m], 1e-12)
        assert_close(lazy.model.b[m], dense.model.b[m], 1e-12)


@pytest.mark.parametrize("rule", LAZY_RULES)
@settings(max_examples=15)
@given(seeds, st.sampled_from(SMOOTH_OR_CONVEX), st.sampled_from([np.float64, np.float32]))
def test_a_model_has_the_same_bits_alone_and_in_a_batch_of_sparse_rows(
    rule: str, seed: int, loss: str, dtype: type
) -> None:
    problem = draw(seed, rule, loss)
    X = sp.csr_array(problem.X)
    # sums over columns of sample weights may round differently
    problem.s = None
    batch = train(problem, X, dtype=dtype)
    for m in range(batch.model.n_models):
        alone = train(problem, X, np.array([m]), dtype)
        assert alone.model.W[:, 0].tobytes() == batch.model.W[:, m].tobytes()
        assert alone.model.b[0].tobytes() == batch.model.b[m].tobytes()


@pytest.mark.parametrize("rule", LAZY_RULES)
@settings(max_examples=10)
@given(seeds, st.sampled_from(["logistic", "squared", "softmax"]))
def test_sparse_rows_in_float32_lead_to_the_weights_of_dense_rows(
    rule: str, seed: int, loss: str
) -> None:
    problem = draw(seed, rule, loss)
    problem.own["l2"] = np.minimum(problem.own["l2"], 0.1)
    lazy = train(problem, sp.csr_array(problem.X), dtype=np.float32)
    dense = train(problem, problem.X)
    if rule != "lazy_adam":  # which divides by the size of gradients close to zero
        assert_close(lazy.model.W, dense.model.W, 1e-4)


@pytest.mark.parametrize("rule", LAZY_RULES)
def test_the_number_of_threads_does_not_change_the_bits_of_lazy_steps(rule: str) -> None:
    problem = draw(5, rule, "logistic")
    B = 70  # several groups of columns
    rng = np.random.default_rng(0)
    problem.own = {name: rng.choice(values, B) for name, values in problem.own.items()}
    problem.start = np.abs(rng.normal(size=(problem.X.shape[1], B, 1)))
    problem.s = problem.factors = None
    before, found = get_threads(), []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            found.append(train(problem, sp.csr_array(problem.X)).model)
    finally:
        set_threads(before)
    assert len({model.W.tobytes() for model in found}) == 1
    assert len({model.b.tobytes() for model in found}) == 1


@pytest.mark.parametrize("rule", LAZY_RULES)
def test_a_strong_l2_over_many_steps_leads_to_the_weights_of_dense_rows(rule: str) -> None:
    """The factor of all weights underflows many times, and tables of steps end within an epoch."""
    problem = draw(1, rule, "logistic")
    n, d, B = 40_000, 12, 2
    rng = np.random.default_rng(0)
    problem.X = np.zeros((n, d))
    problem.X[np.arange(n), rng.integers(0, d, n)] = 1.0
    problem.y, problem.s, problem.factors = rng.integers(0, 2, n), None, None
    problem.start = np.ones((d, B, 1))
    problem.options["batch_size"] = 1
    values = {
        "l1": [0.0, 1e-4], "l2": [0.5, 2.0], "learning_rate": [0.1, 0.3], "momentum": [0.5, 0.0],
        "power": [0.0, 0.0], "shift": [0.0, 0.0], "average_from": [20_000, 30_000],
    }  # fmt: skip
    problem.own = {name: np.array(pair) for name, pair in values.items()}
    for average_from in ([20_000, 30_000], [-1, -1]):
        problem.own["average_from"] = np.array(average_from)
        lazy, dense = train(problem, sp.csr_array(problem.X)), train(problem, problem.X)
        assert_close(lazy.model.W, dense.model.W, 1e-11)
        assert_close(lazy.model.b, dense.model.b, 1e-11)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_lazy_adam_updates_only_the_features_of_the_batch(form: Any) -> None:
    problem = draw(2, "lazy_adam", "logistic")
    X, y = problem.X, problem.y
    rate, l1, l2, b1, b2 = 0.1, 0.01, 0.1, 0.9, 0.999
    w, a, q = (np.zeros(X.shape[1]) for _ in range(3))
    for t, (x, label) in enumerate(zip(X, y), 1):
        there = x != 0
        g = (1 / (1 + np.exp(-x @ w)) - label) * x + l2 * w
        a[there] = b1 * a[there] + (1 - b1) * g[there]
        q[there] = b2 * q[there] + (1 - b2) * g[there] ** 2
        D = rate / (np.sqrt(q / (1 - b2**t)) + 1e-8)
        u = w - D * a / (1 - b1**t)
        u = np.sign(u) * np.maximum(np.abs(u) - D * l1, 0)
        w = np.where(there, u, w)
    solver = Gradient(
        np.array([rate]), np.zeros(1), np.zeros(1), rule="lazy_adam", batch_size=1, seed=None
    )
    data = Dataset.of(form(X), y)
    objective = Objective(data, LOSSES["logistic"], ElasticNet([l1], [l2]), bias=False)
    state = solver.start(objective, Model.zeros(X.shape[1], 1, 1))
    found = solver.step(objective, state).model
    np.testing.assert_allclose(found.W[:, 0, 0], w, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_lazy_adam_leaves_absent_features_at_their_start(batch_size: int | None) -> None:
    problem = draw(3, "lazy_adam", "softmax")
    absent = ~problem.X.any(axis=0)
    assert absent.any()
    start = np.ones((3, problem.X.shape[1])), np.zeros(3)
    for X in (problem.X, sp.csr_array(problem.X)):
        for rule, stays in (("lazy_adam", True), ("adam", False)):
            model = GradientDescentClassifier(
                rule=rule, batch_size=batch_size, epochs=3, l2=0.1, init=start
            ).fit(X, problem.y)
            assert (model.coef_[:, absent] == 1.0).all() == stays
            assert (model.coef_[:, ~absent] != 1.0).any()


def test_stored_zeros_are_no_entries_for_lazy_adam() -> None:
    problem = draw(4, "lazy_adam", "logistic")
    X = sp.csr_array(problem.X)
    stored = sp.csr_array(
        (
            np.r_[X.data, np.zeros(1)],
            np.r_[X.indices, [np.flatnonzero(problem.X[-1] == 0)[0]]],
            np.r_[X.indptr[:-1], X.indptr[-1] + 1],
        ),
        X.shape,
    )
    assert stored.nnz == X.nnz + 1
    one, other = train(problem, X), train(problem, stored)
    assert one.model.W.tobytes() == other.model.W.tobytes()
