"""What a device does not do is refused in one sentence, and torch is needed for a device only."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.data import Dataset
from separatrix.device import DeviceObjective, TorchDevice, open_device, torch_device
from separatrix.device.rows import DeviceRows
from separatrix.errors import ParameterError
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Newton
from separatrix.training import Stop, Task, train
from support.looped import looped

X, y = load_iris(return_X_y=True)
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed (extra gpu)"
)
# The GPU machine has no packages for charts, tables and the command line.
WITHOUT_PACKAGES = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name in ("torch", "altair", "vl_convert", "typer", "rich", "pyarrow", "pandas"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
from sklearn.datasets import load_iris
import separatrix as sx
X, y = load_iris(return_X_y=True)
sx.fit_many([sx.LogisticRegression(), sx.GradientDescentClassifier(epochs=3)], X, y)
sx.LogisticRegression(device="cuda").fit(X, y)
"""


def test_fits_need_neither_torch_nor_packages_for_charts() -> None:
    command = [sys.executable, "-c", WITHOUT_PACKAGES]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    last = found.stderr.strip().splitlines()[-1]
    assert last.endswith(
        "device='cuda' needs PyTorch, which is not installed. Install it with pip install "
        "'separatrix[gpu]', or omit device."
    )


@needs_torch
def test_a_machine_without_a_gpu_says_so() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    for fit in (sx.LogisticRegression(device="cuda"), sx.GradientDescentClassifier(device="cuda")):
        with pytest.raises(ParameterError) as caught:
            fit.fit(X, y)
        assert str(caught.value) == (
            "device='cuda' needs a GPU that PyTorch can use, and this machine has none. Omit "
            "device to train on the processor."
        )


REFUSED: list[tuple[Any, str]] = [
    (sx.LogisticRegression(device="gpu"), "such as 'cuda', 'cuda:1' or 'cpu'. Got 'gpu' instead"),
    (sx.LogisticRegression(device=0), "Got 0 instead"),
    (
        sx.LogisticRegression(device="cpu", solver="newton"),
        "needs a smooth loss and l1 = 0: solver='newton' was given",
    ),
    (sx.LogisticRegression(device="cpu", l1_ratio=1.0), "lacks l1 = 0. Omit device"),
    (sx.LinearSVC(device="cpu", loss="hinge"), "lacks a smooth loss. Omit device"),
    (
        sx.GradientDescentClassifier(device="cpu", rule="lazy_adam"),
        "the rules plain, momentum, nesterov, adam, without averages. Got rule='lazy_adam'",
    ),
    (sx.GradientDescentClassifier(precision="tf32"), "precision='tf32' needs device"),
    (
        sx.GradientDescentClassifier(device="cpu", precision="half"),
        "must be one of 'tf32', 'float32', 'float64' or None. Got 'half' instead",
    ),
]


@needs_torch
@looped("refused", REFUSED)
def test_what_a_device_does_not_do_is_refused(refused: tuple[Any, str]) -> None:
    estimator, words = refused
    with pytest.raises(ParameterError) as caught:
        estimator.fit(X, y)
    assert words in str(caught.value)


@needs_torch
def test_an_estimator_without_a_device_is_refused_by_fit_many() -> None:
    with pytest.raises(ParameterError, match="cannot be used with Perceptron"):
        sx.fit_many([sx.Perceptron()], X, y, device="cpu")


@needs_torch
def test_a_loss_that_knows_numpy_only_is_refused() -> None:
    class NumpyOnly:
        name = "numpy only"

        def value(self, y: np.ndarray, Z: np.ndarray) -> np.ndarray:
            return Z.sum(axis=2)

    rows = DeviceRows(TorchDevice("cpu"))
    with pytest.raises(ParameterError, match="its formulas know numpy only"):
        DeviceObjective(Dataset.of(X, y), NumpyOnly(), ElasticNet(0.0, 0.0), rows=rows)


@needs_torch
def test_without_a_compiler_the_formulas_run_uncompiled_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_compiler(formula: Any) -> Any:
        def fail(*arguments: Any) -> Any:
            raise RuntimeError("no g++ was found")

        return fail

    monkeypatch.setattr(torch_device, "_compiled", no_compiler)
    monkeypatch.setattr(torch_device, "_UNCOMPILED", set())
    device = open_device("cpu")
    size = torch_device.COMPILE_FROM
    with pytest.warns(RuntimeWarning, match=r"does not work for device 'cpu' \(no g\+\+ was"):
        assert device.run(max, 1, 2, size=size) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device.run(max, 1, 2, size=size) == 2  # the warning is given once


@needs_torch
@pytest.mark.slow
def test_compiled_formulas_give_the_numbers_of_the_native_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_device, "COMPILE_FROM", 0)
    monkeypatch.setattr(torch_device, "_UNCOMPILED", set())
    data, penalty, loss = Dataset.of(X, y), ElasticNet(0.0, 0.1), LOSSES["softmax"]
    on_device = DeviceObjective(data, loss, penalty, rows=DeviceRows(open_device("cpu")))
    native = Objective(data, loss, penalty)
    rng = np.random.default_rng(0)
    model = Model(rng.standard_normal((4, 1, 3)), rng.standard_normal((1, 3)))
    ours, theirs = on_device.evaluate(model), native.evaluate(model)
    assert not torch_device._UNCOMPILED
    for name in ("loss", "accuracy", "penalty", "gradient_norm", "GW", "gb"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)


@needs_torch
def test_a_task_with_another_solver_is_refused() -> None:
    stop = Stop(epochs=((5,),))
    task = Task(LOSSES["softmax"], 3, Newton(), stop, l2=0.1, precise=True, device="cpu")
    with pytest.raises(ParameterError, match="Solvers that run on a device: gradient, lbfgs"):
        train([task], Dataset.of(X, y))


@needs_torch
def test_rows_outside_of_memory_are_refused() -> None:
    data = Dataset.of(X, y)
    data.source = object()
    with pytest.raises(ValueError, match="needs all rows in memory"):
        DeviceRows(TorchDevice("cpu")).blocks(data)
