"""Splits that keep groups of rows together, and splits in the order of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.rows.row_columns import RowColumns
from separatrix.readers.splits import (
    PARTS,
    SHARES,
    Splits,
    checked_shares,
    split_in_words,
    split_rows,
)


def draw_split(
    y: Array | None,
    n: int,
    seed: int,
    shares: Sequence[float] = SHARES,
    columns: RowColumns | None = None,
    parts: Sequence[str] = PARTS,
) -> tuple[Splits, str]:
    """Split n rows by group, by time or at random. Return the split and a sentence about it.

    `parts` are the parts that the sentence names.
    """
    groups, times = (None, None) if columns is None else (columns["group"], columns["time"])
    if columns is not None and groups is not None:
        splits = split_groups(y, groups, seed, shares)
        how = f"; every group of column {columns.names['group']!r} is in one part"
        return splits, split_in_words(
            splits, shares, seed, by_label=y is not None, how=how, parts=parts
        )
    if columns is not None and times is not None:
        splits = split_by_time(times, shares)
        how = f"in the order of column {columns.names['time']!r}, oldest rows first"
        return splits, split_in_words(splits, shares, None, by_label=False, how=how, parts=parts)
    splits = split_rows(y, n, seed, shares)
    return splits, split_in_words(splits, shares, seed, by_label=y is not None, parts=parts)


def split_by_time(times: Array, shares: Sequence[float] = SHARES) -> Splits:
    """Use the oldest rows for training, the next for validation and the newest for testing.

    >>> split_by_time(np.array([3.0, 1.0, 2.0, 0.0]), (0.5, 0.25, 0.25))["test"]
    array([0])
    """
    shares = checked_shares(shares)
    order, n = np.argsort(times, kind="stable"), len(times)
    n_test = int(n * shares[2] + 1e-9)
    n_validation = int(n * shares[1] + 1e-9)
    cuts = [n - n_validation - n_test, n - n_test]
    return {part: np.sort(rows) for part, rows in zip(PARTS, np.split(order, cuts))}


def split_groups(
    y: Array | None, groups: Array, seed: int, shares: Sequence[float] = SHARES
) -> Splits:
    """Draw training, validation and test rows so that every group is in one part.

    Groups are assigned from the largest to the smallest. Each goes to the part that then has the
    most even numbers of rows of every class, compared with the proportions. Every class has
    training rows, and every part has a group if there are enough groups.

    >>> groups = np.repeat(["a", "b", "c", "d", "e"], 4)
    >>> splits = split_groups(None, groups, seed=0, shares=(0.6, 0.2, 0.2))
    >>> {part: len(rows) for part, rows in splits.items()}
    {'train': 12, 'validation': 4, 'test': 4}
    """
    shares = checked_shares(shares)
    group = np.unique(groups, return_inverse=True)[1].ravel()
    label = np.zeros(len(group), int) if y is None else np.unique(y, return_inverse=True)[1].ravel()
    counts = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(counts, (group, label), 1.0)
    totals = counts.sum(axis=0)
    wanted, held = np.outer(shares, totals), np.zeros((3, len(totals)))
    part_of = np.zeros(len(counts), int)
    allowed = [part for part in range(3) if shares[part] > 0]
    shuffled = np.random.default_rng(seed).permutation(len(counts))
    sizes = counts.sum(axis=1)
    for g in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        over = (counts[g] * (2 * (held - wanted) + counts[g]) / totals).sum(axis=1)
        part_of[g] = min(allowed, key=lambda part: (over[part], part))
        held[part_of[g]] += counts[g]
    _fill_parts(part_of, counts, allowed)
    return {part: np.flatnonzero(part_of[group] == k) for k, part in enumerate(PARTS)}


def _fill_parts(part_of: Array, counts: Array, allowed: Sequence[int]) -> None:
    """Move groups so that every part has one, and then so that every class has training rows."""
    sizes = counts.sum(axis=1)
    for part in allowed:
        training = np.flatnonzero(part_of == 0)
        if part and not (part_of == part).any() and len(training) > 1:
            part_of[training[np.argmin(sizes[training])]] = part
    for label in range(counts.shape[1]):
        having = np.flatnonzero(counts[:, label])
        if not (part_of[having] == 0).any():
            part_of[having[np.argmin(sizes[having])]] = 0
