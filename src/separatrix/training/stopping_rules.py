"""When a run ends."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from separatrix.matrix import Array

PATIENCE_RULES = ("best", "consecutive")
MONITORS = ("loss", "accuracy")
TOLERANCES = ("tol", "gradient_tol", "step_tol")


@dataclass(frozen=True)
class Stop:
    """When to stop each of B models; what is NaN (or -1 for patience) never stops it.

    Parameters
    ----------
    epochs : for each model the epochs at which it is read off, rising; it ends with the last
    tol : (B,), stop when the relative duality gap is proven to be at most this; without a penalty,
        where there is no gap, when the gradient's norm has fallen to this share of its start
    gradient_tol : (B,), stop when the norm of the smallest subgradient is at most this
    step_tol : (B,), stop when no weight or bias changes by more than this in an epoch
    patience : (B,), measurements of the validation set to wait
    patience_rule : "best", no improvement over the best `patience` times running (0 is the same
        as 1), or "consecutive", risen more than `patience` times running
    monitor : what patience watches on the validation set, "loss" or "accuracy"
    validate_every : epochs between two measurements
    time_limit : seconds for the whole batch, or None
    """

    epochs: tuple[tuple[int, ...], ...]
    tol: Array = field(default_factory=lambda: np.array([]))
    gradient_tol: Array = field(default_factory=lambda: np.array([]))
    step_tol: Array = field(default_factory=lambda: np.array([]))
    patience: Array = field(default_factory=lambda: np.array([], int))
    patience_rule: str = "best"
    monitor: str = "loss"
    validate_every: int = 1
    time_limit: float | None = None

    def __post_init__(self) -> None:
        B = len(self.epochs)
        for name in (*TOLERANCES, "patience"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.full(B, -1 if name == "patience" else np.nan))

    def select(self, models: Array) -> Stop:
        """The rules of some of the models (numbers)."""
        return replace(
            self,
            epochs=tuple(self.epochs[m] for m in models),
            tol=self.tol[models],
            gradient_tol=self.gradient_tol[models],
            step_tol=self.step_tol[models],
            patience=self.patience[models],
        )

    def is_late(self, seconds: float) -> bool:
        """Whether the time limit is over after so many seconds."""
        return self.time_limit is not None and seconds >= self.time_limit

    def shared_key(self) -> Hashable:
        """What the models of one batch must have in common."""
        return (self.patience_rule, self.monitor, self.validate_every, self.time_limit)

    def own_key(self) -> Hashable:
        """What stops a model, besides its number of epochs."""
        tolerances = np.concatenate([getattr(self, name) for name in TOLERANCES])
        return (*(None if np.isnan(t) else float(t) for t in tolerances), *self.patience.tolist())

    @classmethod
    def join(cls, stops: Sequence[Stop], epochs: Sequence[tuple[int, ...]]) -> Stop:
        """The rules of single models as those of one batch, read off at these epochs."""
        return replace(
            stops[0],
            epochs=tuple(epochs),
            tol=np.concatenate([stop.tol for stop in stops]),
            gradient_tol=np.concatenate([stop.gradient_tol for stop in stops]),
            step_tol=np.concatenate([stop.step_tol for stop in stops]),
            patience=np.concatenate([stop.patience for stop in stops]),
        )
