"""Which copies of X are made, and when: a copy changes no bit."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import _core
from separatrix.matrix import Matrix, column_moments, first_not_finite, set_threads
from support.layouts import unsorted, values

SCORES_ON_MANY_THREADS = """
import re
import numpy as np, scipy.sparse as sp
from separatrix.matrix import Matrix, set_threads

def most():  # kB that this process has held; getrusage would count its parent's too
    return re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]

X = Matrix(sp.random(500, 50_000, 1e-3, "csc", None, np.random.default_rng(0)))
W, b = np.random.default_rng(0).standard_normal((50_000, 1, 1)), np.zeros((1, 1))
set_threads(1)
expected = X.scores(W, b)
set_threads(1000)
before = most()
assert X.scores(W, b).tobytes() == expected.tobytes()
print(before, most())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory it took from /proc")
def test_scores_of_a_csc_take_little_memory_on_many_threads() -> None:
    """With few entries per feature, an array per feature and thread would dominate the memory."""
    run = [sys.executable, "-c", SCORES_ON_MANY_THREADS]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    before, after = map(int, out.split())
    assert after < 1.5 * before  # 190 MiB more, otherwise


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_x_is_never_copied_as_a_whole(dtype: str, order: str) -> None:
    n, d = 20000, 50
    X = np.asarray(values(n, d, dtype), order=order)
    W, b = np.ones((d, 1, 1)), np.zeros((1, 1))
    U = np.ones((n, 1, 1))
    tracemalloc.start()
    matrix = Matrix(X)
    matrix.scores(W, b)
    matrix.transpose_times(U)
    column_moments(matrix)
    first_not_finite(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * n * d * 8


def test_the_native_matrix_keeps_its_arrays_alive() -> None:
    native = Matrix(values(100, 30)).by_both()
    sparse = Matrix(sp.csr_array(values(100, 30, density=0.3))).by_both()
    junk = [np.full((100, 30), np.nan) for _ in range(20)]
    for matrix in (native, sparse):
        Z = np.empty((100, 1))
        _core.scores(matrix, np.ones((30, 1)), np.zeros(1), Z)
        assert np.isfinite(Z).all()
    del junk


# The number of columns decides how the kernels sum; every pair of options occurs.
every_sum = pytest.mark.parametrize(
    ("features", "columns", "dtype", "threads"),
    [
        (240, 1, "float32", 1),
        (1200, 1, "float64", 3),
        (240, 3, "float64", 3),
        (1200, 3, "float32", 1),
        (240, 8, "float32", 3),
        (1200, 8, "float64", 1),
        (240, 16, "float64", 1),
        (1200, 16, "float32", 3),
        (240, 21, "float32", 3),
        (1200, 21, "float64", 1),
        (240, 40, "float64", 1),
        (1200, 40, "float32", 3),
    ],
)


@every_sum
def test_the_second_copy_of_a_sparse_matrix_changes_no_bit(
    features: int, columns: int, dtype: str, threads: int
) -> None:
    X = sp.csr_array(values(3000, features, density=24 / features))
    U = np.random.default_rng(columns).standard_normal((3000, columns, 1)).astype(dtype)
    set_threads(threads)
    copied = Matrix(X)
    copied.by_both()
    once = Matrix(X)
    for _ in range(20):  # meanwhile it may make its own copy
        np.testing.assert_array_equal(once.transpose_times(U), copied.transpose_times(U))
    if features * columns > 40_000:
        assert once.by_sample().has_features


@every_sum
def test_scores_by_features_have_the_bits_of_those_by_samples(
    features: int, columns: int, dtype: str, threads: int
) -> None:
    X = sp.csr_array(values(3000, features, density=24 / features))
    rng = np.random.default_rng(columns)
    W = rng.standard_normal((features, columns, 1)).astype(dtype)
    b = rng.standard_normal((columns, 1)).astype(dtype)
    set_threads(threads)
    expected, once = Matrix(X).scores(W, b), Matrix(X.tocsc())
    for _ in range(20):  # meanwhile it makes its own copy
        np.testing.assert_array_equal(once.scores(W, b), expected)
    assert once.native.has_samples


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_no_second_copy_is_made_while_a_solver_has_one(kind: Any) -> None:
    X, U = Matrix(kind(values(300, 1500, density=0.02))), np.ones((300, 40, 1))

    class Copy:
        pass

    copy = Copy()
    X.lend(copy)
    for _ in range(20):
        X.transpose_times(U)
    assert X.native.has_features != X.native.has_samples
    del copy
    X.transpose_times(U)
    assert X.native.has_features
    assert X.native.has_samples


def test_no_second_copy_is_made_beside_rows_that_were_sorted() -> None:
    X, U = Matrix(unsorted(sp.csr_array(values(300, 1500, density=0.02)))), np.ones((300, 40, 1))
    X.gram(np.ones((300, 1)))
    for _ in range(20):
        X.transpose_times(U)
    assert not X.native.has_features
