"""The training of a perceptron on rows of two classes, as data and in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from separatrix.explain.text_tables import facts, number, table, wrapped
from separatrix.text import counted, percent

_SHOWN = 15  # number of epochs that are printed
_LARGE = 1e15  # larger bounds are printed as powers of ten


@dataclass(frozen=True)
class Plane:
    """A decision boundary w.x + b = 0.

    Attributes
    ----------
    name : the model that found it
    weights, bias : w (d,) and b
    accuracy : the fraction of rows on the correct side
    margin : the distance to the nearest row. If rows are on the wrong side, minus the distance to
        the farthest of them
    """

    name: str
    weights: tuple[float, ...]
    bias: float
    accuracy: float
    margin: float


@dataclass(frozen=True)
class PerceptronStory:
    """The training of a perceptron on rows of two classes.

    Attributes
    ----------
    classes : the negative and the positive class
    mistakes : the number of mistakes in every epoch. The last one is 0 if training converged
    path : the weights and the bias at the start and after each of the first 2,000 mistakes
    weights, bias : at the end of training
    angles : the angles between the weight vector and the rows in degrees. The bias counts as the
        weight of a feature that is always 1. Correctly classified rows have angles of at most 90
        degrees in the positive class, and of more than 90 degrees in the negative class
    labels : 0 for rows of the negative class, 1 for rows of the positive class
    separable : whether the classes are linearly separable: True if a separating hyperplane was
        found, False if it is proven that there is none, None if neither is proven
    radius, margin, bound : R = max |(x, 1)|, the widest margin found, and (R / margin)^2, an upper
        bound on the number of mistakes. `margin` and `bound` are None if no separating hyperplane
        was found
    planes : the decision boundaries of several models
    fit_intercept : whether these models have a bias
    """

    classes: tuple[Any, Any]
    mistakes: tuple[int, ...]
    path: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    bias: float
    angles: tuple[float, ...]
    labels: tuple[int, ...]
    separable: bool | None
    radius: float
    margin: float | None
    bound: float | None
    planes: tuple[Plane, ...]
    fit_intercept: bool = True

    @property
    def total(self) -> int:
        """The total number of mistakes."""
        return sum(self.mistakes)

    @property
    def ended(self) -> bool:
        """Whether the last epoch had no mistakes."""
        return bool(self.mistakes) and self.mistakes[-1] == 0

    @property
    def most(self) -> str:
        """The bound as text: rounded down to a whole number, or a power of ten if it is large."""
        if self.bound is None:
            return ""
        return f"{math.floor(self.bound):,}" if self.bound < _LARGE else number(self.bound)

    @property
    def sentences(self) -> tuple[str, ...]:
        """A summary of the training in sentences."""
        if self.bound is not None:
            return (self._end(), self._bound(), self._which())
        return (self._end(), self._limits())

    def _end(self) -> str:
        so_far = f"{counted(len(self.mistakes), 'epoch')} and {counted(self.total, 'mistake')}"
        if self.ended:
            return (
                f"The perceptron converged after {so_far}. The angle between the weight vector and "
                f"a row is at most 90 degrees for class {self.classes[1]}, and more than 90 "
                f"degrees for class {self.classes[0]}."
            )
        return f"After {so_far} the perceptron had not converged."

    def _bound(self) -> str:
        assert self.margin is not None
        assert self.bound is not None
        extended = "With the bias as a weight, the" if self.fit_intercept else "The"
        return (
            f"The classes are linearly separable. {extended} longest row has length "
            f"R = {number(self.radius)} and the margin is {number(self.margin)}. So there are at "
            f"most (R / margin)^2 = {self.most} mistakes, whatever the order of the rows."
        )

    def _which(self) -> str:
        apart = [plane for plane in self.planes if plane.margin > 0.0]
        if len(apart) < 2:
            return "Many hyperplanes separate the classes. The table shows what each model finds."
        best = max(apart, key=lambda plane: plane.margin)
        least = min(apart, key=lambda plane: plane.margin)
        many = "Many hyperplanes separate the classes, and the perceptron may find any of them."
        which = "The margins"
        if len(apart) < len(self.planes):
            which += " of the separating hyperplanes in the table"
        if number(least.margin) == number(best.margin):
            return f"{many} {which} are {number(best.margin)}."
        return (
            f"{many} {which} range from {number(least.margin)} ({least.name}) to "
            f"{number(best.margin)} ({best.name})."
        )

    def _limits(self) -> str:
        if self.ended:
            return (
                f"Rows of class {self.classes[1]} lie on the decision boundary, and the perceptron "
                "counts them as correct. So the margin is 0, and the number of mistakes has no "
                "bound."
            )
        rest = [plane for plane in self.planes if not plane.name.startswith("perceptron")]
        accuracies = ", ".join(f"{plane.name} {percent(plane.accuracy)}" for plane in rest)
        least, most = min(self.mistakes), max(self.mistakes)
        several = f"{least:,} to " if least < most else ""
        every = (
            f"made {several}{counted(most, 'mistake')} in every epoch. Models that minimise a loss "
            f"converge. Their accuracies: {accuracies}."
        )
        if self.separable is None:
            return (
                "It is not known whether a hyperplane separates the classes: none was found, and "
                "the data is too large or too close to separable to prove that there is none. If "
                "there is one, the perceptron converges with more epochs; otherwise it never "
                f"does. So far it {every}"
            )
        return f"No hyperplane separates the classes, so the perceptron never converges: it {every}"

    def to_text(self, width: int = 80) -> str:
        """Format the summary, the mistakes and the decision boundaries."""
        shown = ", ".join(map(str, self.mistakes[:_SHOWN]))
        first = f" (the first {_SHOWN} epochs)" if len(self.mistakes) > _SHOWN else ""
        lines = [line for each in self.sentences for line in wrapped(each, width)]
        lines += ["", *wrapped(f"Mistakes per epoch{first}: {shown}.", width), ""]
        rows = [(p.name, p.accuracy, p.margin, p.bias, p.weights) for p in self.planes]
        lines += table(("decision boundary", "accuracy", "margin", "bias", "weights"), rows, width)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        more = {"total": self.total, "ended": self.ended, "sentences": self.sentences}
        return facts(self) | more
