"""Kernels, which are functions of two rows, and their matrices over all pairs of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.matrix import Array

KERNELS = ("linear", "poly", "rbf")  # the named kernels that are positive semidefinite


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, computed by scikit-learn's `pairwise_kernels`.

    `name` is the name of a kernel, "precomputed", or a function of two rows. `gamma=None` means
    1 / number of features. `params` are further arguments of a function.

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
        """Return the kernel matrix (n, m) of the rows of X and Y, or of X and X, in float64."""
        given: dict[str, Any] = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        metric = self.name
        if callable(metric):
            given, metric = dict(self.params), self._asked
        Y = None if Y is None else as_float64(Y)
        K = pairwise_kernels(as_float64(X), Y, metric=metric, filter_params=True, **given)
        return np.asarray(K, np.float64)

    def _asked(self, x: Any, z: Any, **params: Any) -> float:
        """Call a kernel function for two rows, and raise unless it returns a finite number."""
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
            f"A kernel function must return a finite number for two rows. {self.words()} returned "
            f"{' '.join(repr(value).split())[:60]}, of type {type(value).__name__}. Return one "
            "number, such as float(x @ z)."
        )

    def diagonal(self, X: Any) -> Array:
        """Return k(x_i, x_i) for every row, (n,)."""
        # Only small blocks of K are computed, because K has n^2 entries.
        step = 1 if callable(self.name) else 32
        pieces = [np.diagonal(self(X[i : i + step])) for i in range(0, X.shape[0], step)]
        return np.concatenate(pieces)

    def words(self) -> str:
        """Write the kernel with its parameters."""
        if callable(self.name):
            return f"kernel={getattr(self.name, '__name__', 'a function')}"
        gamma = "1 / number of features" if self.gamma is None else f"{self.gamma:g}"
        own = {"rbf": f", gamma={gamma}"}
        own["poly"] = f", degree={self.degree:g}, gamma={gamma}, coef0={self.coef0:g}"
        return f"kernel='{self.name}'{own.get(self.name, '')}"


def as_float64(X: Any) -> Any:
    """Convert X to float64, without a copy if possible. A sparse X becomes CSR."""
    return X.tocsr().astype(np.float64, copy=False) if sp.issparse(X) else np.asarray(X, np.float64)
