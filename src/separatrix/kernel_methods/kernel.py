"""Kernels: functions of two rows, and the matrices they make of all pairs of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.matrix import Array

KERNELS = ("linear", "poly", "rbf")  # positive semidefinite, with names


@dataclass(frozen=True)
class Kernel:
    """A kernel of scikit-learn's `pairwise_kernels`, with its parameters.

    `name` is a name, "precomputed", or a function of two rows. A gamma of None is 1 over the number
    of features. `params` goes to a function.

    >>> Kernel("rbf", gamma=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    name: str | Callable[..., float]
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: tuple[tuple[str, Any], ...] = ()

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """The kernel of all pairs of rows, (n, m), in float64; of X alone if there is no Y."""
        given: dict[str, Any] = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        metric = self.name
        if callable(metric):
            given, metric = dict(self.params), self._asked
        Y = None if Y is None else as_float64(Y)
        K = pairwise_kernels(as_float64(X), Y, metric=metric, filter_params=True, **given)
        return np.asarray(K, np.float64)

    def _asked(self, x: Any, z: Any, **params: Any) -> float:
        """The function's number for two rows; a ValueError if it is none."""
        assert callable(self.name)
        value: Any = self.name(x, z, **params)
        if np.ndim(value) == 0 and not isinstance(value, str | bytes):
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = math.nan
            if math.isfinite(number):
                return number
        raise ValueError(
            f"A kernel that is a function must return a finite number for two rows. {self.words()} "
            f"returned {' '.join(repr(value).split())[:60]}, of type {type(value).__name__}. "
            "Return one number, such as float(x @ z)."
        )

    def diagonal(self, X: Any) -> Array:
        """k(x_i, x_i) of every row, (n,)."""
        # A few rows at a time: K has n^2 entries, of which n are wanted.
        step = 1 if callable(self.name) else 32
        pieces = [np.diagonal(self(X[i : i + step])) for i in range(0, X.shape[0], step)]
        return np.concatenate(pieces)

    def words(self) -> str:
        """The kernel as its parameters are written."""
        if callable(self.name):
            return f"kernel={getattr(self.name, '__name__', 'a function')}"
        gamma = "1 / number of features" if self.gamma is None else f"{self.gamma:g}"
        own = {"rbf": f", gamma={gamma}"}
        own["poly"] = f", degree={self.degree:g}, gamma={gamma}, coef0={self.coef0:g}"
        return f"kernel='{self.name}'{own.get(self.name, '')}"


def as_float64(X: Any) -> Any:
    """X in float64, not copied if it is; a sparse X in compressed rows."""
    return X.tocsr().astype(np.float64, copy=False) if sp.issparse(X) else np.asarray(X, np.float64)
