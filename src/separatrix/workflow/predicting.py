"""Predictions of a saved model for new rows."""

from __future__ import annotations

from typing import Any

from separatrix.errors import Message, Parameter
from separatrix.estimators.certified.certified_predictions import CertifiedPredictions
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.label_column import NO_LABELS
from separatrix.readers.splits import SPLIT_NOTE
from separatrix.workflow.facts import measure_model


def predict(
    bundle: Bundle, source: Source, *, proba: bool = False, certified: bool = False
) -> dict[str, Any]:
    """Return the class of every row, and with `proba` the probabilities of all classes.

    With `certified`, `certain` holds for every row whether its class is certainly that of the exact
    optimum, and `probability_low` and `probability_high` bound the probabilities there, if the
    model has any.

    `ids` holds the identifiers of the rows, if they have any. If the rows have labels, `metrics`
    compares the predictions with them.
    """
    notes = notes_without_split(source)
    X = bundle.transform(source, notes)
    if proba:
        require_probabilities(bundle)
    facts: dict[str, Any] = {
        "rows": len(source),
        "classes": bundle.classes_.tolist(),
        "predictions": bundle.estimator.predict(X).tolist(),
        "notes": notes,
    }
    if proba:
        facts["probabilities"] = bundle.estimator.predict_proba(X).tolist()
    if certified:
        facts |= _certified_facts(bundle.estimator, X)
    ids = source.row_columns["id"]
    if ids is not None:
        facts["ids"] = {"column": source.row_columns.names["id"], "values": ids.tolist()}
    foreign = _unknown_label(bundle, source.y)
    if foreign is not None:
        notes.append(f"{NO_LABELS}: {foreign!r} is not a class of the model.")
    elif source.y is not None:
        facts["metrics"] = measure_model(bundle.estimator, X, source.y, source.weights)
        notes += weight_notes(source)
    return facts


def certify(bundle: Bundle, source: Source) -> CertifiedPredictions:
    """Return which predictions for the rows of a source are those of the exact optimum."""
    return _certify(bundle.estimator, bundle.transform(source, notes_without_split(source)))


def _certify(model: Any, X: Any) -> CertifiedPredictions:
    if not isinstance(model, OptimumClassifier):
        raise ValueError(
            f"Predictions of a {type(model).__name__} cannot be certified. Train a logistic or "
            "softmax model or a support vector machine, with a solver that finds the optimum."
        )
    if vars(model).get("_region") is None:
        raise ValueError(
            "This model file has no region of the optimum, so no prediction can be certified. "
            "Train the model with 'separatrix fit', which stores one. Searches store none."
        )
    return model.certify(X)


def _certified_facts(model: Any, X: Any) -> dict[str, Any]:
    found = _certify(model, X)
    facts: dict[str, Any] = {"certain": found.certain.tolist(), "certified": str(found)}
    if found.probability_low is not None and found.probability_high is not None:
        facts["probability_low"] = found.probability_low.tolist()
        facts["probability_high"] = found.probability_high.tolist()
    return facts


def require_probabilities(bundle: Bundle) -> None:
    """Raise unless a model has probabilities."""
    if not hasattr(bundle.estimator, "predict_proba"):
        raise ValueError(
            Message(
                "This {kind} has no probabilities. Train a support vector machine with "
                "{probability}, or train a logistic or softmax model.",
                kind=type(bundle.estimator).__name__,
                probability=Parameter("probability", 5),
            )
        )


def _unknown_label(bundle: Bundle, y: Array | None) -> Any:
    """Return the first label that is not a class of the model, or None."""
    classes = set(bundle.classes_.tolist())
    return next(
        (label for label in (() if y is None else y.tolist()) if label not in classes), None
    )


def weight_notes(source: Source) -> list[str]:
    """Return a sentence about sample weights in the metrics, if there are any."""
    if source.weights is None:
        return []
    name = source.row_columns.names["weight"]
    return [f"The metrics use the sample weights in column {name!r}."]


def notes_without_split(source: Source) -> list[str]:
    """Return the notes of a source without the note on the split, which is not used."""
    return [note for note in source.notes if not note.startswith(SPLIT_NOTE)]
