"""Make the records of trained runs: measures, history, weights and observations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.metrics import calibrate
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.facts import MEASURES
from separatrix.study.results.observations import (
    DATA_DIAGNOSES,
    LongerRun,
    epochs_needed,
    find_unconverged,
    observe_run,
)
from separatrix.study.results.pictures import WeightFrames, count_confusions
from separatrix.study.store.writer import RunRecord
from separatrix.training import History, Result
from separatrix.training.task import Task
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.smoothness import smoothness

TINY = float(np.finfo(np.float64).tiny)  # avoids the logarithm of 0


def record_runs(
    planned: StudyTasks,
    runs: Sequence[int],
    results: Sequence[Result],
    frames: Mapping[int, WeightFrames],
) -> list[RunRecord]:
    """Return the records of the runs of a batch. `frames` are weights during training, by run."""
    constants = _SmoothnessConstants(planned)
    longest = _longest_histories(planned, runs, results)
    overfits = _overfitting_runs(planned, runs, results)
    endless = _endless_objectives(results)
    longest_frames = _longest_frames(planned, frames)
    out = []
    for run, result in zip(runs, results):
        estimator, task = planned.estimators[run], planned.tasks[run]
        history = longest[planned.model_of[run]]
        estimator._set_fitted(_with_proof(result, endless), task.loss, planned.data.classes)
        estimator.diagnoses_ = [d.with_names(planned.feature_names) for d in estimator.diagnoses_]
        rows = _validate_rows(task.loss, result.model, planned.validation)
        L = constants.of(run)
        out.append(
            RunRecord(
                *planned.plan.runs[run],
                facts=_facts(
                    estimator, task, result, history, rows, L, overfits.get(planned.model_of[run])
                ),
                history=history,
                coef=estimator.coef_,
                intercept=estimator.intercept_,
                val_right=None if rows is None else rows.right,
                val_loss=None if rows is None else rows.losses,
                val_log_loss=None if rows is None else rows.log_losses,
                val_confusion=None if rows is None else rows.confusion,
                val_calibration=None if rows is None else rows.calibration,
                frames=longest_frames.get(planned.model_of[run]),
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


def _endless_objectives(results: Sequence[Result]) -> dict[str, Diagnosis]:
    """Return the objectives, by their formula, of which a run has proven that they have no minimum.

    Whether the proof is found depends on the weights of a run, but it holds for all of them.
    """
    return {
        result.objective: d for result in results for d in result.diagnoses if d.kind == "separable"
    }


def _with_proof(result: Result, endless: Mapping[str, Diagnosis]) -> Result:
    known = endless.get(result.objective)
    if known is None or any(d.kind == "separable" for d in result.diagnoses):
        return result
    return replace(result, diagnoses=[*result.diagnoses, known])


def _overfitting_runs(
    planned: StudyTasks, runs: Sequence[int], results: Sequence[Result]
) -> dict[int, LongerRun]:
    """Return for every model its shortest run that overfits."""
    found: dict[int, LongerRun] = {}
    for run, result in zip(runs, results):
        model, epochs = planned.model_of[run], result.history.epochs
        lowest = _lowest(result.history["val_loss"])
        if lowest is None or all(d.kind != "overfitting" for d in result.diagnoses):
            continue
        if model not in found or epochs < found[model].epochs:
            found[model] = LongerRun(epochs, lowest)
    return found


def _facts(
    estimator: LinearClassifier,
    task: Task,
    result: Result,
    longest: History,
    rows: _ValidationRows | None,
    L: float | None,
    overfits: LongerRun | None,
) -> dict[str, Any]:
    history, proof = result.history, result.certificate
    lowest = _lowest(history["val_loss"])
    diagnoses = estimator.diagnoses_
    endless = any(d.kind == "separable" for d in diagnoses)
    futile = endless or overfits is not None
    needed = None if futile else epochs_needed(history["objective"], longest["objective"])
    step = task.solver.step_size(0, 1)
    # The limits on the rate hold for steps on all rows only.
    limited = step if L and step is not None and step.batch_size is None else None
    return {
        "last": _at(history, history.epochs),
        "best": {} if lowest is None else _at(history, lowest),
        "kept": _kept(history, result.best_epoch, rows),
        "best_epoch": lowest,
        "kept_epoch": int(result.best_epoch),
        "epochs": history.epochs,
        "stop_reason": result.stop_reason,
        "relative_gap": None if proof.relative_gap is None else float(proof.relative_gap),
        "smoothness": L,
        "stable_rate": limited.stable_times / L if limited and L else None,
        "loss": task.loss.name,
        "link": _link(task),
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
            overfits=overfits,
        ),
        "kinds": [d.kind for d in diagnoses],
        "unsettled": find_unconverged(
            diagnoses, history["objective"], result.stop_reason, proof.relative_gap
        ),
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


def _kept(history: History, epoch: int, rows: _ValidationRows | None) -> dict[str, float | None]:
    """Return the measures of the kept weights. Epoch 0 means the starting weights."""
    kept = _at(history, epoch) if epoch else dict.fromkeys(MEASURES)
    if rows is not None:
        hits = rows.right if rows.shares is None else rows.right * rows.shares
        kept |= {"val_accuracy": float(hits.mean()), "val_loss": float(rows.losses.mean())}
    return kept


@dataclass(frozen=True, eq=False)
class _ValidationRows:
    """Of every validation row: correctly classified? its loss, its log-loss; and counts of them.

    If the rows have weights, the losses are multiplied by `shares`, the weights divided by their
    mean, so that the mean of the losses is the weighted one.
    """

    right: Array
    losses: Array
    log_losses: Array | None
    shares: Array | None
    confusion: Array | None
    calibration: Array | None


@np.errstate(over="ignore", invalid="ignore")
def _validate_rows(loss: Loss, model: Model, validation: Dataset | None) -> _ValidationRows | None:
    if validation is None:
        return None
    parts = validation.map_blocks(_validate_block, loss, model)
    y, found, losses = (np.concatenate([part[k] for part in parts]) for k in range(3))
    shares = _weight_shares(validation)
    factor = 1.0 if shares is None else shares
    log_losses = calibration = None
    if parts[0][3] is not None:
        P = np.concatenate([part[3] for part in parts])
        own = np.take_along_axis(P, y.reshape(-1, 1), axis=1)[:, 0]
        log_losses = -np.log(np.maximum(own.astype(np.float64), TINY)) * factor
        calibration = calibrate(y, P) if np.isfinite(P).all() else None
    return _ValidationRows(
        right=found == y,
        losses=losses * factor,
        log_losses=log_losses,
        shares=shares,
        confusion=count_confusions(y, found, len(validation.classes)),
        calibration=calibration,
    )


def _validate_block(
    block: Block, loss: Loss, model: Model
) -> tuple[Array, Array, Array, Array | None]:
    """Return labels, predictions, losses and probabilities of the rows of a block."""
    Z = model.scores(block.X)
    P = loss.probabilities(Z)
    losses = loss.value(block.y, Z)[:, 0].astype(np.float64)
    return block.y, loss.predict(Z)[:, 0], losses, None if P is None else P[:, 0]


def _weight_shares(validation: Dataset) -> Array | None:
    """Return the weights (n,) of the validation rows, divided by their mean; None without any."""
    if not validation.facts.is_weighted:
        return None
    weights = validation.weights()
    return weights / weights.mean()


def _link(task: Task) -> str:
    """Return how scores become probabilities: "softmax", "sigmoid" of each class, or "" if not."""
    if task.loss.probabilities(np.zeros((1, 1, task.n_outputs))) is None:
        return ""
    return "sigmoid" if isinstance(task.loss, OneVsRest) else "softmax"


def _longest_frames(
    planned: StudyTasks, frames: Mapping[int, WeightFrames]
) -> dict[int, WeightFrames]:
    """Return the most frames of every model, like the longest history."""
    longest: dict[int, WeightFrames] = {}
    for run, found in frames.items():
        model = planned.model_of[run]
        if model not in longest or len(found.epochs) > len(longest[model].epochs):
            longest[model] = found
    return longest


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
