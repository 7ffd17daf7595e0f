"""Measure kernel methods: leave-one-out errors of kernel ridge, and a kernel classifier on a9a.

    SEPARATRIX_DATA=folder python benchmarks/kernel.py [ridge] [a9a] [--repeats 3]

ridge: KernelRidgeCV computes the exact leave-one-out errors of 20 penalties. It is compared with
scikit-learn's KernelRidge in a GridSearchCV of 5 folds over the same penalties, on 2,000 generated
rows of 20 features with an rbf kernel.

a9a: KernelClassifier with the hinge at several ranks is compared with scikit-learn's SVC on the
first 10,000 rows, both with C = 1 and gamma = 1 / 123. The accuracy is on the 16,281 test rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from separatrix import KernelClassifier, KernelRidgeCV
from separatrix.readers import read_svmlight

ALPHAS = np.logspace(-4, 3, 20)
RANKS = (50, 100, 250, 500)
ROWS = 10_000


def best(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the time of the fastest run in seconds, and the result of the last run."""
    seconds, found = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found


def ridge(repeats: int) -> None:
    """Compare leave-one-out errors with a grid search of 5 folds, for 20 penalties."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    kernel = {"kernel": "rbf", "gamma": 0.02}
    search = GridSearchCV(
        KernelRidge(**kernel), {"alpha": ALPHAS}, cv=5, scoring="neg_mean_squared_error"
    )
    slow, found = best(lambda: search.fit(X, y), repeats)
    quick, ours = best(lambda: KernelRidgeCV(ALPHAS, **kernel).fit(X, y), repeats)
    print(f"ridge, {len(X)} rows, {len(ALPHAS)} penalties")
    print(
        f"{'scikit-learn, 5 folds':32} {slow:8.2f} s   alpha {found.best_params_['alpha']:8.2g}, "
        f"error {-found.best_score_:.4f} by 5 folds"
    )
    print(
        f"{'separatrix, leave-one-out':32} {quick:8.2f} s   alpha {ours.alpha_:8.2g}, "
        f"error {ours.loo_errors_.min():.4f} by {len(X)}; {slow / quick:.1f} times as fast"
    )


def a9a(repeats: int) -> None:
    """Compare KernelClassifier at several ranks with SVC."""
    folder = os.environ.get("SEPARATRIX_DATA")
    if not folder:
        print("a9a is skipped: SEPARATRIX_DATA is not set.")
        return
    train, test = (read_svmlight(Path(folder) / "libsvm" / name) for name in ("a9a", "a9a.t"))
    X, y = train.X[:ROWS], train.y[:ROWS]
    T = test.X.copy()
    T.resize((T.shape[0], X.shape[1]))
    gamma = 1.0 / X.shape[1]
    slow, theirs = best(lambda: SVC(gamma=gamma, cache_size=1000).fit(X, y), repeats)
    print(f"a9a, {ROWS} rows, hinge, rbf")
    print(f"{'scikit-learn SVC':32} {slow:8.2f} s   accuracy {theirs.score(T, test.y):.4f}")
    for rank in RANKS:
        model = KernelClassifier(gamma=gamma, rank=rank)
        quick, ours = best(lambda model=model: model.fit(X, y), repeats)
        gap = ours.certificate_.relative_gap
        print(
            f"{f'separatrix, rank {rank}':32} {quick:8.2f} s   accuracy "
            f"{ours.score(T, test.y):.4f}; {slow / quick:.1f} times as fast; gap {gap:.0e}, "
            f"{ours.factor_.relative_left:.1e} of the trace left out"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=["ridge", "a9a"], help="ridge, a9a, or both")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs (the best counts)")
    given = parser.parse_args()
    for name, run in (("ridge", ridge), ("a9a", a9a)):
        if name in given.cases:
            run(given.repeats)


if __name__ == "__main__":
    main()
