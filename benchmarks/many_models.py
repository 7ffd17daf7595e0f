"""Compare many models in one pass with one model at a time: `make bench`.

Measures the best of several runs of

- a sweep of 64 softmax configurations (8 learning rates x 2 momenta x 4 l2) on 10,000 x 784, with
  100 full-batch epochs that are all recorded. It is compared with a plain numpy loop over the same
  configurations, and with the arithmetic floor: only the two matrix products, by numpy's library;
- products of a sparse matrix with 16 columns, per column, compared with scipy's product with one.

The numpy loop is timed on some configurations and epochs and extrapolated, since all its epochs do
the same work. MNIST is read from SEPARATRIX_DATA. Without it, random images with as many zeros are
used.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix import GradientDescentClassifier, fit_many, get_threads
from separatrix.matrix import Matrix

RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5]
MOMENTA = [0.0, 0.9]
L2 = [0.0, 1e-4, 1e-3, 1e-2]
GRID = list(product(RATES, MOMENTA, L2))
CLASSES = 10


def best_of(times: int, f: Callable[[], object]) -> float:
    """Return the time of the fastest call in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def images(rows: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the first rows of MNIST in [0, 1], or random images like them."""
    folder = Path(os.environ.get("SEPARATRIX_DATA", "")) / "mnist"
    file = folder / "train-images-idx3-ubyte.gz"
    if "SEPARATRIX_DATA" in os.environ and file.exists():
        pixels = np.frombuffer(gzip.decompress(file.read_bytes()), np.uint8, offset=16)
        packed = (folder / "train-labels-idx1-ubyte.gz").read_bytes()
        labels = np.frombuffer(gzip.decompress(packed), np.uint8, offset=8)
        return pixels.reshape(-1, 784)[:rows] / 255.0, labels[:rows].astype(int), "MNIST"
    rng = np.random.default_rng(0)
    ink = rng.random(784) ** 3 * 0.77  # 19 % of all pixels, some always blank
    X = rng.random((rows, 784)) * (rng.random((rows, 784)) < ink)
    return X, rng.integers(CLASSES, size=rows), "random"


def numpy_sweep(X: np.ndarray, y: np.ndarray, grid: list, epochs: int) -> None:
    """Train as one would without a library: loop over configurations and epochs."""
    n, d = X.shape
    Y = np.eye(CLASSES, dtype=X.dtype)[y]
    for rate, momentum, l2 in grid:
        W, b = np.zeros((d, CLASSES), X.dtype), np.zeros(CLASSES, X.dtype)
        V, v = np.zeros_like(W), np.zeros_like(b)
        losses, accuracies = [], []
        for _ in range(epochs):
            Z = X @ W + b
            Z -= Z.max(axis=1, keepdims=True)
            P = np.exp(Z)
            total = P.sum(axis=1, keepdims=True)
            losses.append(float(np.mean(np.log(total[:, 0]) - Z[np.arange(n), y])))
            accuracies.append(float(np.mean(Z.argmax(axis=1) == y)))
            P /= total
            R = (P - Y) / X.dtype.type(n)
            V = X.dtype.type(momentum) * V - X.dtype.type(rate) * (X.T @ R + X.dtype.type(l2) * W)
            v = X.dtype.type(momentum) * v - X.dtype.type(rate) * R.sum(axis=0)
            W += V
            b += v


def sweep(X: np.ndarray, y: np.ndarray, epochs: int) -> list[GradientDescentClassifier]:
    """Train the same models with fit_many."""
    models = [
        GradientDescentClassifier(
            "softmax", learning_rate=rate, momentum=momentum, l2=l2, epochs=epochs
        )
        for rate, momentum, l2 in GRID
    ]
    return fit_many(models, X, y)


def products_floor(X: np.ndarray, repeats: int) -> float:
    """Return the seconds of one X W and one X^T U for all configurations in numpy."""
    rng = np.random.default_rng(1)
    N = CLASSES * len(GRID)
    W = rng.standard_normal((X.shape[1], N)).astype(X.dtype)
    U = rng.standard_normal((X.shape[0], N)).astype(X.dtype)
    Z, G = np.empty_like(U), np.empty_like(W)
    forward = best_of(repeats, lambda: np.matmul(X, W, out=Z))
    return forward + best_of(repeats, lambda: np.matmul(X.T, U, out=G))


def report_sweep(name: str, X: np.ndarray, y: np.ndarray, epochs: int, repeats: int) -> None:
    few, short = GRID[:: len(GRID) // 4], 10
    share = len(GRID) * epochs / (len(few) * short)
    floor = products_floor(X, 3 * repeats) * epochs
    loop = best_of(repeats, lambda: numpy_sweep(X, y, few, short)) * share
    ours = best_of(repeats, lambda: sweep(X, y, epochs))
    print(
        f"{name:<24}{X.dtype!s:<9}{loop:>9.1f}{floor:>9.1f}{ours:>9.1f}"
        f"{loop / ours:>12.1f}x{ours / floor:>11.2f}x",
        flush=True,
    )


def text_like(rows: int, columns: int, entries: int) -> sp.csr_array:
    """Generate a sparse matrix whose columns have the frequencies of words."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, columns + 1)
    j = rng.choice(columns, size=entries, p=share / share.sum())
    i = rng.integers(rows, size=entries)
    X = sp.csr_array((rng.random(entries), (i, rng.permutation(columns)[j])), (rows, columns))
    X.sum_duplicates()
    return X


def time_products(X: sp.csr_array, repeats: int) -> None:
    """Print one line for X W and one for X^T U."""
    matrix = Matrix(X)
    matrix.by_both()
    transposed = X.T
    rng = np.random.default_rng(2)
    W = rng.standard_normal((X.shape[1], 16, 1)).astype(X.dtype)
    U = rng.standard_normal((X.shape[0], 16, 1)).astype(X.dtype)
    b = np.zeros((16, 1), X.dtype)
    w, u = (np.ascontiguousarray(a[:, :1]) for a in (W, U))
    lines = {
        "X W": (
            lambda: X @ w[:, 0, 0],
            lambda: matrix.scores(w, b[:1]),
            lambda: matrix.scores(W, b),
        ),
        "X^T U": (
            lambda: transposed @ u[:, 0, 0],
            lambda: matrix.transpose_times(u),
            lambda: matrix.transpose_times(U),
        ),
    }
    for name, calls in lines.items():
        scipy_one, one, sixteen = (best_of(3 * repeats, call) * 1e6 for call in calls)
        print(
            f"{name:<24}{X.dtype!s:<9}{scipy_one:>9.0f}{one:>9.0f}{sixteen / 16:>9.0f}"
            f"{scipy_one / (sixteen / 16):>12.1f}x"
        )


def report_products(repeats: int) -> None:
    X = text_like(25_000, 75_000, 4_600_000)
    print(f"\nsparse products, 25,000 x 75,000 with {X.nnz:,} entries, microseconds per column")
    print(f"{'':<24}{'':<9}{'scipy, 1':>9}{'ours, 1':>9}{'ours, 16':>9}{'scipy/ours':>13}")
    for dtype in (np.float64, np.float32):
        time_products(X.astype(dtype), repeats)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--epochs", type=int, default=100)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--rows", type=int, default=10_000)
    given = options.parse_args()
    print(f"{get_threads()} threads, {_core.instruction_set()}; seconds, best of {given.repeats}")
    print(f"\n64 configurations, {given.epochs} epochs, {given.rows:,} x 784, softmax")
    print(f"{'':<24}{'':<9}{'numpy':>9}{'floor':>9}{'ours':>9}{'numpy/ours':>13}{'ours/floor':>12}")
    X, y, name = images(given.rows)
    title = f"{name}, {np.count_nonzero(X) / X.size:.0%} non-zero"
    dense = np.random.default_rng(3).standard_normal(X.shape) / 10.0
    for dtype in (np.float64, np.float32):
        report_sweep("dense", dense.astype(dtype), y, given.epochs, given.repeats)
        report_sweep(title, X.astype(dtype), y, given.epochs, given.repeats)
    report_products(given.repeats)


if __name__ == "__main__":
    main()
