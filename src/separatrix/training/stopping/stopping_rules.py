"""The stopping rules of a run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from separatrix.matrix import Array

PATIENCE_RULES = ("best", "consecutive")
MONITORS = ("loss", "accuracy")
TOLERANCES = ("tol", "gradient_tol", "step_tol", "band")


@dataclass(frozen=True)
class Stop:
    """When to stop each of B models; NaN (or -1 for patience) switches a rule off.

    Parameters
    ----------
    epochs : for each model, the epochs at which it is read off, increasing; it stops at the last
    tol : (B,), stop when the relative duality gap is proven to be at most this; without a penalty,
        when there is no gap, stop when the gradient norm has fallen to this fraction of its start
    gradient_tol : (B,), stop when the norm of the smallest subgradient is at most this
    step_tol : (B,), stop when no weight or bias changes by more than this in an epoch
    band : (B,), stop when all predictions for the validation rows are certainly those of the
        optimum, except where the two highest probabilities are within this band around their mean
    patience : (B,), number of validation measurements to wait
    patience_rule : "best" stops after `patience` measurements in a row without a new best (0 is the
        same as 1), "consecutive" after more than `patience` rises in a row
    monitor : the validation measure for patience, "loss" or "accuracy"
    validate_every : number of epochs between two measurements
    time_limit : seconds for the whole batch, or None
    """

    epochs: tuple[tuple[int, ...], ...]
    tol: Array = field(default_factory=lambda: np.array([]))
    gradient_tol: Array = field(default_factory=lambda: np.array([]))
    step_tol: Array = field(default_factory=lambda: np.array([]))
    band: Array = field(default_factory=lambda: np.array([]))
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
        """Return the rules of some of the models (numbers)."""
        return replace(
            self,
            epochs=tuple(self.epochs[m] for m in models),
            tol=self.tol[models],
            gradient_tol=self.gradient_tol[models],
            step_tol=self.step_tol[models],
            band=self.band[models],
            patience=self.patience[models],
        )

    def is_late(self, seconds: float) -> bool:
        """Return whether the time limit has passed after a number of seconds."""
        return self.time_limit is not None and seconds >= self.time_limit

    def shared_key(self) -> Hashable:
        """Return the rules that all models of a batch must share."""
        return (self.patience_rule, self.monitor, self.validate_every, self.time_limit)

    def own_key(self) -> Hashable:
        """Return the rules that a model may have for itself, without its number of epochs."""
        tolerances = np.concatenate([getattr(self, name) for name in TOLERANCES])
        return (*(None if np.isnan(t) else float(t) for t in tolerances), *self.patience.tolist())

    @classmethod
    def join(cls, stops: Sequence[Stop], epochs: Sequence[tuple[int, ...]]) -> Stop:
        """Join the rules of single models into those of a batch, read off at these epochs."""
        return replace(
            stops[0],
            epochs=tuple(epochs),
            tol=np.concatenate([stop.tol for stop in stops]),
            gradient_tol=np.concatenate([stop.gradient_tol for stop in stops]),
            step_tol=np.concatenate([stop.step_tol for stop in stops]),
            band=np.concatenate([stop.band for stop in stops]),
            patience=np.concatenate([stop.patience for stop in stops]),
        )
