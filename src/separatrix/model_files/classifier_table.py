"""The classifiers that model files can contain, and their fitted attributes."""

from __future__ import annotations

import numpy as np

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.sgd import SGDClassifier
from separatrix.estimators.svc import LinearSVC
from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.model_files.attribute_schemas import (
    CLASSES,
    DIAGNOSES,
    HISTORY,
    INTERCEPT,
    LOSS,
    LOW_RANK_FACTOR,
    NAMES,
    REGION,
    SIGMOIDS,
    STATE,
    WEIGHTS,
)
from separatrix.model_files.saved_class import SavedClass, require_consistent
from separatrix.model_selection.legacy_attributes import (
    set_legacy_attributes,
    with_present_attributes,
)
from separatrix.model_selection.logistic_cv import LogisticRegressionCV
from separatrix.model_selection.penalty_cv import PenaltyCV
from separatrix.model_selection.svc_cv import LinearSVCCV
from separatrix.packing import Schema
from separatrix.packing.schemas import COUNT, NUMBER, TEXT, array, integer, validated
from separatrix.training.schemas import CERTIFICATE
from separatrix.verdict.regions import Region

# Number of slots in the state of a run, by solver and update rule.
SLOTS = {
    ("gradient", "plain"): 0,
    ("gradient", "plain, averaged"): 1,
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
    "_region": REGION,
    "_zero_weights": array("b", 2),
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
# LogisticRegression has its count in an array, as in scikit-learn. All entries are equal.
INT32_COUNT = integer(0, np.iinfo(np.int32).max)
COUNT_IN_ARRAY = Schema(
    lambda count: INT32_COUNT.pack(int(count[0])),
    lambda value, where: np.array([INT32_COUNT.unpack(value, where)], np.int32),
)
TABLE: dict[type[LinearClassifier], dict[str, Schema]] = {
    GradientDescentClassifier: EPOCH_CLASSIFIER,
    Perceptron: EPOCH_CLASSIFIER | {"t_": NUMBER},
    SGDClassifier: EPOCH_CLASSIFIER | {"t_": NUMBER},
    LogisticRegression: OPTIMUM_CLASSIFIER | {"n_iter_": COUNT_IN_ARRAY},
    LinearSVC: OPTIMUM_CLASSIFIER | {"_sigmoids": SIGMOIDS},
    KernelClassifier: OPTIMUM_CLASSIFIER | {"factor_": LOW_RANK_FACTOR},
    LogisticRegressionCV: CROSS_VALIDATED_CLASSIFIER,
    LinearSVCCV: CROSS_VALIDATED_CLASSIFIER | {"_sigmoids": SIGMOIDS},
}
# Attributes that some fits lack, and attributes that a mean of the weights of all folds lacks.
OPTIONAL = frozenset(
    {"feature_names_in_", "_state_of", "t_", "n_batches_", "n_passes_", "_region", "_zero_weights"}
)
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


def _check_classifier(model: LinearClassifier) -> None:
    """Raise unless the shapes of all attributes are consistent."""
    n_classes, n_outputs, d = len(model.classes_), len(model.intercept_), model.n_features_in_
    factor = getattr(model, "factor_", None)
    width = d if factor is None else factor.rank
    claims = {
        "coef_": model.coef_.shape == (n_outputs, width),
        "_loss": model._loss.n_outputs(n_classes) == n_outputs,
        "feature_names_in_": len(getattr(model, "feature_names_in_", range(d))) == d,
    }
    region = getattr(model, "_region", None)
    if isinstance(model, OptimumClassifier) and isinstance(region, Region):
        claims["_zero_weights"] = model._zero_weights.shape == (n_outputs, width)
        claims["_region"] = region.ball.centre.W.shape == (width, 1, n_outputs)
    if factor is not None:
        claims["factor_"] = factor.rows.shape[1] == d
    if getattr(model, "_sigmoids", None) is not None:
        columns = 1 if n_classes == 2 else n_classes
        claims["_sigmoids"] = len(model._sigmoids.slope) == columns
    if not isinstance(model, PenaltyCV):
        claims["n_iter_"] = bool(np.all(model.history_.epochs == model.n_iter_))
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
    require_consistent(claims, f"{n_classes} classes, {n_outputs} outputs and {d} features")


def _restore_classifier(model: LinearClassifier) -> None:
    if isinstance(model, LogisticRegression):
        model._set_iterations(int(model.n_iter_[0]))
    if isinstance(model, LogisticRegressionCV) and model.use_legacy_attributes:
        set_legacy_attributes(model)
    if isinstance(model, OptimumClassifier) and hasattr(model, "diagnoses_"):
        model._note_direction()


CLASSIFIERS: dict[type, SavedClass] = {
    kind: SavedClass(
        attributes,
        OPTIONAL | VERDICT if issubclass(kind, PenaltyCV) else OPTIONAL,
        _check_classifier,
        _restore_classifier,
        found=with_present_attributes if kind is LogisticRegressionCV else vars,
    )
    for kind, attributes in TABLE.items()
}
