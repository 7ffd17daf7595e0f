"""Train on three worker processes of this machine, against memory and against dask-ml.

    python benchmarks/dask_cluster.py [--blocks 12] [--rows 125000] [--features 100]
                                      [--without dask-ml memory]

The rows are made on the workers and are the same everywhere. Three things are measured in one run:

- overhead: the time of a fit on the cluster against the same blocks in this process, which uses all
  cores, too;
- memory: the largest memory of a worker above that before the fit, in multiples of its partitions;
- dask-ml: the time of its LogisticRegression on the same arrays, and the objective that it reaches.
  The fit of separatrix reaches at least that objective. There is no bias, because dask-ml
  penalises it.

    pip install 'separatrix[dask]' dask-ml
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from separatrix import GridSearchCV, LogisticRegression, rows_per_block
from separatrix.cluster import passes_sent

WORKERS = 3
C = 1e-3


def make_rows(number: int, rows: int, features: int) -> np.ndarray:
    """Return the rows of one partition."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, features), np.float32).astype(np.float64)
    return np.multiply(X, np.linspace(0.3, 3.0, features), out=X)


def make_labels(X: np.ndarray) -> np.ndarray:
    """Return labels that a linear model predicts in part."""
    w = np.random.default_rng(10**6).standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
    noise = np.random.default_rng(len(X)).logistic(size=len(X))
    return (X @ w + noise > 0.0).astype(np.int64)


def collections(blocks: int, rows: int, features: int) -> tuple[Any, Any]:
    """Return X and y as lazy Dask arrays."""
    parts = [dask.delayed(make_rows)(k, rows, features) for k in range(blocks)]
    labels = [dask.delayed(make_labels)(part) for part in parts]
    X = da.concatenate([da.from_delayed(p, (rows, features), np.float64) for p in parts])
    y = da.concatenate([da.from_delayed(p, (rows,), np.int64) for p in labels])
    return X, y


def memory_of_worker() -> float:
    """Return the memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_of_rows(dask_worker: Any) -> int:
    """Return the bytes of the arrays that a worker holds."""
    return sum(a.nbytes for a in dask_worker.data.values() if isinstance(a, np.ndarray))


def timed(f: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the shortest time of several calls, and the result of the last one."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = f()
        times.append(time.perf_counter() - began)
    return min(times), result


def objective(X: Any, y: Any, coef: np.ndarray) -> float:
    """Return C times the sum of the losses plus |w|^2 / 2, for a model without a bias."""
    z = X.dot(coef.ravel()) * (2 * y - 1)
    return float(C * da.logaddexp(0.0, -z).sum().compute() + coef.ravel() @ coef.ravel() / 2)


def measure_memory(client: Client, X: Any, y: Any) -> None:
    """Print the largest memory of a worker during a search."""
    before, most = client.run(memory_of_worker), {}
    held: dict[str, int] = {}

    def look(*_: Any) -> None:
        for worker, now in client.run(memory_of_worker).items():
            most[worker] = max(most.get(worker, 0.0), now - before[worker])
        held.update(client.run(bytes_of_rows))

    model = LogisticRegression(C=C, tol=1e-6, fit_intercept=False)
    model.fit(X, y, on_epoch=look)
    for worker in held:
        share = most[worker] / held[worker]
        print(f"  a worker with {held[worker] / 1e6:.0f} MB of rows: {share:.2f} times as much")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--rows", type=int, default=125_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--without", nargs="*", default=[], choices=["dask-ml", "memory", "search"])
    parser.add_argument("--solvers", nargs="*", default=["lbfgs", "newton", "admm"])
    options = parser.parse_args()
    shape = options.blocks, options.rows, options.features
    size = 8e-6 * options.rows * options.features
    print(
        f"{options.blocks} partitions of {size:.0f} MB, {WORKERS} workers, {os.cpu_count()} cores"
    )
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        print("memory of the workers during a fit, above that before it:")
        measure_memory(client, *collections(*shape))
        X, y = client.persist(collections(*shape))
        wait([X, y])
        model = LogisticRegression(C=C, tol=1e-6, fit_intercept=False)
        counted = passes_sent()
        seconds, model = timed(lambda: model.fit(X, y))
        passes = (passes_sent() - counted) / 3
        reached = objective(X, y, model.coef_)
        print(f"separatrix on the cluster:  {seconds:7.2f} s, {passes:.0f} passes, {reached:.6f}")
        if "memory" not in options.without:
            compare_with_memory(shape, model, seconds)
        if "search" not in options.without:
            search(X, y)
        if "dask-ml" not in options.without:
            compare_with_dask_ml(X, y, seconds, reached, options.solvers)


def compare_with_memory(shape: tuple[int, int, int], model: Any, seconds: float) -> None:
    """Print the time of the same fit in this process."""
    blocks, rows, features = shape
    X = np.empty((blocks * rows, features))
    for k in range(blocks):
        X[k * rows : (k + 1) * rows] = make_rows(k, rows, features)
    y = np.concatenate([make_labels(X[k * rows : (k + 1) * rows]) for k in range(blocks)])
    coef = model.coef_.copy()
    with rows_per_block(rows):
        here, model = timed(lambda: model.fit(X, y))
    same = "the same bits" if np.array_equal(coef, model.coef_) else "OTHER BITS"
    print(f"the same blocks in memory:  {here:7.2f} s, {same}; overhead {seconds / here:.2f}")


def search(X: Any, y: Any) -> None:
    """Print the passes of a search."""
    before = passes_sent()
    grid = {"C": [C / 10, C, 10 * C]}
    model = LogisticRegression(tol=1e-6, fit_intercept=False)
    seconds, _ = timed(lambda: GridSearchCV(model, grid, cv=3).fit(X, y), 1)
    passes = passes_sent() - before
    print(f"a search of 10 models:      {seconds:7.2f} s, {passes} passes")


def compare_with_dask_ml(
    X: Any, y: Any, seconds: float, reached: float, solvers: list[str]
) -> None:
    """Print the times of dask-ml's solvers, and the objectives that they reach."""
    from dask_ml.linear_model import LogisticRegression as Other

    for solver in solvers:
        other = Other(C=C, solver=solver, fit_intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, other = timed(lambda other=other: other.fit(X, y), 1)
        value = objective(X, y, np.asarray(other.coef_))
        off = (value - reached) / reached
        print(
            f"dask-ml, {solver:10}:       {theirs:7.2f} s, objective {off:+.1e} relative to ours, "
            f"{theirs / seconds:.1f} times our time"
        )


if __name__ == "__main__":
    main()
