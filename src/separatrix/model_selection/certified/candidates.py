"""A search among candidates that proves which one is best at the exact optima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data import BlockRows
from separatrix.errors import ParameterError
from separatrix.estimators.certified.certifying import find_band
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.model_selection.candidates import Candidate, FoldFit
from separatrix.model_selection.cross_validation import CrossValidation
from separatrix.text import counted, listed

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)  # relative duality gaps of the rounds


@dataclass(frozen=True, repr=False)
class CertifiedChoice:
    """Which candidate is best at the exact optima.

    Attributes
    ----------
    proven : bool
        Whether no candidate has a higher mean accuracy at the exact optima than the chosen one.
    rivals : list of dict
        The parameters of the candidates that could have a higher one.
    ties, possible_ties : list of dict
        The parameters of the candidates that certainly have the same one, and of those that could
        have the same one, but no higher one.
    low, high : ndarray of shape (C, F)
        Bounds on the accuracy of every candidate on every fold, at the exact optimum. NaN for a
        candidate that could not be trained.
    """

    proven: bool
    rivals: list[Mapping[str, Any]]
    ties: list[Mapping[str, Any]]
    possible_ties: list[Mapping[str, Any]]
    low: Array
    high: Array

    def __repr__(self) -> str:
        failed = int(np.isnan(self.low).any(axis=1).sum())
        n, tied = len(self.low) - failed, self.ties or self.possible_ties
        if not self.proven:
            found = [
                f"It is not proven which of {n} candidates is best at the exact optima.",
                _others(self.rivals, "could be better than the chosen one"),
            ]
        elif tied:
            found = [f"None of {n} candidates is better at the exact optima than the chosen one."]
        else:
            found = [f"The chosen candidate is certainly the best of {n} at the exact optima."]
        found += [_others(self.ties, "tie with it", "ties with it")] if self.ties else []
        found += [_others(self.possible_ties, "could tie with it")] if self.possible_ties else []
        found += [f"{counted(failed, 'other')} could not be trained."] if failed else []
        return " ".join(found)


def _others(params: Sequence[Mapping[str, Any]], what: str, of_one: str = "") -> str:
    said = of_one if len(params) == 1 and of_one else what
    return f"{counted(len(params), 'other')} {said}: {listed(map(dict, params))}."


def run_certified(
    work: CrossValidation, candidates: Sequence[Candidate]
) -> tuple[list[FoldFit], Array, Array]:
    """Train all candidates on all folds until it is clear which is best, or nothing more helps.

    In every round, the candidates that are still open are trained to a smaller duality gap. One is
    closed if the accuracy of every fold is known exactly, or if another one is certainly better.
    Returns the fits, candidate by candidate, and the bounds (C, F).
    """
    C, F = len(candidates), len(work.folds)
    low, high = np.zeros((C, F)), np.ones((C, F))
    fits: list[list[FoldFit]] = [[] for _ in candidates]
    open_ = list(range(C))
    for tol in TOLERANCES:
        tried = [replace(candidates[c], fits=[]) for c in open_]
        found, _ = replace(work, certified_gap=tol).run(tried)
        for k, c in enumerate(open_):
            before, fits[c] = fits[c], found[k * F : (k + 1) * F]
            for f, fit in enumerate(fits[c]):
                if before:
                    fit.fit_seconds += before[f].fit_seconds
                    fit.score_seconds += before[f].score_seconds
                if isinstance(fit.region, str):
                    raise ValueError(
                        f"certified=True cannot be used with {fit.model!r}. {fit.region}"
                    )
                if fit.bounds is not None:  # older bounds hold too
                    low[c, f] = max(low[c, f], fit.bounds[0])
                    high[c, f] = min(high[c, f], fit.bounds[1])
                    # A rough fit can score differently from the optimum.
                    fit.scores["test"] = min(max(fit.scores["test"], low[c, f]), high[c, f])
        beaten = high.mean(axis=1) < low.mean(axis=1).max()
        exact = (low == high).all(axis=1)
        failed = np.array([any(fit.error or not fit.finished for fit in own) for own in fits])
        open_ = np.flatnonzero(~(beaten | exact | failed)).tolist()
        if not open_:
            break
    untrained = [any(fit.error for fit in own) for own in fits]
    low[untrained] = high[untrained] = np.nan
    return [fit for own in fits for fit in own], low, high


def prove_choice(
    chosen: int, grid: Sequence[Mapping[str, Any]], low: Array, high: Array
) -> CertifiedChoice:
    """Return whether a candidate is certainly best.

    >>> low, high = np.array([[0.8], [0.7]]), np.array([[0.8], [0.9]])
    >>> prove_choice(0, [{"C": 1}, {"C": 10}], low, high)
    It is not proven which of 2 candidates is best at the exact optima. 1 other could be better than
    the chosen one: {'C': 10}.
    """
    least, most, off = low.mean(axis=1), high.mean(axis=1), 1e-12  # the means are rounded
    above = most > least[chosen] + off
    equal = ~above & (most >= least[chosen] - off)
    exact = equal & (least >= most[chosen] - off)

    def others(which: Array) -> list[Mapping[str, Any]]:
        return [grid[c] for c in np.flatnonzero(which).tolist() if c != chosen]

    rivals = others(above)
    return CertifiedChoice(not rivals, rivals, others(exact), others(equal & ~exact), low, high)


def require_bounds(work: CrossValidation, candidates: Sequence[Candidate]) -> None:
    """Raise unless the score is the accuracy and all candidates can have regions."""
    if isinstance(work.X, BlockRows):
        raise ValueError(f"certified=True needs all rows in memory. Got {work.X!r}.")
    if not work.scorer.is_accuracy:
        raise ValueError(
            "certified=True bounds the accuracy without weights. Set scoring=None or "
            "scoring='accuracy', and pass no sample_weight, which the score would use too."
        )
    for candidate in candidates:
        if not isinstance(candidate.classifier, OptimumClassifier):
            raise ValueError(
                "certified=True needs classifiers that are trained to a proven optimum, such as "
                f"LogisticRegression. Got {candidate.classifier!r} instead."
            )
        if find_band(candidate.classifier.tol) is not None:
            raise ParameterError(
                "certified=True chooses the tolerances of the folds, and tol='predictions' needs "
                "validation rows, which searches do not have. Set a relative duality gap, such as "
                "tol=1e-6, for the best candidate.",
                parameter="tol",
            )
