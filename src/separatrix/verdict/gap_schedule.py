"""How far the running models of a batch are proven to be from their optima.

A lower bound on the objective holds for the whole run: the best one seen is kept for each model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.solver_state import State
from separatrix.verdict.certificate import Certificate, certificates_of, certify
from separatrix.verdict.gradient_size import ROUNDING, gradient_sizes, has_gap
from separatrix.verdict.lower_bound import lower_bounds

EXPECTED_NARROWING = 0.3  # share of its last gap that a model must reach to go on unchecked
FIRST_CHECK = 0.1  # share of the loss's first gradient at which the gap is first looked at
NEXT_CHECK = 0.9
TINY = 1e-300


@dataclass
class GapRecord:
    """What is known of the gap of each running model; every array has one entry per model."""

    start_norm: Array  # size of the gradient at zero weights
    certify_at: Array  # norm of the gradient at which the gap is looked at next
    gap: Array  # relative, by the bound of the last epoch
    bound: Array  # the highest that the objective is proven to be above


@dataclass(frozen=True)
class GapCheck:
    """What an epoch has proven about the gaps of the running models.

    Attributes
    ----------
    solved : (B,), which models are within their `tol` of the optimum
    certificates : of the models that were looked at, by their positions
    """

    solved: Array
    certificates: dict[int, Certificate]


def has_nonzero_weights(model: Model) -> Array:
    """Which models (B,) do not have all weights at zero."""
    return np.asarray(model.W.any(axis=(0, 2)) | model.b.any(axis=1))


def first_certify_norms(state: State) -> Array:
    """The norms of the gradient (B,) at which the gaps of models are looked at first.

    They are measured by the loss alone: at a start that is the optimum already, the whole is 0.
    Weights that are given may be next to the optimum, and are looked at without delay. So are those
    with dual variables, and those whose first gradient nobody asked for.
    """
    found = state.found
    unknown = np.isnan(found.gradient_norm)
    if state.duals or unknown.all():
        return np.full(len(unknown), np.inf)
    slope = Model(found.GW, found.gb)
    at_once = has_nonzero_weights(state.model) | unknown
    return np.where(at_once, np.inf, FIRST_CHECK * np.sqrt(slope.dot(slope)))


def first_gaps(state: State) -> Array:
    """The relative gaps (B,) before the first epoch, as far as anybody asks for them."""
    if state.duals:
        return np.full(len(state.done), np.inf)
    return np.where(has_nonzero_weights(state.model), 0.0, np.inf)


def gradient_size_at_zero(objective: Objective, state: State, tol: Array) -> Array:
    """The gradient's size (B,) at zero weights, of which `tol` is a share where there is no gap."""
    found, B = state.found, len(tol)
    free = np.isfinite(tol) & ~has_gap(objective, B)
    if not free.any():
        return found.gradient_norm
    unknown = np.isnan(found.gradient_norm)
    size = np.full(B, np.nan) if unknown.all() else gradient_sizes(objective, found).copy()
    started = np.flatnonzero(free & (has_nonzero_weights(state.model) | unknown))
    if len(started):
        some, part = state.model.select(started), objective.select(started)
        nothing = Model(np.zeros_like(some.W), np.zeros_like(some.b))
        size[started] = gradient_sizes(part, part.evaluate(nothing))
    return size


def check_gaps(objective: Objective, state: State, record: GapRecord, tol: Array) -> GapCheck:
    """Which models are proven to be within `tol` of the optimum; `record` is brought up to date.

    What the last evaluation found gives a looser bound at no extra cost. Where that does not narrow
    quickly, a tighter one costs about two epochs. The gap falls as the square of the
    gradient's norm: so it is looked at when the norm has fallen as far as, by the last look, it
    must.
    """
    norm = state.found.gradient_norm
    asked, solved = ~np.isnan(tol), np.zeros(len(norm), bool)
    certificates: dict[int, Certificate] = {}
    if not asked.any():
        return GapCheck(solved, certificates)
    # With dual variables the gap is no function of the gradient, and the proof costs less.
    waits = np.zeros(len(norm), bool)
    if not state.duals:
        # A model that ends here is certified in any case.
        waits = (_narrows(objective, state, record) | ~(norm <= record.certify_at)) & ~state.done
        certificates = _by_bounds(state, record, tol)
        solved[list(certificates)] = True
    bounded = has_gap(objective, len(norm))
    if not bounded.all():  # nothing but the gradient to go by
        size = gradient_sizes(objective, state.found)
        solved |= asked & ~bounded & (size <= np.maximum(tol * record.start_norm, ROUNDING))
    models = np.flatnonzero(asked & bounded & ~solved & ~waits)
    for i, certificate in certify_some(objective, state, record, models).items():
        gap = certificate.relative_gap
        if gap is None:  # scores beyond what numbers can hold
            continue
        certificates[i] = certificate
        solved[i] = gap <= tol[i]
        record.certify_at[i] = norm[i] * min(NEXT_CHECK, (tol[i] / max(gap, TINY)) ** 0.5)
    return GapCheck(solved, certificates)


def _narrows(objective: Objective, state: State, record: GapRecord) -> Array:
    """Which models' gaps (B,), by what their evaluation found, narrow quickly."""
    found = state.found
    bounds = lower_bounds(objective, state.model, found)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(found.value - bounds) / found.value
    narrows = np.isfinite(bounds) & (gap <= EXPECTED_NARROWING * record.gap)
    record.gap, record.bound = gap, np.maximum(record.bound, bounds)
    return narrows


def _by_bounds(state: State, record: GapRecord, tol: Array) -> dict[int, Certificate]:
    """The certificates of the models that the best bounds seen prove to be within `tol`."""
    value = state.found.value
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(value - record.bound) / value
    near = np.flatnonzero(np.isfinite(record.bound) & (gap <= tol))
    if not len(near):
        return {}
    known = certificates_of(state.found.select(near), record.bound[near])
    return dict(zip(near.tolist(), known))


def certify_some(
    objective: Objective, state: State, record: GapRecord, models: Array
) -> dict[int, Certificate]:
    """The certificates of some of the running models (positions), as they stand."""
    if not len(models):
        return {}
    every = len(models) == len(state.done)
    some = state if every else state.select(models)
    part = objective if every else objective.select(models)
    out = {}
    for i, certificate in zip(
        models.tolist(), certify(part, some.model, some.duals or None, some.found, some.pull)
    ):
        out[i] = certificate.raised_to(float(record.bound[i]))
        if certificate.dual is not None:
            record.bound[i] = max(record.bound[i], certificate.dual)
    return out


def proven_gaps(state: State, record: GapRecord, tol: Array, check: GapCheck) -> Array:
    """The narrowest relative gap that an epoch has proven, for every running model; or NaN."""
    gaps = np.full(len(tol), np.nan)
    if not state.duals:
        asked = ~np.isnan(tol) & np.isfinite(record.gap)
        gaps[asked] = record.gap[asked]
    for i, certificate in check.certificates.items():
        if certificate.relative_gap is not None:
            gaps[i] = np.fmin(gaps[i], certificate.relative_gap)
    return gaps
