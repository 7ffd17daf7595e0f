"""Products have the same bits for any number of threads, and run in parallel with other threads."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import _core
from separatrix.matrix import Matrix, get_threads, set_threads
from support.layouts import values


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_have_the_same_bits_for_1_2_and_8_threads(kind: Any, dtype: type) -> None:
    X = Matrix(kind(values(3000, 700, density=0.2)))
    rng = np.random.default_rng(0)
    W, b = rng.standard_normal((700, 5, 3)).astype(dtype), np.ones((5, 3), dtype)
    U = rng.standard_normal((3000, 5, 3)).astype(dtype)
    found = []
    for count in (1, 2, 8):
        set_threads(count)
        assert get_threads() == count
        found.append((X.scores(W, b), X.transpose_times(U)))
    for Z, G in found[1:]:
        np.testing.assert_array_equal(Z, found[0][0])
        np.testing.assert_array_equal(G, found[0][1])


def big_product(name: str) -> Callable[[], None]:
    """A call into compiled code that takes some hundredths of a second."""
    n, d, N = 2000, 800, 64
    X = Matrix(values(n, d)).by_both()
    W, b, Z = np.ones((d, N, 1)), np.zeros((N, 1)), np.empty((n, N, 1))
    U, G, y = np.ones((n, N, 1)), np.zeros((d, N, 1)), np.zeros(n, np.int32)
    ones, order = np.ones(N), np.arange(n)
    rules = _core.GradientRuleF64(
        0, W, b, None, None, None, None, 0.0 * ones, ones, ones, ones, None, 0.9, 0.9, 1.0, True
    )
    calls: dict[str, Callable[[], Any]] = {
        "scores": lambda: _core.scores(X, W.reshape(d, N), b.ravel(), Z),
        "transpose_times": lambda: _core.transpose_times(X, U, G),
        "value_gradient": lambda: _core.value_gradient(
            X, y, None, ones, 3, 0.0, W, b, ones.copy(), ones.copy(), G, b.copy()
        ),
        "epoch": lambda: rules.epoch(X, y, None, ones, 3, 0.0, order, 50, 0),
        "perceptron_epoch": lambda: _core.perceptron_epoch(
            X, y, None, ones, order, W, b, True, np.zeros(N, np.int64)
        ),
    }
    return calls[name]


@pytest.mark.parametrize(
    "name", ["scores", "transpose_times", "value_gradient", "epoch", "perceptron_epoch"]
)
def test_other_python_threads_run_during_compiled_code(name: str) -> None:
    call = big_product(name)
    go, counted = threading.Semaphore(0), []

    def count() -> None:
        go.acquire()
        counted.append(1)

    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    other.start()
    # From here on this thread keeps the GIL unless compiled code gives it up.
    sys.setswitchinterval(1000.0)
    try:
        go.release()
        assert not counted
        for _ in range(100):
            call()
            if counted:
                break
        during = len(counted)
    finally:
        sys.setswitchinterval(interval)
        other.join()
    assert during == 1


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_simultaneous_products_from_several_python_threads_are_correct(kind: Any) -> None:
    set_threads(4)
    X = values(3000, 200, density=0.3)
    shared = Matrix(kind(X))
    jobs = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        W = rng.standard_normal((200, 5, 2))
        jobs.append((W, rng.standard_normal((5, 2)), rng.standard_normal((3000, 5, 2))))
    expected = [(shared.scores(W, b), shared.transpose_times(U)) for W, b, U in jobs]
    wrong: list[str] = []

    def work(number: int) -> None:
        W, b, U = jobs[number]
        for _ in range(15):
            for matrix in (shared, Matrix(kind(X))):
                if not np.array_equal(matrix.scores(W, b), expected[number][0]):
                    wrong.append(f"scores of thread {number}")
                if not np.array_equal(matrix.transpose_times(U), expected[number][1]):
                    wrong.append(f"transpose of thread {number}")

    workers = [threading.Thread(target=work, args=(k,)) for k in range(len(jobs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


SHARED = """
import threading
import numpy as np
import scipy.sparse as sp
from separatrix.matrix import Matrix, set_threads

set_threads(2)
rng = np.random.default_rng(0)
X = Matrix(sp.csr_array(rng.standard_normal((20000, 60)) * (rng.random((20000, 60)) < 0.1)))
jobs = [rng.standard_normal((20000, B, 1)) for B in (1, 20, 40, 90)]
expected = [X.transpose_times(U) for U in jobs]

def work(k):
    for _ in range(30):
        if not np.array_equal(X.transpose_times(jobs[k]), expected[k]):
            print("wrong", k)

threads = [threading.Thread(target=work, args=(k,)) for k in range(len(jobs))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.slow
def test_one_sparse_matrix_serves_threads_with_different_numbers_of_columns() -> None:
    """In a separate process, because a failure here is a memory error that kills the process."""
    found = subprocess.run(
        [sys.executable, "-c", SHARED], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "done\n")


def _large_product(_: int) -> tuple[np.ndarray, np.ndarray]:
    set_threads(4)
    X = Matrix(values(3000, 300))
    W, b = np.ones((300, 20, 1)), np.zeros((20, 1))
    return X.scores(W, b), X.transpose_times(np.ones((3000, 20, 1)))


@pytest.mark.parametrize(
    "method", [m for m in multiprocessing.get_all_start_methods() if m == "fork"]
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes_with_its_own_threads(method: Any) -> None:
    expected = _large_product(0)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for found in pool.map_async(_large_product, range(4)).get(timeout=120):
            for a, b in zip(found, expected):
                np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(_large_product(0)[0], expected[0])


def test_threads_are_one_per_core_unless_set() -> None:
    set_threads(3)
    assert get_threads() == 3
    set_threads()
    if hasattr(os, "sched_getaffinity"):
        assert get_threads() == len(os.sched_getaffinity(0))
    assert 1 <= get_threads() <= (os.cpu_count() or 1)
    for wrong in (0, -1, 2.9, True, "two"):
        allowed = f"must be a whole number from 1 to 1024. Got {wrong!r} instead."
        with pytest.raises(ValueError, match=re.escape(allowed)):
            set_threads(wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_environment_sets_the_threads_at_import() -> None:
    def started(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from separatrix.matrix import *; print(get_threads())"],
            env=os.environ | {"SEPARATRIX_THREADS": text},
            capture_output=True,
            text=True,
            check=False,
        )

    assert started("5").stdout == "5\n"
    refused = started("many")
    assert refused.returncode != 0
    assert "must be a whole number >= 1. Got 'many' instead." in refused.stderr
