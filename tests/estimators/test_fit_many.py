"""Estimators fitted together equal estimators fitted alone."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from separatrix import LOSSES, GradientDescentClassifier, Perceptron, fit_many
from separatrix.matrix import rows_read
from separatrix.training.recording.history import FIELDS

G = GradientDescentClassifier


def make_data(n=50, d=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = (X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


BINARY = ("logistic", "sigmoid_mse", "modified_huber")


def mixed_list(n_classes):
    """Estimators that differ in every parameter that can differ."""
    losses = [name for name in LOSSES if name not in BINARY or n_classes == 2]
    by_loss = [G(name, l2=0.1, learning_rate=0.1, epochs=12) for name in losses]
    by_rule = [
        G(rule=rule, momentum=mu, l1=l1, learning_rate=0.1, epochs=epochs, batch_size=batch)
        for rule in ("plain", "momentum", "nesterov", "adam")
        for mu, l1, epochs, batch in [(0.5, 0.0, 9, None), (0.9, 0.02, 14, 8), (0.0, 0.05, 9, 8)]
    ]
    rest = [
        G(batch_size=5, random_state=1, epochs=6),
        G(batch_size=5, random_state=2, epochs=6),
        G(init="random", random_state=3, epochs=6),
        G(init="random", random_state=4, epochs=6),
        G(schedule="inverse", decay=0.5, epochs=6),
        G(schedule="exponential", decay=0.5, epochs=6),
        G(fit_intercept=False, epochs=6),
        G("hinge", margin=2.0, epochs=6),
        G("logistic", multiclass="ovr", epochs=6, l2=0.1),
        G("hinge", multiclass="ovr", epochs=6, batch_size=7),
        G(rule="adam", betas=(0.5, 0.9), epochs=6),
        Perceptron(epochs=8),
        Perceptron(epochs=3),
        Perceptron(epochs=8, random_state=5),
    ]
    return by_loss + by_rule + rest


def assert_equal_fits(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes(), one
    assert one.intercept_.tobytes() == other.intercept_.tobytes(), one
    assert one.coef_.dtype == other.coef_.dtype
    for name in FIELDS[:-1]:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])
    assert (one.stop_reason_, one.n_iter_, one.best_epoch_, one.objective()) == (
        other.stop_reason_, other.n_iter_, other.best_epoch_, other.objective()
    )  # fmt: skip
    assert one.certificate_ == other.certificate_
    assert one.diagnoses_ == other.diagnoses_


@pytest.mark.slow
@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_mixed_list_equals_single_fits(n_classes, convert):
    X, y = make_data(n_classes=n_classes)
    X = convert(X)
    models = mixed_list(n_classes)
    together = fit_many(models, X, y)
    assert all(one is given for one, given in zip(together, models, strict=True))
    for model in together:
        assert_equal_fits(model, clone(model).fit(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_a_mixed_list_equals_single_fits_for_other_types_of_numbers(dtype):
    X, y = make_data()
    X = (4 * X).astype(dtype)
    for model in fit_many(mixed_list(3), X, y):
        assert_equal_fits(model, clone(model).fit(X, y))
        assert model.coef_.dtype == (np.float32 if dtype == np.float32 else np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_model_can_have_its_own_sample_weights(n_classes):
    X, y = make_data(n_classes=n_classes)
    models = mixed_list(n_classes)
    S = np.random.default_rng(0).uniform(0, 2, (len(y), len(models)))
    S[5] = 0.0
    for k, model in enumerate(fit_many(models, X, y, sample_weight=S)):
        assert_equal_fits(model, clone(model).fit(X, y, sample_weight=S[:, k]))
        assert "50 weighted rows" in model.objective()


def test_models_can_share_sample_weights():
    X, y = make_data()
    s = np.random.default_rng(0).uniform(0, 2, len(y))
    for model in fit_many(mixed_list(3), X, y, s):
        assert_equal_fits(model, clone(model).fit(X, y, s))


def test_models_with_equal_parameters_and_different_weights_are_separate_runs():
    X, y = make_data()
    S = np.stack([np.ones(len(y)), np.arange(len(y)) % 3 + 0.5], axis=1)
    one, other = fit_many([G(epochs=5), G(epochs=5)], X, y, S)
    assert np.abs(one.coef_ - other.coef_).max() > 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_sample_weights_equal_repeated_rows_for_full_batches(loss):
    X, y = make_data(n_classes=2)
    times = np.random.default_rng(1).integers(0, 3, len(y))
    options = {"loss": loss, "l2": 0.1, "learning_rate": 0.05, "momentum": 0.5, "epochs": 20}
    weighted = G(**options).fit(X, y, sample_weight=times)
    repeated = G(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fold_as_weights_equals_a_fit_on_its_rows(loss):
    X, y = make_data(n_classes=2)
    fold = np.arange(len(y)) % 3 != 0
    options = {"loss": loss, "l2": 0.1, "learning_rate": 0.05, "epochs": 20}
    weighted = G(**options).fit(X, y, sample_weight=fold.astype(float))
    subset = G(**options).fit(X[fold], y[fold])
    np.testing.assert_allclose(weighted.coef_, subset.coef_, rtol=1e-9, atol=1e-12)
    for name in ("train_loss", "train_accuracy", "objective"):
        np.testing.assert_allclose(weighted.history_[name], subset.history_[name], rtol=1e-9)


def test_models_share_a_validation_set():
    X, y = make_data()
    X_val, y_val = make_data(seed=1)
    models = [
        G(learning_rate=rate, momentum=0.9, patience=patience, monitor=monitor, epochs=80)
        for rate in (0.01, 1.0)
        for patience in (None, 1, 3)
        for monitor in ("loss", "accuracy")
    ] + [Perceptron(patience=2, epochs=30)]
    for model in fit_many(models, X, y, None, X_val, y_val):
        assert_equal_fits(model, clone(model).fit(X, y, None, X_val, y_val))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "perceptron"])
@pytest.mark.parametrize("batch_size", [None, 8])
def test_one_vs_rest_equals_one_binary_fit_per_class(loss, batch_size):
    X, y = make_data(n_classes=4)
    options = {
        "loss": loss,
        "learning_rate": 0.1,
        "momentum": 0.5,
        "epochs": 15,
        "batch_size": batch_size,
    }
    model = G(multiclass="ovr", l1=0.01, **options).fit(X, y)
    binary = [G(l1=0.01, **options).fit(X, (y == c).astype(int)) for c in range(4)]
    np.testing.assert_allclose(
        model.coef_, np.concatenate([m.coef_ for m in binary]), rtol=1e-9, atol=1e-13
    )
    np.testing.assert_allclose(
        model.intercept_, np.concatenate([m.intercept_ for m in binary]), rtol=1e-9, atol=1e-13
    )
    losses = sum(m.history_["train_loss"] for m in binary)
    np.testing.assert_allclose(model.history_["train_loss"], losses, rtol=1e-9)
    scores = np.stack([m.decision_function(X) for m in binary], axis=1)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-9, atol=1e-12)


def test_a_binary_loss_on_several_classes_is_one_vs_rest():
    X, y = make_data(n_classes=3)
    auto, ovr, both = fit_many(
        [G("logistic"), G("logistic", multiclass="ovr"), G(multiclass="ovr")], X, y
    )
    assert_equal_fits(auto, ovr)
    assert_equal_fits(both, ovr)
    alone = [G("logistic").fit(X, (y == c).astype(int)).predict_proba(X)[:, 1] for c in range(3)]
    assert (np.stack(alone, axis=1).argmax(axis=1) == auto.predict(X)).all()
    np.testing.assert_allclose(auto.predict_proba(X).sum(axis=1), 1.0)


def test_one_vs_rest_reads_the_rows_as_often_as_one_model():
    X, y = make_data(n_classes=4)

    def passes(model, y):
        before = np.array(rows_read())
        model.fit(X, y)
        return np.array(rows_read()) - before

    options = {"loss": "logistic", "l2": 0.1, "epochs": 40}
    np.testing.assert_array_equal(
        passes(G(multiclass="ovr", **options), y), passes(G(**options), (y == 0).astype(int))
    )


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_softmax_of_two_classes_is_logistic_regression_at_half_the_learning_rate(momentum):
    X, y = make_data(n_classes=2)
    softmax = G("softmax", learning_rate=0.1, momentum=momentum).fit(X, y)
    logistic = G("logistic", learning_rate=0.2, momentum=momentum).fit(X, y)
    difference = softmax.coef_[1] - softmax.coef_[0]
    np.testing.assert_allclose(difference, logistic.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(softmax.predict_proba(X), logistic.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(
        softmax.history_["train_loss"], logistic.history_["train_loss"], rtol=1e-9
    )


def test_auto_is_logistic_for_two_classes_and_softmax_for_more():
    X, y = make_data(n_classes=3)
    assert_equal_fits(G(epochs=5).fit(X, y), G("softmax", epochs=5).fit(X, y))
    two = (y > 0).astype(int)
    assert_equal_fits(G(epochs=5).fit(X, two), G("logistic", epochs=5).fit(X, two))


def test_progress_names_the_estimators_of_its_batch():
    X, y = make_data()
    models = [
        G(epochs=4), G("hinge", epochs=3), G(epochs=2), Perceptron(epochs=2), G(l2=0.1, epochs=4)
    ]  # fmt: skip
    seen = []
    fit_many(models, X, y, on_progress=seen.append)
    batches = list(dict.fromkeys(p.members for p in seen))
    assert batches == [((0, 2), (4,)), ((1,),), ((3,),)]
    assert sorted(e for batch in batches for model in batch for e in model) == [0, 1, 2, 3, 4]
    for p in seen:
        for m, loss in zip(p.running, p.records["train_loss"]):
            for e in p.members[m]:
                if p.epoch <= models[e].n_iter_:
                    assert models[e].history_["train_loss"][p.epoch - 1] == loss


@dataclass
class Unhashable:
    """A custom loss of a class that is neither frozen nor hashable."""

    base: object

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return False if name == "compiled" else getattr(self.base, name)


@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_a_loss_that_cannot_be_hashed_can_be_trained(multiclass):
    X, y = make_data()
    loss = Unhashable(LOSSES["hinge"])
    with pytest.raises(TypeError):
        hash(loss)
    seen = []
    own = [G(loss, multiclass=multiclass, learning_rate=r, epochs=5) for r in (0.1, 0.2)]
    fit_many(own, X, y, on_progress=seen.append)
    assert {p.members for p in seen} == {((0,), (1,))}  # the same object: one batch
    for model in own:
        named = clone(model).set_params(loss="hinge").fit(X, y)
        np.testing.assert_allclose(model.coef_, named.coef_, rtol=1e-9, atol=1e-12)
        assert_equal_fits(model, clone(model).fit(X, y))
    others = [G(Unhashable(LOSSES["hinge"]), multiclass=multiclass, epochs=5) for _ in range(2)]
    for model in fit_many(others, X, y):
        assert_equal_fits(model, clone(model).fit(X, y))


def test_all_estimators_get_the_feature_names():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    models = fit_many([G(epochs=2), Perceptron(epochs=2), G("hinge", epochs=2)], frame, y)
    for model in models:
        assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
        assert model.n_features_in_ == 4
    for model in fit_many(models, X, y):
        assert not hasattr(model, "feature_names_in_")


def test_an_empty_list_of_estimators_is_accepted():
    assert fit_many([], [[1.0]], [0]) == []


def test_estimators_of_other_libraries_are_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="Got LogisticRegression instead"):
        fit_many([G(), LogisticRegression()], [[0.0], [1.0]], [0, 1])
