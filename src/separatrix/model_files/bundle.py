"""Save and load models, alone or together with the preparation of their raw data."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from separatrix.data import BlockRows
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.matrix import Array
from separatrix.model_files.container import damaged_file_error, read, write
from separatrix.model_files.estimator_state import from_state, to_state
from separatrix.packing import pack, unpack
from separatrix.packing.schemas import fields_of

# The classes that a file may name, and their modules.
PREPARATIONS = {"Preparation": "separatrix.features.preparation"}


class Preparation(Protocol):
    """A converter from raw data to the features of a model that can be stored as plain values."""

    def transform(self, table: Any, /, notes: list[str] | None = None) -> Any: ...
    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]: ...
    @classmethod
    def from_state(cls, state: Any, arrays: Mapping[str, Array], /) -> Self: ...


@dataclass(frozen=True, eq=False)
class Bundle:
    """A model with the preparation of its raw data, a fingerprint of the data, and metrics.

    Parameters
    ----------
    estimator : fitted classifier of this library, or a pipeline that ends in one
    preparation : fitted preparation that converts raw data to features; None if the model takes the
        data unchanged
    fingerprint : SHA-256 of the training data, 64 hexadecimal digits, or None
    metrics : dict of measured values; it may contain numbers, text, lists and dicts

    >>> from separatrix import Bundle, LogisticRegression, load_model, save
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> save(Bundle(model, metrics={"test": {"accuracy": 0.75}}), "model.sx")
    >>> bundle = load_model("model.sx")
    >>> bundle.predict([[2.0]]), bundle.metrics
    (array(['yes'], dtype='<U3'), {'test': {'accuracy': 0.75}})
    """

    estimator: LinearClassifier
    preparation: Preparation | None = None
    fingerprint: str | None = None
    metrics: Mapping[str, Any] | None = None

    @property
    def classes_(self) -> Array:
        """Classes, in the order of the columns of `predict_proba`."""
        return self.estimator.classes_

    def transform(self, source: Any, notes: list[str] | None = None) -> Any:
        """Return the feature matrix of raw data or of a `Source`.

        Filled, unknown and dropped values are reported in `notes`, or in a warning if it is None.
        """
        # A data frame may have a column named "table".
        table = source if hasattr(source, "columns") else getattr(source, "table", source)
        if isinstance(table, BlockRows):  # prepared when they were stored
            return table
        return table if self.preparation is None else self.preparation.transform(table, notes)

    def predict(self, source: Any) -> Array:
        """Return the predicted class of every row of raw data."""
        return self.estimator.predict(self.transform(source))

    def predict_proba(self, source: Any) -> Array:
        """Return the probabilities of the classes, (n, C), for the rows of raw data."""
        return self.estimator.predict_proba(self.transform(source))

    def decision_function(self, source: Any) -> Array:
        """Return the scores of the rows of raw data."""
        return self.estimator.decision_function(self.transform(source))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle to a file that `load_model` can read."""
        model, arrays = to_state(self.estimator)
        _require_fingerprint(self.fingerprint)
        metrics = None if self.metrics is None else dict(self.metrics)
        bundle = {
            "preparation": _pack_preparation(self.preparation, arrays),
            "fingerprint": self.fingerprint,
            "metrics": pack(metrics, "metrics", arrays),
        }
        write(path, {"model": model, "bundle": bundle}, arrays)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier, pipeline, search or Bundle to a file.

    A pipeline is scikit-learn's Pipeline, ColumnTransformer or FeatureUnion with its standard
    transformers; a search is a GridSearchCV of this library. Anything else is refused by name.

    The file is written under a temporary name and then renamed, so that after an error an existing
    file is unchanged.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import LogisticRegression, load_model, save
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> save(model.fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"]), "model.sx")
    >>> load_model("model.sx")[-1].certificate_ == model[-1].certificate_
    True
    """
    if isinstance(model, Bundle):
        model.save(path)
        return
    state, arrays = to_state(model)
    write(path, {"model": state, "bundle": None}, arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a fitted classifier, pipeline, search or Bundle from a file.

    The contents of the file are never executed. A file that is damaged, is not a model file or has
    a newer format raises a ValueError.
    """
    content, arrays = read(path)
    try:
        return _model_of(content, arrays)
    except ValueError as error:
        raise damaged_file_error(path, str(error)) from None


def _model_of(content: Any, arrays: Mapping[str, Array]) -> Any:
    model, bundle = fields_of(content, "its content", "model", "bundle")
    estimator = from_state(model, arrays)
    if bundle is None:
        return estimator
    preparation, fingerprint, metrics = fields_of(
        bundle, "bundle", "preparation", "fingerprint", "metrics"
    )
    _require_fingerprint(fingerprint)
    metrics = unpack(metrics, "metrics", arrays)
    if metrics is not None and not isinstance(metrics, dict):
        raise ValueError("its metrics must be an object.")
    return Bundle(estimator, _unpack_preparation(preparation, arrays), fingerprint, metrics)


def _pack_preparation(preparation: Preparation | None, arrays: dict[str, Array]) -> Any:
    if preparation is None:
        return None
    name = type(preparation).__name__
    if name not in PREPARATIONS:
        raise TypeError(
            f"The preparation of a Bundle must be one of {', '.join(PREPARATIONS)}. Got {name} "
            "instead."
        )
    state, own = preparation.to_state()
    return {
        "kind": name,
        "state": pack(state, "preparation", arrays),
        "arrays": pack(dict(own), "preparation.arrays", arrays),
    }


def _unpack_preparation(plain: Any, arrays: Mapping[str, Array]) -> Preparation | None:
    if plain is None:
        return None
    name, state, own = fields_of(plain, "preparation", "kind", "state", "arrays")
    if not isinstance(name, str) or name not in PREPARATIONS:
        raise ValueError(f"its preparation must be one of {', '.join(PREPARATIONS)}.")
    kind: type[Preparation] = getattr(importlib.import_module(PREPARATIONS[name]), name)
    state = unpack(state, "preparation", arrays)
    own = unpack(own, "preparation.arrays", arrays)
    if not isinstance(own, dict):
        raise ValueError("the arrays of its preparation must be an object.")
    return kind.from_state(state, own)


def _require_fingerprint(value: Any) -> None:
    if value is not None and not (isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value)):
        raise ValueError(
            "A fingerprint must be 64 hexadecimal digits, or None. "
            f"Got {str(value)[:80]!r} instead."
        )
