"""From tasks to results: which models share a pass, and which solver takes over from which."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from separatrix.arrays import Array
from separatrix.data import Dataset
from separatrix.losses import Loss, OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solver_choice import make_fallback, refuse_illegal
from separatrix.solvers import Interrupted, Newton, Progress, Result, Solver, State, Stop, run
from separatrix.solvers.dual import STALLED

STUCK = (STALLED, Newton.done_reason)  # ends of a run that another solver may lead farther


@dataclass(frozen=True)
class Task:
    """One model to train: what, how, when to stop and from where.

    `solver` and `stop` are those of a single model, `why` says in a sentence how the solver was
    chosen, `fallback` names the solver that takes over if it stalls; `factors` (d,) and
    `bias_factor` are those of the penalty; `start` is None for zero weights; `state` goes on from
    an earlier run instead. Weights are computed in the type of X, or, where `precise`, in float64
    whatever that is: a proof to many digits needs it, and would not be one of weights that are
    rounded afterwards.
    """

    loss: Loss
    n_outputs: int
    solver: Solver
    stop: Stop
    l1: float = 0.0
    l2: float = 0.0
    bias: bool = True
    factors: Array | None = None
    bias_factor: float = 0.0
    precise: bool = False
    start: Model | None = None
    state: State | None = None
    why: str = ""
    fallback: str | None = None

    @property
    def ignores_constants(self) -> bool:
        """Whether columns with one value get no weight: a free bias does at no cost what they can.

        Gradient descent is left as its texts describe it, on the columns that it is given.
        """
        return self.precise and self.bias and self.bias_factor == 0.0


def train(
    tasks: Sequence[Task],
    data: Dataset,
    validation: Dataset | None = None,
    *,
    on_record: Callable[[Progress], None] | None = None,
    keep_state: bool = False,
    whole: bool = True,
    resume: Mapping[str, Array] | None = None,
) -> list[Result]:
    """Train all tasks over the same rows, as few batches as possible.

    Tasks that can share a pass are one batch. Tasks that differ only in their number of epochs are
    one model, read off several times. `data` may hold weights (n, T), one column a task. `whole` is
    False if the rows are only a part of the data. `resume` is a checkpoint of these very tasks,
    which must be one batch. Models whose solver stalls go on with the fallback of their tasks.
    """
    for task in tasks:
        refuse_illegal(task.solver.name, task.loss, task.l1, task.l2)
    batches = share_passes(tasks, any(block.own() for block in data.blocks()))
    if resume is not None and len(batches) != 1:
        raise ValueError(
            f"A checkpoint is of one batch, and these tasks make {len(batches)}. Resume the tasks "
            "of one batch, as share_passes tells them."
        )
    results: dict[int, Result] = {}
    on_record, ears = _listen(on_record)
    for runs in batches:
        first = [tasks[same[0]] for same in runs]
        numbers = np.array([same[0] for same in runs])
        epochs = [tuple(sorted({tasks[t].stop.epochs[0][0] for t in same})) for same in runs]
        loss, bias = first[0].loss, first[0].bias
        rows = data.without_constants() if all(task.ignores_constants for task in first) else data
        objective = Objective(rows.select(numbers), loss, _penalty(first), bias=bias)
        held_out = None
        if validation is not None:
            held_out = Objective(validation, loss, ElasticNet(0.0, 0.0), bias=bias)
        readings = run(
            first[0].solver.join([task.solver for task in first]),
            objective,
            _starts(first, objective),
            Stop.join([task.stop for task in first], epochs),
            validation=held_out,
            on_record=_for_members(on_record, runs),
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
    if not ears.interrupted:
        results |= _hand_over(tasks, results, data, on_record, whole)
    return [results[t] for t in range(len(tasks))]


def _without_constants(result: Result, objective: Objective, k: int) -> Result:
    """The result of model k, with the weights of columns that are constant in its rows at 0.

    What such a column adds to the scores is added to the bias: a fold may lack the rows in which
    the column varies.
    """
    if all(block.s is None for block in objective.data.blocks()):
        return result  # columns with one value in all rows have been left out already
    own = objective.select(np.array([k]))
    values, (W, b) = own.data.constants(), (result.model.W, result.model.b)
    constant = np.isfinite(values) & W.any(axis=(1, 2))
    if not constant.any():
        return result
    b = b + (values[constant, None, None] * W[constant]).sum(axis=0)
    model = Model(np.where(constant[:, None, None], 0.0, W), b)
    primal = float(own.value(model)[0])
    return replace(result, model=model, certificate=result.certificate.of_objective(primal))


@dataclass
class _Ears:
    """Whether a callback has asked for the end of a run."""

    interrupted: bool = False


def _listen(
    on_record: Callable[[Progress], None] | None,
) -> tuple[Callable[[Progress], None] | None, _Ears]:
    """The callback, and what tells whether it has raised `Interrupted`."""
    ears = _Ears()
    if on_record is None:
        return None, ears
    tell = on_record

    def heard(progress: Progress) -> None:
        try:
            tell(progress)
        except Interrupted:
            ears.interrupted = True
            raise

    return heard, ears


def _hand_over(
    tasks: Sequence[Task],
    results: Mapping[int, Result],
    data: Dataset,
    on_record: Callable[[Progress], None] | None,
    whole: bool,
) -> dict[int, Result]:
    """The results of the tasks whose solver has stalled, after their fallback has gone on."""
    later: dict[int, Task] = {}
    for t, result in results.items():
        left, fallback = tasks[t].stop.epochs[0][0] - result.history.epochs, tasks[t].fallback
        gap = result.certificate.relative_gap
        short = gap is not None and gap > tasks[t].stop.tol[0]
        if short and result.stop_reason in STUCK and fallback is not None and left > 0:
            later[t] = replace(
                tasks[t],
                solver=make_fallback(fallback),
                stop=replace(tasks[t].stop, epochs=((left,),)),
                start=result.model,
                fallback=None,
            )
    if not later:
        return {}
    numbers = list(later)
    done = max(results[t].history.epochs for t in numbers)
    most = max(tasks[t].stop.epochs[0][0] for t in numbers)

    def heard(progress: Progress) -> None:
        assert on_record is not None
        members = tuple(tuple(numbers[m] for m in same) for same in progress.members)
        on_record(replace(progress, epoch=progress.epoch + done, epochs=most, members=members))

    found = train(
        list(later.values()),
        data.select(np.array(numbers)),
        on_record=None if on_record is None else heard,
        whole=whole,
    )
    return {t: _followed_by(results[t], second) for t, second in zip(numbers, found)}


def _followed_by(first: Result, second: Result) -> Result:
    """The result of a model that two solvers have trained, one after the other."""
    gap = first.certificate.relative_gap
    reached = "" if gap is None else f" at a relative {gap:.2g}"
    steps = first.history.epochs
    bound = -np.inf if first.certificate.dual is None else first.certificate.dual
    return replace(
        second,
        history=first.history.followed_by(second.history),
        best_epoch=steps + second.best_epoch if second.best_epoch else first.best_epoch,
        certificate=second.certificate.raised_to(bound),
        why=f"{first.why} Its duality gap stopped shrinking{reached} after {steps} steps, so "
        f"{second.solver} took over.",
    )


def share_passes(tasks: Sequence[Task], own_rows: bool = False) -> list[list[list[int]]]:
    """Which tasks are trained together: the batches, in each its models, of each its tasks.

    A model stands for all tasks (positions) that differ only in their number of epochs. With
    `own_rows` every task has weights or labels of its own, and is a model of its own.
    """
    batches = []
    for members in _groups([_batch_key(task) for task in tasks]).values():
        keys = [(_run_key(tasks[t]), t if own_rows else 0) for t in members]
        batches.append(list(_groups(keys, names=members).values()))
    return batches


def _for_members(
    on_record: Callable[[Progress], None] | None, runs: Iterable[Sequence[int]]
) -> Callable[[Progress], None] | None:
    """The callback, told which tasks each model of its batch is trained for."""
    if on_record is None:
        return None
    members = tuple(tuple(same) for same in runs)
    return lambda progress: on_record(replace(progress, members=members))


def _penalty(tasks: Sequence[Task]) -> ElasticNet:
    given = [task.factors for task in tasks]
    factors = None
    if any(f is not None for f in given):
        d = next(len(f) for f in given if f is not None)
        factors = np.stack([np.ones(d) if f is None else f for f in given], axis=1)
    l1, l2, bias = ([getattr(task, name) for task in tasks] for name in ("l1", "l2", "bias_factor"))
    return ElasticNet(l1, l2, factors, bias)


def _starts(tasks: Sequence[Task], objective: Objective) -> Model:
    """Where the models of a batch start from, mostly zero. One with a state is a batch alone.

    A search for the optimum starts from zero where the weights that are given are no better.
    """
    if tasks[0].state is not None:
        return tasks[0].state.model
    data = objective.data
    dtype = np.dtype(np.float64) if tasks[0].precise else data.dtype
    out = Model.zeros(data.n_features, len(tasks), tasks[0].n_outputs, dtype)
    given = np.array([k for k, task in enumerate(tasks) if task.start is not None], int)
    if not len(given):
        return out
    starts = Model.stack([task.start.astype(dtype) for task in tasks if task.start is not None])
    if tasks[0].precise:
        for block in data.blocks():  # weights of empty columns would only add to the penalty
            starts.W[block.X.constants() == 0.0] = 0.0
        some = objective.select(given)
        lower = some.value(starts) < some.value_of_zero(*starts.b.shape)
        given, starts = given[lower], starts.select(lower)
    out.put(given, starts)
    return out


def _batch_key(task: Task) -> Hashable:
    """What all models of a batch have in common."""
    alone = None if task.state is None else id(task)
    return (
        _loss_key(task.loss),
        task.n_outputs,
        task.bias,
        task.precise,
        task.ignores_constants,
        task.solver.shared_key(),
        task.stop.shared_key(),
        alone,
    )


def _loss_key(loss: Loss) -> Hashable:
    """The loss itself; for one that cannot be hashed, which object it is."""
    if isinstance(loss, OneVsRest):
        return OneVsRest, _loss_key(loss.base)
    try:
        hash(loss)
    except TypeError:
        return id(loss)
    return cast(Hashable, loss)


def _run_key(task: Task) -> Hashable:
    """What one run of a model depends on, besides its batch and its number of epochs."""
    start = None if task.start is None else (task.start.W.tobytes(), task.start.b.tobytes())
    factors = None if task.factors is None else task.factors.tobytes()
    own = (task.l1, task.l2, task.bias_factor)
    return (*own, factors, start, task.solver.own_key(), task.stop.own_key())


def _groups(
    keys: Sequence[Hashable], names: Sequence[int] | None = None
) -> dict[Hashable, list[int]]:
    """The positions (or their names) of equal keys, in the order in which they appear."""
    groups: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position if names is None else names[position])
    return groups
