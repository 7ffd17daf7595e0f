"""Block functions: what a data set computes from each of its blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.block import Block
from separatrix.data.origin import bounds_of
from separatrix.matrix import (
    Array,
    models_first,
    moments_of_models,
    per_model,
    squared_norm,
    sum_samples,
)


def total_weight(block: Block) -> tuple[Array]:
    """Return the sum of the weights (B,), or (1,)."""
    if block.s is None:
        return (np.array([float(len(block.y))]),)
    s, place = block.different_weights()
    return (sum_samples(s)[place],)


def weight_and_count(block: Block, n_classes: int) -> tuple[Array, Array]:
    """Return weight and number of rows with weight of every class (C,), for one model."""
    y = block.y.reshape(len(block.y))
    if block.s is None:
        count = np.bincount(y, minlength=n_classes)
        return count, count
    s = block.weights.reshape(len(y))
    return np.bincount(y, s, minlength=n_classes), np.bincount(y[s > 0.0], minlength=n_classes)


def of_each_column(block: Block, f: Callable[..., Any], *small: Any) -> list[Any]:
    """Return f of the block with each of its columns of weights."""
    assert block.s is not None
    columns = [np.ascontiguousarray(column) for column in block.s.T]
    return [f(Block(block.X, block.y, column), *small) for column in columns]


def class_sums(block: Block, n_classes: int) -> tuple[Array, Array]:
    """Return the sums of s x (d, B, C) and of s (B, C) over the rows of every class."""
    s, place = block.different_weights()
    if block.y.ndim == 2:
        s, place = np.broadcast_to(s[:, place], block.y.shape), np.arange(block.y.shape[1])
    each = np.empty((*s.shape, n_classes))
    for c in range(n_classes):
        np.multiply(s, per_model(block.y) == c, out=each[:, :, c])
    return block.X.transpose_times(each)[:, place], sum_samples(each)[place]


def moments_of_block(block: Block) -> tuple[Array, Array, Array]:
    """Return the weight (B,) of the rows, and mean and deviation (d, B) of the features."""
    s, place = block.different_weights()
    mean, deviation = moments_of_models(block.X, np.ascontiguousarray(s))
    return sum_samples(s)[place], mean[:, place], deviation[:, place]


def pool_moments(parts: list[tuple[Array, Array, Array]]) -> tuple[Array, Array]:
    """Return mean and deviation (d, B) over all blocks from the results of `moments_of_block`."""
    total = np.sum([weight for weight, _, _ in parts], axis=0)
    total = np.where(total > 0.0, total, 1.0)
    mean = np.sum([weight * m for weight, m, _ in parts], axis=0) / total
    square = np.sum([w * (d**2 + (m - mean) ** 2) for w, m, d in parts], axis=0) / total
    return mean, np.sqrt(square)


def weight_extremes(block: Block) -> tuple[Array, Array]:
    """Return the smallest and the largest weight (B,) or (1,)."""
    s, place = block.different_weights()
    columns = models_first(s)
    low = columns.min(axis=1, initial=np.inf)
    return low[place], columns.max(axis=1, initial=0.0)[place]


def largest_weights(block: Block) -> Array:
    """Return the largest weight, () or (B,)."""
    if block.s is None:
        return np.ones(())
    most = np.asarray(models_first(block.s).max(axis=-1, initial=0.0))
    return most if block.weight_column is None else most[block.weight_column]


def shift_weights(block: Block, shift: Array) -> Block:
    """Return the block with its weights times 2^shift; shift is () or (B,)."""
    s = per_model(block.weights) if shift.ndim else block.weights
    return replace(block, s=np.ldexp(s, shift), weight_column=None)


def attach_weights(block: Block, s: Array | None, weight_column: Array | None) -> Block:
    """Return the block with other weights."""
    return Block.of(block.X, block.y, s, weight_column)


def select_models(block: Block, models: Array) -> Block:
    """Return the block of some models."""
    return block.select(models)


def row_of_label(block: Block, label: int) -> int | None:
    """Return the first row with a label."""
    found = np.argwhere(block.y == label)
    return int(found[0][0]) if len(found) else None


def largest_values(block: Block) -> Array:
    """Return the largest |x| of every feature (d,)."""
    return block.X.largest()


def occurring_features(block: Block) -> Array:
    """Return which features (d,) are not zero in some row."""
    return block.X.occurring()


def feature_bounds(block: Block) -> tuple[Array, Array] | None:
    """Return the smallest and largest value of every feature in some rows; None without rows."""
    return bounds_of(block.X) if block.X.shape[0] else None


def constants(block: Block) -> Array:
    """Return the values (d,) of columns with one value in all rows, else NaN."""
    return block.X.constants()


def weighted_constants(block: Block) -> Array | None:
    """Return the constants in the rows with weight; None if there are none."""
    rows = np.flatnonzero(per_model(block.weights)[:, 0] > 0.0)
    return block.X.constants_in(rows) if len(rows) else None


def sum_of_squares(block: Block, factors: Array | None) -> float:
    """Return the sum of the squares of all entries, divided by the squared factors."""
    return squared_norm(block.X, factors)


def drop_columns(block: Block, columns: Array) -> Block:
    """Return the block with 0 in some columns."""
    return Block(block.X.without(columns), block.y, block.s, block.weight_column)


def add_column(block: Block, value: float) -> Block:
    """Return the block with one more feature."""
    return replace(block, X=block.X.with_column(value))


def renumber_classes(block: Block, numbers: Array) -> Block:
    """Return the block with other class numbers."""
    return replace(block, y=numbers[block.y])


def every_row(block: Block, step: int) -> Block:
    """Return every step-th row."""
    return block.every(step)


def labels(block: Block) -> Array:
    """Return the labels, (n,) or (n, B)."""
    return block.y


def weights(block: Block) -> Array:
    """Return the weights, (n,) or (n, B)."""
    return block.weights
