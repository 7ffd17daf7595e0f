"""Measure small fits and predictions, compared with scikit-learn at its default settings.

    python benchmarks/latency.py [--repeats 200] [--only row rows fit]

The two libraries take turns within one process, and the best time of each counts. A ratio above 1
means that Separatrix is faster. Fits of Separatrix include the certificate and the diagnoses.
scikit-learn's fits stop at a looser accuracy: its default tolerances bound the gradient or the
change of the weights, ours the relative duality gap.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.preprocessing import scale

import separatrix

ROWS = 100_000
LONGEST = 5.0  # seconds for one line, from which fewer repeats are made

Calls = tuple[Callable[[], Any], Callable[[], Any]]


def classes_of(name: str) -> tuple[type, type]:
    """Return our class and scikit-learn's class of the same name."""
    theirs = getattr(sklearn.linear_model, name, None) or getattr(sklearn.svm, name)
    return getattr(separatrix, name), theirs


def problem(rows: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    shape = {"n_samples": rows, "n_features": features, "n_classes": classes}
    return make_classification(**shape, n_informative=10, random_state=0)


def predictions(rows: int, features: int) -> Iterator[tuple[str, Calls]]:
    """Yield predictions for some rows by logistic regressions with 2 and 10 classes."""
    for classes in (2, 10):
        X, y = problem(max(rows, 2000), features, classes)
        models = [kind().fit(X[:2000], y[:2000]) for kind in classes_of("LogisticRegression")]
        X = X[:rows].copy()
        for method in ("predict", "predict_proba"):
            ours, theirs = (partial(getattr(model, method), X) for model in models)
            yield f"{method}, {rows:,} x {features}, {classes} classes", (ours, theirs)


def fit_new(kind: type, X: np.ndarray, y: np.ndarray) -> Any:
    return kind().fit(X, y)


def fits() -> Iterator[tuple[str, Calls]]:
    """Yield fits of small data sets, with raw and with standardised features."""
    sets = {
        "1,000 x 20": problem(1000, 20, 2),
        "iris": load_iris(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    for name in ("LogisticRegression", "LinearSVC"):
        for data, (X, y) in sets.items():
            for words, Z in ((data, X), (f"{data}, scaled", scale(X))):
                ours, theirs = (partial(fit_new, kind, Z, y) for kind in classes_of(name))
                yield f"{name}, {words}", (ours, theirs)


def best_times(calls: Calls, repeats: int) -> list[float]:
    """Return the best time of each call. They take turns, because the speed of a machine varies."""
    best, begin = [np.inf] * len(calls), time.perf_counter()
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
        if time.perf_counter() - begin > LONGEST:
            break
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=200)
    groups: dict[str, Callable[[], Iterator[tuple[str, Calls]]]] = {
        "row": lambda: predictions(1, 20),
        "rows": lambda: (line for d in (20, 100) for line in predictions(ROWS, d)),
        "fit": fits,
    }
    options.add_argument("--only", nargs="+", choices=list(groups), default=list(groups))
    given = options.parse_args()
    warnings.simplefilter("ignore")  # some of scikit-learn's fits do not converge
    print(f"{'best times in ms':44}{'Separatrix':>12}{'scikit-learn':>14}{'ratio':>8}")
    for group in given.only:
        for name, calls in groups[group]():
            ours, theirs = best_times(calls, given.repeats)
            print(
                f"{name:44}{1e3 * ours:12.3f}{1e3 * theirs:14.3f}{theirs / ours:8.2f}", flush=True
            )


if __name__ == "__main__":
    main()
