"""The node between the scores and the loss of a training step: probability, violation or residual.

`loss_node(loss, y, Z, G)` returns the node and the derivative of a row's loss with respect to it.
G (n, B, K) is the derivative with respect to the scores. For other losses it returns None.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from separatrix.losses import OneVsRest
from separatrix.losses.cross_entropy import CrossEntropy, SigmoidSquared
from separatrix.losses.margin import CrammerSinger, Margin
from separatrix.losses.modified_huber import ModifiedHuber
from separatrix.losses.shapes import targets, true_class
from separatrix.losses.squared import Squared
from separatrix.matrix import Array


@dataclass(frozen=True, eq=False)
class LossNode:
    """A node between scores and loss of shape (n, B) or (n, B, C), and the formula of the loss."""

    name: str
    formula: str
    value: Array
    derivative: Array
    loss: str  # a formula in the name of the node


@singledispatch
def loss_node(loss: Any, y: Array, Z: Array, G: Array) -> LossNode | None:
    """Return the node between the scores and the loss, or None if there is none."""
    return None


@loss_node.register
def _(loss: CrossEntropy, y: Array, Z: Array, G: Array) -> LossNode:
    P = loss.probabilities(Z)
    assert P is not None
    own = np.broadcast_to(true_class(y, P), P.shape)
    with np.errstate(divide="ignore"):
        slopes = np.where(own, -1.0 / P, 0.0)
        if Z.shape[2] > 1 or loss.outputs == "all":
            written = "softmax(0, z)" if Z.shape[2] < P.shape[2] else "softmax(z)"
            return LossNode("a", written, P, slopes, "-log a_y")
        one = np.where(own[:, :, 1], slopes[:, :, 1], -slopes[:, :, 0])
    return LossNode("a", "sigmoid(z)", P[:, :, 1], one, "-y log a - (1 - y) log(1 - a)")


@loss_node.register
def _(loss: SigmoidSquared, y: Array, Z: Array, G: Array) -> LossNode:
    P = loss.probabilities(Z)
    assert P is not None
    own = np.broadcast_to(true_class(y, P), P.shape)
    miss = np.where(own[:, :, 1], -P[:, :, 0], P[:, :, 1])
    return LossNode("a", "sigmoid(z)", P[:, :, 1], miss, "(a - y)^2 / 2")


@loss_node.register
def _(loss: Margin, y: Array, Z: Array, G: Array) -> LossNode:
    margin = f"{loss.margin:g} " if loss.margin else ""
    power = "^2" if loss.power == 2 else ""
    if Z.shape[2] == 1:
        t = targets(y, Z)[:, :, 0]
        # Without a margin the formula is -t z.
        formula = f"{margin}{'- ' if margin else '-'}t z, t = ±1"
        value, slopes = loss.margin - t * Z[:, :, 0], -t * G[:, :, 0] + 0.0
        return LossNode("m", formula, value, slopes, f"max(0, m){power}")
    own = np.broadcast_to(true_class(y, Z), Z.shape)
    z_y = np.where(own, Z, 0.0).sum(axis=2, keepdims=True)
    value = np.where(own, np.nan, loss.margin + Z - z_y)
    formula = f"{margin}{'+ ' if margin else ''}z_j - z_y, j ≠ y"
    over = "max over j of" if isinstance(loss, CrammerSinger) else "sum over j of"
    slopes = np.where(own, np.nan, G)
    return LossNode("m", formula, value, slopes, f"{over} max(0, m_j){power}")


@loss_node.register
def _(loss: ModifiedHuber, y: Array, Z: Array, G: Array) -> LossNode:
    t = targets(y, Z)[:, :, 0]
    value, slopes = 1.0 - t * Z[:, :, 0], -t * G[:, :, 0] + 0.0
    return LossNode("m", "1 - t z, t = ±1", value, slopes, "max(0, m)^2 if m <= 2, else 4 (m - 1)")


@loss_node.register
def _(loss: Squared, y: Array, Z: Array, G: Array) -> LossNode:
    r = Z - targets(y, Z)
    if Z.shape[2] == 1:
        return LossNode("r", "z - t, t = ±1", r[:, :, 0], G[:, :, 0], "r^2 / 2")
    return LossNode("r", "z - t, t one-hot", r, G, "|r|^2 / 2")


@loss_node.register
def _(loss: OneVsRest, y: Array, Z: Array, G: Array) -> LossNode | None:
    labels, scores = loss.split(y, Z)
    found = loss_node(loss.base, labels, scores, G.reshape(scores.shape))
    if found is None:
        return None
    # Every class has a binary loss, so the models of the batch become outputs.
    value, slopes = found.value[:, None, :], found.derivative[:, None, :]
    return LossNode(found.name, found.formula, value, slopes, f"sum over classes of {found.loss}")
