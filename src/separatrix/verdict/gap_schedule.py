"""Decide when to compute the duality gaps of running models, and keep the best lower bounds.

A lower bound on the objective holds for the whole run, so the highest is kept for each model.
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

EXPECTED_NARROWING = 0.3  # if the cheap gap falls to this fraction, the full check can wait
FIRST_CHECK = 0.1  # the gap is first computed when the gradient has fallen to this fraction
NEXT_CHECK = 0.9
TINY = 1e-300


@dataclass
class GapRecord:
    """What is known about the gaps of the running models; each array has one entry per model."""

    start_norm: Array  # size of the gradient at zero weights
    certify_at: Array  # gradient norm at which the gap is computed next
    gap: Array  # relative gap, from the lower bound of the last epoch
    bound: Array  # highest lower bound so far


@dataclass(frozen=True)
class GapCheck:
    """What one epoch has proven about the gaps of the running models.

    Attributes
    ----------
    solved : (B,), whether each model is within its `tol` of the optimum
    certificates : the certificates computed in this epoch, by the position of the model
    """

    solved: Array
    certificates: dict[int, Certificate]


def has_nonzero_weights(model: Model) -> Array:
    """Return which models (B,) have a weight that is not zero."""
    return np.asarray(model.W.any(axis=(0, 2)) | model.b.any(axis=1))


def first_certify_norms(state: State) -> Array:
    """Return the gradient norms (B,) at which the gaps are computed for the first time.

    They are relative to the gradient of the loss alone, because the gradient of the objective is 0
    at a start that is already optimal. A model with given weights may be close to its optimum, so
    its gap is computed immediately. The same holds for models with dual variables and for models
    whose first gradient was not computed.
    """
    found = state.found
    unknown = np.isnan(found.gradient_norm)
    if state.duals or unknown.all():
        return np.full(len(unknown), np.inf)
    slope = Model(found.GW, found.gb)
    at_once = has_nonzero_weights(state.model) | unknown
    return np.where(at_once, np.inf, FIRST_CHECK * np.sqrt(slope.dot(slope)))


def first_gaps(state: State) -> Array:
    """Return the relative gaps (B,) before the first epoch, as far as they are needed."""
    if state.duals:
        return np.full(len(state.done), np.inf)
    return np.where(has_nonzero_weights(state.model), 0.0, np.inf)


def gradient_size_at_zero(objective: Objective, state: State, tol: Array) -> Array:
    """Return the gradient's size (B,) at zero weights: without a gap, `tol` is relative to it."""
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
    """Find the models that are proven to be within `tol` of the optimum, and update `record`.

    The last evaluation gives a looser lower bound at no extra cost. If that gap does not narrow
    quickly, a tighter bound is computed, which costs about two epochs. The gap falls with the
    square of the gradient norm, so the next check waits until the norm has fallen far enough.
    """
    norm = state.found.gradient_norm
    asked, solved = ~np.isnan(tol), np.zeros(len(norm), bool)
    certificates: dict[int, Certificate] = {}
    if not asked.any():
        return GapCheck(solved, certificates)
    state = state.on_host()
    # With dual variables the gap does not depend on the gradient, and the check is cheaper.
    waits = np.zeros(len(norm), bool)
    if not state.duals:
        # A model that ends here gets its certificate in any case.
        waits = (_narrows(objective, state, record) | ~(norm <= record.certify_at)) & ~state.done
        certificates = _by_bounds(state, record, tol)
        solved[list(certificates)] = True
    bounded = has_gap(objective, len(norm))
    if not bounded.all():  # only the gradient can tell
        size = gradient_sizes(objective, state.found)
        solved |= asked & ~bounded & (size <= np.maximum(tol * record.start_norm, ROUNDING))
    models = np.flatnonzero(asked & bounded & ~solved & ~waits)
    for i, certificate in certify_some(objective, state, record, models).items():
        gap = certificate.relative_gap
        if gap is None:  # the scores overflowed
            continue
        certificates[i] = certificate
        solved[i] = gap <= tol[i]
        record.certify_at[i] = norm[i] * min(NEXT_CHECK, (tol[i] / max(gap, TINY)) ** 0.5)
    return GapCheck(solved, certificates)


def _narrows(objective: Objective, state: State, record: GapRecord) -> Array:
    """Return which models' gaps (B,) narrow quickly, from the bounds of the last evaluation."""
    found = state.found
    bounds = lower_bounds(objective, state.model, found)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(found.value - bounds) / found.value
    narrows = np.isfinite(bounds) & (gap <= EXPECTED_NARROWING * record.gap)
    record.gap, record.bound = gap, np.maximum(record.bound, bounds)
    return narrows


def _by_bounds(state: State, record: GapRecord, tol: Array) -> dict[int, Certificate]:
    """Return certificates of the models whose best bounds prove that they are within `tol`."""
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
    """Return the certificates of some of the running models, by their positions in the batch.

    `models` holds these positions.
    """
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
    """Return the smallest relative gap proven in this epoch for each running model, or NaN."""
    gaps = np.full(len(tol), np.nan)
    if not state.duals:
        asked = ~np.isnan(tol) & np.isfinite(record.gap)
        gaps[asked] = record.gap[asked]
    for i, certificate in check.certificates.items():
        if certificate.relative_gap is not None:
            gaps[i] = np.fmin(gaps[i], certificate.relative_gap)
    return gaps
