"""The Hessian of the objective: products with directions, or the explicit matrix.

    H = sum_i s_i [x_i; 1] d2loss(z_i) [x_i; 1]^T / S  +  l2 f^2  (and l2 f_b^2 for the bias)

with recentred x_i. For losses that are sums over their outputs, d2loss (K, K) is diagonal, and H
consists of K blocks of order d + 1. Otherwise it is one block of order (d + 1) K, one output after
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    The scores at the weights are kept, so a product costs one pass over X and one over X^T.

    Parameters
    ----------
    data, loss, penalty : the data, the loss and the penalty of the objective
    model : the weights at which the Hessian is taken
    scale : (B,), 1 / S
    bias_curvature : (B,), the second derivative of the penalty on the bias; None for a fixed bias
    recentring : the recentring of the features, and so of the directions
    scores : (n, B, K) of every block, if they are known

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
        scores: tuple[Array, ...] = (),
    ) -> None:
        if not loss.smooth:
            raise ValueError(
                f"Loss '{loss.name}' has no second derivative, because it is not smooth. Use a "
                "smooth loss, such as 'squared_hinge' or 'logistic'."
            )
        self.data, self.loss, self.penalty = data, loss, penalty
        self.shape: tuple[int, int, int] = model.W.shape
        self.scale, self.bias_curvature, self.recentring = scale, bias_curvature, recentring
        self._scores = list(scores) or [model.scores(block.X) for block in data.blocks()]

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
        part._scores = [pick_models(Z, models) for Z in self._scores]
        part.shape = (self.shape[0], len(part.scale), self.shape[2])
        return part

    def times(self, V: Model) -> Model:
        """Return H times the direction V, given as a model, for each model."""
        if V.W.shape != self.shape or V.b.shape != self.shape[1:]:
            raise ValueError(
                f"The direction must have the shapes of the model, W {self.shape} and b "
                f"{self.shape[1:]}. Got {V.W.shape} and {V.b.shape} instead."
            )
        scores, way = iter(self._scores), self.recentring.undo(V)
        sums = self.data.sum_over_blocks(lambda block: self._product(block, next(scores), way))
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
        scores = iter(self._scores)

        def part(block: Block) -> tuple[Array, Array]:
            Z = next(scores)
            h = np.empty(Z.shape)
            for k in range(K):
                h[:, :, k] = self._second(block, Z, k)[:, :, k]
            squares = np.empty((d, B, K))
            for some, origin in self.recentring.groups():
                theirs = weighted_squares(block.X, _flat(h[:, some]), origin)
                squares[:, some] = theirs.reshape(d, len(some), K)
            return squares, sum_samples(h)

        W, b = self.data.sum_over_blocks(part)
        W += self.penalty.gradient(np.ones((d, B, 1)))
        b = np.ones((B, K)) if self.bias_curvature is None else b + self.bias_curvature[:, None]
        return Model(W, b)

    def matrix(self, least: Array | None = None) -> Array:
        """Return the explicit H, in the format of `write_hessian`.

        `least` is as in `of_rows`.
        """

        def weights(models: Array) -> Iterator[Array]:
            part = self if len(models) == self.shape[1] else self.select(models)
            return part.of_rows(None if least is None else least[models])

        return write_hessian(
            self.data,
            self.penalty,
            self.bias_curvature,
            self.recentring,
            self.shape,
            self.n_blocks,
            weights,
        )

    def of_rows(self, least: Array | None = None) -> Iterator[Array]:
        """Yield s d2loss / S of the rows, (n, B, pairs) of every block, for `output_pairs`.

        `least` (B,) is added to the second derivative of every row along each output.
        """
        pairs = output_pairs(self.shape[2], self.n_blocks)
        for block, Z in zip(self.data.blocks(), self._scores):
            h = self._weights(block, Z, pairs)
            if least is not None:
                more = per_model(block.weights) * (least * self.scale)
                for number, (k, j) in enumerate(pairs):
                    if k == j:
                        h[:, :, number] += more
            yield h

    def _weights(self, block: Block, Z: Array, pairs: list[tuple[int, int]]) -> Array:
        """Return s d2loss / S of each row for some pairs of outputs, (n, B, pairs), in float64."""
        if self.n_blocks == Z.shape[2]:
            return self._apply_loss_hessian(block, Z).astype(np.float64, copy=False)
        h = np.empty((*Z.shape[:2], len(pairs)))
        for j in range(Z.shape[2]):
            second = self._second(block, Z, j)
            for number, (k, column) in enumerate(pairs):
                if column == j:
                    h[:, :, number] = second[:, :, k]
        return h

    def _second(self, block: Block, Z: Array, output: int) -> Array:
        """Return the column of s d2loss / S for one output, (n, B, K)."""
        V = np.zeros_like(Z)
        V[:, :, output] = 1.0
        return self._apply_loss_hessian(block, Z, V)

    def _apply_loss_hessian(self, block: Block, Z: Array, V: Array | None = None) -> Array:
        """Return s d2loss(Z) V / S of each row, (n, B, K); a given V is overwritten, else ones."""
        if self.loss.compiled:
            code, margin, of_ones = self.loss.native_code, self.loss.margin, V is None
            out = np.empty_like(Z) if V is None else V
            _core.apply_loss_hessian(
                code, margin, block.y, block.s, self.scale, Z, out, block.weight_column, of_ones
            )
            return out
        V = np.ones_like(Z) if V is None else V
        s = per_model(block.weights)
        U = self.loss.hessian_times(block.y, zero_unweighted(Z, s), zero_unweighted(V, s))
        return (U * (s * self.scale)[:, :, None]).astype(Z.dtype, copy=False)

    def _product(self, block: Block, Z: Array, V: Model) -> tuple[Array, Array]:
        """Return X^T and the sum of s d2loss(Z) (X V + c) / S."""
        if not self.loss.compiled:
            U = self._apply_loss_hessian(block, Z, V.scores(block.X))
            return block.X.transpose_times(U), sum_samples(U)
        GW, gb = np.zeros_like(V.W), np.zeros(V.b.shape)
        _core.hessian_times(
            block.X.for_transpose(V.b.size),
            block.y,
            block.s,
            self.scale,
            self.loss.native_code,
            self.loss.margin,
            Z,
            V.W,
            V.b,
            GW,
            gb,
            block.weight_column,
        )
        return GW, gb


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
    weights: Callable[[Array], Iterator[Array]],
) -> Array:
    """Compute H of all models from the second derivatives of the rows: (B, n_blocks, m, m).

    m = (d + 1) K / n_blocks, and the bias comes last. Only the lower triangle is valid. A fixed
    bias (`bias_curvature` is None) has a 1 on the diagonal. `weights` returns, for some models, h
    (n, models, pairs) of every block of the data, with the pairs of `output_pairs`.
    """
    d, B, K = shape
    D, apart = d + 1, n_blocks == K
    pairs = output_pairs(K, n_blocks)
    rows = max((len(block.y) for block in data.blocks()), default=0)
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
        G = _sum_of_grams(data, weights(some), origin).reshape(len(some), len(pairs), D, D)
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


def _sum_of_grams(data: Dataset, h: Iterator[Array], origin: Array) -> Array:
    (G,) = data.sum_over_blocks(lambda block: (block.X.gram(_flat(next(h)), origin),))
    return G


def _flat(h: Array) -> Array:
    return h.reshape(len(h), -1)
