"""The facts of a fit as plain values: source, model, verdict and metrics."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import message_of
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.epoch_classifier import EpochClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.features.preparation import Preparation
from separatrix.matrix import Array
from separatrix.metrics import measure
from separatrix.readers import Source
from separatrix.text import counted
from separatrix.verdict.certificate import SMALL_GAP
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.trace import CUT_SHORT
from separatrix.workflow.gradient_descent import remedy_of
from separatrix.workflow.model_families import GRADIENT, ModelFamily

# Kinds of diagnoses that mean that the fit did not converge.
UNFIT = frozenset({"diverged", "not_converged", "noisy", "separable"})
# Kinds that say why, so that no other reason is needed.
REASONS = UNFIT | {"oscillating", "ended_higher"}


@contextmanager
def collect_convergence_warnings() -> Iterator[list[str]]:
    """Collect the messages of convergence warnings; pass other warnings on."""
    collected: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield collected
    for found in caught:
        if issubclass(found.category, ConvergenceWarning):
            assert isinstance(found.message, Warning)
            collected.append(message_of(found.message))
        else:
            warnings.warn_explicit(found.message, found.category, found.filename, found.lineno)


def verdict_facts(model: LinearClassifier) -> dict[str, Any]:
    """Return whether and how a fit converged, with its certificate and diagnoses."""
    descends = isinstance(model, GradientDescentClassifier)
    found = model.diagnoses_
    if model.stop_reason_ == "patience":  # early stopping does not aim at the optimum
        found = [d for d in found if d.kind not in UNFIT or d.kind == "diverged"]
    proven = not isinstance(model, EpochClassifier) or _is_proven(model)
    if not proven and not any(d.kind in REASONS for d in found):
        found = [_stopped_too_soon(model), *found]
    diagnoses = [
        {
            "kind": d.kind,
            "message": d.message,
            "remedy": remedy_of(d.remedy) if descends else d.remedy,
        }
        for d in found
    ]
    solver = GRADIENT if descends else getattr(model, "solver_", None)
    return {
        "converged": proven and not any(d.kind in UNFIT for d in found),
        "stop_reason": model.stop_reason_,
        "iterations": model.history_.epochs,
        "best_epoch": model.best_epoch_ if descends else None,
        "solver": solver,
        "why": getattr(model, "solver_reason_", None),
        "certificate": None if solver is None else asdict(model.certificate_),
        "diagnoses": diagnoses,
    }


def _is_proven(model: EpochClassifier) -> bool:
    """Whether the stop reason or the duality gap proves that a run of epochs is where it should be.

    A run that was cut short is proven by its gap alone: a loss that no longer falls proves nothing.
    """
    gap = model.certificate_.relative_gap
    return model.stop_reason_ not in CUT_SHORT or (gap is not None and gap <= _largest_gap(model))


def _largest_gap(model: EpochClassifier) -> float:
    """Return the largest relative duality gap of a model that converged."""
    tol = model.tol if isinstance(model, GradientDescentClassifier) else None
    return SMALL_GAP if tol is None else float(tol)


def _stopped_too_soon(model: EpochClassifier) -> Diagnosis:
    gap, epochs = model.certificate_.relative_gap, counted(model.history_.epochs, "epoch")
    return Diagnosis(
        "not_converged",
        f"Training stopped after {epochs} without a proof of convergence."
        if gap is None
        else f"Training stopped after {epochs}, before the relative duality gap, {gap:.1e}, had "
        f"fallen to {_largest_gap(model):g}.",
        "Train for more epochs.",
    )


def measure_model(
    model: LinearClassifier, X: Any, y: Array, weights: Array | None = None
) -> dict[str, Any]:
    """Return the metrics of a model on labelled rows X (n, d) with these sample weights (n,)."""
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    return measure(y, model.predict(X), model.classes_, probabilities, weights)


def source_facts(source: Source, preparation: Preparation, classes: Array) -> dict[str, Any]:
    """Return the name, the size and the classes of the data."""
    return {
        "name": source.name,
        "rows": len(source),
        "columns": int(source.table.shape[1]),
        "features": len(preparation.feature_names_out),
        "classes": classes.tolist(),
        "parts": {part: len(rows) for part, rows in source.splits.items()},
        "fingerprint": source.fingerprint,
    }


def model_facts(family: ModelFamily, model: LinearClassifier) -> dict[str, Any]:
    """Return the family, the parameters and the objective of a model."""
    return {
        "name": family.name,
        "about": family.about_for(len(model.classes_)),
        "parameters": model.get_params(deep=False),
        "objective": model.objective(),
    }
