"""Training on a device of PyTorch gives the numbers of the native core, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification

import separatrix as sx
from separatrix.data import Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.model import Model
from separatrix.solvers import Gradient
from separatrix.training import Interrupted, Progress, Result, Stop, train
from separatrix.training.recording.history import FIELDS
from separatrix.training.task import Task
from support.looped import looped

pytest.importorskip("torch", reason="torch is not installed (extra gpu)")

RULES = ("plain", "momentum", "nesterov", "adam")
EPOCHS = 6


def rows(classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        150, 8, n_informative=5, n_classes=classes, class_sep=0.5, random_state=0
    )
    X[np.abs(X) < 0.4] = 0.0
    return X, y


def task(device: str | None, rule: str = "momentum", **given: Any) -> Task:
    loss, K = given.pop("loss", LOSSES["softmax"]), given.pop("K", 3)
    solver = Gradient(
        np.array([given.pop("rate", 0.1)]),
        np.array([0.6]),
        np.array([0.05]),
        rule=rule,
        schedule="inverse",
        batch_size=given.pop("batch", None),
    )
    stop = given.pop("stop", Stop(epochs=((EPOCHS,),)))
    return Task(loss, K, solver, stop, device=device, **given)


def assert_same(found: Result, expected: Result, atol: float = 1e-11) -> None:
    assert found.stop_reason == expected.stop_reason
    assert found.best_epoch == expected.best_epoch
    np.testing.assert_allclose(found.model.W, expected.model.W, atol=atol)
    np.testing.assert_allclose(found.model.b, expected.model.b, atol=atol)
    for name in FIELDS[:-1]:
        np.testing.assert_allclose(found.history[name], expected.history[name], atol=atol)
    ours, theirs = found.certificate, expected.certificate
    assert ours.kind == theirs.kind
    assert ours.primal == pytest.approx(theirs.primal, abs=atol)
    if theirs.dual is not None:
        assert ours.dual == pytest.approx(theirs.dual, abs=atol)


@looped("rule", RULES)
@pytest.mark.parametrize("batch", [None, 40])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_rule_takes_the_native_steps(rule: str, batch: int | None, sparse: bool) -> None:
    X, y = rows()
    A = sp.csr_array(X) if sparse else X
    data, validation = Dataset.of(A[:100], y[:100]), Dataset.of(A[100:], y[100:])
    for l1, l2 in ((0.0, 0.0), (0.01, 0.1)):
        ours, theirs = (
            train([task(device, rule, batch=batch, l1=l1, l2=l2)], data, validation)
            for device in ("cpu", None)
        )
        assert_same(ours[0], theirs[0])


@looped("loss", [*LOSSES.values(), OneVsRest(LOSSES["logistic"]), OneVsRest(LOSSES["squared"])])
def test_every_loss_takes_the_native_steps(loss: Any) -> None:
    for classes in (2, 3):
        try:
            K = loss.n_outputs(classes)
        except ValueError:  # a loss for two classes
            continue
        data = Dataset.of(*rows(classes))
        given = {"loss": loss, "K": K, "l2": 0.1, "rate": 0.02}
        ours, theirs = (train([task(device, **given)], data)[0] for device in ("cpu", None))
        assert_same(ours, theirs)


def test_models_with_their_own_weights_factors_and_epochs_are_trained_together() -> None:
    X, y = rows()
    s = np.random.default_rng(0).integers(0, 3, (150, 4)).astype(float)
    factors = np.linspace(0.5, 2.0, 8)
    data = Dataset.of(X, y, s[:, :3], weight_column=[0, 1, 2, 1])

    def fits(device: str | None) -> list[Result]:
        tasks = [
            task(device, l1=0.01, l2=0.1, factors=factors),
            task(device, l2=0.2, stop=Stop(epochs=((3,),))),
            task(device, rate=1e3, stop=Stop(epochs=((40,),))),  # diverges
            task(device, bias=False, l2=0.1),
        ]
        return train(tasks, data)

    for ours, theirs in zip(fits("cpu"), fits(None)):
        diverged = theirs.stop_reason == "diverged"
        assert_same(ours, theirs, atol=1e3 if diverged else 1e-11)


def test_early_stopping_and_tolerances_read_the_native_epochs_off() -> None:
    X, y = rows()
    data, validation = Dataset.of(X[:100], y[:100]), Dataset.of(X[100:], y[100:])
    for stop in (
        Stop(epochs=((400,),), patience=np.array([5])),
        Stop(epochs=((400,),), step_tol=np.array([1e-3])),
        Stop(epochs=((400,),), tol=np.array([1e-4])),
        Stop(epochs=((400,),), gradient_tol=np.array([1e-3])),
    ):
        given = {"stop": stop, "l2": 0.1, "rate": 0.3}
        ours, theirs = (
            train([task(device, **given)], data, validation)[0] for device in ("cpu", None)
        )
        assert theirs.stop_reason != "epochs"
        assert_same(ours, theirs)


def test_a_run_resumes_from_its_checkpoint_bit_for_bit() -> None:
    data, stored = Dataset.of(*rows()), {}

    def stop_after_three(progress: Progress) -> None:
        if progress.epoch == 3:
            stored.update(progress.checkpoint())
            raise Interrupted

    one = task("cpu", "adam", l2=0.1)
    train([one], data, on_progress=stop_after_three)
    whole, resumed = train([one], data)[0], train([one], data, resume=stored)[0]
    np.testing.assert_array_equal(resumed.model.W, whole.model.W)
    np.testing.assert_array_equal(resumed.history["objective"], whole.history["objective"])


def test_partial_fit_continues_with_momentum() -> None:
    X, y = rows()
    given = {"rule": "nesterov", "momentum": 0.5, "learning_rate": 0.1}
    ours = sx.GradientDescentClassifier(**given, device="cpu")
    theirs = sx.GradientDescentClassifier(**given)
    for _ in range(3):
        for model in (ours, theirs):
            model.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-12)
    assert len(ours.history_["train_loss"]) == 3


@pytest.mark.parametrize(
    "estimator",
    [
        sx.LogisticRegression(C=0.5),
        sx.LogisticRegression(C=0.5, multiclass="ovr", class_weight="balanced"),
        sx.LogisticRegression(C=0.5, multiclass="reference", fit_intercept=False),
        sx.LinearSVC(C=0.1),
        sx.LinearSVC(C=0.1, multiclass="weston_watkins", intercept_scaling=1.0),
    ],
    ids=str,
)
def test_the_optimum_on_a_device_is_the_native_one(estimator: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    native = clone(estimator).set_params(tol=1e-13).fit(X, y)
    for A in (X, sp.csr_array(X)):
        model = clone(estimator).set_params(tol=1e-12, device="cpu", max_iter=5000).fit(A, y)
        assert model.solver_ == "lbfgs"
        assert model.stop_reason_ == "tol"
        assert model.certificate_.relative_gap <= 1e-12
        assert model.certificate_.primal == pytest.approx(native.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.coef_, native.coef_, atol=1e-5)


def test_tensors_are_accepted_as_rows_and_labels() -> None:
    import torch

    X, y = load_iris(return_X_y=True)
    tensors = torch.from_numpy(X), torch.from_numpy(y)
    for device in (None, "cpu"):
        model = sx.LogisticRegression(device=device).fit(*tensors)
        assert model.score(*tensors) == model.score(X, y) > 0.9
    sparse = tensors[0].to_sparse_csr()
    np.testing.assert_array_equal(model.predict(sparse), model.predict(X))


def test_fit_many_trains_all_estimators_on_its_device() -> None:
    X, y = rows()
    models = [sx.GradientDescentClassifier(learning_rate=r, epochs=3) for r in (0.1, 0.2)]
    expected = [clone(model).fit(X, y).coef_ for model in models]
    for model, coef in zip(sx.fit_many(models, X, y, device="cpu"), expected):
        np.testing.assert_allclose(model.coef_, coef, atol=1e-12)
        assert model.device is None


def test_a_search_and_a_study_run_on_the_device_of_their_estimator(tmp_path: Any) -> None:
    X, y = rows()
    grid = {"learning_rate": [0.1, 0.01]}
    found = [
        sx.GridSearchCV(sx.GradientDescentClassifier(epochs=20, device=device), grid, cv=3)
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for device in ("cpu", None)
    ]
    np.testing.assert_array_equal(*found)
    tables = []
    for device in ("cpu", None):
        estimator = sx.GradientDescentClassifier(epochs=20, device=device)
        study = sx.Study(f"on-{device}", estimator, grid, store=tmp_path / "studies.db")
        tables.append([row["val_loss"] for row in study.run(X, y, X, y).table()])
    np.testing.assert_allclose(*tables, atol=1e-10)


def test_precisions_set_the_type_of_the_weights() -> None:
    X, y = rows()
    for precision, dtype in (("float32", "float32"), ("tf32", "float32"), (None, "float64")):
        model = sx.GradientDescentClassifier(epochs=3, device="cpu", precision=precision)
        assert model.fit(X, y).coef_.dtype == dtype
    model = sx.GradientDescentClassifier(epochs=3, device="cpu").fit(X.astype("float32"), y)
    assert model.coef_.dtype == "float32"


def test_a_start_is_not_changed_by_training() -> None:
    X, y = rows()
    start = Model(np.ones((8, 1, 3)), np.ones((1, 3)))
    train([task("cpu", start=start)], Dataset.of(X, y))
    assert (start.W == 1.0).all()
