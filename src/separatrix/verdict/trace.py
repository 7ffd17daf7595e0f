"""The course of a run, epoch by epoch: rises, oscillation and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from separatrix.matrix import Array
from separatrix.text import percent
from separatrix.verdict.certificate import SMALL_GAP, Certificate

DIVERGED_TIMES = 10.0  # an objective this many times its start ...
DIVERGED_EPOCHS = 10  # ... this many epochs running, or since then to the end, has diverged
RISING_SHARE = 0.05  # epochs in which the objective of an oscillating run rises ...
SEVERAL = 2  # ... at least: a single rise that is recovered is no oscillation
STILL_FALLING = 1e-3  # relative fall over the last tenth of the epochs
STILL_STEEP = 0.1  # gradient norm at the end, as a share of that after the first epoch
NEGLIGIBLE = 1e-3  # an objective below this share of its start is as good as 0
ROUNDING = 1e-6  # a relative rise below this is rounding, of float32 too
NO_MISTAKES = "no mistakes"  # how the perceptron's rule ends, which has no objective
CUT_SHORT = ("epochs", "time_limit", "interrupted")  # stop reasons without convergence


@dataclass(frozen=True)
class StepSize:
    """The learning rate and momentum of a run, and which rates are stable.

    A rate up to `stable_times` / curvature is stable; `formula` is the formula of `stable_times`.
    `constant` is False if the rate of the last epoch, `rate`, is not that of all epochs.
    """

    rate: float
    momentum: float
    stable_times: float
    formula: str
    batch_size: int | None = None
    constant: bool = True

    def safe_rate(self, L: float) -> float:
        """Return a rate that is stable at all weights if every step is on all rows.

        L bounds the curvature. The limit 2 (1 + momentum) / L holds on a quadratic only.
        """
        return min(self.stable_times, 2.0) / L

    def is_plain(self) -> bool:
        """Whether every step is the gradient on all rows times the same rate."""
        return self.constant and self.momentum == 0.0 and self.batch_size is None


def stable_multiple(rule: str, momentum: float) -> tuple[float, str]:
    """Return the largest stable rate of a rule as a multiple of 1 / curvature, and its formula.

    >>> stable_multiple("momentum", 0.9)
    (3.8, '2 (1 + momentum)')
    """
    if rule == "plain" or momentum == 0.0:
        return 2.0, "2"
    if rule == "momentum":
        return 2.0 * (1.0 + momentum), "2 (1 + momentum)"
    assert rule == "nesterov"
    times = 2.0 * (1.0 + momentum) / (1.0 + 2.0 * momentum)
    return times, "2 (1 + momentum) / (1 + 2 momentum)"


@dataclass(frozen=True)
class Trace:
    """The facts of a run for its diagnosis: history, objective at the start, end and step size.

    `descends` is False for a rule that does not decrease the objective, such as the perceptron's.
    `done_reason` is the stop reason that the solver itself can give, and `val_rows` the number of
    validation rows, inf if it is unknown.
    """

    history: Mapping[str, Array]
    start: float
    stop_reason: str
    step_size: StepSize | None
    certificate: Certificate
    descends: bool = True
    done_reason: str = ""
    kept_epoch: int = 0
    val_rows: float = math.inf

    @property
    def objective(self) -> Array:
        """The objective at the start and after every epoch."""
        return np.concatenate([[self.start], self.history["objective"]])

    def has_epochs(self) -> bool:
        """Whether the model was trained at all; max_iter can be 0."""
        return len(self.history["objective"]) > 0

    def rises(self) -> Array:
        """Return the epochs, from 1, in which the objective rose by more than rounding."""
        return rises(self.objective) + 1

    def ended_higher(self) -> bool:
        """Whether a run that did not diverge ended above its start."""
        values = self.objective
        return (
            self.done_reason != NO_MISTAKES
            and self.stop_reason != "diverged"
            and bool(values[-1] > (1.0 + ROUNDING) * values[0] > 0.0)
        )

    def still_swings(self) -> bool:
        """Whether the oscillation has not ended."""
        return self.oscillates() and not oscillation_ended(self.history["objective"])

    def is_noisy(self) -> bool:
        """Whether its steps are those of mini-batches."""
        return self.step_size is not None and self.step_size.batch_size is not None

    def oscillates(self) -> bool:
        """Whether the objective rose in a twentieth of the epochs, or rose and stayed higher.

        A run that never went below its start is not oscillating: it ended higher.
        """
        if not self.descends or self.stop_reason == "diverged" or not len(self.rises()):
            return False
        several = len(self.rises()) >= max(RISING_SHARE * len(self.history["objective"]), SEVERAL)
        return several or (self.rise_lasts() and not self.ended_higher())

    def rise_lasts(self) -> bool:
        """Whether the objective ended above its lowest value by more than the tolerance."""
        return _ended_above(self.objective)


def rises(objective: Array, tolerance: float = ROUNDING) -> Array:
    """Return the positions after which the objective rises, by default by more than rounding.

    >>> rises(np.array([3.0, 2.0, 2.5, 2.4])).tolist()
    [1]
    """
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(objective[:-1]), NEGLIGIBLE * np.abs(objective[0]))
        rose = objective[1:] - objective[:-1] > tolerance * size
    return np.flatnonzero(rose)


def oscillation_ended(objective: Array) -> bool:
    """Whether the oscillation of a run has ended.

    In the second half of its epochs (T,) no rise is larger than the tolerance for convergence, and
    the end is not above the lowest value by more than that.

    >>> oscillation_ended(np.array([3.0, 4.0, 2.0, 1.0, 0.9, 0.8]))
    True
    >>> oscillation_ended(np.array([2.0, 1.0, 2.0, 1.0]))
    False
    """
    late = rises(objective, STILL_FALLING) >= len(objective) // 2 - 1
    return not late.any() and not _ended_above(objective)


def _ended_above(objective: Array) -> bool:
    lowest = objective.min()
    size = max(abs(lowest), NEGLIGIBLE * abs(objective[0]))
    return bool(objective[-1] - lowest > STILL_FALLING * size)


def find_unfinished(trace: Trace) -> str | None:
    """Return a sentence if the run ended before it converged, else None."""
    if trace.stop_reason not in CUT_SHORT or not trace.descends or not trace.has_epochs():
        return None
    swings = trace.still_swings()
    if swings and not trace.is_noisy():
        return None
    gap = trace.certificate.relative_gap
    if gap is not None and gap <= SMALL_GAP:
        return None
    values = trace.objective
    window = max(len(values) // 10, 1)
    before, after = values[-1 - window], values[-1]
    fall = (before - after) / abs(before) if before else 0.0
    norms = trace.history["gradient_norm"]
    if fall > STILL_FALLING:
        epochs = "epoch" if window == 1 else f"{window} epochs"
        return (
            f"The objective was still falling, by {percent(fall, 2)} over the last {epochs} "
            f"(gradient norm {norms[-1]:.2g})."
        )
    if norms[-1] > STILL_STEEP * norms[0] > 0.0 and not swings:
        return (
            f"The gradient norm is {norms[-1]:.2g}, still {100.0 * norms[-1] / norms[0]:.0f} % of "
            "that after the first epoch."
        )
    return None
