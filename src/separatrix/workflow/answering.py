"""What a saved model answers: predictions, how good they are, and the weights behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import ParameterError
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.metrics import curves, operating_points, rank
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.label_column import NO_LABELS
from separatrix.workflow.fitting import require_labels
from separatrix.workflow.inputs import held_out
from separatrix.workflow.judging import metrics_of, verdict_of


def predict(bundle: Bundle, source: Source, *, proba: bool = False) -> dict[str, Any]:
    """The class of every row, and the probabilities of all classes if they are asked for.

    Labels, if there are some, are compared; there need be none.
    """
    notes = _notes(source)
    X = bundle.transform(source, notes)
    if proba and not hasattr(bundle.estimator, "predict_proba"):
        raise ValueError(
            f"This {type(bundle.estimator).__name__} has no probabilities. Train a support vector "
            "machine with --probability 5, or a logistic or softmax model."
        )
    facts: dict[str, Any] = {
        "rows": len(source),
        "classes": bundle.classes_.tolist(),
        "predictions": bundle.estimator.predict(X).tolist(),
        "notes": notes,
    }
    if proba:
        facts["probabilities"] = bundle.estimator.predict_proba(X).tolist()
    foreign = _foreign(bundle, source.y)
    if foreign is not None:
        notes.append(f"{NO_LABELS}: {foreign!r} is none of the classes of the model.")
    elif source.y is not None:
        facts["metrics"] = metrics_of(bundle.estimator, X, source.y)
    return facts


def evaluate(
    bundle: Bundle,
    source: Source,
    *,
    precision: float | None = None,
    recall: float | None = None,
    every_row: bool = False,
    positive: Any = None,
) -> dict[str, Any]:
    """Measure a model on rows of known label; find the threshold for a wanted precision or recall.

    Of the data that the model was trained on, the test rows are measured, and the threshold is
    found by the validation rows; `every_row` measures and uses all. The threshold is set in the
    bundle's estimator, too. Metrics are those of before. Precision and recall are those of the
    class `positive`, by default the second of two.
    """
    require_labels(source)
    notes = _notes(source)
    test = None if every_row else held_out(bundle, source)
    to_choose = None if every_row else held_out(bundle, source, "validation")
    if test is not None:
        notes.append("The model was trained on this data: its test rows are measured.")
        source = test
    assert source.y is not None
    model = bundle.estimator
    X = bundle.transform(source, notes)
    scores = model.decision_function(X).astype(np.float64)
    classes, sign = model.classes_, 1
    if len(classes) == 2:
        positive = _class_named(classes, positive)
        classes, sign = (classes, 1) if positive == classes[1] else (classes[::-1], -1)
    elif positive is not None:
        raise ValueError(
            f"One class is positive where there are two, and this model has {len(classes)}."
        )
    facts: dict[str, Any] = {
        "source": {"name": source.name, "rows": len(source)},
        "notes": notes,
        "metrics": metrics_of(model, X, source.y),
        "ranking": rank(source.y, sign * scores, classes),
    }
    if len(classes) == 2:
        facts["positive"] = positive
        is_positive = source.y == positive
        if 0 < is_positive.sum() < len(is_positive):
            points = operating_points(is_positive, sign * scores)
            facts["operating_points"] = [
                point | {"threshold": sign * point["threshold"]} for point in points
            ]
            facts["curves"] = curves(is_positive, sign * scores)
    if precision is not None or recall is not None:
        facts["threshold"] = _threshold(
            bundle, to_choose or source, precision=precision, recall=recall, positive=positive
        )
        facts["threshold"]["metrics"] = metrics_of(model, X, source.y)
        facts["threshold"]["rows"] = "validation" if to_choose else "measured"
    return facts


def measured_again(bundle: Bundle, source: Source) -> Bundle:
    """The model with the metrics that its threshold gives, instead of those of its training.

    All parts of the data that it was trained on are measured; of other data, their rows are.
    """
    assert source.y is not None
    metrics = dict(bundle.metrics or {})
    training = metrics.get("training")
    parts: dict[str, Source] = {"measured": source}
    if training is not None and bundle.fingerprint == source.fingerprint:
        rows = {part: np.asarray(own, np.int64) for part, own in training["held_out"].items()}
        seen = np.setdiff1d(np.arange(len(source)), np.concatenate([*rows.values(), []]))
        rows = {"train": seen.astype(np.int64), **rows}
        parts = {part: source.rows(own) for part, own in rows.items() if len(own)}
    metrics = {
        name: metrics_of(bundle.estimator, bundle.transform(part, []), part.y)
        for name, part in parts.items()
        if part.y is not None
    }
    kept = {} if training is None else {"training": training}
    return replace(bundle, metrics={**metrics, **kept})


def _foreign(bundle: Bundle, y: Array | None) -> Any:
    """The first label that is none of the classes of a model, or None."""
    classes = set(bundle.classes_.tolist())
    return next(
        (label for label in (() if y is None else y.tolist()) if label not in classes), None
    )


def _notes(source: Source) -> list[str]:
    """What was told of a source, but for the split, which is not used."""
    return [note for note in source.notes if not note.startswith("Rows were split")]


def _class_named(classes: Array, name: Any) -> Any:
    """The class of this name, by default the last; a word stands for a number that reads so."""
    known = classes.tolist()
    found = [known[-1]] if name is None else [c for c in known if c == name or str(c) == name]
    if not found:
        raise ParameterError(
            f"The 'positive' parameter must be one of the classes, {', '.join(map(str, known))}. "
            f"Got {name!r} instead."
        )
    return found[0]


def _threshold(bundle: Bundle, source: Source, **aims: Any) -> dict[str, Any]:
    model = bundle.estimator
    if not isinstance(model, OptimumClassifier):
        raise ValueError(f"A {type(model).__name__} has no threshold that could be set.")
    X = bundle.transform(source, [])
    found = model.choose_threshold(X, source.y, **aims)
    return {"value": found.value, "precision": found.precision, "recall": found.recall}


def describe(bundle: Bundle, top: int = 10) -> dict[str, Any]:
    """What a model is: its objective and verdict, what was measured, its largest weights.

    `weights` has an entry for every score: the class it speaks for, the class it speaks against (of
    two), its bias, how many of its weights are not 0, and the `top` largest and smallest weights.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> facts = describe(fit_source(load("iris")).bundle, top=1)
    >>> [score["towards"][0]["feature"] for score in facts["weights"]]
    ['sepal width (cm)', 'sepal length (cm)', 'petal width (cm)']
    """
    model = bundle.estimator
    metrics = dict(bundle.metrics or {})
    training = metrics.pop("training", {})
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return {
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "source": training.get("source"),
        "fingerprint": bundle.fingerprint,
        "classes": model.classes_.tolist(),
        "features": int(model.n_features_in_),
        "objective": model.objective(),
        "threshold": getattr(model, "threshold_", 0.0),
        "verdict": verdict_of(model),
        "metrics": metrics,
        "weights": _weights(model.classes_.tolist(), coef, model.intercept_, _names(bundle), top),
    }


def _names(bundle: Bundle) -> list[str]:
    if bundle.estimator._feature_map_key() is not None:
        return [f"column {j} of the factor" for j in range(1, bundle.estimator.coef_.shape[1] + 1)]
    prepared = getattr(bundle.preparation, "feature_names_out", None)
    if prepared is not None:
        return list(prepared)
    d = int(bundle.estimator.n_features_in_)
    given = getattr(bundle.estimator, "feature_names_in_", None)
    return [f"feature {j}" for j in range(1, d + 1)] if given is None else [str(n) for n in given]


def _weights(
    classes: list[Any], coef: Array, bias: Array, names: list[str], top: int
) -> list[dict[str, Any]]:
    speaks_for = classes[len(classes) - len(coef) :]  # of two classes, or beside a reference
    against = classes[0] if len(coef) < len(classes) else None
    return [
        {
            "class": speaks_for[k],
            "against": against,
            "bias": float(bias[k]),
            "not_zero": int(np.count_nonzero(w)),
            "towards": _largest(w, names, top),
            "away": [entry | {"weight": -entry["weight"]} for entry in _largest(-w, names, top)],
        }
        for k, w in enumerate(np.asarray(coef, np.float64))
    ]


def _largest(w: Array, names: list[str], top: int) -> list[dict[str, Any]]:
    order = np.argsort(-w, kind="stable")[:top]
    return [{"feature": names[j], "weight": float(w[j])} for j in order if w[j] > 0]
