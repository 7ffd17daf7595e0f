"""The view of maximum likelihood: three ways to say how well probabilities fit the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.explain.layout import facts, number, table, wrapped
from separatrix.explain.weights import weights_of
from separatrix.losses.cross_entropy import CrossEntropy
from separatrix.modelfile import Bundle

CLOSE = 1e-9


@dataclass(frozen=True)
class Likelihood:
    """How likely a model makes the labels of some rows.

    `likelihood` is the product of the probabilities of the true classes, 0 where it is too small
    for a number; `log10` is its decimal logarithm; `log_likelihood` the sum of the logarithms; and
    `cross_entropy` minus their mean. `loss` names what the model minimises, and `is_loss` says
    whether that is the cross-entropy, which is then computed from the scores.
    """

    rows: int
    likelihood: float
    log10: float
    log_likelihood: float
    cross_entropy: float
    loss: str
    is_loss: bool

    @property
    def agree(self) -> bool:
        """Whether the three, each computed in its own way, say the same."""
        by_loss = -self.rows * self.cross_entropy
        sums = _close(self.log_likelihood, by_loss)
        if self.likelihood < 1e-290:  # of which digits are lost
            return sums
        return sums and _close(math.log(self.likelihood), self.log_likelihood)

    def to_text(self, width: int = 80) -> str:
        """The three side by side, and each made of the next."""
        n = self.rows
        product = number(self.likelihood) if self.likelihood else f"10^{number(self.log10)}"
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
    labels = np.array([seen.number_of(label) for label in np.asarray(y).tolist()], np.int32)
    if len(labels) != X.shape[0] or not len(labels):
        raise ValueError(
            f"There must be a label for every row. Got {X.shape[0]} and {len(labels)}."
        )
    n = len(labels)
    own = P[np.arange(n), labels]
    with np.errstate(divide="ignore"):
        log = float(np.log(own).sum())
    is_loss = isinstance(seen.loss, CrossEntropy)
    with np.errstate(divide="ignore"):
        losses = seen.loss.value(labels, seen.scores(X))[:, 0] if is_loss else -np.log(own)
    mean, log10 = float(losses.mean()), log / math.log(10.0)
    return Likelihood(n, math.prod(own.tolist()), log10, log, mean, seen.loss.name, is_loss)


def _close(a: float, b: float) -> bool:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b
    return abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b))
