"""Convert fitted estimators to JSON and arrays, and restore them.

One table lists the estimators and their saved attributes. Attributes that are not in the table are
not saved, and loading a file never creates an object of another class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.svc import LinearSVC
from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model_files.attribute_schemas import (
    CLASSES,
    DIAGNOSES,
    HISTORY,
    INTERCEPT,
    LOSS,
    LOW_RANK_FACTOR,
    NAMES,
    SIGMOIDS,
    STATE,
    WEIGHTS,
)
from separatrix.model_selection.logistic_cv import LogisticRegressionCV
from separatrix.model_selection.penalty_cv import PenaltyCV
from separatrix.model_selection.svc_cv import LinearSVCCV
from separatrix.packing import Schema, pack, unpack
from separatrix.packing.schemas import COUNT, NUMBER, TEXT, array, fields_of, validated
from separatrix.training.schemas import CERTIFICATE

# Number of slots in the state of a run, by solver and update rule.
SLOTS = {
    ("gradient", "plain"): 0,
    ("gradient", "momentum"): 1,
    ("gradient", "nesterov"): 1,
    ("gradient", "adam"): 2,
    ("gradient", "lazy_adam"): 2,
    ("perceptron", None): 0,
}

LINEAR_CLASSIFIER: dict[str, Schema] = {
    "classes_": CLASSES,
    "n_features_in_": COUNT,
    "feature_names_in_": NAMES,
    "coef_": WEIGHTS,
    "intercept_": INTERCEPT,
    "_loss": LOSS,
    "_objective_words": TEXT,
    "history_": HISTORY,
    "n_iter_": COUNT,
    "best_epoch_": COUNT,
    "certificate_": CERTIFICATE,
    "diagnoses_": DIAGNOSES,
    "stop_reason_": TEXT,
    "_state": STATE,
}
EPOCH_CLASSIFIER = LINEAR_CLASSIFIER | {
    "_state_of": validated(
        "a solver, an update rule and a number of outputs",
        lambda value: (
            isinstance(value, tuple)
            and [type(part) for part in value[2:]] == [int]
            and value[:2] in list(SLOTS)
        ),
    )
}
OPTIMUM_CLASSIFIER = LINEAR_CLASSIFIER | {
    "solver_": TEXT,
    "solver_reason_": TEXT,
    "threshold_": NUMBER,
}
CROSS_VALIDATED_CLASSIFIER = OPTIMUM_CLASSIFIER | {
    "C_": NUMBER,
    "l1_ratio_": NUMBER,
    "Cs_": array("f", 1),
    "l1_ratios_": array("f", 1),
    "scores_": array("f", 3),
    "coefs_paths_": array("f", 5),
    "n_iter_": array("iu", 3),
    "n_batches_": COUNT,
    "n_passes_": NUMBER,
}
# scikit-learn's LogisticRegression has its count in an array of one entry.
COUNT_IN_ARRAY = Schema(
    lambda count: COUNT.pack(int(count[0])),
    lambda value, where: np.array([COUNT.unpack(value, where)], np.int32),
)
TABLE: dict[type[LinearClassifier], dict[str, Schema]] = {
    GradientDescentClassifier: EPOCH_CLASSIFIER,
    Perceptron: EPOCH_CLASSIFIER,
    LogisticRegression: OPTIMUM_CLASSIFIER | {"n_iter_": COUNT_IN_ARRAY},
    LinearSVC: OPTIMUM_CLASSIFIER | {"_sigmoids": SIGMOIDS},
    KernelClassifier: OPTIMUM_CLASSIFIER | {"factor_": LOW_RANK_FACTOR},
    LogisticRegressionCV: CROSS_VALIDATED_CLASSIFIER,
    LinearSVCCV: CROSS_VALIDATED_CLASSIFIER | {"_sigmoids": SIGMOIDS},
}
# Attributes that some fits lack, and attributes that a mean of the weights of all folds lacks.
OPTIONAL = frozenset({"feature_names_in_", "_state_of", "n_batches_", "n_passes_"})
VERDICT = frozenset(
    [
        "history_",
        "best_epoch_",
        "certificate_",
        "diagnoses_",
        "stop_reason_",
        "_state",
        "solver_",
        "solver_reason_",
        "_sigmoids",
    ]
)
BY_NAME = {cls.__name__: cls for cls in TABLE}


def require_known(estimator: Any) -> None:
    """Raise unless the class of an estimator is in the table. Subclasses are not allowed."""
    if type(estimator) not in TABLE:
        raise TypeError(
            f"Only these classifiers can be saved: {', '.join(BY_NAME)}. Got "
            f"{type(estimator).__name__} instead. From a search, save best_estimator_; from a "
            "pipeline, save its last step."
        )


def to_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Convert a fitted estimator to JSON and arrays.

    >>> model = Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> content, arrays = to_state(model)
    >>> content["estimator"], content["fitted"]["classes_"]
    ('Perceptron', {'$strings': ['no', 'yes'], 'width': 3})
    >>> from_state(content, arrays).predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    require_known(estimator)
    check_is_fitted(estimator)
    kind = type(estimator)
    arrays: dict[str, Array] = {}
    params = estimator.get_params(deep=False)
    losses = [name for name, value in params.items() if isinstance(value, Loss)]
    # Fitted attributes come first, so that their errors are reported before those of parameters.
    fitted = {
        name: pack(part.pack(vars(estimator)[name]), name, arrays)
        for name, part in TABLE[kind].items()
        if name in vars(estimator)
    }
    content = {
        "estimator": kind.__name__,
        "parameters": {
            name: _pack_parameter(kind, name, value, arrays)
            for name, value in params.items()
            if name not in losses
        },
        "losses": {name: LOSS.pack(params[name]) for name in losses},
        "fitted": fitted,
    }
    try:
        from_state(content, arrays)
    except ValueError as error:
        raise ValueError(
            f"This {kind.__name__} cannot be saved, because the file could not be loaded again: "
            f"{error} Fit it again."
        ) from None
    return content, arrays


def _pack_parameter(kind: type, name: str, value: Any, arrays: dict[str, Array]) -> Any:
    try:
        return pack(value, f"parameters.{name}", arrays)
    except ValueError as error:
        raise ValueError(
            f"The '{name}' parameter of {kind.__name__} cannot be saved: {error} Set another "
            f"value with set_params({name}=...) before saving. This does not change the fitted "
            "model."
        ) from None


def from_state(content: Any, arrays: Mapping[str, Array]) -> LinearClassifier:
    """Restore the estimator that was given to `to_state`; raise ValueError for invalid content."""
    name, given, losses, fitted = fields_of(
        content, "model", "estimator", "parameters", "losses", "fitted"
    )
    if not isinstance(name, str) or name not in BY_NAME:
        raise ValueError(f"its estimator must be one of {', '.join(BY_NAME)}.")
    estimator = BY_NAME[name](**_parameters(name, given, losses, arrays))
    table = TABLE[type(estimator)]
    if not isinstance(fitted, dict):
        raise ValueError("its attributes must be an object.")
    may_lack = OPTIONAL | VERDICT if isinstance(estimator, PenaltyCV) else OPTIONAL
    wrong = (set(fitted) - set(table)) | (set(table) - set(fitted) - may_lack)
    if wrong:
        fault = "unknown" if min(wrong) in fitted else "missing"
        raise ValueError(f"the attribute {min(wrong)!r} of {name} is {fault}.")
    for attribute, tree in fitted.items():
        value = unpack(tree, attribute, arrays)
        setattr(estimator, attribute, table[attribute].unpack(value, attribute))
    if isinstance(estimator, OptimumClassifier) and "diagnoses_" in fitted:
        estimator._note_direction()
    _require_consistent(estimator)
    return estimator


def _parameters(name: str, given: Any, losses: Any, arrays: Mapping[str, Array]) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(losses, dict) or set(given) & set(losses):
        raise ValueError("its parameters and losses must be objects without common names.")
    unknown = (set(given) | set(losses)) - set(BY_NAME[name]._get_param_names())
    if unknown:
        raise ValueError(f"{name} has no parameter {min(unknown)!r}.")
    out = {key: unpack(value, f"parameters.{key}", arrays) for key, value in given.items()}
    return out | {key: LOSS.unpack(value, f"losses.{key}") for key, value in losses.items()}


def _require_consistent(model: LinearClassifier) -> None:
    """Raise unless the shapes of all attributes are consistent."""
    n_classes, n_outputs, d = len(model.classes_), len(model.intercept_), model.n_features_in_
    factor = getattr(model, "factor_", None)
    width = d if factor is None else factor.rank
    claims = {
        "coef_": model.coef_.shape == (n_outputs, width),
        "_loss": model._loss.n_outputs(n_classes) == n_outputs,
        "feature_names_in_": len(getattr(model, "feature_names_in_", range(d))) == d,
    }
    if factor is not None:
        claims["factor_"] = factor.rows.shape[1] == d
    if getattr(model, "_sigmoids", None) is not None:
        columns = 1 if n_classes == 2 else n_classes
        claims["_sigmoids"] = len(model._sigmoids.slope) == columns
    if not isinstance(model, PenaltyCV):
        claims["n_iter_"] = model.history_.epochs == model.n_iter_
    for diagnosis in getattr(model, "diagnoses_", []):
        if diagnosis.direction is not None:
            shapes = tuple(part.shape for part in diagnosis.direction)
            claims["diagnoses_"] = shapes == ((n_outputs, width), (n_outputs,))
    state = getattr(model, "_state", None)
    if state is not None:
        solver, rule, outputs = getattr(model, "_state_of", ("", None, 0))
        slots = SLOTS.get((solver, rule)) == len(state.slots)
        shape = state.model.W.shape == (width, 1, n_outputs)
        claims["_state"] = slots and shape and outputs == n_outputs
    for name, holds in claims.items():
        if not holds:
            raise ValueError(
                f"{name} is not consistent with {n_classes} classes, {n_outputs} outputs and {d} "
                "features."
            )
