"""Which rows are for training, for validation and for testing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from separatrix.errors import ParameterError
from separatrix.matrix import Array

PARTS = ("train", "validation", "test")
SHARES = (0.8, 0.1, 0.1)

Split: TypeAlias = Sequence[float] | Mapping[str, Any] | None
Splits: TypeAlias = dict[str, Array]  # row numbers by the names above


def split_rows(y: Array | None, n: int, seed: int, shares: Sequence[float] = SHARES) -> Splits:
    """Draw rows for training, validation and testing, every class in about the same shares.

    A class is never without a training row. The numbers of rows are rounded down for the test and
    validation rows of all classes together.

    >>> y = np.repeat(["a", "b"], [30, 70])
    >>> splits = split_rows(y, 100, seed=0)
    >>> {part: len(rows) for part, rows in splits.items()}
    {'train': 80, 'validation': 10, 'test': 10}
    >>> sorted(y[splits["test"]].tolist())
    ['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b', 'b', 'b']
    """
    shares = _checked_shares(shares)
    codes = np.zeros(n, int) if y is None else np.unique(y, return_inverse=True)[1].ravel()
    shuffled = np.random.default_rng(seed).permutation(n)
    rows = shuffled[np.argsort(codes[shuffled], kind="stable")]  # by class, at random within it
    is_test = _every(len(rows), shares[2])
    rest = rows[~is_test]
    is_validation = _every(len(rest), shares[1] / (shares[0] + shares[1]))
    test, validation, train = rows[is_test], rest[is_validation], rest[~is_validation]
    for code in np.setdiff1d(codes, codes[train]):
        last = rows[codes[rows] == code][0]
        train = np.append(train, last)
        test, validation = test[test != last], validation[validation != last]
    return {part: np.sort(chosen) for part, chosen in zip(PARTS, (train, validation, test))}


def split_training(y: Array | None, train: Array, test: Array, seed: int) -> Splits:
    """Keep the test rows of the data set; draw a tenth of its training rows for validation."""
    part = split_rows(None if y is None else y[train], len(train), seed, (0.9, 0.1, 0.0))
    return {"train": train[part["train"]], "validation": train[part["validation"]], "test": test}


def own_splits(own: Mapping[str, Any], y: Array | None, seed: int, notes: list[str]) -> Splits:
    """Take the parts that a data set has of its own; add the validation rows to train and test.

    >>> notes = []
    >>> splits = own_splits({"train": range(20), "test": range(20, 25)}, None, 0, notes)
    >>> {part: len(rows) for part, rows in splits.items()}
    {'train': 18, 'validation': 2, 'test': 5}
    """
    rows = {part: np.asarray(own.get(part, ()), dtype=np.int64) for part in PARTS}
    if set(own) == {"train", "test"}:
        notes.append(
            "Training and test rows are the data set's own; validation rows are 10 % of the "
            f"training rows, drawn with seed {seed}."
        )
        return split_training(y, rows["train"], rows["test"], seed)
    notes.append(f"The split is the data set's own: {', '.join(own)}.")
    return rows


def given_rows(split: Mapping[str, Any], n: int) -> Splits:
    """Check row numbers that a caller has given by part; parts left out have no rows.

    >>> given_rows({"train": [0, 1], "test": [2]}, 3)["test"]
    array([2])
    """
    strange = sorted(set(split) - set(PARTS))
    if strange or "train" not in split:
        raise ValueError(
            f"A split names the parts {', '.join(PARTS)}, of which 'train' is needed. "
            f"Got {', '.join(map(str, split)) or 'no part'} instead."
        )
    rows = {part: np.asarray(split.get(part, []), dtype=np.int64).ravel() for part in PARTS}
    for part, chosen in rows.items():
        bad = chosen[(chosen < 0) | (chosen >= n)]
        if len(bad):
            raise ValueError(
                f"The rows of the part {part!r} must lie between 0 and {n - 1}. "
                f"Got {bad[0]} instead."
            )
    every = np.concatenate(list(rows.values()))
    values, counts = np.unique(every, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"Row {values[counts > 1][0]} is in a split twice: once is allowed.")
    return rows


def _every(n: int, share: float) -> Array:
    """A mask of `share` of n places, evenly spread."""
    # The small amount keeps 10 * 0.1 from being rounded to 0.99...
    return np.diff(np.floor(np.arange(n + 1) * share + 1e-9)) > 0


def _checked_shares(shares: Sequence[float]) -> tuple[float, ...]:
    try:
        found = tuple(float(share) for share in shares)
    except (TypeError, ValueError):
        found = ()
    good = len(found) == 3 and all(0 <= share <= 1 for share in found)  # so NaN is not
    if not good or found[0] == 0 or abs(sum(found) - 1) > 1e-6:
        got = shares if isinstance(shares, str) else tuple(shares)
        raise ParameterError(
            "The shares of training, validation and test rows must be three numbers >= 0 that add "
            f"up to 1, the first above 0, as in (0.8, 0.1, 0.1). Got {got!r} instead.",
            parameter="split",
        )
    return found


def split_in_words(splits: Splits, shares: Sequence[float], seed: int, by_label: bool) -> str:
    """Say how rows were drawn, and which part got none though it was to have some.

    >>> splits = {"train": np.arange(8), "validation": np.arange(0), "test": np.arange(0)}
    >>> split_in_words(splits, (0.8, 0.1, 0.1), 0, by_label=False)[-72:]
    'train 8, validation 0, test 0. None is left for validation and for test.'
    """
    given = "/".join(f"{100 * share:.6g}" for share in shares)
    by = "stratified by the label" if by_label else "at random"
    counts = ", ".join(f"{part} {len(rows):,}" for part, rows in splits.items())
    sentence = f"Rows were split {given}, {by}, with seed {seed}: {counts}."
    empty = [part for part, share in zip(PARTS, shares) if share and not len(splits[part])]
    return sentence + (f" None is left for {' and for '.join(empty)}." if empty else "")
