"""Separatrix trains, studies and explains linear classifiers: many models, one pass."""

from typing import TYPE_CHECKING

from separatrix.lazy import lazily

if TYPE_CHECKING:
    from separatrix.arrays import get_threads, set_threads
    from separatrix.certificate import Certificate
    from separatrix.diagnose import Diagnosis
    from separatrix.estimators import (
        GradientDescentClassifier,
        GridSearchCV,
        Intervals,
        KernelClassifier,
        KernelRidge,
        KernelRidgeCV,
        LinearSVC,
        LinearSVCCV,
        LogisticRegression,
        LogisticRegressionCV,
        Perceptron,
        RegularizationPath,
        Threshold,
        confidence_intervals,
        fit_many,
        regularization_path,
    )
    from separatrix.exports import to_onnx, to_sklearn
    from separatrix.losses import LOSSES, Loss
    from separatrix.modelfile import Bundle, load_model, save
    from separatrix.penalty import ElasticNet
    from separatrix.solvers import History, Progress
    from separatrix.sources import Source, load
    from separatrix.study import Study

__version__ = "0.1.0"

# Where each name is. A module is imported when one of its names is first asked for.
_PLACES = {
    "separatrix.arrays": ("get_threads", "set_threads"),
    "separatrix.certificate": ("Certificate",),
    "separatrix.diagnose": ("Diagnosis",),
    "separatrix.estimators": (
        "GradientDescentClassifier",
        "GridSearchCV",
        "Intervals",
        "KernelClassifier",
        "KernelRidge",
        "KernelRidgeCV",
        "LinearSVC",
        "LinearSVCCV",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "RegularizationPath",
        "Threshold",
        "confidence_intervals",
        "fit_many",
        "regularization_path",
    ),
    "separatrix.exports": ("to_onnx", "to_sklearn"),
    "separatrix.losses": ("LOSSES", "Loss"),
    "separatrix.modelfile": ("Bundle", "load_model", "save"),
    "separatrix.penalty": ("ElasticNet",),
    "separatrix.solvers": ("History", "Progress"),
    "separatrix.sources": ("Source", "load"),
    "separatrix.study": ("Study",),
}

__all__ = [
    "LOSSES",
    "Bundle",
    "Certificate",
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
    "Source",
    "Study",
    "Threshold",
    "confidence_intervals",
    "fit_many",
    "get_threads",
    "load",
    "load_model",
    "regularization_path",
    "save",
    "set_threads",
    "to_onnx",
    "to_sklearn",
]


__getattr__, __dir__ = lazily(__name__, _PLACES)
