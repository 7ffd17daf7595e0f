"""The scikit-learn estimators."""

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.intervals import Intervals, confidence_intervals
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.many import fit_many
from separatrix.estimators.path import RegularizationPath, regularization_path
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.svc import LinearSVC

__all__ = [
    "GradientDescentClassifier",
    "Intervals",
    "LinearSVC",
    "LogisticRegression",
    "Perceptron",
    "RegularizationPath",
    "confidence_intervals",
    "fit_many",
    "regularization_path",
]
