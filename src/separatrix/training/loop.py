"""The one training loop: it records, stops, drops finished models, checkpoints and resumes.

A solver improves all models of a batch by one epoch; everything else is here. Every decision is
made for each model on its own numbers, so that no model depends on its neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solvers.protocol import Solver
from separatrix.state import State
from separatrix.training.checkpoint import (
    FinishedModel,
    RunningModels,
    Snapshot,
    fingerprint,
    pack,
    refuse_foreign,
    unpack,
)
from separatrix.training.history import FIELDS, History
from separatrix.training.result import Result
from separatrix.training.stop import Stop
from separatrix.verdict.certificate import Certificate, certify
from separatrix.verdict.diagnose import diagnose
from separatrix.verdict.gap_schedule import (
    Proof,
    certify_some,
    first_gaps,
    first_looks,
    prove,
    proven_gaps,
    size_of_nothing,
)
from separatrix.verdict.trace import DIVERGED_EPOCHS, DIVERGED_TIMES, Trace

FIRST_RECORDS = 64  # epochs that there is room for in a history at first


class Interrupted(Exception):  # noqa: N818 (nothing is wrong)
    """Raised by a callback to end a run: every model is kept as it stands."""


@dataclass(frozen=True)
class Progress:
    """What a callback sees after every epoch.

    Attributes
    ----------
    epoch : epochs done
    epochs : epochs at most
    running : numbers of the models of this batch that are still trained
    records : the history's fields at this epoch, one value for each running model
    gap : the relative duality gap proven at this epoch, one for each running model; NaN where none
        was looked for, since only `tol` asks for one
    checkpoint : call it to get arrays from which `run(..., resume=...)` goes on bit for bit
    members : for every model of this batch, the numbers of the estimators it is trained for: their
        places in the list given to `fit_many`
    ended : call it to get why runs of this batch ended so far: the reason by the number of the
        model and the epochs asked for
    """

    epoch: int
    epochs: int
    running: Array
    records: dict[str, Array]
    gap: Array
    checkpoint: Callable[[], dict[str, Array]]
    members: tuple[tuple[int, ...], ...]
    ended: Callable[[], dict[tuple[int, int], str]]


@np.errstate(over="ignore", invalid="ignore")  # what diverges is told in words
def run(
    solver: Solver,
    objective: Objective,
    model: Model,
    stop: Stop,
    *,
    validation: Objective | None = None,
    on_record: Callable[[Progress], None] | None = None,
    state: State | None = None,
    keep_state: bool = False,
    resume: Mapping[str, Array] | None = None,
    whole: bool = True,
) -> list[list[Result]]:
    """Train a batch of models until each has a reason to stop.

    Parameters
    ----------
    solver, objective, model : how, what, and from where; `model` is not changed
    stop : when to stop each model, and at which epochs to read it off
    validation : the objective on rows held out, recorded and watched by patience
    on_record : called after every epoch; it may raise `Interrupted`
    state : go on from the state of an earlier run, instead of from `model`
    keep_state : whether results carry the state from which a later run can go on
    resume : arrays of a checkpoint of this very run; those of another are refused
    whole : False if the rows are only a part of the data, from which its classes cannot be judged

    Returns
    -------
    For every model a list with one result for each epoch at which it is read off.
    """
    batch = _Batch(solver, objective, model, stop, validation, keep_state, whole)
    if resume is not None:
        batch.restore(resume)
    else:
        batch.begin(state)
    while len(batch.running):
        batch.advance()
        if on_record is not None:
            try:
                on_record(batch.progress())
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
        self.history = np.full(
            (len(FIELDS), model.n_models, min(self.epochs, FIRST_RECORDS)), np.nan
        )
        self.seconds = 0.0
        self._focus(self.running)

    def _focus(self, running: Array) -> None:
        """Look at the running models only."""
        self.running = running
        self._unsaved = np.zeros(len(running), bool)
        every = len(running) == self.start_model.n_models
        self.solver = self.all_solver if every else self.all_solver.select(running)
        self.objective = self.whole if every else self.whole.select(running)
        self.stop = self.all_stop if every else self.all_stop.select(running)
        self.validation = self.all_validation
        if self.validation is not None and not every:
            self.validation = self.validation.select(running)

    def begin(self, state: State | None) -> None:
        self.began = time.perf_counter()
        if state is None:
            self.state = self.solver.start(self.objective, self.start_model)
        else:  # a copy, seen on the rows of this run: they need not be those of the last one
            state = state.select(self.running)
            self.state = replace(state, found=self.objective.evaluate(state.model))
        # An earlier run's epochs count for schedules, not for this run's history.
        self.offset = self.state.epoch
        weights, value, B = self.state.model, self.state.found.value, len(self.running)
        self.start_value = value.copy()
        self.watch = RunningModels(
            first=np.where(value > 0.0, value, np.nan),
            above=np.zeros(B, int),
            sane=weights if weights is self.start_model else weights.copy(),
            sane_epoch=np.zeros(B, int),
            best=weights.copy() if (self.stop.patience >= 0).any() else weights,
            best_epoch=np.zeros(B, int),
            best_score=np.full(B, np.inf),
            waited=np.zeros(B, int),
            last_score=np.full(B, np.inf),
            start_norm=size_of_nothing(self.objective, self.state, self.stop.tol),
            certify_at=first_looks(self.state),
            gap=first_gaps(self.state),
            bound=np.full(B, -np.inf),
        )

    @property
    def epoch(self) -> int:
        return self.state.epoch - self.offset

    def advance(self) -> None:
        """One epoch for all running models, recorded and judged."""
        before = self.state.model.copy() if np.isfinite(self.stop.step_tol).any() else None
        self.state = self.solver.step(self.objective, self.state)
        self._record()
        sane = self._follow_sanity()
        waited_enough = self._follow_validation()
        self.proof: Proof = prove(self.objective, self.state, self.watch, self.stop.tol)
        self._stop(self._reasons(waited_enough, before), sane)

    def _record(self) -> None:
        found, at = self.state.found, self.epoch - 1
        if at >= self.history.shape[2]:
            more = np.full((*self.history.shape[:2], min(at, self.epochs - at)), np.nan)
            self.history = np.concatenate([self.history, more], axis=2)
        B = len(self.running)
        val_loss = val_accuracy = np.full(B, np.nan)
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
            np.full(B, self.seconds),
        )
        self.records = dict(zip(FIELDS, values))
        self.history[:, self.running, at] = values

    def _follow_sanity(self) -> Array:
        """Which models' objectives are finite and not far above the start."""
        watch, value = self.watch, self.records["objective"]
        watch.first = np.where(np.isnan(watch.first) & (value > 0.0), value, watch.first)
        known = ~np.isnan(watch.first) & self.solver.descends
        limit = DIVERGED_TIMES * np.where(known, watch.first, np.inf)
        sane = np.isfinite(value) & (value <= limit)
        watch.above = np.where(sane, 0, watch.above + 1)
        # The objective of a solver with dual variables rises and falls: the lowest point is kept.
        kept = sane & (value < self._value_kept()) if self.state.duals else sane
        self._unsaved = kept
        watch.sane_epoch = np.where(kept, self.epoch, watch.sane_epoch)
        return sane

    def _value_kept(self) -> Array:
        """The objective (B,) at the epoch whose weights are kept as the last sane ones."""
        epochs, at = self.watch.sane_epoch, FIELDS.index("objective")
        recorded = self.history[at, self.running, np.maximum(epochs - 1, 0)]
        return np.where(epochs > 0, recorded, self.start_value[self.running])

    def _save_sane(self) -> None:
        """Keep the weights of this epoch where they are sane: the next one may spoil them."""
        if self._unsaved.any() and self.watch.sane is self.start_model:  # which is not changed
            self.watch.sane = self.start_model.copy()
        _keep(self.watch.sane, self.state.model, self._unsaved)
        self._unsaved = np.zeros(len(self.running), bool)

    def _follow_validation(self) -> Array:
        """Keep the best weights of models with patience; say which have waited long enough."""
        watch, stop = self.watch, self.stop
        patient = stop.patience >= 0
        score = self.records["val_loss"]
        if stop.monitor == "accuracy":
            score = -self.records["val_accuracy"]
        measured = patient & ~np.isnan(score)
        if not measured.any():
            return np.zeros(len(self.running), bool)
        better = measured & (score < watch.best_score)
        _keep(watch.best, self.state.model, better)
        watch.best_epoch = np.where(better, self.epoch, watch.best_epoch)
        watch.best_score = np.where(better, score, watch.best_score)
        if stop.patience_rule == "best":
            watch.waited = np.where(better, 0, watch.waited + measured)
            enough = watch.waited >= np.maximum(stop.patience, 1)
        else:
            risen = measured & (score > watch.last_score)
            watch.waited = np.where(risen, watch.waited + 1, np.where(measured, 0, watch.waited))
            enough = watch.waited > stop.patience
        watch.last_score = np.where(measured, score, watch.last_score)
        return measured & enough

    def _reasons(self, waited_enough: Array, before: Model | None) -> list[str]:
        """Why each running model stops now; "" for those that go on."""
        value, watch = self.records["objective"], self.watch
        small_gradient = self.records["gradient_norm"] <= self.stop.gradient_tol
        small_step = np.zeros(len(self.running), bool)
        if before is not None:
            model = self.state.model
            change = np.abs(model.W - before.W).max(axis=(0, 2), initial=0.0)
            change = np.maximum(change, np.abs(model.b - before.b).max(axis=1))
            small_step = change <= self.stop.step_tol
        limit = self.stop.time_limit
        late = limit is not None and self.seconds >= limit
        tests = {
            "diverged": ~np.isfinite(value) | (watch.above >= DIVERGED_EPOCHS),
            "tol": self.proof.solved,
            self.solver.done_reason: self.state.done,
            "gradient_tol": small_gradient,
            "step_tol": small_step,
            "patience": waited_enough,
            "time_limit": np.full(len(self.running), late),
        }
        return [
            next((reason for reason, test in tests.items() if test[i]), "")
            for i in range(len(self.running))
        ]

    def _stop(self, reasons: list[str], sane: Array) -> None:
        """Read off the models that stop, and those at one of their epochs."""
        over, ends = np.zeros(len(self.running), bool), []
        for i, found in enumerate(reasons):
            # However a run ends, it has diverged if it ends far above where it started.
            reason = "diverged" if found and not sane[i] else found
            points = self.stop.epochs[i]
            due = [k for k, point in enumerate(points) if point >= self.epoch]
            if not reason and points[due[0]] == self.epoch:
                due = due[:1]
                reason = "epochs" if sane[i] else "diverged"
                over[i] = points[-1] == self.epoch
            elif reason:
                over[i] = True
            else:
                continue
            ends += [(i, reading, reason) for reading in due]
        self._read_off(ends)
        self._over = over

    def _read_off(self, ends: list[tuple[int, int, str]]) -> None:
        """Keep models (positions) as they stand, each for one of its readings and with a reason."""
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
        """The models among which are the weights that are kept of model i, and their epoch."""
        watch = self.watch
        risen = bool(self.state.duals) and watch.sane_epoch[i] < self.epoch
        if reason == "diverged" or risen:
            return watch.sane, int(watch.sane_epoch[i])
        if watch.best_epoch[i] > 0:
            return watch.best, int(watch.best_epoch[i])
        return self.state.model, self.epoch

    def _finished(
        self, i: int, reading: int, reason: str, source: Model, kept: int, weights: Model
    ) -> FinishedModel:
        one, certificate = np.array([i]), None
        go_on = self.keep_state and reason != "diverged"
        if source is self.state.model:
            certificate = self.proof.certificates.get(i)
            if certificate is None and self.state.duals:
                certificate = certify_some(self.objective, self.state, self.watch, one)[i]
        return FinishedModel(
            int(self.running[i]),
            reading,
            weights,
            reason,
            self.epoch,
            kept,
            self.state.select(one) if go_on else None,
            certificate,
            float(self.watch.bound[i]),
        )

    def interrupt(self) -> None:
        """Read off all models that would go on, as they stand."""
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
        """Take the models that are over out of the batch."""
        keep = np.flatnonzero(~self._over)
        if len(keep):
            self._save_sane()
        if not self._over.any():
            return
        if len(keep):
            self.state = self.state.select(keep)
            self.watch = self.watch.select(keep)
        self._focus(self.running[keep])

    def progress(self) -> Progress:
        members = tuple((m,) for m in range(self.start_model.n_models))
        return Progress(
            self.epoch,
            self.epochs,
            self.running,
            self.records,
            proven_gaps(self.state, self.watch, self.stop.tol, self.proof),
            self.checkpoint,
            members,
            self.ended,
        )

    def ended(self) -> dict[tuple[int, int], str]:
        """Why every model that was read off so far ended, by model and epochs asked for."""
        points = self.all_stop.epochs
        return {(f.model, points[f.model][f.reading]): f.reason for f in self.finished}

    def results(self) -> list[list[Result]]:
        """Certify and diagnose everything that was read off, as one batch."""
        out: list[list[Result | None]] = [[None] * len(p) for p in self.all_stop.epochs]
        numbers = np.array([f.model for f in self.finished])
        weights = [f.weights for f in self.finished]
        objective = self.whole.select(numbers)
        certificates = self._all_certificates(objective, weights)
        histories = [
            History(
                {name: self.history[k, f.model, : f.epochs].copy() for k, name in enumerate(FIELDS)}
            )
            for f in self.finished
        ]
        traces = [
            Trace(
                history=history,
                start=float(self.start_value[f.model]),
                stop_reason=f.reason,
                step_size=self.all_solver.step_size(f.model, self.offset + f.epochs),
                certificate=certificate,
                descends=self.all_solver.descends,
                kept_epoch=f.kept_epoch,
            )
            for f, history, certificate in zip(self.finished, histories, certificates)
        ]
        diagnoses = diagnose(objective, weights, traces, whole=self.whole_data)
        for i, f in enumerate(self.finished):
            out[f.model][f.reading] = Result(
                model=f.weights,
                history=histories[i],
                certificate=certificates[i],
                diagnoses=diagnoses[i],
                stop_reason=f.reason,
                best_epoch=f.kept_epoch,
                objective=objective.words(i),
                solver=self.all_solver.name,
                state=f.state,
            )
        return [[result for result in row if result is not None] for row in out]

    def _all_certificates(self, objective: Objective, weights: list[Model]) -> list[Certificate]:
        """Those of the models that were certified when they were read off, and all others."""
        open_ = np.array([k for k, f in enumerate(self.finished) if f.certificate is None], int)
        known = {k: f.certificate for k, f in enumerate(self.finished) if f.certificate is not None}
        if len(open_):
            theirs = Model.stack([weights[k] for k in open_])
            found = certify(objective.select(open_), theirs)
            known |= dict(zip(open_.tolist(), found))
        return [known[k].raised_to(f.bound) for k, f in enumerate(self.finished)]

    def checkpoint(self) -> dict[str, Array]:
        """Everything from which the run goes on, as plain arrays."""
        self._save_sane()
        keep = np.flatnonzero(~self._over)
        return fingerprint(self.all_solver, self.whole, self.start_model) | pack(
            Snapshot(
                running=self.running[keep],
                state=self.state.select(keep),
                watch=self.watch.select(keep),
                finished=self.finished,
                history=self.history,
                start_value=self.start_value,
                offset=self.offset,
                seconds=self.seconds,
            )
        )

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Stand where `checkpoint` was taken."""
        refuse_foreign(arrays, fingerprint(self.all_solver, self.whole, self.start_model))
        self._focus(np.array(arrays["running"]))
        there = unpack(arrays, self.whole)
        for f in there.finished:
            if self.keep_state and f.state is None and f.reason != "diverged":
                raise ValueError(
                    f"Model {f.model} had ended when the checkpoint was taken, by a run with "
                    "keep_state=False: its state was not kept. Resume with keep_state=False."
                )
        self.state, self.watch, self.finished = there.state, there.watch, there.finished
        self.history, self.start_value = there.history, there.start_value
        self.offset, self.seconds = there.offset, there.seconds
        self.began = time.perf_counter() - self.seconds


def _keep(kept: Model, current: Model, which: Array) -> None:
    """Copy the current weights of the models in the mask `which`."""
    if which.all():
        np.copyto(kept.W, current.W)
        np.copyto(kept.b, current.b)
    elif which.any():
        kept.put(which, Model(current.W[:, which], current.b[which]))
