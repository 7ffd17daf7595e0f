"""Studies for the tests, and comparing them bit for bit."""

import multiprocessing

import numpy as np
from sklearn.datasets import load_iris

from separatrix import GradientDescentClassifier, Study
from separatrix.study import Store, read_facts

# Processes that start with all imports done, so that they begin to work immediately.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["separatrix.study", "sklearn.datasets", "scipy.stats"])

GRID = [
    {
        "rule": ["plain", "momentum", "nesterov", "adam"],
        "learning_rate": [0.05, 0.01, 60.0],
        "momentum": 0.9,
        "epochs": [20, 700, 1500],
    },
    {"batch_size": 20, "learning_rate": [0.1, 0.01], "l2": [0.0, 0.1], "epochs": 150},
    {"patience": 3, "learning_rate": [0.1, 0.3], "epochs": [100, 2000]},
]


def iris():
    """Training and validation rows."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, val = order[:100], order[100:]
    return X[train], y[train], X[val], y[val]


def study_of(store, name="study", **options):
    """A study with every rule, mini-batches, patience and runs that diverge."""
    return Study(
        name, GradientDescentClassifier(init="random"), GRID, seeds=2, store=store, **options
    )


def facts_of(store, name="study"):
    with Store(store) as opened:
        return read_facts(opened, name)


def without_seconds(rows):
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in rows]


def assert_same(a, b):
    """Require that two studies are equal bit for bit, except for times."""
    assert without_seconds(a.table()) == without_seconds(b.table())
    assert a.verdict == b.verdict
    assert a.histories.keys() == b.histories.keys()
    for number, runs in a.histories.items():
        for one, other in zip(runs, b.histories[number], strict=True):
            for name in one:
                if name != "seconds":
                    assert one[name].tobytes() == other[name].tobytes(), (number, name)
    assert a.weights.coef.tobytes() == b.weights.coef.tobytes()


def run_in_process(target, *arguments):
    """Start a process; the caller waits for it or kills it."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def make(store, every=0.01):
    """Start the study or resume it."""
    study_of(store).run(*iris(), resume=True, every=every)


def two_classes(noise=0.3, n=200, seed=0):
    """Rows of two classes that overlap more with more noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] + noise * rng.standard_normal(n) > 0).astype(int)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]
