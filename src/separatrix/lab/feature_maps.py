"""Feature maps of the plane: a model that is linear in the features has a curved boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.kernel_methods.kernel import Kernel
from separatrix.kernel_methods.low_rank import LowRankFactor
from separatrix.matrix import Array

MOST_KERNEL_FEATURES = 40


@dataclass(frozen=True)
class FeatureMap:
    """A function of points (n, 2) that returns features (n, d), and the names of the features."""

    names: tuple[str, ...]
    of: Callable[[Array], Array]


def fit_map(kind: str, X: Array, gamma: float, axes: tuple[str, str] = ("x", "y")) -> FeatureMap:
    """Return a feature map; a kernel is approximated on the training points X (n, 2).

    >>> fit_map("squares", np.zeros((1, 2)), 1.0).names
    ('x', 'y', 'x²', 'xy', 'y²')
    >>> fit_map("squares", np.zeros((1, 2)), 1.0, ("beak", "wing span")).names[2:]
    ('beak²', 'beak · (wing span)', '(wing span)²')
    """
    if kind == "rbf":
        rank = min(MOST_KERNEL_FEATURES, len(X))
        factor, _ = LowRankFactor.of(Kernel("rbf", gamma=gamma), X, rank=rank)
        names = tuple(f"k{j + 1}" for j in range(len(factor.pivots)))
        return FeatureMap(names, lambda points: np.asarray(factor.features(points)))
    powers = [(1, 0), (0, 1)]
    for degree in range(2, DEGREES[kind] + 1):
        powers += [(degree - j, j) for j in range(degree + 1)]
    times = "" if all(len(axis) == 1 for axis in axes) else " · "
    names = axes + tuple(
        times.join(filter(None, map(_power, axes, exponents))) for exponents in powers[2:]
    )
    return FeatureMap(
        names,
        lambda points: np.column_stack([points[:, 0] ** a * points[:, 1] ** b for a, b in powers]),
    )


def _power(name: str, exponent: int) -> str:
    own = f"({name})" if " " in name else name
    return {0: "", 1: own, 2: f"{own}²", 3: f"{own}³"}[exponent]


DEGREES = {"linear": 1, "squares": 2, "cubes": 3}
MAPS = (*DEGREES, "rbf")
