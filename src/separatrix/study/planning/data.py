"""The training and validation rows of a study, from arrays or from a source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from separatrix.cluster import Cluster, is_collection
from separatrix.data import Block, BlockRows, Dataset
from separatrix.data.on_disk import StoredRows
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.checks.placed_data import place_rows, place_validation_rows
from separatrix.estimators.checks.training_data import make_dataset, make_validation_set
from separatrix.features.settings import Settings
from separatrix.readers import Source, load
from separatrix.study.results.facts import DataFacts
from separatrix.workflow.placing import note_of
from separatrix.workflow.preparing import PreparedSource, choose_settings, prepare_source


@dataclass(frozen=True, eq=False)
class StudyData:
    """The training and validation rows of a study, and their description.

    Attributes
    ----------
    X, y : the training rows as the user passed them
    training, validation : the rows as datasets. `validation` is None if there are no such rows
    facts : name, size, classes and fingerprint
    digest : SHA-256 of the training and validation matrices
    call : the arguments of `Study.run` for the same rows, as Python code
    weights : sample weights of the training rows, or None. `validation` has its own
    """

    X: Any
    y: Any
    training: Dataset
    validation: Dataset | None
    facts: DataFacts
    digest: str
    call: str
    weights: Any = None

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
        weights: Any = None,
        val_weights: Any = None,
    ) -> StudyData:
        """Check arrays or data frames. `fingerprint` is that of their source, if there is one."""
        if is_collection(X):
            X, y, weights = place_rows(X, y, weights), None, None
        if is_collection(X_val):
            X_val, y_val = place_validation_rows(X_val, y_val), None
        estimator = GradientDescentClassifier()  # all estimators check rows in the same way
        training = make_dataset(estimator, X, y, weights)
        validation = make_validation_set(estimator, X_val, y_val, training, val_weights)
        if isinstance(X, BlockRows):
            feature_names = X.feature_names
        elif feature_names is None and hasattr(X, "columns"):
            feature_names = [str(column) for column in X.columns]
        digest = _digest(X, y, X_val, y_val, weights, val_weights)
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
        return cls(X, y, training, validation, facts, digest, call, weights)

    @classmethod
    def from_prepared(
        cls, prepared: PreparedSource, call: str, cluster: Cluster | None = None
    ) -> StudyData:
        """Take the training and validation rows of a prepared source; send them to a cluster."""
        y, weights = prepared.y, prepared.weights.get("train")
        X = {
            part: prepared.X[part] if cluster is None else cluster.spread(prepared.X[part])
            for part in ("train", "validation")
            if part in prepared.X
        }
        notes = [*prepared.notes, *note_of(cluster)]
        if weights is not None:
            notes.append(
                "The weights are used in all losses, in all accuracies and in the comparison of "
                "losses. The comparison of accuracies counts rows."
            )
        return cls.from_arrays(
            X["train"],
            y["train"],
            X.get("validation"),
            y.get("validation"),
            name=prepared.source.name,
            fingerprint=prepared.source.fingerprint,
            feature_names=list(prepared.preparation.feature_names_out),
            notes=notes,
            call=call,
            weights=weights,
            val_weights=prepared.weights.get("validation"),
        )


def read_data(X: Any, y: Any, X_val: Any, y_val: Any, settings: Mapping[str, Any]) -> StudyData:
    """Return the rows for the arguments of `Study.run`: arrays, or a source with settings."""
    known = [field.name for field in fields(Settings)]
    if unknown := [name for name in settings if name not in known]:
        raise TypeError(
            f"Study.run has no option {unknown[0]!r}. The options for preparing a source are "
            f"{', '.join(known)}."
        )
    if (isinstance(X, StudyData) or y is not None) and settings:
        raise ValueError(
            f"The option {next(iter(settings))!r} applies only to a source. Arrays are used "
            "without preparation: prepare them first, or pass a source."
        )
    if isinstance(X, StudyData):
        return X
    if y is not None or isinstance(X, BlockRows):
        return StudyData.from_arrays(X, y, X_val, y_val)
    if not isinstance(X, str | os.PathLike | Source):
        raise ValueError(
            "A study needs labels: run(X, y), or run(source) with a name, a path or a Source. "
            f"Got {type(X).__name__} without y."
        )
    source = X if isinstance(X, Source) else load(X)
    call = run_arguments("source" if isinstance(X, Source) else repr(str(X)), settings)
    return StudyData.from_prepared(
        prepare_source(source, choose_settings(source.table, **settings)), call
    )


def run_arguments(source: str, settings: Mapping[str, Any]) -> str:
    """Return the arguments of `Study.run` for the same rows, as Python code.

    >>> run_arguments("'a.csv'", {"missing": "median", "standardise": None})
    "'a.csv', missing='median'"
    """
    given = (f"{name}={value!r}" for name, value in settings.items() if value is not None)
    return ", ".join([source, *given])


def _digest(X: Any, y: Any, X_val: Any, y_val: Any, *weights: Any) -> str:
    """Return the SHA-256 of all training and validation rows, and of their weights if any."""
    digest = hashlib.sha256()
    if isinstance(X, StoredRows):
        kept = [X, X_val] if isinstance(X_val, StoredRows) else [X]
        for rows in kept:
            digest.update(f"{rows.manifest.fingerprint} {rows.parts}".encode())
        return digest.hexdigest()
    for table, labels in ((X, y), (X_val, y_val)):
        if table is None:
            digest.update(b"none")
            continue
        if isinstance(table, BlockRows):
            digest.update(repr(table.labels.tolist()).encode())
            for found in table.dataset().map_blocks(_digest_of_block):
                digest.update(found)
            continue
        table = table if hasattr(table, "tocsr") else np.asarray(table)
        table = table.tocsr() if hasattr(table, "tocsr") else table
        digest.update(Source("", table, np.asarray(labels)).fingerprint.encode())
    for column in weights:
        if column is not None:
            digest.update(np.asarray(column, "<f8").tobytes())
    return digest.hexdigest()


def _digest_of_block(block: Block) -> bytes:
    """Return the SHA-256 of the features, class numbers and weights of a block."""
    X = block.X.X
    arrays = (X.indptr, X.indices, X.data) if block.X.is_sparse else (X,)
    digest = hashlib.sha256(repr(block.X.shape).encode())
    for a in (*arrays, block.y, block.weights):
        digest.update(np.ascontiguousarray(a).tobytes())
    return digest.digest()
