"""Intervals of scores and probabilities at the optimum, and predictions that are certain.

Two scores of one ball move together: their difference has sqrt 2 times the half-width of one score.
A common shift of all scores changes nothing for softmax, so its scores are those with the mean 0,
which have sqrt(1 - 1/C) times the half-width.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from separatrix.losses import Loss, OneVsRest
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array, Matrix
from separatrix.verdict.regions.region import Region
from separatrix.verdict.regions.rounding import SMALLEST, UNIT, rounding_of
from separatrix.verdict.regions.softmax_bias import lift

ROUNDING = 64.0 * UNIT  # relative error of a probability


@dataclass(frozen=True)
class ScoreBounds:
    """Bounds on the scores and probabilities of n rows at the optima of B models.

    Attributes
    ----------
    low, high : bounds (n, B, C) on the scores of all classes, or (n, B, 1) on the only score
    middle : scores between them
    half : half-widths (n, B, 1) for a difference of two scores, if all outputs share a ball
    pairs : what the free biases add to a difference (1 or B, C, C)
    """

    low: Array
    high: Array
    loss: Loss
    middle: Array
    half: Array | None
    pairs: Array

    def leads(self, classes: Array) -> Array:
        """Return the lowest lead (n, B) of some classes (n, B) over every other class.

        For one score it is the lower bound for class 1, and minus the upper bound for class 0.
        """
        if self.low.shape[2] == 1:
            return np.where(classes == 1, self.low[:, :, 0], -self.high[:, :, 0])
        lead = np.full(classes.shape, np.inf)
        for j in range(self.low.shape[2]):
            ahead = self._difference(classes, np.full_like(classes, j))
            lead = np.where(classes == j, lead, np.minimum(lead, ahead))
        return lead

    def lags(self, classes: Array) -> Array:
        """Return by how much another class certainly leads over some classes (n, B).

        It is the highest of the lowest leads. If it is above 0, the class is not predicted.
        """
        if self.low.shape[2] == 1:
            return np.where(classes == 1, -self.high[:, :, 0], self.low[:, :, 0])
        lag = np.full(classes.shape, -np.inf)
        for j in range(self.low.shape[2]):
            ahead = self._difference(np.full_like(classes, j), classes)
            lag = np.where(classes == j, lag, np.maximum(lag, ahead))
        return lag

    def _difference(self, first: Array, second: Array) -> Array:
        """Return lower bounds (n, B) on the score of one class (n, B) minus that of another."""
        if self.half is None:
            with np.errstate(invalid="ignore"):
                apart = _at(self.low, first) - _at(self.high, second)
            return np.where(np.isnan(apart), -np.inf, apart)
        one, other = _at(self.middle, first), _at(self.middle, second)
        move = self.pairs[np.arange(len(self.pairs)), first, second]
        off = 8.0 * UNIT * (np.abs(one) + np.abs(other))
        with np.errstate(invalid="ignore"):
            least = one - other - (self.half[:, :, 0] + move) - off
        return np.where(np.isnan(least), -np.inf, least)

    def probabilities(self) -> tuple[Array, Array] | None:
        """Return bounds (n, B, C) on the probabilities of all classes; None if there are none."""
        loss = self.loss
        if loss.probabilities(np.zeros((1, 1, self.low.shape[2]))) is None:
            return None
        if self.low.shape[2] == 1:
            low, high = (loss.probabilities(z) for z in (self.low, self.high))
            assert low is not None
            assert high is not None
            found = np.minimum(low, high), np.maximum(low, high)
        elif isinstance(loss, OneVsRest):
            found = self._shares(loss)
        elif isinstance(loss, CrossEntropy):
            found = self._softmax(upper=False), self._softmax(upper=True)
        else:
            return None
        low, high = found[0] * (1.0 - ROUNDING), found[1] * (1.0 + ROUNDING)
        return np.maximum(low - SMALLEST, 0.0), np.minimum(high + SMALLEST, 1.0)

    def _softmax(self, upper: bool) -> Array:
        """Return bounds on 1 / (1 + the sum of exp(z_j - z_c) over j != c) for every class c."""
        n, B, C = self.middle.shape
        total = np.ones((n, B, C))
        for c, j in itertools.permutations(range(C), 2):
            one, other = np.full((n, B), c), np.full((n, B), j)
            least = self._difference(other, one) if upper else -self._difference(one, other)
            with np.errstate(over="ignore"):
                total[:, :, c] += np.exp(least)
        return 1.0 / total

    def _shares(self, loss: OneVsRest) -> tuple[Array, Array]:
        """Return bounds on the probabilities of one-vs-rest, divided by their sum."""
        n, B, C = self.low.shape
        ends = []
        for scores in (self.low, self.high):
            alone = loss.base.probabilities(scores.reshape(n, B * C, 1))
            assert alone is not None
            ends.append(alone[:, :, 1].reshape(n, B, C))
        low, high = ends
        # A sum over the others by subtraction has the rounding error of the whole sum.
        totals = [a.sum(axis=2, keepdims=True) for a in ends]
        off = [2.0 * rounding_of(C) * total for total in totals]
        others_low = np.maximum(totals[0] - low - off[0], 0.0)
        others_high = totals[1] - high + off[1]
        with np.errstate(invalid="ignore"):
            least, most = low / (low + others_high), high / (high + others_low)
        return np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=1.0)


def score_bounds(region: Region, loss: Loss, X: Matrix) -> ScoreBounds:
    """Return bounds on the scores of the rows of X at the optima of B models."""
    Z, width = region.scores(X)
    C = lift(loss, Z[:1]).shape[2]
    none = np.zeros((Z.shape[1], C, C))
    if width.shape[2] == Z.shape[2]:  # every output has its own ball
        b = region.ball.centre.b
        low, high = Z - width + (region.low - b), Z + width + (region.high - b)
        return ScoreBounds(*_rounded(low, high), loss, Z, None, none)
    pairs = none if region.pairs is None else region.pairs
    half = width
    if loss.name == "softmax":
        Z = Z - Z.mean(axis=2, keepdims=True)
        half = np.sqrt(1.0 - 1.0 / C) * width + pairs.mean(axis=2)
    elif region.pairs is not None:  # the bias of the reference class is 0
        half = width + pairs[:, 0, 1:]
    low, high = lift(loss, Z - half), lift(loss, Z + half)
    return ScoreBounds(*_rounded(low, high), loss, lift(loss, Z), np.sqrt(2.0) * width, pairs)


def _rounded(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the bounds with their rounding; scores that overflow have none."""
    with np.errstate(invalid="ignore"):
        off = 8.0 * UNIT * (np.abs(low) + np.abs(high))
        low, high = low - off, high + off
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _at(Z: Array, classes: Array) -> Array:
    return np.take_along_axis(Z, classes[:, :, None], axis=2)[:, :, 0]
