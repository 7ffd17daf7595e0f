"""What comes out of a run."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.display import fit_card
from separatrix.model import Model
from separatrix.state import State
from separatrix.training.history import History
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnosis import Diagnosis


@dataclass(frozen=True)
class Result:
    """One trained model with its verdict.

    Attributes
    ----------
    model : one model (B = 1)
    history : every epoch
    certificate : how far from the optimum the model can be
    diagnoses : what is wrong, each with cause and remedy
    stop_reason : "epochs", "tol", "gradient_tol", "step_tol", "patience", "time_limit", "diverged",
        "interrupted", or the solver's own, such as "no mistakes"
    best_epoch : the epoch whose weights were kept
    solver, why : the solver's name, and how it was chosen if it was chosen for the user
    objective : the formula that was minimised, in words and numbers
    state : where the solver stood, to go on from, if it was kept; None after a divergence
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
        """The verdict, for a notebook."""
        return fit_card(
            self.solver,
            stop_reason=self.stop_reason,
            kept_epoch=self.best_epoch,
            certificate=self.certificate,
            diagnoses=self.diagnoses,
            objective=self.objective,
            history=self.history,
        )
