"""Warnings about fits: what was not reached, and the line of the user's that is named."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import Message, Parameter
from separatrix.solvers.dual import STALLED
from separatrix.training import Result
from separatrix.verdict.diagnosis import Diagnosis

if TYPE_CHECKING:
    from separatrix.estimators.linear_classifier import LinearClassifier

OURS = ("separatrix", "sklearn", "joblib")
ROUNDING = 1e-13  # a relative gap that could be rounding


def diagnose_convergence(
    result: Result, tol: float, max_iter: int, named: bool
) -> Diagnosis | None:
    """What a fit lacks, why it ended and what to do about it; None if it reached `tol`.

    `named` says that the solver was asked for by its name.
    """
    if result.stop_reason in ("tol", "diverged"):
        return None
    gap = result.certificate.relative_gap
    if gap is not None and gap <= tol:  # proven by the last look, whatever ended the run
        return None
    if gap is None:
        reached = f"a gradient norm of {result.certificate.gradient_norm:.2g}"
        asked = "{tol:g} times that of zero weights, for standardised features"
    else:
        reached, asked = f"a relative duality gap of {gap:.2g}", "{tol:g}"
    ended = f"ended by '{result.stop_reason}', at the precision of the numbers,"
    remedy = "Raise {tol}, standardise the features, or lower {C}."
    if result.stop_reason == STALLED:
        ended = f"stalled after {result.history.epochs} steps: its duality gap stopped shrinking,"
        remedy = "Standardise the features, or lower {C}."
    elif result.stop_reason == "epochs":
        ended = "stopped at {max_iter}"
        remedy = "Raise {max_iter}, standardise the features, or lower {C}."
    elif result.stop_reason == "interrupted":
        ended = f"was interrupted after iteration {result.best_epoch}"
        remedy = "Let it run to the end."
    if gap is not None and gap <= ROUNDING:
        remedy = "Raise {tol}: the numbers have no more digits."
    elif named and result.stop_reason != "interrupted":
        remedy = f"Let solver='auto' choose, or {remedy[0].lower()}{remedy[1:]}"
    elif result.stop_reason == "epochs":
        remedy = "Raise {max_iter}, standardise the features, lower {C}, or name another solver."
    given = {"tol": Parameter("tol", tol), "max_iter": Parameter("max_iter", max_iter)}
    named_alone = {name: Parameter(name) for name in ("tol", "max_iter", "C")}
    return Diagnosis(
        "not_converged",
        Message(f"{result.solver} {ended} with {reached} ({asked}).", **given),
        Message(remedy, **named_alone),
    )


def warn_once(models: Sequence[LinearClassifier], what: str, name: Callable[[int], str]) -> None:
    """Warn once of all models that are unfit for use; `name` says of the first which one it is."""
    missed = [
        (k, diagnosis)
        for k, model in enumerate(models)
        for diagnosis in model.diagnoses_
        if diagnosis.kind in model._warned_kinds
    ]
    if missed:
        first, diagnosis = missed[0]
        count = len({k for k, _ in missed})
        message = Message(
            "{count} of {total} {what} are not what was asked for. "
            "The first is {first}: {kind}: {message} {remedy}",
            count=count,
            total=len(models),
            what=what,
            first=name(first),
            kind=diagnosis.kind,
            message=diagnosis.message,
            remedy=diagnosis.remedy,
        )
        warnings.warn(ConvergenceWarning(message), stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """The `stacklevel` of the nearest caller outside of this library and scikit-learn.

    For a warning given by the function that asks.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _package(frame.f_globals) in OURS:
        frame, level = frame.f_back, level + 1
    return level


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
