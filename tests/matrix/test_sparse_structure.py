"""Sparse X with unsorted, duplicate, strided or invalid entries is converted or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import GradientDescentClassifier, LogisticRegression, _core
from separatrix.matrix import Matrix, set_threads, weighted_squares
from separatrix.matrix.storage import sort_indices
from support.layouts import unsorted, values, widened
from support.products import assert_products


def test_sorted_sparse_data_is_not_copied() -> None:
    X = sp.csr_array(values(50, 20, density=0.2))
    assert np.shares_memory(Matrix(X).X.data, X.data)


def broken(change: str, kind: Any) -> Any:
    X = kind(values(6, 6, density=0.8))
    if change == "index too high":
        X.indices[3] = 10**6
    elif change == "index below 0":
        X.indices[3] = -1
    elif change == "index without a sign":  # converted to 32 bits it would look valid
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
    words = r"X is not a valid CS[RC] matrix of shape \(6, 6\): (row |column )?ind.*Build it again"
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
def test_entries_that_scipy_wrongly_believes_sorted_are_sorted(kind: Any) -> None:
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
def test_unsorted_rows_with_duplicate_entries_give_the_matrix_that_scipy_builds(
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
    np.testing.assert_array_equal(X.indices, index)  # the user's arrays are unchanged
    # Matrices without duplicates are read in place.
    read = Matrix(X).X
    assert np.shares_memory(read.data, X.data) == (expected.nnz == X.nnz > 0)
    assert read.has_sorted_indices == bool(sp.csr_array(read).has_sorted_indices)
    np.testing.assert_array_equal(read.toarray(), expected.toarray())


@pytest.mark.parametrize("columns", [1, 2048, 2049, 5_000_000])
@pytest.mark.parametrize("twice", [False, True])
def test_many_rows_are_sorted_with_any_number_of_threads(
    columns: int, twice: bool, threads: None
) -> None:
    """All values differ, so that a wrong position or order of addition shows."""
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


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(900, 60), (900, 3000)])
@pytest.mark.parametrize("columns", [1, 40])
def test_unsorted_rows_are_multiplied_in_place(
    shape: tuple[int, int], columns: int, threads: None
) -> None:
    """The bits are the same for any number of threads, before and after a sorted copy is made."""
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
def test_a_duplicate_column_is_found_in_rows_of_any_length(length: int, kind: type) -> None:
    rng = np.random.default_rng(length)
    rows = [rng.permutation(5000)[:length] for _ in range(1200)]
    start = np.arange(0, 1200 * length + 1, length).astype(kind)
    found = _core.check_row_order(start, np.concatenate(rows).astype(kind), 5000)
    assert found == _core.RowOrder.unsorted
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
    """In float32 if that is exact, with the user's index arrays."""
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
def test_duplicate_integers_are_summed_exactly(kind: Any) -> None:
    data = np.array([2**24, 1, 200, 100])
    X = kind((data, [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    assert Matrix(X).X.toarray().tolist() == [[2.0**24 + 1, 0.0], [0.0, 300.0]]


def test_strided_and_unaligned_values_of_sparse_data_are_read_correctly() -> None:
    X = sp.csr_array(values(50, 20, density=0.3))
    expected = X.toarray()
    X.data = np.repeat(X.data, 2)[::2]
    assert_products(X)
    X.data = np.frombuffer(b"." + X.data.tobytes(), np.float64, offset=1)
    np.testing.assert_array_equal(Matrix(X).X.toarray(), expected)
    assert_products(X)


def test_checking_sparse_data_does_not_change_it() -> None:
    X = widened(sp.csr_array(values(50, 20, density=0.3)))
    arrays = X.data, X.indices, X.indptr
    matrix = Matrix(X)
    assert all(a is b for a, b in zip((X.data, X.indices, X.indptr), arrays))
    assert np.shares_memory(matrix.X.indices, X.indices)
    assert matrix.X.indices.dtype == np.int64


@pytest.mark.parametrize("place", [0, 16_383, 16_384, 20_000, 32_767, 39_998])
@pytest.mark.parametrize("fault", ["none", "falls", "equal", "too high", "below 0"])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_one_misplaced_entry_is_found_anywhere(place: int, fault: str, kind: type) -> None:
    """Rows of many lengths, some of them empty, over 40,000 entries."""
    start = np.sort(np.random.default_rng(3).integers(0, 40_001, 50)).astype(kind)
    start[0], start[-1] = 0, 40_000
    start[(start > place) & (start <= place + 1)] = place  # both entries belong to one row
    index = np.arange(40_000, dtype=kind)  # rising throughout, whatever the rows are
    if fault == "falls":
        index[[place, place + 1]] = index[[place + 1, place]]
    elif fault != "none":
        index[place + 1] = {"equal": index[place], "too high": 40_000, "below 0": -1}[fault]
    found = _core.check_row_order(start, index, 40_000)
    expected = {"none": "sorted", "falls": "unsorted", "equal": "duplicates"}
    assert found == getattr(_core.RowOrder, expected.get(fault, "invalid"))


def test_row_starts_that_shift_by_one_entry_are_checked() -> None:
    index = np.tile(np.arange(7, dtype=np.int32), 10_000)
    start = np.arange(0, 70_001, 7, dtype=np.int32)
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.sorted
    start[5000] += 1  # the first entry of a row is now the last of the one before, which has it
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.duplicates
    assert _core.check_row_order(start, index, 6) == _core.RowOrder.invalid
    start[-1] += 1  # beyond the entries
    assert _core.check_row_order(start, index, 7) == _core.RowOrder.invalid
