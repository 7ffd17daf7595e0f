"""Likelihood, log-likelihood and cross-entropy of the labels under a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from separatrix.explain.text_tables import facts, number, table, to_builtin, wrapped
from separatrix.explain.weights import Weights, weights_of
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle

CLOSE = 1e-9
SMALLEST = 1e-290  # smaller products lose digits
# Points of the line that are stored, points of a search for the best, and the end of the search.
_POINTS, _TRIED, _FAR = 49, 9, 64.0


@dataclass(frozen=True)
class LikelihoodAlong:
    """The three measures along the line t W, t b: t = 0 is zero weights, t = 1 is the model.

    `best` is the t with the smallest cross-entropy, or None if it still falls at t = 64.
    """

    rows: int
    positions: tuple[float, ...]
    likelihoods: tuple[float, ...]
    log_likelihoods: tuple[float, ...]
    cross_entropies: tuple[float, ...]
    best: float | None

    @property
    def agree(self) -> bool:
        """Whether the log-likelihood equals -n times the cross-entropy at all positions."""
        pairs = zip(self.log_likelihoods, self.cross_entropies)
        return all(_close(log, -self.rows * mean) for log, mean in pairs if math.isfinite(log))

    @property
    def verdict(self) -> str:
        """A sentence that states where on the line the likelihood is largest."""
        if not self.agree:
            return "Along the line, log-likelihood and cross-entropy do not agree."
        if min(self.cross_entropies) == max(self.cross_entropies):
            return "Along the line, likelihood and cross-entropy are constant."
        if self.best is None:
            return f"The likelihood still rises at {_FAR:g} times the weights of the model."
        return (
            "Along the line, the likelihood is largest and the cross-entropy smallest at "
            f"{number(round(self.best, 4))} times the weights of the model."
        )


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of the labels of some rows under a model.

    Attributes
    ----------
    rows : the number of rows
    likelihood : the product of the probabilities of the true classes, 0 if it underflows
    log10 : the decimal logarithm of the likelihood
    log_likelihood : the sum of the natural logarithms of the probabilities
    cross_entropy : minus their mean
    loss : the name of the loss that the model minimises
    is_loss : whether this loss is the cross-entropy. If so, it is computed from the scores
    probabilities, losses : of every row, the probability of the true class and minus its logarithm
    line : the same for other weights. None if the probabilities do not depend on the scores alone
    """

    rows: int
    likelihood: float
    log10: float
    log_likelihood: float
    cross_entropy: float
    loss: str
    is_loss: bool
    probabilities: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    line: LikelihoodAlong | None = None

    @property
    def agree(self) -> bool:
        """Whether the three measures, computed independently, agree."""
        by_loss = -self.rows * self.cross_entropy
        sums = _close(self.log_likelihood, by_loss)
        if self.likelihood < SMALLEST:
            return sums
        return sums and _close(math.log(self.likelihood), self.log_likelihood)

    def to_text(self, width: int = 80) -> str:
        """Format the three measures, and the first two computed from the cross-entropy."""
        n = self.rows
        small = not self.likelihood and math.isfinite(self.log10)
        product = f"10^{number(self.log10)}" if small else number(self.likelihood)
        again = math.exp(-n * self.cross_entropy) if self.likelihood else None
        rows = [
            ("likelihood", "product of p", product, "exp(-n cross-entropy)", again),
            (
                "log-likelihood",
                "sum of log p",
                number(self.log_likelihood),
                "-n cross-entropy",
                -n * self.cross_entropy,
            ),
            (
                "cross-entropy",
                "mean loss" if self.is_loss else "mean of -log p",
                number(self.cross_entropy),
                "",
                None,
            ),
        ]
        lines = table(("", "definition", "value", "also equals", "value"), rows, width)
        symbols = f"n = {n:,} is the number of rows, p the probability of the true class of a row."
        return "\n".join([*lines, "", *wrapped(f"{symbols} {self.verdict}", width)])

    @property
    def verdict(self) -> str:
        """Whether the three measures agree, and what that means for the weights."""
        result = "The three values agree." if self.agree else "The three values do not agree."
        if math.isinf(self.log_likelihood):
            result = "The probability of a true class is too small for a number and counts as 0"
            result += "; the loss is finite." if math.isfinite(self.cross_entropy) else "."
        if self.is_loss:
            return f"{result} The weights with the smallest loss have the largest likelihood."
        return (
            f"{result} The model minimises another loss ({self.loss}), so its weights need not "
            "have the largest likelihood."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self) | {"agree": self.agree}


def likelihood(model: Any, X: Any, y: Any) -> Likelihood:
    """Return the likelihood, the log-likelihood and the cross-entropy of labels under a model.

    Parameters
    ----------
    model : a fitted classifier with probabilities, a Bundle with one, or `explain.weights(...)`
    X, y : rows (n, d) and labels (n,)

    >>> from separatrix import explain
    >>> model = explain.weights([-1, 2, -3])
    >>> documents = [[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]]
    >>> found = explain.likelihood(model, documents, [1, 0, 0, 0])
    >>> round(found.likelihood, 4), round(math.exp(-4 * found.cross_entropy), 4), found.agree
    (0.4623, 0.4623, True)
    """
    seen = weights_of(model)
    X = seen.rows_of(model.transform(X, []) if isinstance(model, Bundle) else X)
    P = seen.probabilities(X)
    if P is None:
        raise ValueError(
            f"Loss '{seen.loss.name}' has no probabilities, so the labels have no likelihood. Use "
            "a logistic or softmax model, or LinearSVC(probability=5)."
        )
    labels = np.array([seen.number_of(label) for label in np.atleast_1d(y).tolist()], np.int32)
    if len(labels) != X.shape[0] or not len(labels):
        raise ValueError(
            f"Every row must have a label. Got {X.shape[0]} rows and {len(labels)} labels."
        )
    is_loss = isinstance(seen.loss, CrossEntropy)
    Z = seen.scores(X)
    here = _Fit.of(seen, P, labels, Z)
    return Likelihood(
        rows=len(labels),
        likelihood=here.likelihood,
        log10=here.log_likelihood / math.log(10.0),
        log_likelihood=here.log_likelihood,
        cross_entropy=here.cross_entropy,
        loss=seen.loss.name,
        is_loss=is_loss,
        probabilities=to_builtin(here.probabilities),
        losses=to_builtin(here.losses),
        line=_line(seen, labels, Z),
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """The probabilities (n,) of the true classes, and the losses (n,) of the rows."""

    probabilities: Array
    losses: Array

    @classmethod
    def of(cls, seen: Weights, P: Array, labels: Array, Z: Array) -> _Fit:
        own = P[np.arange(len(labels)), labels]
        if isinstance(seen.loss, CrossEntropy):  # from the scores, independent of P
            return cls(own, seen.loss.value(labels, Z)[:, 0])
        with np.errstate(divide="ignore"):
            return cls(own, -np.log(own))

    @property
    def likelihood(self) -> float:
        return float(np.prod(self.probabilities))

    @property
    def log_likelihood(self) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(self.probabilities).sum())

    @property
    def cross_entropy(self) -> float:
        return float(self.losses.mean())


def _line(seen: Weights, labels: Array, Z: Array) -> LikelihoodAlong | None:
    if seen.loss.probabilities(Z[:1]) is None:
        return None

    def at(t: float) -> _Fit:
        P = seen.loss.probabilities(t * Z)
        assert P is not None
        return _Fit.of(seen, P[:, 0], labels, t * Z)

    best = _best(lambda t: at(t).cross_entropy)
    end = 4.0 if best is None else max(2.0, 1.6 * best)
    positions = np.linspace(0.0, end, _POINTS)
    found = [at(t) for t in positions]
    return LikelihoodAlong(
        rows=len(labels),
        positions=to_builtin(positions),
        likelihoods=tuple(each.likelihood for each in found),
        log_likelihoods=tuple(each.log_likelihood for each in found),
        cross_entropies=tuple(each.cross_entropy for each in found),
        best=best,
    )


def _best(f: Callable[[float], float]) -> float | None:
    """Return the t >= 0 that minimises f, or None if f still falls at t = 64."""
    end, least = 2.0, _TRIED
    while least >= _TRIED - 1:
        if end > _FAR:
            return None
        tried = np.linspace(0.0, end, _TRIED)
        least = int(np.argmin([f(t) for t in tried]))
        end *= 2.0
    ends = float(tried[max(least - 1, 0)]), float(tried[least + 1])
    found = minimize_scalar(f, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return float(found.x)


def _close(a: float, b: float) -> bool:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b
    return abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b))
