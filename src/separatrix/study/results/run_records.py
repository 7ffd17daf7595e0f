"""Make the records of trained runs: measures, history, weights and observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.data import Dataset
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.facts import MEASURES
from separatrix.study.results.observations import (
    DATA_DIAGNOSES,
    epochs_needed,
    find_unconverged,
    observe_run,
)
from separatrix.study.store.writer import RunRecord
from separatrix.training import History, Result
from separatrix.training.task import Task
from separatrix.verdict.smoothness import smoothness

TINY = float(np.finfo(np.float64).tiny)  # avoids the logarithm of 0


def record_runs(
    planned: StudyTasks, runs: Sequence[int], results: Sequence[Result]
) -> list[RunRecord]:
    """Return the records of the runs of a batch."""
    constants = _SmoothnessConstants(planned)
    longest = _longest_histories(planned, runs, results)
    shares = _weight_shares(planned.validation)
    out = []
    for run, result in zip(runs, results):
        estimator, task = planned.estimators[run], planned.tasks[run]
        history = longest[planned.model_of[run]]
        estimator._set_fitted(result, task.loss, planned.data.classes)
        right, losses, log_losses = _validate_rows(task.loss, result.model, planned.validation)
        L = constants.of(run)
        out.append(
            RunRecord(
                *planned.plan.runs[run],
                facts=_facts(estimator, task, result, history, right, losses, shares, L),
                history=history,
                coef=estimator.coef_,
                intercept=estimator.intercept_,
                val_right=right,
                val_loss=losses,
                val_log_loss=log_losses,
            )
        )
    return out


def _longest_histories(
    planned: StudyTasks, runs: Sequence[int], results: Sequence[Result]
) -> dict[int, History]:
    """Return the longest history of every model, which contains those of its other runs."""
    longest: dict[int, History] = {}
    for run, result in zip(runs, results):
        model = planned.model_of[run]
        if model not in longest or result.history.epochs > longest[model].epochs:
            longest[model] = result.history
    return longest


def _facts(
    estimator: LinearClassifier,
    task: Task,
    result: Result,
    longest: History,
    right: Array | None,
    losses: Array | None,
    shares: Array | None,
    L: float | None,
) -> dict[str, Any]:
    history, proof = result.history, result.certificate
    lowest = _lowest(history["val_loss"])
    diagnoses = estimator.diagnoses_
    endless = any(d.kind == "separable" for d in diagnoses)
    needed = None if endless else epochs_needed(history["objective"], longest["objective"])
    step = task.solver.step_size(0, 1)
    # The limits on the rate hold for steps on all rows only.
    limited = step if L and step is not None and step.batch_size is None else None
    return {
        "last": _at(history, history.epochs),
        "best": {} if lowest is None else _at(history, lowest),
        "kept": _kept(history, result.best_epoch, right, losses, shares),
        "best_epoch": lowest,
        "kept_epoch": int(result.best_epoch),
        "epochs": history.epochs,
        "stop_reason": result.stop_reason,
        "relative_gap": None if proof.relative_gap is None else float(proof.relative_gap),
        "smoothness": L,
        "stable_rate": limited.stable_times / L if limited and L else None,
        "loss": task.loss.name,
        "objective": result.objective,
        "observations": observe_run(
            diagnoses,
            history,
            estimator.get_params(deep=False),
            stop_reason=result.stop_reason,
            kept_epoch=int(result.best_epoch),
            relative_gap=proof.relative_gap,
            safe_rate=limited.safe_rate(L) if limited and L else None,
            needed=needed,
        ),
        "kinds": [d.kind for d in diagnoses],
        "unsettled": find_unconverged(diagnoses, history["objective"]),
        "epochs_needed": None if needed is None else round(math.sqrt(math.prod(needed))),
        "data_findings": [
            {"kind": d.kind, "message": d.message, "remedy": d.remedy, "complete": d.complete}
            for d in diagnoses
            if d.kind in DATA_DIAGNOSES
        ],
        "seconds": float(history["seconds"][-1]),
    }


def _lowest(val_loss: Array) -> int | None:
    """Return the epoch (from 1) with the lowest validation loss, or None without such a loss."""
    measured = np.flatnonzero(np.isfinite(val_loss))
    return int(measured[np.argmin(val_loss[measured])]) + 1 if len(measured) else None


def _at(history: History, epoch: int) -> dict[str, float | None]:
    found = {name: float(history[name][epoch - 1]) for name in MEASURES}
    return {name: None if np.isnan(value) else value for name, value in found.items()}


def _kept(
    history: History,
    epoch: int,
    right: Array | None,
    losses: Array | None,
    shares: Array | None,
) -> dict[str, float | None]:
    """Return the measures of the kept weights. Epoch 0 means the starting weights."""
    kept = _at(history, epoch) if epoch else dict.fromkeys(MEASURES)
    if right is not None and losses is not None:
        hits = right if shares is None else right * shares
        kept |= {"val_accuracy": float(hits.mean()), "val_loss": float(losses.mean())}
    return kept


@np.errstate(over="ignore", invalid="ignore")
def _validate_rows(
    loss: Loss, model: Model, validation: Dataset | None
) -> tuple[Array | None, Array | None, Array | None]:
    """Whether each validation row is classified correctly, its loss, and its log-loss.

    If the rows have weights, the losses are multiplied by them, so that their mean is the weighted
    mean of the losses.
    """
    if validation is None:
        return None, None, None
    right, losses, log_losses = [], [], []
    for block in validation.blocks():
        Z = model.scores(block.X)
        right.append(loss.predict(Z)[:, 0] == block.y)
        losses.append(loss.value(block.y, Z)[:, 0].astype(np.float64))
        P = loss.probabilities(Z)
        if P is not None:
            own = np.take_along_axis(P[:, 0], block.y.reshape(-1, 1), axis=1)[:, 0]
            log_losses.append(-np.log(np.maximum(own.astype(np.float64), TINY)))
    shares = _weight_shares(validation)
    factor = 1.0 if shares is None else shares
    found = np.concatenate(log_losses) * factor if log_losses else None
    return np.concatenate(right), np.concatenate(losses) * factor, found


def _weight_shares(validation: Dataset | None) -> Array | None:
    """Return the weights (n,) of the validation rows, divided by their mean; None without any."""
    if validation is None or all(block.s is None for block in validation.blocks()):
        return None
    weights: Array = np.concatenate([block.weights for block in validation.blocks()])
    return weights / weights.mean()


class _SmoothnessConstants:
    """The bound L on the curvature for every run: of the loss, computed once, plus its l2."""

    def __init__(self, planned: StudyTasks) -> None:
        self.planned = planned
        self.known: dict[Any, float | None] = {}

    def of(self, run: int) -> float | None:
        task, data = self.planned.tasks[run], self.planned.data
        if task.factors is not None:
            return None
        own = run if self.planned.own_weights else None
        key = (task.loss.name, task.loss.margin, task.n_outputs, task.bias, own)
        if key not in self.known:
            objective = Objective(
                data.select(np.array([run])), task.loss, ElasticNet(0.0, 0.0), bias=task.bias
            )
            L = smoothness(objective, Model.zeros(data.n_features, 1, task.n_outputs))
            self.known[key] = None if L is None else float(L[0])
        found = self.known[key]
        return None if found is None else found + task.l2
