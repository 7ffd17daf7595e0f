"""The private names of scikit-learn that this library uses; no other module imports any.

There are two kinds: functions without a public name that scikit-learn's own meta-estimators call,
and the internals of its scorers, which tell whether a scorer uses only the predictions of a model.
Its support for callbacks is public, but older versions do not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from inspect import signature
from typing import Any

from sklearn.metrics import accuracy_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import (
    _insert_error_scores as insert_error_scores,
)
from sklearn.model_selection._validation import (
    _score as score_estimator,
)
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.metadata_routing import _raise_for_params as raise_for_params
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as count_rows

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before version 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing, since there are no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method, since there are no callbacks to call."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "check_feature_names",
    "check_method_params",
    "check_sample_weight",
    "count_rows",
    "insert_error_scores",
    "is_accuracy",
    "needs_predictions_only",
    "raise_for_params",
    "routing_enabled",
    "safe_indexing",
    "score_estimator",
    "scorers_by_name",
    "validate_parameters",
    "warn_or_raise_about_fit_failures",
    "with_callbacks",
    "with_labels",
]


def scorers_by_name(scorer: Any) -> dict[str, Any] | None:
    """Return the scorers that a multi-metric scorer consists of; None for a single metric."""
    return scorer._scorers if isinstance(scorer, _MultimetricScorer) else None


def validate_parameters(estimator: Any) -> None:
    """Raise a ValueError if a parameter of an estimator of scikit-learn has an invalid value.

    >>> from sklearn.preprocessing import StandardScaler
    >>> validate_parameters(StandardScaler(copy=3))
    Traceback (most recent call last):
        ...
    sklearn.utils._param_validation.InvalidParameterError: The 'copy' parameter of ...
    """
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()


def needs_predictions_only(scorer: Any, params: Mapping[str, Any]) -> bool:
    """Return whether a scorer uses only a model's predictions, not X or the model itself.

    >>> from sklearn.metrics import get_scorer
    >>> needs_predictions_only(get_scorer("accuracy"), {})
    True
    """
    parts = scorers_by_name(scorer)
    if parts is not None:
        return all(needs_predictions_only(part, params) for part in parts.values())
    if isinstance(scorer, _PassthroughScorer):
        # A pipeline may route metadata to any of its steps.
        return not (params and isinstance(scorer._estimator, Pipeline))
    return isinstance(scorer, _BaseScorer)


def with_labels(scorer: Any, classes: Any) -> Any:
    """Return a scorer that knows all classes, as test rows may lack some of them.

    >>> import numpy as np
    >>> from sklearn.metrics import get_scorer
    >>> with_labels(get_scorer("neg_log_loss"), np.array([0, 1]))._kwargs
    {'labels': array([0, 1])}
    """
    known = signature(scorer._score_func).parameters if isinstance(scorer, _BaseScorer) else {}
    if "labels" not in known:
        return scorer
    names = {"labels": classes}
    if len(classes) == 2 and "pos_label" in known:
        names["pos_label"] = classes[1]
    out = copy(scorer)
    out._kwargs = names | scorer._kwargs
    return out


def is_accuracy(scorer: Any) -> bool:
    """Return whether a scorer is the plain accuracy of `predict`.

    >>> from sklearn.metrics import get_scorer
    >>> is_accuracy(get_scorer("accuracy")), is_accuracy(get_scorer("f1"))
    (True, False)
    """
    if isinstance(scorer, _PassthroughScorer):
        return True  # a classifier's own score
    return (
        isinstance(scorer, _BaseScorer)
        and scorer._score_func is accuracy_score
        and scorer._response_method == "predict"
        and scorer._sign == 1
        and not scorer._kwargs
    )
