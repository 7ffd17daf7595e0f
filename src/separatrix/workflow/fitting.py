"""Training of one model on a source: preparation, training, metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.cluster import Cluster
from separatrix.errors import Message, OptionError, Parameter
from separatrix.estimators import fit_many
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.streams.stored_source import StoredSource
from separatrix.training import Progress
from separatrix.workflow.facts import (
    collect_convergence_warnings,
    measure_model,
    model_facts,
    source_facts,
    verdict_facts,
)
from separatrix.workflow.gradient_descent import GradientOptions, build_gradient_descent
from separatrix.workflow.model_families import (
    GRADIENT,
    ModelOptions,
    build_estimator,
    find_family,
)
from separatrix.workflow.placing import note_of, place_on
from separatrix.workflow.preparing import PreparedSource, prepare_source

HELD_OUT = ("validation", "test")

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class FittedSource:
    """A model that can be saved, and the facts about it as plain values."""

    bundle: Bundle
    facts: dict[str, Any]


def fit_source(
    source: Source,
    model: str = "auto",
    options: ModelOptions | None = None,
    settings: Settings | None = None,
    on_progress: OnProgress | None = None,
) -> FittedSource:
    """Prepare a source, train a model on its training rows, and measure it on every part.

    >>> from separatrix import load
    >>> facts = fit_source(load("iris")).facts
    >>> facts["model"]["name"], facts["verdict"]["converged"], facts["metrics"]["test"]["rows"]
    ('softmax', True, 25)
    """
    return fit_prepared(prepare_source(source, settings), model, options, on_progress)


def fit_prepared(
    prepared: PreparedSource,
    model: str = "auto",
    options: ModelOptions | None = None,
    on_progress: OnProgress | None = None,
    descent: GradientOptions | None = None,
    cluster: Cluster | None = None,
) -> FittedSource:
    """Train a model on the training rows of a prepared source, and measure it on every part.

    `descent` holds the options of gradient descent, for the solver "gradient". With `cluster`, the
    model is trained on its workers.
    """
    options = ModelOptions() if options is None else options
    family = find_family(model, prepared.n_classes)
    y, weights = prepared.y["train"], prepared.weights.get("train")
    X = place_on(cluster, prepared.X["train"], y, weights)
    notes, held_out = [*prepared.notes, *note_of(cluster)], {}
    estimator: LinearClassifier
    if options.solver == GRADIENT:
        descent = GradientOptions() if descent is None else descent
        if descent.patience is not None and "validation" not in prepared.X:
            raise OptionError(
                Message(
                    "{patience} needs validation rows, and {name} has none. Name a file with "
                    "{validation}, set aside a part with {split}, or leave out {patience}.",
                    patience=Parameter("patience"),
                    name=prepared.source.name,
                    validation=Parameter("validation"),
                    split=Parameter("split"),
                ),
                "patience",
            )
        estimator, chosen = build_gradient_descent(family, options, descent, X, y, weights)
        notes = [*notes, *chosen]
        if "validation" in prepared.X:
            X_val = prepared.X["validation"]
            X_val = X_val if cluster is None else cluster.spread(X_val)
            held_out = {"X_val": X_val, "y_val": prepared.y["validation"]}
    else:
        estimator = build_estimator(family, options)
        if isinstance(estimator, OptimumClassifier):
            estimator.certified = True
    began = time.perf_counter()
    with collect_convergence_warnings():  # the verdict has the same diagnoses
        fit_many([estimator], X, y, weights, on_progress=on_progress, **held_out)
    seconds = time.perf_counter() - began
    names = prepared.preparation.feature_names_out
    estimator.diagnoses_ = [found.with_names(names) for found in estimator.diagnoses_]
    metrics = {
        part: measure_model(estimator, matrix, prepared.y[part], prepared.weights.get(part))
        for part, matrix in prepared.X.items()
    }
    facts = {
        "source": source_facts(prepared.source, prepared.preparation, estimator.classes_),
        "notes": notes,
        "model": model_facts(family, estimator),
        "verdict": verdict_facts(estimator) | {"seconds": seconds},
        "metrics": metrics,
    }
    bundle = make_bundle(prepared.source, prepared.preparation, estimator, metrics, HELD_OUT)
    return FittedSource(bundle, facts)


def make_bundle(
    source: Source,
    preparation: Preparation,
    model: LinearClassifier,
    metrics: Mapping[str, Any],
    held_out: Sequence[str],
) -> Bundle:
    """Return a model with its preparation, its metrics and the numbers of the held-out rows."""
    # The parts of rows on disk are known by their names.
    parts = () if isinstance(source, StoredSource) else held_out
    rows = {part: source.splits[part] for part in parts}
    training = {"source": source.name, "held_out": rows, "reading": source.reading}
    return Bundle(model, preparation, source.fingerprint, {**metrics, "training": training})
