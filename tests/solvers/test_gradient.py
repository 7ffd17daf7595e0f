"""Every gradient rule does what its formula says, and all reach the same optimum."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from separatrix import GradientDescentClassifier, fit_many
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import RULES, SCHEDULES, Gradient
from separatrix.solvers.protocol import epoch_order
from separatrix.training import Stop, run

CLASSES = {"logistic": 2, "softmax": 3}


def make_data(n_classes, n=23, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 0.5, 2.0, 1.0][:d]
    Z = X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))
    y = Z.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def loss_gradient(X, y, s, scale, W, b):
    """Gradient of scale * sum_i s_i loss_i, written out for logistic (K = 1) and softmax."""
    Z = X @ W + b
    if W.shape[1] == 1:
        U = expit(Z) - y[:, None]
    else:
        U = softmax(Z, axis=1) - np.eye(W.shape[1])[y]
    U = U * (s * scale)[:, None]
    return X.T @ U, U.sum(axis=0)


def prox(u, threshold):
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0)


class Plain:
    """One array of weights updated by one of the rules, transcribed from the formulas."""

    def __init__(self, rule, w, mu, betas=(0.9, 0.999)):
        self.rule, self.w, self.mu, self.betas = rule, w, mu, betas
        self.v = w.copy() if rule == "nesterov" else np.zeros_like(w)
        self.s = np.zeros_like(w)
        self.t = 0

    def step(self, g, rate, l1):
        w, mu, (b1, b2) = self.w, self.mu, self.betas
        self.t += 1
        if self.rule == "plain":
            self.w = prox(w - rate * g, rate * l1)
        elif self.rule == "momentum" and l1 == 0:
            self.v = mu * self.v - rate * g
            self.w = w + self.v
        elif self.rule == "momentum":
            self.w = prox(w + mu * self.v - rate * g, rate * l1)
            self.v = self.w - w
        elif self.rule == "nesterov":
            u = prox(w - rate * g, rate * l1)
            self.w, self.v = u + mu * (u - self.v), u
        else:
            self.v = b1 * self.v + (1 - b1) * g
            self.s = b2 * self.s + (1 - b2) * g**2
            D = rate / (np.sqrt(self.s / (1 - b2**self.t)) + 1e-8)
            self.w = prox(w - D * self.v / (1 - b1**self.t), D * l1)


def rate_of(schedule, rate, decay, epoch):
    return {
        "constant": rate,
        "exponential": rate * np.exp(-decay * (epoch - 1)),
        "inverse": rate / (1 + decay * (epoch - 1)),
    }[schedule]


def transcribe(model, X, y, s=None):
    """Train like a given GradientDescentClassifier in plain numpy: coef, intercept."""
    n, d = X.shape
    K = 1 if y.max() == 1 else y.max() + 1
    s = np.ones(n) if s is None else s
    m = n if model.batch_size is None else model.batch_size
    W, b = np.zeros((d, K)), np.zeros(K)
    if not isinstance(model.init, str):
        W, b = model.init[0].T, model.init[1]
    weights = Plain(model.rule, W, model.momentum, model.betas)
    biases = Plain(model.rule, b, model.momentum, model.betas)
    for epoch in range(1, model.epochs + 1):
        rate = rate_of(model.schedule, model.learning_rate, model.decay, epoch)
        order = np.arange(n) if m == n else epoch_order(model.random_state, epoch, 0, n)
        for first in range(0, n, m):
            rows = order[first : first + m]
            scale = n / (len(rows) * s.sum())
            GW, gb = loss_gradient(X[rows], y[rows], s[rows], scale, weights.w, biases.w)
            weights.step(GW + model.l2 * weights.w, rate, model.l1)
            if model.fit_intercept:
                biases.step(gb, rate, 0.0)
    return weights.w.T, biases.w


def assert_follows_formula(model, X, y, s=None):
    model.fit(X, y, sample_weight=s)
    coef, intercept = transcribe(model, X if not sp.issparse(X) else X.toarray(), y, s)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(model.coef_ == 0, coef == 0)


@pytest.mark.parametrize("loss", CLASSES)
@pytest.mark.parametrize("batch_size", [None, 7, 1])
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_follows_its_formula(rule, l1, batch_size, loss):
    X, y = make_data(CLASSES[loss])
    model = GradientDescentClassifier(
        loss, rule=rule, momentum=0.8, l1=l1, l2=0.1, learning_rate=0.2, batch_size=batch_size,
        epochs=6, random_state=3,
    )  # fmt: skip
    assert_follows_formula(model, X, y)


@pytest.mark.parametrize("batch_size", [None, 5])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_follows_its_formula(schedule, batch_size):
    X, y = make_data(2)
    model = GradientDescentClassifier(
        schedule=schedule, decay=0.3, learning_rate=0.5, momentum=0.5, epochs=7,
        batch_size=batch_size,
    )  # fmt: skip
    assert_follows_formula(model, X, y)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("batch_size", [None, 5])
def test_weighted_rows_follow_the_formula(batch_size, rule):
    X, y = make_data(3)
    s = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
    s[4] = 0.0
    model = GradientDescentClassifier(
        "softmax", rule=rule, momentum=0.5, l1=0.02, learning_rate=0.1, epochs=5,
        batch_size=batch_size,
    )  # fmt: skip
    assert_follows_formula(model, X, y, s)
    assert_follows_formula(model, sp.csr_array(X), y, s)


@pytest.mark.parametrize("rule", RULES)
def test_without_a_bias_the_bias_stays_at_zero(rule):
    X, y = make_data(2)
    model = GradientDescentClassifier(rule=rule, momentum=0.5, fit_intercept=False, epochs=5)
    assert_follows_formula(model, X, y)
    assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_follows_its_formula_from_given_weights(rule):
    X, y = make_data(3)
    rng = np.random.default_rng(4)
    start = rng.normal(size=(3, 4)), rng.normal(size=3)
    model = GradientDescentClassifier(rule=rule, momentum=0.7, l1=0.01, init=start, epochs=4)
    assert_follows_formula(model, X, y)


def test_adam_takes_other_betas():
    X, y = make_data(2)
    assert_follows_formula(GradientDescentClassifier(rule="adam", betas=(0.5, 0.9), epochs=5), X, y)


@pytest.mark.parametrize("batch_size", [None, 6])
@pytest.mark.parametrize("rule", RULES)
def test_factors_are_training_on_scaled_features(rule, batch_size):
    X, y = make_data(3)
    f = np.array([0.5, 2.0, 3.0, 1.0])
    solver = Gradient(
        np.array([0.1, 0.2]), np.array([0.8, 0.3]), np.zeros(2), rule=rule, batch_size=batch_size
    )
    penalty = [0.02, 0.0], [0.1, 0.2]
    stop = Stop(epochs=((6,), (6,)))

    def train(X, factors, start):
        objective = Objective(
            Dataset.of(X, y), LOSSES["softmax"], ElasticNet(*penalty, factors=factors)
        )
        return [r[0].model for r in run(solver, objective, start, stop)]

    start = Model(np.random.default_rng(0).normal(size=(4, 2, 3)), np.zeros((2, 3)))
    scaled = train(X / f, None, Model(start.W * f[:, None, None], start.b))
    per_model = np.stack([f, f], axis=1)
    for factors in (f, per_model):
        for mine, other in zip(train(X, factors, start), scaled):
            np.testing.assert_allclose(mine.W * f[:, None, None], other.W, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(mine.b, other.b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_loss_without_a_kernel_trains_the_same(rule):
    X, y = make_data(3)
    slow = dataclasses.replace(LOSSES["softmax"], native_code=-1)
    for batch_size in (None, 7):
        for data in (X, sp.csc_array(X)):
            options = {
                "rule": rule,
                "momentum": 0.5,
                "l1": 0.01,
                "batch_size": batch_size,
                "epochs": 4,
            }
            models = [GradientDescentClassifier(loss, **options) for loss in ("softmax", slow)]
            fast, reference = fit_many(models, data, y)
            np.testing.assert_allclose(fast.coef_, reference.coef_, rtol=1e-10, atol=1e-13)


def test_the_stochastic_step_of_the_lectures():
    x, theta = np.array([[1.0, 0.82]]), np.array([[0.04, 0.5]])
    model = GradientDescentClassifier(
        fit_intercept=False, init=(theta, [0.0]), batch_size=1, learning_rate=0.01, rule="plain"
    )
    model.partial_fit(x, [1], classes=[0, 1])
    gradient = (theta - model.coef_) / 0.01
    np.testing.assert_allclose(gradient, [[-0.39, -0.32]], atol=0.005)
    np.testing.assert_allclose(model.coef_, [[0.0439, 0.5032]], atol=5e-5)


def test_weights_are_updated_simultaneously():
    X, y = make_data(2)
    model = GradientDescentClassifier(rule="plain", epochs=1, init="random", learning_rate=1.0)
    model.fit(X, y)
    start = np.random.default_rng(0).standard_normal((4, 1)) * 0.01
    one_by_one = start.copy()
    for j in range(4):
        GW, _ = loss_gradient(X, y, np.ones(len(y)), 1 / len(y), one_by_one, np.zeros(1))
        one_by_one[j] -= GW[j]
    GW, _ = loss_gradient(X, y, np.ones(len(y)), 1 / len(y), start, np.zeros(1))
    np.testing.assert_allclose(model.coef_.T, start - GW, rtol=1e-12)
    assert np.abs(model.coef_.T - one_by_one).max() > 1e-3


@pytest.mark.parametrize("loss", CLASSES)
def test_only_batch_descent_decreases_at_every_step_with_a_safe_rate(loss):
    X, y = make_data(CLASSES[loss], n=60)
    Xb = np.column_stack([X, np.ones(len(y))])
    curvature = 0.25 if loss == "logistic" else 0.5
    safe = 1.9 / (curvature * np.linalg.eigvalsh(Xb.T @ Xb / len(y))[-1])
    batch, stochastic = fit_many(
        [
            GradientDescentClassifier(loss, learning_rate=safe, epochs=300),
            GradientDescentClassifier(loss, learning_rate=safe, epochs=300, batch_size=1),
        ],
        X,
        y,
    )
    assert (np.diff(batch.history_["objective"]) < 0).all()
    assert (np.diff(stochastic.history_["objective"]) > 0).any()


def optimum(X, y, K, l1, l2):
    """The weights and value of the minimum, by scipy, with W = P - Q and P, Q >= 0."""
    n, d = X.shape

    def split(v):
        P, Q = v[: d * K].reshape(d, K), v[d * K : 2 * d * K].reshape(d, K)
        return P - Q, v[2 * d * K :]

    def f(v):
        W, b = split(v)
        GW, gb = loss_gradient(X, y, np.ones(n), 1 / n, W, b)
        Z = X @ W + b
        if K == 1:
            loss = np.logaddexp(0.0, (1 - 2 * y) * Z[:, 0]).mean()
        else:
            loss = -log_softmax(Z, axis=1)[np.arange(n), y].mean()
        GW = GW + l2 * W
        value = loss + l2 / 2 * (W**2).sum() + l1 * v[: 2 * d * K].sum()
        return value, np.concatenate([(GW + l1).ravel(), (l1 - GW).ravel(), gb])

    bounds = [(0, None)] * (2 * d * K) + [(None, None)] * K
    found = minimize(
        f, np.zeros(2 * d * K + K), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return split(found.x)[0], found.fun


@pytest.mark.slow
@pytest.mark.parametrize("loss", CLASSES)
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.1), (0.05, 0.0), (0.03, 0.05)])
def test_every_rule_reaches_the_same_optimum(l1, l2, loss):
    X, y = make_data(CLASSES[loss], n=80)
    K = 1 if loss == "logistic" else 3
    W, value = optimum(X, y, K, l1, l2)
    options = {"l1": l1, "l2": l2, "epochs": 6000, "gradient_tol": 1e-7}
    models = [
        GradientDescentClassifier(loss, rule=rule, momentum=mu, learning_rate=rate, **options)
        for rule, mu, rate in [
            ("plain", 0.0, 0.3), ("momentum", 0.9, 0.1), ("nesterov", 0.9, 0.1),
            ("adam", 0.0, 0.01), ("lazy_adam", 0.0, 0.01),
        ]
    ]  # fmt: skip
    assert {model.rule for model in models} == set(RULES)
    for model in fit_many(models, X, y):
        assert model.history_["objective"][-1] == pytest.approx(value, rel=1e-8), model.rule
        np.testing.assert_allclose(model.coef_.T, W, atol=2e-5, err_msg=model.rule)
        np.testing.assert_array_equal(model.coef_.T == 0, np.abs(W) < 1e-6, err_msg=model.rule)
    if l1:
        assert (np.abs(W) < 1e-6).any()
        assert (np.abs(W) > 1e-6).any()


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_mini_batches_with_a_decaying_rate_come_near_the_optimum(rule):
    X, y = make_data(2, n=80)
    _, value = optimum(X, y, 1, 0.02, 0.1)
    rate = 0.02 if rule in ("adam", "lazy_adam") else 0.3
    model = GradientDescentClassifier(
        l1=0.02, l2=0.1, rule=rule, learning_rate=rate, batch_size=16, schedule="inverse",
        decay=0.3, epochs=600,
    ).fit(X, y)  # fmt: skip
    assert model.history_["objective"][-1] == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize("rule", RULES)
def test_the_seed_decides_the_bits(rule):
    X, y = make_data(3)

    def train(seed):
        return GradientDescentClassifier(
            rule=rule, momentum=0.5, batch_size=4, epochs=3, random_state=seed
        ).fit(X, y)

    assert train(5).coef_.tobytes() == train(5).coef_.tobytes()
    assert train(5).coef_.tobytes() != train(6).coef_.tobytes()


def test_the_order_of_mini_batches_is_the_same_for_all_models_of_a_batch():
    X, y = make_data(3)
    rates = [0.01, 0.1, 0.3]
    models = [GradientDescentClassifier(learning_rate=r, batch_size=4, epochs=5) for r in rates]
    alone = [GradientDescentClassifier(**m.get_params()).fit(X, y) for m in models]
    for together, single in zip(fit_many(models, X, y), alone):
        assert together.coef_.tobytes() == single.coef_.tobytes()
    swapped = fit_many([GradientDescentClassifier(**m.get_params()) for m in models[::-1]], X, y)
    assert swapped[0].coef_.tobytes() == alone[2].coef_.tobytes()


def test_every_epoch_is_shuffled_differently():
    orders = [tuple(epoch_order(seed, epoch, 0, 20)) for seed in (0, 1) for epoch in (1, 2)]
    assert len(set(orders)) == 4
    assert all(sorted(order) == list(range(20)) for order in orders)


@pytest.mark.parametrize("batch_size", [23, 24, 1000])
def test_a_batch_of_all_rows_is_the_full_batch(batch_size):
    X, y = make_data(2)
    full = GradientDescentClassifier(epochs=5).fit(X, y)
    one = GradientDescentClassifier(epochs=5, batch_size=batch_size).fit(X, y)
    assert full.coef_.tobytes() == one.coef_.tobytes()


@pytest.mark.parametrize("name", ["squared", "squared_hinge"])
@pytest.mark.parametrize("rule", ["plain", "momentum", "nesterov"])
def test_an_overflow_inside_an_epoch_is_a_divergence_and_not_zero_weights(
    name: str, rule: str
) -> None:
    rng = np.random.default_rng(0)
    X = 1e3 * rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int)
    model = GradientDescentClassifier(name, rule=rule, momentum=0.5, batch_size=1, learning_rate=10)
    model.fit(X, y)
    assert model.stop_reason_ == "diverged"
    assert model.diagnoses_[0].kind == "diverged"
    assert np.isfinite(model.coef_).all()
