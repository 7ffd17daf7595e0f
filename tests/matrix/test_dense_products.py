"""Products with dense X of every type and layout equal numpy's; an invalid X is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import _core
from separatrix.data import Block
from separatrix.matrix import Matrix, first_not_finite, rows_read, working_type
from support.layouts import LAYOUTS, TYPES, values
from support.looped import looped
from support.products import assert_products


@pytest.mark.parametrize("layout", LAYOUTS)
@looped("dtype", TYPES)
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


@pytest.mark.slow
@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_dense_products_are_correct_across_chunks_and_blocks(
    shape: tuple[int, int], order: str, dtype: str
) -> None:
    X = np.asarray(values(*shape, dtype), order=order)
    assert_products(X, B=2, K=1)
    assert_products(X, B=13, K=2, dtype=np.float32)


@pytest.mark.parametrize("density", [0.0, 0.05])
def test_products_of_mostly_zero_dense_data_are_correct(density: float) -> None:
    X = values(200, 500, density=density)
    X[3:11] = 0
    X[:, 100:200] = 0
    assert_products(X, B=40, K=1)
    assert_products(X, B=1, K=1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(5, 0), (0, 4), (0, 0)], ids=str)
def test_products_of_a_matrix_without_rows_or_columns(kind: Any, shape: tuple[int, int]) -> None:
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


def test_unaligned_and_byte_swapped_arrays_are_copied_and_read_correctly() -> None:
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
def test_weights_of_any_type_and_order_give_correct_products(dtype: str) -> None:
    X, rng = values(7, 5), np.random.default_rng(0)
    W, U = (rng.integers(0, 2, (k, 3, 2)).astype(dtype) for k in (5, 7))
    b = np.ones((3, 2), dtype)
    for order in "CF":
        Z = Matrix(X).scores(np.asarray(W, order=order), np.asarray(b, order=order))
        G = Matrix(X).transpose_times(np.asarray(U, order=order))
        rtol = 1e-5 if dtype == "float16" else 1e-12
        np.testing.assert_allclose(Z, np.tensordot(X, W.astype(float), 1) + 1, rtol, 10 * rtol)
        np.testing.assert_allclose(G, np.tensordot(X.T, U.astype(float), 1), rtol, 10 * rtol)


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
    beside = X.scores(W, b)  # the first model, in a batch with one whose scores are computed
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
    # Rows without weight have some.
    assert not _core.are_valid_duals(U, block.s, block.weight_column)
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
