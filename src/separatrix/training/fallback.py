"""A second solver for models whose first solver stalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from separatrix.solvers import OPTIMISERS, Newton
from separatrix.solvers.dual import STALLED
from separatrix.training.result import Result
from separatrix.training.task import Task

STALL_REASONS = (STALLED, Newton.done_reason)  # stop reasons after which another solver may help


def fallback_tasks(tasks: Sequence[Task], results: Mapping[int, Result]) -> dict[int, Task]:
    """Return, by number, the tasks whose solver has stalled, as tasks for their fallback."""
    later: dict[int, Task] = {}
    for t, result in results.items():
        left, fallback = tasks[t].stop.epochs[0][0] - result.history.epochs, tasks[t].fallback
        gap = result.certificate.relative_gap
        short = gap is not None and gap > tasks[t].stop.tol[0]
        if short and result.stop_reason in STALL_REASONS and fallback is not None and left > 0:
            later[t] = replace(
                tasks[t],
                solver=OPTIMISERS[fallback].for_fallback(),
                stop=replace(tasks[t].stop, epochs=((left,),)),
                start=result.model,
                fallback=None,
            )
    return later


def join_results(first: Result, second: Result) -> Result:
    """Join the results of two solvers that trained a model one after the other."""
    gap = first.certificate.relative_gap
    reached = "" if gap is None else f" at {gap:.2g}"
    steps = first.history.epochs
    bound = -np.inf if first.certificate.dual is None else first.certificate.dual
    return replace(
        second,
        history=first.history.followed_by(second.history),
        best_epoch=steps + second.best_epoch if second.best_epoch else first.best_epoch,
        certificate=second.certificate.raised_to(bound),
        why=f"{first.why} Its relative duality gap stopped shrinking{reached} after {steps} "
        f"steps, so {second.solver} took over.",
    )
