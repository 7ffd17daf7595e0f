"""Separatrix trains, studies and explains linear classifiers: many models, one pass."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from separatrix.lazy import lazily

if TYPE_CHECKING:
    from separatrix.data import rows_per_block
    from separatrix.data.on_disk import StoredRows
    from separatrix.data.on_disk import open_rows as open
    from separatrix.estimators import (
        GradientDescentClassifier,
        LinearSVC,
        LogisticRegression,
        Perceptron,
        SGDClassifier,
        Threshold,
    )
    from separatrix.estimators.fit_many import fit_many
    from separatrix.inference import Intervals, confidence_intervals
    from separatrix.kernel_methods import KernelClassifier, KernelRidge, KernelRidgeCV
    from separatrix.losses import LOSSES, Loss
    from separatrix.matrix import get_threads, set_threads
    from separatrix.model_files import (
        SKOPS_TYPES,
        Bundle,
        load_model,
        register_onnx,
        save,
        to_onnx,
        to_sklearn,
    )
    from separatrix.model_selection import (
        GridSearchCV,
        LinearSVCCV,
        LogisticRegressionCV,
        RegularizationPath,
    )
    from separatrix.model_selection.certified import CertifiedSearch, certified_search
    from separatrix.model_selection.regularization_path import regularization_path
    from separatrix.patching import patch, unpatch
    from separatrix.penalty import ElasticNet
    from separatrix.readers import Source, load
    from separatrix.study import Study
    from separatrix.training import History, Progress
    from separatrix.verdict.certificate import Certificate
    from separatrix.verdict.diagnosis import Diagnosis
    from separatrix.workflow.converting import convert

__version__ = "0.1.0"

# The module of each name. A module is imported when one of its names is first used.
_PLACES = {
    "separatrix.data": ("rows_per_block",),
    "separatrix.data.on_disk": ("StoredRows", "open"),
    "separatrix.estimators": (
        "GradientDescentClassifier",
        "LinearSVC",
        "LogisticRegression",
        "Perceptron",
        "SGDClassifier",
        "Threshold",
        "fit_many",
    ),
    "separatrix.inference": ("Intervals", "confidence_intervals"),
    "separatrix.kernel_methods": ("KernelClassifier", "KernelRidge", "KernelRidgeCV"),
    "separatrix.losses": ("LOSSES", "Loss"),
    "separatrix.matrix": ("get_threads", "set_threads"),
    "separatrix.model_files": (
        "SKOPS_TYPES",
        "Bundle",
        "load_model",
        "register_onnx",
        "save",
        "to_onnx",
        "to_sklearn",
    ),
    "separatrix.model_selection": (
        "GridSearchCV",
        "LinearSVCCV",
        "LogisticRegressionCV",
        "RegularizationPath",
        "regularization_path",
    ),
    "separatrix.model_selection.certified": ("CertifiedSearch", "certified_search"),
    "separatrix.patching": ("patch", "unpatch"),
    "separatrix.penalty": ("ElasticNet",),
    "separatrix.readers": ("Source", "load"),
    "separatrix.study": ("Study",),
    "separatrix.training": ("History", "Progress"),
    "separatrix.verdict.certificate": ("Certificate",),
    "separatrix.verdict.diagnosis": ("Diagnosis",),
    "separatrix.workflow.converting": ("convert",),
}

__all__ = [
    "LOSSES",
    "SKOPS_TYPES",
    "Bundle",
    "Certificate",
    "CertifiedSearch",
    "Diagnosis",
    "ElasticNet",
    "GradientDescentClassifier",
    "GridSearchCV",
    "History",
    "Intervals",
    "KernelClassifier",
    "KernelRidge",
    "KernelRidgeCV",
    "LinearSVC",
    "LinearSVCCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Loss",
    "Perceptron",
    "Progress",
    "RegularizationPath",
    "SGDClassifier",
    "Source",
    "StoredRows",
    "Study",
    "Threshold",
    "certified_search",
    "confidence_intervals",
    "convert",
    "fit_many",
    "get_threads",
    "load",
    "load_model",
    "open",
    "patch",
    "register_onnx",
    "regularization_path",
    "rows_per_block",
    "save",
    "set_threads",
    "to_onnx",
    "to_sklearn",
    "unpatch",
]


__getattr__, __dir__ = lazily(__name__, _PLACES)

# A limit of threadpoolctl applies only to libraries that are loaded when it is entered.
if "threadpoolctl" in sys.modules:
    import_module("separatrix.matrix.threads")
