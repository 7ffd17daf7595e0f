"""Learning rates up to which gradient descent is stable, for the runs that went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Context

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.smoothness import local_curvature, smoothness
from separatrix.verdict.trace import StepSize, Trace, find_unfinished

EVERYWHERE = "is stable at all weights (2/L, where L bounds the curvature of the objective)"


class RateLimits:
    """The stable learning rates of the runs that need them in a diagnosis.

    Attributes
    ----------
    L : (B,) smoothness constants: rates below 2/L are stable at all weights; NaN if unknown
    local : (B,) the larger of the largest eigenvalues of the Hessian at the start and at the kept
        weights; NaN if unknown
    at_start : (B,) whether it is that at the start
    """

    def __init__(
        self,
        objective: Objective,
        start: Callable[[Array], Model] | None,
        models: Sequence[Model],
        traces: list[Trace],
    ) -> None:
        B = len(traces)
        troubled = np.array(
            [t.stop_reason == "diverged" or t.oscillates() or t.ended_higher() for t in traces]
        )
        slow = np.array([find_unfinished(t) is not None for t in traces])
        self.L, self.local, self.at_start = (
            np.full(B, np.nan),
            np.full(B, np.nan),
            np.zeros(B, bool),
        )
        wanted = np.flatnonzero(troubled | slow)
        if len(wanted):
            L = smoothness(objective.select(wanted), _stack(models, wanted))
            if L is not None:
                self.L[wanted] = L
        near = np.flatnonzero(troubled & np.array([t.step_size is not None for t in traces]))
        if len(near):
            own = objective.select(near)
            first = local_curvature(own, _stack(models, near) if start is None else start(near))
            last = local_curvature(own, _stack(models, near))
            if first is not None and last is not None:
                self.local[near] = np.fmax(first, last)
                self.at_start[near] = ~(last > first)

    def describe(self, m: int, step_size: StepSize | None) -> str:
        """Compare the learning rate of a run with its limits, and say which of them it exceeds."""
        if step_size is None:
            return ""
        rate, words = step_size.rate, f"The learning rate was {step_size.rate:.3g}."
        safe = rounded_down(2.0 / self.L[m]) if self.L[m] > 0.0 else ""
        if self.local[m] > 0.0:
            limit = step_size.stable_times / self.local[m]
            side = "above" if rate > limit else "below"
            where = "starting" if self.at_start[m] else "kept"
            words = (
                f"The learning rate {rate:.3g} is {side} {limit:.2g}, the stability limit at the "
                f"{where} weights ({step_size.formula} / the largest eigenvalue of the Hessian "
                "there)."
            )
        if safe:
            words += f" A rate of {safe} {EVERYWHERE}."
        return words

    def exceeded(self, m: int, step_size: StepSize) -> bool:
        """Whether the rate is above the local limit or, if there is none, above 2/L."""
        limit = step_size.stable_times / self.local[m] if self.local[m] > 0.0 else 2.0 / self.L[m]
        return bool(step_size.rate > limit)

    def lower(self, m: int, step_size: StepSize | None) -> str:
        """What to set the learning rate to; 2/L is no limit for adam, which scales its steps."""
        if self.L[m] > 0.0 and step_size is not None:
            return f"Lower the learning rate to {rounded_down(2.0 / self.L[m])} or less"
        return "Lower the learning rate, or let it decay (schedule 'inverse')"


def _stack(models: Sequence[Model], which: Array) -> Model:
    return Model.stack([models[m] for m in which.tolist()])


def rounded_down(rate: float) -> str:
    """Format a rate with two digits, rounded down.

    >>> rounded_down(0.0648)
    '0.064'
    """
    down = Context(prec=2, rounding=ROUND_DOWN).create_decimal_from_float(float(rate))
    return f"{float(down):.2g}"
