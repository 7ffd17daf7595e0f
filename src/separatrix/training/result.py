"""The results of a run: trained models with their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.display import fit_card
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.solvers.protocol import Solver
from separatrix.training.checkpoint import FinishedModel
from separatrix.training.recording.history import FIELDS, History
from separatrix.verdict.certificate import Certificate, certify
from separatrix.verdict.diagnose import diagnose
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.trace import Trace


@dataclass(frozen=True)
class Result:
    """One trained model with its verdict.

    Attributes
    ----------
    model : one model (B = 1)
    history : the measurements of every epoch
    certificate : objective, lower bound and duality gap
    diagnoses : what is wrong, each with cause and remedy
    stop_reason : "epochs", "tol", "predictions", "gradient_tol", "step_tol", "patience",
        "time_limit", "diverged", "interrupted", or a reason of the solver, such as "no mistakes"
    best_epoch : the epoch whose weights were kept
    solver, why : the solver's name, and why it was chosen if the choice was automatic
    objective : the formula that was minimised, in words and numbers
    state : the solver's state to continue from, if it was kept; None after a divergence
    """

    model: Model
    history: History
    certificate: Certificate
    diagnoses: list[Diagnosis]
    stop_reason: str
    best_epoch: int
    objective: str
    solver: str
    state: State | None
    why: str = ""

    def _repr_html_(self) -> str:
        """Return the verdict as HTML, for a notebook."""
        return fit_card(
            self.solver,
            stop_reason=self.stop_reason,
            kept_epoch=self.best_epoch,
            certificate=self.certificate,
            diagnoses=self.diagnoses,
            objective=self.objective,
            history=self.history,
        )


def make_results(
    finished: Sequence[FinishedModel],
    objective: Objective,
    solver: Solver,
    history: Array,
    start: Model,
    start_value: Array,
    offset: int,
    *,
    whole_data: bool,
    validation: Objective | None = None,
) -> list[Result]:
    """Certify and diagnose the models that were read off, as one batch.

    Parameters
    ----------
    objective, solver : the objective and the solver of all models of the batch
    history : (fields, B, epochs)
    start, start_value : weights and objective (B,) before the first epoch
    offset : epochs of an earlier run, which only learning-rate schedules count
    whole_data : False if the rows are only a part of the data
    validation : the objective on the validation rows
    """
    own = objective.select(np.array([f.model for f in finished]))
    certificates = _certify_all(finished, own)
    histories = [
        History({name: history[k, f.model, : f.epochs].copy() for k, name in enumerate(FIELDS)})
        for f in finished
    ]
    traces = [
        Trace(
            history=epochs,
            start=float(start_value[f.model]),
            stop_reason=f.reason,
            step_size=solver.step_size(f.model, offset + f.epochs),
            certificate=certificate,
            descends=solver.descends,
            done_reason=solver.done_reason,
            kept_epoch=f.kept_epoch,
            val_rows=math.inf if validation is None else validation.data.n_samples,
        )
        for f, epochs, certificate in zip(finished, histories, certificates)
    ]
    numbers = np.array([f.model for f in finished], int)
    diagnoses = diagnose(
        own,
        [f.weights for f in finished],
        traces,
        start=lambda which: start.select(numbers[which]),
        whole=whole_data,
    )
    return [
        Result(
            model=f.weights,
            history=histories[i],
            certificate=certificates[i],
            diagnoses=diagnoses[i],
            stop_reason=f.reason,
            best_epoch=f.kept_epoch,
            objective=own.words(i),
            solver=solver.name,
            state=f.state,
        )
        for i, f in enumerate(finished)
    ]


def _certify_all(finished: Sequence[FinishedModel], objective: Objective) -> list[Certificate]:
    """Return the certificates of all models; some were computed when the models were read off."""
    open_ = np.array([k for k, f in enumerate(finished) if f.certificate is None], int)
    known = {k: f.certificate for k, f in enumerate(finished) if f.certificate is not None}
    if len(open_):
        theirs = Model.stack([finished[k].weights for k in open_])
        known |= dict(zip(open_.tolist(), certify(objective.select(open_), theirs)))
    return [known[k].raised_to(f.bound) for k, f in enumerate(finished)]
