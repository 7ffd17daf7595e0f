"""The facts of a fit or a search as plain values: source, model, verdict, metrics, candidates."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import message_of
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.features.preparation import Preparation
from separatrix.matrix import Array
from separatrix.metrics import measure
from separatrix.readers import Source
from separatrix.workflow.gradient_descent import remedy_of
from separatrix.workflow.model_families import GRADIENT, ModelFamily

# Kinds of diagnoses that mean that the fit did not converge.
UNFIT = frozenset({"diverged", "not_converged", "noisy", "separable"})


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
        "converged": not any(d.kind in UNFIT for d in found),
        "stop_reason": model.stop_reason_,
        "iterations": model.history_.epochs,
        "best_epoch": model.best_epoch_ if descends else None,
        "solver": solver,
        "why": getattr(model, "solver_reason_", None),
        "certificate": None if solver is None else asdict(model.certificate_),
        "diagnoses": diagnoses,
    }


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


@dataclass(frozen=True)
class SearchedCandidates:
    """What a search found, as plain values: the candidates, and the proof if there is one."""

    candidates: list[dict[str, Any]]
    interrupted: bool
    batches: int | None
    passes: float | None
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    certified: dict[str, Any] | None = None

    @classmethod
    def of(cls, search: Any, folds: int) -> SearchedCandidates:
        """Return what a grid search found; scikit-learn's own search has no batches or passes."""
        batches, passes = (getattr(search, name, None) for name in ("n_batches_", "n_passes_"))
        return cls(_candidate_facts(search, folds), search.interrupted_, batches, passes)


def _candidate_facts(search: Any, folds: int) -> list[dict[str, Any]]:
    """Return the parameters and scores of every candidate; scores of missing folds are None."""
    table = search.cv_results_
    scores: Array = np.array([table[f"split{k}_test_score"] for k in range(folds)])
    return [
        candidate_facts(_option_values(given), scores[:, c])
        for c, given in enumerate(table["params"])
    ]


def candidate_facts(parameters: dict[str, float], scores: Array) -> dict[str, Any]:
    done = scores[~np.isnan(scores)]
    spread = float(done.std()) if len(done) else None
    return {
        "parameters": parameters,
        "folds_done": len(done),
        "mean": float(done.mean()) if len(done) else None,
        "deviation": spread,
        "two_deviations": None if spread is None else 2 * spread,
        "scores": [None if np.isnan(score) else float(score) for score in scores],
    }


def best_candidate(candidates: Sequence[dict[str, Any]], folds: int) -> dict[str, float] | None:
    """Return the first candidate with the highest mean among those that completed all folds."""
    whole = [candidate for candidate in candidates if candidate["folds_done"] == folds]
    best = max(whole, key=lambda candidate: float(candidate["mean"]), default=None)
    return None if best is None else dict(best["parameters"])


def _option_values(given: dict[str, Any]) -> dict[str, float]:
    """Return parameters by the names of the options."""
    names = {name: name.removeprefix("model__") for name in given}
    return {
        "l1" if names[name] == "l1_ratio" else names[name]: float(value)
        for name, value in given.items()
    }
