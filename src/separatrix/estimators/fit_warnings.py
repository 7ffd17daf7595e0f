"""Warnings about fits that did not converge, attributed to the line of the user that called."""

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
    result: Result, tol: float, goal: float, max_iter: int, named: bool
) -> Diagnosis | None:
    """Return the diagnosis of a fit that did not reach its goal, or None if it did.

    `tol` is the parameter of the user, which asks for a relative duality gap of `goal`. `named` is
    True if the user chose the solver by name.
    """
    if result.stop_reason in ("tol", "predictions", "diverged"):
        return None
    gap = result.certificate.relative_gap
    if gap is not None and gap <= goal:  # proven by the final check, for any stop reason
        return None
    asked = "{tol:g}" if goal == tol else f"{{tol:g}}, which asks for {goal:g}"
    if gap is None:
        reached = f"a gradient norm of {result.certificate.gradient_norm:.2g}"
        asked += " times the norm at zero weights, for standardised features"
    else:
        reached = f"a relative duality gap of {gap:.2g}"
    ended = f"stopped at the limit of floating-point precision ('{result.stop_reason}')"
    remedy = "Raise {tol}, standardise the features, or lower {C}."
    if result.stop_reason == STALLED:
        ended = f"stalled after {result.history.epochs} steps (its duality gap stopped shrinking)"
        remedy = "Standardise the features, or lower {C}."
    elif result.stop_reason == "epochs":
        ended = "stopped at {max_iter}"
        remedy = "Raise {max_iter}, standardise the features, or lower {C}."
    elif result.stop_reason == "interrupted":
        ended = f"was interrupted after iteration {result.best_epoch}"
        remedy = "Fit it again without interrupting it."
    if gap is not None and gap <= ROUNDING:
        remedy = "Raise {tol}: the gap is at the limit of floating-point precision."
    elif named and result.stop_reason != "interrupted":
        remedy = f"Use solver='auto', or {remedy[0].lower()}{remedy[1:]}"
    elif result.stop_reason == "epochs":
        remedy = "Raise {max_iter}, standardise the features, lower {C}, or set another solver."
    given = {"tol": Parameter("tol", tol), "max_iter": Parameter("max_iter", max_iter)}
    named_alone = {name: Parameter(name) for name in ("tol", "max_iter", "C")}
    return Diagnosis(
        "not_converged",
        Message(f"{result.solver} {ended} with {reached} ({asked}).", **given),
        Message(remedy, **named_alone),
    )


def warn_once(models: Sequence[LinearClassifier], what: str, name: Callable[[int], str]) -> None:
    """Give one warning for all models that did not converge; `name` describes model number k."""
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
            "{count} of {total} {what} did not converge. "
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
    """Return the `stacklevel` of the nearest caller outside this library and scikit-learn.

    The level is meant for a warning issued by the function that calls this one.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _package(frame.f_globals) in OURS:
        frame, level = frame.f_back, level + 1
    return level


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
