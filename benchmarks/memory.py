"""Measure the peak memory of fits, in multiples of X, for several solvers and sparse formats.

    python benchmarks/memory.py [--times 4]

Uses the generated text of cases.py with repeated rows, so that the model is small compared with X.
Each number is the peak memory of one fit above the memory before it, in a new process.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import CASES
from measure import Send, in_child, peak_of
from sklearn.base import clone

from separatrix import LinearSVC, LogisticRegression, LogisticRegressionCV

LIMIT = 300.0  # seconds per fit


def unsorted(X: sp.csr_matrix) -> sp.csr_matrix:
    """Return X with the entries of every row in another order."""
    order = np.random.default_rng(0).permutation(X.shape[1])
    mixed = X.tocsc()[:, order].tocsr()
    return sp.csr_matrix((mixed.data, order[mixed.indices], mixed.indptr), shape=X.shape)


LAYOUTS: dict[str, Callable[[sp.csr_matrix], Any]] = {
    "CSR": lambda X: X,
    "CSR, unsorted": unsorted,
    "CSR, float32": lambda X: X.astype(np.float32),
    "CSR, integers": lambda X: (X * 10.0).ceil().astype(np.int64),
    "CSC": lambda X: X.tocsc(),
    "COO": lambda X: X.tocoo(),
}

FITS: dict[str, Any] = {
    "dual, logistic": LogisticRegression(tol=1e-6, solver="dual"),
    "dual, hinge": LinearSVC(loss="hinge"),
    "newton": LogisticRegression(tol=1e-6, solver="newton"),
    "lbfgs": LogisticRegression(tol=1e-6, solver="lbfgs"),
    "coordinate, L1": LogisticRegression(l1_ratio=1.0),
    "26 models, dual": LogisticRegressionCV(Cs=5, cv=5),
}


def size_of(X: Any) -> int:
    names = ("row", "col") if X.format == "coo" else ("indices", "indptr")
    return int(X.data.nbytes + sum(getattr(X, name).nbytes for name in names))


def weigh(send: Send, layout: str, fit: str, times: int) -> None:
    """In a child process: send the peak memory of a fit in multiples of X."""
    problem = next(case for case in CASES if case.data == "text").problem()
    X = LAYOUTS[layout](sp.vstack([problem.X] * times).tocsr())
    y = np.tile(problem.y, times)
    warnings.simplefilter("ignore")
    clone(FITS[fit]).fit(problem.X[:500], problem.y[:500])
    send(peak_of(lambda: FITS[fit].fit(X, y)) * 2**20 / size_of(X))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=4, help="number of repetitions of the rows")
    times = options.parse_args().times
    print(f"{'':<16}", *(f"{fit:>16}" for fit in FITS))
    for layout in LAYOUTS:
        print(f"{layout:<16}", end="", flush=True)
        for fit in FITS:
            found = next(m for m in in_child(weigh, (layout, fit, times), LIMIT) if m is not None)
            text = f"{found:.2f}" if isinstance(found, float) else str(found)
            print(f" {text:>16}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
