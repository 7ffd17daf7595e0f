"""The null model, whose weights are all 0, and the penalties at which it is (almost) optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.solvers import OPTIMISERS
from separatrix.training import Stop, train
from separatrix.training.solver_choice import choose_solver
from separatrix.training.task import Task

PRECISION = 1e-15  # relative tolerance of the bias gradient; rounding may stop the solver earlier
ITERATIONS = 1000
GAIN = 0.01  # largest relative gain over the null model at `largest_l2`


@dataclass(frozen=True, eq=False)
class NullModel:
    """The best model with W = 0.

    Attributes
    ----------
    b : (K,), the biases
    value : the mean loss
    slope : (d, K), the gradient V of the mean loss with respect to W at this model

    Without features, rows differ only in their class. So the biases are found on a data set with
    one row per class that has the weight of the class.
    """

    b: Array
    value: float
    slope: Array

    @classmethod
    def of(cls, loss: Loss, n_outputs: int, data: Dataset, *, bias: bool) -> NullModel:
        """Solve for the biases, and compute the slope in one pass over the data."""
        C, weight = len(data.classes), data.class_weight()
        classes = np.arange(C)
        rows = Dataset.of(np.zeros((C, 1)), classes, weight, classes=data.classes)
        # A loss with kinks needs no solver: the balanced duals at b = 0 give the same bound.
        b = _biases(loss, n_outputs, rows) if bias and loss.smooth else np.zeros(n_outputs)
        U = loss.gradient(classes, np.broadcast_to(b, (C, 1, n_outputs)).copy())
        if bias:
            U = loss.balance(classes, U, weight)
        shares = weight / weight.sum()
        value = -float(shares @ loss.conjugate(classes, U)[:, 0])
        (slope,) = data.sum_over_blocks(_slope, U, data.total_weight()[0])
        return cls(b, value, slope[:, 0])

    def largest_l1(self, factors: Array | None = None) -> float:
        """Return the smallest l1 at which W = 0 is optimal, max |V_j| / f_j."""
        return float((np.abs(self.slope) / _column(factors)).max(initial=0.0))

    def largest_l2(self, factors: Array | None = None) -> float:
        """Return an l2 at which no model is more than 1 % better than the null model.

        The loss is convex, so P >= value + <V, W> + l2/2 |f W|^2, whose minimum is
        value - |V / f|^2 / (2 l2).
        """
        squares = np.square(self.slope / _column(factors)).sum()
        return float(squares / (2.0 * GAIN * self.value))


def _slope(block: Block, U: Array, total: float) -> tuple[Array]:
    """Return X^T (s o U) / S, with the duals U (C, 1, K) of the classes."""
    s = block.weights.reshape(len(block.y))
    return (block.X.transpose_times(U[block.y] * (s / total)[:, None, None]),)


def _biases(loss: Loss, n_outputs: int, rows: Dataset) -> Array:
    name = choose_solver(loss, n_outputs, 0.0, 0.0, rows).name
    stop = Stop(epochs=((ITERATIONS,),), tol=np.array([PRECISION]))
    task = Task(loss=loss, n_outputs=n_outputs, solver=OPTIMISERS[name].for_task(), stop=stop)
    return train([task], rows, whole=False)[0].model.b[0]


def _column(factors: Array | None) -> Array:
    return np.ones((1, 1)) if factors is None else factors[:, None]
