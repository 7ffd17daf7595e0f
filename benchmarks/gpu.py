"""Measure training on a GPU: many models together, and single optima against scikit-learn.

    python benchmarks/gpu.py                     all parts, on device "cuda"
    python benchmarks/gpu.py models optimum      some of the parts: floor, models, optimum, large
    python benchmarks/gpu.py --device cpu --rows 2000 --models 20 models

`floor` times only the two matrix products of an epoch, which no epoch can be faster than. `models`
trains softmax models, a grid of rates x momenta x l2, on all rows at once. `optimum` and `large`
time one softmax fit to a certified relative gap of 1e-6, and scikit-learn's fit of the same
objective, with a limit on its time. The rows are those of MNIST if SEPARATRIX_DATA names a folder
with it, and drawn at random otherwise; the rows of `large` are always drawn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

import separatrix as sx
from separatrix.device import torch_device
from separatrix.device.weights import padded_rows
from separatrix.readers.idx import read_idx

CLASSES = 10
GAP = 1e-6
L2 = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["floor", "models", "optimum", "large"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--large", type=int, nargs=2, default=[1_000_000, 1000])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for scikit-learn")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"torch {torch.__version__}, device {given.device}: {device_words(given.device)}")
    X, y, name = image_rows(given.rows)
    if "floor" in given.parts:
        floor(given, X)
    if "models" in given.parts:
        models(given, X, y, name)
    if "optimum" in given.parts:
        optimum(given, X.astype(np.float64), y, name)
    if "large" in given.parts:
        n, d = given.large
        optimum(given, *drawn_rows(n, d, given.device), f"drawn rows {n:,} x {d:,}")


def device_words(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else "processor"


def image_rows(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return MNIST, in [0, 1] and float32, or drawn rows of its shape and density."""
    folder = Path(os.environ.get("SEPARATRIX_DATA", "."), "mnist")
    if folder.is_dir():
        X = read_idx(folder / "train-images-idx3-ubyte.gz")
        y = read_idx(folder / "train-labels-idx1-ubyte.gz")
        return X.reshape(len(X), -1)[:n] / np.float32(255), y[:n], f"MNIST {n:,} x 784"
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    centres = rng.random((CLASSES, 784), np.float32) * (rng.random((CLASSES, 784)) < 0.3)
    X = np.clip(centres[y] + 0.3 * rng.standard_normal((n, 784), np.float32), 0.0, 1.0)
    X *= rng.random((n, 784)) < 0.4
    return X, y, f"drawn rows {n:,} x 784, {100 * np.mean(X != 0):.0f} % not zero"


def drawn_rows(n: int, d: int, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with labels drawn from a softmax model."""
    draw = torch.Generator(device).manual_seed(0)
    X = torch.randn(n, d, device=device, generator=draw, dtype=torch.float64)
    W = torch.randn(d, CLASSES, device=device, generator=draw, dtype=torch.float64) / d**0.5
    y = torch.multinomial(torch.softmax(X @ W, dim=1), 1, generator=draw)[:, 0]
    return X.cpu().numpy(), y.cpu().numpy()


def floor(given: argparse.Namespace, X: np.ndarray) -> None:
    """Time X P and X^T U in float32 with TF32 products."""
    torch.set_float32_matmul_precision("high")
    rows, columns = torch.zeros(len(X), padded_rows(784)), given.models * CLASSES
    rows[:, :784] = torch.from_numpy(X)
    rows = rows.to(given.device)
    P = torch.randn(rows.shape[1], columns, device=given.device)
    U = torch.randn(len(X), columns, device=given.device)
    turned = rows.T.contiguous()
    forward, back = (median_ms(f, given.device) for f in (lambda: rows @ P, lambda: turned @ U))
    torch.set_float32_matmul_precision("highest")
    print(f"floor: X W {forward:.2f} ms + X^T U {back:.2f} ms = {forward + back:.2f} ms (TF32)")


def median_ms(run: Callable[[], Any], device: str, times: int = 20) -> float:
    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    seconds = []
    for _ in range(times + 3):
        wait()
        began = time.perf_counter()
        run()
        wait()
        seconds.append(time.perf_counter() - began)
    return 1e3 * float(np.median(seconds[3:]))


def models(given: argparse.Namespace, X: np.ndarray, y: np.ndarray, name: str) -> None:
    """Time the epochs of many softmax models, compiled and not."""
    side = round(given.models ** (1 / 3))
    grid = [
        (rate, momentum, l2)
        for rate in np.geomspace(1e-3, 2e-2, side)
        for momentum in np.linspace(0.0, 0.9, side)
        for l2 in np.geomspace(1e-6, 1e-2, given.models // side**2)
    ]
    print(f"models: {len(grid)} softmax models, {name}, full batch, loss and accuracy")
    compiling = torch_device.COMPILE_FROM
    for precision, compiled in (
        ("tf32", True),
        ("float32", True),
        ("tf32", False),
    ):
        torch_device.COMPILE_FROM = compiling if compiled else 1 << 62
        epochs = given.epochs if compiled else 10
        estimators = [
            sx.GradientDescentClassifier(
                loss="softmax",
                learning_rate=rate,
                momentum=momentum,
                l2=l2,
                epochs=epochs,
                precision=precision,
                device=given.device,
            )
            for rate, momentum, l2 in grid
        ]
        began = time.perf_counter()
        sx.fit_many(estimators, X, y)
        whole = time.perf_counter() - began
        seconds = estimators[0].history_["seconds"]
        each = np.median(np.diff(seconds)[3:]) * 1e3
        certified = [e.certificate_.relative_gap is not None for e in estimators]
        print(
            f"  {precision:8} {'compiled' if compiled else 'eager':8} {each:8.2f} ms an epoch; "
            f"first epoch {seconds[0]:.1f} s, whole fit {whole:.1f} s with "
            f"{sum(certified)} certificates; best accuracy "
            f"{max(e.history_['train_accuracy'][-1] for e in estimators):.4f}"
        )
    torch_device.COMPILE_FROM = compiling


def optimum(given: argparse.Namespace, X: np.ndarray, y: np.ndarray, name: str) -> None:
    """Time one fit to a certified gap, and scikit-learn's fit of the same objective."""
    C = 1.0 / (L2 * len(y))
    print(f"optimum: one softmax fit, {name}, l2 = {L2:g}, to a relative gap of {GAP:g}")
    for repeat in ("first", "second"):
        began = time.perf_counter()
        model = sx.LogisticRegression(C=C, tol=GAP, max_iter=20_000, device=given.device)
        model.fit(X, y)
        spent = time.perf_counter() - began
        print(
            f"  separatrix, device {given.device}, {repeat} fit: {spent:.2f} s, "
            f"{model.n_iter_[0]} iterations in {model.history_['seconds'][-1]:.2f} s; "
            f"{model.certificate_}"
        )
    best = model.certificate_.primal
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        for tol in (1e-4, 1e-6):
            found = sklearn_fit(folder, C, tol, given.limit)
            if found is None:
                print(f"  scikit-learn, tol={tol:g}: not finished after {given.limit:g} s")
                break
            spent, iterations, value = found
            print(
                f"  scikit-learn, tol={tol:g}: {spent:.2f} s, {iterations} iterations; objective "
                f"above ours by {(value - best) / best:.1e} (relative)"
            )


def sklearn_fit(folder: str, C: float, tol: float, limit: float) -> tuple[float, int, float] | None:
    """Fit in a new process; return seconds, iterations and objective, or None after the limit."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=fit_and_send, args=(sender, folder, C, tol))
    process.start()
    receiver.recv()  # the rows are loaded
    found = receiver.recv() if receiver.poll(limit) else None
    process.kill()
    process.join()
    return found


def fit_and_send(sender: Connection, folder: str, C: float, tol: float) -> None:
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    X, y = (np.load(Path(folder, name)) for name in ("X.npy", "y.npy"))
    sender.send("loaded")
    began = time.perf_counter()
    model = LogisticRegression(C=C, tol=tol, max_iter=20_000).fit(X, y)
    spent = time.perf_counter() - began
    Z = model.decision_function(X)
    top = Z.max(axis=1)
    losses = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y]
    value = losses.mean() + 0.5 * L2 * np.square(model.coef_).sum()
    sender.send((spent, int(model.n_iter_[0]), float(value)))


if __name__ == "__main__":
    main()
