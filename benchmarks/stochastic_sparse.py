"""Measure epochs of single-row steps on sparse rows, compared with SGDClassifier: `make bench`.

Rows have 13 entries, at random places. The time of an epoch is the difference of a long and a short
run, divided by the number of additional epochs, so that input checks do not count. Only the steps
are measured: the pass that records the objective after every epoch is excluded, since SGDClassifier
has none. The best of several runs counts, in turns, all in this process with one thread.

    python benchmarks/stochastic_sparse.py --columns 9000 90000
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from separatrix import set_threads
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers.gradient import Gradient, descend

ENTRIES = 13
RATE = 0.1
PENALTIES = {"l2": (0.0, 1e-4), "elasticnet": (0.15e-4, 0.85e-4)}
LOSS_NAMES = {"logistic": "log_loss", "hinge": "hinge"}
SHORT, LONG = 5, 55  # epochs of SGDClassifier


def make_rows(rows: int, columns: int) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    places = np.sort([rng.choice(columns, ENTRIES, replace=False) for _ in range(rows)], axis=1)
    starts = np.arange(0, rows * ENTRIES + 1, ENTRIES)
    places, starts = places.ravel().astype(np.int32), starts.astype(np.int32)  # for scikit-learn
    X = sp.csr_array((rng.random(rows * ENTRIES), places, starts), (rows, columns))
    return X, rng.integers(0, 2, rows)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def steps_of(
    X: sp.csr_array, y: np.ndarray, loss: str, penalty: str, models: int, **options: object
) -> Callable[[], object]:
    """Return a function that makes the steps of one epoch."""
    l1, l2 = (np.full(models, strength) for strength in PENALTIES[penalty])
    options = {"rule": "plain", "momentum": np.zeros(models)} | options
    rates = RATE * np.linspace(1.0, 0.5, models)
    solver = Gradient(rates, decay=np.zeros(models), batch_size=1, **options)
    objective = Objective(Dataset.of(X, y), LOSSES[loss], ElasticNet(l1, l2))
    state = solver.start(objective, Model.zeros(X.shape[1], models, 1))
    block, settings = objective.data.only_block(), solver._settings(objective, state, 1)
    return lambda: descend(block, 0, (state.model, state.slots, 0, None), solver, settings)


def epoch_of_sgd(
    X: sp.csr_array, y: np.ndarray, loss: str, penalty: str, repeats: int
) -> tuple[float, float]:
    """Return the seconds of the shortest runs of SHORT and LONG epochs."""
    best = []
    for epochs in (SHORT, LONG):
        model = SGDClassifier(
            loss=LOSS_NAMES[loss], penalty=penalty, learning_rate="constant", eta0=RATE,
            max_iter=epochs, tol=None,
        )  # fmt: skip
        best.append(min(seconds(lambda model=model: model.fit(X, y)) for _ in range(repeats)))
    return best[0], best[1]


def compare(rows: int, columns: int, loss: str, penalty: str, repeats: int) -> None:
    X, y = make_rows(rows, columns)
    one, many = (steps_of(X, y, loss, penalty, models) for models in (1, 16))
    ours, sixteen, short, long = [], [], [], []
    for _ in range(repeats):
        ours += [seconds(one) for _ in range(10)]
        sixteen += [seconds(many) for _ in range(5)]
        times = epoch_of_sgd(X, y, loss, penalty, 2)
        short.append(times[0])
        long.append(times[1])
    sgd = (min(long) - min(short)) / (LONG - SHORT)
    print(
        f"{columns:>8,}  {loss:<9}{penalty:<11}{1e3 * sgd:>8.2f}{1e3 * min(ours):>8.2f}"
        f"{min(ours) / sgd:>8.2f}x{1e3 * min(sixteen):>9.2f}{min(sixteen) / min(ours):>8.2f}x",
        flush=True,
    )


def report_rules(rows: int, columns: int, repeats: int) -> None:
    X, y = make_rows(rows, columns)
    print(f"\nother rules, logistic, l2, {columns:,} columns; milliseconds per epoch")
    cases = {
        "plain": {},
        "plain, rate / sqrt(t)": {"power": np.array([0.5])},
        "momentum": {"rule": "momentum", "momentum": np.array([0.9])},
        "momentum, rate / sqrt(t)": {
            "rule": "momentum", "momentum": np.array([0.9]), "power": np.array([0.5])
        },
        "lazy_adam": {"rule": "lazy_adam"},
        "adam (not lazy)": {"rule": "adam"},
    }  # fmt: skip
    for name, options in cases.items():
        step = steps_of(X, y, "logistic", "l2", 1, **options)
        print(f"  {name:<28}{1e3 * min(seconds(step) for _ in range(3 * repeats)):>8.2f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--rows", type=int, default=5000)
    options.add_argument("--columns", type=int, nargs="+", default=[9000, 90_000])
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    set_threads(1)
    print(f"{given.rows:,} rows with {ENTRIES} entries, batch size 1; milliseconds per epoch")
    heads = f"{'columns':>8}  {'loss':<9}{'penalty':<11}{'sklearn':>8}{'ours':>8}"
    print(f"{heads}{'':>9}{'16 models':>9}")
    for columns in given.columns:
        for loss in LOSS_NAMES:
            for penalty in PENALTIES:
                compare(given.rows, columns, loss, penalty, given.repeats)
    report_rules(given.rows, given.columns[0], given.repeats)


if __name__ == "__main__":
    main()
