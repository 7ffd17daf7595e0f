"""One solver for all candidates of a search, if sharing it costs no time.

A single model gets the solver that is best for its penalty. In a search, this would split the
batch: dual ascent in float32 for strong penalties and in float64 for weak ones, and Newton's method
for the weakest. For six values of C on five folds, the CPU time in seconds was

                                                      own solvers     one solver
    logistic, one precision of the dual, 200 x 2000          0.25           0.24
    squared hinge, dual for all, rt-polarity                  5.7            0.8
    squared hinge, dual for all, 3000 x 800 dense       7.7 to 11     2.0 to 5.8
    logistic, dual for all, 3000 x 800 dense           0.7 to 1.4     1.0 to 3.7
    logistic, newton for all, rt-polarity                     0.3            0.4

So the first three are implemented, and a grid of logistic models can take two batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from separatrix.losses import Loss, OneVsRest
from separatrix.solvers import Newton
from separatrix.solvers.dual import Dual
from separatrix.training.task import Task

REASON = "dual: other candidates of the search use it, so that all share the passes over X."


def share_solver(tasks: Mapping[int, Task]) -> dict[int, Task]:
    """Return the tasks with solvers that can share batches.

    Each task comes with the solver that is best for it alone. Dual ascent gets the same precision
    and patience for all tasks with the same loss. With squared hinge loss, all tasks use dual
    ascent if any of them does, with Newton's method as the fallback.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, task in tasks.items():
        groups.setdefault((task.loss.name, task.n_outputs, task.bias), []).append(number)
    out = dict(tasks)
    for members in groups.values():
        own = {number: tasks[number] for number in members}
        duals = [task for task in own.values() if isinstance(task.solver, Dual)]
        if not duals:
            continue
        if _is_squared_hinge(duals[0].loss):
            own = {number: _by_dual(task, duals[0]) for number, task in own.items()}
        out |= _in_one_precision(own)
    return out


def _by_dual(task: Task, other: Task) -> Task:
    """Return a task of Newton's method with the dual solver of another task."""
    if not isinstance(task.solver, Newton) or not task.l2 > 0.0 or task.l1 > 0.0:
        return task
    assert isinstance(other.solver, Dual)
    solver = replace(other.solver, single=False, goal=float(task.stop.tol[0]))
    return replace(task, solver=solver, fallback=Newton.name, why=REASON)


def _in_one_precision(tasks: Mapping[int, Task]) -> dict[int, Task]:
    """Give all dual tasks the same precision and the shortest patience.

    The precision is float32 if this is sufficient for all of them. Tasks without a fallback keep
    their long patience.
    """
    duals = {n: task.solver for n, task in tasks.items() if isinstance(task.solver, Dual)}
    single = all(solver.single for solver in duals.values())
    short = [solver.patience for n, solver in duals.items() if tasks[n].fallback is not None]
    out = dict(tasks)
    for n, solver in duals.items():
        patience = solver.patience if tasks[n].fallback is None else min(short)
        out[n] = replace(tasks[n], solver=replace(solver, single=single, patience=patience))
    return out


def _is_squared_hinge(loss: Loss) -> bool:
    base = loss.base if isinstance(loss, OneVsRest) else loss
    return base.smooth and base.margin > 0.0
