"""Products with X, whatever X is made of: right, in place, and the same bits for any threads."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import GradientDescentClassifier, LogisticRegression, _core
from separatrix.data import Block
from separatrix.matrix import (
    Matrix,
    bounds_by_group,
    column_moments,
    first_not_finite,
    get_threads,
    moments_of_models,
    rows_read,
    set_threads,
    weighted_squares,
    working_type,
)
from separatrix.matrix.storage import sort_indices
from support.layouts import (
    INTEGERS,
    LAYOUTS,
    SPARSE,
    TYPES,
    dense_of,
    unsorted,
    values,
    widened,
)


def assert_products(X: Any, B: int = 3, K: int = 2, dtype: type = np.float64) -> None:
    """Both products equal numpy's, in the type of the other factor."""
    wide, matrix = dense_of(X), Matrix(X)
    n, d = wide.shape
    rng = np.random.default_rng(1)
    W, b = rng.standard_normal((d, B, K)).astype(dtype), rng.standard_normal((B, K)).astype(dtype)
    U = rng.standard_normal((n, B, K)).astype(dtype)
    Z, G = matrix.scores(W, b), matrix.transpose_times(U)
    assert Z.dtype == G.dtype == dtype
    assert Z.shape == (n, B, K)
    assert G.shape == (d, B, K)
    eps = 8 * np.finfo(dtype).eps
    size = np.tensordot(abs(wide), abs(W.astype(np.float64)), 1) + abs(b)
    error = np.abs(Z - (np.tensordot(wide, W.astype(np.float64), 1) + b))
    assert (error <= eps * np.sqrt(d + 1) * size).all()
    size = np.tensordot(abs(wide).T, abs(U.astype(np.float64)), 1)
    error = np.abs(G - np.tensordot(wide.T, U.astype(np.float64), 1))
    assert (error <= eps * np.sqrt(n) * size).all()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = get_threads()
    yield
    set_threads(before)


# --- dense ---


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_products_of_dense_x_of_any_type_and_layout(layout: str, dtype: str) -> None:
    X = LAYOUTS[layout](values(37, 21, dtype))
    assert X.dtype == dtype
    before = X.copy()
    assert_products(X)
    assert_products(X, B=1, K=1)
    assert_products(X, B=30, K=3, dtype=np.float32)
    assert np.shares_memory(Matrix(X).X, X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", ["float16", ">f8", ">i4", "longdouble", "object"])
def test_types_that_the_kernels_do_not_read_are_converted(dtype: str) -> None:
    X = values(9, 5).astype(dtype)
    assert_products(X)
    assert Matrix(X).dtype == (np.float32 if dtype == "float16" else np.float64)


LARGE = [
    (16500, 3),  # rows beyond a chunk of narrow data
    (33000, 2),
    (2100, 1030),  # rows beyond a chunk of wide data, columns beyond two blocks of depth
    (5, 5000),
    (400, 385),
    (1, 1),
    (1, 900),
    (900, 1),
]


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_dense_products_are_right_across_chunks_and_blocks(
    shape: tuple[int, int], order: str, dtype: str
) -> None:
    X = np.asarray(values(*shape, dtype), order=order)
    assert_products(X, B=2, K=1)
    assert_products(X, B=13, K=2, dtype=np.float32)


@pytest.mark.parametrize("density", [0.0, 0.05])
def test_mostly_zero_dense_data_is_right(density: float) -> None:
    X = values(200, 500, density=density)
    X[3:11] = 0
    X[:, 100:200] = 0
    assert_products(X, B=40, K=1)
    assert_products(X, B=1, K=1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(5, 0), (0, 4), (0, 0)], ids=str)
def test_no_rows_or_no_columns(kind: Any, shape: tuple[int, int]) -> None:
    X = Matrix(kind(np.zeros(shape)))
    b = np.array([[1.0, 2.0]])
    Z = X.scores(np.ones((shape[1], 1, 2)), b)
    np.testing.assert_array_equal(Z, np.broadcast_to(b, (shape[0], 1, 2)))
    np.testing.assert_array_equal(
        X.transpose_times(np.ones((shape[0], 1, 2))), np.zeros((shape[1], 1, 2))
    )


@given(
    n=st.integers(1, 60),
    d=st.integers(1, 60),
    B=st.integers(1, 20),
    K=st.integers(1, 4),
    dtype=st.sampled_from(TYPES),
    layout=st.sampled_from(list(LAYOUTS)),
    wide=st.booleans(),
)
@settings(max_examples=200)
def test_products_of_dense_x_of_any_shape(
    n: int, d: int, B: int, K: int, dtype: str, layout: str, wide: bool
) -> None:
    assert_products(
        LAYOUTS[layout](values(n, d, dtype)), B, K, dtype=np.float64 if wide else np.float32
    )


def test_unaligned_and_foreign_arrays_are_copied_and_read_right() -> None:
    packed = np.zeros(9, dtype=[("flag", "u1"), ("x", "f8", 5)])
    packed["x"] = values(9, 5)
    X = packed["x"]
    assert X.strides == (41, 8)
    assert_products(X)
    shifted = np.frombuffer(b"." + values(9, 5).tobytes(), np.float64, offset=1).reshape(9, 5)
    assert not shifted.flags.aligned
    assert_products(shifted)
    np.testing.assert_array_equal(Matrix(shifted).X, values(9, 5))


@pytest.mark.parametrize("X", [np.arange(3.0), np.zeros((2, 2, 2)), np.float64(1.0)])
def test_x_that_is_no_matrix_is_refused(X: Any) -> None:
    with pytest.raises(ValueError, match=r"X must be a matrix of real numbers, of shape \(n, d\)"):
        Matrix(X)


@pytest.mark.parametrize("X", [np.ones((2, 2), complex), np.array([["a"]]), sp.eye(2, dtype="c16")])
def test_x_that_holds_no_real_numbers_is_refused(X: Any) -> None:
    with pytest.raises(ValueError, match=r"X must be a matrix of real numbers.*Got .* type"):
        Matrix(X)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("W", "b"),
    [((2, 1, 1), (1, 1)), ((5, 1, 1), (300, 1)), ((5, 2, 3), (3, 2)), ((5, 1), (1,)), ((5,), ())],
)
def test_weights_of_other_shapes_than_x_are_refused(kind: Any, W: Any, b: Any) -> None:
    words = rf"W must be of shape \(5, B, K\) and b of shape \(B, K\)\. Got {re.escape(str(W))}"
    with pytest.raises(ValueError, match=words):
        Matrix(kind(values(7, 5))).scores(np.ones(W), np.ones(b))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("U", [(3, 1, 1), (8, 1, 1), (7, 1), (7,)])
def test_duals_of_other_shapes_than_x_are_refused(kind: Any, U: Any) -> None:
    words = rf"X has 7 rows: U must be of shape \(7, B, K\)\. Got {re.escape(str(U))} instead"
    with pytest.raises(ValueError, match=words):
        Matrix(kind(values(7, 5))).transpose_times(np.ones(U))


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", ">f8"])
def test_weights_of_any_type_and_order_give_right_products(dtype: str) -> None:
    X, rng = values(7, 5), np.random.default_rng(0)
    W, U = (rng.integers(0, 2, (k, 3, 2)).astype(dtype) for k in (5, 7))
    b = np.ones((3, 2), dtype)
    for order in "CF":
        Z = Matrix(X).scores(np.asarray(W, order=order), np.asarray(b, order=order))
        G = Matrix(X).transpose_times(np.asarray(U, order=order))
        rtol = 1e-5 if dtype == "float16" else 1e-12
        np.testing.assert_allclose(Z, np.tensordot(X, W.astype(float), 1) + 1, rtol, 10 * rtol)
        np.testing.assert_allclose(G, np.tensordot(X.T, U.astype(float), 1), rtol, 10 * rtol)


# --- sparse ---


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_of_sparse_x_of_any_kind(kind: str, dtype: str) -> None:
    X = SPARSE[kind](values(80, 33, dtype, density=0.2))
    arrays = () if X.format == "coo" else (X.data, X.indices, X.indptr)
    before = [a.copy() for a in arrays]
    assert_products(X)
    assert_products(X, B=1, K=1)
    assert_products(X, B=21, K=3, dtype=np.float32)
    assert Matrix(X).dtype == dtype
    for array, old in zip(arrays, before):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", ["CSR array", "CSC matrix"])
def test_products_of_sparse_integers(kind: str, dtype: str) -> None:
    assert_products(SPARSE[kind](values(50, 20, dtype, density=0.3)))


@pytest.mark.parametrize("kind", ["CSR array", "CSC array", "CSR array, wide"])
@pytest.mark.parametrize(
    ("shape", "density"),
    [((3000, 7), 0.3), ((70000, 3), 0.01), ((1500, 3000), 0.002), ((1, 50), 0.5), ((40, 1), 0.5)],
)
def test_sparse_products_are_right_across_chunks(
    kind: str, shape: tuple[int, int], density: float
) -> None:
    X = values(*shape, density=density)
    X[::3] = 0
    X[:, ::4] = 0
    assert_products(SPARSE[kind](X), B=3, K=1)
    assert_products(SPARSE[kind](X), B=1, K=1, dtype=np.float32)


@pytest.mark.parametrize("kind", ["CSR array", "CSC array", "CSC matrix, wide"])
def test_an_empty_sparse_matrix_scores_the_bias(kind: str) -> None:
    assert_products(SPARSE[kind](np.zeros((6, 4))))


@given(
    n=st.integers(1, 60),
    d=st.integers(1, 60),
    B=st.integers(1, 20),
    kind=st.sampled_from(list(SPARSE)),
    density=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    wide=st.booleans(),
)
@settings(max_examples=200)
def test_products_of_sparse_x_of_any_shape(
    n: int, d: int, B: int, kind: str, density: float, wide: bool
) -> None:
    X = SPARSE[kind](values(n, d, density=density))
    assert_products(X, B, 1, dtype=np.float64 if wide else np.float32)


def test_sorted_sparse_data_is_not_copied() -> None:
    X = sp.csr_array(values(50, 20, density=0.2))
    assert np.shares_memory(Matrix(X).X.data, X.data)


def broken(change: str, kind: Any) -> Any:
    X = kind(values(6, 6, density=0.8))
    if change == "index too high":
        X.indices[3] = 10**6
    elif change == "index below 0":
        X.indices[3] = -1
    elif change == "index without a sign":  # in 32 bits it would look like one that is allowed
        X.indices = X.indices.astype(np.uint64)
        X.indices[3] += 2**32
    elif change == "pointers without a sign":
        X.indptr = X.indptr.astype(np.uint64)
    elif change == "indices with a fraction":
        X.indices = X.indices.astype(float)
    elif change == "index too high, and NaN":
        X.indices[3], X.data[:] = 10**6, np.nan
    elif change == "fewer indices than values":
        X.data = np.append(X.data, np.nan)
    else:
        X.indptr[2] = X.indptr[4]
    return X


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize(
    "change",
    [
        "index too high",
        "index below 0",
        "falling pointers",
        "index without a sign",
        "pointers without a sign",
        "indices with a fraction",
        "index too high, and NaN",
        "fewer indices than values",
    ],
)
def test_a_broken_sparse_matrix_is_refused(change: str, kind: Any) -> None:
    words = r"X is not a valid CS[RC] matrix of shape \(6, 6\): ind.*Make it anew"
    with pytest.raises(ValueError, match=words):
        Matrix(broken(change, kind))
    with pytest.raises(ValueError, match=words):
        GradientDescentClassifier().fit(broken(change, kind), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(C=np.inf), LogisticRegression(l1_ratio=0.5)]
)
def test_room_beyond_the_last_entry_is_not_read(estimator: Any, kind: Any) -> None:
    X, y = kind(values(60, 5, density=0.6)), np.arange(60) % 2
    expected = estimator.fit(X, y).coef_.tobytes()
    X.data = np.append(X.data, [np.nan] * 9)
    X.indices = np.append(X.indices, [7] * 9).astype(X.indices.dtype)
    assert estimator.fit(X, y).coef_.tobytes() == expected


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_entries_unsorted_behind_the_back_of_scipy_are_sorted(kind: Any) -> None:
    X = kind(values(70000, 3, density=0.05))
    assert X.has_canonical_format
    order = np.random.default_rng(0).permutation
    for line in range(len(X.indptr) - 1):
        part = np.arange(X.indptr[line], X.indptr[line + 1])
        mixed = order(part)
        X.indices[part], X.data[part] = X.indices[mixed], X.data[mixed]
    assert X.has_canonical_format  # scipy still thinks so
    assert_products(X)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 12),
    columns=st.integers(1, 200),
    long=st.integers(0, 150),
    dtype=st.sampled_from(["float32", "float64"]),
    wide=st.sampled_from(["int32", "int64"]),
)
def test_rows_in_any_order_with_entries_given_twice_are_those_that_scipy_makes_of_them(
    seed: int, rows: int, columns: int, long: int, dtype: str, wide: str
) -> None:
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], rng.integers(0, long + 1, rows).cumsum()]).astype(wide)
    index = rng.integers(0, columns, start[-1]).astype(wide)
    value = rng.integers(-4, 5, start[-1]).astype(dtype)
    X = sp.csr_array((value, index, start), shape=(rows, columns))
    expected = X.copy()
    expected.sum_duplicates()
    ours = sort_indices(X)
    assert ours.dtype == X.dtype
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_array_equal(ours.data, expected.data)
    np.testing.assert_array_equal(X.indices, index)  # the user's arrays are as they were
    # Entries that are given once are read where they lie.
    read = Matrix(X).X
    assert np.shares_memory(read.data, X.data) == (expected.nnz == X.nnz > 0)
    assert read.has_sorted_indices == bool(sp.csr_array(read).has_sorted_indices)
    np.testing.assert_array_equal(read.toarray(), expected.toarray())


@pytest.mark.parametrize("columns", [1, 2048, 2049, 5_000_000])
@pytest.mark.parametrize("twice", [False, True])
def test_many_rows_are_put_in_order_on_any_threads(
    columns: int, twice: bool, threads: None
) -> None:
    """Entries of unequal values, so that one in a wrong place or order of addition is seen."""
    rng = np.random.default_rng(columns)
    lengths = rng.integers(0, min(columns, 40) + 1, 7000)
    drawn = [rng.permutation(min(columns, 500))[:length] for length in lengths]
    if twice:  # far on, and one of them three times
        drawn[6990] = np.zeros(3, int)
        drawn[6995] = np.array([min(columns, 500) - 1, 0, min(columns, 500) - 1])
    index = np.concatenate(drawn).astype(np.int32) * max(columns // 500, 1) % columns
    start = np.concatenate([[0], np.cumsum([len(row) for row in drawn])]).astype(np.int32)
    value = rng.standard_normal(len(index))
    X = sp.csr_array((value, index, start), shape=(7000, columns))
    found = []
    for number in (1, 2, 5):
        set_threads(number)
        ours = sort_indices(X)
        found.append((ours.indptr.tobytes(), ours.indices.tobytes(), ours.data.tobytes()))
    assert found[0] == found[1] == found[2]
    expected = X.copy()
    expected.sum_duplicates()
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_allclose(ours.data, expected.data, rtol=1e-15)


@pytest.mark.parametrize("shape", [(900, 60), (900, 3000)])
@pytest.mark.parametrize("columns", [1, 40])
def test_unsorted_rows_are_multiplied_as_they_lie(
    shape: tuple[int, int], columns: int, threads: None
) -> None:
    """With the same bits on any threads, before and after others needed a sorted copy."""
    n, d = shape
    in_order = Matrix(sp.csr_array(values(n, d, density=0.03)))
    X = unsorted(in_order.X.copy())
    matrix = Matrix(X)
    rng = np.random.default_rng(1)
    W, b = rng.standard_normal((d, columns, 1)), rng.standard_normal((columns, 1))
    U = rng.standard_normal((n, columns, 1))

    def found() -> set[tuple[bytes, bytes]]:
        each = set()
        for number in (1, 2, 5):
            set_threads(number)
            each.add((matrix.scores(W, b).tobytes(), matrix.transpose_times(U).tobytes()))
        return each

    before = found()
    assert len(before) == 1
    np.testing.assert_allclose(matrix.scores(W, b), in_order.scores(W, b), atol=1e-13)
    np.testing.assert_array_equal(matrix.transpose_times(U), in_order.transpose_times(U))
    np.testing.assert_array_equal(matrix.gram(U[:, :1, 0]), in_order.gram(U[:, :1, 0]))
    matrix.by_both()
    assert found() == before
    assert np.shares_memory(matrix.X.indices, X.indices)
    assert matrix.every(3).scores(W, b).tobytes() == matrix.scores(W, b)[::3].tobytes()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("length", [2, 3, 64, 1000])
def test_a_column_given_twice_is_found_in_rows_of_any_length(length: int, kind: type) -> None:
    rng = np.random.default_rng(length)
    rows = [rng.permutation(5000)[:length] for _ in range(1200)]
    start = np.arange(0, 1200 * length + 1, length).astype(kind)
    assert (
        _core.check_row_order(start, np.concatenate(rows).astype(kind), 5000)
        == _core.RowOrder.unsorted
    )
    for row in (0, 600, 1199):
        one = [each.copy() for each in rows]
        one[row][-1] = one[row][0]
        found = _core.check_row_order(start, np.concatenate(one).astype(kind), 5000)
        assert found == _core.RowOrder.duplicates


@pytest.mark.parametrize("largest", [1, 2**24, 2**24 + 1])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_sparse_whole_numbers_are_read_exactly_and_computed_with_in_float64(
    kind: Any, largest: int
) -> None:
    """In float32 where that holds them, beside the indices of the user."""
    X = kind(values(50, 2000, density=0.1) != 0).astype(np.int64)
    X.data[::2] = -largest
    matrix = Matrix(X)
    assert matrix.dtype == matrix.every(2).dtype == np.float64
    assert matrix.X.dtype == (np.float32 if largest <= 2**24 else np.float64)
    assert np.shares_memory(matrix.X.indices, X.indices)
    same = Matrix(X.astype(np.float64))
    W, b = np.random.default_rng(0).standard_normal((2000, 3, 1)), np.zeros((3, 1))
    assert matrix.scores(W, b).tobytes() == same.scores(W, b).tobytes()
    s = np.arange(50.0)
    assert weighted_squares(matrix, s).tobytes() == weighted_squares(same, s).tobytes()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_whole_numbers_given_twice_are_summed_exactly(kind: Any) -> None:
    data = np.array([2**24, 1, 200, 100])
    X = kind((data, [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    assert Matrix(X).X.toarray().tolist() == [[2.0**24 + 1, 0.0], [0.0, 300.0]]


@pytest.mark.parametrize("features", [40, 1500])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_known_of_columns_has_the_same_bits_from_csr_and_csc(
    features: int, dtype: str
) -> None:
    """Over more rows than one slab, and more entries than one piece, has."""
    X = sp.csr_array(values(9000, features, density=60 / features).astype(dtype))
    s = np.random.default_rng(0).random((9000, 3))
    facts = ((column_moments, s[:, 0]), (moments_of_models, s), (weighted_squares, s))
    for find, weights in facts:
        rows, columns = (find(Matrix(kind), weights) for kind in (X, X.tocsc()))
        assert np.asarray(rows).tobytes() == np.asarray(columns).tobytes()


SCORES_ON_MANY_THREADS = """
import re
import numpy as np, scipy.sparse as sp
from separatrix.matrix import Matrix, set_threads

def most():  # kB that this process has held; getrusage would count its parent's too
    return re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]

X = Matrix(sp.random_array((500, 50_000), density=1e-3, rng=np.random.default_rng(0)).tocsc())
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
    """Few entries for each feature: bounds for each feature and thread would be most of it all."""
    run = [sys.executable, "-c", SCORES_ON_MANY_THREADS]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    before, after = map(int, out.split())
    assert after < 1.5 * before  # 190 MiB more, otherwise


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_bounds_of_groups_count_the_zeros_that_are_not_stored(kind: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("separatrix.matrix.pieces.ENTRIES_AT_ONCE", 100)
    X = values(70, 9, density=0.5)
    X[:, 3] = np.abs(X[:, 3]) + 1.0
    X[:, 4] = 0.0
    groups = np.random.default_rng(0).integers(0, 3, 70)
    low, high = bounds_by_group(Matrix(kind(X)), groups, 3)
    for k in range(3):
        np.testing.assert_array_equal(low[k], X[groups == k].min(axis=0))
        np.testing.assert_array_equal(high[k], X[groups == k].max(axis=0))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("features", [60, 3000])
def test_squares_are_summed_in_pieces(kind: Any, features: int, monkeypatch: Any) -> None:
    X, s = values(400, features, density=0.1), np.random.default_rng(0).random((400, 3))
    X[:, 5] = 7.0 + np.arange(400)  # a full column, which has an origin
    origin = np.zeros(features)
    origin[5] = 200.0
    expected = [np.square(X).T @ s, np.square(X - origin).T @ s]
    for entries in (1, 500, 1 << 17):
        monkeypatch.setattr("separatrix.matrix.pieces.ENTRIES_AT_ONCE", entries)
        found = [weighted_squares(Matrix(kind(X)), *more) for more in ((s,), (s, origin))]
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_strided_and_unaligned_values_of_sparse_data_are_read_right() -> None:
    X = sp.csr_array(values(50, 20, density=0.3))
    expected = X.toarray()
    X.data = np.repeat(X.data, 2)[::2]
    assert_products(X)
    X.data = np.frombuffer(b"." + X.data.tobytes(), np.float64, offset=1)
    np.testing.assert_array_equal(Matrix(X).X.toarray(), expected)
    assert_products(X)


def test_checking_sparse_data_leaves_it_as_it_is() -> None:
    X = widened(sp.csr_array(values(50, 20, density=0.3)))
    arrays = X.data, X.indices, X.indptr
    matrix = Matrix(X)
    assert all(a is b for a, b in zip((X.data, X.indices, X.indptr), arrays))
    assert np.shares_memory(matrix.X.indices, X.indices)
    assert matrix.X.indices.dtype == np.int64


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_entries_that_are_all_1_give_the_bits_of_entries_that_are_read(
    columns: int, dtype: str, wide: bool, instruction_set: str
) -> None:
    """Twos with half the weights are multiplied to the same numbers."""
    ones = sp.csr_array((values(3000, 30, density=0.2) != 0.0).astype(dtype))
    ones = widened(ones) if wide else ones
    rng = np.random.default_rng(2)
    W, b = rng.standard_normal((30, columns, 1)), rng.standard_normal((columns, 1))
    U = rng.standard_normal((3000, columns, 1))
    for kind in (sp.csr_array, sp.csc_array):
        X, twice = Matrix(kind(ones)), Matrix(kind(ones * np.float32(2)))
        assert X.scores(W, b).tobytes() == twice.scores(W / 2, b).tobytes()
        assert X.transpose_times(U).tobytes() == twice.transpose_times(U / 2).tobytes()
        grams = X.gram(U[:, :, 0])[:, :-1, :-1], twice.gram(U[:, :, 0] / 4)[:, :-1, :-1]
        assert grams[0].tobytes() == grams[1].tobytes()


@pytest.mark.parametrize("place", [0, 20_000, -1])
def test_a_single_entry_that_is_not_1_is_read(place: int) -> None:
    X = sp.csr_array((values(3000, 30, density=0.4) != 0.0).astype(float))
    assert_products(X)
    X.data[place] = -3.0
    assert_products(X)
    h = np.ones((3000, 1))
    wide = np.hstack([X.toarray(), h])
    np.testing.assert_array_equal(Matrix(X).gram(h)[0], wide.T @ wide)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 40_000, 70_001])
def test_the_largest_of_many_numbers(count: int, dtype: str, instruction_set: str) -> None:
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    assert _core.max_abs(x) == np.abs(x).max(initial=0.0)
    for place in {0, count // 2, count - 1} if count else ():
        y = x.copy()
        y[place] = -9.0
        assert _core.max_abs(y) == 9.0
        for bad in (np.nan, np.inf, -np.inf):
            y[place] = bad
            assert np.isnan(_core.max_abs(y))


@pytest.mark.parametrize("place", [0, 16_383, 16_384, 20_000, 32_767, 39_998])
@pytest.mark.parametrize("fault", ["none", "falls", "equal", "too high", "below 0"])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_one_entry_out_of_place_is_found_wherever_it_is(place: int, fault: str, kind: type) -> None:
    """Rows of many lengths, some of them empty, over 40,000 entries."""
    start = np.sort(np.random.default_rng(3).integers(0, 40_001, 50)).astype(kind)
    start[0], start[-1] = 0, 40_000
    start[(start > place) & (start <= place + 1)] = place  # both entries are of one row
    index = np.arange(40_000, dtype=kind)  # rising throughout, whatever the rows are
    if fault == "falls":
        index[[place, place + 1]] = index[[place + 1, place]]
    elif fault != "none":
        index[place + 1] = {"equal": index[place], "too high": 40_000, "below 0": -1}[fault]
    found = _core.check_row_order(start, index, 40_000)
    expected = {"none": "sorted", "falls": "unsorted", "equal": "duplicates"}
    assert found == getattr(_core.RowOrder, expected.get(fault, "invalid"))


def test_rows_that_begin_before_the_last_one_ends_are_in_order() -> None:
    index = np.tile(np.arange(7, dtype=np.int32), 10_000)
    start = np.arange(0, 70_001, 7, dtype=np.int32)
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.sorted
    start[5000] += 1  # the first entry of a row is now the last of the one before, which has it
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.duplicates
    assert _core.check_row_order(start, index, 6) == _core.RowOrder.invalid
    start[-1] += 1  # beyond the entries
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.invalid


# --- memory ---


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


# --- threads ---


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


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 8, 16, 21, 40])
@pytest.mark.parametrize("features", [240, 1200])
def test_the_second_copy_of_a_sparse_matrix_changes_no_bit(
    features: int, columns: int, dtype: str, threads: int
) -> None:
    X = sp.csr_array(values(3000, features, density=24 / features))
    U = np.random.default_rng(columns).standard_normal((3000, columns, 1)).astype(dtype)
    set_threads(threads)
    copied = Matrix(X)
    copied.by_both()
    once = Matrix(X)
    for product in range(12):  # on the way it makes its own copy, if there are many sums
        np.testing.assert_array_equal(once.transpose_times(U), copied.transpose_times(U))
        pays = features > 1024 and features * columns > 4096
        assert once.by_sample().has_features == (product >= 8 and pays)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 8, 16, 21, 40])
@pytest.mark.parametrize("features", [240, 1200])
def test_scores_by_features_have_the_bits_of_those_by_samples(
    features: int, columns: int, dtype: str, threads: int
) -> None:
    X = sp.csr_array(values(3000, features, density=24 / features))
    rng = np.random.default_rng(columns)
    W = rng.standard_normal((features, columns, 1)).astype(dtype)
    b = rng.standard_normal((columns, 1)).astype(dtype)
    set_threads(threads)
    expected, once = Matrix(X).scores(W, b), Matrix(X.tocsc())
    for product in range(12):  # on the way it makes its own copy
        np.testing.assert_array_equal(once.scores(W, b), expected)
        assert once.native.has_samples == ((product + 1) * columns > 8)


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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_products_from_several_python_threads_at_once_are_right(kind: Any) -> None:
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


def test_one_sparse_matrix_serves_threads_with_different_numbers_of_columns() -> None:
    """In a process of its own: what goes wrong here is memory, and takes the process along."""
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
def test_a_forked_child_computes_with_threads_of_its_own(method: Any) -> None:
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
        allowed = f"The number of threads must be a whole number >= 1. Got {wrong!r} instead."
        with pytest.raises(ValueError, match=re.escape(allowed)):
            set_threads(wrong)  # type: ignore[arg-type]


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


# --- counting, moments, and what is not finite ---


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_read_counts_the_rows_of_each_product_once_for_all_models(kind: Any) -> None:
    X = Matrix(kind(values(2500, 6)))
    for B in (1, 50):
        forward, backward = rows_read()
        X.scores(np.ones((6, B, 2)), np.ones((B, 2)))
        assert rows_read() == (forward + 2500, backward)
        X.transpose_times(np.ones((2500, B, 2)))
        assert rows_read() == (forward + 2500, backward + 2500)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16"])
def test_moments_are_the_weighted_mean_and_deviation(kind: Any, dtype: str) -> None:
    X = values(5000, 4, dtype, density=0.5)
    X[:, 2] = 7
    s = np.random.default_rng(0).integers(0, 3, 5000)
    for weights, rows in ((None, X), (s, np.repeat(X, s, axis=0))):
        mean, spread = column_moments(Matrix(kind(X)), weights)
        np.testing.assert_allclose(mean, rows.astype(np.float64).mean(axis=0), rtol=1e-10)
        expected = rows.astype(np.float64).std(axis=0)
        np.testing.assert_allclose(spread, expected, rtol=1e-9, atol=1e-6)


def test_moments_count_duplicate_entries_as_their_sum() -> None:
    X = values(60, 4, density=0.5)
    for kind in ("CSR, duplicates", "CSC, duplicates"):
        mean, spread = column_moments(Matrix(SPARSE[kind](X)))
        np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(spread, X.std(axis=0), rtol=1e-12)


def test_deviations_of_dense_columns_far_from_zero_keep_their_digits() -> None:
    X = 1e8 + values(500, 3)
    np.testing.assert_allclose(column_moments(Matrix(X))[1], X.std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_deviations_of_columns_far_from_zero_keep_their_digits(kind: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = 1e6 + 0.01 * rng.standard_normal((700, 3))
    X[:, 2] = rng.standard_normal(700) * (rng.random(700) < 0.1)
    s = rng.uniform(0.1, 3.0, 700) * (rng.random(700) < 0.9) if weighted else np.ones(700)
    X[s == 0.0] = 0.0  # what has no weight does not count, in a sparse column neither
    mean, spread = column_moments(Matrix(kind(X)), s if weighted else None)
    expected = np.average(X, axis=0, weights=s)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    deviation = np.sqrt(np.average((X - expected) ** 2, axis=0, weights=s))
    np.testing.assert_allclose(spread, deviation, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_deviation_of_a_constant_column_is_exactly_zero(kind: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    constants = np.array([0.1, 1 / 3, -7.7e5, 1e-9, 0.0, 3.0], dtype)
    X = np.column_stack([np.tile(constants, (1999, 1)), rng.standard_normal(1999)]).astype(dtype)
    for s in (None, rng.uniform(0.0, 2.0, 1999)):
        mean, spread = column_moments(Matrix(kind(X)), s)
        np.testing.assert_array_equal(spread[:-1], 0.0)
        np.testing.assert_array_equal(mean[:-1], constants)
        assert spread[-1] == pytest.approx(1.0, abs=0.1)
    X[::2, 0] = np.nextafter(X[0, 0], 1, dtype=dtype)
    assert (column_moments(Matrix(kind(X)))[1][0] > 0.0) == (dtype == "float32")


def test_moments_of_many_sparse_entries_are_those_of_all(monkeypatch: Any) -> None:
    X = values(300, 9, density=0.4)
    monkeypatch.setattr("separatrix.matrix.pieces.ENTRIES_AT_ONCE", 7)
    for kind in (sp.csr_array, sp.csc_array):
        mean, spread = column_moments(Matrix(kind(X)))
        np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(spread, X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_moments_of_numbers_whose_squares_are_too_large(kind: Any) -> None:
    X = np.random.default_rng(0).uniform(1.0, 2.0, (50, 3))
    mean, deviation = column_moments(Matrix(kind(X)))
    units = np.array([1.0, 1e200, 8e307])
    large_mean, large_deviation = column_moments(Matrix(kind(X * units)))
    np.testing.assert_allclose(large_mean, mean * units, rtol=1e-12)
    np.testing.assert_allclose(large_deviation, deviation * units, rtol=1e-12)
    np.testing.assert_array_equal(large_deviation[:1], deviation[:1])


def test_moments_want_one_weight_for_every_row() -> None:
    with pytest.raises(ValueError, match=r"X has 9 rows: s must be of shape \(9,\)\. Got \(3,\)"):
        column_moments(Matrix(values(9, 2)), np.ones(3))


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_entry_that_is_not_finite_is_found(kind: Any, bad: float) -> None:
    X = values(9000, 5)
    assert first_not_finite(kind(X)) is None
    X[8000, 1] = X[7000, 3] = X[7000, 4] = bad
    row, column, value = first_not_finite(kind(X))
    assert (row, column) == (7000, 3)
    np.testing.assert_equal(value, bad)
    assert first_not_finite(values(3, 3, "int32")) is None
    assert first_not_finite(sp.csr_array(values(3, 3, "int32"))) is None


def test_float32_stays_float32_and_all_else_is_float64() -> None:
    kept = {kind: str(working_type(np.dtype(kind))) for kind in TYPES}
    assert kept.pop("float32") == "float32"
    assert set(kept.values()) == {"float64"}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_scores_of_zero_weights_are_the_biases_and_read_no_rows(kind: Any) -> None:
    X = Matrix(kind(values(300, 20, density=0.3)))
    W, b = np.zeros((20, 2, 1)), np.array([[-0.0], [0.5]])
    before = rows_read()
    alone = X.scores(W, b)
    assert rows_read() == before
    np.testing.assert_array_equal(alone, np.broadcast_to(b, (300, 2, 1)))
    W[:, 1] = 1.0
    beside = X.scores(W, b)  # the first model, beside one whose scores are worked out
    assert rows_read() == (before[0] + 300, before[1])
    assert alone[:, 0].tobytes() == beside[:, 0].tobytes()


@pytest.mark.parametrize("whose", [None, [1, 0, 1, 1]], ids=["each its own", "shared"])
def test_duals_are_weighed_and_summed_over_the_rows_that_have_weight(
    whose: list[int] | None, instruction_set: str
) -> None:
    rng = np.random.default_rng(3)
    n, B, K = 700, 4, 3
    s = rng.integers(0, 3, (n, B if whose is None else 2)).astype(float)
    block = Block.of(np.zeros((n, 1)), np.zeros(n, int), s, whose)
    U, factors = rng.standard_normal((n, B, K)), rng.random(B)
    weights = block.weights[:, :, None]
    assert _core.are_valid_duals(np.where(weights > 0.0, U, 0.0), block.s, block.weight_column)
    assert not _core.are_valid_duals(
        U, block.s, block.weight_column
    )  # rows without weight have some
    U[np.broadcast_to(weights == 0.0, U.shape)] = np.inf
    counts = np.where(weights > 0.0, U, 0.0)
    np.testing.assert_allclose(block.weigh(U, factors), counts * weights * factors[:, None])
    np.testing.assert_allclose(block.weighted_sum(U), (counts * weights).sum(axis=0))
    sizes = (np.abs(counts) * weights).sum(axis=0)
    np.testing.assert_allclose(block.weighted_sum(U, sizes=True), sizes)
    U[np.flatnonzero(block.weights[:, 2])[0], 2, 1] = np.nan
    assert not _core.are_valid_duals(np.where(weights > 0.0, U, 0.0), block.s, block.weight_column)


@pytest.mark.parametrize("shape", [(3, 2, 1), (5, 2, 1), (4, 3, 1), (4, 2)])
def test_duals_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    block = Block.of(np.ones((4, 2)), [0, 1, 0, 1], np.ones((4, 2)) * [1.0, 2.0])
    text = re.escape(f"U must be of shape (4, 2, K). Got {shape} instead.")
    with pytest.raises(ValueError, match=text):
        block.weighted_sum(np.ones(shape))
    with pytest.raises(ValueError, match=text):
        block.weigh(np.ones(shape), np.ones(2))
    twice = block.weighted_sum(np.ones((4, 2, 1), np.float32, order="F"))
    np.testing.assert_array_equal(twice, [[4.0], [8.0]])
