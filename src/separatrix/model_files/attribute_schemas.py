"""Schemas that write, read and check the fitted attributes of estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.decisions.calibration import Sigmoids
from separatrix.kernel_methods.kernel import KERNELS, Kernel
from separatrix.kernel_methods.low_rank import LowRankFactor
from separatrix.losses import LOSSES, Loss, OneVsRest, make_loss
from separatrix.model import Model
from separatrix.packing.messages import MESSAGE
from separatrix.packing.schemas import (
    COUNT,
    FLOAT,
    TEXT,
    TRUTH,
    Schema,
    array,
    choice,
    is_array,
    is_text,
    list_of,
    optional,
    record,
    schema_error,
    validated,
)
from separatrix.solver_state import State
from separatrix.training import History
from separatrix.training.recording.history import FIELDS
from separatrix.training.schemas import STATE_OF_WEIGHTS, WEIGHT_TYPES
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.regions import Ball, Region


def _is_classes(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
        return False
    if not all(isinstance(label, (str, bool, int, float)) for label in value.tolist()):
        return False
    try:
        return bool((value[:-1] < value[1:]).all())
    except TypeError:
        return False


CLASSES = validated("an array of two or more classes in sorted order", _is_classes)
INTERCEPT = validated(
    "an array of finite numbers, float32 or float64",
    lambda value: is_array(value, "f", 1, finite=True) and value.dtype.name in WEIGHT_TYPES,
)
NAMES = validated(
    "an array of text", lambda value: is_array(value, "O", 1) and all(map(is_text, value))
)
FEATURES: dict[str, Schema] = {"n_features_in_": COUNT, "feature_names_in_": NAMES}
NAMES_ONLY = frozenset({"feature_names_in_"})  # fits to rows without names lack it


# Weights: a matrix, or the four parts of a CSR matrix.


def _parts_of_rows(coef: Any) -> dict[str, Any]:
    coef = sp.csr_array(coef, copy=True)
    coef.sum_duplicates()
    return {
        "data": coef.data,
        "indices": coef.indices.astype(np.int64),
        "indptr": coef.indptr.astype(np.int64),
        "columns": int(coef.shape[1]),
    }


def _is_inside(rows: dict[str, Any]) -> bool:
    """Return whether all indices of a CSR matrix are within its entries and columns."""
    data, indices, indptr = rows["data"], rows["indices"], rows["indptr"]
    if not len(indptr) or len(indices) != len(data):
        return False
    rises = indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    return bool(rises and ((indices >= 0) & (indices < rows["columns"])).all())


_SPARSE = record(
    dict,
    {"data": array("f", 1), "indices": array("i", 1), "indptr": array("i", 1), "columns": COUNT},
    _parts_of_rows,
).such_that(_is_inside, "be a sparse matrix whose indices are in range")


def _unpack_weights(value: Any, where: str) -> Any:
    matrix = entries = value
    if isinstance(value, dict):
        rows = _SPARSE.unpack(value, where)
        shape = len(rows["indptr"]) - 1, rows["columns"]
        entries = rows["data"]
        matrix = sp.csr_array((entries, rows["indices"], rows["indptr"]), shape=shape)
    good = is_array(entries, "f", 1 if sp.issparse(matrix) else 2, finite=True)
    if not good or matrix.dtype.name not in WEIGHT_TYPES:
        raise schema_error(where, "be a matrix of finite numbers, float32 or float64", value)
    return matrix


WEIGHTS = Schema(
    lambda coef: _SPARSE.pack(coef) if sp.issparse(coef) else coef,
    _unpack_weights,
)


# Losses: a name and a margin. A file contains no code.


def _parts_of_loss(loss: Loss) -> dict[str, Any]:
    base = loss.base if isinstance(loss, OneVsRest) else loss
    one_vs_rest = isinstance(loss, OneVsRest)
    if base.name not in LOSSES or _make_loss(base.name, base.margin, one_vs_rest) != loss:
        raise ValueError(
            f"The loss '{loss.name}' is not part of this library, and a model file cannot contain "
            f"its code. Losses that can be saved: {', '.join(LOSSES)}."
        )
    return {"name": base.name, "margin": float(base.margin), "one_vs_rest": one_vs_rest}


def _make_loss(name: str, margin: float, one_vs_rest: bool) -> Loss:
    usual = LOSSES[name].margin == margin
    base = LOSSES[name] if usual else make_loss(name, float(margin))
    return OneVsRest(base) if one_vs_rest else base


LOSS = record(
    _make_loss,
    {"name": choice(*LOSSES), "margin": FLOAT, "one_vs_rest": TRUTH},
    _parts_of_loss,
)


# The verdict on a fit.


def _columns_are_alike(history: History) -> bool:
    return len({len(column) for column in dict(history).values()}) == 1


HISTORY = record(
    lambda **columns: History(columns), dict.fromkeys(FIELDS, array("f", 1)), dict
).such_that(_columns_are_alike, "have one number per epoch in every column")


def _is_direction(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and is_array(value[0], "f", 2, finite=True) and is_array(value[1], "f", 1)


DIAGNOSES = list_of(
    record(
        Diagnosis,
        {
            "kind": TEXT,
            "message": MESSAGE,
            "remedy": MESSAGE,
            "direction": optional(validated("a pair of weights and biases", _is_direction)),
            "complete": TRUTH,
        },
        added=["complete"],
    )
)


# The parts of special estimators.

KERNEL = record(
    Kernel,
    {"name": choice(*KERNELS), "gamma": optional(FLOAT), "degree": COUNT, "coef0": FLOAT},
)


def _parts_of_factor(factor: LowRankFactor) -> dict[str, Any]:
    if callable(factor.kernel.name):
        raise ValueError(
            "A model whose kernel is a function cannot be saved, because a model file contains no "
            f"code. Use one of the named kernels: {', '.join(map(repr, KERNELS))}."
        )
    return vars(factor)


def _is_factor(factor: LowRankFactor) -> bool:
    pivots, triangle = factor.pivots, factor.triangle
    return bool(
        triangle.shape == (len(pivots), len(pivots))
        and np.diagonal(triangle).all()
        and ((pivots >= 0) & (pivots < factor.n_rows)).all()
        and factor.rows.shape[0] == len(pivots)
    )


LOW_RANK_FACTOR = record(
    LowRankFactor,
    {
        "kernel": KERNEL,
        "rows": WEIGHTS,
        "pivots": array("i", 1),
        "triangle": array("f", 2, finite=True),
        "n_rows": COUNT,
        "trace": FLOAT,
        "left": FLOAT,
        "largest": FLOAT,
    },
    _parts_of_factor,
).such_that(
    _is_factor,
    "have pivots within its rows, one row per pivot, and a triangle of that size without zeros on "
    "the diagonal",
)

_BALL = record(
    lambda W, b, radius: Ball(Model(W, b), radius),
    {"W": array("f", 3), "b": array("f", 2), "radius": array("f", 2)},
    lambda ball: {"W": ball.centre.W, "b": ball.centre.b, "radius": ball.radius},
)


def _is_region(region: Region) -> bool:
    (d, B, K), centre = region.ball.centre.W.shape, region.ball.centre
    pairs, f = region.pairs, region.factors
    return bool(
        B == 1
        and region.ball.radius.shape in ((1, K), (1, 1))
        and centre.b.shape == region.low.shape == region.high.shape == (1, K)
        and (pairs is None or pairs.shape in ((1, K, K), (1, K + 1, K + 1)))
        and (f is None or (f.shape == (d, 1) and (f > 0.0).all()))
        and region.origin.shape == (d,)
        and region.bias_factor.shape == (1,)
    )


_REGION = record(
    Region,
    {
        "ball": _BALL,
        "low": array("f", 2),
        "high": array("f", 2),
        "pairs": optional(array("f", 3)),
        "origin": array("f", 1, finite=True),
        "factors": optional(array("f", 2, finite=True)),
        "bias_factor": array("f", 1, finite=True),
    },
).such_that(_is_region, "have arrays of consistent shapes")


def _pack_region(region: Any) -> Any:
    return region if isinstance(region, str) else _REGION.pack(region)


def _unpack_region(value: Any, where: str) -> Any:
    return value if isinstance(value, str) else _REGION.unpack(value, where)


# The region of the optimum, or a sentence that says why there is none.
REGION = optional(Schema(_pack_region, _unpack_region))

SIGMOIDS = optional(
    record(
        Sigmoids,
        {"slope": array("f", 1, finite=True), "offset": array("f", 1, finite=True)},
    ).such_that(lambda s: s.slope.shape == s.offset.shape, "have as many slopes as offsets")
)


def _pack_state(state: State) -> Any:
    """Convert the state of a run, without the parts that a pass over the data recomputes."""
    if state.duals or state.memory:
        raise ValueError("The state of the run contains more than weights. Fit the model again.")
    return STATE_OF_WEIGHTS.pack(state)


def _is_of_one_run(state: State) -> bool:
    models, W = (state.model, *state.slots), state.model.W
    return len(state.done) == 1 and all(
        model.W.shape == W.shape
        and model.W.dtype == W.dtype
        and np.isfinite(model.W).all()
        and np.isfinite(model.b).all()
        for model in models
    )


STATE = optional(
    Schema(_pack_state, STATE_OF_WEIGHTS.unpack).such_that(
        _is_of_one_run, "belong to one run, with finite weights of the same shape and type"
    )
)
