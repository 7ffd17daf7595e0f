"""The terms of hinge losses: from scores to terms, and from the flows of the terms to duals.

Arrays over the terms are (B, K, n), so all rows must be in one block in memory. The numbers of one
model are contiguous, so sums over the rows do not depend on the other models of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.data import Block
from separatrix.hessian import output_pairs
from separatrix.losses import Loss
from separatrix.losses.margin import CrammerSinger, Margin
from separatrix.losses.one_vs_rest import OneVsRest
from separatrix.matrix import Array, per_model, sum_samples
from separatrix.model import Model
from separatrix.objective import Objective


def is_hinge(loss: Loss) -> bool:
    """Return whether a loss is the sum or the maximum of hinges max(0, m + z_j - z_y), m > 0.

    >>> from separatrix.losses import LOSSES
    >>> [name for name, loss in LOSSES.items() if is_hinge(loss)]
    ['hinge', 'crammer_singer']
    """
    base = loss.base if isinstance(loss, OneVsRest) else loss
    return isinstance(base, Margin) and not base.smooth and base.margin > 0.0


@dataclass(frozen=True)
class Terms:
    """The hinge terms of all rows.

    Attributes
    ----------
    objective : the objective of the models
    share : (B, K, n), s / S; 0 if there is no term: in rows without weight, and for the true class
        if the terms are differences of scores
    own : (B, K, n), whether the class is the true one
    apart : whether each output has its own terms m - z or m + z; otherwise they are differences
    together : whether the flows of all terms of a row share one bound
    """

    objective: Objective
    share: Array
    own: Array
    apart: bool
    together: bool

    @classmethod
    def of(cls, objective: Objective, n_models: int, n_outputs: int) -> Terms:
        block, loss = objective.data.only_block("Solver 'interior'"), objective.loss
        s, y = (
            np.ascontiguousarray(np.broadcast_to(per_model(a), (len(a), n_models)).T)
            for a in (block.weights, block.y)
        )
        numbers = np.array([1]) if n_outputs == 1 else np.arange(n_outputs)
        own = y[:, None] == numbers[:, None]
        apart = loss.coupling(n_outputs) == "none"
        weight = (s * objective.scale(n_models)[:, None])[:, None]
        share = np.where(own & (not apart), 0.0, weight)
        return cls(objective, share, own, apart, isinstance(loss, CrammerSinger))

    def along(self, direction: Model) -> Array:
        """Return the rate z_j - z_y at which every term rises along a direction (a model)."""
        Z = np.ascontiguousarray(np.moveaxis(direction.scores(self._block.X), 0, -1))
        if self.apart:
            return np.where(self.own, -Z, Z)
        return np.where(self.own, 0.0, Z - np.where(self.own, Z, 0.0).sum(axis=1, keepdims=True))

    def duals(self, flows: Array) -> Array:
        """Return the duals U (n, B, K) from flows, which are 0 without a term."""
        theirs = flows if self.apart else flows.sum(axis=1, keepdims=True)
        return _rows_first(np.where(self.own, -theirs, flows))

    def pull(self, flows: Array) -> Model:
        """Return X^T U and the sum of U, weighted, for the duals U of the flows."""
        U = self.duals(self.share * flows)
        return Model(self._block.X.transpose_times(U), sum_samples(U))

    @property
    def _block(self) -> Block:
        return self.objective.data.only_block()

    def sum_bounds(self, a: Array) -> Array:
        """Sum over the terms that share a bound: (B, K, n), or (B, 1, n) if all of a row do."""
        return a.sum(axis=1, keepdims=True) if self.together else a

    def weigh(self, of_terms: Array, of_bounds: Array) -> Array:
        """Return the weighted sum of the numbers of the terms and of the bounds, (B,)."""
        bounds = self.share.max(axis=1, keepdims=True) if self.together else self.share
        sums = (self.share * of_terms).sum(axis=2), (bounds * of_bounds).sum(axis=2)
        return sums[0].sum(axis=1) + sums[1].sum(axis=1)

    def second(self, d: Array, whole: Array) -> Array:
        """Return the weights of the Hessian, (n, B, pairs).

        The matrix of a row is diag(d), with d (B, K, n), less d d' / whole for the shared bound.
        """
        if not self.together:
            d = d - d * d / whole
        if self.apart:
            return _rows_first(self.share * d)
        c, K = self.share.max(axis=1, keepdims=True), d.shape[1]
        # The row and the column of the true class are minus the sum of the others.
        sums = d * (1.0 - d.sum(axis=1, keepdims=True) / whole) if self.together else d
        total = sums.sum(axis=1)
        h = []
        for k, j in output_pairs(K, 1):
            between = d[:, k] * (k == j) - (d[:, k] * d[:, j] / whole[:, 0] if self.together else 0)
            mine, other = self.own[:, k], self.own[:, j]
            if k == j:
                h.append(np.where(mine, total, between))
            else:
                h.append(np.where(mine, -sums[:, j], np.where(other, -sums[:, k], between)))
        return _rows_first(np.stack(h, axis=1) * c)


def _rows_first(a: Array) -> Array:
    """Return (B, K, n) as (n, B, K)."""
    return np.ascontiguousarray(np.moveaxis(a, -1, 0))
