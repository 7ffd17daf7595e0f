"""Train tasks: group them into batches, run the batches, and hand stalled models to fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.data import Dataset
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training.batching import batch_penalty, batch_start, share_passes
from separatrix.training.devices import fit_on_device, objective_maker
from separatrix.training.fallback import fallback_tasks, join_results
from separatrix.training.legality import refuse_illegal
from separatrix.training.loop import run
from separatrix.training.recording.callbacks import renumbered
from separatrix.training.recording.progress import Interrupted, Progress, count_batch
from separatrix.training.result import Result
from separatrix.training.rewriting import Rewriting, rewriting_of
from separatrix.training.rounding import round_results
from separatrix.training.stopping.stopping_rules import Stop
from separatrix.training.task import Task


def train(
    tasks: Sequence[Task],
    data: Dataset,
    validation: Dataset | None = None,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    keep_state: bool = False,
    whole: bool = True,
    resume: Mapping[str, Array] | None = None,
) -> list[Result]:
    """Train all tasks on the same rows, in as few batches as possible.

    Tasks that can share a pass form a batch. Tasks that differ only in their number of epochs are
    one model, read off several times. `data` may hold weights (n, T), one column per task. `whole`
    is False if the rows are only a part of the data. `resume` is a checkpoint of the same tasks,
    which must form one batch. Models whose solver stalls continue with the fallback of their task.
    """
    for task in tasks:
        refuse_illegal(
            task.solver.name, task.loss, task.l1, task.l2, in_one_block=data.in_one_block
        )
    batches = share_passes(tasks, bool(data.facts.own))
    if resume is None:
        batches = [part for runs in batches for part in fit_on_device(tasks, runs, data)]
    if resume is not None and len(batches) != 1:
        raise ValueError(
            f"A checkpoint belongs to one batch, and these tasks form {len(batches)}. Resume the "
            "tasks of each batch separately, as grouped by share_passes."
        )
    results = _train_rewritten(tasks, data, validation, on_progress, whole)
    if results:
        rest = [t for t in range(len(tasks)) if t not in results]
        if rest:
            results |= dict(
                zip(
                    rest,
                    train(
                        [tasks[t] for t in rest],
                        data.select(np.array(rest)),
                        validation,
                        on_progress=renumbered(on_progress, rest),
                        keep_state=keep_state,
                        whole=whole,
                    ),
                )
            )
        return [results[t] for t in range(len(tasks))]
    on_progress, interruption = _note_interruption(on_progress)
    for runs in batches:
        count_batch()
        first = [tasks[same[0]] for same in runs]
        numbers = np.array([same[0] for same in runs])
        epochs = [tuple(sorted({tasks[t].stop.epochs[0][0] for t in same})) for same in runs]
        loss, bias = first[0].loss, first[0].bias
        rows = data.without_constants() if all(task.ignores_constants for task in first) else data
        make = objective_maker(first[0])
        objective = make(rows.select(numbers), loss, batch_penalty(first), bias=bias)
        held_out = None
        if validation is not None:
            held_out = make(validation, loss, ElasticNet(0.0, 0.0), bias=bias)
        readings = run(
            first[0].solver.join([task.solver for task in first]),
            objective,
            batch_start(first, objective),
            Stop.join([task.stop for task in first], epochs),
            validation=held_out,
            on_progress=_for_members(on_progress, runs),
            state=first[0].state,
            keep_state=keep_state,
            resume=resume,
            whole=whole,
        )
        for k, (same, points, found) in enumerate(zip(runs, epochs, readings)):
            for t in same:
                reading = found[points.index(tasks[t].stop.epochs[0][0])]
                if tasks[t].ignores_constants:
                    reading = _without_constants(reading, objective, k)
                results[t] = replace(reading, why=tasks[t].why)
        if first[0].rounds and data.dtype != np.float64:
            models = {t: k for k, same in enumerate(runs) for t in same}
            own = {t: results[t] for t in models}
            results |= round_results(tasks, own, models, objective)
    if not interruption.asked:
        results |= _hand_over(tasks, results, data, validation, on_progress, whole)
    return [results[t] for t in range(len(tasks))]


def _train_rewritten(
    tasks: Sequence[Task],
    data: Dataset,
    validation: Dataset | None,
    on_progress: Callable[[Progress], None] | None,
    whole: bool,
) -> dict[int, Result]:
    """Train the tasks that need other data, and return their results by number."""
    rewritten: dict[int, Rewriting] = {}
    for t, task in enumerate(tasks):
        found = rewriting_of(task, data.select(np.array([t])))
        if found is not None:
            rewritten[t] = found
    groups: dict[Hashable, list[int]] = {}
    for t, rewriting in rewritten.items():
        groups.setdefault(rewriting.key(), []).append(t)
    results: dict[int, Result] = {}
    for numbers in groups.values():
        one = rewritten[numbers[0]]
        trained = train(
            [rewritten[t].task() for t in numbers],
            one.data(data.select(np.array(numbers))),
            None if validation is None else one.data(validation),
            on_progress=renumbered(on_progress, numbers),
            whole=whole,
        )
        for t, result in zip(numbers, trained):
            results[t] = rewritten[t].restore(result, data.select(np.array([t])))
    return results


def _without_constants(result: Result, objective: Objective, k: int) -> Result:
    """Return the result of model k with weights of 0 for columns that are constant in its rows.

    The contribution of such a column to the scores is added to the bias. Columns can be constant in
    a fold that lacks the rows in which they vary.
    """
    if not objective.data.facts.is_weighted:
        return result  # columns that are constant in all rows are already left out
    own = objective.select(np.array([k]))
    values, (W, b) = own.data.constants(), (result.model.W, result.model.b)
    constant = np.isfinite(values) & W.any(axis=(1, 2))
    if not constant.any():
        return result
    b = b + (values[constant, None, None] * W[constant]).sum(axis=0)
    model = Model(np.where(constant[:, None, None], 0.0, W), b)
    primal = float(own.value(model)[0])
    return replace(result, model=model, certificate=result.certificate.of_objective(primal))


def _hand_over(
    tasks: Sequence[Task],
    results: Mapping[int, Result],
    data: Dataset,
    validation: Dataset | None,
    on_progress: Callable[[Progress], None] | None,
    whole: bool,
) -> dict[int, Result]:
    """Return the results of tasks whose solver stalled, after their fallback has continued."""
    later = fallback_tasks(tasks, results)
    if not later:
        return {}
    numbers = list(later)
    done = max(results[t].history.epochs for t in numbers)
    most = max(tasks[t].stop.epochs[0][0] for t in numbers)

    def forward(progress: Progress) -> None:
        assert on_progress is not None
        members = tuple(tuple(numbers[m] for m in same) for same in progress.members)
        on_progress(replace(progress, epoch=progress.epoch + done, epochs=most, members=members))

    found = train(
        list(later.values()),
        data.select(np.array(numbers)),
        validation,
        on_progress=None if on_progress is None else forward,
        whole=whole,
    )
    return {t: join_results(results[t], second) for t, second in zip(numbers, found)}


@dataclass
class _Interruption:
    """Whether a callback has asked to end the run."""

    asked: bool = False


def _note_interruption(
    on_progress: Callable[[Progress], None] | None,
) -> tuple[Callable[[Progress], None] | None, _Interruption]:
    """Wrap the callback, and note whether it has raised `Interrupted`."""
    interruption = _Interruption()
    if on_progress is None:
        return None, interruption
    inner = on_progress

    def forward(progress: Progress) -> None:
        try:
            inner(progress)
        except Interrupted:
            interruption.asked = True
            raise

    return forward, interruption


def _for_members(
    on_progress: Callable[[Progress], None] | None, runs: Iterable[Sequence[int]]
) -> Callable[[Progress], None] | None:
    """Wrap the callback, so that it gets the tasks that each model of its batch is trained for."""
    if on_progress is None:
        return None
    members = tuple(tuple(same) for same in runs)
    return lambda progress: on_progress(replace(progress, members=members))
