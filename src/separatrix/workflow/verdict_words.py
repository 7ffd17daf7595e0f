"""How a fit ended, in words, for the terminal and for reports."""

from __future__ import annotations

from typing import Any, NamedTuple

from separatrix.text import counted, seconds
from separatrix.workflow.model_families import GRADIENT

_REASONS = {
    "tol": "the relative duality gap is within the tolerance",
    "gradient_tol": "the gradient is within its tolerance",
    "step_tol": "the weights changed by less than the tolerance",
    "epochs": "the maximum number of epochs or iterations is reached",
    "patience": "the validation loss did not improve any more",
    "time_limit": "the time limit is reached",
    "diverged": "the objective is not finite or far above its start",
    "no mistakes": "an epoch had no mistakes",
    "interrupted": "it was interrupted",
}


class VerdictWords(NamedTuple):
    """How a fit ended: "good" or "bad", a word or two, the details, and the effort."""

    kind: str
    lead: str
    details: str
    effort: str

    @property
    def sentence(self) -> str:
        """The details and the effort, which follow the lead and a colon."""
        return f"{'; '.join(filter(None, [self.details, self.effort]))}."


def verdict_words(verdict: dict[str, Any]) -> VerdictWords:
    """Describe the end of a fit from the facts of its verdict.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> verdict_words(fit_source(load("iris")).facts["verdict"]).lead
    'Optimal'
    """
    effort = _effort(verdict)
    if verdict["stop_reason"] == "interrupted":
        return VerdictWords("bad", "Interrupted", "kept the model of the last iteration", effort)
    certificate = verdict["certificate"]
    kind, lead = _lead(verdict)
    if certificate is None:
        details = "an epoch without mistakes" if kind == "good" else ""
    elif certificate["relative_gap"] is not None:
        gap = f"{certificate['gap']:.1e} (relative {certificate['relative_gap']:.1e})"
        details = f"objective {certificate['primal']:.6g}, duality gap {gap}"
    else:
        details = (
            f"objective {certificate['primal']:.6g}, gradient norm "
            f"{certificate['gradient_norm']:.1e} (no duality gap: it needs a convex loss and a "
            "penalty)"
        )
    return VerdictWords(kind, lead, details, effort)


def _lead(verdict: dict[str, Any]) -> tuple[str, str]:
    """Return whether a fit ended well, and its end in a word or two."""
    if not verdict["converged"]:
        return "bad", "Diverged" if verdict["stop_reason"] == "diverged" else "Did not converge"
    if verdict["stop_reason"] == "patience":
        return "good", f"Stopped early and kept epoch {verdict['best_epoch']}"
    certificate = verdict["certificate"]
    by_gap = certificate is not None and certificate["relative_gap"] is not None
    # The tolerance of other solvers is strict, and their gap is below it.
    strict = verdict["solver"] != GRADIENT or verdict["stop_reason"] == "tol"
    return "good", "Optimal" if by_gap and strict else "Converged"


def why_stopped(verdict: dict[str, Any]) -> str:
    """Return a sentence on why training stopped.

    >>> why_stopped({"stop_reason": "tol"})
    'Training stopped because the relative duality gap is within the tolerance.'
    """
    reason = verdict["stop_reason"]
    return f"Training stopped because {_REASONS.get(reason, f'the solver ended: {reason}')}."


def _effort(verdict: dict[str, Any]) -> str:
    """Return the solver, the number of iterations and the time."""
    steps, solver = verdict["iterations"], verdict["solver"]
    unit = "epoch" if solver in (None, GRADIENT) else "iteration"
    parts = [counted(steps, unit)]
    if solver is not None:
        parts.insert(0, solver)
    if "seconds" in verdict:
        parts.append(seconds(verdict["seconds"]))
    return ", ".join(parts)
