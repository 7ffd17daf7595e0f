"""The Hessian of the objective: products with directions, or the explicit matrix.

    H = sum_i s_i [x_i; 1] d2loss(z_i) [x_i; 1]^T / S  +  l2 f^2  (and l2 f_b^2 for the bias)

with recentred x_i. For losses that are sums over their outputs, d2loss (K, K) is diagonal, and H
consists of K blocks of order d + 1. Otherwise it is one block of order (d + 1) K, one output after
the other.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.losses import Loss
from separatrix.matrix import (
    Array,
    per_model,
    pick_models,
    sum_samples,
    weighted_squares,
    zero_unweighted,
)
from separatrix.model import Model
from separatrix.penalty import ElasticNet
from separatrix.recentring import Recentring

NUMBERS_AT_ONCE = 1 << 24  # of weights and Hessians in memory; models are taken in groups


class HessianOperator:
    """The Hessian of P for each model of a batch, at its weights.

    If all rows are in one block in memory, the scores at the weights are kept. Otherwise every
    product computes them again.

    Parameters
    ----------
    data, loss, penalty : the data, the loss and the penalty of the objective
    model : the weights at which the Hessian is taken
    scale : (B,), 1 / S
    bias_curvature : (B,), the second derivative of the penalty on the bias; None for a fixed bias
    recentring : the recentring of the features, and so of the directions
    scores : (n, B, K), if they are known

    >>> from separatrix.losses import LOSSES
    >>> data = Dataset.of([[1.0], [-1.0]], [1, 0])
    >>> at = HessianOperator(data, LOSSES["logistic"], ElasticNet(0.0, 0.5), Model.zeros(1, 1, 1),
    ...                np.array([0.5]), np.zeros(1), Recentring.at_zero(1, 1))
    >>> at.matrix()[0, 0]
    array([[0.75, 0.  ],
           [0.  , 0.25]])
    """

    def __init__(
        self,
        data: Dataset,
        loss: Loss,
        penalty: ElasticNet,
        model: Model,
        scale: Array,
        bias_curvature: Array | None,
        recentring: Recentring,
        scores: Array | None = None,
    ) -> None:
        if not loss.smooth:
            raise ValueError(
                f"Loss '{loss.name}' has no second derivative, because it is not smooth. Use a "
                "smooth loss, such as 'squared_hinge' or 'logistic'."
            )
        self.data, self.loss, self.penalty = data, loss, penalty
        self.shape: tuple[int, int, int] = model.W.shape
        self.scale, self.bias_curvature, self.recentring = scale, bias_curvature, recentring
        self.model = model
        if scores is None and data.in_one_block:
            scores = model.scores(data.only_block().X)
        self._scores = scores

    @property
    def n_blocks(self) -> int:
        """The number of blocks of each model's H: K, or 1 if the outputs are coupled."""
        _, _, K = self.shape
        return K if self.loss.coupling(K) == "none" else 1

    def select(self, models: Array) -> HessianOperator:
        """Return the operator for some of the models (numbers or a mask)."""
        part = copy(self)
        part.data, part.penalty = self.data.select(models), self.penalty.select(models)
        part.scale, part.recentring = self.scale[models], self.recentring.select(models)
        if self.bias_curvature is not None:
            part.bias_curvature = self.bias_curvature[models]
        part.model = self.model.select(models)
        part._scores = None if self._scores is None else pick_models(self._scores, models)
        part.shape = (self.shape[0], len(part.scale), self.shape[2])
        return part

    def times(self, V: Model) -> Model:
        """Return H times the direction V, given as a model, for each model."""
        if V.W.shape != self.shape or V.b.shape != self.shape[1:]:
            raise ValueError(
                f"The direction must have the shapes of the model, W {self.shape} and b "
                f"{self.shape[1:]}. Got {V.W.shape} and {V.b.shape} instead."
            )
        sums = self.data.sum_over_blocks(
            _product, *self._at(), self._scores, self.recentring.undo(V)
        )
        product = self.recentring.apply_to_gradient(Model(*sums))
        HW, hb = product.W + self.penalty.gradient(V.W), product.b
        if self.bias_curvature is None:
            hb[:] = 0.0
        else:
            hb += self.bias_curvature[:, None] * V.b
        return Model(HW, hb.astype(V.b.dtype))

    def diagonal(self) -> Model:
        """Return the diagonal of H; 1 for a fixed bias."""
        d, B, K = self.shape
        W, b = self.data.sum_over_blocks(
            _diagonal, *self._at(), self._scores, list(self.recentring.groups())
        )
        W += self.penalty.gradient(np.ones((d, B, 1)))
        b = np.ones((B, K)) if self.bias_curvature is None else b + self.bias_curvature[:, None]
        return Model(W, b)

    def matrix(self, least: Array | None = None) -> Array:
        """Return the explicit H, in the format of `write_hessian`.

        `least` is as in `of_rows`.
        """

        def grams(models: Array, origin: Array) -> Array:
            part = self if len(models) == self.shape[1] else self.select(models)
            own = None if least is None else least[models]
            (G,) = part.data.sum_over_blocks(
                _grams, *part._at(), part._scores, self.n_blocks, own, origin
            )
            return np.asarray(G)

        return write_hessian(
            self.data,
            self.penalty,
            self.bias_curvature,
            self.recentring,
            self.shape,
            self.n_blocks,
            grams,
        )

    def of_rows(self, least: Array | None = None) -> Array:
        """Return s d2loss / S of the rows, (n, B, pairs), for `output_pairs`; for one block only.

        `least` (B,) is added to the second derivative of every row along each output.
        """
        block = self.data.only_block("The second derivative of every row")
        return _of_rows(block, *self._at(), self._scores, self.n_blocks, least)

    def _at(self) -> tuple[Loss, Model, Array]:
        """Return what block functions need: the loss, the weights and 1 / S."""
        return self.loss, self.model, self.scale


def output_pairs(n_outputs: int, n_blocks: int) -> list[tuple[int, int]]:
    """Return the pairs (k, j) of outputs, j <= k, in a Hessian of `n_blocks` blocks."""
    apart = n_blocks == n_outputs
    return [(k, j) for k in range(n_outputs) for j in range(k + 1) if k == j or not apart]


def write_hessian(
    data: Dataset,
    penalty: ElasticNet,
    bias_curvature: Array | None,
    recentring: Recentring,
    shape: tuple[int, int, int],
    n_blocks: int,
    grams: Callable[[Array, Array], Array],
) -> Array:
    """Compute H of all models from the second derivatives of the rows: (B, n_blocks, m, m).

    m = (d + 1) K / n_blocks, and the bias comes last. Only the lower triangle is valid. A fixed
    bias (`bias_curvature` is None) has a 1 on the diagonal. `grams` returns, for some models and an
    origin (d,), the sums of h [x; 1] [x; 1]^T, (models * pairs, d + 1, d + 1), with the pairs of
    `output_pairs`.
    """
    d, B, K = shape
    D, apart = d + 1, n_blocks == K
    pairs = output_pairs(K, n_blocks)
    rows = max(data.facts.lengths)
    group = max(1, NUMBERS_AT_ONCE // (len(pairs) * max(rows, D**2)))
    parts = [
        (models[first : first + group], origin)
        for models, origin in recentring.groups()
        for first in range(0, len(models), group)
    ]
    at_once = apart and len(parts) == 1  # then the parts already are the result
    m = D * K // n_blocks
    out = np.empty((0 if at_once else B, n_blocks, m, m))
    for some, origin in parts:
        G = grams(some, origin).reshape(len(some), len(pairs), D, D)
        if bias_curvature is None:
            G[:, :, d], G[:, :, :, d] = 0.0, 0.0
        of_bias = np.ones(len(some)) if bias_curvature is None else bias_curvature[some]
        theirs = penalty if len(some) == B else penalty.select(some)
        of_weights = theirs.gradient(np.ones((d, len(some), 1)))[:, :, 0].T
        diagonals = G.reshape(len(some), len(pairs), D * D)[:, :, :: D + 1]
        for number, (k, j) in enumerate(pairs):
            if k == j:
                diagonals[:, number, :d] += of_weights
                diagonals[:, number, d] += of_bias
        if at_once:
            return G
        for number, (k, j) in enumerate(pairs):
            if apart:
                out[some, k] = G[:, number]
            else:
                out[some, 0, k * D : k * D + D, j * D : j * D + D] = G[:, number]
    return out


def gram_of(block: Block, h: Array, origin: Array) -> Array:
    """Return the sums of h [x; 1] [x; 1]^T of a block, for h (n, B, pairs)."""
    return block.X.gram(h.reshape(len(h), -1), origin)


def _grams(
    block: Block,
    loss: Loss,
    model: Model,
    scale: Array,
    scores: Array | None,
    n_blocks: int,
    least: Array | None,
    origin: Array,
) -> tuple[Array]:
    h = _of_rows(block, loss, model, scale, scores, n_blocks, least)
    return (gram_of(block, h, origin),)


def _of_rows(
    block: Block,
    loss: Loss,
    model: Model,
    scale: Array,
    scores: Array | None,
    n_blocks: int,
    least: Array | None,
) -> Array:
    """Return s d2loss / S of each row for the pairs of outputs, (n, B, pairs), in float64."""
    Z = _scores_of(block, model, scores)
    pairs = output_pairs(Z.shape[2], n_blocks)
    h = _second_of_pairs(block, loss, scale, Z, pairs, n_blocks)
    if least is not None:
        more = per_model(block.weights) * (least * scale)
        for number, (k, j) in enumerate(pairs):
            if k == j:
                h[:, :, number] += more
    return h


def _second_of_pairs(
    block: Block, loss: Loss, scale: Array, Z: Array, pairs: list[tuple[int, int]], n_blocks: int
) -> Array:
    if n_blocks == Z.shape[2]:
        return _apply_loss_hessian(block, loss, scale, Z).astype(np.float64, copy=False)
    h = np.empty((*Z.shape[:2], len(pairs)))
    for j in range(Z.shape[2]):
        second = _second(block, loss, scale, Z, j)
        for number, (k, column) in enumerate(pairs):
            if column == j:
                h[:, :, number] = second[:, :, k]
    return h


def _diagonal(
    block: Block,
    loss: Loss,
    model: Model,
    scale: Array,
    scores: Array | None,
    groups: list[tuple[Array, Array]],
) -> tuple[Array, Array]:
    Z = _scores_of(block, model, scores)
    h = np.empty(Z.shape)
    for k in range(Z.shape[2]):
        h[:, :, k] = _second(block, loss, scale, Z, k)[:, :, k]
    squares = np.empty(model.W.shape)
    for some, origin in groups:
        own = h[:, some].reshape(len(h), -1)
        theirs = weighted_squares(block.X, own, origin)
        squares[:, some] = theirs.reshape(len(squares), len(some), Z.shape[2])
    return squares, sum_samples(h)


def _product(
    block: Block, loss: Loss, model: Model, scale: Array, scores: Array | None, V: Model
) -> tuple[Array, Array]:
    """Return X^T and the sum of s d2loss(Z) (X V + c) / S."""
    Z = _scores_of(block, model, scores)
    if not loss.compiled:
        U = _apply_loss_hessian(block, loss, scale, Z, V.scores(block.X))
        return block.X.transpose_times(U), sum_samples(U)
    GW, gb = np.zeros_like(V.W), np.zeros(V.b.shape)
    _core.hessian_times(
        block.X.for_transpose(V.b.size),
        block.y,
        block.s,
        scale,
        loss.native_code,
        loss.margin,
        Z,
        V.W,
        V.b,
        GW,
        gb,
        block.weight_column,
    )
    return GW, gb


def _scores_of(block: Block, model: Model, scores: Array | None) -> Array:
    return model.scores(block.X) if scores is None else scores


def _second(block: Block, loss: Loss, scale: Array, Z: Array, output: int) -> Array:
    """Return the column of s d2loss / S for one output, (n, B, K)."""
    V = np.zeros_like(Z)
    V[:, :, output] = 1.0
    return _apply_loss_hessian(block, loss, scale, Z, V)


def _apply_loss_hessian(
    block: Block, loss: Loss, scale: Array, Z: Array, V: Array | None = None
) -> Array:
    """Return s d2loss(Z) V / S of each row, (n, B, K); a given V is overwritten, else ones."""
    if loss.compiled:
        out = np.empty_like(Z) if V is None else V
        _core.apply_loss_hessian(
            loss.native_code,
            loss.margin,
            block.y,
            block.s,
            scale,
            Z,
            out,
            block.weight_column,
            V is None,
        )
        return out
    V = np.ones_like(Z) if V is None else V
    s = per_model(block.weights)
    U = loss.hessian_times(block.y, zero_unweighted(Z, s), zero_unweighted(V, s))
    return (U * (s * scale)[:, :, None]).astype(Z.dtype, copy=False)
