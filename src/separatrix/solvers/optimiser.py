"""Solvers with the same settings for all models, and the solvers that find the optimum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

from separatrix.data import Dataset
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.solvers.protocol import Solver

# Steps without progress after which a solver gives up if no other solver can take over.
PATIENCE = 100


class UniformSolver(Solver):
    """A solver whose settings are the same for every model of a batch."""

    def select(self, models: Array) -> Self:
        return self

    def own_key(self) -> Hashable:
        return None

    def join(self, solvers: Sequence[Self]) -> Self:
        return self

    def step_size(self, model: int, epoch: int) -> None:
        """Return None: there is no step size that could be too large."""


class Optimiser(UniformSolver):
    """A solver that finds the optimum."""

    @classmethod
    def for_task(
        cls,
        seed: int = 0,
        *,
        tol: float | None = None,
        single: bool = False,
        patience: int = PATIENCE,
    ) -> Self:
        """Return the solver for one task; each class uses the settings that apply to it.

        Parameters
        ----------
        seed : random seed of a stochastic solver
        tol : the relative gap that will be required
        single : whether to work in float32
        patience : steps without progress after which the solver gives up
        """
        return cls()

    @classmethod
    def for_fallback(cls) -> Self:
        """Return the solver that takes over from one that has stalled."""
        return cls.for_task()

    @classmethod
    def single_is_enough(
        cls,
        loss: Loss,
        n_outputs: int,
        l2: float,
        data: Dataset,
        tol: float,
        factors: Array | None = None,
    ) -> bool:
        """Return whether the solver reaches a tolerance in float32 and is faster there."""
        return False
