"""Weighted Gram matrices of X are correct for every kind of X, with the same bits in any batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix import _core
from separatrix.matrix import Matrix, get_threads, rows_read, set_threads
from support.layouts import LAYOUTS, SPARSE, TYPES, dense_of, values
from support.looped import looped

KINDS = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = get_threads(), _core.instruction_set()
    yield
    set_threads(before[0])
    _core.use_instruction_set(before[1])


def weights(n: int, P: int) -> np.ndarray:
    """Random weights: some are zero, some negative, and some rows have only zeros."""
    rng = np.random.default_rng(n + P)
    h = rng.standard_normal((n, P)) * (rng.random((n, P)) < 0.7)
    h[rng.random(n) < 0.2] = 0.0
    return h


def assert_gram(X: Any, P: int = 3) -> None:
    wide = dense_of(X)
    wide = np.hstack([wide, np.ones((len(wide), 1))])
    h = weights(len(wide), P)
    H = Matrix(X).gram(h)
    D = wide.shape[1]
    assert H.shape == (P, D, D)
    for p in range(P):
        size = (abs(wide).T * abs(h[:, p])) @ abs(wide)
        error = abs(H[p] - (wide.T * h[:, p]) @ wide)
        assert (error <= 16 * np.finfo(float).eps * np.sqrt(len(wide)) * size).all()
        np.testing.assert_array_equal(H[p], H[p].T)


@pytest.mark.parametrize("layout", LAYOUTS)
@looped("dtype", TYPES)
def test_gram_of_dense_x_of_any_type_and_layout(layout: str, dtype: str) -> None:
    assert_gram(LAYOUTS[layout](values(37, 21, dtype)))


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gram_of_sparse_x_of_any_kind(kind: str, dtype: str) -> None:
    assert_gram(SPARSE[kind](values(37, 21, dtype, density=0.3)))


@pytest.mark.parametrize("name", _core.instruction_sets())
@pytest.mark.parametrize("kind", KINDS)
def test_gram_is_correct_in_every_instruction_set(kind: str, name: str) -> None:
    _core.use_instruction_set(name)
    for P in (1, 2, 5, 40):
        assert_gram(KINDS[kind](values(90, 30, density=0.4)), P)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "d", "P"), [(900, 150, 2), (400, 600, 1), (20, 700, 9), (17000, 5, 2)]
)
def test_gram_is_correct_across_chunks_strips_and_tiles(kind: str, n: int, d: int, P: int) -> None:
    assert_gram(KINDS[kind](values(n, d, density=0.1)), P)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "P"), [(0, 3, 2), (4, 0, 2), (4, 3, 0), (0, 0, 1)])
def test_gram_of_empty_data(kind: str, n: int, d: int, P: int) -> None:
    assert_gram(KINDS[kind](np.ones((n, d))), P)


@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 70),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([0.05, 0.5, 1.0]),
)
def test_gram_of_any_shape(kind: str, n: int, d: int, P: int, density: float) -> None:
    assert_gram(KINDS[kind](values(n, d, density=density)), P)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(2000, 3), (2000, 130), (20000, 8)])
def test_gram_has_the_same_bits_alone_and_in_a_batch_for_any_threads(
    kind: str, n: int, d: int
) -> None:
    X = Matrix(KINDS[kind](values(n, d, density=0.3)))
    h = weights(n, 37)
    set_threads(1)
    H = X.gram(h)
    for threads in (2, 8):
        set_threads(threads)
        np.testing.assert_array_equal(X.gram(h), H)
        for columns in (slice(0, 1), slice(5, 7), slice(30, 37)):
            np.testing.assert_array_equal(X.gram(h[:, columns]), H[columns])


def test_gram_counts_one_pass_for_all_columns() -> None:
    X = Matrix(values(50, 4))
    before = rows_read()
    X.gram(weights(50, 20))
    assert np.subtract(rows_read(), before).tolist() == [0, 50]


def test_weights_of_another_length_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"X has 5 rows: h must be of shape \(5, P\)\. Got \(4, 2\)"
    ):
        Matrix(np.ones((5, 2))).gram(np.ones((4, 2)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("threads", [1, 3])
def test_small_spreads_far_from_zero_keep_their_digits(threads: int, order: str) -> None:
    set_threads(threads)
    rng = np.random.default_rng(2)
    spread = rng.standard_normal((500, 30)) * np.logspace(-3, 2, 30)
    origin = np.linspace(1e4, 7e4, 30)
    X = np.asarray(origin + spread, order=order)
    h = 10.0 ** rng.uniform(-8, 0, (500, 2))
    ones = np.ones((500, 1))
    centred = np.concatenate([X - origin, ones], axis=1).astype(np.longdouble)
    for p, H in enumerate(Matrix(X).gram(h, origin)):
        expected = (centred.T * h[:, p]) @ centred
        size = np.sqrt(np.diag(expected))
        np.testing.assert_array_less(np.abs(H - expected) / np.outer(size, size), 1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_rows_without_weight_are_left_out_of_the_gram_matrix(layout: str, far: float) -> None:
    X = LAYOUTS[layout](values(900, 21, "float64") + far)
    origin = np.full(21, far)
    h = weights(900, 5) * (np.arange(900) % 20 == 3)[:, None]
    h[:, 4] = np.random.default_rng(0).random(900)  # one column with weights for all rows
    H = Matrix(X).gram(h, origin)
    some = np.flatnonzero(h[:, 0])
    few = np.ascontiguousarray(dense_of(X)[some])
    expected = Matrix(few).gram(h[some][:, :1].copy(), origin)
    np.testing.assert_allclose(H[:1], expected, rtol=1e-12, atol=1e-12)
    for p in range(5):
        alone = Matrix(X).gram(np.ascontiguousarray(h[:, p : p + 1]), origin)
        np.testing.assert_array_equal(H[p], alone[0])
    set_threads(2)
    two = Matrix(X).gram(h, origin)
    set_threads(1)
    np.testing.assert_array_equal(Matrix(X).gram(h, origin), two)
