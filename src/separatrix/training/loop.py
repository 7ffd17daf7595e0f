"""The training loop: it records, stops, drops finished models, writes checkpoints and resumes.

A solver improves all models of a batch by one epoch; everything else is here. Every decision about
a model uses its own numbers only, so no model depends on the others of its batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver
from separatrix.training.checkpoint import (
    FinishedModel,
    Snapshot,
    fingerprint,
    pack_snapshot,
    refuse_foreign,
    unpack_snapshot,
)
from separatrix.training.recording.history import FIELDS
from separatrix.training.recording.progress import Interrupted, Progress
from separatrix.training.result import Result, make_results
from separatrix.training.stopping.certain_predictions import are_predictions_certain
from separatrix.training.stopping.stop_reasons import (
    copy_weights,
    first_reasons,
    has_come_back,
    has_diverged,
    note_divergence,
    note_validation,
    took_small_step,
    watch_models,
)
from separatrix.training.stopping.stopping_rules import Stop
from separatrix.verdict.gap_schedule import (
    GapCheck,
    certify_some,
    check_gaps,
    proven_gaps,
)

FIRST_RECORDS = 64  # epochs for which a history has room at first


@np.errstate(over="ignore", invalid="ignore")  # divergence is reported as a diagnosis
def run(
    solver: Solver,
    objective: Objective,
    model: Model,
    stop: Stop,
    *,
    validation: Objective | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    state: State | None = None,
    keep_state: bool = False,
    resume: Mapping[str, Array] | None = None,
    whole: bool = True,
) -> list[list[Result]]:
    """Train a batch of models until each has a reason to stop.

    Parameters
    ----------
    solver, objective, model : the solver, the objective and the start; `model` is not changed
    stop : when to stop each model, and at which epochs to read it off
    validation : the objective on validation rows, recorded and used for early stopping
    on_progress : called after every epoch; it may raise `Interrupted`
    state : continue from the state of an earlier run instead of from `model`
    keep_state : whether results contain the state from which a later run can continue
    resume : the arrays of a checkpoint of this run; a checkpoint of another run is refused
    whole : False if the rows are only a part of the data, whose classes cannot be judged by them

    Returns
    -------
    For every model, a list with one result for each epoch at which it is read off.
    """
    batch = _Batch(solver, objective, model, stop, validation, keep_state, whole)
    if resume is not None:
        batch.restore(resume)
    else:
        batch.begin(state)
    while len(batch.running):
        batch.advance()
        if on_progress is not None:
            try:
                on_progress(batch.progress())
            except Interrupted:
                batch.interrupt()
        batch.drop()
    return batch.results()


class _Batch:
    def __init__(
        self,
        solver: Solver,
        objective: Objective,
        model: Model,
        stop: Stop,
        validation: Objective | None,
        keep_state: bool,
        whole: bool,
    ) -> None:
        self.keep_state, self.whole_data = keep_state, whole
        self.whole, self.start_model = objective, model
        self.all_stop, self.all_solver, self.all_validation = stop, solver, validation
        self.running = np.arange(model.n_models)
        self.epochs = max(points[-1] for points in stop.epochs)
        self.finished: list[FinishedModel] = []
        shape = (len(FIELDS), model.n_models, min(self.epochs, FIRST_RECORDS))
        self.history = np.full(shape, np.nan)
        self.seconds = 0.0
        self._focus(self.running)

    def _focus(self, running: Array) -> None:
        """Restrict the batch to the running models."""
        self.running = running
        self._unsaved = np.zeros(len(running), bool)
        every = len(running) == self.start_model.n_models
        self.solver = self.all_solver if every else self.all_solver.select(running)
        self.objective = self.whole if every else self.whole.select(running)
        self.stop = self.all_stop if every else self.all_stop.select(running)
        self._ends = {point for points in self.stop.epochs for point in points}
        self.validation = self.all_validation
        if self.validation is not None and not every:
            self.validation = self.validation.select(running)

    def begin(self, state: State | None) -> None:
        self.began = time.perf_counter()
        if state is None:
            self.state = self.solver.start(self.objective, self.start_model)
        else:  # a copy, evaluated on the rows of this run, which may differ from the last run's
            state = state.select(self.running).moved(self._place)
            self.state = replace(state, found=self.objective.evaluate(state.model))
        # Epochs of an earlier run count for schedules, but not in this run's history.
        self.offset = self.state.epoch
        self.start_value = self.state.found.value.copy()
        self.running_models = watch_models(self.objective, self.state, self.stop, self.start_model)
        self._end_without_epochs()

    def _end_without_epochs(self) -> None:
        """Read off the models that are to be trained for 0 epochs."""
        self.gap_check = GapCheck(np.zeros(len(self.running), bool), {})
        epochs = self.stop.epochs
        self._read_off([(i, 0, "epochs") for i, points in enumerate(epochs) if not points[0]])
        self._over = np.array([points[-1] == 0 for points in epochs])
        self.drop()

    @property
    def epoch(self) -> int:
        return self.state.epoch - self.offset

    def advance(self) -> None:
        """Train all running models for one epoch, record it and decide which models stop."""
        before = self.state.model.copy() if np.isfinite(self.stop.step_tol).any() else None
        self.state = self.solver.step(self.objective, self.state)
        self._record()
        sane = self._note_divergence()
        waited = note_validation(
            self.running_models, self.stop, self.records, self.solver, self.state, self.epoch
        )
        self.gap_check = check_gaps(self.objective, self.state, self.running_models, self.stop.tol)
        tests = {
            "diverged": has_diverged(self.running_models, self.records["objective"]),
            "predictions": self._have_certain_predictions(),
            "tol": self.gap_check.solved,
            self.solver.done_reason: self.state.done,
            "gradient_tol": self.records["gradient_norm"] <= self.stop.gradient_tol,
            "step_tol": took_small_step(self.state.model, before, self.stop.step_tol),
            "patience": waited,
            "time_limit": np.full(len(self.running), self.stop.is_late(self.seconds)),
        }
        self._stop(first_reasons(tests), sane)

    def _have_certain_predictions(self) -> Array:
        gaps = proven_gaps(self.state, self.running_models, self.stop.tol, self.gap_check)
        model, held_out = self.state.model, self.validation
        return are_predictions_certain(
            self.objective, held_out, model, gaps, self.stop.band, self.epoch
        )

    def _record(self) -> None:
        found, at = self.state.found, self.epoch - 1
        if at >= self.history.shape[2]:
            more = np.full((*self.history.shape[:2], min(at, self.epochs - at)), np.nan)
            self.history = np.concatenate([self.history, more], axis=2)
        val_loss = val_accuracy = np.full(len(self.running), np.nan)
        if self.validation is not None and self.epoch % self.stop.validate_every == 0:
            val_loss, val_accuracy = self.validation.loss_and_accuracy(self.state.model)
        self.seconds = time.perf_counter() - self.began
        values = (
            found.loss,
            found.accuracy,
            val_loss,
            val_accuracy,
            found.value,
            found.gradient_norm,
            np.full(len(self.running), self.seconds),
        )
        self.records = dict(zip(FIELDS, values))
        self.history[:, self.running, at] = values

    def _note_divergence(self) -> Array:
        """Return which models' objectives are finite and not far above the start."""
        running_models, value = self.running_models, self.records["objective"]
        sane = note_divergence(running_models, value, self.solver.descends)
        # With dual variables the objective rises and falls, so the lowest point is kept.
        kept = sane & (value < self._value_kept()) if self.state.duals else sane
        self._unsaved = kept
        running_models.sane_epoch = np.where(kept, self.epoch, running_models.sane_epoch)
        return sane

    def _value_kept(self) -> Array:
        """Return the objective (B,) at the epoch whose weights are kept as the last sane ones."""
        epochs, at = self.running_models.sane_epoch, FIELDS.index("objective")
        recorded = self.history[at, self.running, np.maximum(epochs - 1, 0)]
        return np.where(epochs > 0, recorded, self.start_value[self.running])

    def _save_sane(self) -> None:
        """Keep this epoch's weights, if sane, in a copy of the start: the next may spoil them."""
        if self._unsaved.any() and self.running_models.sane is self.start_model:
            self.running_models.sane = self.start_model.copy()
        copy_weights(self.running_models.sane, self.state.model, self._unsaved)
        self._unsaved = np.zeros(len(self.running), bool)

    def _stop(self, reasons: list[str], sane: Array) -> None:
        """Read off the models that stop, and the models that reach one of their epochs."""
        self._over, ends = np.zeros(len(self.running), bool), []
        if self.epoch not in self._ends and not any(reasons):
            return
        # However a run ends, it counts as diverged if it rose far above its start and stayed there.
        course = self.history[FIELDS.index("objective"), self.running, : self.epoch]
        sane = sane | has_come_back(self.running_models, course)
        for i, found in enumerate(reasons):
            reason = "diverged" if found and not sane[i] else found
            points = self.stop.epochs[i]
            due = [k for k, point in enumerate(points) if point >= self.epoch]
            if not reason and points[due[0]] == self.epoch:
                due = due[:1]
                reason = "epochs" if sane[i] else "diverged"
                self._over[i] = points[-1] == self.epoch
            elif reason:
                self._over[i] = True
            else:
                continue
            ends += [(i, reading, reason) for reading in due]
        self._read_off(ends)

    def _read_off(self, ends: list[tuple[int, int, str]]) -> None:
        """Read off models (positions) at their current weights, each for one reading."""
        sources = [self._kept_weights(i, reason) for i, _, reason in ends]
        weights: list[Model] = [self.state.model] * len(ends)
        for source in {id(source): source for source, _ in sources}.values():
            mine = [k for k, (own, _) in enumerate(sources) if own is source]
            parts = source.split(np.array([ends[k][0] for k in mine]))
            for k, part in zip(mine, parts):
                weights[k] = part
        for (i, reading, reason), (source, kept), own in zip(ends, sources, weights):
            self.finished.append(self._finished(i, reading, reason, source, kept, own))

    def _kept_weights(self, i: int, reason: str) -> tuple[Model, int]:
        """Return the models that contain the kept weights of model i, and their epoch."""
        running_models = self.running_models
        risen = bool(self.state.duals) and running_models.sane_epoch[i] < self.epoch
        if reason == "diverged" or risen:
            return running_models.sane, int(running_models.sane_epoch[i])
        if running_models.best_epoch[i] > 0:
            return running_models.best, int(running_models.best_epoch[i])
        return self.state.model, self.epoch

    def _finished(
        self, i: int, reading: int, reason: str, source: Model, kept: int, weights: Model
    ) -> FinishedModel:
        one, certificate = np.array([i]), None
        go_on = self.keep_state and reason != "diverged"
        if source is self.state.model:
            certificate = self.gap_check.certificates.get(i)
            if certificate is None and self.state.duals:
                certificate = certify_some(self.objective, self.state, self.running_models, one)[i]
        return FinishedModel(
            int(self.running[i]),
            reading,
            weights,
            reason,
            self.epoch,
            kept,
            self.state.select(one).on_host() if go_on else None,
            certificate,
            float(self.running_models.bound[i]),
        )

    def interrupt(self) -> None:
        """Read off all models that are still running, at their current weights."""
        self._read_off(
            [
                (i, reading, "interrupted")
                for i in np.flatnonzero(~self._over).tolist()
                for reading, point in enumerate(self.stop.epochs[i])
                if point > self.epoch
            ]
        )
        self._over[:] = True

    def drop(self) -> None:
        """Remove finished models from the batch."""
        keep = np.flatnonzero(~self._over)
        if len(keep):
            self._save_sane()
        if not self._over.any():
            return
        if len(keep):
            self.state = self.state.select(keep)
            self.running_models = self.running_models.select(keep)
        self._focus(self.running[keep])

    def progress(self) -> Progress:
        members = tuple((m,) for m in range(self.start_model.n_models))
        return Progress(
            self.epoch,
            self.epochs,
            self.running,
            self.records,
            proven_gaps(self.state, self.running_models, self.stop.tol, self.gap_check),
            self.checkpoint,
            members,
            self.ended,
            lambda: self.state.model.copy().on_host(),
        )

    def ended(self) -> dict[tuple[int, int], str]:
        """Return the stop reasons of the models read off, by model and number of epochs."""
        points = self.all_stop.epochs
        return {(f.model, points[f.model][f.reading]): f.reason for f in self.finished}

    def results(self) -> list[list[Result]]:
        """Certify and diagnose all models that were read off, as one batch."""
        found = make_results(
            self.finished,
            self.whole,
            self.all_solver,
            self.history,
            self.start_model,
            self.start_value,
            self.offset,
            whole_data=self.whole_data,
            validation=self.all_validation,
        )
        out: list[list[Result | None]] = [[None] * len(p) for p in self.all_stop.epochs]
        for f, result in zip(self.finished, found):
            out[f.model][f.reading] = result
        return [[result for result in row if result is not None] for row in out]

    def _place(self, model: Model) -> Model:
        """Return a model where the solver keeps it."""
        return self.solver.place(self.objective, model)

    def checkpoint(self) -> dict[str, Array]:
        """Return everything needed to continue the run, as plain arrays."""
        self._save_sane()
        keep = np.flatnonzero(~self._over)
        return fingerprint(self.all_solver, self.whole, self.start_model) | pack_snapshot(
            Snapshot(
                running=self.running[keep],
                state=self.state.select(keep).on_host(),
                running_models=self.running_models.select(keep).moved(
                    lambda model: model.on_host()
                ),
                finished=self.finished,
                history=self.history,
                start_value=self.start_value,
                offset=self.offset,
                seconds=self.seconds,
            )
        )

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state in which `checkpoint` was called."""
        refuse_foreign(arrays, fingerprint(self.all_solver, self.whole, self.start_model))
        there = unpack_snapshot(arrays, self.whole)
        self._focus(there.running)
        for f in there.finished:
            if self.keep_state and f.state is None and f.reason != "diverged":
                raise ValueError(
                    f"Model {f.model} was finished when the checkpoint was written, by a run with "
                    "keep_state=False: its state was not kept. Resume with keep_state=False."
                )
        self.state, self.finished = there.state.moved(self._place), there.finished
        if self.state.model is not there.state.model:  # on a device, where the gradient is needed
            self.state.found = self.objective.evaluate(self.state.model)
        self.running_models = there.running_models.moved(self._place)
        self.history, self.start_value = there.history, there.start_value
        self.offset, self.seconds = there.offset, there.seconds
        self.began = time.perf_counter() - self.seconds
