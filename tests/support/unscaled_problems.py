"""A family of unscaled problems, like the data that users have.

Each problem is a small matrix of one of four kinds, with labels, a loss and a penalty. They are
drawn from a seed, so that a new seed gives problems that nobody has tuned anything to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

KINDS = ("outlier rows", "mixed units", "text plus numbers", "near-duplicate columns")
LOSSES = ("logistic", "softmax", "squared_hinge", "hinge", "crammer_singer", "squared")
STRENGTHS = (0.01, 1.0, 100.0)


@dataclass(frozen=True)
class Problem:
    """X (n, d), y (n,), and what to fit: a loss of `LOSSES` and the strength C of scikit-learn."""

    kind: str
    loss: str
    C: float
    X: Any
    y: np.ndarray

    def __str__(self) -> str:
        n, d = self.X.shape
        return f"{self.kind}, {n} x {d}, {len(set(self.y))} classes, {self.loss}, C={self.C:g}"


def draw_problems(count: int, seed: int, largest: int = 400) -> Iterator[Problem]:
    """Draw `count` problems, cycling through kinds, losses and strengths in all combinations.

    >>> [str(problem) for problem in draw_problems(1, seed=0)]
    ['outlier rows, 261 x 359, 2 classes, logistic, C=0.01']
    """
    every = len(KINDS) * len(LOSSES)
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        kind, loss = KINDS[number % len(KINDS)], LOSSES[number // len(KINDS) % len(LOSSES)]
        C = STRENGTHS[(number // every + number) % len(STRENGTHS)]
        n_classes = 2 if loss in ("logistic", "squared_hinge", "squared") else 0
        n_classes = n_classes or int(rng.integers(2 if loss == "hinge" else 3, 6))
        yield Problem(kind, loss, C, *_draw_rows(kind, n_classes, largest, rng))


def _draw_rows(
    kind: str, n_classes: int, largest: int, rng: np.random.Generator
) -> tuple[Any, np.ndarray]:
    n, d = (int(size) for size in rng.integers(largest // 10, largest + 1, 2))
    y = rng.permutation(np.arange(n) % n_classes)
    if kind == "text plus numbers":
        return _draw_text(n, d, y, rng), y
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[y] * rng.choice([0.0, 0.1, 0.5])
    if kind == "outlier rows":
        X[rng.choice(n, rng.integers(1, 4))] *= 10.0 ** rng.uniform(2, 5)
    elif kind == "mixed units":
        X = (X + rng.choice([0.0, 3.0])) * 10.0 ** rng.uniform(-3, 4, d)
    else:
        copied = rng.integers(0, d, d // 2)
        X[:, : d // 2] = X[:, copied] * (1.0 + 1e-6 * rng.normal(size=(n, d // 2)))
    return X, y


def _draw_text(n: int, d: int, y: np.ndarray, rng: np.random.Generator) -> Any:
    """Rows of a few words, each of norm 1, plus up to three columns of numbers."""
    numbers = int(rng.integers(1, 4))
    words = max(d - numbers, 20)
    often = 1.0 / np.arange(1, words + 1)
    T = np.zeros((n, words))
    for i in range(n):
        of_class = often * np.where(np.arange(words) % 7 == y[i], 3.0, 1.0)
        np.add.at(T[i], rng.choice(words, rng.integers(3, 20), p=of_class / of_class.sum()), 1.0)
    T *= np.log(n / (1.0 + (T > 0.0).sum(axis=0)).clip(1)) + 1.0
    T /= np.sqrt((T**2).sum(axis=1, keepdims=True))
    columns = rng.uniform(size=(n, numbers)) * 10.0 ** rng.uniform(1, 5, numbers)
    return sp.csr_array(np.hstack([T, columns + y[:, None] * rng.normal()]))
