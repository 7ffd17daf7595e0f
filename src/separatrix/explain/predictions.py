"""Explain a prediction: features times weights, bias, scores, probabilities, decision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.checks.validation import require_count
from separatrix.explain.pixels import pixel_places
from separatrix.explain.text_tables import cut, facts, number, table, to_builtin, wrapped
from separatrix.explain.weights import Weights, weights_of
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Columns
from separatrix.text import counted, named_class

_STRONG = 0.25  # larger products, relative to the largest of the image, are drawn darker


@dataclass(frozen=True)
class Contribution:
    """The contribution of one feature to the scores.

    Attributes
    ----------
    feature : the name of the feature
    value : the value that the model gets
    weights, products : one for every score; a product is the value times the weight
    towards : the contribution to the margin, which is the score of the predicted class minus the
        score of the runner-up
    raw : the value before standardising or scaling; None if the model uses the value as it is
    """

    feature: str
    value: float
    weights: tuple[float, ...]
    products: tuple[float, ...]
    towards: float
    raw: float | None = None

    @property
    def shown(self) -> float:
        """The value in the units of the data."""
        return self.value if self.raw is None else self.raw


@dataclass(frozen=True)
class Template:
    """The contributions of the pixels of an image, as rows of numbers. Colours are summed.

    Attributes
    ----------
    pixels : the pixels in the units of the data
    weights : the weights of the predicted class minus the weights of the runner-up
    products : these weights times the pixels that the model gets
    """

    pixels: tuple[tuple[float, ...], ...]
    weights: tuple[tuple[float, ...], ...]
    products: tuple[tuple[float, ...], ...]

    def to_text(self, width: int = 80) -> str:
        """Draw the products with characters: # and + for the decision, = and - against it."""
        products = np.asarray(self.products)
        if 2 * products.shape[1] > width:
            return f"({products.shape[1]} x {products.shape[0]} pixels are too wide to print)"
        largest = np.abs(products).max(initial=0.0) or 1.0
        return "\n".join("".join(_mark(p / largest) for p in row).rstrip() for row in products)


@dataclass(frozen=True)
class Prediction:
    """The explanation of a prediction, in plain values.

    Attributes
    ----------
    decision, runner_up : the predicted class, and the class with the next highest score
    margin : the score of the decision minus the score of the runner-up. For two classes, the
        distance of the score from the threshold
    distance : the distance of the row from the decision boundary in the space of the features,
        margin / |difference of the weights|
    classes, scores, probabilities : one for every class. `probabilities` is None if the model has
        none
    bias : the bias of every score
    label, right, loss : the true class, whether the prediction is correct, and the loss of the row.
        None if the true class is not known
    contributions : those of the features with a product other than 0, the largest |towards| first
    hidden : the number of contributions that were left out
    bias_towards : the contribution of the biases to the margin
    threshold : for two classes, the score above which the second class is predicted
    template : the pixels of an image, else None
    row : the raw values of the row, if it comes from a table
    notes : what was filled in or left out when the row was prepared
    """

    decision: Any
    runner_up: Any
    margin: float
    distance: float
    classes: tuple[Any, ...]
    scores: tuple[float, ...]
    probabilities: tuple[float, ...] | None
    bias: tuple[float, ...]
    contributions: tuple[Contribution, ...]
    bias_towards: float
    hidden: int = 0
    threshold: float = 0.0
    label: Any = None
    right: bool | None = None
    loss: float | None = None
    loss_name: str = ""
    template: Template | None = None
    row: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_text(self, width: int = 80) -> str:
        """Format the decision, the scores, and the contributions with the largest first."""
        lines = [cut(f"{name}: {value}", width) for name, value in self.row.items()]
        lines += [*wrapped(self.verdict, width), ""]
        lines += table(("class", "score", "probability"), self.score_rows(), width)
        lines += ["", *table(self.header, self.contribution_rows(), width)]
        if self.template is not None:
            lines += ["", self.template.to_text(width)]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The decision, its margin and its loss, in sentences."""
        decision, rival = named_class(self.decision), named_class(self.runner_up)
        lead = f"Prediction: {decision} leads {rival} by {number(self.margin)}"
        if self.threshold:
            lead += f", measured from the threshold {number(self.threshold)}"
        where = f"The row is {number(self.distance)} away from the decision boundary."
        if math.isinf(self.distance):
            where = "There is no decision boundary: the weights of both classes are equal."
        sentences = f"{lead}. {where}"
        if self.right is None:
            return sentences
        loss = f"{self.loss_name} loss {number(self.loss)}"
        if self.right:
            return f"{sentences} Correct ({loss})."
        return f"{sentences} Wrong: the true class is {self.label} ({loss})."

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of `contribution_rows`."""
        prepared = ("prepared",) if self._is_prepared else ()
        return ("feature", "value", *prepared, "weight", f"towards {named_class(self.decision)}")

    @property
    def _is_prepared(self) -> bool:
        return any(each.raw is not None for each in self.contributions)

    @property
    def threshold_towards(self) -> float:
        """The contribution of the threshold to the margin, for two classes."""
        return (-1.0 if self.decision == self.classes[1] else 1.0) * self.threshold

    def smaller(self, shown: int) -> float:
        """Sum all contributions except the first `shown` ones."""
        rest = sum(each.towards for each in self.contributions[:shown])
        return self.margin - rest - self.bias_towards - self.threshold_towards

    def score_rows(self) -> list[tuple[Any, ...]]:
        """Return a row for every class: its name, its score and its probability."""
        chances = self.probabilities or (None,) * len(self.classes)
        return [(str(c), z, p) for c, z, p in zip(self.classes, self.scores, chances)]

    def contribution_rows(self) -> list[tuple[Any, ...]]:
        """Return a row for every contribution and one for the bias. The last row is the margin."""
        shown = len(self.contributions)
        ends = [("bias", self.bias_towards)]
        if self.hidden:
            ends.insert(0, (counted(self.hidden, "smaller contribution"), self.smaller(shown)))
        if self.threshold:
            ends.append(("threshold", self.threshold_towards))
        ends.append(("sum", self.margin))
        nothing = (None,) * (len(self.header) - 2)
        return [
            *(
                (
                    each.feature,
                    each.shown,
                    *((each.value,) if self._is_prepared else ()),
                    each.towards / each.value,
                    each.towards,
                )
                for each in self.contributions
            ),
            *((name, *nothing, value) for name, value in ends),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self) | {"verdict": self.verdict}


def prediction(model: Any, row: Any, label: Any = None, *, top: int | None = None) -> Prediction:
    """Explain the prediction of a model for one row.

    Parameters
    ----------
    model : a fitted classifier of separatrix, a Bundle, or `explain.weights(...)`
    row : one row of numbers (d,) or (1, d), dense or sparse. For a Bundle, the raw data of one row,
        or a `Source` with one row, which may include the label
    label : the true class, if it is known
    top : the largest number of contributions to return. None returns all

    >>> from separatrix import explain
    >>> model = explain.weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> found = explain.prediction(model, [1, 1, 1], label=0)
    >>> found.decision, round(found.probabilities[1], 2)
    (0, 0.12)
    >>> print(found.to_text())
    Prediction: class 0 leads class 1 by 2. The row is 0.53452 away from the
    decision boundary. Correct (logistic loss 0.12693).
    <BLANKLINE>
    class  score  probability
    0          0       0.8808
    1         -2       0.1192
    <BLANKLINE>
    feature        value  weight  towards class 0
    negative word      1       3                3
    positive word      1      -2               -2
    always 1           1       1                1
    bias                                        0
    sum                                         2
    """
    require_count("top", top, low=0, optional=True)
    seen = weights_of(model)
    notes: list[str] = []
    x, raw, own = read_row(model, seen, row, notes)
    label = own if label is None else to_builtin(label)
    if label is not None and label not in seen.classes:
        notes.append(f"The label {label!r} is not one of the classes of the model.")
        label = None
    decided = seen.predict(x)[0]
    Z = seen.scores(x)
    scores = seen.by_class(Z[0, 0])
    rival = _runner_up(scores, decided)
    ahead = seen.by_class(seen.W.T)  # (d, C)
    ahead = ahead[:, decided] - ahead[:, rival]
    shift = seen.threshold * (1.0 if decided == 1 else -1.0) if len(seen.classes) == 2 else 0.0
    margin = float(scores[decided] - scores[rival]) - shift
    length = float(np.sqrt((ahead**2).sum()))
    parts, hidden = _contributions(seen, x[0], ahead, top)
    P = seen.probabilities(x)
    biases = seen.by_class(seen.b)
    loss = None if label is None else float(seen.loss.value(_numbers(seen, label), Z)[0, 0])
    return Prediction(
        decision=seen.classes[decided],
        runner_up=seen.classes[rival],
        margin=margin,
        distance=margin / length if length else math.inf,
        classes=seen.classes,
        scores=to_builtin(scores),
        probabilities=None if P is None else to_builtin(P[0]),
        bias=to_builtin(seen.b),
        contributions=parts,
        bias_towards=float(biases[decided] - biases[rival]) + 0.0,
        hidden=hidden,
        threshold=seen.threshold,
        label=label,
        right=None if label is None else label == seen.classes[decided],
        loss=loss,
        loss_name=seen.loss.name,
        template=_template(seen, x[0], ahead),
        row=raw,
        notes=tuple(notes),
    )


def read_row(
    model: Any, seen: Weights, row: Any, notes: list[str]
) -> tuple[Array, dict[str, Any], Any]:
    """Return one row as numbers (1, d), its raw values if it is from a table, and its label."""
    source = row if hasattr(row, "table") and hasattr(row, "y") else None
    own = None if source is None or source.y is None else source.y.tolist()
    if isinstance(row, list | tuple) or getattr(row, "ndim", 2) == 1:
        row = row.to_frame().T if hasattr(row, "to_frame") else [row]
    X = seen.rows_of(model.transform(row, notes) if isinstance(model, Bundle) else row)
    if X.shape[0] != 1:
        raise ValueError(f"There must be exactly one row. Got {X.shape[0]} rows instead.")
    X = X.toarray() if sp.issparse(X) else X
    table = row if source is None else source.table
    raw = {name: to_builtin(table[name])[0] for name in table} if isinstance(table, Columns) else {}
    return X, raw, None if own is None else own[0]


def _runner_up(scores: Array, decided: int) -> int:
    others = scores.copy()
    others[decided] = -np.inf
    return int(others.argmax())


def _numbers(seen: Weights, label: Any) -> Array:
    return np.array([seen.number_of(label)], np.int32)


def _contributions(
    seen: Weights, x: Array, ahead: Array, top: int | None
) -> tuple[tuple[Contribution, ...], int]:
    towards, raw = x * ahead, seen.raw(x)
    counts = np.flatnonzero((x != 0.0) & (seen.W != 0.0).any(axis=0))
    order = counts[np.argsort(-np.abs(towards[counts]), kind="stable")]
    shown = order[:top]
    parts = tuple(
        Contribution(
            seen.names[j],
            float(x[j]),
            to_builtin(seen.W[:, j]),
            to_builtin(x[j] * seen.W[:, j]),
            float(towards[j]),
            None if raw is None or raw[j] == x[j] else float(raw[j]),
        )
        for j in shown
    )
    return parts, len(order) - len(shown)


def _template(seen: Weights, x: Array, ahead: Array) -> Template | None:
    """Return the row as an image if the names of its features are names of pixels."""
    places = pixel_places(seen.names)
    if places is None:
        return None

    def image(values: Array) -> tuple[tuple[float, ...], ...]:
        return to_builtin(places.image(values))

    raw = seen.raw(x)
    return Template(image(x if raw is None else raw), image(ahead), image(x * ahead))


def _mark(share: float) -> str:
    if abs(share) < 0.02:
        return "  "
    strong = abs(share) >= _STRONG
    return ("##" if strong else "++") if share > 0 else ("==" if strong else "--")
