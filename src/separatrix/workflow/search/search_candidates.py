"""The candidates of a search as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.matrix import Array


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


def best_candidates(candidates: Sequence[dict[str, Any]], folds: int) -> list[dict[str, float]]:
    """Return those with the highest mean among the candidates that completed all folds, in order.

    Means that differ by rounding are equal.
    """
    whole = [candidate for candidate in candidates if candidate["folds_done"] == folds]
    highest = max((float(candidate["mean"]) for candidate in whole), default=0.0)
    return [
        dict(candidate["parameters"])
        for candidate in whole
        if math.isclose(float(candidate["mean"]), highest, rel_tol=1e-12, abs_tol=1e-12)
    ]


def _option_values(given: dict[str, Any]) -> dict[str, float]:
    """Return parameters by the names of the options."""
    names = {name: name.removeprefix("model__") for name in given}
    return {
        "l1" if names[name] == "l1_ratio" else names[name]: float(value)
        for name, value in given.items()
    }
