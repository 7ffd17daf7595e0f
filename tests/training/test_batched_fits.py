"""Fits in a batch have the same bits as single fits, and share passes over X."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, fit_many
from separatrix.losses import LOSSES
from separatrix.matrix import rows_read, set_threads
from separatrix.solvers import RULES
from support.forms import BINARY, MULTICLASS, ONE_VS_REST, Form
from support.looped import looped
from support.objectives import KINDS, every_form, rows
from support.uncompiled import Uncompiled


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200, 1e308])
@pytest.mark.filterwarnings("error")
def test_a_fit_does_not_depend_on_the_unit_of_the_weights(factor: float) -> None:
    form = BINARY[0]
    X, y, _ = flat_rows(form)
    usual = estimator(form).fit(X, y)
    scaled = estimator(form).fit(X, y, sample_weight=np.full(len(y), factor))
    np.testing.assert_allclose(scaled.coef_, usual.coef_, rtol=1e-10)
    assert scaled.certificate_.dual == pytest.approx(usual.certificate_.dual, rel=1e-10)


def flat_rows(form: Form, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, s = rows(form, 60, seed=seed)
    y[: form.classes] = np.arange(form.classes)
    return X, y, np.maximum(s, 0.1)


def estimator(form: Form, **parameters: Any) -> GradientDescentClassifier:
    """A classifier of this form; one-vs-rest is requested by its base loss."""
    loss: Any = getattr(form.loss, "base", form.loss)
    defaults = {"learning_rate": 0.05, "epochs": 12, "l2": 0.01}
    multiclass = "ovr" if hasattr(form.loss, "base") else "auto"
    return GradientDescentClassifier(loss, multiclass=multiclass, **{**defaults, **parameters})


@pytest.mark.slow
@every_form
@looped("batch_size", [None, 7])
@looped("kind", ["dense", "CSC"])
def test_a_loss_without_a_kernel_gives_the_same_fit(
    form: Form, batch_size: int | None, kind: str
) -> None:
    X, y, s = flat_rows(form)
    compiled = estimator(form, batch_size=batch_size, epochs=4)
    own = estimator(form, batch_size=batch_size, epochs=4)
    own.set_params(loss=Uncompiled(own.loss))
    for model in (compiled, own):
        model.fit(KINDS[kind](X), y, sample_weight=s)
    np.testing.assert_allclose(own.coef_, compiled.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(own.intercept_, compiled.intercept_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(own.history_["objective"], compiled.history_["objective"])
    np.testing.assert_array_equal(own.predict(X), compiled.predict(X))


# --- whole fits ---


@every_form
def test_a_fold_as_zero_weights_equals_the_fit_on_the_subset(form: Form) -> None:
    X, y, s = flat_rows(form)
    kept = np.arange(len(y)) % 4 != 3
    kept[: form.classes] = True
    fold = estimator(form, momentum=0.5).fit(X, y, sample_weight=np.where(kept, s, 0.0))
    subset = estimator(form, momentum=0.5).fit(X[kept], y[kept], sample_weight=s[kept])
    np.testing.assert_allclose(fold.coef_, subset.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fold.intercept_, subset.intercept_, rtol=1e-9, atol=1e-12)
    for name in ("objective", "train_loss", "train_accuracy", "gradient_norm"):
        np.testing.assert_allclose(fold.history_[name], subset.history_[name], rtol=1e-9)
    assert fold.certificate_.primal == pytest.approx(subset.certificate_.primal, rel=1e-9)


@every_form
def test_a_fit_with_weights_equals_the_fit_of_repeated_rows(form: Form) -> None:
    X, y, _ = flat_rows(form)
    s = 1 + np.random.default_rng(4).integers(0, 3, len(y))
    weighted = estimator(form).fit(X, y, sample_weight=s)
    repeated = estimator(form).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-12)


REPRESENTATIVE = [BINARY[0], *MULTICLASS[-1:], Form(LOSSES["softmax"], 3, 3), ONE_VS_REST[2]]


def assert_same_bits(a: GradientDescentClassifier, b: GradientDescentClassifier) -> None:
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    for name in a.history_:
        if name != "seconds":
            np.testing.assert_array_equal(a.history_[name], b.history_[name])
    assert a.certificate_ == b.certificate_


@pytest.mark.slow
@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("batch_size", [None, 500], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize(
    ("kind", "dtype"), [("dense", np.float32), ("dense", np.float64), ("CSR", np.float64)]
)
def test_a_fit_has_the_same_bits_for_1_2_and_8_threads(
    form: Form, batch_size: int | None, kind: str, dtype: type, threads: None
) -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((2500, 120)) * (rng.random((2500, 120)) < 0.4)).astype(dtype)
    y = rng.integers(0, form.classes, 2500)
    fits = []
    for count in (1, 2, 8):
        set_threads(count)
        fits.append(
            estimator(form, batch_size=batch_size, epochs=3, momentum=0.9).fit(KINDS[kind](X), y)
        )
    assert_same_bits(fits[0], fits[1])
    assert_same_bits(fits[0], fits[2])


@pytest.mark.slow
@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("batch_size", [None, 16], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize(("kind", "dtype"), [("dense", np.float32), ("CSR", np.float64)])
@pytest.mark.parametrize("rule", RULES)
def test_a_fit_has_the_same_bits_alone_and_in_a_batch(
    form: Form, batch_size: int | None, kind: str, rule: str, dtype: type
) -> None:
    X, y, _ = flat_rows(form)
    data = KINDS[kind](X.astype(dtype))
    settings = [
        {"learning_rate": rate, "l2": l2, "l1": l1, "momentum": mu}
        for rate in (0.3, 0.01, 0.05)
        for l2, l1 in ((0.0, 0.0), (0.1, 0.02))
        for mu in (0.0, 0.5)
    ]
    same = {"batch_size": batch_size, "rule": rule, "epochs": 4}
    batch = fit_many([estimator(form, **same, **each) for each in settings], data, y)
    for number in (0, 7):
        alone = estimator(form, **same, **settings[number]).fit(data, y)
        assert_same_bits(batch[number], alone)


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_a_fit_with_its_own_weights_has_the_same_bits_in_a_batch(form: Form, kind: str) -> None:
    X, y, _ = flat_rows(form)
    s = np.random.default_rng(1).integers(0, 3, (len(y), 5)).astype(float)
    batch = fit_many([estimator(form) for _ in range(5)], KINDS[kind](X), y, sample_weight=s)
    for m in (0, 4):
        assert_same_bits(batch[m], estimator(form).fit(KINDS[kind](X), y, sample_weight=s[:, m]))


# --- passes over X ---


def rows_of(fit: Any) -> tuple[int, int]:
    before = rows_read()
    fit()
    after = rows_read()
    return after[0] - before[0], after[1] - before[1]


SWEEP = [
    {"learning_rate": rate, "l2": l2, "momentum": mu}
    for rate in (0.02, 0.01, 0.005)
    for l2 in (0.1, 0.01)
    for mu in (0.0, 0.5)
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "CSC"])
@pytest.mark.parametrize("batch_size", [None, 20], ids=["full batch", "mini-batch"])
@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
def test_a_sweep_reads_as_many_rows_as_its_slowest_model(
    form: Form, batch_size: int | None, kind: str
) -> None:
    X, y, _ = flat_rows(form)
    data = KINDS[kind](X)
    same = {"batch_size": batch_size, "epochs": 20}
    alone = [
        rows_of(lambda each=each: estimator(form, **same, **each).fit(data, y)) for each in SWEEP
    ]
    many = [estimator(form, **same, **each) for each in SWEEP]
    together = rows_of(lambda: fit_many(many, data, y))
    assert together in alone
    assert together[0] == max(forward for forward, _ in alone)


@pytest.mark.parametrize("form", REPRESENTATIVE, ids=str)
def test_a_batch_of_weights_reads_as_many_rows_as_one_model(form: Form) -> None:
    X, y, _ = flat_rows(form)
    s = np.random.default_rng(2).integers(1, 4, (len(y), 8)).astype(float)
    many = [estimator(form, epochs=20) for _ in range(8)]
    together = rows_of(lambda: fit_many(many, X, y, sample_weight=s))
    one = [
        rows_of(lambda m=m: estimator(form, epochs=20).fit(X, y, sample_weight=s[:, m]))
        for m in range(8)
    ]
    assert together in one


def test_one_vs_rest_reads_as_many_rows_as_one_binary_model() -> None:
    X, y, _ = flat_rows(Form(LOSSES["softmax"], 5, 5))
    together = rows_of(
        lambda: GradientDescentClassifier("logistic", multiclass="ovr", epochs=30, l2=0.1).fit(X, y)
    )
    binary = rows_of(
        lambda: GradientDescentClassifier("logistic", epochs=30, l2=0.1).fit(X, y == 1)
    )
    assert together == binary


@pytest.mark.parametrize("copies", [1, 20])
@pytest.mark.parametrize(("batch_size", "times"), [(None, 1), (7, 2)])
def test_an_epoch_reads_every_row_once_and_a_mini_batch_epoch_twice(
    copies: int, batch_size: int | None, times: int
) -> None:
    """Mini-batches evaluate the models after the epoch, which is the second pass."""
    form = Form(LOSSES["softmax"], 3, 3)
    X, y, _ = flat_rows(form)
    many = [estimator(form, batch_size=batch_size, l2=0.01 * k) for k in range(copies)]
    seen: list[tuple[int, int]] = []
    fit_many(many, X, y, on_progress=lambda progress: seen.append(rows_read()))
    assert len(seen) == 12
    assert (np.diff(seen, axis=0) == times * len(X)).all()
