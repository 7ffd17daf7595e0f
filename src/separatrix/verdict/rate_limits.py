"""Learning rates up to which gradient descent is stable, quoted where a run went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, Context

import numpy as np

from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.smoothness import local_curvature, smoothness
from separatrix.verdict.trace import StepSize, Trace, find_unfinished


class RateLimits:
    """The rates that are safe, computed for the runs that need them quoted."""

    def __init__(self, objective: Objective, models: Sequence[Model], traces: list[Trace]) -> None:
        B = len(traces)
        troubled = np.array(
            [t.stop_reason == "diverged" or t.oscillates() or t.ended_higher() for t in traces]
        )
        slow = np.array([find_unfinished(t) is not None for t in traces])
        self.L = np.full(B, np.nan)
        self.local = np.full(B, np.nan)
        wanted = np.flatnonzero(troubled | slow)
        if len(wanted):
            theirs = Model.stack([models[m] for m in wanted.tolist()])
            L = smoothness(objective.select(wanted), theirs)
            if L is not None:
                self.L[wanted] = L
        near = np.flatnonzero(troubled & np.array([t.step_size is not None for t in traces]))
        if len(near):
            theirs = Model.stack([models[m] for m in near.tolist()])
            curvature = local_curvature(objective.select(near), theirs)
            if curvature is not None:
                self.local[near] = curvature

    def words(self, m: int, step_size: StepSize | None) -> str:
        """The safe rate and the local limit, saying which is which."""
        parts = []
        if self.L[m] > 0.0:
            safe = rounded_down(2.0 / self.L[m])
            parts.append(f"the safe rate 2/L = {safe}, from the data alone")
        if step_size is not None and self.local[m] > 0.0:
            limit = step_size.stable_times / self.local[m]
            parts.append(
                f"the local limit {step_size.formula} = {limit:.2g}, "
                "of the Hessian at the weights kept"
            )
        return ", and ".join(parts)

    def exceeded(self, m: int, step_size: StepSize) -> bool:
        """Whether the rate is above the local limit or, where there is none, above 2/L."""
        limit = step_size.stable_times / self.local[m] if self.local[m] > 0.0 else 2.0 / self.L[m]
        return bool(step_size.rate > limit)

    def lower(self, m: int, step_size: StepSize | None) -> str:
        """What to set the rate to; 2/L is no limit for a rule that measures its steps otherwise."""
        if self.L[m] > 0.0 and step_size is not None:
            return f"Lower learning_rate to {rounded_down(2.0 / self.L[m])} or less"
        return "Lower learning_rate, or let it decay with schedule='inverse'"


def rounded_down(rate: float) -> str:
    """Two digits of a rate, never above it.

    >>> rounded_down(0.0648)
    '0.064'
    """
    down = Context(prec=2, rounding=ROUND_DOWN).create_decimal_from_float(float(rate))
    return f"{float(down):.2g}"
