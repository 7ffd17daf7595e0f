"""Numbers for a page: arrays as base64, and curves that are thinned if there are many."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.results.facts import MEASURES, Row
from separatrix.training.recording.history import History

MOST_NUMBERS = 360_000  # of all curves, as 4 bytes each; beyond that, curves are thinned ...
THINNED_NUMBERS = 200_000  # ... to about this many in total
FEWEST_POINTS = 16  # of a thinned curve
FINER = 16  # times as many points for the best configuration


def packed(a: Array, kind: str = "<f4") -> str:
    """Return the bytes of an array as base64.

    >>> packed(np.array([1.0]))
    'AACAPw=='
    """
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(a, kind).tobytes()).decode()


def packed_curves(
    rows: Sequence[Row],
    histories: Mapping[int, tuple[History, ...]],
    best: int | None,
    most: int | None = None,
) -> dict[str, Any]:
    """Return the curves of all finished configurations, joined in one array for every measure.

    A measure has `values` (float32) and `epochs` (uint32) of all curves, and `lengths` of the
    curves in the order of `numbers`. `epochs` is empty if every curve has the epochs 1, 2, 3 and so
    on. Values that are not finite are left out: a curve ends where it left the numbers. `thinned`
    is the number of points that a curve was thinned to, or null. That of the `best` has more.
    Curves with more than `most` numbers (default: MOST_NUMBERS) together are thinned.
    """
    most = MOST_NUMBERS if most is None else most
    numbers = [row.number for row in rows if row.number in histories]
    diverged = {row.number for row in rows if row.diverged}
    total = sum(_epochs(histories[n]) for n in numbers) * len(MEASURES)
    points = None
    if total > most:
        room = most * THINNED_NUMBERS // MOST_NUMBERS
        points = max(room // (len(MEASURES) * len(numbers)), FEWEST_POINTS)
    out: dict[str, Any] = {"numbers": numbers, "thinned": points, "measures": {}}
    for measure in MEASURES:
        curves = [mean_curve(histories[n], measure, n in diverged) for n in numbers]
        own = [points and points * (FINER if n == best else 1) for n in numbers]
        found = [thin(curve, limit) for curve, limit in zip(curves, own)]
        kept = [curve[at] for curve, at in zip(curves, found)]
        complete = all(len(at) == 0 or at[-1] == len(at) - 1 for at in found)
        out["measures"][measure] = {
            "lengths": [len(at) for at in found],
            "values": packed(np.concatenate([*kept, np.zeros(0)])),
            "epochs": "" if complete else packed(np.concatenate(found) + 1, "<u4"),
        }
    return out


def mean_curve(runs: Sequence[History], measure: str, diverged: bool) -> Array:
    """Return the mean over the seeds that are still in training at every epoch (T,).

    If only some seeds diverged, the curve is that of the other ones.
    """
    if len(runs) == 1:
        return runs[0][measure]
    if diverged:
        sane = [run for run in runs if np.isfinite(run["objective"]).all()]
        runs = sane or runs
    values = np.full((len(runs), max(run.epochs for run in runs)), np.nan)
    for line, run in zip(values, runs):
        line[: run.epochs] = run[measure]
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # epochs without a measurement
        return np.nanmean(values, axis=0)


def thin(values: Array, points: int | None) -> Array:
    """Return the positions of finite values, at most about `points` of them.

    The values are cut into intervals of equal length. The lowest and the highest value of each are
    kept, so that extremes stay visible, and the first and the last value.

    >>> thin(np.array([3.0, 2.0, np.nan, 1.0]), None)
    array([0, 1, 3])
    >>> at = thin(np.sin(np.arange(1000.0)), 20)
    >>> len(at) <= 22, at[0], at[-1]
    (True, np.int64(0), np.int64(999))
    """
    finite = np.flatnonzero(np.isfinite(values))
    n = len(finite)
    if points is None or n <= points:
        return finite
    pieces = max(points // 2, 1)
    size = -(-n // pieces)
    padded = np.append(values[finite], np.full(size * pieces - n, values[finite[-1]]))
    table = padded.reshape(pieces, size)
    starts = np.arange(pieces) * size
    chosen = np.concatenate([starts + table.argmin(axis=1), starts + table.argmax(axis=1)])
    return finite[np.unique(np.concatenate([[0], np.minimum(chosen, n - 1), [n - 1]]))]


def _epochs(runs: Sequence[History]) -> int:
    return max(run.epochs for run in runs)
