"""Block functions of the duality gap, and the balance of duals over several blocks.

The duals of a block are given, if all rows are in one block in memory. Otherwise they are the
gradient of the loss, computed again in every pass, and balanced as the flows of all rows demand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import separatrix._core as _core
from separatrix.data import Block
from separatrix.loss_sums import loss_gradient
from separatrix.losses import Loss
from separatrix.losses.balance import tilts
from separatrix.losses.cross_entropy import (
    BALANCED,
    LEAST_TILT,
    MOST_TILTS,
    CrossEntropy,
    imbalance,
    tilt,
)
from separatrix.matrix import Array, per_model, sum_samples
from separatrix.model import Model
from separatrix.objective import Objective


@dataclass(frozen=True, eq=False)
class Balance:
    """How the duals of every block are balanced.

    Attributes
    ----------
    free : (B,), which models need it, because their bias is free
    tilts : shifts (B, C) of the scores, one after the other
    how : what `Loss.balancing` returns; None if it is not known yet
    """

    free: Array
    tilts: tuple[Array, ...] = ()
    how: Array | None = None

    def apply(self, loss: Loss, y: Array, U: Array) -> Array:
        """Return the duals U (n, B, K) of a block, balanced."""
        even = U
        for x in self.tilts:
            even = tilt(y, even, x)
        if self.how is not None:
            even = loss.apply_balance(y, even, self.how)
        return even if self.free.all() else np.where(self.free[:, None], even, U)


@dataclass(frozen=True, eq=False)
class DualSource:
    """Where the duals U (n, B, K) of a block come from.

    Attributes
    ----------
    loss, model : the loss, and the models whose gradients are the duals
    known : the duals of the only block, which are used as they are; None if they are computed
    balance : how computed duals are balanced; None if no bias is free
    """

    loss: Loss
    model: Model
    known: Array | None = None
    balance: Balance | None = None

    def of(self, block: Block) -> Array:
        """Return the duals of a block."""
        if self.known is not None:
            return self.known
        U = usable_duals(loss_gradient(block, self.loss, self.model), block)
        return U if self.balance is None else self.balance.apply(self.loss, block.y, U)


def usable_duals(U: Array, block: Block) -> Array:
    """Return the duals in float64; 0, always allowed, where weights are 0 or scores overflowed."""
    U = block.as_duals(U)
    if _core.are_valid_duals(U, block.s, block.weight_column):
        return U
    s = per_model(block.weights)
    return np.where(np.isfinite(U).all(axis=2, keepdims=True) & (s[:, :, None] > 0.0), U, 0.0)


def solve_balance(objective: Objective, model: Model) -> Balance | None:
    """Find the balance of the gradients of the loss from sums over the blocks.

    This takes one pass, and one more for every tilt. None if no bias is free.
    """
    B, loss = model.n_models, objective.loss
    free = objective.bias & (objective.bias_curvature(B) == 0.0)
    if not free.any():
        return None
    balance = Balance(np.asarray(free))
    flows = _sum_flows(objective, model, balance)
    if isinstance(loss, CrossEntropy) and loss.tilts(model.n_outputs):
        balance, flows = _add_tilts(objective, model, balance, flows)
    return Balance(balance.free, balance.tilts, loss.balancing(*flows))


def _add_tilts(
    objective: Objective, model: Model, balance: Balance, flows: tuple[Array, ...]
) -> tuple[Balance, tuple[Array, ...]]:
    """Tilt the duals of each model as long as this reduces its imbalance enough."""
    (A,) = flows
    off = imbalance(A)
    going = balance.free & (off > BALANCED)
    for _ in range(MOST_TILTS):
        if not going.any():
            break
        x = np.where(going[:, None], tilts(A), 0.0)
        (moved,) = _sum_flows(objective, model, Balance(balance.free, (*balance.tilts, x)))
        left = imbalance(moved)
        going &= left < LEAST_TILT * off
        x = np.where(going[:, None], x, 0.0)
        A, off = np.where(going[:, None, None], moved, A), np.where(going, left, off)
        balance = Balance(balance.free, (*balance.tilts, x))
        going &= off > BALANCED
    return balance, (A,)


def _sum_flows(objective: Objective, model: Model, balance: Balance) -> tuple[Array, ...]:
    source = DualSource(objective.loss, model, balance=balance)
    return objective.data.sum_over_blocks(flows_of_block, source)


def flows_of_block(block: Block, duals: DualSource) -> tuple[Array, ...]:
    """Return the sums over the rows from which the duals are balanced."""
    return duals.loss.flows(block.y, duals.of(block), block.weights)


def pull_of_block(block: Block, duals: DualSource, scale: Array) -> tuple[Array]:
    """Return X^T (s o U) / S, (d, B, K)."""
    return (block.transpose_times(duals.of(block), scale),)


def costs_of_block(
    block: Block, duals: DualSource, shrink: Array, of_class: Array, sums: bool
) -> tuple[Array, ...]:
    """Return sums over the rows, weighted: of conjugate(shrink U) and conjugate(0), (B,) each, and
    of |U| and U, (B, K) each.

    `of_class` holds the conjugate at 0 of each class. Without `sums`, the last sum is left out.
    """
    U = duals.of(block)
    each = duals.loss.conjugate(block.y, shrunk(U, shrink))
    cost = block.weighted_sum(each[:, :, None])[:, 0]
    sizes = block.weighted_sum(U, sizes=True)
    zero = np.zeros(len(cost))
    if of_class.any():
        zero = zero + sum_samples(per_model(block.weights) * per_model(of_class[block.y]))
    return cost, zero, sizes, block.weighted_sum(U) if sums else np.zeros(sizes.shape)


def pull_and_costs_of_block(
    block: Block, duals: DualSource, scale: Array, of_class: Array, sums: bool
) -> tuple[Array, ...]:
    """Return `pull_of_block` and `costs_of_block`, for the duals as they are."""
    known = DualSource(duals.loss, duals.model, known=duals.of(block))
    costs = costs_of_block(block, known, np.ones(len(scale)), of_class, sums)
    return (*pull_of_block(block, known, scale), *costs)


def shrunk(U: Array, shrink: Array) -> Array:
    """Return U times a factor (B,) per model."""
    return U if (shrink == 1.0).all() else U * shrink[:, None]
