"""Means, standard deviations, bounds and squares of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import _core
from separatrix.matrix import (
    Matrix,
    bounds_by_group,
    column_moments,
    moments_of_models,
    weighted_squares,
)
from support.layouts import SPARSE, values


@pytest.mark.slow
@pytest.mark.parametrize("features", [40, 1500])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_column_statistics_have_the_same_bits_from_csr_and_csc(features: int, dtype: str) -> None:
    """With more rows than one slab and more entries than one piece."""
    X = sp.csr_array(values(9000, features, density=60 / features).astype(dtype))
    s = np.random.default_rng(0).random((9000, 3))
    facts = ((column_moments, s[:, 0]), (moments_of_models, s), (weighted_squares, s))
    for find, weights in facts:
        rows, columns = (find(Matrix(kind), weights) for kind in (X, X.tocsc()))
        assert np.asarray(rows).tobytes() == np.asarray(columns).tobytes()


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
    X[:, 5] = 7.0 + np.arange(400)  # a full column, which has an origin other than 0
    origin = np.zeros(features)
    origin[5] = 200.0
    expected = [np.square(X).T @ s, np.square(X - origin).T @ s]
    for entries in (1, 500, 1 << 17):
        monkeypatch.setattr("separatrix.matrix.pieces.ENTRIES_AT_ONCE", entries)
        found = [weighted_squares(Matrix(kind(X)), *more) for more in ((s,), (s, origin))]
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 40_000, 70_001])
def test_the_largest_of_many_numbers_is_found(count: int, dtype: str, instruction_set: str) -> None:
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    assert _core.max_abs(x) == np.abs(x).max(initial=0.0)
    for place in {0, count // 2, count - 1} if count else ():
        y = x.copy()
        y[place] = -9.0
        assert _core.max_abs(y) == 9.0
        for bad in (np.nan, np.inf, -np.inf):
            y[place] = bad
            assert np.isnan(_core.max_abs(y))


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
    X[s == 0.0] = 0.0  # rows without weight do not count, even in a sparse column
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


def test_moments_need_one_weight_for_every_row() -> None:
    with pytest.raises(ValueError, match=r"X has 9 rows: s must be of shape \(9,\)\. Got \(3,\)"):
        column_moments(Matrix(values(9, 2)), np.ones(3))
