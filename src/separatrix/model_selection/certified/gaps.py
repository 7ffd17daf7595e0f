"""Bounds on the measure between two values of C that were trained, and where to train next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from separatrix.matrix import Array
from separatrix.model_selection.certified.fold_models import Fold, FoldModels, FoldPoint
from separatrix.verdict.regions.rounding import rounding_of

PIECES = 16  # of a gap, each with its own bounds
OVERLAP = 2.2  # length of an unproven stretch that one more value of C should cover, in reaches
MOST_VALUES = 6  # that are added in one stretch at once
NARROWEST = 1e-4  # stretches of log C that are not divided any further


@dataclass(frozen=True, eq=False)
class Gap:
    """The values of C between two that were trained.

    Attributes
    ----------
    edges : the ends of the pieces (PIECES + 1,)
    low, high : bounds on the measure at the optimum for every C of a piece (PIECES,)
    """

    edges: Array
    low: Array
    high: Array

    @classmethod
    def between(cls, fits: FoldModels, left: FoldPoint, right: FoldPoint) -> Gap:
        """Return the bounds between two neighbours.

        The bounds of each neighbour are widest at the far end of a piece, so those at its far end
        hold in the whole piece, and both hold.
        """
        edges = np.geomspace(left.C, right.C, PIECES + 1)
        edges[0], edges[-1] = left.C, right.C
        low, high = np.zeros(PIECES), np.full(PIECES, np.inf)
        off = rounding_of(sum(len(fold.rows) for fold in fits.folds))
        for k, (first, last) in enumerate(pairwise(edges)):
            scores = [
                _both(left, right, number, fold, first, last)
                for number, fold in enumerate(fits.folds)
            ]
            least, most = fits.measured(scores)
            low[k], high[k] = least * (1.0 - off), most * (1.0 + off)
        return cls(edges, low, high)

    def is_proven(self, target: float) -> Array:
        """Return in which pieces no C has a measure below a target."""
        return self.low >= target

    def next_values(self, target: float) -> list[float]:
        """Return the values of C to train next, in the stretches that are not proven."""
        proven, places = self.is_proven(target), np.log(self.edges)
        if proven.all():
            return []
        reach = 0.5 * float(np.diff(places)[proven].sum()) or (places[-1] - places[0]) / 8.0
        out: list[float] = []
        for first, last in _runs(~proven):
            begin, end = places[first], places[last]
            if end - begin > NARROWEST:
                count = int(np.clip(round((end - begin) / (OVERLAP * reach)), 1, MOST_VALUES))
                parts = (np.arange(count) + 0.5) / count
                out += np.exp(begin + (end - begin) * parts).tolist()
        return out


def _both(
    left: FoldPoint, right: FoldPoint, number: int, fold: Fold, first: float, last: float
) -> tuple[Array, Array]:
    """Return the bounds on scores from both neighbours, for C from `first` to `last`."""
    one = left.paths[number].bounds(fold.unit / last)
    other = right.paths[number].bounds(fold.unit / first)
    return np.maximum(one[0], other[0]), np.minimum(one[1], other[1])


def _runs(flags: Array) -> list[tuple[int, int]]:
    """Return begin and end of every run of true values.

    >>> _runs(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    changes = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return list(zip(changes[::2].tolist(), changes[1::2].tolist()))
