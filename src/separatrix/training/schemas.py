"""Schemas of weights, training states and certificates in files, with checks on reading."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Evaluation
from separatrix.packing.schemas import (
    COUNT,
    FLOAT,
    Schema,
    array,
    choice,
    dict_of,
    list_of,
    optional,
    record,
    validated,
)
from separatrix.solver_state import State
from separatrix.verdict.certificate import Certificate

WEIGHT_TYPES = ("float32", "float64")


def _is_model(model: Model) -> bool:
    same = model.W.dtype == model.b.dtype and model.W.dtype.name in WEIGHT_TYPES
    return same and model.b.shape == model.W.shape[1:]


# The weights of a run that diverges may be anything, so they need not be finite.
MODEL = record(Model, {"W": array("f", 3), "b": array("f", 2)}).such_that(
    _is_model, "be weights (d, B, K) and biases (B, K), both float32 or both float64"
)


def _has_all_bounds_or_none(certificate: Certificate) -> bool:
    bounds = (certificate.dual, certificate.gap, certificate.relative_gap)
    return all((bound is None) == (certificate.kind == "gradient_norm") for bound in bounds)


CERTIFICATE = record(
    Certificate,
    {
        "kind": choice("duality_gap", "gradient_norm"),
        "primal": FLOAT,
        "dual": optional(FLOAT),
        "gap": optional(FLOAT),
        "relative_gap": optional(FLOAT),
        "gradient_norm": FLOAT,
    },
).such_that(_has_all_bounds_or_none, "have a dual and its gaps, unless it is a gradient_norm")


def _parts_of_state(state: State) -> dict[str, Any]:
    return {"weights": (state.model, *state.slots), **vars(state)}


def _make_state(weights: list[Model], done: Array, epoch: int, steps: int, **others: Any) -> State:
    model, *slots = weights
    found = nothing_found(model)
    return State(model, tuple(slots), found, done, int(epoch), int(steps), **others)


def nothing_found(model: Model) -> Evaluation:
    """Return an empty evaluation for models that were not evaluated."""
    nothing = np.zeros(model.n_models)
    zeros = np.zeros_like(model.W), np.zeros_like(model.b)
    return Evaluation(nothing, nothing, nothing, nothing, *zeros)


def _is_of_one_shape(state: State) -> bool:
    W, B = state.model.W, state.model.n_models
    slots = all(slot.b.shape == state.model.b.shape for slot in state.slots)
    duals = all(U.shape[1:] == W.shape[1:] for U in state.duals)
    return slots and duals and all(len(a) == B for a in (state.done, *state.memory.values()))


def _state_schema(**more: Schema) -> Schema:
    parts = {
        "weights": list_of(MODEL).such_that(len, "have weights"),  # the model's, then the slots'
        "done": array("b", 1),
        "epoch": COUNT,
        "steps": COUNT,
    }
    whole = record(_make_state, parts | more, _parts_of_state)
    return whole.such_that(_is_of_one_shape, "have parts for the same number of models")


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "bif" and value.ndim > 0


# Neither contains `State.found`, which a pass over the data can restore.
STATE_OF_WEIGHTS = _state_schema()
STATE = _state_schema(
    duals=Schema(list, lambda value, where: tuple(list_of(array("f", 3)).unpack(value, where))),
    memory=dict_of(validated("an array of numbers", _is_numbers)),
)
