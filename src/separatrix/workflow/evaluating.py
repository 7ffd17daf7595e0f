"""Evaluation of a saved model on labelled rows, and the choice of a threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.metrics import curves, operating_points, rank
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.streams.stored_source import StoredSource
from separatrix.workflow.facts import measure_model
from separatrix.workflow.model_inputs import held_out_rows
from separatrix.workflow.predicting import notes_without_split, weight_notes
from separatrix.workflow.preparing import require_labelled


def evaluate(
    bundle: Bundle,
    source: Source,
    *,
    precision: float | None = None,
    recall: float | None = None,
    every_row: bool = False,
    positive: Any = None,
) -> dict[str, Any]:
    """Evaluate a model on labelled rows; choose the threshold for a given precision or recall.

    If the source is the data that the model was trained on, its test rows are evaluated and the
    threshold is chosen on its validation rows; `every_row` uses all rows for both. The threshold is
    also set in the bundle's estimator. `metrics` are computed with the previous threshold.
    Precision and recall refer to the class `positive`, by default the second of two.
    """
    require_labelled(source)
    notes, fingerprint = [*notes_without_split(source), *weight_notes(source)], source.fingerprint
    to_choose = None if every_row else held_out_rows(bundle, source, "validation")
    source = rows_to_evaluate(bundle, source, notes, every_row=every_row)
    assert source.y is not None
    model = bundle.estimator
    X = bundle.transform(source, notes)
    scores = scores_to_rank(model, X)
    classes, sign = model.classes_, 1
    if len(classes) == 2:
        positive = _class_named(classes, positive)
        classes, sign = (classes, 1) if positive == classes[1] else (classes[::-1], -1)
    elif positive is not None:
        raise ValueError(f"A positive class needs two classes, and this model has {len(classes)}.")
    facts: dict[str, Any] = {
        "source": {"name": source.name, "rows": len(source), "fingerprint": fingerprint},
        "objective": model.objective(),
        "notes": notes,
        "metrics": measure_model(model, X, source.y, source.weights),
        "ranking": rank(source.y, sign * scores, classes, source.weights),
    }
    if len(classes) == 2:
        facts["positive"] = positive
        is_positive = source.y == positive
        if 0 < is_positive.sum() < len(is_positive):
            points = operating_points(is_positive, sign * scores, weights=source.weights)
            facts["operating_points"] = [
                point | {"threshold": sign * point["threshold"]} for point in points
            ]
            facts["curves"] = curves(is_positive, sign * scores, source.weights)
    if precision is not None or recall is not None:
        facts["threshold"] = _threshold(
            bundle, to_choose or source, precision=precision, recall=recall, positive=positive
        )
        facts["threshold"]["metrics"] = measure_model(model, X, source.y, source.weights)
        facts["threshold"]["rows"] = "validation" if to_choose else "measured"
    return facts


def rows_to_evaluate(
    bundle: Bundle, source: Source, notes: list[str], *, every_row: bool = False
) -> Source:
    """Return only the test rows if the model was trained on this source, and add a note."""
    test = None if every_row else held_out_rows(bundle, source)
    if test is not None:
        notes.append("The model was trained on this data: only its test rows are evaluated.")
    return source if test is None else test


def measure_again(bundle: Bundle, source: Source) -> Bundle:
    """Return the model with metrics computed at its threshold instead of those from training.

    If the source is the data that the model was trained on, all of its parts are evaluated.
    """
    metrics = dict(bundle.metrics or {})
    training = metrics.get("training")
    parts = parts_of(bundle, source)
    metrics = {
        name: measure_model(bundle.estimator, bundle.transform(part, []), part.y, part.weights)
        for name, part in parts.items()
        if part.y is not None
    }
    kept = {} if training is None else {"training": training}
    return replace(bundle, metrics={**metrics, **kept})


def scores_to_rank(model: LinearClassifier, X: Any) -> Array:
    """Return scores (n,) for two classes; for C classes, probabilities or else scores (n, C).

    A score of softmax regression has a meaning only next to the scores of the other classes. So it
    does not order the rows by one class against the rest, and the probability does.
    """
    several = len(model.classes_) > 2 and hasattr(model, "predict_proba")
    return np.asarray(model.predict_proba(X) if several else model.decision_function(X), np.float64)


def parts_of(bundle: Bundle, source: Source) -> dict[str, Source]:
    """Return the parts of the data that a model was trained on; other rows are all "measured".

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> iris = load("iris")
    >>> {name: len(part) for name, part in parts_of(fit_source(iris).bundle, iris).items()}
    {'train': 100, 'validation': 25, 'test': 25}
    """
    training = (bundle.metrics or {}).get("training")
    if training is None or bundle.fingerprint != source.fingerprint:
        return {"measured": source}
    if isinstance(source, StoredSource):
        return {part: source.part(part) for part in source.splits}
    rows = {part: np.asarray(own, np.int64) for part, own in training["held_out"].items()}
    seen = np.setdiff1d(np.arange(len(source)), np.concatenate([*rows.values(), []]))
    rows = {"train": seen.astype(np.int64), **rows}
    return {part: source.rows(own) for part, own in rows.items() if len(own)}


def _class_named(classes: Array, name: Any) -> Any:
    """Return the class with this name, by default the last; "1" also means the number 1."""
    known = classes.tolist()
    found = [known[-1]] if name is None else [c for c in known if c == name or str(c) == name]
    if not found:
        raise ParameterError(
            Message(
                "{positive:subject} must be one of the classes, {classes}. Got {name!r} instead.",
                positive=Parameter("positive"),
                classes=", ".join(map(str, known)),
                name=name,
            )
        )
    return found[0]


def _threshold(bundle: Bundle, source: Source, **aims: Any) -> dict[str, Any]:
    model = bundle.estimator
    if not isinstance(model, OptimumClassifier):
        raise ValueError(f"{type(model).__name__} has no threshold to choose.")
    X = bundle.transform(source, [])
    found = model.choose_threshold(X, source.y, sample_weight=source.weights, **aims)
    return {"value": found.value, "precision": found.precision, "recall": found.recall}
