"""What a perceptron did with rows of two classes, as data and in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from separatrix.explain.text_tables import facts, number, table, wrapped
from separatrix.text import counted, percent

_SHOWN = 15  # epochs, in text
_LARGE = 1e15  # from here on the bound is printed as a power of ten


@dataclass(frozen=True)
class Plane:
    """A boundary w.x + b = 0: what found it, the share of rows right, and its margin.

    The margin is the distance of the nearest row, below 0 where a row is on the wrong side: how far
    the worst one is.
    """

    name: str
    weights: tuple[float, ...]
    bias: float
    accuracy: float
    margin: float


@dataclass(frozen=True)
class PerceptronStory:
    """What Rosenblatt's rule did with some rows of two classes.

    Attributes
    ----------
    classes : the negative and the positive one
    mistakes : in every epoch; the last is 0 where the rule came to an end
    path : the weights, the bias last, at the start and after every mistake (the first 2,000)
    weights, bias : at the end
    angles : degrees between the weight vector and every row, both with the bias absorbed: at most
        90 for positive rows that are right, and more for negative ones
    separable : whether all rows can be strictly on their sides: True where a plane proves it, False
        where a linear programme proves that none does, None where neither is proven
    radius, margin, bound : R = max |(x, 1)|, the widest margin found, and (R / margin)^2, which no
        number of mistakes can pass; None where no plane was found to separate the classes
    planes : the boundaries of several models, side by side
    fit_intercept : whether they have a bias
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
        """All mistakes."""
        return sum(self.mistakes)

    @property
    def ended(self) -> bool:
        """Whether the last epoch was without a mistake."""
        return bool(self.mistakes) and self.mistakes[-1] == 0

    @property
    def most(self) -> str:
        """The bound in words: whole, as mistakes are, or a power of ten where it is very large."""
        if self.bound is None:
            return ""
        return f"{math.floor(self.bound):,}" if self.bound < _LARGE else number(self.bound)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The story."""
        if self.bound is not None:
            return (self._end(), self._bound(), self._which())
        return (self._end(), self._limits())

    def _end(self) -> str:
        so_far = f"{counted(len(self.mistakes), 'epoch')} and {counted(self.total, 'mistake')}"
        if self.ended:
            return (
                f"The rule ended after {so_far}: the weight vector is at 90 degrees or less to "
                f"every row of class {self.classes[1]}, and at more to every other one."
            )
        return f"After {so_far} the rule had not ended."

    def _bound(self) -> str:
        assert self.margin is not None
        assert self.bound is not None
        absorbed = "With the bias as a weight, the" if self.fit_intercept else "The"
        return (
            f"A plane separates the classes. {absorbed} rows have lengths up to "
            f"R = {number(self.radius)} and a margin of {number(self.margin)}: there can be at "
            f"most (R / margin)^2 = {self.most} mistakes, in whatever order the rows come."
        )

    def _which(self) -> str:
        apart = [plane for plane in self.planes if plane.margin > 0.0]
        if len(apart) < 2:
            return "Many planes separate the classes; the table shows what each model makes of it."
        best = max(apart, key=lambda plane: plane.margin)
        least = min(apart, key=lambda plane: plane.margin)
        many = "Many planes separate the classes, and the rule takes any of them"
        which = "the margins" if len(apart) == len(self.planes) else "the margins of those that do"
        if number(least.margin) == number(best.margin):
            return f"{many}: {which} are {number(best.margin)}."
        return (
            f"{many}: {which} run from {number(least.margin)} ({least.name}) to "
            f"{number(best.margin)} ({best.name})."
        )

    def _limits(self) -> str:
        if self.ended:
            return (
                f"Rows of class {self.classes[1]} lie on its plane, where the rule takes them for "
                "right. So there is no margin, and no bound on the mistakes."
            )
        rest = [plane for plane in self.planes if not plane.name.startswith("perceptron")]
        made = ", ".join(f"{plane.name} {percent(plane.accuracy)}" for plane in rest)
        least, most = min(self.mistakes), max(self.mistakes)
        several = f"{least:,} to " if least < most else ""
        every = (
            f"{several}{counted(most, 'mistake')} in every epoch. "
            f"Models that minimise a loss settle: {made} of the rows right."
        )
        if self.separable is None:
            return (
                "Whether a plane separates the classes is not known: none was found, and "
                "no proof that there is none: the data is too large, or too near to a plane. "
                "If there is one, the rule ends with "
                f"more epochs; else it goes on for ever. So far {every}"
            )
        return f"No plane separates the classes, so that the rule goes on for ever: {every}"

    def to_text(self, width: int = 80) -> str:
        """The story, the mistakes and the planes."""
        shown = ", ".join(map(str, self.mistakes[:_SHOWN]))
        more = " and so on" if len(self.mistakes) > _SHOWN else ""
        lines = [line for each in self.sentences for line in wrapped(each, width)]
        lines += ["", *wrapped(f"Mistakes in every epoch: {shown}{more}.", width), ""]
        rows = [(p.name, p.accuracy, p.margin, p.bias, p.weights) for p in self.planes]
        lines += table(("plane", "right", "margin", "bias", "weights"), rows, width)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        more = {"total": self.total, "ended": self.ended, "sentences": self.sentences}
        return facts(self) | more
