"""Diagnose fits: what went wrong, why, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.data_checks import (
    check_rare_class,
    check_rows,
    check_scales,
    check_separable,
    check_zero_optimum,
)
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.rate_limits import RateLimits
from separatrix.verdict.run_checks import (
    check_diverged,
    check_ended_higher,
    check_not_converged,
    check_oscillating,
    check_overfitting,
)
from separatrix.verdict.trace import Trace


def diagnose(
    objective: Objective,
    models: Sequence[Model],
    traces: list[Trace],
    *,
    start: Callable[[Array], Model] | None = None,
    whole: bool = True,
    features: Sequence[str] = (),
) -> list[list[Diagnosis]]:
    """Diagnose the models of a batch; they share passes over the data.

    Parameters
    ----------
    objective, models, traces : the kept weights of each model, and how its run went
    start : called with numbers of models, returns their weights before the first epoch
    whole : False if the rows are only part of the data, which says nothing about its classes
    features : names of the columns, for the words; without them, columns have numbers
    """
    B = len(traces)
    limits = RateLimits(objective, start, models, traces)
    nothing: list[Diagnosis | None] = [None] * B
    separable = check_separable(objective, models, features) if whole else nothing
    rare = check_rows(objective.data, B, check_rare_class) if whole else nothing
    scales = nothing
    if any(trace.step_size is not None for trace in traces) and objective.penalty.factors is None:
        scales = check_rows(objective.data, B, partial(check_scales, features=features))
    out = []
    for m, trace in enumerate(traces):
        found = [
            check_diverged(trace, limits, m),
            check_oscillating(trace, limits, m),
            check_ended_higher(trace, limits, m, objective.loss.convex),
            check_not_converged(trace, limits, m, objective.data),
            check_overfitting(trace),
            separable[m],
            check_zero_optimum(objective, m, B),
            scales[m] if trace.step_size is not None else None,
            rare[m],
        ]
        out.append([d for d in found if d is not None])
    return out
