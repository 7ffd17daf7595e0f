"""One finding about a fit: what was seen and why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from separatrix.matrix import Array


@dataclass(frozen=True)
class Diagnosis:
    """One finding: its `kind`, what was seen and why (`message`), and what to do (`remedy`).

    `direction` is the proof of a "separable": weights and biases, shaped like coef_ and intercept_,
    along which no row's loss rises and some fall for ever.
    """

    kind: str
    message: str
    remedy: str
    direction: tuple[Array, Array] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} {self.remedy}"
