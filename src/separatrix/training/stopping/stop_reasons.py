"""Decide why each running model stops: divergence, patience or small steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver
from separatrix.training.checkpoint import RunningModels
from separatrix.training.stopping.stopping_rules import Stop
from separatrix.verdict.gap_schedule import (
    first_certify_norms,
    first_gaps,
    gradient_size_at_zero,
)
from separatrix.verdict.trace import DIVERGED_EPOCHS, DIVERGED_TIMES


def watch_models(
    objective: Objective, state: State, stop: Stop, start_model: Model
) -> RunningModels:
    """Return what the loop remembers of every model, before the first epoch."""
    weights, value, host = state.model, state.found.value, state.on_host()
    B = len(value)
    return RunningModels(
        first=np.where(value > 0.0, value, np.nan),
        above=np.zeros(B, int),
        sane=weights if weights is start_model else weights.copy(),
        sane_epoch=np.zeros(B, int),
        best=weights.copy() if (stop.patience >= 0).any() else weights,
        best_epoch=np.zeros(B, int),
        best_score=np.full(B, np.inf),
        waited=np.zeros(B, int),
        last_score=np.full(B, np.inf),
        start_norm=gradient_size_at_zero(objective, host, stop.tol),
        certify_at=first_certify_norms(host),
        gap=first_gaps(host),
        bound=np.full(B, -np.inf),
    )


def note_divergence(models: RunningModels, value: Array, descends: bool) -> Array:
    """Return which objectives (B,) are finite and not far above the start; count the other epochs.

    A solver whose objective need not fall may rise by any amount.
    """
    models.first = np.where(np.isnan(models.first) & (value > 0.0), value, models.first)
    known = ~np.isnan(models.first) & descends
    limit = DIVERGED_TIMES * np.where(known, models.first, np.inf)
    sane = np.isfinite(value) & (value <= limit)
    models.above = np.where(sane, 0, models.above + 1)
    return np.asarray(sane)


def has_diverged(models: RunningModels, value: Array) -> Array:
    """Return which models (B,) are infinite or have been far above their start for many epochs."""
    return np.asarray(~np.isfinite(value) | (models.above >= DIVERGED_EPOCHS))


def has_come_back(models: RunningModels, course: Array) -> Array:
    """Return which models (B,) swing: they were far above their start, came back and are finite.

    `course` (B, epochs) are their objectives so far.
    """
    above = ~(
        course <= DIVERGED_TIMES * np.where(np.isnan(models.first), np.inf, models.first)[:, None]
    )
    came_back = (above[:, :-1] & ~above[:, 1:]).any(axis=1)
    return np.asarray(came_back & np.isfinite(course[:, -1]) & (models.above < DIVERGED_EPOCHS))


def note_validation(
    models: RunningModels,
    stop: Stop,
    records: Mapping[str, Array],
    solver: Solver,
    state: State,
    epoch: int,
) -> Array:
    """Keep the best weights of models with patience; return which have waited long enough (B,).

    A model that its solver continues with a lower rate waits anew.
    """
    score = -records["val_accuracy"] if stop.monitor == "accuracy" else records["val_loss"]
    measured = (stop.patience >= 0) & ~np.isnan(score)
    if not measured.any():
        return np.zeros(len(score), bool)
    better = measured & (score < models.best_score)
    copy_weights(models.best, state.model, better)
    models.best_epoch = np.where(better, epoch, models.best_epoch)
    models.best_score = np.where(better, score, models.best_score)
    if stop.patience_rule == "best":
        models.waited = np.where(better, 0, models.waited + measured)
        enough = models.waited >= np.maximum(stop.patience, 1)
    else:
        risen = measured & (score > models.last_score)
        models.waited = np.where(risen, models.waited + 1, np.where(measured, 0, models.waited))
        enough = models.waited > stop.patience
    models.last_score = np.where(measured, score, models.last_score)
    enough = measured & enough
    lowered = solver.lower_rates(state, enough)
    models.waited = np.where(lowered, 0, models.waited)
    return np.asarray(enough & ~lowered)


def took_small_step(model: Model, before: Model | None, step_tol: Array) -> Array:
    """Return which models (B,) changed every weight and bias by at most `step_tol` in an epoch."""
    if before is None:
        return np.zeros(len(step_tol), bool)
    return np.asarray(model.largest_change(before) <= step_tol)


def first_reasons(tests: Mapping[str, Array]) -> list[str]:
    """Return for each model the first reason whose test (B,) holds; "" if it continues.

    >>> first_reasons({"tol": np.array([False, True]), "patience": np.array([False, True])})
    ['', 'tol']
    """
    count = len(next(iter(tests.values())))
    if not np.any(list(tests.values())):
        return [""] * count
    return [next((name for name, test in tests.items() if test[i]), "") for i in range(count)]


def copy_weights(kept: Model, current: Model, which: Array) -> None:
    """Copy the current weights of the models in the mask `which`."""
    if which.all():
        kept.assign(current)
    elif which.any():
        kept.put(which, current.select(which))
