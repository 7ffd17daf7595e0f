"""The view of maximum likelihood: three ways to say how well probabilities fit the labels."""

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
SMALLEST = 1e-290  # of a product: digits are lost below
_POINTS, _TRIED, _FAR = 49, 9, 64.0  # of the line: those kept, those of a search, where it ends


@dataclass(frozen=True)
class LikelihoodAlong:
    """The three along the line t W, t b: from no weights (t = 0) by the model (t = 1) and beyond.

    `best` is the t of the least cross-entropy; None where it still falls at t = 64.
    """

    rows: int
    positions: tuple[float, ...]
    likelihoods: tuple[float, ...]
    log_likelihoods: tuple[float, ...]
    cross_entropies: tuple[float, ...]
    best: float | None

    @property
    def agree(self) -> bool:
        """Whether log-likelihood and cross-entropy say the same at all positions."""
        pairs = zip(self.log_likelihoods, self.cross_entropies)
        return all(_close(log, -self.rows * mean) for log, mean in pairs if math.isfinite(log))

    @property
    def verdict(self) -> str:
        """Where on the line the likelihood is greatest and the cross-entropy least."""
        if not self.agree:
            return "Along the line they do not say the same."
        if min(self.cross_entropies) == max(self.cross_entropies):
            return "Along the line they do not change."
        if self.best is None:
            return f"The likelihood still rises at {_FAR:g} times the weights of the model."
        return (
            "Along the line the likelihood is greatest where the cross-entropy is least, at "
            f"{number(round(self.best, 4))} times the weights of the model."
        )


@dataclass(frozen=True)
class Likelihood:
    """How likely a model makes the labels of some rows.

    `likelihood` is the product of the probabilities of the true classes, 0 where it is too small
    for a number; `log10` is its decimal logarithm; `log_likelihood` the sum of the logarithms; and
    `cross_entropy` minus their mean. `loss` names what the model minimises, and `is_loss` says
    whether that is the cross-entropy, which is then computed from the scores. `probabilities` are
    those of the true classes and `losses` minus their logarithms, a number for every row. `line` is
    the same for other weights, and None where probabilities are not of the scores alone.
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
        """Whether the three, each computed in its own way, say the same."""
        by_loss = -self.rows * self.cross_entropy
        sums = _close(self.log_likelihood, by_loss)
        if self.likelihood < SMALLEST:
            return sums
        return sums and _close(math.log(self.likelihood), self.log_likelihood)

    def to_text(self, width: int = 80) -> str:
        """The three side by side, and each made of the next."""
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
        lines = table(("", "is", "value", "is also", "which is"), rows, width)
        return "\n".join([*lines, "", *wrapped(f"n = {n:,}. {self.verdict}", width)])

    @property
    def verdict(self) -> str:
        """Whether the three say the same, and what that means for the weights."""
        said = "They say the same." if self.agree else "They do not say the same."
        if math.isinf(self.log_likelihood):
            said = "The probability of a true class is too small for a number, and taken for 0"
            said += "; the loss is not." if math.isfinite(self.cross_entropy) else "."
        if self.is_loss:
            return f"{said} The most likely weights are those of the least loss."
        return (
            f"{said} The model minimises another loss, {self.loss}: its weights need not be the "
            "most likely ones."
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return facts(self) | {"agree": self.agree}


def likelihood(model: Any, X: Any, y: Any) -> Likelihood:
    """Likelihood, log-likelihood and cross-entropy of a model, side by side.

    `model`: a fitted classifier with probabilities, a Bundle of one, or `explain.weights(...)`;
    X (n, d) and the labels y (n,).

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
            f"Loss '{seen.loss.name}' has no probabilities, so that labels have no likelihood. Use "
            "a logistic or softmax model, or LinearSVC(probability=5)."
        )
    labels = np.array([seen.number_of(label) for label in np.atleast_1d(y).tolist()], np.int32)
    if len(labels) != X.shape[0] or not len(labels):
        raise ValueError(
            f"There must be a label for every row. Got {X.shape[0]} and {len(labels)}."
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
    """Probabilities (n,) of the true classes, and the losses that they are."""

    probabilities: Array
    losses: Array

    @classmethod
    def of(cls, seen: Weights, P: Array, labels: Array, Z: Array) -> _Fit:
        own = P[np.arange(len(labels)), labels]
        if isinstance(seen.loss, CrossEntropy):  # not by the probabilities: to compare with them
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
    """The t >= 0 at which f is least; None if it falls as far as is looked."""
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
