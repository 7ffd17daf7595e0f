"""How each kind of fitted attribute becomes plain values, and is made of them again, checked.

Whoever reads a file must expect anything in it: `unpack` of a kind gives what `pack` was given, or
a ValueError that says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.calibration import Sigmoids
from separatrix.kernel_methods.kernel import KERNELS, Kernel
from separatrix.kernel_methods.low_rank import Factor
from separatrix.losses import LOSSES, Loss, OneVsRest, make_loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Evaluation
from separatrix.state import State
from separatrix.training import History
from separatrix.training.history import FIELDS
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnosis import Diagnosis

WEIGHT_TYPES = ("float32", "float64")
KERNEL_PARTS = ("name", "gamma", "degree", "coef0")
ERROR_PARTS = ("trace", "left", "largest")


@dataclass(frozen=True)
class Kind:
    """A kind of attribute: to plain values, and from them."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


def checked(what: str, good: Callable[[Any], bool]) -> Kind:
    """The kind of a value that is plain already and must be `good`."""

    def check(value: Any) -> Any:
        if not good(value):
            raise ValueError(f"must be {what}.")
        return value

    return Kind(lambda value: value, check)


def is_array(value: Any, kinds: str, ndim: int, *, finite: bool = False) -> bool:
    """Whether a value is an array of so many axes whose type is of one of numpy's kinds."""
    good = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == ndim
    return good and (not finite or bool(np.isfinite(value).all()))


def is_count(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and bool(0 <= value <= np.iinfo(np.int64).max)


def is_number(value: Any) -> bool:
    return isinstance(value, (float, np.floating, int)) and not isinstance(value, bool)


def _is_classes(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
        return False
    if not all(isinstance(label, (str, bool, int, float)) for label in value.tolist()):
        return False
    try:
        return bool((value[:-1] < value[1:]).all())
    except TypeError:
        return False


TEXT = checked("text", lambda value: isinstance(value, str))
COUNT = checked("a whole number from 0 on", is_count)
NUMBER = checked("a number", lambda value: is_number(value) and not math.isnan(value))
COUNTS = checked("an array of whole numbers", lambda value: is_array(value, "iu", 3))
CLASSES = checked("an array of two classes or more, in their order", _is_classes)
INTERCEPT = checked(
    "an array of finite numbers",
    lambda value: is_array(value, "f", 1, finite=True) and value.dtype.name in WEIGHT_TYPES,
)
NAMES = checked(
    "an array of text",
    lambda value: is_array(value, "O", 1) and all(isinstance(name, str) for name in value),
)


def numbers(ndim: int) -> Kind:
    """An array of floats with so many axes."""
    return checked(f"an array of numbers with {ndim} axes", lambda v: is_array(v, "f", ndim))


def parts(value: Any, *names: str) -> list[Any]:
    """The values of a dict that has these keys and no others."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"must have the parts {', '.join(names)}, and no others.")
    return [value[name] for name in names]


def _pack_weights(coef: Any) -> Any:
    if not sp.issparse(coef):
        return coef
    coef = sp.csr_array(coef, copy=True)
    coef.sum_duplicates()
    return {
        "data": coef.data,
        "indices": coef.indices.astype(np.int64),
        "indptr": coef.indptr.astype(np.int64),
        "columns": int(coef.shape[1]),
    }


def _unpack_weights(value: Any) -> Any:
    if isinstance(value, dict):
        data, indices, indptr, columns = parts(value, "data", "indices", "indptr", "columns")
        good = is_array(data, "f", 1) and is_array(indices, "i", 1) and is_array(indptr, "i", 1)
        if not (good and is_count(columns) and len(indptr)):
            raise ValueError("must be a sparse matrix in compressed rows.")
        rises = indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
        inside = len(indices) == len(data) and ((indices >= 0) & (indices < columns)).all()
        if not (rises and inside):
            raise ValueError("is a sparse matrix whose indices lead out of it.")
        value = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))
        ndim, entries = 2, data
    else:
        ndim, entries = getattr(value, "ndim", 0), value
    flat = entries.reshape(-1) if isinstance(entries, np.ndarray) else entries
    good = ndim == 2 and is_array(flat, "f", 1, finite=True)
    if not good or value.dtype.name not in WEIGHT_TYPES:
        raise ValueError("must be a matrix of finite numbers, float32 or float64.")
    return value


WEIGHTS = Kind(_pack_weights, _unpack_weights)


def pack_loss(loss: Loss) -> dict[str, Any]:
    """The name and margin of a loss of this library; a ValueError for any other."""
    base = loss.base if isinstance(loss, OneVsRest) else loss
    plain = {
        "name": base.name,
        "margin": float(base.margin),
        "one_vs_rest": isinstance(loss, OneVsRest),
    }
    if base.name not in LOSSES or unpack_loss(plain) != loss:
        raise ValueError(
            f"The loss '{loss.name}' is not one of this library, and a model file cannot hold its "
            f"code. Losses that can be saved: {', '.join(LOSSES)}."
        )
    return plain


def unpack_loss(value: Any) -> Loss:
    """The loss that `pack_loss` was given."""
    name, margin, one_vs_rest = parts(value, "name", "margin", "one_vs_rest")
    known = isinstance(name, str) and name in LOSSES
    if not (known and is_number(margin) and isinstance(one_vs_rest, bool)):
        raise ValueError(f"must be a loss: one of {', '.join(LOSSES)}, and its margin.")
    usual = LOSSES[name].margin == margin
    base = LOSSES[name] if usual else make_loss(name, float(margin))
    return OneVsRest(base) if one_vs_rest else base


LOSS = Kind(pack_loss, unpack_loss)


def _pack_certificate(certificate: Certificate) -> Any:
    return {part.name: getattr(certificate, part.name) for part in fields(Certificate)}


def _unpack_certificate(value: Any) -> Certificate:
    kind, *found = parts(value, *(part.name for part in fields(Certificate)))
    primal, dual, gap, relative, norm = found
    bounds = [dual, gap, relative]
    wanted = {"duality_gap": is_number, "gradient_norm": lambda bound: bound is None}
    if not isinstance(kind, str) or kind not in wanted:
        raise ValueError("must be of the kind duality_gap or gradient_norm.")
    if not (is_number(primal) and is_number(norm) and all(map(wanted[kind], bounds))):
        raise ValueError(f"lacks a number that a {kind} has.")
    return Certificate(kind, *found)


CERTIFICATE = Kind(_pack_certificate, _unpack_certificate)


def _unpack_history(value: Any) -> History:
    columns = parts(value, *FIELDS)
    lengths = {len(column) if is_array(column, "f", 1) else -1 for column in columns}
    if len(lengths) > 1 or -1 in lengths:
        raise ValueError("must be arrays of numbers, one an epoch.")
    return History(dict(zip(FIELDS, columns)))


HISTORY = Kind(dict, _unpack_history)


def _pack_diagnoses(diagnoses: list[Diagnosis]) -> Any:
    return [
        {
            "kind": d.kind,
            "message": str(d.message),
            "remedy": str(d.remedy),
            "direction": d.direction,
        }
        for d in diagnoses
    ]


def _unpack_diagnoses(value: Any) -> list[Diagnosis]:
    if not isinstance(value, list):
        raise ValueError("must be a list.")
    out = []
    for each in value:
        kind, message, remedy, direction = parts(each, *(part.name for part in fields(Diagnosis)))
        if not all(isinstance(word, str) for word in (kind, message, remedy)):
            raise ValueError("must be in words.")
        if direction is not None and not _is_direction(direction):
            raise ValueError("has a direction that is no pair of weights and biases.")
        out.append(Diagnosis(kind, message, remedy, direction))
    return out


def _is_direction(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and is_array(value[0], "f", 2, finite=True) and is_array(value[1], "f", 1)


DIAGNOSES = Kind(_pack_diagnoses, _unpack_diagnoses)


def _pack_factor(factor: Factor) -> Any:
    kernel = factor.kernel
    if callable(kernel.name):
        raise ValueError(
            "A model whose kernel is a function cannot be saved: a model file holds no code. Use a "
            f"kernel with a name: {', '.join(map(repr, KERNELS))}."
        )
    return {
        "kernel": {name: getattr(kernel, name) for name in KERNEL_PARTS},
        "rows": _pack_weights(factor.rows),
        **{name: getattr(factor, name) for name in ("pivots", "triangle", "n_rows", *ERROR_PARTS)},
    }


def _unpack_factor(value: Any) -> Factor:
    plain, rows, pivots, triangle, n_rows, *errors = parts(
        value, "kernel", "rows", "pivots", "triangle", "n_rows", *ERROR_PARTS
    )
    name, gamma, degree, coef0 = parts(plain, *KERNEL_PARTS)
    good = isinstance(name, str) and name in KERNELS and is_count(degree) and is_number(coef0)
    if not (good and (gamma is None or is_number(gamma))):
        raise ValueError(f"must be of a kernel: {', '.join(KERNELS)}, with its parameters.")
    good = is_array(pivots, "i", 1) and is_array(triangle, "f", 2, finite=True) and is_count(n_rows)
    if not good or triangle.shape != (len(pivots), len(pivots)) or not np.diagonal(triangle).all():
        raise ValueError("must have a triangle for its pivots, without zeros on the diagonal.")
    if not ((pivots >= 0) & (pivots < n_rows)).all() or not all(map(is_number, errors)):
        raise ValueError("must have pivots among the rows, and state its errors.")
    rows = _unpack_weights(rows)
    if rows.shape[0] != len(pivots):
        raise ValueError("must have a row for every pivot.")
    kernel = Kernel(name, gamma, degree, coef0)
    return Factor(kernel, pivots, rows, triangle, int(n_rows), *errors)


FACTOR = Kind(_pack_factor, _unpack_factor)


def _pack_sigmoids(sigmoids: Sigmoids | None) -> Any:
    return None if sigmoids is None else {"slope": sigmoids.slope, "offset": sigmoids.offset}


def _unpack_sigmoids(value: Any) -> Sigmoids | None:
    if value is None:
        return None
    slope, offset = parts(value, "slope", "offset")
    good = all(is_array(part, "f", 1, finite=True) for part in (slope, offset))
    if not good or slope.shape != offset.shape:
        raise ValueError("must be slopes and offsets, finite numbers.")
    return Sigmoids(slope, offset)


SIGMOIDS = Kind(_pack_sigmoids, _unpack_sigmoids)


def _pack_state(state: State | None) -> Any:
    """Where a run stands; what a pass over the data finds again is left out."""
    if state is None:
        return None
    if state.duals or state.memory:
        raise ValueError("The state of the run holds more than weights: fit the model again.")
    return {
        "weights": [{"W": m.W, "b": m.b} for m in (state.model, *state.slots)],
        "done": state.done,
        "epoch": state.epoch,
        "steps": state.steps,
    }


def _unpack_state(value: Any) -> State | None:
    if value is None:
        return None
    weights, done, epoch, steps = parts(value, "weights", "done", "epoch", "steps")
    if not (is_array(done, "b", 1) and len(done) == 1 and is_count(epoch) and is_count(steps)):
        raise ValueError("must be of one run, its epochs and steps counted.")
    if not isinstance(weights, list) or not weights:
        raise ValueError("has no weights.")
    model, *slots = (Model(*parts(each, "W", "b")) for each in weights)
    for each in (model, *slots):
        good = is_array(each.W, "f", 3, finite=True) and is_array(each.b, "f", 2, finite=True)
        if not good or each.W.dtype.name not in WEIGHT_TYPES or each.b.dtype != each.W.dtype:
            raise ValueError("has weights that are no finite numbers.")
        same = each.W.dtype == model.W.dtype and each.W.shape == model.W.shape
        if not same or each.b.shape != model.b.shape or each.b.shape != each.W.shape[1:]:
            raise ValueError("has weights of different shapes or types.")
    nothing: Array = np.zeros(1)
    none = np.zeros_like(model.W), np.zeros_like(model.b)
    found = Evaluation(nothing, nothing, nothing, nothing, *none)
    return State(model, tuple(slots), found, done, int(epoch), int(steps))


STATE = Kind(_pack_state, _unpack_state)
