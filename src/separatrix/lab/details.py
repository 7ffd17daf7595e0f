"""Numbers behind a model of the playground: its gradient, its limits, and its loss surface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.explain import step
from separatrix.lab.play import Play
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.text import counted
from separatrix.verdict.diagnosis import Diagnosis

SURFACE = (36, 44)  # rows and columns of the loss surface
MARGIN = 0.35  # space around the path, as a share of its extent
LEAST = 1.0  # smallest half-width of the surface


@dataclass(frozen=True)
class Axis:
    """One weight or bias: feature number (the number of features for the bias) and output."""

    feature: int
    output: int


def verdicts(play: Play, epoch: int) -> list[dict[str, Any]]:
    """Return diagnoses, stable rate and distance from the optimum for every model."""
    out = []
    for certificate, diagnoses, safe_rate in play.judge(epoch):
        gap = None if certificate.dual is None else certificate.primal - certificate.dual
        out.append(
            {
                "gap": _number(gap),
                "objective": _number(certificate.primal),
                "safe_rate": _number(safe_rate),
                "diagnoses": [_diagnosis(d) for d in diagnoses],
            }
        )
    return out


def step_numbers(play: Play, model: int, epoch: int) -> dict[str, Any]:
    """Return the weights of a model after an epoch, their gradient on all training points, and the
    change that the next epoch makes.
    """
    now, own = play.weights(model, epoch), play.objective(model)
    if not np.isfinite(now.W).all():
        return {"rows": [], "formula": "The weights are not finite: the model has diverged."}
    after = play.weights(model, epoch + 1)
    slopes = Model(*own.gradient(now))
    before, slope, later = (np.vstack([m.W[:, 0], m.b]) for m in (now, slopes, after))
    rows = [
        {
            "name": name,
            "output": k,
            "weight": _number(before[j, k]),
            "gradient": _number(slope[j, k]),
            "change": _number(later[j, k] - before[j, k]),
        }
        for k in range(now.n_outputs)
        for j, name in enumerate([*play.settings.features.names, "bias"])
    ]
    estimator = play.settings.models[model]
    return {
        "rows": rows,
        "formula": _step_words(estimator, play.data.n_samples),
        "objective": own.words(0),
    }


def loss_surface(play: Play, model: int, epoch: int, axes: Sequence[Axis]) -> dict[str, Any]:
    """Return the objective over two weights; the others have their values at this epoch.

    The surface covers the path of the weights up to this epoch.
    """
    for axis in axes:
        _require_axis(play, model, axis)
    first, second = axes
    place, d = play.places[model], play.data.n_features
    rows = play.epochs(0, epoch + 1)
    path = np.column_stack([rows[:, _position(place, d, axis)] for axis in axes])
    finite = path[np.isfinite(path).all(axis=1)]
    low, high = _box(finite)
    ys, xs = (np.linspace(low[k], high[k], SURFACE[1 - k]) for k in (1, 0))
    base = play.weights(model, epoch)
    if not np.isfinite(base.W).all():
        base = Model(np.nan_to_num(base.W, posinf=0, neginf=0), np.nan_to_num(base.b))
    values = _values(play, model, base, first, second, xs, ys)
    return {
        "x": [_number(xs[0]), _number(xs[-1])],
        "y": [_number(ys[0]), _number(ys[-1])],
        "shape": list(values.shape),
        "values": [_number(v) for v in values.ravel()],
        "names": [_axis_name(play, axis, place.outputs) for axis in axes],
    }


def explained_point(
    play: Play, model: int, epoch: int, point: tuple[float, float], label: int
) -> dict[str, Any]:
    """Return the computation graph of one point's loss at this epoch, forwards and backwards."""
    estimator, place = play.settings.models[model], play.places[model]
    own, now = play.objective(model), play.weights(model, epoch)
    if not (np.isfinite(now.W).all() and np.isfinite(now.b).all()):
        raise ParameterError(
            "The weights of this model are not finite at this epoch: it has diverged. Choose an "
            "earlier epoch.",
            parameter="epoch",
        )
    features = play.settings.features.of(np.array([point]))
    single = place.outputs == 1
    found = step(
        features[0],
        label,
        now.W[:, 0, 0] if single else now.W[:, 0].T,
        now.b[0, 0] if single else now.b[0],
        loss=own.loss,
        learning_rate=float(estimator.learning_rate),
    )
    scores = features @ now.W[:, 0] + now.b
    P = own.loss.probabilities(scores[:, None, :])
    return found.to_dict() | {
        "features": dict(zip(play.settings.features.names, map(_number, features[0]))),
        "scores": [_number(z) for z in scores[0]],
        "probabilities": None if P is None else [_number(p) for p in P[0, 0]],
    }


def _position(place: Any, d: int, axis: Axis) -> int:
    return int(place.offset + axis.feature * place.outputs + axis.output)


def _require_axis(play: Play, model: int, axis: Axis) -> None:
    d, K = play.data.n_features, play.places[model].outputs
    if not (0 <= axis.feature <= d and 0 <= axis.output < K):
        raise ParameterError(
            f"A weight is a feature from 0 to {d} (the bias) and an output from 0 to {K - 1}. Got "
            f"{axis.feature} and {axis.output} instead.",
            parameter="axes",
        )


def _axis_name(play: Play, axis: Axis, outputs: int) -> str:
    names = play.settings.features.names
    name = f"weight of {names[axis.feature]}" if axis.feature < len(names) else "bias"
    return name if outputs == 1 else f"{name}, class {play.settings.points.classes[axis.output]}"


def _box(path: Array) -> tuple[Array, Array]:
    low, high = path.min(axis=0), path.max(axis=0)
    middle = (low + high) / 2.0
    half = np.maximum((0.5 + MARGIN) * (high - low), LEAST)
    return middle - half, middle + half


def _values(
    play: Play, model: int, base: Model, first: Axis, second: Axis, xs: Array, ys: Array
) -> Array:
    """Return the objective at the grid points (ys, xs)."""
    d, count = play.data.n_features, len(xs) * len(ys)
    grid = Model(
        np.ascontiguousarray(np.repeat(base.W, count, axis=1)),
        np.ascontiguousarray(np.repeat(base.b, count, axis=0)),
    )
    Y, X = np.meshgrid(ys, xs, indexing="ij")
    for axis, numbers in ((first, X.ravel()), (second, Y.ravel())):
        if axis.feature < d:
            grid.W[axis.feature, :, axis.output] = numbers
        else:
            grid.b[:, axis.output] = numbers
    own = play.objective(model).select(np.zeros(count, int))
    return own.value(grid).reshape(len(ys), len(xs))


def _step_words(model: Any, rows: int) -> str:
    """Return the step in words, with that of the L1 penalty, and what an epoch of them is."""
    words = _rule_words(model)
    if model.l1 > 0.0:
        pull = model.learning_rate * model.l1
        words += f", and then {pull:.3g} towards 0 (not past it) for the L1 penalty"
    if model.batch_size is None:
        return f"{words}, with g the gradient."
    steps = -(-rows // model.batch_size)
    return (
        f"{words}, with g the gradient of a mini-batch. The gradient in the table is that of all "
        f"points, and the change is that of an epoch: {counted(steps, 'such step')}."
    )


def _rule_words(model: Any) -> str:
    rate = f"{model.learning_rate:g}"
    if model.rule == "momentum" and model.momentum > 0.0:
        return f"v = {model.momentum:g} v - {rate} g, then w = w + v"
    if model.rule == "nesterov":
        return f"u = w - {rate} g, then w = u + {model.momentum:g} (u - previous u)"
    if model.rule == "adam":
        return f"w = w - {rate} m / sqrt(s), with running means m of g and s of g²"
    return f"w = w - {rate} g"


def _diagnosis(found: Diagnosis) -> dict[str, str]:
    return {"kind": found.kind, "message": str(found.message), "remedy": str(found.remedy)}


def _number(value: Any) -> float | None:
    """Return a number for JSON, which has no NaN and no infinity."""
    return None if value is None or not math.isfinite(value) else float(value)
