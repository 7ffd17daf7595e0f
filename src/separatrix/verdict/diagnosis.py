"""A finding about a fit, with its cause and a remedy."""

from __future__ import annotations

from dataclasses import dataclass, field

from separatrix.matrix import Array


@dataclass(frozen=True)
class Diagnosis:
    """A finding: its `kind`, what happened and why (`message`), and what to do (`remedy`).

    `direction` is the proof of a "separable" finding: weights and biases, shaped like coef_ and
    intercept_, along which the loss of no row rises and that of some rows falls without end. It
    is `complete` if it separates all classes.
    """

    kind: str
    message: str
    remedy: str
    direction: tuple[Array, Array] | None = field(default=None, compare=False, repr=False)
    complete: bool = field(default=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} {self.remedy}"
