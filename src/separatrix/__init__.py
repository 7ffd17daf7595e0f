"""Separatrix trains, studies and explains linear classifiers: many models, one pass."""

from separatrix.arrays import get_threads, set_threads
from separatrix.certificate import Certificate
from separatrix.diagnose import Diagnosis
from separatrix.estimators import (
    GradientDescentClassifier,
    GridSearchCV,
    Intervals,
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

__version__ = "0.1.0"

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
    "LinearSVC",
    "LinearSVCCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Loss",
    "Perceptron",
    "Progress",
    "RegularizationPath",
    "Source",
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
