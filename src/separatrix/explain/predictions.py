"""A prediction taken apart: features times weights, bias, scores, probabilities, decision."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.validation import require_count
from separatrix.explain.text_tables import cut, facts, number, table, to_builtin, wrapped
from separatrix.explain.weights import Weights, weights_of
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Columns
from separatrix.text import counted

_PIXEL = re.compile(r"row (\d+), column (\d+)(?:, \w+)?|pixel_(\d+)_(\d+)")
_STRONG = 0.25  # of the largest product of an image, which is drawn darker


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the scores.

    `value` is what the model sees, and `raw` what it was before it was standardised or divided;
    None if it was not. `weights` and `products` (value times weight) are those of every score;
    `towards` is what the feature adds to the score of the decision less that of the runner-up.
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
    """An image and what its pixels say: rows of numbers, colours summed.

    `pixels` are those of the data; `weights` those of the decision less those of the runner-up, and
    `products` these times the pixels as the model sees them.
    """

    pixels: tuple[tuple[float, ...], ...]
    weights: tuple[tuple[float, ...], ...]
    products: tuple[tuple[float, ...], ...]

    def to_text(self, width: int = 80) -> str:
        """A picture of characters: # and + speak for the decision, = and - against it."""
        products = np.asarray(self.products)
        if 2 * products.shape[1] > width:
            return f"({products.shape[1]} x {products.shape[0]} pixels do not fit here)"
        largest = np.abs(products).max(initial=0.0) or 1.0
        return "\n".join("".join(_mark(p / largest) for p in row).rstrip() for row in products)


@dataclass(frozen=True)
class Prediction:
    """Why a row was given its class, in plain values.

    Attributes
    ----------
    decision, runner_up : the class that won, and the one that came next
    margin : by how much it won: its score less the runner-up's (of two classes: the distance of the
        score from the threshold)
    distance : the same as a distance in the space of the features, margin / |difference of weights|
    classes, scores, probabilities : of every class; no probabilities where the loss has none
    bias : of every score
    label, right, loss : the true class, whether it was decided, and its loss, if it is known
    contributions : of features whose product is not 0, the largest |towards| first
    hidden : how many of them were left out
    bias_towards : what the biases add to the decision less the runner-up
    threshold : of the score of two classes
    template : the pixels of an image, else None
    row : the raw values of a table's row
    notes : what was filled in or left out on the way to the numbers
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
        """The decision, the scores, and the contributions, largest first."""
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
        above = f" above the threshold {number(self.threshold)}" if self.threshold else ""
        ahead = f"{number(self.margin)} ahead of {self.runner_up}{above}"
        said = f"{self.decision}, {ahead}, at a distance of {number(self.distance)} from the plane."
        if self.right is None:
            return said
        judged = "Right" if self.right else f"Wrong: it is {self.label}"
        return f"{said} {judged}; {self.loss_name} loss {number(self.loss)}."

    @property
    def header(self) -> tuple[str, ...]:
        """Names of the columns of `contribution_rows`."""
        prepared = ("prepared",) if self._is_prepared else ()
        return ("feature", "value", *prepared, "weight", f"towards {self.decision}")

    @property
    def _is_prepared(self) -> bool:
        return any(each.raw is not None for each in self.contributions)

    @property
    def threshold_towards(self) -> float:
        """What the threshold of two classes adds to the margin."""
        return (-1.0 if self.decision == self.classes[1] else 1.0) * self.threshold

    def smaller(self, shown: int) -> float:
        """What all contributions but the first ones add to the margin."""
        rest = sum(each.towards for each in self.contributions[:shown])
        return self.margin - rest - self.bias_towards - self.threshold_towards

    def score_rows(self) -> list[tuple[Any, ...]]:
        """A row for every class: its name, its score and its probability."""
        chances = self.probabilities or (None,) * len(self.classes)
        return [(str(c), z, p) for c, z, p in zip(self.classes, self.scores, chances)]

    def contribution_rows(self) -> list[tuple[Any, ...]]:
        """A row for every contribution, one for the bias, and their sum, the margin."""
        shown = len(self.contributions)
        ends = [("bias", self.bias_towards)]
        if self.hidden:
            ends.insert(0, (counted(self.hidden, "smaller one"), self.smaller(shown)))
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
        """All of it as plain values."""
        return facts(self) | {"verdict": self.verdict}


def prediction(model: Any, row: Any, label: Any = None, *, top: int | None = None) -> Prediction:
    """Take a prediction apart.

    Parameters
    ----------
    model : a fitted classifier of separatrix, a Bundle, or `explain.weights(...)`
    row : one row as the model takes it: numbers (d,) or (1, d), dense or sparse; for a Bundle, raw
        data of one row, or a `Source` of one, which may hold the label
    label : the true class, if it is known
    top : so many contributions at most, the largest; None for all

    >>> from separatrix import explain
    >>> model = explain.weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> found = explain.prediction(model, [1, 1, 1], label=0)
    >>> found.decision, round(found.probabilities[1], 2)
    (0, 0.12)
    >>> print(found.to_text())
    0, 2 ahead of 1, at a distance of 0.53452 from the plane. Right; logistic loss
    0.12693.
    <BLANKLINE>
    class  score  probability
    0          0       0.8808
    1         -2       0.1192
    <BLANKLINE>
    feature        value  weight  towards 0
    negative word      1       3          3
    positive word      1      -2         -2
    always 1           1       1          1
    bias                                  0
    sum                                   2
    """
    require_count("top", top, low=0, optional=True)
    seen = weights_of(model)
    notes: list[str] = []
    x, raw, own = read_row(model, seen, row, notes)
    label = own if label is None else to_builtin(label)
    if label is not None and label not in seen.classes:
        notes.append(f"The label {label!r} is none of the classes of the model.")
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
    """One row as numbers (1, d), the raw values of a table's row, and its label if it has one."""
    source = row if hasattr(row, "table") and hasattr(row, "y") else None
    own = None if source is None or source.y is None else source.y.tolist()
    if isinstance(row, list | tuple) or getattr(row, "ndim", 2) == 1:
        row = row.to_frame().T if hasattr(row, "to_frame") else [row]
    X = seen.rows_of(model.transform(row, notes) if isinstance(model, Bundle) else row)
    if X.shape[0] != 1:
        raise ValueError(f"One row is explained at a time. Got {X.shape[0]} instead.")
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
    """The row as an image, if its features are named as pixels are."""
    found = [_PIXEL.fullmatch(name) for name in seen.names]
    if any(each is None for each in found):
        return None
    places = [(int(each[1] or each[3]), int(each[2] or each[4])) for each in found if each]
    rows, columns = (np.array(part) - min(part) for part in zip(*places))
    shape = (rows.max() + 1, columns.max() + 1)

    def image(values: Array) -> tuple[tuple[float, ...], ...]:
        out = np.zeros(shape)
        np.add.at(out, (rows, columns), values)
        return to_builtin(out)

    raw = seen.raw(x)
    return Template(image(x if raw is None else raw), image(ahead), image(x * ahead))


def _mark(share: float) -> str:
    if abs(share) < 0.02:
        return "  "
    strong = abs(share) >= _STRONG
    return ("##" if strong else "++") if share > 0 else ("==" if strong else "--")
