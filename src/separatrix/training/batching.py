"""Group tasks into batches, and make the penalty and the start of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np

from separatrix.losses import Loss, OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training.task import Task


def share_passes(tasks: Sequence[Task], own_rows: bool = False) -> list[list[list[int]]]:
    """Group tasks: return the batches, each a list of models, each a list of tasks (positions).

    Tasks that differ only in their number of epochs share one model. With `own_rows` every task
    has its own weights or labels, and is its own model.
    """
    batches = []
    for members in _groups([_batch_key(task) for task in tasks]).values():
        keys = [(_run_key(tasks[t]), t if own_rows else 0) for t in members]
        batches.append(list(_groups(keys, names=members).values()))
    return batches


def batch_penalty(tasks: Sequence[Task]) -> ElasticNet:
    given = [task.factors for task in tasks]
    factors = None
    if any(f is not None for f in given):
        d = next(len(f) for f in given if f is not None)
        factors = np.stack([np.ones(d) if f is None else f for f in given], axis=1)
    l1, l2, bias = ([getattr(task, name) for task in tasks] for name in ("l1", "l2", "bias_factor"))
    return ElasticNet(l1, l2, factors, bias)


def batch_start(tasks: Sequence[Task], objective: Objective) -> Model:
    """Return the start of a batch, mostly zero. A task with a state is a batch of its own.

    A solver that finds the optimum starts from zero unless the given weights are better.
    """
    if tasks[0].state is not None:
        return tasks[0].state.model
    data = objective.data
    dtype = tasks[0].weight_type or data.dtype
    out = Model.zeros(data.n_features, len(tasks), tasks[0].n_outputs, dtype)
    given = np.array([k for k, task in enumerate(tasks) if task.start is not None], int)
    if not len(given):
        return out
    starts = Model.stack([task.start.astype(dtype) for task in tasks if task.start is not None])
    if tasks[0].precise:
        starts.W[data.constant_columns() == 0.0] = 0.0  # they would only raise the penalty
        some = objective.select(given)
        lower = some.value(starts) < some.value_of_zero(*starts.b.shape)
        given, starts = given[lower], starts.select(lower)
    out.put(given, starts)
    return out


def _batch_key(task: Task) -> Hashable:
    """Return the settings that all models of a batch share."""
    alone = None if task.state is None else id(task)
    return (
        _loss_key(task.loss),
        task.n_outputs,
        task.bias,
        task.precise,
        task.device,
        task.precision,
        task.rounds,
        task.ignores_constants,
        task.solver.shared_key(),
        task.stop.shared_key(),
        alone,
    )


def _loss_key(loss: Loss) -> Hashable:
    """Return the loss, or its identity if it cannot be hashed."""
    if isinstance(loss, OneVsRest):
        return OneVsRest, _loss_key(loss.base)
    try:
        hash(loss)
    except TypeError:
        return id(loss)
    return cast(Hashable, loss)


def _run_key(task: Task) -> Hashable:
    """Return what a run depends on besides its batch and its number of epochs."""
    start = None if task.start is None else (task.start.W.tobytes(), task.start.b.tobytes())
    factors = None if task.factors is None else task.factors.tobytes()
    own = (task.l1, task.l2, task.bias_factor)
    return (*own, factors, start, task.solver.own_key(), task.stop.own_key())


def _groups(
    keys: Sequence[Hashable], names: Sequence[int] | None = None
) -> dict[Hashable, list[int]]:
    """Group positions (or their names) by key, in the order in which the keys first appear."""
    groups: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position if names is None else names[position])
    return groups
