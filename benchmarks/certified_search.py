"""Check certified searches against a brute-force search over many values of C.

On each data set, a certified search finds the best C of an interval and a lower bound on the
cross-validation error. Then `GridSearchCV` trains many other values of C, evenly spaced on a
logarithmic scale and shifted at random. None may have an error below the lower bound, or outside
the bounds of its piece of the interval.

    SEPARATRIX_DATA=... python benchmarks/certified_search.py --values 2000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import GridSearchCV, LinearSVC, LogisticRegression, certified_search, load

TOL = 1e-9  # relative duality gap of the brute-force search
ROUNDING = 1e-6  # what its measure may differ by from that of the optimum
AT_ONCE = 100  # values of C in one grid search
INTERVAL = (1e-3, 1e3)


def data_sets(names: list[str]) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield name, X, y and the estimator of each data set."""
    if "breast cancer" in names:
        X, y = load_breast_cancer(return_X_y=True)
        yield "breast cancer", X, y, make_pipeline(StandardScaler(), LogisticRegression(tol=TOL))
    if "wine" in names:
        X, y = load_wine(return_X_y=True)
        yield "wine", X, y, LogisticRegression(multiclass="ovr", tol=TOL)
    if "digits" in names:
        X, y = load_digits(return_X_y=True)
        yield "digits", X, (y >= 5).astype(int), LinearSVC(loss="squared_hinge", tol=TOL)
    for name in ("a5a", "a9a"):
        if name in names:
            source = load(name)
            train = source.rows(source.splits["train"])
            yield name, train.table, train.y, LogisticRegression(tol=TOL)


def check(name: str, X: Any, y: Any, estimator: Any, asked: argparse.Namespace) -> int:
    """Compare one certified search with a brute-force search; return the number of violations."""
    found = certified_search(
        X, y, estimator, C=INTERVAL, epsilon=asked.epsilon, measure=asked.measure
    )
    print(f"\n{name}: {found}")
    print(f"{found.seconds:.1f} s, {found.n_passes:.0f} passes")
    rng = np.random.default_rng(0)
    places = (np.arange(asked.values) + rng.random(asked.values)) / max(asked.values, 1)
    Cs = INTERVAL[0] * (INTERVAL[1] / INTERVAL[0]) ** places
    prefix = "logisticregression__" if hasattr(estimator, "steps") else ""
    began, values, passes = time.perf_counter(), [], 0.0
    scoring = "accuracy" if asked.measure == "error" else "neg_log_loss"
    for start in range(0, len(Cs), AT_ONCE):
        grid = {f"{prefix}C": Cs[start : start + AT_ONCE]}
        search = GridSearchCV(estimator, grid, cv=5, scoring=scoring, refit=False).fit(X, y)
        values.append(search.cv_results_["mean_test_score"])
        passes += search.n_passes_
    if not values:
        return 0
    score = np.concatenate(values)
    measured = 1.0 - score if asked.measure == "error" else -score
    piece = np.clip(np.searchsorted(found.edges, Cs) - 1, 0, len(found.low) - 1)
    below = int((measured < found.error - asked.epsilon - ROUNDING).sum())
    outside = int(
        ((measured < found.low[piece] - ROUNDING) | (measured > found.high[piece] + ROUNDING)).sum()
    )
    print(
        f"{len(Cs)} values of C without a proof: {time.perf_counter() - began:.1f} s, "
        f"{passes:.0f} passes, lowest {found.format(float(measured.min()))}; "
        f"{below} better by more than epsilon, {outside} outside the bounds"
    )
    return below + outside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, default=0.01)
    parser.add_argument("--measure", choices=["error", "log_loss"], default="error")
    parser.add_argument("--data", default="breast cancer,wine,digits,a5a,a9a")
    asked = parser.parse_args()
    total = sum(check(*one, asked) for one in data_sets(asked.data.split(",")))
    print(f"\n{total} violations")


if __name__ == "__main__":
    main()
