"""Descriptions of a saved model, and of a source as it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.columns import Columns, count_missing, to_words
from separatrix.workflow.facts import verdict_facts

_TYPES = {"numbers": "number", "categories": "category", "text": "text"}


def describe_model(bundle: Bundle, top: int = 10) -> dict[str, Any]:
    """Return the objective, the verdict, the metrics and the largest weights of a model.

    `weights` has an entry for every score: the class that a high score means, the class that a low
    score means (None with several classes), the bias, the number of non-zero weights, and the
    `top` largest and smallest weights. Each has its largest distance from the exact optimum, None
    if there is no bound; `no_bound` says why.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> facts = describe_model(fit_source(load("iris")).bundle, top=1)
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
        "verdict": verdict_facts(model),
        "metrics": metrics,
        "weights": _weights(
            model.classes_.tolist(),
            coef,
            model.intercept_,
            feature_names(bundle),
            top,
            *_radii(model),
        ),
        "no_bound": _why_no_bound(model),
        "certain_weights": _certain_weights(model),
    }


def feature_names(bundle: Bundle) -> list[str]:
    """Return the names of the features that the weights of a model belong to."""
    if bundle.estimator._feature_map_key() is not None:
        return [f"column {j} of the factor" for j in range(1, bundle.estimator.coef_.shape[1] + 1)]
    prepared = getattr(bundle.preparation, "feature_names_out", None)
    if prepared is not None:
        return list(prepared)
    d = int(bundle.estimator.n_features_in_)
    given = getattr(bundle.estimator, "feature_names_in_", None)
    return [f"feature {j}" for j in range(1, d + 1)] if given is None else [str(n) for n in given]


def _weights(
    classes: list[Any],
    coef: Array,
    bias: Array,
    names: list[str],
    top: int,
    radius: Array,
    bias_radius: Array,
) -> list[dict[str, Any]]:
    # With two classes or a reference class, the first class has no score.
    speaks_for = classes[len(classes) - len(coef) :]
    against = classes[0] if len(coef) < len(classes) else None
    return [
        {
            "class": speaks_for[k],
            "against": against,
            "bias": float(bias[k]),
            "bias_radius": _finite(bias_radius[k]),
            "not_zero": int(np.count_nonzero(w)),
            "towards": _largest(w, names, top, radius[k]),
            "away": [
                entry | {"weight": -entry["weight"]}
                for entry in _largest(-w, names, top, radius[k])
            ],
        }
        for k, w in enumerate(np.asarray(coef, np.float64))
    ]


def _largest(w: Array, names: list[str], top: int, radius: Array) -> list[dict[str, Any]]:
    order = np.argsort(-w, kind="stable")[:top]
    return [
        {"feature": names[j], "weight": float(w[j]), "radius": _finite(radius[j])}
        for j in order
        if w[j] > 0
    ]


def _finite(radius: float) -> float | None:
    return float(radius) if np.isfinite(radius) else None


def _radii(model: Any) -> tuple[Array, Array]:
    """Return how far each weight (K, d) and bias (K,) is from the optimum at most."""
    if isinstance(model, OptimumClassifier) and model.has_region:
        return model.coef_radius_, model.intercept_radius_
    return np.full(model.coef_.shape, np.inf), np.full(model.intercept_.shape, np.inf)


def _why_no_bound(model: Any) -> str | None:
    """Return why nothing is known about the distance of a model from the optimum, or None."""
    if not isinstance(model, OptimumClassifier):
        return f"{type(model).__name__} stores no region of the optimum."
    if isinstance(model._region, str):
        return model._region
    if model._region is None:
        return "Only a model of `separatrix fit`, or of a fit with certified=True, has a bound."
    if all(np.isfinite(radius).all() for radius in _radii(model)):
        return None
    return "The duality gap is too large. Lower the tolerance."


def _certain_weights(model: Any) -> dict[str, int] | None:
    """Return how many weights are proven to be 0, and not 0, if the penalty has an L1 part."""
    if not isinstance(model, OptimumClassifier) or model.__dict__.get("_region") is None:
        return None
    zero, other = int(model.zero_weights_.sum()), int(model.nonzero_weights_.sum())
    if model._penalty()[1] == 0.0:
        return None
    return {"zero": zero, "not_zero": other, "open": int(model.zero_weights_.size) - zero - other}


def describe_source(source: Source) -> dict[str, Any]:
    """Return the size, the classes, the notes and the columns of a source as plain values.

    >>> frame = {"size": [1.0, 2.5, None], "kind": ["u", "v", "u"]}
    >>> source = Source.of(Columns(frame), np.array([0, 1, 0]), name="frame")
    >>> for column in describe_source(source)["columns"]:
    ...     print(*column.values())
    size number 2 1 1
    kind category 2 0 u
    """
    table = source.table
    return {
        "name": source.name,
        "rows": int(table.shape[0]),
        "features": int(table.shape[1]),
        "classes": [] if source.y is None else np.unique(source.y).tolist(),
        "notes": list(source.notes),
        "columns": _columns(table) if isinstance(table, Columns) else [],
    }


def _columns(table: Columns) -> list[dict[str, Any]]:
    return [
        {
            "column": name,
            "type": _type(table, name),
            "different": _count_different(table[name]),
            "missing": count_missing(table[name]),
            "first": next((word for word in to_words(table[name][:100]) if word is not None), None),
        }
        for name in table
    ]


def _type(table: Columns, name: str) -> str:
    """Return the type of a column as the option for types names it."""
    kind = table.kind(name)
    is_date = table.formats is not None and table.formats.of(name, kind).date
    return "date" if is_date else _TYPES[kind]


def _count_different(values: Array) -> int:
    if values.dtype == object:
        return len(set(values.tolist()) - {None})
    return len(np.unique(values[~np.isnan(values)]))
