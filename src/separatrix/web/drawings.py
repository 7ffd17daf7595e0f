"""The parts of a study's page that draw data, predictions, weights and a failure, as plain values.

A part is missing if the study does not have it. Arrays are base64 of float32.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.study.results.pictures import FailedSteps
from separatrix.text import describe_configuration, named_class
from separatrix.web.packed_arrays import packed
from separatrix.workflow.pictures.data_sample import DataSample

MOST_BARS = 8  # weights of a class that are shown
MOST_CLASSES = 12  # classes whose weights are shown
MOST_PIXELS = 40_000  # of all weight images together
_PIXEL = re.compile(r"(?:row |pixel_)(\d+)(?:, column |_)(\d+)")


def drawings(facts: StudyFacts) -> dict[str, Any]:
    """Return all drawings of a study by name."""
    names = _feature_names(facts)
    pictures = facts.pictures
    found = {
        "sample": None if pictures.sample is None else sample_drawing(pictures.sample, names),
        "failure": _failure(facts, pictures.failure),
        "weights": None
        if facts.weights is None
        else weights_drawing(facts.weights.coef, facts.data.classes, names),
        "confusion": None if pictures.confusion is None else pictures.confusion.tolist(),
        "calibration": calibration_drawing(pictures.calibration),
        "boundary": _boundary(facts, names),
    }
    return {name: value for name, value in found.items() if value is not None}


def image_shape(names: Sequence[str]) -> tuple[int, int] | None:
    """Return height and width if the features are the pixels of a grey image, else None.

    >>> image_shape([f"pixel_{r}_{c}" for r in range(2) for c in range(3)])
    (2, 3)
    >>> image_shape(["age", "income"]) is None
    True
    """
    found = [_PIXEL.fullmatch(name) for name in (names[0], names[-1])] if len(names) else [None]
    if any(match is None for match in found):
        return None
    (top, left), (bottom, right) = ((int(m[1]), int(m[2])) for m in found if m is not None)
    shape = bottom - top + 1, right - left + 1
    return shape if shape[0] * shape[1] == len(names) else None


def _feature_names(facts: StudyFacts) -> list[str]:
    return facts.data.feature_names or [f"x{j}" for j in range(1, facts.data.features + 1)]


def sample_drawing(sample: DataSample, names: list[str]) -> dict[str, Any]:
    """Return a sample of the rows as points, or as images if the features are pixels."""
    out: dict[str, Any] = {"class_rows": sample.class_rows.tolist()}
    shape = image_shape(names)
    if shape is not None and len(sample.whole):
        return out | {
            "shape": shape,
            "images": packed(sample.whole),
            "labels": sample.whole_labels.tolist(),
        }
    return out | {
        "names": [names[j] for j in sample.columns.tolist()],
        "features": len(names),
        "rows": packed(sample.rows),
        "labels": sample.labels.tolist(),
    }


def calibration_drawing(calibration: Array | None) -> list[list[float]] | None:
    """Return the groups of rows with similar probabilities, rounded."""
    if calibration is None:
        return None
    return [[round(value, 5) for value in group] for group in calibration.tolist()]


def weights_drawing(coef: Array, labels: Sequence[Any], names: list[str]) -> dict[str, Any] | None:
    """Return the largest weights of every class, or all weights as images; coef is (K, d)."""
    if not np.isfinite(coef).all():
        return None
    K, d = coef.shape
    shape = image_shape(names)
    classes = [named_class(label) for label in labels][-K:]
    if shape is not None and coef.size <= MOST_PIXELS:
        return {"classes": classes, "shape": shape, "values": packed(coef)}
    lists = []
    for name, own in list(zip(classes, coef))[:MOST_CLASSES]:
        largest = np.argsort(-np.abs(own), kind="stable")[:MOST_BARS]
        bars = [[names[j], float(own[j])] for j in largest.tolist()]
        lists.append({"class": name, "bars": bars})
    return {"classes": classes, "features": d, "lists": lists}


def _boundary(facts: StudyFacts, names: list[str]) -> dict[str, Any] | None:
    """Return the weights of two features at every kept epoch, for all classes, and the rows."""
    sample, frames = facts.pictures.sample, facts.pictures.frames
    if sample is None or facts.weights is None or facts.weights.coef.shape[1] != 2:
        return None
    final = np.column_stack([facts.weights.coef, facts.weights.intercept])[None]
    best = next(row for row in facts.rows if row.number == facts.verdict.best)
    epochs, weights = [best.kept_epoch or 0], final
    if frames is not None and frames.weights.shape[1] == final.shape[1]:
        before = frames.epochs < epochs[0]
        epochs = [*frames.epochs[before].tolist(), *epochs]
        weights = np.concatenate([frames.weights[before], final])
    link = facts.pictures.link
    return boundary_drawing(sample, names, link, epochs, weights, len(facts.data.classes))


def boundary_drawing(
    sample: DataSample, names: list[str], link: str, epochs: list[int], weights: Array, C: int
) -> dict[str, Any] | None:
    """Return weights (F, K, 3) of two features and the bias at F epochs, and the rows."""
    if not np.isfinite(weights).all():
        return None
    lifted = np.zeros((len(weights), C, 3))
    lifted[:, C - weights.shape[1] :] = weights  # a class without an output has the score 0
    return {
        "names": names,
        "link": link,
        "epochs": epochs,
        "weights": packed(lifted),
        "rows": packed(sample.rows),
        "labels": sample.labels.tolist(),
        "held_out": packed(sample.held_out),
        "held_out_labels": sample.held_out_labels.tolist(),
    }


def _failure(facts: StudyFacts, failure: FailedSteps | None) -> dict[str, Any] | None:
    """Return the most important failure: its words, and the picture of its steps if stored."""
    numbers = [row.number for row in facts.rows if row.diverged and row.state == "done"]
    if failure is not None:
        numbers = [failure.number, *numbers]
    row = next((row for row in facts.rows if row.number in numbers[:1]), None)
    if row is None or row.number == facts.verdict.best:
        return None
    out: dict[str, Any] = {
        "number": row.number,
        "name": describe_configuration(row.parameters) or "The only configuration",
        "what": _what_failed(row),
        "words": row.observations,
    }
    if failure is None:
        return out
    return out | {
        "unit": failure.unit,
        "rate": failure.rate,
        "epochs": failure.epochs.tolist(),
        "steps": [_rounded(values) for values in failure.objectives],
        "valleys": _valleys(failure),
        "is_rate_stable": _is_rate_stable(row, failure),
    }


def _what_failed(row: Row) -> str:
    if row.diverged:
        return "diverged"
    return "oscillates" if row.problem == "oscillating" else "did not converge"


def _is_rate_stable(row: Row, failure: FailedSteps) -> bool:
    """Whether the rate is stable at all weights without momentum, and the run has momentum."""
    rate, times, limit = failure.rate, failure.stable_times, row.safe_rate
    if rate is None or times is None or limit is None:
        return False
    return rate <= limit and times > 2.0


def _valleys(failure: FailedSteps) -> list[list[float]] | None:
    """Return, for every step, the narrowest parabola in which the learning rate is stable.

    A rate r is stable up to the curvature c = t / r, where t is `stable_times`. The parabola
    lowest + c distance^2 / 2 has its lowest point where the objective along the step is lowest.
    """
    if failure.rate is None or failure.stable_times is None or failure.rate <= 0.0:
        return None
    curvature = failure.stable_times / failure.rate
    out = []
    for length, values in zip(failure.lengths, failure.objectives):
        places = length * np.linspace(0.0, 1.0, len(values))
        lowest = int(values.argmin())
        away = places - places[lowest]
        out.append(_rounded(values[lowest] + 0.5 * curvature * away**2))
    return out


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]
