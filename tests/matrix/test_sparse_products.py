"""Products with sparse X of every format equal numpy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.matrix import Matrix
from support.layouts import INTEGERS, SPARSE, values, widened
from support.products import assert_products


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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["CSR array", "CSC array", "CSR array, wide"])
@pytest.mark.parametrize(
    ("shape", "density"),
    [((3000, 7), 0.3), ((70000, 3), 0.01), ((1500, 3000), 0.002), ((1, 50), 0.5), ((40, 1), 0.5)],
)
def test_sparse_products_are_correct_across_chunks(
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


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_a_matrix_of_ones_gives_the_same_bits_as_reading_its_values(
    columns: int, dtype: str, wide: bool, instruction_set: str
) -> None:
    """Products of twos with half the weights are the same numbers."""
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
