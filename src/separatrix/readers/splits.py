"""Split rows into training, validation and test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from separatrix.errors import ParameterError
from separatrix.matrix import Array

PARTS = ("train", "validation", "test")
SHARES = (0.8, 0.1, 0.1)
SPLIT_NOTE = "Split the rows"  # every note on a random split begins with this
_WORDS = {"train": "training", "validation": "validation", "test": "test"}

Split: TypeAlias = Sequence[float] | Mapping[str, Any] | None
Splits: TypeAlias = dict[str, Array]  # row numbers by part


def split_rows(y: Array | None, n: int, seed: int, shares: Sequence[float] = SHARES) -> Splits:
    """Draw training, validation and test rows, stratified by label.

    Every class has at least one training row. The total numbers of test and validation rows are
    rounded down.

    >>> y = np.repeat(["a", "b"], [30, 70])
    >>> splits = split_rows(y, 100, seed=0)
    >>> {part: len(rows) for part, rows in splits.items()}
    {'train': 80, 'validation': 10, 'test': 10}
    >>> sorted(y[splits["test"]].tolist())
    ['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b', 'b', 'b']
    """
    shares = checked_shares(shares)
    codes = np.zeros(n, np.int8) if y is None else _class_numbers(y)
    rows = _by_class(codes, seed)
    is_test = _every(len(rows), shares[2])
    test, rows = rows[is_test], rows[~is_test]
    is_validation = _every(len(rows), shares[1] / (shares[0] + shares[1]))
    validation, train = rows[is_validation], rows[~is_validation]
    in_training = np.bincount(codes[train], minlength=int(codes.max(initial=0)) + 1)
    for code in np.flatnonzero(in_training == 0):
        last = _by_class(codes, seed)
        last = last[codes[last] == code][0]
        train = np.append(train, last)
        test, validation = test[test != last], validation[validation != last]
    splits = dict(zip(PARTS, (train, validation, test)))
    for chosen in splits.values():
        chosen.sort()
    return splits


def _class_numbers(y: Array) -> Array:
    """Return the position of every label among the different labels, in a small type."""
    if y.dtype.kind in "iu" and len(y) and y.min() >= 0 and y.max() < len(y):
        # Counting needs less memory than sorting.
        places = np.cumsum(np.bincount(y) > 0) - 1
        return places.astype(np.min_scalar_type(int(places[-1])))[y]
    return np.unique(y, return_inverse=True)[1].ravel()


def _by_class(codes: Array, seed: int) -> Array:
    """Return the row numbers by class, random within a class."""
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    return shuffled[np.argsort(codes[shuffled], kind="stable")]


def split_training(y: Array | None, train: Array, test: Array, seed: int) -> Splits:
    """Keep the test rows of a data set, and draw 10 % of its training rows for validation."""
    part = split_rows(None if y is None else y[train], len(train), seed, (0.9, 0.1, 0.0))
    return {"train": train[part["train"]], "validation": train[part["validation"]], "test": test}


def own_splits(own: Mapping[str, Any], y: Array | None, seed: int, notes: list[str]) -> Splits:
    """Use the split that comes with a data set. If it has no validation rows, draw them.

    >>> notes = []
    >>> splits = own_splits({"train": range(20), "test": range(20, 25)}, None, 0, notes)
    >>> {part: len(rows) for part, rows in splits.items()}
    {'train': 18, 'validation': 2, 'test': 5}
    """
    rows = {part: np.asarray(own.get(part, ()), dtype=np.int64) for part in PARTS}
    if set(own) == {"train", "test"}:
        notes.append(
            "The data set comes with its own training and test rows. The validation rows are 10 % "
            f"of the training rows (random seed {seed})."
        )
        return split_training(y, rows["train"], rows["test"], seed)
    parts = _joined([_WORDS[part] for part in PARTS if part in own])
    notes.append(f"The data set comes with its own {parts} rows.")
    return rows


def given_rows(split: Mapping[str, Any], n: int) -> Splits:
    """Check the row numbers of every part that a caller has given. Missing parts have no rows.

    >>> given_rows({"train": [0, 1], "test": [2]}, 3)["test"]
    array([2])
    """
    strange = sorted(set(split) - set(PARTS))
    if strange or "train" not in split:
        raise ValueError(
            f"A split must contain the part 'train', and no parts other than {', '.join(PARTS)}. "
            f"Got {', '.join(map(str, split)) or 'no part'} instead."
        )
    rows = {part: np.asarray(split.get(part, []), dtype=np.int64).ravel() for part in PARTS}
    for part, chosen in rows.items():
        bad = chosen[(chosen < 0) | (chosen >= n)]
        if len(bad):
            raise ValueError(
                f"The rows of the part {part!r} must be between 0 and {n - 1}. "
                f"Got {bad[0]} instead."
            )
    every = np.concatenate(list(rows.values()))
    values, counts = np.unique(every, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"Row {values[counts > 1][0]} occurs more than once in the split.")
    return rows


def _every(n: int, share: float) -> Array:
    """Return a mask that selects the proportion `share` of n positions, evenly spread."""
    counts = np.arange(n + 1, dtype=np.float64)
    counts *= share
    counts += 1e-9  # without it, 10 * 0.1 could be rounded down to 0
    np.floor(counts, out=counts)
    return counts[1:] > counts[:-1]


def checked_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Return three proportions; raise unless they are valid."""
    try:
        found = tuple(float(share) for share in shares)
    except (TypeError, ValueError):
        found = ()
    good = len(found) == 3 and all(0 <= share <= 1 for share in found)  # False for NaN
    if not good or found[0] == 0 or abs(sum(found) - 1) > 1e-6:
        got = shares if isinstance(shares, str) else tuple(shares)
        raise ParameterError(
            "The proportions of training, validation and test rows must be three numbers >= 0 that "
            "add up to 1, and the first must be above 0, as in (0.8, 0.1, 0.1). "
            f"Got {got!r} instead.",
            parameter="split",
        )
    return found


def split_in_words(
    splits: Splits,
    shares: Sequence[float],
    seed: int | None,
    by_label: bool,
    *,
    how: str = "",
    parts: Sequence[str] = PARTS,
) -> str:
    """Describe a split, and name the parts that got no rows because there were too few.

    `seed` is None if the split is not random, `how` adds words on the split, and `parts` are the
    parts to name.

    >>> splits = {"train": np.arange(8), "validation": np.arange(1), "test": np.arange(0)}
    >>> print(split_in_words(splits, (0.8, 0.1, 0.1), 0, by_label=False))
    Split the rows 80/10/10 (random seed 0): 8 training, 1 validation and 0 test rows. There are
    too few rows for a test part.
    """
    share_of = dict(zip(PARTS, shares))
    proportions = "/".join(f"{100 * share_of[part]:.6g}" for part in parts)
    manner = f"{proportions}, stratified by label" if by_label else proportions
    if seed is not None:
        manner += f" (random seed {seed})"
    if how:
        manner += how if how.startswith(";") else f" {how}"
    counts = _joined([f"{len(splits[part]):,} {_WORDS[part]}" for part in parts])
    sentence = f"{SPLIT_NOTE} {manner}: {counts} rows."
    empty = [part for part in parts if share_of[part] and not len(splits[part])]
    missing = [f"a {part} part" for part in empty]
    return sentence + (f" There are too few rows for {_joined(missing)}." if empty else "")


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
