"""One model of one source: prepared, trained on its training rows, measured on all parts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators import fit_many
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.readers.label_column import NO_LABELS, is_quantity
from separatrix.training import Progress
from separatrix.workflow.families import Family, Options, build, family_of
from separatrix.workflow.judging import metrics_of, verdict_of, warnings_as_sentences
from separatrix.workflow.preparing import in_words, require_usable, settings_for

_FILLED = re.compile(r"(Column '.*'): [\d,]+ values? missing, filled")

HELD_OUT = ("validation", "test")

OnRecord = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """The matrices and labels of the parts that have rows, and how they were made."""

    source: Source
    preparation: Preparation
    notes: list[str]
    X: dict[str, Any]
    y: dict[str, Array]

    @property
    def n_classes(self) -> int:
        """The number of classes of the training rows."""
        return len(np.unique(self.y["train"]))


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that can be saved, and all facts about it as plain values."""

    bundle: Bundle
    facts: dict[str, Any]


def prepare(source: Source, settings: Settings | None = None) -> Prepared:
    """Fit the preparation to the training rows, and apply it to all.

    >>> from separatrix import load
    >>> prepared = prepare(load("iris"))
    >>> prepared.X["test"].shape, prepared.n_classes
    ((25, 4), 3)
    """
    require_labels(source)
    settings = settings_for(source.table) if settings is None else settings
    require_usable(source, settings)
    parts = {part: source.part(part) for part, rows in source.splits.items() if len(rows)}
    if "train" not in parts:
        raise ValueError(f"{source.name} has no rows for training.")
    preparation = Preparation.fit(
        parts["train"].table, settings, feature_names=_names(source, parts["train"].table)
    )
    told: list[str] = []
    X = {}
    for name, part in parts.items():
        news: list[str] = []
        X[name] = preparation.transform(part.table, news)
        told += [] if name == "train" else _news(name, news, preparation.notes)
    notes = [*source.notes, *in_words(preparation, settings), *told]
    return Prepared(source, preparation, notes, X, {name: _y(part) for name, part in parts.items()})


def fit_source(
    source: Source,
    model: str = "auto",
    options: Options | None = None,
    settings: Settings | None = None,
    on_record: OnRecord | None = None,
) -> Trained:
    """Train a model of this family on the training rows, and measure it on every part.

    >>> from separatrix import load
    >>> facts = fit_source(load("iris")).facts
    >>> facts["model"]["name"], facts["verdict"]["converged"], facts["metrics"]["test"]["rows"]
    ('softmax', True, 25)
    """
    return fit_prepared(prepare(source, settings), model, options, on_record)


def fit_prepared(
    prepared: Prepared,
    model: str = "auto",
    options: Options | None = None,
    on_record: OnRecord | None = None,
) -> Trained:
    """The same, of a source that is prepared already."""
    options = Options() if options is None else options
    family = family_of(model, prepared.n_classes)
    estimator = build(family, options)
    began = time.perf_counter()
    with warnings_as_sentences():  # the verdict says the same
        fit_many([estimator], prepared.X["train"], prepared.y["train"], on_record=on_record)
    seconds = time.perf_counter() - began
    metrics = {
        part: metrics_of(estimator, prepared.X[part], prepared.y[part]) for part in prepared.X
    }
    facts = {
        "source": facts_of(prepared.source, prepared.preparation, estimator.classes_),
        "notes": prepared.notes,
        "model": model_facts(family, estimator),
        "verdict": verdict_of(estimator) | {"seconds": seconds},
        "metrics": metrics,
    }
    bundle = bundle_of(prepared.source, prepared.preparation, estimator, metrics, HELD_OUT)
    return Trained(bundle, facts)


def bundle_of(
    source: Source,
    preparation: Preparation,
    model: LinearClassifier,
    metrics: Mapping[str, Any],
    held_out: Sequence[str],
) -> Bundle:
    """A model with all that is kept of it; rows held out, so that they can be found again."""
    rows = {part: source.splits[part] for part in held_out}
    training = {"source": source.name, "held_out": rows, "reading": source.reading}
    return Bundle(model, preparation, source.fingerprint, {**metrics, "training": training})


def facts_of(source: Source, preparation: Preparation, classes: Array) -> dict[str, Any]:
    """What a model was trained on."""
    return {
        "name": source.name,
        "rows": len(source),
        "columns": int(source.table.shape[1]),
        "features": len(preparation.feature_names_out),
        "classes": classes.tolist(),
        "parts": {part: len(rows) for part, rows in source.splits.items()},
        "fingerprint": source.fingerprint,
    }


def model_facts(family: Family, model: LinearClassifier) -> dict[str, Any]:
    """Which model it is, and what it minimised."""
    return {
        "name": family.name,
        "about": family.about_for(len(model.classes_)),
        "parameters": model.get_params(deep=False),
        "objective": model.objective(),
    }


def require_labels(source: Source) -> None:
    """Raise unless the rows have labels."""
    if source.y is None:
        why = "".join(f" {note}" for note in source.notes if note.startswith(NO_LABELS))
        raise ValueError(
            f"{source.name} has no labels.{why} Name the column that holds them with "
            "label=, or give a source that has some."
        )
    if is_quantity(source.y):
        odd = source.y[source.y != np.floor(source.y)]
        raise ValueError(
            f"The labels of {source.name} are a quantity, not classes: they have "
            f"{len(np.unique(source.y)):,} different values, such as {odd[0]:g}. Name the column "
            "of the labels with label=, or make classes of the values."
        )


def _news(part: str, notes: list[str], known: list[str]) -> list[str]:
    """The notes of a part, without gaps of columns whose filling the training rows have told."""
    told = {match[1] for note in known if (match := _FILLED.match(note))}
    gaps = {note: match[1] for note in notes if (match := _FILLED.match(note))}
    return [f"In {part}: {note}" for note in notes if gaps.get(note) not in told]


def _y(part: Source) -> Array:
    assert part.y is not None
    return part.y


def _names(source: Source, table: Any) -> list[str] | None:
    """Feature names for a matrix; those of a table are its own."""
    return None if hasattr(table, "kinds") else source.feature_names
