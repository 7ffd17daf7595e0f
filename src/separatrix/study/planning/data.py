"""The rows a study trains and validates on, from arrays or from a source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from separatrix.data import Dataset
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.training_data import make_dataset, make_validation_set
from separatrix.features.settings import Settings
from separatrix.readers import Source, load
from separatrix.study.results.facts import DataFacts
from separatrix.workflow.preparing import PreparedSource, choose_settings, prepare_source


@dataclass(frozen=True, eq=False)
class StudyData:
    """The training and validation rows of a study, and what is reported of them.

    Attributes
    ----------
    X, y : the training rows as they were given
    training, validation : the same as data sets; `validation` is None without such rows
    facts : name, size, classes and fingerprint
    digest : sha256 of the matrices that are trained and validated on
    call : the arguments by which `Study.run` gets the same rows, as Python reads them
    """

    X: Any
    y: Any
    training: Dataset
    validation: Dataset | None
    facts: DataFacts
    digest: str
    call: str

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        *,
        name: str = "data",
        fingerprint: str | None = None,
        feature_names: list[str] | None = None,
        notes: Sequence[str] = (),
        call: str = "X, y, X_val, y_val",
    ) -> StudyData:
        """Check arrays or frames; `fingerprint` is that of the source they come from, if any."""
        estimator = GradientDescentClassifier()  # all estimators ask the same of their rows
        training = make_dataset(estimator, X, y, None)
        validation = make_validation_set(estimator, X_val, y_val, training)
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(column) for column in X.columns]
        digest = _digest(X, y, X_val, y_val)
        rows = {"train": training.n_samples}
        if validation is not None:
            rows["validation"] = validation.n_samples
        facts = DataFacts(
            name,
            rows,
            training.n_features,
            training.classes.tolist(),
            feature_names,
            fingerprint or digest,
            list(notes),
        )
        return cls(X, y, training, validation, facts, digest, call)

    @classmethod
    def from_prepared(cls, prepared: PreparedSource, call: str) -> StudyData:
        """Take the training and validation rows of a prepared source."""
        X, y = prepared.X, prepared.y
        return cls.from_arrays(
            X["train"],
            y["train"],
            X.get("validation"),
            y.get("validation"),
            name=prepared.source.name,
            fingerprint=prepared.source.fingerprint,
            feature_names=list(prepared.preparation.feature_names_out),
            notes=prepared.notes,
            call=call,
        )


def read_data(X: Any, y: Any, X_val: Any, y_val: Any, settings: Mapping[str, Any]) -> StudyData:
    """The rows that the arguments of `Study.run` mean: arrays, or a source and its settings."""
    known = [field.name for field in fields(Settings)]
    if unknown := [name for name in settings if name not in known]:
        raise TypeError(
            f"Study.run has no option {unknown[0]!r}. How a source becomes a matrix is said by "
            f"{', '.join(known)}."
        )
    if (isinstance(X, StudyData) or y is not None) and settings:
        raise ValueError(
            f"{next(iter(settings))!r} is for a source, which is prepared; arrays are trained on "
            "as they are. Prepare them first, or give a source."
        )
    if isinstance(X, StudyData):
        return X
    if y is not None:
        return StudyData.from_arrays(X, y, X_val, y_val)
    if not isinstance(X, str | os.PathLike | Source):
        raise ValueError(
            "A study needs labels: run(X, y), or a source alone, by its name, path or as a Source. "
            f"Got {type(X).__name__} and no y."
        )
    source = X if isinstance(X, Source) else load(X)
    call = run_arguments("source" if isinstance(X, Source) else repr(str(X)), settings)
    return StudyData.from_prepared(
        prepare_source(source, choose_settings(source.table, **settings)), call
    )


def run_arguments(source: str, settings: Mapping[str, Any]) -> str:
    """The arguments by which `Study.run` gets the same rows.

    >>> run_arguments("'a.csv'", {"missing": "median", "standardise": None})
    "'a.csv', missing='median'"
    """
    given = (f"{name}={value!r}" for name, value in settings.items() if value is not None)
    return ", ".join([source, *given])


def _digest(X: Any, y: Any, X_val: Any, y_val: Any) -> str:
    """One sha256 of all rows, training and validation."""
    digest = hashlib.sha256()
    for table, labels in ((X, y), (X_val, y_val)):
        if table is None:
            digest.update(b"none")
            continue
        table = table if hasattr(table, "tocsr") else np.asarray(table)
        table = table.tocsr() if hasattr(table, "tocsr") else table
        digest.update(Source("", table, np.asarray(labels)).fingerprint.encode())
    return digest.hexdigest()
